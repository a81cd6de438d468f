//! The end of the process and processes that it starts, as in `std::process`.
//!
//! On `wasm32-unknown-unknown` a program built with `lto = "fat"` has lost `std::process::exit`. [`exit`] works in
//! any build.
//!
//! A guest of `gpu-run batch --program NAME=FILE.wasm`, which is one for `wasm32-wasip1`, starts these programs by
//! [`Command`]. On `wasm32-unknown-unknown` that is `Unsupported`. Names and signatures are std's. What differs:
//! programs are known by their names alone, without paths and a current directory. The first process takes all others
//! with it when it ends, as the first one of a container does. A pipe holds 16 KiB.
//!
//! On any other target this module is `std::process`.
//!
//! ```
//! fn usage() -> ! {
//!     gpu_std::gpu_eprintln!("usage: app FILE");
//!     gpu_std::process::exit(2)
//! }
//!
//! if gpu_std::env::args().len() > 1000 {
//!     usage();
//! }
//! gpu_std::process::exit(0);
//! # #[allow(unreachable_code)]
//! # { panic!("exit came back") }
//! ```

pub use std::process::*;

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub use crate::wasi::process::{
    Child, ChildStderr, ChildStdin, ChildStdout, Command, CommandArgs, ExitStatus, Output, Stdio, id,
};

/// Ends the process, with all its threads, and hands `code` to the process that started it.
///
/// No destructors run. What was printed is kept.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub fn exit(code: i32) -> ! {
    crate::platform::exit(code)
}

/// Which one this process is of those that `gpu-run batch --instances` runs, from 0; `None` where there is but one.
///
/// ```
/// assert_eq!(gpu_std::process::instance(), None);
/// ```
pub fn instance() -> Option<u64> {
    number("GPU_INSTANCE")
}

/// How many processes `gpu-run batch --instances` runs; `None` where there is but one.
pub fn instances() -> Option<u64> {
    number("GPU_INSTANCES")
}

fn number(variable: &str) -> Option<u64> {
    crate::env::var(variable).ok()?.parse().ok()
}
