#!/bin/sh
# The model path against real servers: installs them where need be, and runs the tests.
set -eu
cd "$(dirname "$0")/../../../.."
tests/it/model/servers/install.sh
RESTITCH_LONG=1 cargo test --test it model::real -- --nocapture --test-threads 1
