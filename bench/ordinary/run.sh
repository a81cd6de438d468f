#!/usr/bin/env bash
# Times ordinary Rust as kernels beside the same source on all cores, and prints a table: see README.md.
#
#   bench/ordinary/run.sh [--bin PATH] [--reps N] [--engine ptx|interp] [--device cuda|cpu]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$here/../../target/release/gpu-run reps=3 engine=ptx device=cuda
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$2 ;;
    --reps) reps=$2 ;;
    --engine) engine=$2 ;;
    --device) device=$2 ;;
    *) echo "usage: run.sh [--bin PATH] [--reps N] [--engine ptx|interp] [--device cuda|cpu]" >&2; exit 2 ;;
  esac
  shift 2
done
native=$here/target/release/native
if [ ! -x "$native" ]; then (cd "$here" && CARGO_TARGET_DIR=$here/target cargo build --release --locked --bin native); fi
out=$(mktemp)
trap 'rm -f "$out" "$out.err"' EXIT
printf '%-6s %8s %7s %10s %10s  sums\n' work threads rounds native_ms gpu_ms
while read -r work threads rounds; do
  read -r sum native_ms <<<"$("$native" "$work" "$threads" "$rounds")"
  times=() got=
  for _ in $(seq "$reps"); do
    "$bin" run --engine "$engine" --device "$device" --threads "$threads" --stats=json --invoke "$work" \
      "$here/ordinary.wasm" "$rounds" >"$out" 2>"$out.err"
    got=$(head -n 1 "$out")
    times+=("$(grep -ohE '"run_ms":[0-9.]+' "$out" "$out.err" | head -n 1 | cut -d: -f2)")
  done
  median=$(printf '%s\n' "${times[@]}" | sort -g | sed -n "$(((reps + 1) / 2))p")
  printf '%-6s %8s %7s %10s %10s  %s\n' "$work" "$threads" "$rounds" "$native_ms" "$median" \
    "$([ "$got" = "$sum" ] && echo equal || echo "DIFFERENT: $got, natively $sum")"
done <<WORK
edit 270336 20
sort 135168 50
words 67584 20
json 67584 20
tree 67584 20
WORK
