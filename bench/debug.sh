#!/usr/bin/env bash
# Debug messages: small records a second into the ring, and what a record for each row costs a Mandelbrot set.
# Medians of five runs of the kernel, without start-up.
# Usage: bench/debug.sh [path of gpu-run]
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-target/release/gpu-run}
small=fixtures/wasm/wat/debug.wasm
rows=bench/guests/rows.wat

# Messages and statistics go to a file in memory where there is one: a pipe would be the slowest part.
said=$(mktemp -p "$([ -d /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -f "$said"' EXIT

# A number that --stats=json tells of the last run.
told() { tail -c 10000 "$said" | grep -a '"run_ms"' | grep -o "\"$1\":[0-9.]*" | cut -d: -f2; }
once() {
  local key=$1
  shift
  "$bin" --stats=json "$@" 2>"$said" >/dev/null
  told "$key"
}
median() { for _ in 1 2 3 4 5; do once "$@"; done | sort -n | sed -n 3p; }

# Records that got into the ring and to a file a second: all of them, since threads wait for room.
throughput() { # threads, messages a thread, options
  local threads=$1 each=$2 ms
  shift 2
  ms=$(median run_ms "$@" --threads "$threads" --invoke small "$small" "$each")
  awk -v t="$threads" -v n="$each" -v ms="$ms" -v o="$*" \
    'BEGIN { printf "small records %-40s %7d threads %10.1f ms %10.2f M/s\n", o, t, ms, t * n / ms / 1e3 }'
}

# With --debug-drop: what got into the ring, and what was sent at all.
dropping() {
  local threads=$1 each=$2 ms messages
  shift 2
  ms=$(once run_ms --debug-drop "$@" --threads "$threads" --invoke small "$small" "$each")
  messages=$(told messages)
  awk -v t="$threads" -v n="$each" -v ms="$ms" -v m="$messages" -v o="$*" 'BEGIN {
    printf "with --debug-drop %-36s %7d threads %10.1f ms %10.2f M/s sent, %.2f M/s taken\n", o, t, ms,
      t * n / ms / 1e3, m / ms / 1e3 }'
}

# A program that calls anything takes some 0.4 ms more to start on a GPU, for its stacks. So there is a third one beside
# those with messages and without: the same whose messages nobody wants.
mandelbrot() { # threads, rows, options
  local threads=$1 count=$2 with unwanted without
  shift 2
  with=$(median run_ms "$@" --threads "$threads" --invoke rows "$rows" "$count")
  unwanted=$(median run_ms --debug-only "thread=$threads" "$@" --threads "$threads" --invoke rows "$rows" "$count")
  without=$(median run_ms --no-debug "$@" --threads "$threads" --invoke rows "$rows" "$count")
  awk -v t="$threads" -v n="$count" -v w="$with" -v u="$unwanted" -v o="$without" -v p="$*" 'BEGIN {
    printf "mandelbrot %-43s %7d threads %7d rows: %.2f ms; %.2f if unwanted: %+.1f %%; %.2f without: %+.1f %%\n",
      p, t, n, w, u, (w / u - 1) * 100, o, (w / o - 1) * 100 }'
}

throughput 2 200000 --device cpu
dropping 2 2000000 --device cpu
mandelbrot 2 256 --device cpu
if "$bin" devices 2>/dev/null | grep '^cuda:0' >/dev/null; then
  for engine in interp ptx; do
    options=(--device cuda --engine "$engine" --compile-time 10m)
    throughput 1 20000 "${options[@]}"
    for threads in 1024 33792 135168; do throughput "$threads" $((54000000 / threads)) "${options[@]}"; done
    dropping 135168 400 "${options[@]}"
    mandelbrot 16384 16384 "${options[@]}"
    [ $engine = ptx ] || continue
    for count in 262144 2097152; do mandelbrot 16384 "$count" "${options[@]}"; done
  done
fi
