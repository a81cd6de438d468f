//! The lock below all others: a word at which threads wait.

use core::cell::UnsafeCell;

use crate::platform;
use crate::word::Word32;

/// Free, taken, or taken with threads that may wait for it. After U. Drepper's "Futexes are tricky" (2011), the third
/// mutex.
#[derive(Debug, Default)]
pub(crate) struct RawLock {
    state: Word32,
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const AWAITED: u32 = 2;

/// Looks before a thread waits. A lock is mostly held for a few instructions, and to wait takes a lock too.
const LOOKS: u32 = platform::looks(32);

impl RawLock {
    pub const fn new() -> RawLock {
        RawLock {
            state: Word32::new(FREE),
        }
    }

    #[inline]
    pub fn try_lock(&self) -> bool {
        self.state.replace(FREE, TAKEN).is_ok()
    }

    #[inline]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..LOOKS {
            if self.state.get() == FREE && self.try_lock() {
                return;
            }
            platform::pause();
        }
        // From here on the lock is left as awaited, because others may wait too.
        while self.state.swap(AWAITED) != FREE {
            self.state.wait(AWAITED);
        }
    }

    #[inline]
    pub fn unlock(&self) {
        if self.state.swap(FREE) == AWAITED {
            self.state.wake(1);
        }
    }

    /// Runs `f` with the lock.
    pub fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        self.lock();
        let _unlock = Unlock(self);
        f()
    }

    /// Runs `f` with the lock, unless another thread has it.
    pub fn try_with<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        if !self.try_lock() {
            return None;
        }
        let _unlock = Unlock(self);
        Some(f())
    }
}

/// Also where something panics with the lock.
struct Unlock<'l>(&'l RawLock);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// A value and its lock, which is not poisoned. Any thread may have the value in turn, addresses in it included.
#[derive(Debug, Default)]
pub(crate) struct Locked<T> {
    lock: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached with the lock. This crate alone makes such values, of what threads may share.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Locked<T> {
        Locked {
            lock: RawLock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Runs `f` with the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: with the lock.
        self.lock.with(|| f(unsafe { &mut *self.value.get() }))
    }

    /// Runs `f` with the lock, unless another thread has it.
    pub fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        // SAFETY: with the lock.
        self.lock.try_with(|| f(unsafe { &mut *self.value.get() }))
    }
}
