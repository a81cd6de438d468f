#!/usr/bin/env bash
# Runs what this machine can of the benches, and says what is worse than a stored run.
#
#   bench/all.sh [--bin PATH] [--reps N] [--json [FILE]] [--compare OLD] [--book] [--self-test] [NAME...]
set -euo pipefail
exec python3 "$(dirname "${BASH_SOURCE[0]}")/all.py" "$@"
