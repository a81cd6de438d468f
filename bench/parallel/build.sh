#!/usr/bin/env bash
# Builds parallel.wasm, which is checked in. With rustup's target wasm32-wasip1-threads, or without it with clang 22 and a
# sysroot of wasi-libc for that target that WASI_SYSROOT names: see fixtures/build.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=wasm32-wasip1-threads
flags=("--remap-path-prefix=$PWD=parallel")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  flags+=("--remap-path-prefix=$registry=/rust/deps")
done
std=() args=()
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH
  : "${WASI_SYSROOT:?names the sysroot of wasi-libc for $target}"
  std=(RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_WASIP1_THREADS_LINKER=clang-22)
  args=(-Zbuild-std=std,panic_abort)
  flags+=("--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust/library=/rust/library"
    -Clink-self-contained=no "-Clink-arg=--target=$target" "-Clink-arg=--sysroot=$WASI_SYSROOT"
    -Clink-arg=-Wl,--import-memory,--export-memory,--shared-memory,--max-memory=4294967296)
fi
env "${std[@]}" CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f'; echo "${flags[*]}")" CARGO_TARGET_DIR=target/wasm \
  cargo build --release --quiet --locked --target "$target" "${args[@]}"
install -m 644 "target/wasm/$target/release/parallel.wasm" parallel.wasm
