"""Tells the runner of the official WASI testsuite (WebAssembly/wasi-testsuite) how to run a test by gpu-run.

    test-runner/wasi_test_runner.py -t tests/rust/testsuite/wasm32-wasip1 -r path/to/wasi-testsuite-adapter.py

GPU_RUN is the command, with options if there are any: GPU_RUN="target/release/gpu-run --device cpu".
"""

import os
import shlex
import subprocess
import sys

COMMAND = shlex.split(os.environ.get("GPU_RUN", "gpu-run"))


def get_name():
    return "gpu-run"


def get_version():
    said = subprocess.run([COMMAND[0], "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[-1]


def get_wasi_versions():
    return ["wasm32-wasip1"]


def get_wasi_worlds():
    return ["wasi:cli/command"]


def compute_argv(test_path, args_env_dirs, *_versions_and_proposals):
    """The command that runs a module with these arguments, variables and (host, guest) folders."""
    arguments, variables, folders = args_env_dirs
    # With `run`, no module's name is taken for a command's.
    command = [COMMAND[0], "run", *COMMAND[1:]]
    for name, value in variables.items():
        command += ["--env", f"{name}={value}"]
    for host, guest in folders:
        command += ["--dir", f"{host}::{guest}"]
    return [*command, "--", str(test_path), *arguments]


def main(arguments):
    """As a script it tells its version; tests are run by the functions above."""
    if arguments != ["--version"]:
        sys.exit(
            f"{sys.argv[0]}: cannot run {shlex.join(arguments) or 'without arguments'}: this is a module for a runner "
            "that calls its compute_argv; older runners, which start it with --test-file, are not supported"
        )
    print(get_name(), get_version())


if __name__ == "__main__":
    main(sys.argv[1:])
