#!/usr/bin/env bash
# Times compiling of real programs, whole and hot code only: see README.md.
#
#   bench/compile/run.sh [--bin PATH] [--ptxas PATH] [--reps N] [--scale N] [--hot-only] [--cache FOLDER] [--tsv FILE] [NAME...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/bench.py" "$@"
