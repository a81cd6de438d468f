"""Runs what this machine can of all benches, several times, and says what is worse than a stored run.

A number is worse if its median is larger than the stored one by more than both runs spread: the larger of the
differences between the slowest and the fastest repetition. All numbers are milliseconds.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

import chart
import parts
from measure import BENCH, Failed, output
from parts import PARTS, missing

ROOT = os.path.dirname(BENCH)

# Repetitions of which a spread can be told.
LEAST = 3


def measure(options, has_gpu):
    """All numbers of all repetitions, by name, and whether a bench failed."""
    found, failed = {}, False
    runs = {}
    for name in options.names or PARTS:
        reason = missing(name, has_gpu)
        if reason is None:
            runs[name] = PARTS[name]
        else:
            print(f"{name} is not run: {reason}", file=sys.stderr)
            # One that was asked for by its name.
            failed |= bool(options.names)
    for repetition in range(options.reps):
        for name, part in runs.items():
            print(f"{name}, {repetition + 1} of {options.reps}", file=sys.stderr, flush=True)
            try:
                for key, ms in part(options, has_gpu):
                    found.setdefault(f"{name}/{key}", []).append(ms)
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
            times = f"{after / before:.2f} times, " if before else ""
            lines.append(f"{word:<7} {name}: {before:.5g} ms, now {after:.5g} ms ({times}spread {noise:.3g})")
    benches = {name.split("/")[0] for name in new}
    left = sorted(name for name in old.keys() - new.keys() if name.split("/")[0] in benches)
    return lines + [f"not measured now: {name}" for name in left], worse


def same(ms):
    return ms


# Files of bench/results, the bench of each, and what a column of it has of that: a name, and how the file's number comes of
# milliseconds. Other columns say what was run.
BOOK = {
    "native.tsv": ("native", {column: (column, same) for column in ("native", "gpu_run", "wasmtime")}),
    "ordinary.tsv": ("ordinary", {column: (column, same) for column in ("native", "ptx", "cuda")}),
    "one-thread.tsv": ("interpreter", {"gpu": ("cuda/1", same), "cpu": ("cpu/1", same)}),
    # Processes a second, of the time of 1,000.
    "batch.tsv": ("batch", {column: (column, lambda ms: 1e6 / ms) for column in ("gpu_run", "wasmtime")}),
    # Millions of blocks a second, of the time of a million.
    "heap.tsv": ("heap", {column: (column, lambda ms: 1e3 / ms) for column in ("cold", "steady", "free", "cuda_malloc")}),
}


def updated(file, rows, found):
    """The rows of a file of bench/results with the medians of this run; what was not measured stays."""
    bench, columns = BOOK[file]

    def number(row, column):
        name, of_ms = columns[column]
        times = found.get(f"{bench}/{next(iter(row.values()))}/{name}")
        if not times:
            return row[column]
        value = of_ms(statistics.median(times))
        return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"

    return [{column: number(row, column) if column in columns else row[column] for column in row} for row in rows]


def write_book(options, found, devices):
    """Puts the medians into the files of bench/results that the book's charts show, and draws these anew."""
    for file, (bench, columns) in BOOK.items():
        if not any(key.startswith(f"{bench}/") for key in found):
            continue
        path = chart.RESULTS / file
        rows = updated(file, chart.read(path)[1], found)
        date = f"{datetime.date.today():%d %B %Y}"
        unit = {"batch.tsv": "processes a second", "heap.tsv": "millions of blocks a second"}.get(file, "milliseconds")
        notes = [f"bench/all.sh --book, {date}: {unit}, medians of {options.reps} runs; columns that were not measured are of before", devices]
        lines = [f"# {note}" for note in notes] + ["\t".join(rows[0])] + ["\t".join(row.values()) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    chart.main([])


def self_test():
    old = {"x/a": [10.0, 11.0], "x/b": [10.0, 10.1], "x/c": [5.0], "x/d": [9.0, 9.1], "y/a": [1.0]}
    new = {"x/a": [11.4, 11.6], "x/b": [12.0, 12.2], "x/d": [7.0, 7.1]}
    lines, worse = compare(old, new)
    assert worse and [line.split(":")[0].split() for line in lines] == [["worse", "x/b"], ["better", "x/d"], ["not", "measured", "now"]], lines
    rows = updated("native.tsv", [{"kernel": "hash", "threads": "8", "native": "1.00", "wasmtime": "2"}], {"native/hash/native": [3.0, 5.0]})
    assert rows == [{"kernel": "hash", "threads": "8", "native": "4", "wasmtime": "2"}], rows
    rows = updated("batch.tsv", [{"program": "blur", "gpu_run": "1", "wasmtime": "2"}], {"batch/blur/gpu_run": [10.0]})
    assert rows == [{"program": "blur", "gpu_run": "100000", "wasmtime": "2"}], rows
    for file, (_, columns) in BOOK.items():
        rows = chart.read(chart.RESULTS / file)[1]
        assert columns.keys() <= rows[0].keys(), file
    parts.self_test()
    assert compare(old, {"x/a": [10.5], "x/b": [10.0], "x/c": [5.0], "x/d": [9.0]}) == ([], False)


def main():
    parser = argparse.ArgumentParser(prog="all.sh", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)} (default: all that this machine can)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--reps", type=int, default=5, help="repetitions of everything")
    parser.add_argument("--json", metavar="FILE", nargs="?", const="-", help="write all numbers to FILE, for --compare, or to stdout")
    parser.add_argument("--compare", metavar="OLD", help="a file that --json has written; ends with 1 if something is worse")
    parser.add_argument("--book", action="store_true", help="put the medians into bench/results, and draw the book's charts anew")
    parser.add_argument("--self-test", action="store_true", help="check the comparison, and run nothing")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return 0
    # `--json NAME` takes a bench for a file.
    if options.json in PARTS:
        parser.error(f"--json stands last, or takes a file, and {options.json} is a bench")
    unknown = set(options.names) - PARTS.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    # Scripts run in other folders.
    options.bin = os.path.abspath(options.bin)
    stored = None
    if options.compare:
        try:
            with open(options.compare) as file:
                stored = json.load(file)["ms"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"{options.compare} is no file of --json: {error}")
        few = min(map(len, stored.values()), default=0)
        if min(few, options.reps) < LEAST:
            parser.error(f"--compare needs {LEAST} repetitions of both runs at least: of fewer no spread is known")
    try:
        devices = output([options.bin, "devices"])[0].strip().splitlines()
    except Failed as error:
        parser.error(str(error))
    has_gpu = any(line.startswith("cuda:0") for line in devices)
    if options.book and not has_gpu:
        parser.error("--book needs a GPU: the book's charts are of one")
    found, failed = measure(options, has_gpu)
    told = sys.stderr if options.json == "-" else sys.stdout
    for name, times in found.items():
        print(f"{name:<56} {statistics.median(times):11.5g} ms  spread {spread(times):9.3g}", file=told)
    if options.json:
        commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
        about = {"date": f"{datetime.date.today()}", "commit": commit, "devices": devices, "system": platform.platform()}
        text = json.dumps({**about, "ms": found}, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
        else:
            with open(options.json, "w") as file:
                file.write(text)
    if options.book:
        write_book(options, found, "; ".join(devices))
    worse = False
    if stored is not None:
        lines, worse = compare(stored, found)
        print("\n".join(lines) or "nothing changed by more than it spreads", file=told)
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
