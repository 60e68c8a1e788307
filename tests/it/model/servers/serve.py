"""Runs a server that ends with the process that started it.

    serve.py llama MODEL PORT    llama.cpp's server, from the package xllamacpp
    serve.py PROGRAM ARGUMENT…   any other program
"""

import ctypes
import os
import signal
import sys
import time

try:
    # PR_SET_PDEATHSIG; only Linux has it, and elsewhere the test ends its servers itself.
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
except (AttributeError, OSError):
    pass

if sys.argv[1] != "llama":
    os.execv(sys.argv[1], sys.argv[1:])

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[2]
params.port = int(sys.argv[3])
params.n_ctx = 8192
params.n_parallel = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(60)
