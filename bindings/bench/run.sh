#!/usr/bin/env bash
# What a call costs from each side, on one file of 25 KB: prints the table of docs/bindings.md.
#
#   .ci/artefacts native wheel npm && bindings/bench/run.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-target/artefacts}
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
python3 -m venv "$there/venv"
"$there/venv/bin/pip" install -q "$out"/*.whl
(cd "$there" && echo '{"private":true}' >package.json && npm install --silent --no-fund --no-audit --no-optional "$OLDPWD/$out"/restitch-*.tgz)
cp bindings/bench/bench.mjs "$there"
rust=$(cargo bench --quiet --bench apply)
"$there/venv/bin/python" bindings/bench/bench.py "$rust" "$there" "$out"
