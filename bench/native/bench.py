"""Runs the kernels by gpu-run, natively and in wasmtime, and prints the medians. Called by run.sh."""

import argparse
import datetime
import json
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/bench")

from measure import Failed, output, wasmtime  # noqa: E402

FIRST_PAGE = 65536
# Elements of saxpy's two f32 arrays and of reduce's u32 array: all of 4 GiB but the first page.
SAXPY_LEN = (2**32 - FIRST_PAGE) // 8
REDUCE_LEN = (2**32 - FIRST_PAGE) // 4

# name: (threads, N, N with --small)
COMPUTE = {
    "hash": (270_336, 100_000, 1000),
    "mandelbrot_f32": (270_336, 8192, 256),
    "mandelbrot_f64": (270_336, 8192, 256),
    "nbody": (135_168, 2000, 10),
    "sha256": (1_081_344, 64, 1),
    "monte_carlo": (270_336, 50_000, 500),
    "puzzle": (270_336, 32, 1),
    "spmd": (270_336, 200, 2),
}
# name: (threads, elements, elements with --small, bytes moved for each element in a round)
STREAM = {
    "saxpy": (135_168, SAXPY_LEN, 3_000_000, 12),
    "reduce": (270_336, REDUCE_LEN, 3_000_000, 4),
}
# The streaming kernels run with either number of rounds; the difference is the time of ten rounds.
ROUNDS = (1, 11)


def native(options, name, threads, args):
    """A native run: ms, first, total."""
    mode = ["--host"] if options.device == "cpu" else []
    return json.loads(output([f"{HERE}/target/native", *mode, name, threads, *args])[0])


def gpu_run(options, name, threads, args, expect=-1):
    """A run by gpu-run: milliseconds of the kernel, and the result of thread 0.

    With `expect`, the kernel traps unless that is the sum of all results."""
    module = "stream" if name in STREAM else "compute"
    command = [options.bin, "--device", options.device, "--engine", options.engine, "--timeout", "60s"]
    command += ["--stats=json", "--threads", threads, "--invoke", name]
    command += [f"{HERE}/guests/{module}.wasm", *args, expect]
    stdout, stderr = output(command)
    result = int(re.match(r"Result: (-?\d+)", stdout)[1]) % 2**32
    return json.loads(stderr.splitlines()[-1])["run_ms"], result


class Kernel:
    """One line of the table: a kernel with its arguments, and what was measured."""

    def __init__(self, name, threads, args):
        self.name, self.threads, self.args = name, threads, args
        self.ms = {"native": [], "gpu-run": [], "wasmtime": []}
        self.equal = "not run"

    def check(self, options):
        """Compares the results of all threads. Nothing here is timed."""
        found = native(options, self.name, self.threads, self.args)
        self.first, self.total = found["first"], found["total"]
        if options.engine == "none":
            return
        try:
            ms, _ = gpu_run(options, self.name, self.threads, self.args, expect=self.total)
            self.equal = "equal"
            times = f"{found['ms']:.1f} ms natively, {ms:.1f} ms by gpu-run"
            print(f"{self.name}: equal, {times}", file=sys.stderr, flush=True)
        except Failed as error:
            self.fail("gpu-run", error)

    def fail(self, which, error):
        self.equal = "NO"
        print(f"{self.name}: {which}: {error}", file=sys.stderr, flush=True)

    def repeat(self, options, with_wasmtime):
        """One repetition of each."""
        self.ms["native"].append(native(options, self.name, self.threads, self.args)["ms"])
        if self.equal == "equal":
            ms, first = gpu_run(options, self.name, self.threads, self.args)
            self.ms["gpu-run"].append(ms)
            if first != self.first:
                self.fail("gpu-run", f"thread 0 returned {first}, natively {self.first}")
        if with_wasmtime and self.name in COMPUTE:
            found = wasmtime(f"{HERE}/guests/compute.wasm", self.name, self.threads, [*self.args, -1])
            self.ms["wasmtime"].append(found["ms"])
            if found["total"] != self.total:
                self.fail("wasmtime", f"the sum of results is {found['total']}, natively {self.total}")

    def median(self, which):
        return statistics.median(self.ms[which]) if self.ms[which] else None

    def line(self):
        ours, base, other = self.median("gpu-run"), self.median("native"), self.median("wasmtime")
        label = self.name + (f" x{self.args[0]}" if self.name in STREAM else "")
        cells = [number(base, 2), number(ours, 2), ratio(ours, base)]
        cells += [number(other, 0), ratio(other, ours), ratio(other, base)]
        return f"{label:<15} {self.threads:>8}" + "".join(f"{cell:>11}" for cell in cells) + f"  {self.equal}"


def number(value, digits):
    return "-" if not value else f"{value:.{digits}f}"


def ratio(a, b):
    return "-" if not a or not b else f"{a / b:.2f}x"


def write_tsv(options, kernels):
    """Writes the medians as a file of bench/results; of the streaming kernels, those of the longer run."""
    with open(options.tsv, "w") as file:
        runs = f"medians of {options.reps} runs (wasmtime: of {options.wasmtime})"
        file.write(f"# bench/native/run.sh, {datetime.date.today():%d %B %Y}: milliseconds, {runs}\n")
        file.write("kernel\tthreads\tnative\tgpu_run\twasmtime\n")
        for kernel in kernels:
            if kernel.name in STREAM and kernel.args[0] != ROUNDS[-1]:
                continue
            label = kernel.name + (f"_x{kernel.args[0]}" if kernel.name in STREAM else "")
            medians = [kernel.median(which) for which in ("native", "gpu-run", "wasmtime")]
            file.write("\t".join([label, str(kernel.threads), *(number(value, 2) for value in medians)]) + "\n")


def bandwidths(kernels, copy):
    """Lines with GB/s of the streaming kernels' rounds."""
    for name, (_, _, _, size) in STREAM.items():
        pair = [kernel for kernel in kernels if kernel.name == name]
        for which in ("native", "gpu-run"):
            if pair and pair[0].ms[which] and copy:
                ms = pair[1].median(which) - pair[0].median(which)
                moved = size * pair[1].args[1] * (ROUNDS[1] - ROUNDS[0])
                rate = moved / ms / 1e6
                yield f"{name:<8} {which:<8} {rate:8.0f} GB/s, {rate / copy:.2f} of a copy"


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="kernels to run (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--engine", default="ptx", help="engine of gpu-run, or none to leave gpu-run out")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu: no native times, only results")
    parser.add_argument("--reps", type=int, default=5, help="repetitions")
    parser.add_argument("--wasmtime", type=int, default=0, metavar="N", help="repetitions that run wasmtime too")
    parser.add_argument("--tsv", metavar="FILE", help="write the medians as bench/chart.py reads them")
    parser.add_argument("--small", action="store_true", help="little work, to check results")
    options = parser.parse_args()

    kernels = []
    for name, (threads, n, small) in COMPUTE.items():
        kernels.append(Kernel(name, threads, [small if options.small else n]))
    for name, (threads, length, small, _) in STREAM.items():
        kernels += [Kernel(name, threads, [rounds, small if options.small else length]) for rounds in ROUNDS]
    unknown = set(options.names) - {kernel.name for kernel in kernels}
    if unknown:
        parser.error(f"no kernel is called {', '.join(sorted(unknown))}")
    kernels = [kernel for kernel in kernels if not options.names or kernel.name in options.names]

    copy = None if options.device == "cpu" else float(output([f"{HERE}/target/native", "copy"])[0])
    for kernel in kernels:
        kernel.check(options)
    for rep in range(options.reps):
        for kernel in kernels:
            kernel.repeat(options, rep < options.wasmtime)

    heads = ["native ms", "gpu-run ms", "/native", "wasmtime ms", "/gpu-run", "/native"]
    print(f"{'kernel':<15} {'threads':>8}" + "".join(f"{head:>11}" for head in heads) + "  checksums")
    for kernel in kernels:
        print(kernel.line())
    if options.tsv:
        write_tsv(options, kernels)
    if copy:
        print(f"copy in device memory: {copy:.0f} GB/s")
    for line in bandwidths(kernels, copy):
        print(line)
    return 1 if any(kernel.equal == "NO" for kernel in kernels) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"run.sh: {error}")
