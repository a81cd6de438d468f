"""Runs the units of work by gpu-run, natively, in wasmtime and as CUDA C++, and prints the medians. Called by run.sh."""

import argparse
import csv
import datetime
import io
import json
import math
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/bench")

from measure import Failed, Row, cell, output, wasmtime  # noqa: E402

MODULE = f"{HERE}/ordinary.wasm"

# name: (threads, rounds of each)
WORK = {
    "edit": (270_336, 20),
    "sort": (135_168, 50),
    "words": (67_584, 20),
    "json": (67_584, 20),
    "tree": (67_584, 20),
    "regex": (67_584, 20),
    "base64": (135_168, 50),
    "lz4": (67_584, 20),
    "markdown": (67_584, 20),
    "matrix": (67_584, 20),
    "find": (67_584, 20),
    "queens": (135_168, 20),
    "expression": (67_584, 20),
    "sha256": (135_168, 20),
    "blake3": (135_168, 20),
    "shuffle": (67_584, 20),
    "rc4": (135_168, 20),
    "histogram": (270_336, 20),
    "knapsack": (270_336, 20),
    "insertion": (270_336, 20),
    "permutations": (270_336, 5),
    "bank": (67_584, 20),
    "csv": (67_584, 20),
    "dijkstra": (67_584, 20),
    "huffman": (67_584, 20),
    "machine": (67_584, 20),
    "miller": (135_168, 20),
    "shapes": (67_584, 20),
    "trie": (67_584, 20),
}
# Those that have a twin in CUDA C++.
TWINS = ["edit", "matrix", "queens", "sha256"]
# What a column is called, and what Nsight Compute calls it.
COUNTERS = {
    "lanes": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "registers": "launch__registers_per_thread",
    "instructions": "smsp__thread_inst_executed.sum",
}
# Rounds under Nsight Compute, which runs a kernel several times.
COUNTED_ROUNDS = 2


def gpu_run(options, engine, threads, name, rounds):
    """The command of a run by gpu-run."""
    command = [options.bin, "run", "--device", options.device, "--engine", engine, "--timeout", "60s", "--stats=json"]
    command += ["--compile-time", "10m"]
    return command + options.extra + ["--threads", threads, "--invoke", name, MODULE, rounds]


class Work(Row):
    """A unit of work, and what was measured."""

    def __init__(self, options, name):
        super().__init__(name)
        self.threads, self.rounds = (96, 2) if options.small else WORK[name]
        self.counters = {}

    def native(self):
        total, ms = output([f"{HERE}/target/release/native", self.name, self.threads, self.rounds])[0].split()
        return int(total), float(ms)

    def engine(self, options, engine):
        stdout, stderr = output(gpu_run(options, engine, self.threads, self.name, self.rounds))
        stats = json.loads(stderr.splitlines()[-1])
        if engine != "auto" and stats["engine"] != engine:
            raise Failed(f"it ran by {stats['engine']}")
        return int(stdout.split()[0]), stats["run_ms"]

    def wasmtime(self):
        found = wasmtime(MODULE, self.name, self.threads, [self.rounds])
        return found["total"], found["ms"]

    def twin(self, options):
        host = ["--host"] if options.device == "cpu" else []
        total, ms = output([f"{HERE}/target/twins", *host, self.name, self.threads, self.rounds])[0].split()
        return int(total), float(ms)

    def count(self, options):
        """Reads the counters of a run of few rounds."""
        command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base"]
        command += ["--metrics", ",".join(COUNTERS.values())]
        command += gpu_run(options, "ptx", self.threads, self.name, COUNTED_ROUNDS)
        try:
            text = output(command)[0]
        except Failed as error:
            print(f"{self.name}: ncu: {error}", file=sys.stderr, flush=True)
            return
        table = text[text.find('"ID"') :]
        values = {row["Metric Name"]: row["Metric Value"] for row in csv.DictReader(io.StringIO(table))}
        try:
            counters = {column: float(values[metric].replace(",", "")) for column, metric in COUNTERS.items()}
        except (KeyError, ValueError) as error:
            print(f"{self.name}: ncu: no counter {error}", file=sys.stderr, flush=True)
            return
        counters["instructions"] /= self.threads * COUNTED_ROUNDS
        self.counters = counters

    def repeat(self, options, rep):
        """One repetition of each column."""
        self.note("native", self.native)
        for engine in options.engine:
            self.note(engine, lambda engine=engine: self.engine(options, engine))
        if rep < options.wasmtime:
            self.note("wasmtime", self.wasmtime)
        if options.twins and self.name in TWINS:
            self.note("cuda", lambda: self.twin(options))


def table(options, rows):
    """The lines of the table."""
    times = ["native", *options.engine] + ["wasmtime"] * bool(options.wasmtime) + ["cuda"] * options.twins
    counters = list(COUNTERS) if options.counters else []
    heads = [*times, *(f"native/{engine}" for engine in options.engine), *counters]
    yield f"{'work':<11}{'threads':>9}{'rounds':>7}" + "".join(f"{head:>14}" for head in heads) + "  sums"
    for row in rows:
        cells = [cell(row.median(column), 2) for column in times]
        cells += [cell(row.faster(engine), 2) for engine in options.engine]
        cells += [cell(row.counters.get(counter), 1) for counter in counters]
        shown = "".join(f"{text:>14}" for text in cells)
        yield f"{row.name:<11}{row.threads:>9}{row.rounds:>7}{shown}  {row.verdict()}"
    for engine in options.engine:
        ratios = [row.faster(engine) for row in rows if row.faster(engine)]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            yield f"geometric mean of native/{engine}: {mean:.2f}"


def write_tsv(options, rows):
    """Writes the medians as a file of bench/results."""
    columns = ["native", "ptx", "interp", "wasmtime", "cuda"]
    with open(options.tsv, "w") as file:
        extra = f" with {' '.join(options.extra)}" if options.extra else ""
        runs = f"medians of {options.reps} runs (wasmtime: of {min(options.reps, options.wasmtime)})"
        file.write(f"# bench/ordinary/run.sh{extra}, {datetime.date.today():%d %B %Y}: milliseconds, {runs}\n")
        file.write("\t".join(["work", "threads", "rounds", *columns, *COUNTERS]) + "\n")
        for row in rows:
            cells = [cell(row.median(column), 2) for column in columns]
            cells += [cell(row.counters.get(counter), 1) for counter in COUNTERS]
            file.write("\t".join([row.name, str(row.threads), str(row.rounds), *cells]) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, epilog="What follows -- goes to gpu-run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="units of work to run (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--device", default="cuda", help="device of gpu-run; cpu: the twins run on the host, too")
    parser.add_argument("--engine", default="ptx", help="engines of gpu-run, with commas between them")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    parser.add_argument("--wasmtime", type=int, default=0, metavar="N", help="repetitions that run wasmtime too")
    parser.add_argument("--counters", action="store_true", help="read the counters by ncu")
    parser.add_argument("--tsv", metavar="FILE", help="write the medians as a file of bench/results")
    parser.add_argument("--small", action="store_true", help="little work, to check results")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    options = parser.parse_intermixed_args(own)
    options.extra = words[len(own) + 1 :]
    options.engine = options.engine.split(",")
    options.twins = os.access(f"{HERE}/target/twins", os.X_OK)
    unknown = set(options.names) - WORK.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    if options.counters and not shutil.which("ncu"):
        parser.error("--counters needs ncu (Nsight Compute) on PATH")

    rows = [Work(options, name) for name in WORK if not options.names or name in options.names]
    for rep in range(options.reps):
        for row in rows:
            row.repeat(options, rep)
    if options.counters:
        for row in rows:
            row.count(options)
    for line in table(options, rows):
        print(line)
    if options.tsv:
        write_tsv(options, rows)
    return 1 if any(row.verdict() != "equal" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
