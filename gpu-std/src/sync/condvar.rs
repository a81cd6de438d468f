//! `Condvar`.

use core::time::Duration;
use std::sync::{LockResult, PoisonError};

use super::mutex::MutexGuard;
use crate::word::Word32;

/// Where threads wait until what they need has come about: [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar {
    /// Counts the notifications. A thread that waits has read it before it unlocks, so none that comes later is lost.
    notified: Word32,
}

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// One at which nobody waits.
    pub const fn new() -> Condvar {
        Condvar {
            notified: Word32::new(0),
        }
    }

    /// Unlocks, waits for a notification, and locks again. It may return without one.
    ///
    /// # Errors
    ///
    /// If a thread panicked with the mutex locked. The guard is in the error.
    pub fn wait<'m, T: ?Sized>(&self, guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
        let (seen, lock) = (self.notified.get(), guard.raw());
        lock.unlock();
        self.notified.wait(seen);
        lock.lock();
        guard.retaken()
    }

    /// Waits while `condition` holds.
    ///
    /// # Errors
    ///
    /// As of [`wait`](Self::wait).
    pub fn wait_while<'m, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'m, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'m, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for so long at most.
    ///
    /// # Errors
    ///
    /// As of [`wait`](Self::wait).
    pub fn wait_timeout<'m, T: ?Sized>(
        &self,
        guard: MutexGuard<'m, T>,
        length: Duration,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let (seen, lock) = (self.notified.get(), guard.raw());
        lock.unlock();
        let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let timed_out = WaitTimeoutResult(!self.notified.wait_for(seen, length));
        lock.lock();
        match guard.retaken() {
            Ok(guard) => Ok((guard, timed_out)),
            Err(error) => Err(PoisonError::new((error.into_inner(), timed_out))),
        }
    }

    /// Waits while `condition` holds, for so long at most.
    ///
    /// # Errors
    ///
    /// As of [`wait`](Self::wait).
    pub fn wait_timeout_while<'m, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'m, T>,
        length: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'m, T>, WaitTimeoutResult)> {
        let begin = crate::time();
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = length.checked_sub(Duration::from_nanos(crate::time() - begin)) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        self.notified.add(1);
        self.notified.wake(1);
    }

    /// Wakes all that wait.
    pub fn notify_all(&self) {
        self.notified.add(1);
        self.notified.wake(u32::MAX);
    }
}
