"""What the benches share: programs that are run, and a kernel in wasmtime."""

import json
import os
import statistics
import subprocess
import sys

BENCH = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """A program ended with an error."""


def output(command, limit=300):
    """Standard output and standard error of a program, which has so many seconds."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} did not end in {limit} s") from None
    except OSError as error:
        raise Failed(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise Failed((done.stderr or done.stdout).strip() or f"{command[0]} ended with {done.returncode}")
    return done.stdout, done.stderr


def wasmtime(module, name, threads, args):
    """A run on all cores in wasmtime: its milliseconds and the sum of results, as `ms` and `total`."""
    return json.loads(output([sys.executable, f"{BENCH}/wasmtime_cores.py", module, name, threads, *args])[0])


def cell(value, digits=2):
    """A number of a table."""
    return "-" if value is None else f"{value:.{digits}f}"


class Row:
    """A program, and what was measured of it: by column, one of which is `native`."""

    def __init__(self, name):
        self.name = name
        self.results, self.ms, self.failed = {}, {}, False

    def note(self, column, measure):
        """Adds what `measure` returns (a result and milliseconds) to a column."""
        try:
            result, ms = measure()
        except Failed as error:
            self.failed = True
            print(f"{self.name}: {column}: {error}", file=sys.stderr, flush=True)
            return
        self.results.setdefault(result, []).append(column)
        self.ms.setdefault(column, []).append(ms)

    def median(self, column):
        return statistics.median(self.ms[column]) if self.ms.get(column) else None

    def faster(self, column):
        """How many times as fast as natively."""
        native, ours = self.median("native"), self.median(column)
        return native / ours if native and ours else None

    def verdict(self):
        if len(self.results) > 1:
            told = (f"{result} {'/'.join(sorted(set(who)))}" for result, who in self.results.items())
            return "DIFFERENT: " + ", ".join(told)
        return "FAILED" if self.failed else "equal"
