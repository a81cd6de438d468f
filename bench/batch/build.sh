#!/usr/bin/env bash
# Builds the programs of the bench, wasm/*.wasm, which are in the repository. Toolchains: see ../wasip1.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/guests"
. ../../wasip1.sh
mkdir -p ../wasm
for program in src/bin/*.rs; do
  name=$(basename "$program" .rs)
  install -m 644 "$built/$name.wasm" "../wasm/$name.wasm"
done

# QuickJS, by its authors' sources: those in the folder that QUICKJS names, or these from GitHub.
revision=05b2db95d9b8a088a203950727d1c3459fe0ec47
if [ -z "${QUICKJS:-}" ]; then
  QUICKJS=$CARGO_TARGET_DIR/quickjs
  [ -d "$QUICKJS" ] || git init -q "$QUICKJS"
  git -C "$QUICKJS" fetch -q --depth 1 https://github.com/quickjs-ng/quickjs "$revision"
  git -C "$QUICKJS" checkout -q FETCH_HEAD
fi
clang-22 --target=wasm32-wasi -O2 -w --no-wasm-opt -Wl,--strip-debug -D_GNU_SOURCE -I"$QUICKJS" -ffile-prefix-map="$QUICKJS=quickjs" \
  quickjs/main.c "$QUICKJS"/{quickjs,libregexp,libunicode,dtoa}.c -o ../wasm/quickjs.wasm
chmod 644 ../wasm/quickjs.wasm
