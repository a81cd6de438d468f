#!/usr/bin/env bash
# Builds tasks.wasm, which is checked in. With rustup's target wasm32-unknown-unknown, or without it with Debian's Rust: see
# fixtures/build.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
target=wasm32-unknown-unknown
flags=("--remap-path-prefix=$(cd ../.. && pwd)=")
for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
  flags+=("--remap-path-prefix=$registry=/rust/deps")
done
std=() args=()
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH
  std=(RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22)
  args=(-Zbuild-std=std,panic_abort)
  flags+=("--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust/library=/rust/library")
fi
env "${std[@]}" CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f'; echo "${flags[*]}")" CARGO_TARGET_DIR=target/wasm \
  cargo build --release --quiet --locked --target "$target" "${args[@]}"
install -m 644 "target/wasm/$target/release/tasks.wasm" tasks.wasm
