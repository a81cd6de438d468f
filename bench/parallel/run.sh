#!/usr/bin/env bash
# Times programs of rayon and of std's threads by gpu-run beside the same source on all cores: see README.md.
#
#   bench/parallel/run.sh [--bin PATH] [--device cuda|cpu] [--engine ptx,interp] [--threads N,N] [--reps N]
#                         [--small] [--tsv FILE] [NAME...] [-- OPTION OF gpu-run...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# A machine with a GPU may have no Rust: there, what was built elsewhere is taken as it is.
if command -v cargo >/dev/null; then
  (cd "$here" && CARGO_TARGET_DIR=$here/target cargo build --release --quiet --locked)
elif [ ! -x "$here/target/release/parallel" ]; then
  echo "run.sh: no cargo on PATH, and no $here/target/release/parallel built before" >&2
  exit 1
fi
exec python3 "$here/bench.py" "$@"
