#!/usr/bin/env python3
"""Makes src/images/batch-progress.svg: what a terminal shows of a batch half way and at its end, from a real run.

    docs/progress-line.py [--device DEVICE] [COUNT]

BIN names the command; without it that is target/release/gpu-run."""

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
IMAGE = ROOT / "docs/src/images/batch-progress.svg"
COLUMNS = 100
# Geometry, in pixels.
LINE, CHARACTER, MARGIN = 19, 7.9, 14


def run(command):
    """Runs a command in a terminal, and returns what it writes there."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.environ["COLUMNS"] = str(COLUMNS)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, COLUMNS, 0, 0))
        os.execv(command[0], command)
    written = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not part:
            break
        written += part
    os.waitpid(child, 0)
    return written.decode()


def frames(written):
    """The lines that stood there one after the other, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "\r", written)
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]


def draw(lines):
    """A picture of these lines."""
    height = 2 * MARGIN + LINE * len(lines)
    width = round(2 * MARGIN + CHARACTER * max(map(len, lines)))
    texts = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * (index + 0.75):.0f}" xml:space="preserve">{escape(line)}</text>\n'
        for index, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">\n'
        "<style>rect { fill: #1b1f24; } text { fill: #e6e6e6; font: 13px monospace; }</style>\n"
        f'<rect width="100%" height="100%" rx="6"/>\n{texts}</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="auto")
    parser.add_argument("count", nargs="?", type=int, default=20000)
    args = parser.parse_args()
    gpu_run = os.environ.get("BIN", str(ROOT / "target/release/gpu-run"))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        inputs = [sys.executable, ROOT / "bench/batch/inputs.py", folder, str(args.count), "words"]
        subprocess.run(inputs, check=True)
        command = [gpu_run, "batch", "--device", args.device, "--from", str(folder / "words.list")]
        command += ["--out-dir", str(folder / "results"), str(ROOT / "bench/batch/wasm/words.wasm")]
        seen = frames(run(command))
    shown = "$ gpu-run batch --from words.list --out-dir results words.wasm"
    progress = [line for line in seen if " processes, " in line and " left" in line]
    end = [line for line in seen if " processes in " in line]
    if not progress or not end:
        sys.exit(f"no progress line was seen: {seen[-5:]}")
    IMAGE.write_text(draw([shown, progress[len(progress) // 2], "", shown, end[-1]]))


if __name__ == "__main__":
    main()
