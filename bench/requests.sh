#!/usr/bin/env bash
# Requests to the host: the time of a small one from one lane, and how many a second come from many lanes.
# Medians of five runs of the kernel, without start-up.
# Usage: bench/requests.sh [path of gpu-run]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-target/release/gpu-run}
guest=bench/guests/requests.wat

once() { "$bin" --stats=json "$@" 2>&1 >/dev/null | grep -a '"run_ms"' | grep -o '"run_ms":[0-9.]*' | cut -d: -f2; }
median() { for _ in 1 2 3 4 5; do once "$@"; done | sort -n | sed -n 3p; }

# threads, calls of each, options
calls() {
  local threads=$1 each=$2 ms
  shift 2
  ms=$(median "$@" --threads "$threads" --invoke calls "$guest" "$each")
  awk -v t="$threads" -v n="$each" -v ms="$ms" -v o="$*" 'BEGIN {
    printf "%-36s %7d threads: %8.2f us a call on each, %8.3f M/s in all\n", o, t, ms * 1e3 / n, t * n / ms / 1e3 }'
}

calls 1 20000 --device cpu
calls 64 1000 --device cpu
if "$bin" devices 2>/dev/null | grep '^cuda:0' >/dev/null; then
  for engine in interp ptx; do
    for threads in 1 32 256 1024 33792; do
      calls "$threads" $((threads < 1000 ? 5000 : 1000000 / threads)) --device cuda --engine "$engine"
    done
  done
fi

# Reads of a file: threads, calls of each, bytes, options
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c 1048576 /dev/zero >"$folder/data"
reads() {
  local threads=$1 each=$2 bytes=$3 ms
  shift 3
  ms=$(median "$@" --dir "$folder" --threads "$threads" --invoke reads bench/guests/reads.wat "$each" "$bytes")
  awk -v t="$threads" -v n="$each" -v b="$bytes" -v ms="$ms" -v o="$*" 'BEGIN {
    printf "%-36s %7d threads: %8.2f us a read of %d bytes on each\n", o, t, ms * 1e3 / n, b }'
}
for bytes in 4096 65536; do
  reads 1 100 "$bytes" --device cpu
  if "$bin" devices 2>/dev/null | grep '^cuda:0' >/dev/null; then
    for threads in 1 256; do reads "$threads" 50 "$bytes" --device cuda --engine ptx; done
  fi
done
