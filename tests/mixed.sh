#!/usr/bin/env bash
# Runs the suites in the emulator of PTX with programs of which blocks are interpreted, and between both engines. It takes half
# an hour; .ci/run has a part of it.
#
#   tests/mixed.sh [ARGS]   ARGS go to each suite, such as --test-threads 1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
suite() { cargo test --release --features gpu-run/emulator "$@"; }

# Blocks by chance, in regions. The specification's testsuite with all of its variants.
GPU_RUN_WAST_OPTIONS="--compile random:2 --region-words 20" suite --test conformance -- emulator/ "$@"
# Without those that take minutes each where a coin leaves what they often do interpreted.
GPU_RUN_TEST_OPTIONS="--local-frames always --reconverge always --compile random:1 --region-words 40" \
  suite --test end_to_end --test wasi -- emulator/ --skip stops/ --skip emulator/debug/ --skip memory/batch \
  --skip memory/containers/2048 --skip heap/10240 --skip churn/4096 "$@"
# Runs that go over to compiled code and back; the report of a trap that comes before that is the interpreter's. Without the
# long ones, and programs that spawn threads, which do not go over.
GPU_RUN_TEST_OPTIONS="--compile parked:5" \
  suite --test end_to_end -- emulator/ --skip stops/ --skip dbg/report/trap --skip memory/batch --skip memory/containers/2048 \
  --skip heap/10240 --skip churn/4096 --skip emulator/spawned/ --skip emulator/own/ --skip emulator/tasks/ "$@"
