//! `RwLock`.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use super::poison::{Began, Poison};
use crate::platform;
use crate::word::Word32;

/// A value that many threads read or one changes: [`std::sync::RwLock`].
///
/// A thread that wants to write comes before those that want to read from then on.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    lock: RawRwLock,
    poison: Poison,
    value: UnsafeCell<T>,
}

/// Readers, or [`WRITES`].
#[derive(Debug, Default)]
struct RawRwLock {
    state: Word32,
    /// Threads that wait to write.
    writers: Word32,
    /// Changes whenever the lock becomes free, or writers end; threads wait here.
    freed: Word32,
    /// Threads that wait there.
    sleepers: Word32,
}

const WRITES: u32 = u32::MAX;
const LOOKS: u32 = platform::looks(8);

impl RawRwLock {
    const fn new() -> RawRwLock {
        RawRwLock {
            state: Word32::new(0),
            writers: Word32::new(0),
            freed: Word32::new(0),
            sleepers: Word32::new(0),
        }
    }

    fn try_read(&self) -> bool {
        if self.writers.get() != 0 {
            return false;
        }
        let mut readers = self.state.get();
        while readers < WRITES - 1 {
            match self.state.replace(readers, readers + 1) {
                Ok(()) => return true,
                Err(found) => readers = found,
            }
        }
        false
    }

    fn try_write(&self) -> bool {
        self.state.replace(0, WRITES).is_ok()
    }

    fn acquire(&self, take: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if take() {
                return;
            }
            platform::pause();
        }
        self.sleepers.add(1);
        loop {
            // Read before the attempt: what frees the lock after it changes this.
            let freed = self.freed.get();
            if take() {
                break;
            }
            self.freed.wait(freed);
        }
        self.sleepers.sub(1);
    }

    fn read(&self) {
        if !self.try_read() {
            self.acquire(|| self.try_read());
        }
    }

    fn write(&self) {
        if self.try_write() {
            return;
        }
        self.writers.add(1);
        self.acquire(|| self.try_write());
        self.writers.sub(1);
    }

    fn unlock_read(&self) {
        if self.state.sub(1) == 1 {
            self.free();
        }
    }

    fn unlock_write(&self) {
        self.state.set(0);
        self.free();
    }

    fn free(&self) {
        // Changed before sleepers are looked at. A thread counts itself before it reads this word: either it is seen here,
        // or it reads the new value and finds the lock as it is now.
        self.freed.add(1);
        if self.sleepers.get() != 0 {
            self.freed.wake(u32::MAX);
        }
    }
}

// SAFETY: as of std's: whoever has the value may move it, and readers share it.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The value of an [`RwLock`] that is locked for reading.
#[must_use = "the lock is given back at once if the guard is dropped"]
pub struct RwLockReadGuard<'l, T: ?Sized> {
    lock: &'l RwLock<T>,
    stays: PhantomData<*const ()>,
}

/// The value of an [`RwLock`] that is locked for writing.
#[must_use = "the lock is given back at once if the guard is dropped"]
pub struct RwLockWriteGuard<'l, T: ?Sized> {
    lock: &'l RwLock<T>,
    began: Began,
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives no more than `&T`.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// One that nobody has locked.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            lock: RawRwLock::new(),
            poison: Poison::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it wrote. The value is in the error.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.get();
        let value = self.value.into_inner();
        if poisoned {
            Err(PoisonError::new(value))
        } else {
            Ok(value)
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it wrote. The guard is in the error.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.lock.read();
        self.reader()
    }

    /// Waits until no other thread reads or writes.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it wrote. The guard is in the error.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.lock.write();
        self.writer()
    }

    /// Reads if no thread writes or waits to.
    ///
    /// # Errors
    ///
    /// If one does, or one panicked while it wrote.
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        match self.lock.try_read() {
            true => Ok(self.reader()?),
            false => Err(TryLockError::WouldBlock),
        }
    }

    /// Writes if no thread reads or writes.
    ///
    /// # Errors
    ///
    /// If one does, or one panicked while it wrote.
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.lock.try_write() {
            true => Ok(self.writer()?),
            false => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread panicked while it wrote.
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Forgets that.
    pub fn clear_poison(&self) {
        self.poison.clear();
    }

    /// The value, which nobody else can have.
    ///
    /// # Errors
    ///
    /// If a thread panicked while it wrote. The reference is in the error.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        // SAFETY: there is no other reference to the lock.
        let value = unsafe { &mut *self.value.get() };
        self.poison.result(value)
    }

    fn reader(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.poison.result(RwLockReadGuard {
            lock: self,
            stays: PhantomData,
        })
    }

    fn writer(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.poison.result(RwLockWriteGuard {
            lock: self,
            began: self.poison.begin(),
            stays: PhantomData,
        })
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: nobody writes while this thread is a reader.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: nobody else has the value while this thread writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed for as long.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.lock.unlock_read();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.poison.end(&self.began);
        self.lock.lock.unlock_write();
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => shown.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
