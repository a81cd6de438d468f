//! `Semaphore`.

use crate::platform;
use crate::word::Word32;

/// A number of permits. Threads take one each, and wait while there is none.
///
/// ```
/// use gpu_std::sync::Semaphore;
///
/// static AT_ONCE: Semaphore = Semaphore::new(2);
/// let (first, second) = (AT_ONCE.acquire(), AT_ONCE.acquire());
/// assert!(AT_ONCE.try_acquire().is_none());
/// drop(first);
/// assert!(AT_ONCE.try_acquire().is_some());
/// # drop(second);
/// ```
#[derive(Debug)]
pub struct Semaphore {
    permits: Word32,
    sleepers: Word32,
}

/// A permit, which is given back when this is dropped.
#[must_use = "the permit is given back at once if this is dropped"]
#[derive(Debug)]
pub struct SemaphorePermit<'s>(&'s Semaphore);

const LOOKS: u32 = platform::looks(8);

impl Semaphore {
    /// One with so many permits.
    pub const fn new(permits: u32) -> Semaphore {
        Semaphore {
            permits: Word32::new(permits),
            sleepers: Word32::new(0),
        }
    }

    /// Permits that nobody has.
    pub fn available(&self) -> u32 {
        self.permits.get()
    }

    /// Waits for a permit.
    pub fn acquire(&self) -> SemaphorePermit<'_> {
        for _ in 0..LOOKS {
            if let Some(permit) = self.try_acquire() {
                return permit;
            }
            platform::pause();
        }
        // Counted before the last look, so that `add` sees it or the look sees the permit.
        self.sleepers.add(1);
        let permit = loop {
            if let Some(permit) = self.try_acquire() {
                break permit;
            }
            self.permits.wait(0);
        };
        self.sleepers.sub(1);
        permit
    }

    /// A permit, if there is one.
    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        let mut permits = self.permits.get();
        while permits > 0 {
            match self.permits.replace(permits, permits - 1) {
                Ok(()) => return Some(SemaphorePermit(self)),
                Err(found) => permits = found,
            }
        }
        None
    }

    /// Adds permits.
    pub fn add(&self, permits: u32) {
        self.permits.add(permits);
        if self.sleepers.get() != 0 {
            self.permits.wake(permits);
        }
    }
}

impl SemaphorePermit<'_> {
    /// Keeps the permit for ever.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.0.add(1);
    }
}
