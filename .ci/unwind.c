/* What gcc's unwinder, built for glibc, lacks in a static program of musl. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>

/* It names these weakly, and a weak name alone brings nothing out of an archive. */
void *const restitch_unwinder_needs[] = {
    (void *)pthread_once,         (void *)pthread_key_create, (void *)pthread_getspecific,
    (void *)pthread_setspecific,  (void *)pthread_mutex_lock, (void *)pthread_mutex_unlock,
};

struct found {
    unsigned long long flags;
    void *start, *end, *map, *table;
    unsigned long long reserved[7];
};

static int look(struct dl_phdr_info *object, size_t size, void *out) {
    struct found *found = out;
    (void)size;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        if (part->p_type == PT_GNU_EH_FRAME) {
            found->table = (void *)(object->dlpi_addr + part->p_vaddr);
            return 1;
        }
    }
    return 0;
}

/* Where the exception table of an address is. A static program is one object with one table. */
int _dl_find_object(void *address, void *out) {
    (void)address;
    return dl_iterate_phdr(look, out) == 1 ? 0 : -1;
}
