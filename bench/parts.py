"""The benches that all.py runs: each part yields names and numbers of one repetition, in milliseconds.

What is told as a rate is the time of so many: of 1,000 processes, of a million blocks.
"""

import json
import os
import re
import shutil
import tempfile
from functools import partial

from measure import BENCH, Failed, output

# Seconds that a bench may take.
LIMIT = 3600
# Names of columns that are times, of benches that write a file of medians: others say what was run.
WORDS = {"size", "threads", "rounds", "words all", "words hot"}
# What the interpreter of the CPU is asked for where there is no GPU, with little work.
ON_CPU = ["--device", "cpu", "--engine", "interp", "--small"]
# Benches that write such a file, and what they are run with where there is no GPU; None: not at all.
TABLES = {
    "native": None,
    "ordinary": ON_CPU,
    "parallel": ON_CPU,
    "tasks": [*ON_CPU, "--threads", "64"],
    "compile": None,
}
# A line of bench/run.sh: program, device, threads, milliseconds.
INTERPRETED = re.compile(r"(\w+) +(\w+) +(\d+) threads +([\d.]+) ms")
# A line of bench/requests.sh, bench/files.sh: options, threads, and what was measured.
THREADS = re.compile(r"(.+?) +(\d+) threads: +(.*)")
MICROSECONDS = re.compile(r"(?:(write|read) )? *([\d.]+) us(?: a (call|read of \d+))?")
# Of bench/debug.sh: what is shown, threads, milliseconds.
RECORDS = re.compile(r"(small records|mandelbrot) (.+?) +(\d+) threads +(?:(\d+) rows: )?([\d.]+)(?: ms|; )")


def matched(pattern, line):
    found = pattern.match(line)
    if not found:
        raise Failed(f"nothing can be read from {line!r}")
    return found.groups()


def interpreter(options, has_gpu):
    for line in output([f"{BENCH}/run.sh", options.bin], limit=LIMIT)[0].splitlines():
        name, device, threads, ms = matched(INTERPRETED, line)
        yield f"{name}/{device}/{threads}", float(ms)


def table(name, options, has_gpu):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "medians.tsv")
        command = [f"{BENCH}/{name}/run.sh", "--bin", options.bin, "--reps", "1", "--tsv", path]
        if name == "native" and options.book:
            command += ["--wasmtime", "1"]
        output(command + ([] if has_gpu else TABLES[name]), limit=LIMIT)
        with open(path) as file:
            lines = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    heads, rows = lines[0], lines[1:]
    for row in rows:
        for head, text in zip(heads[1:], row[1:]):
            if head not in WORDS and text not in ("-", ""):
                try:
                    yield f"{row[0]}/{head}", float(text)
                except ValueError:
                    raise Failed(f"{row[0]}: {head} is {text!r}") from None


def batch(options, has_gpu):
    """Of 1,000 processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rates.json")
        count = 20_000 if has_gpu else 200
        os.environ["GPU_RUN"] = options.bin
        output([f"{BENCH}/batch/run.sh", "--count", count, "--json", path], limit=LIMIT)
        with open(path) as file:
            rows = json.load(file)
    for row in rows:
        for column in ("gpu_run", "wasmtime"):
            if row.get(column):
                yield f"{row['program']}/{column}", 1e6 / row[column]


def heap(options, has_gpu):
    """Of a million blocks; gpu-run is not run, but its kernel's code."""
    for line in output([f"{BENCH}/heap/run.sh"], limit=LIMIT)[0].splitlines():
        cells = line.replace("|", " ").split()
        if len(cells) < 5 or not cells[0].isdigit():
            continue
        # Bytes, threads, then millions a second.
        named = dict(zip(("cold", "steady", "free"), cells[2:5]))
        if len(cells) > 8:
            named["cuda_malloc"] = cells[8]
        for column, rate in named.items():
            if float(rate) > 0:
                yield f"{cells[0]}/{column}", 1e3 / float(rate)


def lines(script, options, has_gpu):
    """Of a request, or of a piece of a file."""
    for line in output([f"{BENCH}/{script}.sh", options.bin], limit=LIMIT)[0].splitlines():
        what, threads, rest = matched(THREADS, line)
        for kind, us, each in MICROSECONDS.findall(rest):
            yield f"{(kind or each).replace(' ', '-')}/{what.replace(' ', '')}/{threads}", float(us) / 1e3


def debug(options, has_gpu):
    for line in output([f"{BENCH}/debug.sh", options.bin], limit=LIMIT)[0].splitlines():
        found = RECORDS.match(line)
        if found:
            what, with_options, threads, rows, ms = found.groups()
            size = f"{threads}x{rows}" if rows else threads
            yield f"{what.replace(' ', '-')}/{with_options.replace(' ', '')}/{size}", float(ms)


PARTS = {
    "interpreter": interpreter,
    **{name: partial(table, name) for name in TABLES},
    "batch": batch,
    "heap": heap,
    "requests": partial(lines, "requests"),
    "files": partial(lines, "files"),
    "debug": debug,
}


def missing(name, has_gpu):
    """Why this machine cannot run a part; None if it can."""
    if not has_gpu and (name == "heap" or TABLES.get(name, True) is None):
        return "it needs a GPU"
    built = os.path.exists(f"{BENCH}/{name}/target/native")
    if name in ("native", "heap") and not built and not shutil.which("nvcc"):
        return "it needs nvcc"
    if name == "heap" and not os.path.exists(f"{BENCH}/heap/target/heap.ptx"):
        if not shutil.which(os.environ.get("CLANG", "clang++-22")):
            return "it needs clang 22"
    if name in ("ordinary", "parallel", "tasks") and not shutil.which("cargo"):
        if not os.path.isdir(f"{BENCH}/{name}/target/release"):
            return "it needs cargo"
    return None


def self_test():
    line = "--device cpu                               1 threads:     5.05 us a call on each,    0.198 M/s in all"
    what, threads, rest = matched(THREADS, line)
    assert (what, threads) == ("--device cpu", "1") and MICROSECONDS.findall(rest) == [("", "5.05", "call")], rest
    line = "cpu, --tmpfs                 1 threads: write     5.00 us,    0.75 GB/s; read     2.00 us,    1.90 GB/s; 3 requests"
    what, threads, rest = matched(THREADS, line)
    assert MICROSECONDS.findall(rest) == [("write", "5.00", ""), ("read", "2.00", "")], rest
    line = "small records --device cpu                                   2 threads       80.5 ms       4.97 M/s"
    assert matched(RECORDS, line) == ("small records", "--device cpu", "2", None, "80.5"), line
    line = "mandelbrot --device cpu                                      2 threads     256 rows: 61.20 ms; 60.00 if unwanted: +2.0 %"
    assert matched(RECORDS, line) == ("mandelbrot", "--device cpu", "2", "256", "61.20"), line
    assert missing("heap", False) and missing("native", False) and missing("batch", False) is None
    for name in PARTS:
        missing(name, True)
    try:
        output(["/nonexistent/program"])
        raise AssertionError
    except Failed:
        pass
