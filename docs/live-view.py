#!/usr/bin/env python3
"""Makes src/images/live-view.svg: what a terminal shows of a run by --live, from a real run.

    docs/live-view.py [--device DEVICE] [--threads N] [ROUNDS]
    docs/live-view.py --batch PROCESSES [--device DEVICE]

The run is json of bench/ordinary. With --batch it is a batch that makes HTML of this book's pages, and the picture is
src/images/live-batch.svg.

BIN names the command; without it that is target/release/gpu-run."""

import argparse
import importlib.util
import json
import os
import re
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/src/images"

# What runs a command in a terminal, and draws lines.
spec = importlib.util.spec_from_file_location("progress_line", ROOT / "docs/progress-line.py")
progress_line = importlib.util.module_from_spec(spec)
spec.loader.exec_module(progress_line)


def views(written):
    """The whole views that stood there one after the other: lines from the frame's top to its bottom."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\n]", "", written)
    found = []
    for view in re.findall("┌[^┌]*┘", plain):
        # Each line is followed by what is left of the terminal's width.
        width = view.index("┐") + 1
        step = width + len(view[width:]) - len(view[width:].lstrip(" "))
        found.append([view[at : at + width] for at in range(0, len(view), step)])
    return found


def of_batch(folder, processes):
    """A list of so many processes, each with a page of the book as a file."""
    pages = sorted((ROOT / "docs/src").rglob("*.md"))
    with open(f"{folder}/list", "w") as out:
        for number in range(processes):
            page = pages[number % len(pages)]
            name = f"{page.stem}-{number}"
            print(json.dumps({"name": name, "args": ["in.md", "out.html"], "files": {"in.md": str(page)}}), file=out)
    return ["--from", f"{folder}/list", "--out", f"{folder}/out", "fixtures/wasm/wasi/markdown.wasm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", default="67584")
    parser.add_argument("--batch", type=int)
    parser.add_argument("rounds", nargs="?", default="2000")
    options = parser.parse_args()
    bin = os.environ.get("BIN", str(ROOT / "target/release/gpu-run"))
    os.chdir(ROOT)
    os.environ["NO_COLOR"] = "1"
    common = ["--live", "--device", options.device, "--compile-time", "10m"]
    with tempfile.TemporaryDirectory() as folder:
        if options.batch:
            image, command = IMAGES / "live-batch.svg", [bin, "batch", *common, *of_batch(folder, options.batch)]
        else:
            program = ["--invoke", "json", "bench/ordinary/ordinary.wasm", options.rounds]
            image, command = IMAGES / "live-view.svg", [bin, "profile", *common, "--threads", options.threads, *program]
        found = views(progress_line.run(command))
    if len(found) < 2:
        raise SystemExit("the run was over before it was looked at twice")
    image.write_text(progress_line.draw(found[len(found) // 2]))
    print(f"{len(found)} views; {image.relative_to(ROOT)} has one")


if __name__ == "__main__":
    main()
