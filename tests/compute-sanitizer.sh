#!/usr/bin/env bash
# Runs fixtures on a GPU under CUDA's compute-sanitizer: memcheck, then racecheck. Needs a GPU and
# compute-sanitizer (on PATH, or under /usr/local/cuda*). Programs run many times slower under it, so
# the long ones of the fixtures are left out: they run nothing that the others do not.
#
#   tests/compute-sanitizer.sh [path of gpu-run]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${1:-target/release/gpu-run}
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1 || true)
[ -n "$sanitizer" ] || { echo "compute-sanitizer is not here: it is part of the CUDA toolkit" >&2; exit 1; }

# Too long, or without an end. Under racecheck, which looks at shared memory, a program takes hundreds
# of times as long.
declare -A skipped=(
  [memcheck]=" infinite_loop sha256 nbody mandelbrot sort floats "
  [racecheck]=" infinite_loop sha256 nbody mandelbrot sort floats collections integers simd stack_overflow "
)
failed=0
check() { # tool, then gpu-run's arguments
  local tool=$1 log
  shift
  log=$("$sanitizer" --tool "$tool" --error-exitcode 99 "$bin" "$@" 2>&1) && code=0 || code=$?
  if [ $code = 99 ] || ! grep -qE '(ERROR|RACECHECK) SUMMARY: 0 ' <<<"$log"; then
    printf '%s: FAILED: %s\n%s\n' "$tool" "$*" "$(tail -n 20 <<<"$log")"
    failed=1
  else
    printf '%s: no findings: %s\n' "$tool" "$*"
  fi
}

for tool in memcheck racecheck; do
  for module in fixtures/wasm/release/*.wasm; do
    name=$(basename "$module" .wasm)
    [[ "${skipped[$tool]}" = *" $name "* ]] || check $tool run --device cuda "$module"
  done
  check $tool run --device cuda --threads 512 fixtures/wasm/release/spmd.wasm
  check $tool run --device cuda --threads 64 fixtures/wasm/threads/locks.wasm
  check $tool run --device cuda --threads 128 --invoke mutex fixtures/wasm/wat/threads.wasm 2
  # Heap, ring and counters under many threads, by each engine.
  for engine in interp ptx; do
    on=(run --device cuda --engine "$engine")
    check $tool "${on[@]}" --threads 64 --invoke stress fixtures/wasm/wat/heap_stress.wasm 2
    check $tool "${on[@]}" --threads 128 --invoke churn fixtures/wasm/wat/heap_churn.wasm 20 64
    check $tool "${on[@]}" --threads 128 --invoke round fixtures/wasm/wat/heap_batch.wasm 40 70
    check $tool "${on[@]}" --threads 128 --invoke small fixtures/wasm/wat/debug.wasm 5
    check $tool "${on[@]}" --threads 128 --invoke each fixtures/wasm/release/containers.wasm
  done
  check $tool wast --device cuda tests/wast/calls.wast tests/wast/edges.wast tests/wast/legacy-exceptions.wast
done
exit $failed
