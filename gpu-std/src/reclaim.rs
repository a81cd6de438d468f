//! Memory that is freed when no thread can reach it any more, for structures without locks.
//!
//! A thread that takes a node out of a shared structure cannot free it at once: another one may have just read its
//! address. There are two ways to find out when it can:
//!
//! - **Epochs** ([`pin`], [`Atomic`]): a thread pins the epoch while it reads. What was retired is freed after all threads
//!   that were pinned then have gone on. Reading costs one atomic addition for all of it.
//! - **Hazard pointers** ([`Hazard`]): a thread says which address it reads. Whatever else was retired is freed, however
//!   long the thread reads. Each address costs a fence.
//!
//! ```
//! use gpu_std::reclaim::{self, Atomic};
//!
//! static LATEST: Atomic<String> = Atomic::null();
//!
//! let guard = reclaim::pin();
//! if let Some(old) = LATEST.swap(Some(Box::new("new".to_string()))) {
//!     guard.retire(old);
//! }
//! assert_eq!(LATEST.load(&guard).map(String::as_str), Some("new"));
//! ```
//!
//! After K. Fraser, "Practical lock freedom" (2004), and M. Michael, "Hazard pointers: safe memory reclamation for
//! lock-free objects" (2004).

mod epoch;
mod hazard;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub(crate) use epoch::Grace;
pub use epoch::{Guard, pin};
pub use hazard::Hazard;

use core::marker::PhantomData;
use core::ptr;
use std::boxed::Box;

use crate::word::WordPtr;

/// Values of an [`Atomic`] are read under a [`Guard`], and dropped by epochs.
#[derive(Debug)]
pub enum ByEpoch {}

/// Values of an [`Atomic`] are read by a [`Hazard`] pointer, and dropped when none has their address.
#[derive(Debug)]
pub enum ByHazard {}

/// A pointer to a value of the heap, or to none, that threads read and replace. `S` says how values are kept that were
/// replaced: [`ByEpoch`] or [`ByHazard`].
///
/// Dropped, it drops the value that it has then.
#[derive(Debug)]
pub struct Atomic<T, S = ByEpoch> {
    pointer: WordPtr<T>,
    of: PhantomData<S>,
}

// SAFETY: the value is shared, and may be dropped by another thread than has made it.
unsafe impl<T: Send + Sync, S> Send for Atomic<T, S> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync, S> Sync for Atomic<T, S> {}

/// A value that was taken out of an [`Atomic`]. Others may still read it; [`Guard::retire`] or [`Hazard::retire`] drops it
/// later. Forgotten, it leaks.
#[derive(Debug)]
#[must_use = "a value that is not retired leaks"]
pub struct Removed<T, S = ByEpoch> {
    pointer: *mut T,
    of: PhantomData<(T, S)>,
}

// SAFETY: as of `Atomic`.
unsafe impl<T: Send + Sync, S> Send for Removed<T, S> {}

/// What comes of a replacement: the value that was there, or the new one, which did not get there.
pub type Replaced<T, S> = Result<Option<Removed<T, S>>, Option<Box<T>>>;

impl<T, S> Atomic<T, S> {
    /// A pointer to nothing.
    pub const fn null() -> Atomic<T, S> {
        Atomic {
            pointer: WordPtr::null(),
            of: PhantomData,
        }
    }

    /// A pointer to a value.
    pub fn new(value: T) -> Atomic<T, S> {
        let atomic = Atomic::null();
        atomic.pointer.set(Box::into_raw(Box::new(value)));
        atomic
    }

    /// Replaces the value; returns the one that was there.
    pub fn swap(&self, value: Option<Box<T>>) -> Option<Removed<T, S>> {
        Removed::of(self.pointer.swap(value.map_or(ptr::null_mut(), Box::into_raw)))
    }

    /// Replaces the value if it is still the one that was seen; returns that one.
    ///
    /// # Errors
    ///
    /// If it is another: the new value comes back.
    pub fn replace(&self, seen: Option<&T>, value: Option<Box<T>>) -> Replaced<T, S> {
        let seen: *mut T = seen.map_or(ptr::null_mut(), |seen| ptr::from_ref(seen).cast_mut());
        let new = value.map_or(ptr::null_mut(), Box::into_raw);
        match self.pointer.replace(seen, new) {
            Ok(()) => Ok(Removed::of(seen)),
            // SAFETY: it did not get there, so it is still the caller's.
            Err(_) => Err((!new.is_null()).then(|| unsafe { Box::from_raw(new) })),
        }
    }
}

impl<T> Atomic<T, ByEpoch> {
    /// The value, which stays while the guard does.
    pub fn load<'g>(&'g self, _guard: &'g Guard) -> Option<&'g T> {
        // SAFETY: it is freed only after all guards are gone that were there when it was taken out; and this pointer, which
        // drops what it has, stays as long.
        unsafe { self.pointer.get().as_ref() }
    }
}

impl<T, S> Default for Atomic<T, S> {
    fn default() -> Atomic<T, S> {
        Atomic::null()
    }
}

impl<T, S> Drop for Atomic<T, S> {
    fn drop(&mut self) {
        let pointer = self.pointer.get();
        if !pointer.is_null() {
            // SAFETY: nobody else has the pointer any more.
            drop(unsafe { Box::from_raw(pointer) });
        }
    }
}

impl<T, S> Removed<T, S> {
    fn of(pointer: *mut T) -> Option<Removed<T, S>> {
        (!pointer.is_null()).then_some(Removed {
            pointer,
            of: PhantomData,
        })
    }
}

impl<T, S> core::ops::Deref for Removed<T, S> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: it is not retired yet, so it was not freed.
        unsafe { &*self.pointer }
    }
}

/// A value that waits for its end.
#[derive(Debug)]
struct Retired {
    address: *mut u8,
    free: unsafe fn(*mut u8),
}

// SAFETY: made of a `Removed` alone, which may be sent.
unsafe impl Send for Retired {}

impl Retired {
    fn new<T: Send + Sync, S>(removed: Removed<T, S>) -> Retired {
        unsafe fn free<T>(address: *mut u8) {
            // SAFETY: it came from a box, and nobody has it any more.
            drop(unsafe { Box::from_raw(address.cast::<T>()) });
        }
        Retired {
            address: removed.pointer.cast(),
            free: free::<T>,
        }
    }

    /// # Safety
    ///
    /// Nobody has the value any more.
    unsafe fn free(self) {
        // SAFETY: the caller's promise.
        unsafe { (self.free)(self.address) };
    }
}
