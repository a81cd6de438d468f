//! Standard input, as in `std::io`, and all the rest of that module.
//!
//! On `wasm32-unknown-unknown` std's input is always at its end. There [`stdin`] is `gpu-run`'s standard input.
//! `stdout` and `stderr` are std's on every target: `gpu-run` replaces what they do. On any other target this
//! module is `std::io`.
//!
//! ```
//! use gpu_std::io::{self, BufRead};
//!
//! # fn count() -> io::Result<()> {
//! let mut words = 0;
//! for line in io::stdin().lock().lines() {
//!     words += line?.split_whitespace().count();
//! }
//! println!("{words} words");
//! # Ok(())
//! # }
//! # count().unwrap();
//! ```
//!
//! In a guest, whether [`stdin`] is a terminal tells its own method `is_terminal`: std lets nobody else implement
//! [`IsTerminal`]. Standard input is for one thread at a time, as locks of std are in a build without atomics.

pub use std::io::*;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use crate::wasi::stdin::{Stdin, StdinLock, stdin};
