"""Runs a kernel in wasmtime, in a process for each core: MODULE NAME THREADS ARG...

Needs the package `wasmtime`. Process p of P does the work of the threads p, p + P, p + 2P and so on.
Prints the milliseconds from the first start to the last end, without compilation, and the sum of results."""

import json
import multiprocessing
import os
import sys
import time

import wasmtime

# What gpu-std imports. It is wasm too, because a call of a Python function would take microseconds.
# Atomics are for what a kernel's last thread does with all results. Here no thread is the last.
HOST = """(module
  (global (export "id") (mut i32) (i32.const 0))
  (global (export "count") (mut i32) (i32.const 0))
  (func (export "gid") (result i32) (global.get 0))
  (func (export "thread_count") (result i32) (global.get 1))
  (func (export "atomic_add") (param i32 i32) (result i32) (i32.const 0))
  (func (export "atomic_inc") (param i32) (result i32) (i32.const -2)))"""

# Enters the kernel as each thread of a process's share, and adds up the results.
DRIVER = """(module
  (import "host" "id" (global $id (mut i32)))
  (import "host" "count" (global $count (mut i32)))
  (import "guest" "kernel" (func $kernel (param {types}) (result i32)))
  (func (export "run") (param $first i32) (param $step i32) (param $threads i32) (result i32)
    (local $sum i32)
    (global.set $id (local.get $first))
    (global.set $count (local.get $threads))
    (loop $next
      (if (i32.lt_u (global.get $id) (local.get $threads)) (then
        (local.set $sum (i32.add (local.get $sum) (call $kernel {args})))
        (global.set $id (i32.add (global.get $id) (local.get $step)))
        (br $next))))
    (local.get $sum)))"""


def driver(kernel, store, args):
    """The driver for a kernel of these arguments."""
    types = [str(param) for param in kernel.type(store).params]
    values = " ".join(f"({type}.const {arg})" for type, arg in zip(types, args, strict=True))
    return DRIVER.format(types=" ".join(types), args=values)


def share(path, name, threads, args, first, step, ready, results):
    """Does the work of the threads first, first + step and so on, when all processes are ready."""
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    host = wasmtime.Instance(store, wasmtime.Module(engine, HOST), []).exports(store)
    module = wasmtime.Module.from_file(engine, path)
    guest = wasmtime.Instance(store, module, [host[found.name] for found in module.imports]).exports(store)
    text = driver(guest[name], store, args)
    imports = [host["id"], host["count"], guest[name]]
    run = wasmtime.Instance(store, wasmtime.Module(engine, text), imports).exports(store)["run"]
    ready.wait()
    begin = time.monotonic()
    total = run(store, first, step, threads)
    results.put((begin, time.monotonic(), total))


def main():
    path, name, threads, args = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    cores = len(os.sched_getaffinity(0))
    # If a process fails, the others wait no longer than that.
    ready, results = multiprocessing.Barrier(cores, timeout=60), multiprocessing.Queue()
    for first in range(cores):
        work = (path, name, threads, args, first, cores, ready, results)
        multiprocessing.Process(target=share, args=work, daemon=True).start()
    found = [results.get(timeout=240) for _ in range(cores)]
    ms = (max(end for _, end, _ in found) - min(begin for begin, _, _ in found)) * 1e3
    print(json.dumps({"ms": ms, "total": sum(total for _, _, total in found) % 2**32, "cores": cores}))


if __name__ == "__main__":
    main()
