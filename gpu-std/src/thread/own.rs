//! Threads that `gpu-run` begins, with std's names and signatures.
//!
//! - `stack`: what `gpu-run` is told of a thread; stacks that threads have left;
//! - `current`, `local`: what the calling thread keeps;
//! - `spawn`, `scope`: beginning threads and waiting for their end.

mod current;
#[cfg(not(target_arch = "wasm32"))]
mod host;
mod local;
mod scope;
mod spawn;
mod stack;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub(crate) use current::sessions;
pub use current::{Thread, ThreadId, current, park, park_timeout, sleep, yield_now};
pub use local::{AccessError, LocalKey};
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use spawn::{Builder, JoinHandle, available_parallelism, spawn};
