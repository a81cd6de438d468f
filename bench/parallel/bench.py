"""Runs programs of threads by gpu-run and natively, and prints the medians. Called by run.sh."""

import argparse
import datetime
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/bench")

from measure import Failed, Row, cell, output  # noqa: E402

MODULE = f"{HERE}/parallel.wasm"

# name: size of the work, and of little work
WORK = {
    "sum": (20_000_000, 20_000),
    "quicksort": (4_000_000, 4_000),
    "par_sort": (4_000_000, 4_000),
    "queens": (12, 7),
    "nbody": (4_096, 64),
    "mandelbrot": (1_500, 48),
    "words": (200_000, 500),
    "spawn": (20_000, 200),
    "mutex": (10_240, 50),
    "channel": (1_000_000, 1_000),
    "bounded": (1_000_000, 1_000),
}


class Work(Row):
    """A program, and what was measured."""

    def __init__(self, options, name):
        super().__init__(name)
        self.size = WORK[name][options.small]

    def run(self, options, command, engine=None):
        """Runs it, by an engine or natively. It prints its result, milliseconds and how many threads its pool had."""
        stdout, stderr = output([*command, self.name, self.size], limit=options.limit)
        result, ms, _ = stdout.split()
        found = engine and json.loads(stderr.splitlines()[-1])["engine"]
        if found != engine:
            raise Failed(f"it ran by {found}")
        return result, float(ms)


def columns(options):
    """What is run, besides natively: the name of the column, the engine and the command."""
    for engine in options.engine:
        for threads in options.threads or [None]:
            command = [options.bin, "run", "--device", options.device, "--engine", engine]
            command += ["--timeout", f"{options.limit}s", "--stats=json", "--compile-time", "10m", *options.extra]
            if threads:
                command += ["--threads", threads]
            yield f"{engine}/{threads}" if threads else engine, engine, [*command, MODULE]


def table(rows, names):
    """The lines of the table."""
    heads = ["native", *names, *(f"native/{name}" for name in names)]
    yield f"{'program':<12}{'size':>10}" + "".join(f"{head:>18}" for head in heads) + "  results"
    for row in rows:
        cells = [cell(row.median(name)) for name in ["native", *names]] + [cell(row.faster(name)) for name in names]
        yield f"{row.name:<12}{row.size:>10}" + "".join(f"{text:>18}" for text in cells) + f"  {row.verdict()}"


def write_tsv(options, rows, names):
    """Writes the medians as a file of bench/results."""
    with open(options.tsv, "w") as file:
        what = f"milliseconds, medians of {options.reps} runs"
        file.write(f"# bench/parallel/run.sh, {datetime.date.today():%d %B %Y}: {what}\n")
        file.write("\t".join(["program", "size", "native", *names]) + "\n")
        for row in rows:
            file.write("\t".join([row.name, str(row.size), *(cell(row.median(name)) for name in ["native", *names])]) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, epilog="What follows -- goes to gpu-run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to run (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--device", default="cuda", help="device of gpu-run")
    parser.add_argument("--engine", default="ptx", help="engines of gpu-run, with commas between them")
    parser.add_argument("--threads", default="", help="numbers of threads, with commas between them")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    parser.add_argument("--limit", type=int, default=60, help="seconds that a run may take")
    parser.add_argument("--tsv", metavar="FILE", help="write the medians as a file of bench/results")
    parser.add_argument("--small", action="store_true", help="little work, to check results")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    options = parser.parse_intermixed_args(own)
    options.extra = words[len(own) + 1 :]
    options.engine = options.engine.split(",")
    options.threads = [threads for threads in options.threads.split(",") if threads]
    unknown = set(options.names) - WORK.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    rows = [Work(options, name) for name in options.names or WORK]
    runs = list(columns(options))
    for _ in range(options.reps):
        for row in rows:
            row.note("native", lambda: row.run(options, [f"{HERE}/target/release/parallel"]))
            for column, engine, command in runs:
                row.note(column, lambda: row.run(options, command, engine))
    names = [column for column, _, _ in runs]
    for line in table(rows, names):
        print(line, flush=True)
    if options.tsv:
        write_tsv(options, rows, names)
    return any(row.verdict() != "equal" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
