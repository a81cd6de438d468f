#!/usr/bin/env bash
# Runs the book's recipe for Ray, shards.py, on this machine, and compares its outputs with those of one batch.
# Where there is no GPU Ray is told of two, and the batches run on the CPU. RAY names a virtual environment that has Ray;
# without it one is made under target/ray, from PyPI.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

RAY_VERSION=2.60.0
environment=${RAY:-$root/target/ray}
if [ ! -x "$environment/bin/ray" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check "ray==$RAY_VERSION"
fi
cargo build --release --quiet -p gpu-run

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$environment/bin:$root/target/release:$PATH
export RAY_USAGE_STATS_ENABLED=0 RAY_TMPDIR=$work/ray
if ! gpu-run devices 2>/dev/null | grep -q '^cuda:'; then
  export RAY_OVERRIDE_RESOURCES='{"GPU": 2}'
fi

cd "$work"
cp "$root/fixtures/wasm/wasi/wc.wasm" app.wasm
mkdir inputs
for i in $(seq 100); do
  seq "$i" >"inputs/$i.txt"
done
printf '%s\n' inputs/*.txt >inputs.list
python "$root/tests/recipes/shards.py" | tee printed
grep -qx '\[0, 0, 0, 0, 0, 0, 0, 0\]' printed
gpu-run batch --from inputs.list --out-dir one app.wasm
[ "$(find one -name '*.exit' | wc -l)" = 100 ]
diff -r one results
echo "the shards' outputs are those of one batch"
