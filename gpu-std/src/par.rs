//! Work on ranges of indices, slices and the like, shared by the threads of a kernel.
//!
//! There are two ways:
//!
//! - **All threads call the same function**, and each gets its share of the indices: [`for_each`], [`Queue`],
//!   [`map_reduce`]. It is the cheapest way. On a host target there is one thread, which gets all of them, in order.
//! - **One thread calls, and others help**: parallel iterators, with rayon's names, in [`task::run`](crate::task::run).
//!   Bring them by `use gpu_std::par::prelude::*`.
//!
//! ```
//! use gpu_std::par::{self, prelude::*};
//! use gpu_std::task;
//!
//! let mut words = vec!["pear", "fig", "apple"];
//! let letters = task::run(|| {
//!     words.par_sort();
//!     words.par_iter().map(|word| word.len()).sum::<usize>()
//! });
//! assert_eq!((words, letters), (vec!["apple", "fig", "pear"], Some(12)));
//! ```

#[cfg(feature = "std")]
mod iter;
#[cfg(feature = "std")]
mod pieces;
#[cfg(feature = "std")]
mod slice;
#[cfg(all(test, feature = "std", not(target_arch = "wasm32")))]
mod tests;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::atomic::{self, Atomic, Scope};
use crate::{thread_count, thread_id};

#[cfg(feature = "std")]
pub use iter::{
    Cloned, Copied, Enumerate, Filter, FilterMap, Fold, FromParallelIterator, IndexedParallelIterator, Inspect,
    IntoParallelIterator, Map, ParallelIterator, Part, RangeIter, Rev, Zip,
};
#[cfg(feature = "std")]
pub use slice::{
    Chunks, ChunksMut, IntoIter, Iter, IterMut, ParallelSlice, ParallelSliceMut, exclusive_scan, histogram,
    inclusive_scan,
};

/// The traits of parallel iterators.
#[cfg(feature = "std")]
pub mod prelude {
    pub use super::{
        FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice,
        ParallelSliceMut,
    };
}

/// Calls `f` for each index below `n` once, on one of the threads.
///
/// Thread t of T gets t, t + T, t + 2 T, …: neighbouring indices go to neighbouring threads. So what lies side by side
/// in memory is read side by side. Where some indices are far more work than others, use a [`Queue`]. It returns when
/// this thread's share is done, not when all is.
///
/// ```
/// # gpu_std::host::set_output(80);
/// gpu_std::kernel! {
///     pub fn squares() {
///         gpu_std::par::for_each(10, |i| {
///             gpu_std::state_out::write(i as u64, (i * i) as f64);
///         });
///     }
/// }
/// squares();
/// # assert_eq!(gpu_std::host::output()[72..], 81f64.to_le_bytes());
/// ```
pub fn for_each(n: usize, mut f: impl FnMut(usize)) {
    let step = thread_count() as usize;
    let mut i = thread_id() as usize;
    while i < n {
        f(i);
        // There is no index beyond the last.
        let Some(next) = i.checked_add(step) else { break };
        i = next;
    }
}

/// Indices that threads take piece by piece, each as soon as it is ready for more.
///
/// Meant for indices that are unequal work: no thread has nothing to do while another has many left. It lies in
/// a `static`, and is used up when all its indices were given out; [`reset`](Queue::reset) makes it new.
///
/// ```
/// static ROWS: gpu_std::par::Queue = gpu_std::par::Queue::new();
///
/// gpu_std::kernel! {
///     pub fn render() -> u32 {
///         let mut rows = 0;
///         ROWS.for_each(1080, 4, |_row| rows += 1);
///         rows
///     }
/// }
/// assert_eq!(render(), 1080); // the only thread gets all
/// assert_eq!(render(), 0); // and then there is nothing left
/// ```
#[derive(Debug, Default)]
pub struct Queue {
    next: AtomicU64,
}

impl Queue {
    /// A queue whose first index is 0.
    ///
    /// ```
    /// static QUEUE: gpu_std::par::Queue = gpu_std::par::Queue::new();
    /// ```
    pub const fn new() -> Queue {
        Queue {
            next: AtomicU64::new(0),
        }
    }

    /// Calls `f` for each index below `n` that this thread gets, `chunk` of them at a time (0 counts as 1).
    ///
    /// Larger chunks cost less for taking, smaller ones leave less undone at the end. Every thread passes the
    /// same `n`. See [`Queue`].
    ///
    /// ```
    /// let queue = gpu_std::par::Queue::new();
    /// let mut seen = Vec::new();
    /// queue.for_each(5, 2, |i| seen.push(i));
    /// assert_eq!(seen, [0, 1, 2, 3, 4]);
    /// ```
    pub fn for_each(&self, n: usize, chunk: usize, mut f: impl FnMut(usize)) {
        let (n, chunk) = (n as u64, chunk.max(1) as u64);
        loop {
            let first = atomic::fetch_add(&self.next, chunk, SeqCst, Scope::Device);
            if first >= n {
                break;
            }
            for i in first..first.saturating_add(chunk).min(n) {
                f(i as usize);
            }
        }
    }

    /// Makes all indices available again. For when no thread works on the queue.
    ///
    /// ```
    /// let queue = gpu_std::par::Queue::new();
    /// queue.for_each(3, 1, |_| {});
    /// queue.reset();
    /// queue.for_each(1, 1, |i| assert_eq!(i, 0));
    /// ```
    pub fn reset(&self) {
        atomic::store(&self.next, 0, SeqCst, Scope::Device);
    }
}

/// A value that all threads reduce into; see [`map_reduce`].
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// static LARGEST: gpu_std::par::Reduction<AtomicU64> = gpu_std::par::Reduction::new(AtomicU64::new(0));
/// ```
#[derive(Debug, Default)]
pub struct Reduction<A> {
    value: A,
    done: AtomicU32,
}

impl<A> Reduction<A> {
    /// A reduction that begins with the value in `identity`: one that changes no other, such as 0 for sums.
    ///
    /// ```
    /// use core::sync::atomic::AtomicI32;
    /// let product = gpu_std::par::Reduction::new(AtomicI32::new(1));
    /// ```
    pub const fn new(identity: A) -> Reduction<A> {
        Reduction {
            value: identity,
            done: AtomicU32::new(0),
        }
    }
}

/// Maps each index below `n` to a value and reduces all values to one. The thread that is ready last gets it;
/// the others get `None`.
///
/// Each thread reduces its share, beginning with `identity`, and then puts it into `reduction`, which holds the
/// identity at first. In which order is open: `reduce` must be associative and commutative, as addition of
/// integers and the greater of two are. Floats round differently in each order. Once in a run for each
/// `reduction`.
///
/// ```
/// use core::sync::atomic::AtomicU64;
/// use gpu_std::par::{Reduction, map_reduce};
///
/// static SUM: Reduction<AtomicU64> = Reduction::new(AtomicU64::new(0));
///
/// gpu_std::kernel! {
///     pub fn sum_of_squares() {
///         let square = |i: usize| (i * i) as u64;
///         if let Some(sum) = map_reduce(&SUM, 1000, 0, square, |a, b| a + b) {
///             gpu_std::gpu_println!("{sum}");
/// #           assert_eq!(sum, 332_833_500);
///         }
///     }
/// }
/// sum_of_squares();
/// ```
pub fn map_reduce<A: Atomic>(
    reduction: &Reduction<A>,
    n: usize,
    identity: A::Value,
    mut map: impl FnMut(usize) -> A::Value,
    mut reduce: impl FnMut(A::Value, A::Value) -> A::Value,
) -> Option<A::Value> {
    let mut mine = identity;
    for_each(n, |i| mine = reduce(mine, map(i)));
    atomic::fetch_update(&reduction.value, SeqCst, Scope::Device, |all| reduce(all, mine));
    // Sequentially consistent, so the thread that comes last sees what all others have put in.
    let last = atomic::fetch_add(&reduction.done, 1, SeqCst, Scope::Device) == thread_count() - 1;
    last.then(|| atomic::load(&reduction.value, SeqCst, Scope::Device))
}
