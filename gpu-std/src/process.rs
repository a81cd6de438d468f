//! The end of the process, as in `std::process`.
//!
//! On `wasm32-unknown-unknown` a program built with `lto = "fat"` has lost `std::process::exit`. [`exit`] works in
//! any build. Everything else is `std::process`, in which `Command` fails on that target: a guest starts no
//! processes. On any other target this module is `std::process`.
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
