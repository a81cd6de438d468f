"""Runs a batch by Ray, a task for each GPU: the shards of `inputs.list`, whose outputs all go to `results`."""

import os
import subprocess

import ray

SHARDS = 8


@ray.remote(num_gpus=1)
def shard(index, folder):
    command = ["gpu-run", "batch", "--shard", f"{index}/{SHARDS}"]
    command += ["--from", "inputs.list", "--resume", "results", "app.wasm"]
    return subprocess.run(command, cwd=folder).returncode


ray.init()
print(ray.get([shard.remote(index, os.getcwd()) for index in range(SHARDS)]))
