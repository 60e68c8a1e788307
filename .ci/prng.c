/* Windows has bcryptprimitives.dll; wine before 8.3 lacks it. Only for trying the command there. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T bytes) {
    return RtlGenRandom(to, (ULONG)bytes);
}
