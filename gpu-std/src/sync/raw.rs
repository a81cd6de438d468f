//! The lock below all others: a word at which threads wait.

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
const LOOKS: u32 = 32;

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
        struct Unlock<'l>(&'l RawLock);
        impl Drop for Unlock<'_> {
            fn drop(&mut self) {
                self.0.unlock();
            }
        }
        self.lock();
        let _unlock = Unlock(self);
        f()
    }
}
