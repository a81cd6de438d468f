#!/usr/bin/env python3
"""Draws the charts of the documentation from measured results.

    bench/chart.py           writes docs/src/images/*.svg
    bench/chart.py --check   fails if one of them is not what bench/results/*.tsv gives

A file of results has lines of tab-separated cells, the first of which names the columns. Lines that begin with `#` say
how, when and on what machine the numbers were measured; the chart shows them below the bars. `-` is a number that was
not measured. `bench/native/run.sh --tsv FILE` writes such a file.
"""

import math
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
IMAGES = ROOT / "docs/src/images"

# Geometry, in pixels.
WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 720, 130, 90, 62, 15, 11
COLORS = ["#2a78b5", "#76b041", "#e0872d"]
STYLE = """
  .back { fill: #ffffff; } text { font: 12px sans-serif; fill: #222222; }
  .title { font-size: 15px; font-weight: bold; } .note { font-size: 10px; fill: #666666; }
  .end { text-anchor: end; } .middle { text-anchor: middle; }
  .grid { stroke: #dddddd; } .mark { stroke: #222222; stroke-dasharray: 4 3; }
"""


class Chart:
    """Horizontal bars: a group for each row of a file, in it a bar for each series."""

    def __init__(self, image, source, title, series, log, unit, mark=None):
        self.image, self.source, self.title = image, source, title
        self.series = series  # pairs: what the legend says, and the number of a row
        self.log, self.unit, self.mark = log, unit, mark

    def draw(self):
        notes, rows = read(RESULTS / self.source)
        groups = [(next(iter(row.values())), [number(row) for _, number in self.series]) for row in rows]
        groups = [(name, values) for name, values in groups if any(value is not None for value in values)]
        values = [value for _, group in groups for value in group if value is not None]
        low, ticks = self.scale(values)

        def x(value):
            share = math.log(value / low) / math.log(ticks[-1] / low) if self.log else value / ticks[-1]
            return LEFT + share * (WIDTH - LEFT - RIGHT)

        bottom = TOP + sum(BAR * len(self.series) + GAP for _ in groups)
        height = bottom + 30 + 14 * len(notes)
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            f' role="img" aria-label="{escape(self.title)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="back" width="{WIDTH}" height="{height}"/>',
            text(12, 22, self.title, "title"),
        ]
        at = 12
        for color, (legend, _) in zip(COLORS, self.series):
            out.append(f'<rect x="{at}" y="34" width="11" height="11" fill="{color}"/>')
            out.append(text(at + 16, 44, legend))
            at += 34 + 7 * len(legend)
        for tick in ticks:
            out.append(line(x(tick), TOP - 6, bottom, "grid"))
            out.append(text(x(tick), bottom + 12, f"{tick:,.10g}", "middle note"))
        y = TOP
        for name, group in groups:
            name = f"{int(name):,}" if name.isdigit() else name.replace("_", " ")
            out.append(text(LEFT - 8, y + BAR * len(group) / 2 + 4, name, "end"))
            for color, value in zip(COLORS, group):
                if value is not None:
                    width = max(x(value) - LEFT, 1)
                    out.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{color}"/>')
                    out.append(text(x(value) + 5, y + BAR - 4, f"{shown(value)}{self.unit}"))
                y += BAR
            y += GAP
        if self.mark:
            out.append(line(x(self.mark), TOP - 6, bottom, "mark"))
        for i, note in enumerate(notes):
            out.append(text(12, bottom + 30 + 14 * i, note, "note"))
        return "\n".join([*out, "</svg>", ""])

    def scale(self, values):
        """The least value that the axis shows, and its ticks."""
        if self.log:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return 10.0**low, [10.0**power for power in range(low, max(high, low + 1) + 1)]
        step = 0.25
        return 0, [step * i for i in range(math.ceil(max(values) / step) + 1)]


def read(path):
    """The notes of a file, and its rows as dictionaries."""
    lines = path.read_text().splitlines()
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    table = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return notes, [dict(zip(table[0], cells, strict=True)) for cells in table[1:]]


def column(name):
    return lambda row: None if row[name] == "-" else float(row[name])


def ratio(above, below):
    return lambda row: None if "-" in (row[above], row[below]) else float(row[above]) / float(row[below])


def shown(value):
    """A number with three digits, or all that it has before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.2g}"


def text(x, y, content, style=""):
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}>{escape(content)}</text>'


def line(x, top, bottom, style):
    return f'<line class="{style}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>'


CHARTS = [
    Chart("native.svg", "native.tsv", "Time of compiled kernels, native CUDA = 1 (shorter is better)",
          [("gpu-run --engine ptx / nvcc -O3", ratio("gpu_run", "native"))], log=False, unit="", mark=1),
    Chart("wasmtime.svg", "native.tsv", "Time of kernels (logarithmic; shorter is better)",
          [("native CUDA", column("native")), ("gpu-run, compiled", column("gpu_run")),
           ("wasmtime, all CPU cores", column("wasmtime"))], log=True, unit=" ms"),
    Chart("one-thread.svg", "one-thread.tsv", "Time of one thread, interpreted (logarithmic; shorter is better)",
          [("GPU, one lane", column("gpu")), ("CPU, one lane", column("cpu"))], log=True, unit=" ms"),
    Chart("batch.svg", "batch.tsv", "Stock programs, processes a second (logarithmic; longer is better)",
          [("gpu-run batch, one GPU", column("gpu_run")), ("wasmtime, pooled, 16 threads", column("wasmtime"))], True, ""),
    Chart("ordinary.svg", "ordinary.tsv", "Ordinary Rust, native on all 16 CPU threads = 1 (logarithmic; longer is better)",
          [("gpu-run, compiled", ratio("native", "ptx")), ("native CUDA C++", ratio("native", "cuda"))], True, "", mark=1),
    Chart("heap.svg", "heap.tsv", "Allocations, millions a second by bytes (logarithmic; longer is better)",
          [("gpu-run's heap", column("steady")), ("CUDA's malloc", column("cuda_malloc"))], log=True, unit=""),
]


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = []
    for chart in CHARTS:
        path, drawn = IMAGES / chart.image, chart.draw()
        if not arguments:
            path.write_text(drawn)
        elif not path.exists() or path.read_text() != drawn:
            stale.append(str(path.relative_to(ROOT)))
    if stale:
        sys.exit("not what bench/results has, run bench/chart.py: " + ", ".join(stale))


if __name__ == "__main__":
    main(sys.argv[1:])
