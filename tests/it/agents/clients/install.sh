#!/bin/sh
# Installs the official MCP clients for the tests into target/sdk (needs PyPI and npm).
# The tests that drive them are skipped, and say so, where this has not run.
set -eu
cd "$(dirname "$0")/../../../.."
mkdir -p target/sdk
cd target/sdk
[ -x venv/bin/python ] || python3 -m venv venv
venv/bin/pip -q install 'mcp>=2.3,<3' jsonschema
[ -f package.json ] || echo '{"private":true,"type":"module"}' > package.json
npm install --silent --no-fund --no-audit @modelcontextprotocol/sdk@1
