//! `Arc`.

use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use std::boxed::Box;

use crate::word::Word32;

/// A value that several own, and that goes with the last of them: [`std::sync::Arc`], without weak references and for
/// sized values.
pub struct Arc<T>(NonNull<Counted<T>>);

struct Counted<T> {
    owners: Word32,
    value: T,
}

// SAFETY: owners in several threads share the value, and the last, in any of them, drops it.
unsafe impl<T: Send + Sync> Send for Arc<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Arc<T> {}

impl<T> Arc<T> {
    /// A value with one owner.
    pub fn new(value: T) -> Arc<T> {
        let counted = Box::new(Counted {
            owners: Word32::new(1),
            value,
        });
        Arc(NonNull::from(Box::leak(counted)))
    }

    /// How many owners there are.
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.counted().owners.get() as usize
    }

    /// Whether both own the same value.
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        this.0 == other.0
    }

    /// The address of the value.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        &raw const this.counted().value
    }

    /// The value, if there is one owner.
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        if Arc::strong_count(this) != 1 {
            return None;
        }
        // SAFETY: this is the only owner, and it is borrowed for as long.
        Some(unsafe { &mut this.0.as_mut().value })
    }

    /// The value, if there is one owner.
    ///
    /// # Errors
    ///
    /// If there are more: this one comes back.
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        if this.counted().owners.replace(1, 0).is_err() {
            return Err(this);
        }
        // SAFETY: the last owner was this one, which forgets it.
        let counted = unsafe { Box::from_raw(this.0.as_ptr()) };
        core::mem::forget(this);
        Ok(counted.value)
    }

    /// The value, if this is the last owner.
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let counted = this.0;
        core::mem::forget(this);
        // SAFETY: it lives while this owner is counted; the last one has it for itself.
        unsafe { (counted.as_ref().owners.sub(1) == 1).then(|| Box::from_raw(counted.as_ptr()).value) }
    }

    fn counted(&self) -> &Counted<T> {
        // SAFETY: it lives as long as any owner.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Arc<T> {
        // As std has it: more owners than that are those of a program that forgets them in a loop.
        assert!(self.counted().owners.add(1) < u32::MAX / 2, "too many owners");
        Arc(self.0)
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if self.counted().owners.sub(1) == 1 {
            // SAFETY: the last owner.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.counted().value
    }
}

impl<T> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> From<T> for Arc<T> {
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: Default> Default for Arc<T> {
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T: PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Arc<T> {}

impl<T: fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
