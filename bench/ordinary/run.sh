#!/usr/bin/env bash
# Times ordinary Rust as kernels beside the same source on all cores, and prints a table: see README.md.
#
#   bench/ordinary/run.sh [--bin PATH] [--reps N] [--engine ptx,interp] [--wasmtime N] [--counters] [--small] [NAME...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A machine with a GPU may have no Rust, and one with Rust no nvcc: what was built elsewhere is taken as it is.
if [ ! -x "$here/target/release/native" ]; then
  (cd "$here" && CARGO_TARGET_DIR=$here/target cargo build --release --locked --bin native)
fi
if [ ! -x "$here/target/twins" ] && command -v nvcc >/dev/null; then
  mkdir -p "$here/target"
  nvcc -O3 --fmad=false -arch=sm_90 "$here/twins.cu" -o "$here/target/twins"
fi
exec python3 "$here/bench.py" "$@"
