//! Whether a thread panicked with a lock.

use std::sync::{LockResult, PoisonError};
use std::thread::panicking;

use crate::word::Word32;

#[derive(Debug, Default)]
pub(crate) struct Poison(Word32);

impl Poison {
    pub const fn new() -> Poison {
        Poison(Word32::new(0))
    }
    pub fn get(&self) -> bool {
        self.0.get() != 0
    }
    pub fn clear(&self) {
        self.0.set(0);
    }
    /// What to remember while the lock is held.
    pub fn begin(&self) -> Began {
        Began { panicking: panicking() }
    }
    /// The lock is given back.
    pub fn end(&self, began: &Began) {
        if !began.panicking && panicking() {
            self.0.set(1);
        }
    }
    /// A value that comes with the state.
    pub fn result<T>(&self, value: T) -> LockResult<T> {
        if self.get() {
            Err(PoisonError::new(value))
        } else {
            Ok(value)
        }
    }
}

/// Whether the thread panicked when it took the lock: then the panic is none of the lock's.
#[derive(Debug)]
pub(crate) struct Began {
    panicking: bool,
}
