#!/usr/bin/env bash
# Times ordinary Rust as kernels beside the same source on all cores, and prints a table: see README.md.
#
#   bench/ordinary/run.sh [--bin PATH] [--device cuda|cpu] [--engine ptx,interp] [--reps N] [--wasmtime N]
#                         [--counters] [--small] [--tsv FILE] [NAME...] [-- OPTION OF gpu-run...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A machine with a GPU may have no Rust, and one with Rust no nvcc: there, what was built elsewhere is taken as it is.
if command -v cargo >/dev/null; then
  (cd "$here" && CARGO_TARGET_DIR=$here/target cargo build --release --quiet --locked --bin native)
elif [ ! -x "$here/target/release/native" ]; then
  echo "run.sh: no cargo on PATH, and no $here/target/release/native built before" >&2
  exit 1
fi
if command -v nvcc >/dev/null; then
  mkdir -p "$here/target"
  nvcc -O3 --fmad=false -arch=sm_90 "$here/twins.cu" -o "$here/target/twins"
fi
exec python3 "$here/bench.py" "$@"
