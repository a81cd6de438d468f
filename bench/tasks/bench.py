"""Runs what gpu-std's tasks, channels and barriers do by gpu-run and natively, and prints the medians. Called by run.sh."""

import argparse
import datetime
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/bench")

from measure import Failed, Row, cell, output  # noqa: E402

MODULE = f"{HERE}/tasks.wasm"

# name: kernel, native row, size of the work and of little work, what is counted by the size (and "threads" if each does it)
WORK = {
    "fib": ("fib_tasks", "fib", 40, 22, None),
    "fib_apart": ("fib_apart", "fib", 40, 22, None),
    "spawn": ("spawn", "spawn", 20_000, 1_000, "tasks"),
    "graph": ("graph", None, 100_000, 500, "tasks"),
    "futures": ("futures", None, 100_000, 500, "futures"),
    "balanced": ("balanced", "balanced", 10_000_000, 5_000, None),
    "sort": ("sort", "sort", 4_000_000, 5_000, None),
    "messages": ("messages_64", "messages", 100_000_000, 10_000, "messages"),
    "one_message": ("one_message", "one_message", 1_000_000, 2_000, "messages"),
    "queue": ("queue", None, 1_000, 10, "numbers threads"),
    "barrier": ("barrier", "barrier", 1_000, 20, "phases"),
    "reduce": ("reduce", None, 100, 5, "reductions"),
    "reduce_block": ("reduce_block", None, 100, 5, "reductions"),
    "gc": ("gc", None, 4_000_000, 20_000, "objects"),
}
# Rows whose result depends on the number of threads.
OF_THREADS = {"messages", "one_message", "queue", "barrier", "reduce", "reduce_block", "gc"}


class Work(Row):
    """A row, and what was measured."""

    def __init__(self, options, name):
        super().__init__(name)
        self.kernel, self.native, *sizes, self.counts = WORK[name]
        self.size = sizes[options.small]

    def natively(self, options):
        result, ms = output([f"{HERE}/target/release/tasks", self.native, self.size], limit=options.limit)[0].split()
        return self.of_all(result), float(ms)

    def run(self, options, threads):
        with tempfile.NamedTemporaryFile() as size:
            size.write(struct.pack("<Q", self.size))
            size.flush()
            command = [options.bin, "run", "--device", options.device, "--engine", options.engine, "--threads", threads]
            command += ["--timeout", f"{options.limit}s", "--compile-time", "10m", "--input", size.name]
            stdout, _ = output([*command, "--invoke", self.kernel, *options.extra, MODULE], limit=2 * options.limit)
        lines = [line.split() for line in stdout.splitlines()]
        if not lines or len(lines[0]) != 2:
            raise Failed(f"it printed {stdout!r}")
        return self.of_all(lines[0][0]), float(lines[0][1])

    def of_all(self, result):
        return "" if self.name in OF_THREADS else result

    def rate(self, ms, threads):
        """What it does in a second."""
        if not self.counts or not ms:
            return ""
        what, *each = self.counts.split()
        count = self.size * (threads if each else 1)
        return f"{count / ms / 1e3:.3g} M {what}/s"


def table(rows, threads):
    """The lines of the table."""
    heads = ["native", *threads]
    yield f"{'row':<14}{'size':>12}" + "".join(f"{head:>12}" for head in heads) + f"{'native/best':>14}  best, results"
    for row in rows:
        best = min((column for column in threads if row.median(column)), key=row.median, default=None)
        cells = "".join(f"{cell(row.median(head)):>12}" for head in heads)
        rate = row.rate(row.median(best), int(best)) if best else ""
        told = ", ".join(text for text in (rate, row.verdict()) if text)
        yield f"{row.name:<14}{row.size:>12}{cells}{cell(best and row.faster(best)):>14}  {told}"


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, epilog="What follows -- goes to gpu-run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--device", default="cuda", help="device of gpu-run")
    parser.add_argument("--engine", default="ptx", help="engine of gpu-run")
    parser.add_argument("--threads", default="1024,8448,33792", help="numbers of threads, with commas between them")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    parser.add_argument("--limit", type=int, default=60, help="seconds that a run may take")
    parser.add_argument("--tsv", metavar="FILE", help="write the medians as a file of bench/results")
    parser.add_argument("--small", action="store_true", help="little work, to check results")
    words = sys.argv[1:]
    own = words[: words.index("--")] if "--" in words else words
    options = parser.parse_intermixed_args(own)
    options.extra = words[len(own) + 1 :]
    threads = options.threads.split(",")
    unknown = set(options.names) - WORK.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    rows = [Work(options, name) for name in options.names or WORK]
    for _ in range(options.reps):
        for row in rows:
            if row.native:
                row.note("native", lambda: row.natively(options))
            for count in threads:
                row.note(count, lambda: row.run(options, count))
    for line in table(rows, threads):
        print(line, flush=True)
    if options.tsv:
        with open(options.tsv, "w") as file:
            what = f"milliseconds, medians of {options.reps} runs; columns: threads, compiled"
            file.write(f"# bench/tasks/run.sh, {datetime.date.today():%d %B %Y}: {what}\n")
            file.write("\t".join(["row", "size", "native", *threads]) + "\n")
            for row in rows:
                cells = [cell(row.median(head)) for head in ["native", *threads]]
                file.write("\t".join([row.name, str(row.size), *cells]) + "\n")
    return any(row.verdict() != "equal" for row in rows)


if __name__ == "__main__":
    sys.exit(main())
