"""Runs stock programs for WASI over many inputs, by gpu-run and by wasmtime, and prints a table.

bench.py GPU_RUN [POOLED] [--count N] [--device DEVICE] [--json FILE] [PROGRAM...]

GPU_RUN is the command; POOLED is wasmtime's host (bench/batch/wasmtime). Outputs are compared byte for byte. Rates are
processes a second from the first input that is read to the last output, without compilation: the best of three."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = ["hello", "words", "json", "search", "markdown", "pbkdf2", "blur", "lz4", "quickjs"]
# Published for VectorVisor (USENIX ATC 2023), requests a second on one A10G.
PUBLISHED = {"words": 26598, "pbkdf2": 2596, "blur": 1366, "lz4": 1667}
TIMES = 3


def batch(args, program, folder, more):
    """The output of gpu-run batch, and what it says."""
    command = [args.gpu_run, "batch", "--device", args.device, *more, "--from", folder / f"{program}.list"]
    return subprocess.run([*command, HERE / "wasm" / f"{program}.wasm"], capture_output=True, check=False)


def rate(said):
    """The rate that the summary tells."""
    found = re.search(r"s, ([\d,]+) a second", said.decode())
    return int(found.group(1).replace(",", "")) if found else 0


def compare(args, program, folder):
    """A program's row."""
    module = HERE / "wasm" / f"{program}.wasm"
    row = {"program": program, "published": PUBLISHED.get(program)}
    # Compiles it, and keeps the code.
    batch(args, program, folder, ["--shard", f"0/{args.count}"])
    runs = [batch(args, program, folder, []) for _ in range(TIMES)]
    row["gpu_run"] = max(rate(run.stderr) for run in runs)
    if args.pooled:
        out = folder / "out"
        times = [
            float(subprocess.run([args.pooled, module, folder / program, out], capture_output=True, check=True).stdout)
            for _ in range(TIMES)
        ]
        row["wasmtime"] = round(args.count / min(times) * 1e3)
        wanted = b"".join(path.read_bytes() for path in sorted(out.iterdir()))
        row["same"] = all(run.stdout == wanted for run in runs)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_run")
    parser.add_argument("pooled", nargs="?")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json")
    parser.add_argument("--programs", nargs="*", default=PROGRAMS)
    args = parser.parse_args()
    rows = []
    print(f"{'program':10} {'gpu-run/s':>10} {'wasmtime/s':>10} {'ratio':>6} {'published':>10}  same", flush=True)
    for program in args.programs:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").exists() else None) as folder:
            folder = Path(folder)
            subprocess.run([sys.executable, HERE / "inputs.py", folder, str(args.count), program], check=True)
            row = compare(args, program, folder)
        rows.append(row)
        ratio = row["gpu_run"] / row["wasmtime"] if row.get("wasmtime") else None
        print(
            f"{program:10} {row['gpu_run']:10,} {row.get('wasmtime') or 0:10,} "
            f"{f'{ratio:.2f}' if ratio else '':>6} {row['published'] or '':>10}  {row.get('same', '')}",
            flush=True,
        )
    ratios = [row["gpu_run"] / row["wasmtime"] for row in rows if row.get("wasmtime")]
    if ratios:
        product = 1.0
        for ratio in ratios:
            product *= ratio
        print(f"geometric mean {product ** (1 / len(ratios)):.2f}")
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")


main()
