//! Atomic operations that are atomic in every build.
//!
//! In a plain wasm build, one without the `atomics` target feature, the atomics of `core` are ordinary loads and
//! stores. Threads of a kernel then lose each other's updates. The functions of this module are instructions of
//! `gpu-run` instead, on the same types.
//!
//! Each takes an [`Ordering`] and a [`Scope`]. They say what the program needs, and it gets at least that. In compiled
//! code on a GPU, an operation that is sequentially consistent needs a fence, of some hundred cycles; one that acquires and
//! releases, or is relaxed, does not. The interpreter's operations, and a host's, are sequentially consistent whatever is
//! asked for, and all are at the device's scope. Any ordering may be given to any operation; the ordering should be a
//! constant.
//!
//! [`AtomicU128`] and [`AtomicPair`] hold 128 bits, which WebAssembly has no atomic access of. Each has a lock that is held for an
//! access, so they are not lock-free, and are as strong as sequentially consistent ones.
//!
//! ```
//! use core::sync::atomic::{AtomicI64, Ordering::Relaxed};
//! use gpu_std::atomic::{self, Scope};
//!
//! static BALANCE: AtomicI64 = AtomicI64::new(10);
//! assert_eq!(atomic::fetch_sub(&BALANCE, 15, Relaxed, Scope::Device), 10);
//! assert_eq!(atomic::load(&BALANCE, Relaxed, Scope::Device), -5);
//! ```

mod wide;

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

pub use core::sync::atomic::Ordering;
pub use wide::{AtomicPair, AtomicU128, fetch_add_each};

use crate::platform::{self, atomic32, atomic64};

/// Which threads must agree on the order of an operation. See the [module](self) for what that means today.
///
/// ```
/// assert_ne!(gpu_std::atomic::Scope::Block, gpu_std::atomic::Scope::Device);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The threads of one block of lanes. Which threads these are is open, so this is of use only where it is
    /// known in another way.
    Block,
    /// All threads of the process. What nearly every program needs.
    Device,
    /// The host too. While threads run, the host touches no linear memory, so this is the same as `Device`.
    System,
}

mod sealed {
    use core::fmt::Debug;

    pub trait Operations {
        type Value: Copy + Ord + Debug;
        fn load(&self) -> Self::Value;
        fn store(&self, value: Self::Value);
        fn swap(&self, value: Self::Value) -> Self::Value;
        fn cas(&self, expected: Self::Value, new: Self::Value) -> Self::Value;
        fn add(&self, value: Self::Value) -> Self::Value;
        fn sub(&self, value: Self::Value) -> Self::Value;
        fn and(&self, value: Self::Value) -> Self::Value;
        fn or(&self, value: Self::Value) -> Self::Value;
        fn xor(&self, value: Self::Value) -> Self::Value;
    }
}
use sealed::Operations;

/// An integer that threads may change: [`AtomicU32`], [`AtomicI32`], [`AtomicU64`] or [`AtomicI64`]. The trait is
/// sealed. Its `Value` is what it holds: `u32`, `i32`, `u64` or `i64`.
///
/// ```
/// use gpu_std::atomic::{self, Atomic, Ordering::SeqCst, Scope};
///
/// fn take<A: Atomic>(count: &A, zero: A::Value) -> A::Value {
///     atomic::swap(count, zero, SeqCst, Scope::Device)
/// }
/// assert_eq!(take(&core::sync::atomic::AtomicU32::new(4), 0), 4);
/// ```
pub trait Atomic: Operations {}

macro_rules! atomics {
    ($($atomic:ident $value:ident $operations:ident $bits:ident;)*) => {
        $(
            impl Atomic for $atomic {}

            impl Operations for $atomic {
                type Value = $value;
                #[inline]
                fn load(&self) -> $value {
                    // SAFETY: an atomic is an aligned word that may be changed through a shared reference; so
                    // it is in all of these.
                    unsafe { $operations::load(self.as_ptr().cast()) as $value }
                }
                #[inline]
                fn store(&self, value: $value) {
                    // SAFETY: as in `load`.
                    unsafe { $operations::store(self.as_ptr().cast(), value as $bits) }
                }
                #[inline]
                fn cas(&self, expected: $value, new: $value) -> $value {
                    // SAFETY: as in `load`.
                    unsafe { $operations::cas(self.as_ptr().cast(), expected as $bits, new as $bits) as $value }
                }
                atomics!(@rmw $value $operations $bits: swap add sub and or xor);
            }
        )*
    };
    (@rmw $value:ident $operations:ident $bits:ident: $($name:ident)*) => {
        $(
            #[inline]
            fn $name(&self, value: $value) -> $value {
                // SAFETY: as in `load`.
                unsafe { $operations::$name(self.as_ptr().cast(), value as $bits) as $value }
            }
        )*
    };
}

atomics! {
    AtomicU32 u32 atomic32 u32;
    AtomicI32 i32 atomic32 u32;
    AtomicU64 u64 atomic64 u64;
    AtomicI64 i64 atomic64 u64;
}

/// The value that is there.
///
/// ```
/// # use core::sync::atomic::AtomicU32;
/// use gpu_std::atomic::{Ordering::Acquire, Scope, load};
/// assert_eq!(load(&AtomicU32::new(3), Acquire, Scope::Device), 3);
/// ```
#[inline]
pub fn load<A: Atomic>(target: &A, order: Ordering, _: Scope) -> A::Value {
    weaken(order);
    target.load()
}

/// Puts a value there.
///
/// ```
/// # use core::sync::atomic::AtomicU64;
/// use gpu_std::atomic::{Ordering::Release, Scope, store};
/// let ready = AtomicU64::new(0);
/// store(&ready, 1, Release, Scope::Device);
/// assert_eq!(ready.into_inner(), 1);
/// ```
#[inline]
pub fn store<A: Atomic>(target: &A, value: A::Value, order: Ordering, _: Scope) {
    weaken(order);
    target.store(value);
}

/// Stores `new` if `expected` is there: `Ok` with it, or `Err` with what was there instead. It never fails without
/// cause.
///
/// ```
/// # use core::sync::atomic::AtomicU32;
/// use gpu_std::atomic::{Ordering::AcqRel, Scope, compare_exchange};
/// let owner = AtomicU32::new(0);
/// assert_eq!(compare_exchange(&owner, 0, 7, AcqRel, Scope::Device), Ok(0));
/// assert_eq!(compare_exchange(&owner, 0, 8, AcqRel, Scope::Device), Err(7));
/// ```
#[inline]
pub fn compare_exchange<A: Atomic>(
    target: &A,
    expected: A::Value,
    new: A::Value,
    order: Ordering,
    _: Scope,
) -> Result<A::Value, A::Value> {
    weaken(order);
    let found = target.cas(expected, new);
    if found == expected { Ok(found) } else { Err(found) }
}

/// Replaces the value by what `f` makes of it, and returns the previous value. Where other threads
/// change it meanwhile, `f` is called again.
///
/// ```
/// # use core::sync::atomic::AtomicU32;
/// use gpu_std::atomic::{Ordering::SeqCst, Scope, fetch_update};
/// let value = AtomicU32::new(10);
/// assert_eq!(fetch_update(&value, SeqCst, Scope::Device, |old| old * 3 + 1), 10);
/// assert_eq!(value.into_inner(), 31);
/// ```
#[inline]
pub fn fetch_update<A: Atomic>(
    target: &A,
    order: Ordering,
    _: Scope,
    mut f: impl FnMut(A::Value) -> A::Value,
) -> A::Value {
    // A guess, which the exchange checks.
    weaken(Ordering::Relaxed);
    let mut old = target.load();
    // Lock-free: it goes round only if another thread has changed the value.
    loop {
        let new = f(old);
        weaken(order);
        let found = target.cas(old, new);
        if found == old {
            return old;
        }
        old = found;
    }
}

/// Says what the next access has to order.
#[inline]
fn weaken(order: Ordering) {
    match order {
        Ordering::Relaxed => platform::atomic_relaxed(),
        Ordering::SeqCst => {}
        _ => platform::atomic_acq_rel(),
    }
}

macro_rules! fetch {
    ($($(#[$doc:meta])* $name:ident = $method:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name<A: Atomic>(target: &A, value: A::Value, order: Ordering, _: Scope) -> A::Value {
                weaken(order);
                target.$method(value)
            }
        )*
    };
}

fetch! {
    /// Puts a value there and returns the previous one.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicI32;
    /// use gpu_std::atomic::{Ordering::AcqRel, Scope, swap};
    /// assert_eq!(swap(&AtomicI32::new(-1), 5, AcqRel, Scope::Device), -1);
    /// ```
    swap = swap;
    /// Adds, wrapping around on overflow, and returns the previous value.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU64;
    /// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_add};
    /// let total = AtomicU64::new(1 << 40);
    /// assert_eq!(fetch_add(&total, 1, Relaxed, Scope::Device), 1 << 40);
    /// assert_eq!(total.into_inner(), (1 << 40) + 1);
    /// ```
    fetch_add = add;
    /// Subtracts, wrapping around on overflow, and returns the previous value.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU32;
    /// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_sub};
    /// assert_eq!(fetch_sub(&AtomicU32::new(3), 1, Relaxed, Scope::Device), 3);
    /// ```
    fetch_sub = sub;
    /// Keeps the bits that `value` has, and returns the previous value.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU32;
    /// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_and};
    /// let bits = AtomicU32::new(0b1100);
    /// fetch_and(&bits, 0b1010, Relaxed, Scope::Device);
    /// assert_eq!(bits.into_inner(), 0b1000);
    /// ```
    fetch_and = and;
    /// Sets the bits that `value` has, and returns the previous value.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU32;
    /// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_or};
    /// let bits = AtomicU32::new(0b1100);
    /// fetch_or(&bits, 0b1010, Relaxed, Scope::Device);
    /// assert_eq!(bits.into_inner(), 0b1110);
    /// ```
    fetch_or = or;
    /// Flips the bits that `value` has, and returns the previous value.
    ///
    /// ```
    /// # use core::sync::atomic::AtomicU32;
    /// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_xor};
    /// let bits = AtomicU32::new(0b1100);
    /// fetch_xor(&bits, 0b1010, Relaxed, Scope::Device);
    /// assert_eq!(bits.into_inner(), 0b0110);
    /// ```
    fetch_xor = xor;
}

/// Leaves the greater of both, and returns the previous value.
///
/// ```
/// # use core::sync::atomic::AtomicI64;
/// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_max};
/// let most = AtomicI64::new(-3);
/// assert_eq!(fetch_max(&most, 2, Relaxed, Scope::Device), -3);
/// assert_eq!(most.into_inner(), 2);
/// ```
#[inline]
pub fn fetch_max<A: Atomic>(target: &A, value: A::Value, order: Ordering, scope: Scope) -> A::Value {
    fetch_update(target, order, scope, |old| old.max(value))
}

/// Leaves the lesser of both, and returns the previous value.
///
/// ```
/// # use core::sync::atomic::AtomicU32;
/// use gpu_std::atomic::{Ordering::Relaxed, Scope, fetch_min};
/// let least = AtomicU32::new(3);
/// assert_eq!(fetch_min(&least, 2, Relaxed, Scope::Device), 3);
/// assert_eq!(least.into_inner(), 2);
/// ```
#[inline]
pub fn fetch_min<A: Atomic>(target: &A, value: A::Value, order: Ordering, scope: Scope) -> A::Value {
    fetch_update(target, order, scope, |old| old.min(value))
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident $float:ident $bits:ident $atomic:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Default)]
            pub struct $name($atomic);

            impl $name {
                /// One that holds `value`.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Relaxed, Scope};")]
                #[doc = concat!("static ZERO: ", stringify!($name), " = ", stringify!($name), "::new(0.0);")]
                /// assert_eq!(ZERO.load(Relaxed, Scope::Device), 0.0);
                /// ```
                pub const fn new(value: $float) -> $name {
                    $name($atomic::new(value.to_bits()))
                }

                /// The value that is there.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Relaxed, Scope};")]
                #[doc = concat!("let half = ", stringify!($name), "::new(0.5);")]
                /// assert_eq!(half.load(Relaxed, Scope::Device), 0.5);
                /// ```
                #[inline]
                pub fn load(&self, order: Ordering, scope: Scope) -> $float {
                    $float::from_bits(load(&self.0, order, scope))
                }

                /// Puts a value there.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Relaxed, Scope};")]
                #[doc = concat!("let value = ", stringify!($name), "::new(0.5);")]
                /// value.store(2.0, Relaxed, Scope::Device);
                /// assert_eq!(value.load(Relaxed, Scope::Device), 2.0);
                /// ```
                #[inline]
                pub fn store(&self, value: $float, order: Ordering, scope: Scope) {
                    store(&self.0, value.to_bits(), order, scope);
                }

                /// Adds and returns the previous value. In which order threads add is open, so the sum of many is not
                /// the same in each run.
                ///
                /// ```
                #[doc = concat!("use gpu_std::atomic::{", stringify!($name), ", Ordering::Relaxed, Scope};")]
                #[doc = concat!("let sum = ", stringify!($name), "::new(0.5);")]
                /// assert_eq!(sum.fetch_add(2.0, Relaxed, Scope::Device), 0.5);
                /// assert_eq!(sum.load(Relaxed, Scope::Device), 2.5);
                /// ```
                #[inline]
                pub fn fetch_add(&self, value: $float, order: Ordering, scope: Scope) -> $float {
                    let sum = |old| ($float::from_bits(old) + value).to_bits();
                    $float::from_bits(fetch_update(&self.0, order, scope, sum))
                }
            }
        )*
    };
}

floats! {
    /// An [`f32`] that threads may change and add to.
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicF32, Ordering::Relaxed, Scope};
    ///
    /// static ENERGY: AtomicF32 = AtomicF32::new(1.0);
    /// assert_eq!(ENERGY.fetch_add(0.5, Relaxed, Scope::Device), 1.0);
    /// assert_eq!(ENERGY.load(Relaxed, Scope::Device), 1.5);
    /// ENERGY.store(0.0, Relaxed, Scope::Device);
    /// ```
    AtomicF32 f32 u32 AtomicU32;
    /// An [`f64`] that threads may change and add to.
    ///
    /// ```
    /// use gpu_std::atomic::{AtomicF64, Ordering::Relaxed, Scope};
    ///
    /// let total = AtomicF64::new(0.1);
    /// total.fetch_add(0.2, Relaxed, Scope::Device);
    /// assert_eq!(total.load(Relaxed, Scope::Device), 0.1 + 0.2);
    /// ```
    AtomicF64 f64 u64 AtomicU64;
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use Ordering::SeqCst;

    #[test]
    fn signed_values_keep_their_sign_and_wrap() {
        let a = AtomicI64::new(i64::MAX);
        assert_eq!(fetch_add(&a, 1, SeqCst, Scope::Device), i64::MAX);
        assert_eq!(fetch_max(&a, -1, SeqCst, Scope::Device), i64::MIN);
        assert_eq!(swap(&a, -7, SeqCst, Scope::System), -1);
        let b = AtomicI32::new(-1);
        assert_eq!(fetch_sub(&b, i32::MAX, SeqCst, Scope::Block), -1);
        assert_eq!(fetch_xor(&b, -1, SeqCst, Scope::Block), i32::MIN);
        assert_eq!(compare_exchange(&b, i32::MAX, 0, SeqCst, Scope::Block), Ok(i32::MAX));
    }

    #[test]
    fn no_update_is_lost() {
        let (sum, float, largest) = (AtomicU64::new(0), AtomicF64::new(0.0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (sum, float, largest) = (&sum, &float, &largest);
                scope.spawn(move || {
                    for i in 0..1000 {
                        fetch_add(sum, 1 << 32, Ordering::Relaxed, Scope::Device);
                        float.fetch_add(0.5, Ordering::Relaxed, Scope::Device);
                        fetch_max(largest, 10 * i + thread, Ordering::Relaxed, Scope::Device);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 4000 << 32);
        assert_eq!(float.load(SeqCst, Scope::Device), 2000.0);
        assert_eq!(largest.into_inner(), 9993);
    }
}
