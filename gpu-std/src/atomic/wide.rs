//! Atomics of 128 bits, and additions to several numbers at once.

use core::cell::UnsafeCell;
use core::fmt;

use super::{Atomic, AtomicF32, AtomicF64, Ordering, Scope, fetch_add};
use crate::word::Word32;

/// A value that is accessed under a lock of its own: WebAssembly has no atomic access of 128 bits. The lock is held for an
/// access only, and a lane that finds it taken lets others of its warp go on.
struct Locked<T> {
    lock: Word32,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that has the lock reads and writes the value.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T: Copy> Locked<T> {
    const fn new(value: T) -> Locked<T> {
        Locked {
            lock: Word32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Puts there what `f` makes of the value, if that is something; returns what was there before.
    ///
    /// A thread that takes the lock sees what was done before it was last given back, and loads take it too. So accesses are as
    /// if sequentially consistent, whatever was asked for.
    fn update(&self, f: impl FnOnce(T) -> Option<T>) -> T {
        self.lock.lock();
        // SAFETY: the lock is this thread's.
        let old = unsafe { *self.value.get() };
        if let Some(new) = f(old) {
            // SAFETY: as above.
            unsafe { *self.value.get() = new };
        }
        self.lock.unlock();
        old
    }
}

macro_rules! wide {
    ($($(#[$doc:meta])* $name:ident $value:ty, $zero:literal $one:literal $two:literal;)*) => {
        $(
            $(#[$doc])*
            pub struct $name(Locked<$value>);

            impl $name {
                /// One that holds `value`.
                ///
                /// ```
                #[doc = concat!("static VALUE: gpu_std::atomic::", stringify!($name), " = gpu_std::atomic::", stringify!($name), "::new(", $one, ");")]
                #[doc = concat!("assert_eq!(VALUE.load(gpu_std::atomic::Ordering::SeqCst, gpu_std::atomic::Scope::Device), ", $one, ");")]
                /// ```
                pub const fn new(value: $value) -> $name {
                    $name(Locked::new(value))
                }

                /// The value that is there: never a half of one and a half of another.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Acquire, Scope};")]
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(", $two, ").load(Acquire, Scope::Device), ", $two, ");")]
                /// ```
                pub fn load(&self, _: Ordering, _: Scope) -> $value {
                    self.0.update(|_| None)
                }

                /// Puts a value there.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Release, Scope};")]
                #[doc = concat!("let value = ", stringify!($name), "::new(", $zero, ");")]
                #[doc = concat!("value.store(", $one, ", Release, Scope::Device);")]
                #[doc = concat!("assert_eq!(value.into_inner(), ", $one, ");")]
                /// ```
                pub fn store(&self, value: $value, _: Ordering, _: Scope) {
                    self.0.update(|_| Some(value));
                }

                /// Puts a value there and returns the previous one.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::AcqRel, Scope};")]
                #[doc = concat!("assert_eq!(", stringify!($name), "::new(", $one, ").swap(", $two, ", AcqRel, Scope::Device), ", $one, ");")]
                /// ```
                pub fn swap(&self, value: $value, _: Ordering, _: Scope) -> $value {
                    self.0.update(|_| Some(value))
                }

                /// Stores `new` if `expected` is there: `Ok` with it, or `Err` with what was there instead. It never fails
                /// without cause.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::AcqRel, Scope};")]
                #[doc = concat!("let value = ", stringify!($name), "::new(", $one, ");")]
                #[doc = concat!("assert_eq!(value.compare_exchange(", $one, ", ", $two, ", AcqRel, Scope::Device), Ok(", $one, "));")]
                #[doc = concat!("assert_eq!(value.compare_exchange(", $one, ", ", $zero, ", AcqRel, Scope::Device), Err(", $two, "));")]
                /// ```
                pub fn compare_exchange(
                    &self,
                    expected: $value,
                    new: $value,
                    _: Ordering,
                    _: Scope,
                ) -> Result<$value, $value> {
                    let old = self.0.update(|old| (old == expected).then_some(new));
                    if old == expected { Ok(old) } else { Err(old) }
                }

                /// Replaces the value by what `f` makes of it, and returns the previous value. Where other threads change it
                /// meanwhile, `f` is called again.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::SeqCst, Scope};")]
                #[doc = concat!("let value = ", stringify!($name), "::new(", $zero, ");")]
                #[doc = concat!("assert_eq!(value.fetch_update(SeqCst, Scope::Device, |_| ", $two, "), ", $zero, ");")]
                #[doc = concat!("assert_eq!(value.into_inner(), ", $two, ");")]
                /// ```
                pub fn fetch_update(
                    &self,
                    order: Ordering,
                    scope: Scope,
                    mut f: impl FnMut($value) -> $value,
                ) -> $value {
                    // Not under the lock: `f` may do anything.
                    let mut old = self.load(order, scope);
                    loop {
                        match self.compare_exchange(old, f(old), order, scope) {
                            Ok(old) => return old,
                            Err(found) => old = found,
                        }
                    }
                }

                /// The value, of one that is nobody else's.
                ///
                /// ```
                #[doc = concat!("assert_eq!(gpu_std::atomic::", stringify!($name), "::new(", $one, ").into_inner(), ", $one, ");")]
                /// ```
                pub fn into_inner(self) -> $value {
                    self.0.value.into_inner()
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.load(Ordering::SeqCst, Scope::Device).fmt(f)
                }
            }
        )*
    };
}

wide! {
    /// A number of 128 bits that threads may change.
    ///
    /// It is not lock-free: see the [module](super).
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicU128, Ordering::Relaxed, Scope};
    ///
    /// static PRODUCTS: AtomicU128 = AtomicU128::new(0);
    /// PRODUCTS.fetch_add(u128::from(u64::MAX) * 3, Relaxed, Scope::Device);
    /// assert_eq!(PRODUCTS.load(Relaxed, Scope::Device), 3 * u128::from(u64::MAX));
    /// ```
    AtomicU128 u128, "0" "1" "2";
    /// Two numbers of 64 bits that change together: a place and how often it has changed, say.
    ///
    /// It is not lock-free: see the [module](super).
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicPair, Ordering::SeqCst, Scope};
    ///
    /// static RANGE: AtomicPair = AtomicPair::new((u64::MAX, 0));
    /// for value in [7, 3, 9] {
    ///     RANGE.fetch_update(SeqCst, Scope::Device, |(least, most)| (least.min(value), most.max(value)));
    /// }
    /// assert_eq!(RANGE.load(SeqCst, Scope::Device), (3, 9));
    /// ```
    AtomicPair (u64, u64), "(0, 0)" "(1, 8)" "(2, 9)";
}

impl AtomicU128 {
    /// Adds, wrapping around on overflow, and returns the previous value.
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicU128, Ordering::Relaxed, Scope};
    /// let total = AtomicU128::new(u128::from(u64::MAX));
    /// assert_eq!(total.fetch_add(1, Relaxed, Scope::Device), u64::MAX.into());
    /// assert_eq!(total.into_inner(), 1 << 64);
    /// ```
    pub fn fetch_add(&self, value: u128, _: Ordering, _: Scope) -> u128 {
        self.0.update(|old| Some(old.wrapping_add(value)))
    }

    /// Leaves the greater of both, and returns the previous value.
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicU128, Ordering::Relaxed, Scope};
    /// let most = AtomicU128::new(1 << 100);
    /// most.fetch_max(5, Relaxed, Scope::Device);
    /// assert_eq!(most.into_inner(), 1 << 100);
    /// ```
    pub fn fetch_max(&self, value: u128, _: Ordering, _: Scope) -> u128 {
        self.0.update(|old| Some(old.max(value)))
    }

    /// Leaves the lesser of both, and returns the previous value.
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicU128, Ordering::Relaxed, Scope};
    /// let least = AtomicU128::new(1 << 100);
    /// least.fetch_min(5, Relaxed, Scope::Device);
    /// assert_eq!(least.into_inner(), 5);
    /// ```
    pub fn fetch_min(&self, value: u128, _: Ordering, _: Scope) -> u128 {
        self.0.update(|old| Some(old.min(value)))
    }
}

/// Adds to each number of an array, and returns the previous ones. Each addition is atomic by itself, as those of CUDA's
/// vectors are: a thread that reads meanwhile may see some of the sums and not yet the others.
///
/// ```
/// use core::sync::atomic::AtomicU32;
/// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_add_each};
///
/// static HISTOGRAM: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
/// fetch_add_each(&HISTOGRAM, [1, 0, 2], Relaxed, Scope::Device);
/// assert_eq!(fetch_add_each(&HISTOGRAM, [1, 1, 1], Relaxed, Scope::Device), [1, 0, 2]);
/// ```
pub fn fetch_add_each<A: Atomic, const N: usize>(
    targets: &[A; N],
    values: [A::Value; N],
    order: Ordering,
    scope: Scope,
) -> [A::Value; N] {
    core::array::from_fn(|i| fetch_add(&targets[i], values[i], order, scope))
}

macro_rules! each {
    ($($name:ident $float:ident;)*) => {
        $(
            impl $name {
                /// Adds to each number of an array, and returns the previous ones: see
                /// [`fetch_add_each`](super::fetch_add_each).
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Relaxed, Scope};")]
                ///
                #[doc = concat!("static FORCE: [", stringify!($name), "; 3] = [const { ", stringify!($name), "::new(0.0) }; 3];")]
                #[doc = concat!(stringify!($name), "::fetch_add_each(&FORCE, [1.0, 0.5, 2.0], Relaxed, Scope::Device);")]
                /// assert_eq!(FORCE[1].load(Relaxed, Scope::Device), 0.5);
                /// ```
                pub fn fetch_add_each<const N: usize>(
                    targets: &[$name; N],
                    values: [$float; N],
                    order: Ordering,
                    scope: Scope,
                ) -> [$float; N] {
                    core::array::from_fn(|i| targets[i].fetch_add(values[i], order, scope))
                }
            }
        )*
    };
}

each! {
    AtomicF32 f32;
    AtomicF64 f64;
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use Ordering::SeqCst;

    #[test]
    fn halves_change_together() {
        let (pair, number) = (AtomicPair::new((0, 0)), AtomicU128::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (pair, number) = (&pair, &number);
                scope.spawn(move || {
                    for i in 0..1000 {
                        let (a, b) = pair.fetch_update(SeqCst, Scope::Device, |(a, b)| (a + 1, b + 2));
                        assert_eq!(b, 2 * a);
                        number.fetch_add(u128::from(u64::MAX), SeqCst, Scope::Device);
                        let seen = number.load(SeqCst, Scope::Device);
                        assert_eq!(seen % u128::from(u64::MAX), 0, "{thread} {i}");
                    }
                });
            }
        });
        assert_eq!(pair.into_inner(), (4000, 8000));
        assert_eq!(number.into_inner(), 4000 * u128::from(u64::MAX));
    }
}
