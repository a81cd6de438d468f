#!/usr/bin/env python3
"""Measures what profiles cost: units of bench/ordinary and kernels of bench/native without a profile, with samples and with
counts, in turns.

    bench/profile.py [--bin PATH] [--engine ptx|interp] [--device cuda|cpu] [--reps N] [NAME...]
"""

import argparse
import importlib.util
import json
import math
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{HERE}/ordinary"]

from bench import MODULE, WORK  # noqa: E402
from measure import Failed, output  # noqa: E402

MODES = ["off", "sample", "count"]


def units():
    """What can be measured, by name: its module, threads and arguments."""
    spec = importlib.util.spec_from_file_location("native_bench", f"{HERE}/native/bench.py")
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    found = {name: (MODULE, threads, [rounds]) for name, (threads, rounds) in WORK.items()}
    for name, (threads, count, _) in native.COMPUTE.items():
        found[f"native/{name}"] = (f"{HERE}/native/guests/compute.wasm", threads, [count, -1])
    return found


UNITS = units()


def milliseconds(options, name, mode, folder):
    """The time of a run, and what it printed."""
    module, threads, args = UNITS[name]
    threads = max(1, threads // options.part)
    command = [options.bin, "run", "--device", options.device, "--engine", options.engine, "--timeout", "60s"]
    command += ["--stats=json", "--compile-time", "10m", "--compile", "all"]
    if mode != "off":
        command += ["--profile-mode", mode, "--profile", f"{folder}/profile.folded"]
    stdout, stderr = output(command + ["--threads", threads, "--invoke", name.split("/")[-1], module, *args])
    stats = json.loads(stderr.splitlines()[-1])
    if stats["engine"] != options.engine:
        raise Failed(f"it ran by {stats['engine']}")
    return stats["run_ms"], stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="what is measured, such as json or native/hash (default: all)")
    parser.add_argument("--bin", default=f"{HERE}/../target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--engine", default="ptx", choices=["ptx", "interp"])
    parser.add_argument("--part", type=int, default=1, metavar="N", help="one thread of N only")
    parser.add_argument("--modes", default=",".join(MODES), help="which of them (default: %(default)s)")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    options = parser.parse_args()
    if not set(options.modes.split(",")) <= set(MODES) or not options.modes.startswith("off,"):
        parser.error("--modes begins with off, and has of " + ", ".join(MODES[1:]) + " one or more")
    unknown = set(options.names) - UNITS.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    modes = options.modes.split(",")
    ratios = {mode: [] for mode in modes[1:]}
    heads = [*modes, *(f"{mode}/off" for mode in modes[1:])]
    print(f"{'work':<22}" + "".join(f"{head:>12}" for head in heads) + "  results")
    for name in options.names or UNITS:
        times = {mode: [] for mode in modes}
        printed = set()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.reps):
                for mode in modes:
                    time, text = milliseconds(options, name, mode, folder)
                    times[mode].append(time)
                    printed.add(text)
        medians = {mode: statistics.median(times[mode]) for mode in modes}
        cells = "".join(f"{medians[mode]:12.2f}" for mode in modes)
        for mode in modes[1:]:
            ratios[mode].append(medians[mode] / medians["off"])
            cells += f"{ratios[mode][-1]:12.2f}"
        print(f"{name:<22}{cells}  {'equal' if len(printed) == 1 else 'DIFFERENT'}", flush=True)
    for mode in modes[1:]:
        print(f"geometric mean of {mode}/off: {math.exp(statistics.fmean(map(math.log, ratios[mode]))):.3f}")


if __name__ == "__main__":
    main()
