#!/usr/bin/env bash
# Times gpu-run beside native CUDA and wasmtime on a GPU machine, and prints a table: see README.md.
#
#   bench/native/run.sh [--engine ptx|interp|none] [--bin PATH] [--reps N] [--wasmtime N] [--small] [NAME...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$here/target"
if command -v nvcc >/dev/null; then
  nvcc -O3 --fmad=false -arch=sm_90 "$here/native.cu" -o "$here/target/native"
elif [ ! -x "$here/target/native" ]; then
  echo "run.sh: no nvcc on PATH (CUDA toolkit), and no $here/target/native built before" >&2
  exit 1
fi
exec python3 "$here/bench.py" "$@"
