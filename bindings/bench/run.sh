#!/usr/bin/env bash
# What a call costs from each side, on one file of 25 KB, and what each artefact weighs: as JSON.
# `scripts/evidence bindings` keeps it and prints the table of docs/bindings.md.
#
#   .ci/artefacts native musl wheel npm wasm && bindings/bench/run.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:-target/artefacts}
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
python3 -m venv "$there/venv"
"$there/venv/bin/pip" install -q "$out"/*.whl >&2
(cd "$there" && echo '{"private":true}' >package.json && npm install --silent --no-fund --no-audit --no-optional "$OLDPWD/$out"/restitch-*.tgz >&2)
cp bindings/bench/bench.mjs "$there"
# The profile that the artefacts are built with, so that only the way in differs.
rust=$(cargo bench --quiet --profile "${PROFILE:-dist}" --features mine --bench apply -- bindings)
tar -xzf "$out"/restitch-*-linux-gnu.tar.gz -C "$there" --strip-components 1 --wildcards '*/restitch'
"$there/venv/bin/python" bindings/bench/bench.py "$rust" "$there" "$out" "$there/restitch"
