#!/usr/bin/env bash
# Builds the npm package: bindings/wasm/build.sh [OUT]      PROFILE=test makes a quick one
#
# The folder `package` beside this script is what is packed, and what the tests import.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd ../.. && pwd)
profile=${PROFILE:-wasm}
folder=$([ "$profile" = test ] && echo debug || echo "$profile")
elsewhere=${CARGO_TARGET_DIR:-$repo/target/cross/build}
target=wasm32-unknown-unknown

CARGO_TARGET_DIR=$elsewhere "$repo/.ci/cross" cargo build --target $target --package restitch-wasm --profile "$profile"
CARGO_TARGET_DIR=$repo/target/cross/generate cargo build --quiet --locked --manifest-path generate/Cargo.toml

rm -rf package native && mkdir package
"$repo/target/cross/generate/debug/restitch-wasm-generate" "$elsewhere/$target/$folder/restitch_wasm.wasm" native
cp native/native.js package
cp native/native_bg.wasm package/restitch.wasm
rm -rf native
cp ./*.js ./*.d.ts README.md ../../LICENSE-* package
node -e '
  const { devDependencies, scripts, ...kept } = JSON.parse(require("fs").readFileSync("package.json"))
  console.log(JSON.stringify(kept, null, 2))
' >package/package.json
# One source for both packages: the one for Node can also be had by `require`.
sed 's/^module\.exports = /export /' ../node/results.cjs >package/results.js
cp ../node/results.d.cts package/results.d.ts
if [ $# -gt 0 ]; then (cd package && npm pack --silent --pack-destination "$1"); fi
