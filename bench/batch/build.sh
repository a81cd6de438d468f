#!/usr/bin/env bash
# Builds the programs of the bench, wasm/*.wasm, which are in the repository.
#
# Rust: rustup's toolchain where `rustup target add wasm32-wasip1` was done, else Debian's (apt-get install rustc-web
# cargo-web rust-web-src lld-22 clang-22 wasi-libc libclang-rt-22-dev-wasm32), which builds std from source.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
cd guests
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
target=wasm32-wasip1

args=(--release --locked --target "$target")
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_WASIP1_LINKER="$root/fixtures/wasi/wasi-clang.sh"
  args+=(-Zbuild-std=std,panic_abort)
  # What its C library lacks.
  mkdir -p "$CARGO_TARGET_DIR"
  clang-22 --target=wasm32-wasi -Os -c "$root/fixtures/wasi/pthread.c" -o "$CARGO_TARGET_DIR/pthread.o"
  more="-Clink-self-contained=no -Clink-arg=$CARGO_TARGET_DIR/pthread.o "
fi
# No path of this machine in the modules.
export RUSTFLAGS="${more:-}--remap-path-prefix=$PWD=. --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
cargo build "${args[@]}"
mkdir -p ../wasm
for program in src/bin/*.rs; do
  name=$(basename "$program" .rs)
  install -m 644 "$CARGO_TARGET_DIR/$target/release/$name.wasm" "../wasm/$name.wasm"
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
