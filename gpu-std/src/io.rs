//! Standard input and standard error, as in `std::io`, and all the rest of that module.
//!
//! On `wasm32-unknown-unknown` std's input is always at its end. What it does with standard error is removed by the
//! optimizer in a build with `lto = "fat"`. There [`stdin`] and [`stderr`] are those of `gpu-run`, in any build;
//! instead of `eprintln!` there is [`gpu_eprintln!`](crate::gpu_eprintln). `stdout` is std's on every target: `gpu-run`
//! replaces what it does. On any other target this module is `std::io`.
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
//! What one call writes to [`stderr`] is one record, also of `write!`: texts of other threads come before or after it.
//!
//! ```
//! use gpu_std::io::{self, Write};
//!
//! writeln!(io::stderr(), "{} errors", 0)?;
//! # Ok::<(), io::Error>(())
//! ```
//!
//! In a guest, [`stdin`]'s and [`stderr`]'s own method `is_terminal` tells whether it is a terminal: std lets no other
//! crate implement [`IsTerminal`]. Standard input is for one thread at a time, as locks of std are in a build without
//! atomics.
//!
//! This file chooses what each target has. `stderr` is `gpu-run`'s standard error; its standard input is
//! `wasi/stdin.rs`.

pub use std::io::*;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use self::stderr::{Stderr, StderrLock, stderr};
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use crate::wasi::stdin::{Stdin, StdinLock, stdin};

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod stderr;
