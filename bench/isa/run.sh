#!/bin/sh
# build: compile every variant to a cubin, and the host. Needs clang 22 and ptxas.
# test:  run the programs on the CPU in every encoding.
# gpu:   run the plan; needs the NVIDIA driver and what `build` made, no compiler.
# profile: instructions a word and stall reasons, with ncu.
# sass:  instructions of one bytecode op (XOR) in the main variants; needs cuobjdump.
set -eu
cd "$(dirname "$0")"
CLANG=${CLANG:-clang++-22}
PTXAS=${PTXAS:-ptxas}
ARCH=${ARCH:-sm_90}
mkdir -p target

build_one() { # name, flags
  name=$1; shift
  defines= assembler=
  for f in "$@"; do case $f in -D*) defines="$defines $f" ;; *) assembler="$assembler $f" ;; esac; done
  $CLANG --target=nvptx64-nvidia-cuda -march=$ARCH -Xclang -target-feature -Xclang +ptx80 \
    -Xclang -fcuda-short-ptr -mllvm --nvptx-short-ptr \
    -O3 -std=c++20 -nogpulib -ffreestanding -ffp-contract=off -Wno-int-to-pointer-cast \
    $defines -S probe.cpp -o target/$name.ptx
  $PTXAS -arch=$ARCH -v $assembler target/$name.ptx -o target/$name.cubin 2>target/$name.log
  printf '%-11s %s brx.idx, %s\n' "$name" "$(grep -c brx.idx target/$name.ptx)" \
    "$(grep -o 'Used [0-9]* registers' target/$name.log | head -1)$(grep -o '[1-9][0-9]* bytes spill stores' target/$name.log | head -1 | sed 's/^/, /')"
}

case ${1:-gpu} in
build)
  grep -v '^#' variants.txt | while read -r name flags; do build_one "$name" $flags; done
  $CLANG -std=c++20 -O2 -ffp-contract=off -DFIELD=0 -static-libstdc++ -static-libgcc -o target/host host.cpp -ldl
  ;;
test)
  for e in 1 2 3 4 5; do
    $CLANG -std=c++20 -O1 -ffp-contract=off -DENC=$e -o target/check$e host.cpp -ldl
    target/check$e --selftest
  done
  ;;
gpu) target/host "${2:-plan.txt}" ;;
profile)
  stall=smsp__average_warps_issue_stalled
  m=smsp__inst_executed.sum,smsp__issue_active.avg.pct_of_peak_sustained_active
  m=$m,l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed,l1tex__data_bank_conflicts_pipe_lsu.sum
  for s in long_scoreboard short_scoreboard branch_resolve no_instruction wait lg_throttle mio_throttle imc_miss not_selected selected math_pipe_throttle; do
    m=$m,${stall}_${s}_per_issue_active.ratio
  done
  ncu --clock-control none --metrics $m --csv target/host profile.txt --once ${2:-2000}
  ;;
sass)
  for v in R1 R2 R1-shift R2-shift R1-E5 R1-D2; do
    echo "== $v"
    cuobjdump -sass target/$v.cubin | grep -E '^ +/\*[0-9a-f]{4,5}\*/' | sed 's#/\* 0x.*##' >target/$v.sass
    wc -l <target/$v.sass
    grep -m1 -B22 -A1 'BRX' target/$v.sass
    grep -m1 -B10 -A8 'LOP3.LUT.*0x3c' target/$v.sass
  done
  ;;
esac
