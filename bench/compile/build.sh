#!/usr/bin/env bash
# Builds the bench's own program, report.wasm, which is in the repository. Toolchains: see ../wasip1.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/guests"
. ../../wasip1.sh
install -m 644 "$built/report.wasm" ../report.wasm
