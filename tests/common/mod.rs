//! What the whole-system tests share: the command, the devices, the engines.

// No test uses all of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Condvar, Mutex, PoisonError};

/// The command under test: the one that was built, or `GPU_RUN_BIN`.
///
/// It shows no backtrace of a panic, whatever the tests' own environment says, and does not know that cargo
/// started it.
pub fn gpu_run() -> Command {
    let program = std::env::var_os("GPU_RUN_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_gpu-run").into());
    let mut command = Command::new(program);
    command.env_remove("RUST_BACKTRACE").env_remove("CARGO_MANIFEST_DIR");
    command
}

/// Runs the command with arguments.
pub fn run<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    gpu_run().args(args).output().expect("the command starts")
}

/// The options for a device and engine as tests name them. `cpu` and `cuda` interpret, `ptx` compiles for
/// the GPU, and `auto` is the default there.
pub fn options(name: &str) -> &'static [&'static str] {
    match name {
        "cpu" => &["--device", "cpu"],
        "cuda" => &["--device", "cuda", "--engine", "interp"],
        "ptx" => &["--device", "cuda", "--engine", "ptx"],
        "emulator" => &["--device", "emulator", "--engine", "ptx"],
        "auto" => &["--device", "cuda"],
        _ => panic!("no engine {name:?}"),
    }
}

/// The command with the options for a device and engine, and those of `run` that `GPU_RUN_TEST_OPTIONS` adds for
/// all tests.
pub fn gpu_run_on(name: &str) -> Command {
    let mut command = gpu_run_plainly_on(name);
    if let Ok(options) = std::env::var("GPU_RUN_TEST_OPTIONS") {
        command.args(options.split_whitespace());
    }
    command
}

/// The command with the options for a device and engine, for tests that choose what is compiled, and how. It waits for
/// the compiler however long it takes, so that no test falls back to the interpreter.
pub fn gpu_run_plainly_on(name: &str) -> Command {
    let mut command = gpu_run();
    command.args(options(name)).args(["--compile-time", "10m"]);
    command
}

/// Runs the command on a device and engine, with more arguments.
pub fn run_on<S: AsRef<std::ffi::OsStr>>(name: &str, args: impl IntoIterator<Item = S>) -> Output {
    gpu_run_on(name).args(args).output().expect("the command starts")
}

/// The devices and engines that tests run on, with whether this machine has them: [`devices`], `ptx`, and
/// the emulator if it is built in. The emulator runs compiled code on the CPU.
pub fn engines() -> Vec<(&'static str, bool)> {
    let [cpu, cuda] = devices();
    let emulator = cfg!(feature = "emulator").then_some(("emulator", true));
    [cpu, cuda, ("ptx", cuda.1)].into_iter().chain(emulator).collect()
}

/// The devices that tests run on, with whether this machine has them. Tests for a missing one are
/// reported as ignored.
pub fn devices() -> [(&'static str, bool); 2] {
    let output = run(["devices"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    [("cpu", true), ("cuda", text.contains("cuda:0"))]
}

/// Both streams of an output, for messages.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Leave to run compiled code. For each process the driver reserves stacks for all lanes of the GPU, an
/// eighth of what is free. Of many at once the last get little, and all share the GPU's time.
pub struct Turn;

const TURNS: u32 = 4;
static TAKEN: (Mutex<u32>, Condvar) = (Mutex::new(0), Condvar::new());

impl Turn {
    /// Waits for one of the turns.
    pub fn take() -> Turn {
        let taken = TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner);
        let free = TAKEN.1.wait_while(taken, |taken| *taken == TURNS);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        TAKEN.1.notify_one();
    }
}

/// The root of the repository. The tests may run elsewhere than they were built.
pub fn root() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    if built.join("fixtures").exists() {
        built
    } else {
        PathBuf::from(".")
    }
}

/// A file of the fixtures.
pub fn fixture(path: &str) -> PathBuf {
    root().join("fixtures").join(path)
}
