//! `Mutex`.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::poison::{Began, Poison};
use super::raw::RawLock;

/// A value that one thread has at a time: [`std::sync::Mutex`].
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    lock: RawLock,
    poison: Poison,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, so that it need only be one that may move between threads.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The value of a locked [`Mutex`], which is unlocked when this is dropped.
#[must_use = "the mutex is unlocked at once if the guard is dropped"]
pub struct MutexGuard<'m, T: ?Sized> {
    mutex: &'m Mutex<T>,
    began: Began,
    /// As std's, it stays in its thread.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives no more than `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// A mutex that nobody has locked.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            lock: RawLock::new(),
            poison: Poison::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, and whether the mutex is poisoned.
    ///
    /// # Errors
    ///
    /// If a thread panicked with it locked. The value is in the error.
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.poison.get();
        let value = self.value.into_inner();
        match poisoned {
            true => Err(std::sync::PoisonError::new(value)),
            false => Ok(value),
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until no other thread has it, and takes it.
    ///
    /// # Errors
    ///
    /// If a thread panicked with it locked. The guard is in the error.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock.lock();
        self.guard()
    }

    /// Takes it if no thread has it.
    ///
    /// # Errors
    ///
    /// If another thread has it, or one panicked with it locked.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.lock.try_lock() {
            true => Ok(self.guard()?),
            false => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread panicked with it locked.
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
    /// If a thread panicked with it locked. The reference is in the error.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        // SAFETY: there is no other reference to the mutex.
        let value = unsafe { &mut *self.value.get() };
        self.poison.result(value)
    }

    fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        self.poison.result(MutexGuard {
            mutex: self,
            began: self.poison.begin(),
            stays: PhantomData,
        })
    }
}

impl<'m, T: ?Sized> MutexGuard<'m, T> {
    /// The lock below it, for a condition variable, which unlocks it for a while.
    pub(super) fn raw(&self) -> &'m RawLock {
        &self.mutex.lock
    }
    /// The result of a wait that took the lock again.
    pub(super) fn retaken(self) -> LockResult<Self> {
        let mutex = self.mutex;
        mutex.poison.result(self)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and the guard is borrowed for as long.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.poison.end(&self.began);
        self.mutex.lock.unlock();
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Mutex<T> {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => shown.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => shown.field("data", &format_args!("<locked>")),
        };
        shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
