# Sourced by the benches' build.sh, in the folder of a cargo package: builds its programs for wasm32-wasip1 into $built.
#
# Rust: rustup's toolchain where `rustup target add wasm32-wasip1` was done, else Debian's (apt-get install rustc-web
# cargo-web rust-web-src lld-22 clang-22 wasi-libc libclang-rt-22-dev-wasm32), which builds std from source.
wasi=$(cd "$(dirname "${BASH_SOURCE[0]}")/../fixtures/wasi" && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
target=wasm32-wasip1
built=$CARGO_TARGET_DIR/$target/release

args=(--release --locked --target "$target")
more=
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; then
  export PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_WASIP1_LINKER="$wasi/wasi-clang.sh"
  args+=(-Zbuild-std=std,panic_abort)
  # What its C library lacks.
  mkdir -p "$CARGO_TARGET_DIR"
  clang-22 --target=wasm32-wasi -Os -c "$wasi/pthread.c" -o "$CARGO_TARGET_DIR/pthread.o"
  more="-Clink-self-contained=no -Clink-arg=$CARGO_TARGET_DIR/pthread.o "
fi
# No path of this machine in the modules.
export RUSTFLAGS="$more--remap-path-prefix=$PWD=. --remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src=/rust --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
cargo build "${args[@]}"
