//! std's files, arguments, environment and input for `wasm32-unknown-unknown`, by imports of WASI preview 1.
//!
//! [`errno`] and [`path`] are plain computation and compiled for tests on the host as well.

mod errno;
mod path;

#[cfg(target_arch = "wasm32")]
pub mod env;
#[cfg(target_arch = "wasm32")]
pub mod fs;
#[cfg(target_arch = "wasm32")]
mod preopens;
#[cfg(target_arch = "wasm32")]
pub mod stdin;
#[cfg(target_arch = "wasm32")]
mod sys;
