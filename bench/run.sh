#!/usr/bin/env bash
# Times the interpreter: guests/*.wat and fixtures on the CPU and on a GPU, in one run. Prints the
# median of five runs of the kernel, without start-up, and the operations a second.
# Usage: bench/run.sh [path of gpu-run]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-target/release/gpu-run}

# Milliseconds that the kernel ran, from --stats=json.
once() { "$bin" --engine interp "$@" 2>&1 >/dev/null | grep -o '"run_ms":[0-9.]*' | cut -d: -f2; }
median() { for _ in 1 2 3 4 5; do once "$@"; done | sort -n | sed -n 3p; }

report() { # name, device, threads, operations a thread, arguments
  local name=$1 device=$2 threads=$3 ops=$4
  shift 4
  local ms
  ms=$(median --device "$device" --threads "$threads" --stats=json "$@")
  awk -v n="$name" -v d="$device" -v t="$threads" -v o="$ops" -v ms="$ms" \
    'BEGIN { printf "%-12s %-5s %7d threads %10.1f ms", n, d, t, ms; if (o) printf " %10.3f G op/s", o * t / ms / 1e6; print "" }'
}

devices="cpu"
"$bin" devices | grep -q '^cuda:0' && devices="cpu cuda"
for device in $devices; do
  counts="1 16"
  [ $device = cuda ] && counts="1 32 4224 135168"
  for threads in $counts; do
    # hash: 9 operations an iteration. fib(20): 10,945 inner calls of 7 operations, 10,946 leaves of 2.
    report hash $device "$threads" 2700000 --invoke hash bench/guests/hash.wat 300000
    report fib $device "$threads" 98507 --invoke fib bench/guests/fib.wat 20
  done
  for fixture in nbody mandelbrot sort collections sha256; do
    report $fixture $device 1 0 fixtures/wasm/release/$fixture.wasm
  done
done
