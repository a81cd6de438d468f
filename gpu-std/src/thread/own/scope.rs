//! Threads that borrow.

use core::fmt;
use core::marker::PhantomData;
use std::thread::Result;

use super::current::Thread;
use super::spawn::{Builder, Handle};
use crate::sync::Arc;
use crate::task::{catch, resume};
use crate::word::Word32;

/// Threads that end before what they borrow: [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    state: Arc<State>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    running: Word32,
    /// Threads that have panicked, without those that were joined.
    panicked: Word32,
}

impl State {
    pub fn end(&self, panicked: bool) {
        if panicked {
            self.panicked.add(1);
        }
        if self.running.sub(1) == 1 {
            self.running.wake(u32::MAX);
        }
    }
}

/// Calls `f` with a scope in which threads may borrow what is outside of it, and waits for all of them.
///
/// # Panics
///
/// If `f` panics, or a thread that was not joined.
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        state: Arc::new(State::default()),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch(|| f(&scope));
    let running = &scope.state.running;
    loop {
        match running.get() {
            0 => break,
            some => running.wait(some),
        }
    }
    match result {
        Err(panic) => resume(panic),
        Ok(_) if scope.state.panicked.get() != 0 => panic!("a scoped thread panicked"),
        Ok(result) => result,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a thread that calls `f`.
    ///
    /// # Panics
    ///
    /// If there is no room for it; [`Builder::spawn_scoped`] returns an error then.
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }

    /// Counts a thread that will begin. It says by [`State::end`] when nothing of it is left, or that it did not begin.
    pub(super) fn begin(&self) -> Arc<State> {
        self.state.running.add(1);
        self.state.clone()
    }
}

/// A thread of a scope: [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    handle: Handle<T>,
    state: Arc<State>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    pub(super) fn new(handle: Handle<T>, state: Arc<State>) -> Self {
        ScopedJoinHandle {
            handle,
            state,
            scope: PhantomData,
        }
    }

    /// Its handle.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// What it panicked with, in builds that unwind.
    pub fn join(self) -> Result<T> {
        let result = self.handle.join();
        if result.is_err() {
            self.state.panicked.sub(1);
        }
        result
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
