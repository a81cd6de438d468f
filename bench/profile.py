#!/usr/bin/env python3
"""Measures what profiles cost: units of bench/ordinary without a profile, with samples and with counts, in turns.

    bench/profile.py [--bin PATH] [--engine ptx|interp] [--device cuda|cpu] [--reps N] [NAME...]
"""

import argparse
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


def milliseconds(options, name, mode, folder):
    """The time of a run, and what it printed."""
    threads, rounds = WORK[name]
    threads = max(1, threads // options.part)
    command = [options.bin, "run", "--device", options.device, "--engine", options.engine, "--timeout", "60s"]
    command += ["--stats=json", "--compile-time", "10m", "--compile", "all"]
    if mode != "off":
        command += ["--profile-mode", mode, "--profile", f"{folder}/profile.folded"]
    stdout, stderr = output(command + ["--threads", threads, "--invoke", name, MODULE, rounds])
    stats = json.loads(stderr.splitlines()[-1])
    if stats["engine"] != options.engine:
        raise Failed(f"it ran by {stats['engine']}")
    return stats["run_ms"], stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="units of work (default: all)")
    parser.add_argument("--bin", default=f"{HERE}/../target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--engine", default="ptx", choices=["ptx", "interp"])
    parser.add_argument("--part", type=int, default=1, metavar="N", help="one thread of N only")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    options = parser.parse_args()
    unknown = set(options.names) - WORK.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    ratios = {mode: [] for mode in MODES}
    print(f"{'work':<12}" + "".join(f"{mode:>12}" for mode in MODES) + f"{'sample/off':>12}{'count/off':>12}  results")
    for name in options.names or WORK:
        times = {mode: [] for mode in MODES}
        printed = set()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(options.reps):
                for mode in MODES:
                    time, text = milliseconds(options, name, mode, folder)
                    times[mode].append(time)
                    printed.add(text)
        medians = {mode: statistics.median(times[mode]) for mode in MODES}
        cells = "".join(f"{medians[mode]:12.2f}" for mode in MODES)
        for mode in MODES[1:]:
            ratios[mode].append(medians[mode] / medians["off"])
            cells += f"{ratios[mode][-1]:12.2f}"
        print(f"{name:<12}{cells}  {'equal' if len(printed) == 1 else 'DIFFERENT'}", flush=True)
    for mode in MODES[1:]:
        print(f"geometric mean of {mode}/off: {math.exp(statistics.fmean(map(math.log, ratios[mode]))):.3f}")


if __name__ == "__main__":
    main()
