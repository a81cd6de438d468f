#!/usr/bin/env bash
# Builds the large module and measures its translation: MB/s of each stage and the peak of memory,
# the best of RUNS (10 unless told).
# Usage: bench/large/run.sh [RUNS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./build.sh
cd ../..
cargo build --quiet --release -p gpu-run-translator --example speed
target/release/examples/speed bench/large/target/wasm32-unknown-unknown/release/large.wasm "${1:-10}"
