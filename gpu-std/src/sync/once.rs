//! `Once`, `OnceLock` and `LazyLock`.

use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;

use crate::word::Word32;

const NEW: u32 = 0;
const RUNS: u32 = 1;
/// It runs, and others may wait.
const AWAITED: u32 = 2;
const POISONED: u32 = 3;
const DONE: u32 = 4;

/// Something that happens once: [`std::sync::Once`].
#[derive(Debug, Default)]
pub struct Once {
    state: Word32,
}

impl Once {
    /// One that has not happened yet.
    pub const fn new() -> Once {
        Once {
            state: Word32::new(NEW),
        }
    }

    /// Whether it has happened.
    pub fn is_completed(&self) -> bool {
        self.state.get() == DONE
    }

    /// Calls `f` if nobody has, or waits until who does has come back.
    ///
    /// # Panics
    ///
    /// If the call of another thread panicked.
    #[inline]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            assert!(self.run(false, f), "Once instance has previously been poisoned");
        }
    }

    /// As [`call_once`](Self::call_once), also after a call that panicked.
    pub fn call_once_force(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            self.run(true, f);
        }
    }

    /// Waits until it has happened.
    ///
    /// # Panics
    ///
    /// If the call of another thread panicked.
    pub fn wait(&self) {
        loop {
            match self.state.get() {
                DONE => return,
                POISONED => panic!("Once instance has previously been poisoned"),
                // Nobody wakes at the beginning: it is looked for.
                NEW => drop(self.state.wait_for(NEW, 50_000)),
                state => self.await_end(state),
            }
        }
    }

    /// False if it is poisoned and that matters.
    #[cold]
    fn run(&self, force: bool, f: impl FnOnce()) -> bool {
        /// Says how the call ended, also if it panicked.
        struct End<'o>(&'o Once, u32);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                if self.0.state.swap(self.1) == AWAITED {
                    self.0.state.wake(u32::MAX);
                }
            }
        }
        loop {
            match self.state.get() {
                DONE => return true,
                POISONED if !force => return false,
                state @ (NEW | POISONED) => {
                    if self.state.replace(state, RUNS).is_ok() {
                        let mut end = End(self, POISONED);
                        f();
                        end.1 = DONE;
                        return true;
                    }
                }
                state => self.await_end(state),
            }
        }
    }

    fn await_end(&self, state: u32) {
        if state == AWAITED || self.state.replace(RUNS, AWAITED).is_ok() {
            self.state.wait(AWAITED);
        }
    }
}

/// A value that is written once: [`std::sync::OnceLock`].
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written by one thread before any reads it. It may be dropped by another than has made it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// One without a value.
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            once: Once::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The value, if there is one.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it was written, and what was written is seen with the state; nobody writes again.
        self.once
            .is_completed()
            .then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value, which nobody else can have.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as in `get`, and there is no other reference.
        self.once
            .is_completed()
            .then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Sets the value.
    ///
    /// # Errors
    ///
    /// If there is one: `value` comes back.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("called once"));
        value.map_or(Ok(()), Err)
    }

    /// The value; if there is none, that which `f` returns, which one thread calls.
    #[inline]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        // A panic leaves it without a value, as if nobody had asked.
        self.once.call_once_force(|| {
            let value = f();
            // SAFETY: this thread alone runs the initialization, and nobody reads before it is complete.
            unsafe { (*self.value.get()).write(value) };
        });
        self.get().expect("it was initialized")
    }

    /// Takes the value out.
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        self.once = Once::new();
        // SAFETY: it was written, and from here on counts as not.
        Some(unsafe { self.value.get_mut().assume_init_read() })
    }

    /// The value, if there is one.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}

/// A value that is made when it is first needed: [`std::sync::LazyLock`].
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    make: Cell<Option<F>>,
}

// SAFETY: `make` is taken by the one thread that runs the initialization.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// A value that `make` will make.
    pub const fn new(make: F) -> LazyLock<T, F> {
        LazyLock {
            value: OnceLock::new(),
            make: Cell::new(Some(make)),
        }
    }

    /// Makes the value if it is not there, and returns it.
    ///
    /// # Panics
    ///
    /// If making it has panicked before.
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| match this.make.take() {
            Some(make) => make(),
            None => panic!("LazyLock instance has previously been poisoned"),
        })
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple("LazyLock");
        match self.value.get() {
            Some(value) => shown.field(value),
            None => shown.field(&format_args!("<uninit>")),
        };
        shown.finish()
    }
}
