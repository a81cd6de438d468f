#!/usr/bin/env python3
"""An echo server on the loopback, and a program of the fixtures whose futures talk to it.

    bench/tasks/connections.py [--engine cpu,ptx] [--connections 10000] [--threads 1,64,1056]

All connections are open at once, each sends three messages of up to 3,000 bytes and compares what comes back. The server
counts how many were open together. Each needs a descriptor in both processes: see `ulimit -Hn`.
"""

import argparse
import asyncio
import pathlib
import resource
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Echo(asyncio.Protocol):
    open = most = 0

    def connection_made(self, transport):
        self.transport = transport
        Echo.open += 1
        Echo.most = max(Echo.most, Echo.open)

    def data_received(self, data):
        self.transport.write(data)

    def connection_lost(self, error):
        Echo.open -= 1


async def run(server, engine, threads, connections):
    """Runs the program: its output, and how long it took."""
    devices = {"cpu": ["--device", "cpu"], "interp": ["--engine", "interp"], "ptx": ["--engine", "ptx"]}
    command = [ROOT / "target/release/gpu-run", *devices[engine], "--timeout", "5m"]
    command += ["--allow-net", server, "--env", f"SERVER={server}", "--env", f"CONNECTIONS={connections}"]
    command += ["--threads", str(threads), "--invoke", "connections", ROOT / "fixtures/wasm/release/tasks.wasm"]
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return output.decode().strip(), time.monotonic() - began


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--threads", default="1,64")
    args = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0, backlog=4096)
    address = "%s:%d" % server.sockets[0].getsockname()
    print("| engine | threads | result | open at once | seconds |\n|---|---|---|---|---|")
    failed = False
    for engine in args.engine.split(","):
        for threads in args.threads.split(","):
            Echo.most = 0
            output, seconds = await run(address, engine, threads, args.connections)
            print(f"| {engine} | {threads} | {output} | {Echo.most} | {seconds:.1f} |")
            failed |= output != f"right {args.connections}"
    if failed:
        raise SystemExit("connections were lost, or got what they had not sent")


asyncio.run(main())
