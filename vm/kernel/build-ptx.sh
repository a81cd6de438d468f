#!/usr/bin/env bash
# Compiles the kernel to PTX with the pinned clang and writes generated/kernel.ptx, whose header
# names the compiler and a hash of the sources. With --check it writes nothing and fails if the
# file differs from what it would write (without that clang: if the hash is stale).
set -euo pipefail
cd "$(dirname "$0")"

# The version that the checked-in file is made with: another one may generate other code.
CLANG_MAJOR=22
clang=${CLANG:-clang++-$CLANG_MAJOR}
out=generated/kernel.ptx

sources=$(find . -name '*.h' -o -name '*.cpp' -o -name '*.inc' | LC_ALL=C sort)
hash=$(cat $sources | sha256sum | cut -d' ' -f1)

check=false
[ "${1:-}" = --check ] && check=true

if ! "$clang" --version >/dev/null 2>&1; then
  if $check; then
    grep -q "^// Sources: sha256 $hash\$" $out || { echo "vm/kernel/$out is stale: run vm/kernel/build-ptx.sh" >&2; exit 1; }
    echo "kernel.ptx: hash of the sources is fresh ($clang not found, so it was not rebuilt)"
    exit 0
  fi
  echo "$clang not found: install clang-$CLANG_MAJOR, or name it in CLANG" >&2
  exit 1
fi

version=$("$clang" --version | head -n 1 | grep -o 'clang version [0-9.]*')
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# sm_75 and PTX 7.5: every driver since CUDA 11.5 and every GPU since Turing take it.
# With lifetime markers clang sends every way out of a case through a second switch.
"$clang" --target=nvptx64-nvidia-cuda -march=sm_75 -Xclang -target-feature -Xclang +ptx75 \
  -Xclang -disable-lifetime-markers -O3 -std=c++20 -nogpulib -ffreestanding -ffp-contract=off -fno-ident \
  -S kernel.cpp -o "$tmp/kernel.ptx"
# 64 registers a lane let 1,024 lanes share a multiprocessor; what does not fit is spilled in rare
# instructions.
sed -i '/^.visible .entry/,/^{/s/^{/.maxnreg 64\n{/' "$tmp/kernel.ptx"
{
  echo "// The interpreter kernel. Made by vm/kernel/build-ptx.sh; do not edit."
  echo "// Compiler: $version"
  echo "// Sources: sha256 $hash"
  cat "$tmp/kernel.ptx"
} > "$tmp/out.ptx"

if $check; then
  cmp "$tmp/out.ptx" $out || { echo "vm/kernel/$out is stale: run vm/kernel/build-ptx.sh" >&2; exit 1; }
  echo "kernel.ptx is fresh"
else
  cp "$tmp/out.ptx" $out
fi
