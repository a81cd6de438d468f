#!/usr/bin/env bash
# Builds compute.wasm and stream.wasm, which are in the repository, so that the bench needs no wasm toolchain.
#
# Rust: rustup's toolchain where `rustup target add wasm32-unknown-unknown` was done, else
# Debian's (apt-get install rustc-web cargo-web rust-web-src lld-22), which builds core from source.
# Besides: wasm-validate and wasm-opt (apt-get install wabt binaryen).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export CARGO_TARGET_DIR=$PWD/target
target=wasm32-unknown-unknown

args=(--release --locked --target "$target")
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22
  args+=(-Zbuild-std=core,panic_abort)
fi
# No path of this machine in the modules.
export RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src=/rust"
cargo build "${args[@]}"
for name in compute stream; do
  # The linker defines a stack pointer also where nothing uses it. With one, each thread would get a
  # stack, and beside 4 GiB there is no room for stacks.
  wasm-opt -g --remove-unused-module-elements "target/$target/release/$name.wasm" -o "$name.wasm"
  wasm-validate "$name.wasm"
done
