#!/usr/bin/env bash
# Compiles the benchmark's kernels to target/heap.ptx with the clang that vm/kernel/build-ptx.sh wants. They have
# 32 registers, as the code has that compiled programs call.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
clang=${CLANG:-clang++-22}
mkdir -p target
"$clang" --target=nvptx64-nvidia-cuda -march=sm_75 -Xclang -target-feature -Xclang +ptx75 \
  -Xclang -disable-lifetime-markers -O3 -std=c++20 -nogpulib -ffreestanding -ffp-contract=off -fno-ident \
  -DGPU_RUN_NOINLINE='[[maybe_unused]] static __attribute__((noinline))' -I ../../vm/kernel -S kernels.cpp -o - | sed "/^.visible .entry/,/^{/s/^{/.maxnreg 32\n{/" >target/heap.ptx
echo "made target/heap.ptx"
