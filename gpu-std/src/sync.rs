//! Locks and their kin, as in `std::sync`, for the threads of a kernel.
//!
//! In a plain build for `wasm32` the locks of std are made for one thread: a second one that locks a `Mutex` panics, and
//! reference counts of `Arc` lose changes. The types here are real in every build. Names and signatures are std's, so one
//! changed `use` line is enough. On any other target they are std's.
//!
//! ```
//! use gpu_std::sync::{Mutex, OnceLock};
//!
//! static WORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());
//! static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
//!
//! gpu_std::kernel! {
//!     pub fn collect() {
//!         let table = TABLE.get_or_init(|| (0..10).map(|n| n * n).collect());
//!         WORDS.lock().unwrap().push(format!("{}", table[3]));
//!     }
//! }
//! collect();
//! assert_eq!(*WORDS.lock().unwrap(), ["9"]);
//! ```
//!
//! A thread that waits leaves its lane to others where the interpreter runs it; compiled, it keeps the lane. If all
//! threads wait for each other, the run ends with the trap `deadlock`. A panic in a thread poisons what it has locked, in
//! builds that unwind; in others it ends the process.
//!
//! [`Semaphore`] and [`Phaser`] are in no std. They are the same everywhere.

#[cfg(any(test, target_arch = "wasm32"))]
mod arc;
#[cfg_attr(not(any(test, target_arch = "wasm32")), allow(dead_code))] // A host has std's.
mod barrier;
#[cfg_attr(not(any(test, target_arch = "wasm32")), allow(dead_code))]
mod condvar;
#[cfg_attr(not(any(test, target_arch = "wasm32")), allow(dead_code))]
mod mutex;
#[cfg(any(test, target_arch = "wasm32"))]
mod once;
mod phaser;
#[cfg_attr(not(any(test, target_arch = "wasm32")), allow(dead_code))]
mod poison;
mod raw;
#[cfg(any(test, target_arch = "wasm32"))]
mod rwlock;
mod semaphore;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub(crate) use barrier::Meeting;
pub use phaser::{Arrival, Phaser};
pub(crate) use raw::{Locked, RawLock};
pub use semaphore::{Semaphore, SemaphorePermit};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

#[cfg(any(target_arch = "wasm32", all(test, shuttle)))]
pub use self::{
    arc::Arc,
    barrier::{Barrier, BarrierWaitResult},
    condvar::{Condvar, WaitTimeoutResult},
    mutex::{Mutex, MutexGuard},
    once::{LazyLock, Once, OnceLock},
    rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard},
};
#[cfg(not(any(target_arch = "wasm32", all(test, shuttle))))]
pub use std::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockReadGuard,
    RwLockWriteGuard, WaitTimeoutResult,
};
