#!/usr/bin/env bash
# Builds the wheel: the module, and the command beside it.
#
#   bindings/python/build.sh [OUT]     PROFILE=dev makes a quick one, TARGET= names a platform,
#                                      COMMAND= is a command that was built before, FEATURES=
#                                      adds all grammars, and these features to the command
set -euo pipefail
cd "$(dirname "$0")"
out=${1:-dist}
mkdir -p "$out" && out=$(cd "$out" && pwd)
profile=${PROFILE:-dist}
target=${TARGET:-}
maturin=${MATURIN:-maturin}

if [ -z "${COMMAND:-}" ]; then
    cargo build --manifest-path ../../Cargo.toml --package restitch --features "${FEATURES:-}" \
        --profile "$profile" ${target:+--target "$target"}
    folder=${CARGO_TARGET_DIR:-../../target}/${target:+$target/}
    folder+=$([ "$profile" = dev ] && echo debug || echo "$profile")
    case "$target" in *windows*) COMMAND=$folder/restitch.exe ;; *) COMMAND=$folder/restitch ;; esac
fi
rm -rf restitch_edit.data
mkdir -p restitch_edit.data/scripts
cp "$COMMAND" restitch_edit.data/scripts/
"$maturin" build --profile "$profile" --out "$out" ${target:+--target "$target"} ${FEATURES:+--features all-grammars}
