"""Times compiling: all functions of a program, and the code that runs."""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, f"{ROOT}/bench")

from measure import Failed, cell  # noqa: E402


# Inputs, by how many times the usual size they have.
def sql(scale):
    return f"""CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
INSERT INTO t(b) WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<{3000 * scale}) SELECT 'v'||x FROM c;
SELECT count(*), max(b) FROM t WHERE b LIKE 'v1%';
SELECT a%7, count(*), sum(length(b)) FROM t GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3;
"""


def text(scale):
    line = "line {}: the quick brown fox jumps over the lazy dog, {} times\n"
    return "".join(line.format(i, i * 7919 % 1000) for i in range(3000 * scale))


def page(scale):
    part = "# Title {0}\n\nSome *text* with `code` and [a link](/{0}).\n\n- item {0}\n- other\n\n"
    return "".join(part.format(i) for i in range(400 * scale))


def values(scale, count=3000):
    return json.dumps([{"name": f"n{i}", "value": i * 0.5, "tags": ["a", "b"]} for i in range(count * scale)])


def records(scale):
    levels = ["debug", "info", "warning", "error"]
    lines = (
        {"level": levels[i % 4], "message": f"request{i % 37} to /path/{i} took {i * 7 % 100} ms", "host": f"h{i % 9}",
         "seconds": i % 50 / 10, "user": i % 100, "tags": ["a", "b"]}
        for i in range(2000 * scale)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


# By name: the module, arguments, and what makes standard input. `{text}` and `{page}` are files with these.
WORK = {
    "hello": ("fixtures/wasm/release/hello", [], None),
    "nbody": ("fixtures/wasm/release/nbody", [], None),
    "integers": ("fixtures/wasm/release/integers", [], None),
    "calculator": ("fixtures/wasm/release/calculator", [], None),
    "json": ("fixtures/wasm/wasi/json", [], values),
    "markdown": ("fixtures/wasm/wasi/markdown", ["{page}", "{folder}/out.html"], None),
    "grep": ("fixtures/wasm/wasi/grep", [r"f[aeiou]x j\w+", "{text}"], None),
    "sqlite3": ("fixtures/wasm/wasi/sqlite3", [], sql),
    "quickjs": ("bench/batch/wasm/quickjs", [], lambda scale: values(scale, 300)),
    "report": ("bench/compile/report", ["--level", "warning", "--pattern", r"^(request\d+) to /path/\d+[05] "], records),
}

# What a program of CUDA takes that does nothing: one launch, one copy.
EMPTY = """
#include <cuda_runtime.h>
__global__ void nothing(int *word) { *word = 1; }
int main() {
  int *word, result = 0;
  cudaMalloc(&word, sizeof *word);
  nothing<<<1, 1>>>(word);
  cudaMemcpy(&result, word, sizeof result, cudaMemcpyDeviceToHost);
  return result != 1;
}
"""


def driver_cache(cache):
    """The driver's own cache beside one of gpu-run's."""
    return f"{cache}-driver"


class Program:
    """A program with its input, and what was measured of it."""

    def __init__(self, options, name, folder):
        self.options, self.name, self.folder = options, name, folder
        path, arguments, given = WORK[name]
        self.input = given(options.scale) if given else ""
        self.module = f"{ROOT}/{path}.wasm"
        places = {"text": f"{folder}/text.txt", "page": f"{folder}/page.md", "folder": folder}
        self.arguments = [argument.format(**places) if "{" in argument else argument for argument in arguments]
        self.result = f"{folder}/out.html" if name == "markdown" else None
        self.cache = f"{options.cache or folder}/{name}"
        self.words, self.ms, self.outputs, self.failed = {}, {}, set(), False

    def command(self, words, cache=None):
        """Runs gpu-run; returns what it wrote, and its seconds."""
        cache = cache or self.cache
        environment = {**os.environ, "GPU_RUN_CACHE_DIR": cache, "CUDA_CACHE_PATH": driver_cache(cache)}
        if self.result and os.path.exists(self.result):
            os.remove(self.result)
        begin = time.monotonic()
        done = subprocess.run(
            [self.options.bin, *words], input=self.input.encode(), capture_output=True, env=environment, timeout=900
        )
        seconds = time.monotonic() - begin
        if done.returncode != 0:
            raise Failed(done.stderr.decode(errors="replace").strip())
        return done.stdout, done.stderr.decode(errors="replace"), seconds

    @staticmethod
    def empty(cache):
        shutil.rmtree(cache, ignore_errors=True)
        shutil.rmtree(driver_cache(cache), ignore_errors=True)

    def note(self, column, value):
        self.ms.setdefault(column, []).append(value)

    def run(self, options, cache=None):
        """Runs the program; returns its statistics and seconds."""
        words = ["run", "--dir", self.folder, "--stats=json", *options, self.module, *self.arguments]
        stdout, stderr, seconds = self.command(words, cache)
        if self.result:
            with open(self.result, "rb") as file:
                stdout = file.read()
        self.outputs.add(hashlib.sha256(stdout).hexdigest())
        return json.loads(stderr.splitlines()[-1]), seconds

    def profile(self):
        """Notes which code runs."""
        self.run(["--device", "cpu", "--compile", "hot"])

    def assemble(self, which):
        """Compiles by an assembler."""
        words = ["compile", "--compile", which, "--target", "sm_90", "--ptxas", self.options.ptxas]
        _, stderr, _ = self.command([*words, self.module, "-o", f"{self.folder}/{self.name}.gbc"])
        found = re.search(r"([\d,]+) words of bytecode compiled in ([\d.]+) s", stderr)
        self.words[which] = int(found[1].replace(",", ""))
        self.note(f"compile {which}", float(found[2]) * 1e3)

    def compile(self, which):
        """Runs with empty caches but for the profile, and once more with the code. Only that where it is there."""
        cache = f"{self.cache}-{which}"
        if not (self.options.cache and os.path.exists(cache)):
            self.empty(cache)
            shutil.copytree(self.cache, cache)
        options = ["--device", "cuda", "--engine", "ptx", "--compile", which, "--compile-time", "15m"]
        for _ in range(2):
            stats, seconds = self.run(options, cache)
            if stats["engine"] != "ptx":
                raise Failed(f"it ran by {stats['engine']}")
            if not stats["cached"]:
                self.note(f"compile {which}", stats["compile_ms"])
                self.note(f"total {which}", seconds * 1e3)
            else:
                self.note(f"run {which}", stats["run_ms"])

    def auto(self):
        """Runs with empty caches as a user's first run does, and once more."""
        cache = f"{self.cache}-auto"
        self.empty(cache)
        for column in ["total auto", "again auto"]:
            _, seconds = self.run(["--device", "cuda"], cache)
            self.note(column, seconds * 1e3)

    def repeat(self):
        try:
            for which in self.options.which:
                self.assemble(which) if self.options.ptxas else self.compile(which)
            if not self.options.ptxas:
                self.auto()
            if not self.options.ptxas:
                stats, seconds = self.run(["--device", "cuda", "--engine", "interp"])
                self.note("total interp", seconds * 1e3)
                self.note("run interp", stats["run_ms"])
        except (Failed, subprocess.TimeoutExpired) as error:
            self.failed = True
            print(f"{self.name}: {error}", file=sys.stderr, flush=True)

    def median(self, column):
        return statistics.median(self.ms[column]) if self.ms.get(column) else None

    def verdict(self):
        return "FAILED" if self.failed else "equal" if len(self.outputs) == 1 else "DIFFERENT"


def start(options, folder):
    """Prints what the first run of a small program takes beside an empty program of CUDA, in turns."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        print("no nvcc, so no empty program of CUDA is beside hello")
        return
    with open(f"{folder}/empty.cu", "w") as file:
        file.write(EMPTY)
    subprocess.run([nvcc, "-arch=native", "-o", f"{folder}/empty", f"{folder}/empty.cu"], check=True)
    hello = [options.bin, "run", "--device", "cuda", f"{ROOT}/fixtures/wasm/release/hello.wasm"]
    seconds = {"empty": [], "first": [], "later": []}
    for i in range(max(5, options.reps)):
        cache = f"{folder}/start-{i}"
        environment = {**os.environ, "GPU_RUN_CACHE_DIR": cache, "CUDA_CACHE_PATH": driver_cache(cache)}
        for column, command in [("empty", [f"{folder}/empty"]), ("first", hello), ("later", hello)]:
            begin = time.monotonic()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            seconds[column].append(time.monotonic() - begin)
    empty, first, later = (statistics.median(seconds[column]) * 1e3 for column in ["empty", "first", "later"])
    print(f"an empty program of CUDA {empty:.0f} ms; hello with empty caches {first:.0f} ms ({first / empty:.2f} times), "
          f"after that {later:.0f} ms ({later / empty:.2f} times)")


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    parser.add_argument("--bin", default=f"{ROOT}/target/release/gpu-run", help="path of gpu-run")
    parser.add_argument("--ptxas", help="assembler, where no GPU is")
    parser.add_argument("--reps", type=int, default=3, help="repetitions")
    parser.add_argument("--cache", metavar="FOLDER", help="keep code and profiles there, and take what is there")
    parser.add_argument("--tsv", metavar="FILE", help="write the medians as a file of bench/results")
    parser.add_argument("--scale", type=int, default=1, metavar="N", help="inputs of N times the size")
    parser.add_argument("--hot-only", dest="which", action="store_const", const=["hot"], default=["all", "hot"],
                        help="do not compile all functions")
    options = parser.parse_args()
    unknown = set(options.names) - WORK.keys()
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    columns = ["compile all", "compile hot"]
    if not options.ptxas:
        columns += ["total all", "total hot", "total auto", "again auto", "total interp", "run all", "run hot", "run interp"]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/text.txt", "w") as file:
            file.write(text(options.scale))
        with open(f"{folder}/page.md", "w") as file:
            file.write(page(options.scale))
        if not options.ptxas:
            start(options, folder)
        programs = [Program(options, name, folder) for name in options.names or WORK]
        for program in programs:
            program.profile()
        for _ in range(options.reps):
            for program in programs:
                program.repeat()
    heads = ["words all", "words hot"] if options.ptxas else []
    print(f"{'program':<12}" + "".join(f"{head:>14}" for head in heads + columns) + "  output")
    for program in programs:
        words = [str(program.words.get(which, "-")) for which in ["all", "hot"]] if options.ptxas else []
        cells = words + [cell(program.median(column), 0) for column in columns]
        print(f"{program.name:<12}" + "".join(f"{text:>14}" for text in cells) + f"  {program.verdict()}")
    if options.tsv:
        with open(options.tsv, "w") as file:
            how = f"by {os.path.basename(options.ptxas)} on one thread" if options.ptxas else "by the driver"
            what = f"milliseconds, medians of {options.reps} runs, {how}"
            file.write(f"# bench/compile/run.sh --scale {options.scale}, {datetime.date.today():%d %B %Y}: {what}\n")
            file.write("\t".join(["program", *heads, *columns]) + "\n")
            for program in programs:
                words = [str(program.words.get(which, "-")) for which in ["all", "hot"]] if options.ptxas else []
                cells = words + [cell(program.median(column), 0) for column in columns]
                file.write("\t".join([program.name, *cells]) + "\n")
    return any(program.verdict() != "equal" for program in programs)


if __name__ == "__main__":
    sys.exit(main())
