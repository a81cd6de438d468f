#!/usr/bin/env bash
# Files: writes and reads of 4 KiB, each thread in a file of its own, in the folder of --tmpfs, whose data is in
# device memory, and in one of the host's. Medians of five runs of the kernel, without start-up; with the requests to
# the host of one run.
# Usage: bench/files.sh [path of gpu-run]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-target/release/gpu-run}
guest=bench/guests/files.wat
folder=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$folder"' EXIT

stats() { "$bin" --stats=json "$@" 2>&1 >/dev/null | grep -a '"run_ms"'; }
number() { grep -o "\"$1\":[0-9.]*" | head -n 1 | cut -d: -f2; }
median() { for _ in 1 2 3 4 5; do stats "$@" | number run_ms; done | sort -n | sed -n 3p; }

# What it is called, threads, pieces of each, options
pieces() {
  local name=$1 threads=$2 each=$3 write read calls
  shift 3
  write=$(median "$@" --threads "$threads" --invoke write "$guest" "$each")
  read=$(median "$@" --threads "$threads" --invoke read "$guest" "$each")
  calls=$(stats "$@" --threads "$threads" --invoke read "$guest" "$each" | number calls)
  awk -v t="$threads" -v n="$each" -v w="$write" -v r="$read" -v c="$calls" -v o="$name" 'BEGIN {
    printf "%-24s %5d threads: write %8.2f us, %7.2f GB/s; read %8.2f us, %7.2f GB/s; %d requests\n", o, t,
      w * 1e3 / n, t * n * 4096 / w / 1e6, (r - w) * 1e3 / n / 10, t * n * 10 * 4096 / (r - w) / 1e6, c }'
}

compare() {
  local name=$1 threads=$2 each=$3
  shift 3
  pieces "$name, --tmpfs" "$threads" "$each" --tmpfs 2GiB "$@"
  pieces "$name, --dir" "$threads" "$each" --dir "$folder" "$@"
}

compare cpu 1 2000 --device cpu
compare cpu 64 100 --device cpu
if "$bin" devices 2>/dev/null | grep '^cuda:0' >/dev/null; then
  for engine in interp ptx; do
    for threads in 1 32 512; do
      compare "$engine" "$threads" $((threads < 100 ? 300 : 100)) --device cuda --engine "$engine"
    done
  done
fi
