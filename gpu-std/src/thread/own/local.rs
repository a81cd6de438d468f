//! Values that each thread has its own of.

use core::cell::{Cell, RefCell, UnsafeCell};
use core::fmt;
use std::boxed::Box;
use std::vec::Vec;

use super::current;

/// A value of which each thread has its own: [`std::thread::LocalKey`]. Made by [`thread_local!`](crate::thread_local!).
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

/// That a thread's value is gone: [`std::thread::AccessError`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl core::error::Error for AccessError {}

/// The values of a thread, which alone reaches them.
pub(super) struct Locals(UnsafeCell<Vec<Local>>);

struct Local {
    /// Address of the [`LocalKey`].
    key: usize,
    /// Null once it was dropped.
    value: *mut (),
    drop: unsafe fn(*mut ()),
}

impl Locals {
    pub fn new() -> Locals {
        Locals(UnsafeCell::new(Vec::new()))
    }

    /// The value of a key: null if it was dropped, none if there was none yet.
    fn find(&self, key: usize) -> Option<*mut ()> {
        // SAFETY: only its thread reaches it, and no reference outlives a method of this type; so it is below.
        let locals = unsafe { &*self.0.get() };
        locals.iter().find(|local| local.key == key).map(|local| local.value)
    }

    fn insert(&self, local: Local) {
        // SAFETY: as in `find`.
        unsafe { &mut *self.0.get() }.push(local);
    }

    /// Drops all values, the latest first, and those that come about meanwhile.
    pub fn clear(&self) {
        loop {
            // SAFETY: as in `find`.
            let locals = unsafe { &mut *self.0.get() };
            let Some(last) = locals.iter_mut().rfind(|local| !local.value.is_null()) else {
                return;
            };
            let value = core::mem::replace(&mut last.value, core::ptr::null_mut());
            let drop = last.drop;
            // SAFETY: the value is of the type that this drops, and nothing refers to it: no `with` is under way.
            unsafe { drop(value) };
        }
    }
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> LocalKey<T> {
        LocalKey { init }
    }

    /// Calls `f` with the thread's value, which is made if the thread has none yet.
    ///
    /// # Panics
    ///
    /// If the value was dropped, because the thread ends.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f)
            .expect("cannot access a thread-local value during or after its destruction")
    }

    /// Calls `f` with the thread's value, which is made if the thread has none yet.
    ///
    /// # Errors
    ///
    /// If the value was dropped, because the thread ends.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let value = self.value()?;
        // SAFETY: it lives until the thread ends, which it does not in here.
        Ok(f(unsafe { &*value }))
    }

    fn value(&'static self) -> Result<*mut T, AccessError> {
        let locals = &current::own().locals;
        let key = core::ptr::from_ref(self).addr();
        let found = locals.find(key).or_else(|| {
            let value = Box::new((self.init)());
            // That may have made this very value.
            locals.find(key).or_else(|| {
                let value = Box::into_raw(value).cast();
                locals.insert(Local {
                    key,
                    value,
                    // SAFETY: it is called with a value that was made here.
                    drop: |value| drop(unsafe { Box::from_raw(value.cast::<T>()) }),
                });
                Some(value)
            })
        });
        found
            .filter(|value| !value.is_null())
            .map(|value| value.cast())
            .ok_or(AccessError)
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// See [`std::thread::LocalKey::set`].
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }
    /// See [`std::thread::LocalKey::get`].
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }
    /// See [`std::thread::LocalKey::take`].
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }
    /// See [`std::thread::LocalKey::replace`].
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// See [`std::thread::LocalKey::with_borrow`].
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }
    /// See [`std::thread::LocalKey::with_borrow_mut`].
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }
    /// See [`std::thread::LocalKey::set`].
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.replace(value));
    }
    /// See [`std::thread::LocalKey::take`].
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }
    /// See [`std::thread::LocalKey::replace`].
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
