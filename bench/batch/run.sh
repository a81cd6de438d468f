#!/usr/bin/env bash
# Runs the bench of batches: gpu-run beside wasmtime with pooled instances on all cores, if that is built
# (cargo build --release in bench/batch/wasmtime, some minutes). Arguments are those of bench.py behind the two programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gpu_run=${GPU_RUN:-target/release/gpu-run}
[ -n "${GPU_RUN:-}" ] || cargo build --release -p gpu-run
pooled=${POOLED:-bench/batch/wasmtime/target/release/pooled}
[ -x "$pooled" ] && set -- "$pooled" "$@"
exec python3 bench/batch/bench.py "$gpu_run" "$@"
