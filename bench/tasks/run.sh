#!/usr/bin/env bash
# Times tasks, channels and barriers of gpu-std by gpu-run beside rayon, crossbeam and std on all cores: see README.md.
#
#   bench/tasks/run.sh [--bin PATH] [--device cuda|cpu] [--engine ptx] [--threads N,N] [--reps N] [--small]
#                      [--tsv FILE] [NAME...] [-- OPTION OF gpu-run...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A machine with a GPU may have no Rust: there, what was built elsewhere is taken as it is.
if command -v cargo >/dev/null; then
  (cd "$here" && CARGO_TARGET_DIR=$here/target cargo build --release --quiet --locked)
elif [ ! -x "$here/target/release/tasks" ]; then
  echo "run.sh: no cargo on PATH, and no $here/target/release/tasks built before" >&2
  exit 1
fi
exec python3 "$here/bench.py" "$@"
