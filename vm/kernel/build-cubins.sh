#!/usr/bin/env bash
# Assembles generated/kernel.ptx (the interpreter), processes.ptx (the same for batches), runtime.ptx (what compiled code calls) and mixed.ptx (the interpreter
# that it calls) to machine code for the GPUs that people have: generated/machine_code/kernel.sm_90.cubin.gz and so on. The command has them in it, so that no
# driver compiles them on a first run. With --check it writes nothing and fails if they are not of today's PTX.
#
# PTXAS names the assembler; without it the pinned one is fetched by pip.
set -euo pipefail
cd "$(dirname "$0")/generated"

# Older ones keep fewer values in registers: 11.8 stores 532 bytes of spills of the interpreter for sm_90, this one 140. A
# driver before CUDA 12 does not take its code, and gets the PTX.
VERSION=12.8.93
architectures="75 80 86 89 90 100 120"

# Of the text that counts: a header's line names the sources.
hash=$(sed '/^\/\//d' kernel.ptx processes.ptx runtime.ptx mixed.ptx | sha256sum | cut -d' ' -f1)
kernel_flags="-O3"
# As many registers as let 2,048 lanes share a multiprocessor.
runtime_flags="-c -O3 --maxrregcount 32"
# As the interpreter's kernel.
mixed_flags="-c -O3 --maxrregcount 64"
made="PTX: sha256 $hash
ptxas $VERSION: $kernel_flags; $runtime_flags; $mixed_flags"

if [ "${1:-}" = --check ]; then
  if [ "$(cat machine_code/made_of 2>/dev/null)" != "$made" ]; then
    echo "vm/kernel/generated/machine_code is stale: run vm/kernel/build-cubins.sh" >&2
    exit 1
  fi
  for arch in $architectures; do
    for name in kernel processes runtime mixed; do gzip -t "machine_code/$name.sm_$arch.cubin.gz"; done
  done
  echo "The machine code is fresh"
  exit 0
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -z "${PTXAS:-}" ]; then
  pip download --quiet --no-deps --dest "$tmp" "nvidia-cuda-nvcc-cu12==$VERSION"
  (cd "$tmp" && python3 -m zipfile -e ./*.whl .)
  PTXAS=$tmp/nvidia/cuda_nvcc/bin/ptxas
  chmod +x "$PTXAS"
fi
mkdir -p machine_code
for arch in $architectures; do
  "$PTXAS" -arch="sm_$arch" $kernel_flags kernel.ptx -o "$tmp/kernel.sm_$arch.cubin" &
  "$PTXAS" -arch="sm_$arch" $kernel_flags processes.ptx -o "$tmp/processes.sm_$arch.cubin"
  "$PTXAS" -arch="sm_$arch" $runtime_flags runtime.ptx -o "$tmp/runtime.sm_$arch.cubin"
  "$PTXAS" -arch="sm_$arch" $mixed_flags mixed.ptx -o "$tmp/mixed.sm_$arch.cubin"
  wait $!
  for name in kernel processes runtime mixed; do
    gzip -9n <"$tmp/$name.sm_$arch.cubin" >"machine_code/$name.sm_$arch.cubin.gz"
  done
done
printf '%s\n' "$made" >machine_code/made_of
