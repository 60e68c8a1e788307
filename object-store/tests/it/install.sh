#!/bin/sh
# Installs moto, an S3 server, for the tests into target/s3 (needs PyPI).
# The tests that use it are skipped, and say so, where this has not run.
set -eu
cd "$(dirname "$0")/../../.."
mkdir -p target/s3
cd target/s3
[ -x venv/bin/python ] || python3 -m venv venv
venv/bin/pip -q install 'moto[server,s3]>=5.2,<6'
