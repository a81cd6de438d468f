"""Runs what this machine can of all benches, several times, and says what is worse than a stored run.

A number is worse if its median is larger than the stored one by more than both runs spread: the larger of the
differences between the slowest and the fastest repetition. All numbers are milliseconds.
"""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import chart
from measure import BENCH, Failed, output

ROOT = os.path.dirname(BENCH)

# Names of columns that are times, of benches that write a file of medians.
TIMES = {"native", "gpu_run", "wasmtime", "ptx", "interp", "cuda"}
# What these benches are run with where there is no GPU; None: not at all.
BENCHES = {
    "native": None,
    "ordinary": ["--device", "cpu", "--engine", "interp", "--small"],
    "parallel": ["--device", "cpu", "--engine", "interp", "--small"],
}
# A line of bench/run.sh: program, device, threads, milliseconds.
LINE = re.compile(r"(\w+) +(\w+) +(\d+) threads +([\d.]+) ms")


def interpreter(options):
    """Milliseconds of each program of bench/run.sh, by name."""
    for line in output([f"{BENCH}/run.sh", options.bin], limit=3600)[0].splitlines():
        name, device, threads, ms = LINE.match(line).groups()
        yield f"interpreter/{name}/{device}/{threads}", float(ms)


def of_bench(name, options, extra):
    """Milliseconds that a bench has written in one repetition, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "medians.tsv")
        command = [f"{BENCH}/{name}/run.sh", "--bin", options.bin, "--reps", "1", "--tsv", path, *extra]
        output(command, limit=3600)
        with open(path) as file:
            lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    heads, rows = lines[0], lines[1:]
    for row in rows:
        for head, text in zip(heads[1:], row[1:]):
            if (head in TIMES or head.split()[0].split("-")[0] in TIMES) and text not in ("-", ""):
                yield f"{name}/{row[0]}/{head}", float(text)


def measure(options, has_gpu):
    """All numbers of all repetitions, by name, and whether a bench failed."""
    parts = {"interpreter": lambda: interpreter(options)}
    for name, without_gpu in BENCHES.items():
        extra = [] if has_gpu else without_gpu
        if extra is not None:
            parts[name] = lambda name=name, extra=extra: of_bench(name, options, extra)
    found, failed = {}, False
    for repetition in range(options.reps):
        for name, part in parts.items():
            if options.names and name not in options.names:
                continue
            print(f"{name}, {repetition + 1} of {options.reps}", file=sys.stderr, flush=True)
            try:
                for key, ms in part():
                    found.setdefault(key, []).append(ms)
            except Failed as error:
                print(f"{name}: {error}", file=sys.stderr)
                failed = True
    return found, failed


def spread(times):
    return max(times) - min(times)


def compare(old, new):
    """Lines for what changed by more than it spreads, and whether something is worse."""
    lines, worse = [], False
    for name in sorted(old.keys() & new.keys()):
        before, after = statistics.median(old[name]), statistics.median(new[name])
        noise = max(spread(old[name]), spread(new[name]))
        if abs(after - before) > noise:
            word = "worse" if after > before else "better"
            worse |= after > before
            lines.append(f"{word:<7} {name}: {before:.2f} ms, now {after:.2f} ms ({after / before:.2f} times, spread {noise:.2f})")
    missing = sorted(old.keys() - new.keys())
    return lines + [f"not measured now: {name}" for name in missing], worse


def updated(name, rows, found):
    """The rows of a file of bench/results with the medians of this run; times that were not measured are left out."""

    def cell(row, column):
        times = found.get(f"{name}/{next(iter(row.values()))}/{column}")
        return f"{statistics.median(times):.2f}" if times else "-" if column in TIMES else row[column]

    return [{column: cell(row, column) for column in row} for row in rows]


def write_book(options, found, devices):
    """Puts the medians into the files of bench/results that the book's charts show, and draws these anew."""
    for name in ("native", "ordinary"):
        if not any(key.startswith(f"{name}/") for key in found):
            continue
        path = chart.RESULTS / f"{name}.tsv"
        rows = updated(name, chart.read(path)[1], found)
        notes = [f"bench/all.sh --book, {datetime.date.today():%d %B %Y}: milliseconds, medians of {options.reps} runs", devices]
        lines = [f"# {note}" for note in notes] + ["\t".join(rows[0])] + ["\t".join(row.values()) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    chart.main([])


def self_test():
    old = {"a": [10.0, 11.0], "b": [10.0, 10.1], "c": [5.0], "d": [9.0, 9.1]}
    new = {"a": [11.4, 11.6], "b": [12.0, 12.2], "d": [7.0, 7.1]}
    lines, worse = compare(old, new)
    assert worse and [line.split(":")[0].split() for line in lines] == [["worse", "b"], ["better", "d"], ["not", "measured", "now"]], lines
    rows = updated("native", [{"kernel": "hash", "threads": "8", "native": "1.00", "wasmtime": "2"}], {"native/hash/native": [3.0, 5.0]})
    assert rows == [{"kernel": "hash", "threads": "8", "native": "4.00", "wasmtime": "-"}], rows
    assert compare(old, {"a": [10.5], "b": [10.0], "c": [5.0], "d": [9.0]}) == ([], False)


def main():
    parser = argparse.ArgumentParser(prog="all.sh", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of interpreter, {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--reps", type=int, default=5, help="repetitions of everything")
    parser.add_argument("--json", metavar="FILE", help="write all numbers, for --compare")
    parser.add_argument("--compare", metavar="OLD", help="a file that --json has written; ends with 1 if something is worse")
    parser.add_argument("--book", action="store_true", help="put the medians into bench/results, and draw the book's charts anew")
    parser.add_argument("--self-test", action="store_true", help="check the comparison, and run nothing")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return 0
    unknown = set(options.names) - {"interpreter", *BENCHES}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    stored = None
    if options.compare:
        try:
            with open(options.compare) as file:
                stored = json.load(file)["ms"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"{options.compare} is no file of --json: {error}")
    devices = output([options.bin, "devices"])[0].strip().splitlines()
    has_gpu = any(line.startswith("cuda:0") for line in devices)
    if options.book and not has_gpu:
        parser.error("--book needs a GPU: the book's charts are of one")
    found, failed = measure(options, has_gpu)
    for name, times in found.items():
        print(f"{name:<48} {statistics.median(times):10.2f} ms  spread {spread(times):8.2f}")
    if options.json:
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        about = {"date": f"{datetime.date.today()}", "commit": commit, "devices": devices, "system": platform.platform()}
        with open(options.json, "w") as file:
            json.dump({**about, "ms": found}, file, indent=1)
            file.write("\n")
    if options.book:
        write_book(options, found, "; ".join(devices))
    worse = False
    if stored is not None:
        lines, worse = compare(stored, found)
        print("\n".join(lines) or "nothing changed by more than it spreads")
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
