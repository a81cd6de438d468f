#!/usr/bin/env bash
# Times the heap beside CUDA's own malloc on a GPU machine, and prints a table: see README.md.
#
#   bench/heap/run.sh [--no-malloc]   on a GPU: needs nvcc or a target/native built before, and target/heap.ptx
#   bench/heap/run.sh --host          shows that the work is right, without a GPU
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$here/target"
if [ "${1:-}" = --host ]; then
  "${CXX:-c++}" -std=c++17 -O2 -fno-strict-aliasing -pthread -I "$here/../../vm/kernel" "$here/host.cpp" -o "$here/target/host"
  exec "$here/target/host" "${@:2}"
fi
if command -v "${CLANG:-clang++-22}" >/dev/null; then "$here/build.sh"; fi
[ -f "$here/target/heap.ptx" ] || { echo "run.sh: no target/heap.ptx: run build.sh where clang 22 is" >&2; exit 1; }
if command -v nvcc >/dev/null; then
  nvcc -O3 -std=c++17 -arch=sm_90 -I "$here/../../vm/kernel" "$here/native.cu" -o "$here/target/native"
elif [ ! -x "$here/target/native" ]; then
  echo "run.sh: no nvcc on PATH (CUDA toolkit), and no $here/target/native built before" >&2
  exit 1
fi
exec "$here/target/native" "$here/target/heap.ptx" "$@"
