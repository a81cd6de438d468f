"""What the benches share: programs that are run, and a kernel in wasmtime."""

import json
import os
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
    if done.returncode != 0:
        raise Failed((done.stderr or done.stdout).strip() or f"{command[0]} ended with {done.returncode}")
    return done.stdout, done.stderr


def wasmtime(module, name, threads, args):
    """A run on all cores in wasmtime: its milliseconds and the sum of results, as `ms` and `total`."""
    return json.loads(output([sys.executable, f"{BENCH}/wasmtime_cores.py", module, name, threads, *args])[0])
