#!/usr/bin/env python3
"""Makes src/images/live-view.svg: what a terminal shows of a run by --live, from a real run.

    docs/live-view.py [--device DEVICE] [--threads N] [ROUNDS]

BIN names the command; without it that is target/release/gpu-run."""

import argparse
import importlib.util
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGE = ROOT / "docs/src/images/live-view.svg"

# What runs a command in a terminal, and draws lines.
spec = importlib.util.spec_from_file_location("progress_line", ROOT / "docs/progress-line.py")
progress_line = importlib.util.module_from_spec(spec)
spec.loader.exec_module(progress_line)


def views(written):
    """The whole views that stood there one after the other: lines from the frame's top to its bottom."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "\n", written)
    lines = [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]
    found, view = [], []
    for line in lines:
        view = [line] if line.startswith("┌") else view + [line]
        if line.startswith("└"):
            found.append(view)
            view = []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", default="4096")
    parser.add_argument("rounds", nargs="?", default="3000")
    options = parser.parse_args()
    bin = os.environ.get("BIN", str(ROOT / "target/release/gpu-run"))
    os.chdir(ROOT)
    os.environ["NO_COLOR"] = "1"
    command = [bin, "profile", "--live", "--device", options.device, "--threads", options.threads]
    command += ["--invoke", "shares", "fixtures/wasm/c/profile.wasm", options.rounds, "500"]
    found = views(progress_line.run(command))
    if len(found) < 2:
        raise SystemExit("the run was over before it was looked at twice")
    # One in the middle, and the last.
    IMAGE.write_text(progress_line.draw(found[len(found) // 2]))
    print(f"{len(found)} views; {IMAGE.relative_to(ROOT)} has one")


if __name__ == "__main__":
    main()
