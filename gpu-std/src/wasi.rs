//! std's files, arguments, environment and input for `wasm32-unknown-unknown`, by imports of WASI preview 1.
//! Connections and processes are for that target and for `wasm32-wasip1`, where std makes none, by imports of
//! `gpu_run_net_v1` and `gpu_run_process_v1`.
//!
//! [`errno`] and [`path`] are plain computation and compiled for tests on the host as well.
//!
//! In: calls with std's signatures. Out: WASI's functions, called by import. In the order in which to read them:
//!
//! - `sys`: the imports and their numbers; [`errno`]: their errors as `std::io::Error`;
//! - `fd`: what all descriptors have; `preopens`, [`path`]: the folders of the guest, and which one a path means;
//! - `fs`: files and directories; `stdin`, `env`: standard input, arguments and environment;
//! - `net`: connections; `request`: reads and writes of files that are begun; `poll`: which of both are ready;
//! - `process`: processes that start others.

mod errno;
#[cfg(not(target_os = "wasi"))]
mod path;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub mod env;
#[cfg(target_arch = "wasm32")]
mod fd;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub mod fs;
#[cfg(target_arch = "wasm32")]
pub mod net;
#[cfg(target_arch = "wasm32")]
pub mod poll;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod preopens;
#[cfg(target_arch = "wasm32")]
pub mod process;
#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub mod request;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub mod stdin;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
mod sys;

#[cfg(target_arch = "wasm32")]
pub use poll::Direction;
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use sys::is_terminal;
