//! What a guest program may ask of `gpu-run`.
//!
//! | item | what for |
//! |---|---|
//! | [`kernel!`], [`thread_id`], [`thread_count`] | functions that many threads run |
//! | [`par`] | ranges of indices, shared by the threads; parallel iterators |
//! | [`task`], [`future`] | tasks and futures that the threads share |
//! | [`channel`], [`work`] | values from thread to thread |
//! | [`thread`], [`thread_local!`] | threads with std's names |
//! | [`sync`], [`collective`] | locks, barriers, and what all threads do together |
//! | [`atomic`], [`atomic_add`] and its kin | atomics that are atomic in every build |
//! | [`reclaim`] | memory of structures without locks |
//! | [`gc`] | objects that are freed when nobody can reach them, with cycles |
//! | [`state_in`], [`state_out`], [`set_pixel`] | the run's input, output and frame |
//! | [`gpu_println!`], [`gpu_eprintln!`], [`gpu_dbg!`], [`gpu_warn!`] and its kin | output as whole records |
//! | [`GpuAllocator`], [`heap`], [`Arena`], [`Region`], [`Pool`] | memory |
//! | [`math`] | functions that return the same bits everywhere |
//! | [`time`] | a clock |
//! | [`fs`], [`mod@env`], [`io`], [`process`], [`net`] | what std lacks on `wasm32-unknown-unknown`; connections and processes on `wasm32-wasip1` too |
//!
//! On `wasm32` each operation is an import from the module `gpu_run_v1`, which the translator turns into one
//! instruction. On any other target it is plain `core` or `std` code for a program of one thread. So the same source is
//! tested with `cargo test`. There, `host` stands in for `gpu-run`'s options.
//!
//! ```
//! use core::sync::atomic::AtomicU32;
//!
//! static TOTAL: AtomicU32 = AtomicU32::new(0);
//!
//! gpu_std::kernel! {
//!     /// Adds up all thread ids.
//!     pub fn sum() -> u32 {
//!         gpu_std::atomic_add(&TOTAL, gpu_std::thread_id())
//!     }
//! }
//!
//! assert_eq!(sum(), 0);
//! ```
//!
//! `gpu-run --threads 1024 app.wasm` then runs `sum` on 1024 threads that share one memory.
//!
//! The feature `std`, which is on by default, brings the modules of the table's last row, tasks, channels, locks, regions
//! and pools.
//! Without it the crate is for programs without std: `default-features = false`.

#![no_std]
// What waits, sleeps and meets serves modules of that feature alone.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

#[cfg(any(feature = "std", not(target_arch = "wasm32")))]
extern crate std;

#[doc(hidden)]
#[path = "values.rs"]
pub mod __values;
mod arena;
pub mod atomic;
#[cfg(feature = "std")]
pub mod channel;
#[cfg(feature = "std")]
pub mod collective;
#[cfg(feature = "std")]
pub mod env;
#[cfg(feature = "std")]
mod event;
mod frame;
#[cfg(feature = "std")]
pub mod fs;
#[cfg(feature = "std")]
pub mod future;
#[cfg(feature = "std")]
pub mod gc;
pub mod heap;
#[cfg(not(target_arch = "wasm32"))]
pub mod host;
#[cfg(feature = "std")]
pub mod io;
mod kernel;
mod log;
pub mod math;
#[cfg(all(test, shuttle, feature = "std"))]
mod models;
#[cfg(feature = "std")]
pub mod net;
pub mod par;
mod plain;
#[cfg(feature = "std")]
mod pool;
mod print;
#[cfg(feature = "std")]
pub mod process;
#[cfg(feature = "std")]
pub mod reclaim;
#[cfg(feature = "std")]
mod region;
pub mod state_in;
pub mod state_out;
#[cfg(feature = "std")]
pub mod sync;
#[cfg(feature = "std")]
pub mod task;
#[cfg(feature = "std")]
pub mod thread;
#[cfg(all(
    feature = "std",
    any(test, all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))
))]
mod wasi;
mod word;
pub mod work;

#[cfg_attr(target_arch = "wasm32", path = "platform/wasm.rs")]
#[cfg_attr(not(target_arch = "wasm32"), path = "platform/host.rs")]
mod platform;

use core::sync::atomic::AtomicU32;

pub use arena::{Arena, ArenaFull, ArenaScope};
pub use frame::{frame_size, set_pixel};
pub use heap::GpuAllocator;
pub use kernel::KernelReturn;
#[doc(hidden)]
pub use kernel::check_return_type as __check_return_type;
pub use log::Level;
#[doc(hidden)]
pub use log::{message as __message, remark as __remark, wanted as __wanted};
pub use plain::Plain;
#[cfg(feature = "std")]
pub use pool::{Per, Pool, PoolBox};
#[doc(hidden)]
pub use print::{error_record as __error_record, record as __record};
#[cfg(feature = "std")]
pub use region::{Fit, Region, RegionBox, RegionFull};

/// Declares values of which each thread has its own, as [`std::thread_local!`] does.
///
/// In a plain build for `wasm32` a value that std's macro declares is one for all threads. Those of this macro are each
/// thread's own in every build. A thread that was spawned drops them when it ends; others do not.
///
/// ```
/// use std::cell::Cell;
///
/// gpu_std::thread_local! {
///     static STEPS: Cell<u32> = const { Cell::new(0) };
/// }
///
/// STEPS.set(STEPS.get() + 1);
/// assert_eq!(STEPS.get(), 1);
/// ```
#[cfg(all(
    feature = "std",
    target_arch = "wasm32",
    not(all(target_os = "wasi", target_feature = "atomics"))
))]
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attribute])* $vis static $name: $type = $init $(; $($rest)*)?);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attribute])*
        $vis static $name: $crate::thread::LocalKey<$type> = $crate::thread::LocalKey::new({
            fn init() -> $type {
                $init
            }
            init
        });
        $($crate::thread_local!($($rest)*);)?
    };
}

#[cfg(all(
    feature = "std",
    not(all(target_arch = "wasm32", not(all(target_os = "wasi", target_feature = "atomics"))))
))]
pub use std::thread_local;

/// The number of the calling thread, from 0 to [`thread_count`] - 1.
///
/// On a host target it is 0.
///
/// ```
/// assert!(gpu_std::thread_id() < gpu_std::thread_count());
/// ```
#[inline]
pub fn thread_id() -> u32 {
    platform::thread_id()
}

/// How many threads run the kernel: the `N` of `gpu-run --threads N`, at least 1.
///
/// It stays the same for the whole run, also when threads have already returned. On a host target
/// it is 1.
///
/// ```
/// let items = 1000;
/// // This thread's share: every thread_count-th item.
/// let mine = (gpu_std::thread_id()..items).step_by(gpu_std::thread_count() as usize);
/// assert!(mine.count() <= 1000);
/// ```
#[inline]
pub fn thread_count() -> u32 {
    platform::thread_count()
}

/// Nanoseconds since some moment before the program's first instruction.
///
/// The clock never goes back, also between threads. Its resolution is that of the device: expect
/// a microsecond, not a nanosecond.
///
/// ```
/// let start = gpu_std::time();
/// let elapsed = gpu_std::time() - start;
/// println!("{elapsed} ns");
/// ```
#[inline]
pub fn time() -> u64 {
    platform::time()
}

/// Adds `value` to `target`, wrapping around on overflow, and returns what `target` held before.
///
/// The addition is one step that no other thread can come between, and sequentially consistent.
///
/// Why not [`AtomicU32::fetch_add`]: a plain wasm build, one without the `atomics` target feature,
/// turns the atomics of `core` into ordinary loads and stores. Then two threads of a kernel lose
/// each other's updates. The functions of this crate are atomic in every build; those in [`atomic`]
/// do more operations, on more types.
///
/// ```
/// use core::sync::atomic::AtomicU32;
///
/// static HITS: AtomicU32 = AtomicU32::new(40);
/// assert_eq!(gpu_std::atomic_add(&HITS, 2), 40);
/// assert_eq!(gpu_std::atomic_add(&HITS, 0), 42); // adding 0 reads
/// ```
#[inline]
pub fn atomic_add(target: &AtomicU32, value: u32) -> u32 {
    platform::atomic_add(target, value)
}

/// Adds 1 to `target`, wrapping from [`u32::MAX`] to 0, and returns what `target` held before.
///
/// Otherwise like [`atomic_add`]. A usual way to find the thread that comes last:
///
/// ```
/// use core::sync::atomic::AtomicU32;
///
/// static ARRIVED: AtomicU32 = AtomicU32::new(0);
/// let last = gpu_std::atomic_inc(&ARRIVED) == gpu_std::thread_count() - 1;
/// assert!(last); // a host program has one thread
/// ```
#[inline]
pub fn atomic_inc(target: &AtomicU32) -> u32 {
    platform::atomic_inc(target)
}

/// Subtracts 1 from `target`, wrapping from 0 to [`u32::MAX`], and returns what `target` held
/// before.
///
/// Otherwise like [`atomic_add`].
///
/// ```
/// use core::sync::atomic::AtomicU32;
///
/// let left = AtomicU32::new(3);
/// assert_eq!(gpu_std::atomic_dec(&left), 3);
/// assert_eq!(left.into_inner(), 2);
/// ```
#[inline]
pub fn atomic_dec(target: &AtomicU32) -> u32 {
    platform::atomic_dec(target)
}

/// Stores `new` in `target` if it holds `expected`; returns what `target` held before either way.
///
/// The exchange took place exactly when the result equals `expected`: it never fails without
/// cause. Otherwise like [`atomic_add`].
///
/// ```
/// use core::sync::atomic::AtomicU32;
///
/// let owner = AtomicU32::new(0);
/// assert_eq!(gpu_std::atomic_cas(&owner, 0, 7), 0); // was free, is 7 now
/// assert_eq!(gpu_std::atomic_cas(&owner, 0, 8), 7); // taken: unchanged
/// ```
#[inline]
pub fn atomic_cas(target: &AtomicU32, expected: u32, new: u32) -> u32 {
    platform::atomic_cas(target, expected, new)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering;
    use std::format;

    #[test]
    fn a_host_program_is_one_thread() {
        assert_eq!((thread_id(), thread_count()), (0, 1));
    }

    #[test]
    fn time_never_goes_back() {
        let mut last = time();
        for _ in 0..1000 {
            let now = time();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn atomics_return_the_old_value_and_wrap() {
        let a = AtomicU32::new(u32::MAX);
        assert_eq!(atomic_inc(&a), u32::MAX);
        assert_eq!(atomic_dec(&a), 0);
        assert_eq!(atomic_add(&a, 3), u32::MAX);
        assert_eq!(atomic_cas(&a, 5, 9), 2);
        assert_eq!(atomic_cas(&a, 2, 9), 2);
        assert_eq!(a.load(Ordering::SeqCst), 9);
    }

    #[test]
    fn atomics_lose_no_update() {
        let total = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        atomic_inc(&total);
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 4000);
    }

    kernel! {
        fn nothing() {}
        fn half() -> f64 { 0.5 }
    }

    #[test]
    fn kernels_are_ordinary_functions() {
        nothing();
        assert_eq!(half(), 0.5);
    }

    #[test]
    fn printing_accepts_what_format_accepts() {
        let name = "kernel";
        gpu_print!("{name} {:>4}", 7);
        gpu_println!();
        gpu_println!("{}", format!("{name:?}"));
    }
}
