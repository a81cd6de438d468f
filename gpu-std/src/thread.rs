//! Threads, as in `std::thread`.
//!
//! On `wasm32-unknown-unknown` std starts none. There the types and functions of this module, which have std's names and
//! signatures, ask `gpu-run`: each thread is a lane of the device. A program gets its threads by one changed line,
//! `use gpu_std::thread;` for `use std::thread;`, and what its threads share comes from [`gpu_std::sync`](crate::sync). On
//! targets where std has threads this module is `std::thread`.
//!
//! ```
//! use gpu_std::sync::{Arc, Mutex};
//! use gpu_std::thread;
//!
//! let words = Arc::new(Mutex::new(Vec::new()));
//! let threads: Vec<_> = ["one", "two"]
//!     .into_iter()
//!     .map(|word| {
//!         let words = words.clone();
//!         thread::spawn(move || words.lock().unwrap().push(word))
//!     })
//!     .collect();
//! threads.into_iter().for_each(|thread| thread.join().unwrap());
//! assert_eq!(words.lock().unwrap().len(), 2);
//!
//! let numbers = [1, 2, 3];
//! let sum = thread::scope(|scope| {
//!     let first = scope.spawn(|| numbers[0]);
//!     numbers[1] + numbers[2] + first.join().unwrap()
//! });
//! assert_eq!(sum, 6);
//! ```
//!
//! # In a guest
//!
//! - `gpu-run app.wasm` runs `main` on one thread, which spawns the others: 131,072 at once in the interpreter, compiled as
//!   many as have a lane. One more is an error of [`Builder::spawn`]. A function that `--threads N` runs on several threads
//!   cannot spawn any.
//! - A stack has 64 KiB unless [`Builder::stack_size`] says more. A thread that needs more than it has traps:
//!   `stack overflow`.
//! - What std keeps for each thread is one for all of them in a plain build. `gpu_std::thread_local!` is what
//!   `std::thread_local!` is elsewhere. `std::sync`, `Arc` included, is made for one thread there: take
//!   [`sync`](crate::sync)'s. In a build for threads (`-Ctarget-feature=+atomics`, std built anew) std's are right too.
//! - When `main` returns, the process ends. Thread-locals of the first thread are not dropped.
//! - A panic is what [`JoinHandle::join`] returns in builds that unwind; in others it ends the process.

#[cfg(any(
    test,
    all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics")))
))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, unused_imports))] // Elsewhere it is there for tests.
mod own;

#[cfg(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics"))))]
pub(crate) use own::sessions;
#[cfg(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics"))))]
pub use own::*;
#[cfg(not(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics")))))]
pub use std::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId, available_parallelism,
    current, park, park_timeout, scope, sleep, spawn, yield_now,
};
pub use std::thread::{Result, panicking};

/// Starts a thread of a rayon pool, for [`ThreadPoolBuilder::spawn_handler`]: by it rayon runs unchanged in builds of
/// `wasm32-unknown-unknown` for threads. Say how many threads there are to be, since rayon cannot know:
///
/// ```
/// let threads = gpu_std::thread::available_parallelism()?.get();
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(threads)
///     .spawn_handler(gpu_std::thread::spawn_handler)
///     .build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Those of [`Builder::spawn`].
///
/// [`ThreadPoolBuilder::spawn_handler`]: rayon_core::ThreadPoolBuilder::spawn_handler
#[cfg(feature = "rayon")]
pub fn spawn_handler(thread: rayon_core::ThreadBuilder) -> std::io::Result<()> {
    /// Jobs that steal others while they wait lie on each other.
    const STACK: usize = 256 << 10;
    let mut builder = Builder::new().stack_size(thread.stack_size().unwrap_or(STACK));
    if let Some(name) = thread.name() {
        builder = builder.name(name.into());
    }
    builder.spawn(|| thread.run()).map(drop)
}
