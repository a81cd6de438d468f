#!/usr/bin/env bash
# Builds ordinary.wasm, which is in the repository, so that the bench needs no wasm toolchain.
#
# Rust: rustup's toolchain where `rustup target add wasm32-unknown-unknown` was done, else
# Debian's (apt-get install rustc-web cargo-web rust-web-src lld-22), which builds std from source.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export CARGO_TARGET_DIR=$PWD/target
target=wasm32-unknown-unknown

args=(--release --locked --lib --target "$target")
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22
  args+=(-Zbuild-std=std,panic_abort)
fi
# No path of this machine in the module.
export RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
cargo build "${args[@]}"
cp "target/$target/release/ordinary.wasm" ordinary.wasm
