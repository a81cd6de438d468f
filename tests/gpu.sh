#!/usr/bin/env bash
# Runs the whole-system tests on a machine that has a GPU but no Rust.
#
#   tests/gpu.sh pack DIR   builds command and tests, and puts them into DIR (in the checkout)
#   tests/gpu.sh run DIR    there, in the same checkout: runs what needs a GPU, and says how each suite ended;
#                           TEST_THREADS is how many tests run at a time, 8 by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=${2:?"usage: tests/gpu.sh pack|run DIR"}
suites=(conformance end_to_end wasi)
examples=(call_export host_function kernel wasi_output)

pack() {
  mkdir -p "$dir"
  cargo build --release -p gpu-run --bins --examples
  strip -o "$dir/gpu-run" target/release/gpu-run
  local built name file
  for name in "${examples[@]}"; do strip -o "$dir/$name" "target/release/examples/$name"; done
  built=$(cargo test --release -p gpu-run --no-run 2>&1)
  for name in "${suites[@]}" embedding; do
    file=$(sed -n "s,.*(\(.*/$name-[0-9a-f]*\))$,\1,p" <<<"$built" | head -n 1)
    strip -o "$dir/$name" "$file"
  done
}

run() {
  export GPU_RUN_BIN=$PWD/$dir/gpu-run
  "$GPU_RUN_BIN" devices | grep '^cuda:' || { echo "no GPU here, so there is nothing to run" >&2; exit 1; }
  local failed=0 engine name threads log
  # The library, which chooses the engine by itself.
  for name in "${examples[@]}"; do "$dir/$name" cuda || failed=1; done
  log=$(GPU_RUN_DEVICE=cuda "$dir/embedding" 2>&1) || failed=1
  printf 'library: %s\n' "$(grep '^test result' <<<"$log" || echo 'did not end')"
  for engine in ptx cuda; do
    for name in "${suites[@]}"; do
      # So many tests at a time.
      threads=${TEST_THREADS:-8}
      log=$("$dir/$name" "$engine/" --test-threads "$threads" 2>&1) || failed=1
      printf '%s, %s: %s\n' "$engine" "$name" "$(grep '^test result' <<<"$log" || echo 'did not end')"
      grep -E '\.\.\. FAILED|^---- ' <<<"$log" | head -n 60 || true
    done
  done
  # The heap for long: more than 10^8 allocations and frees by 10,240 threads, each byte looked at.
  for engine in ptx interp; do
    "$GPU_RUN_BIN" --device cuda --engine "$engine" --threads 10240 --invoke churn fixtures/wasm/wat/heap_churn.wasm 5000 1048576 \
      && echo "$engine, heap: no wrong byte" || failed=1
  done
  return $failed
}

case ${1:-} in
  pack) pack ;;
  run) run ;;
  *) echo "usage: tests/gpu.sh pack|run DIR" >&2; exit 2 ;;
esac
