//! Futures made of others.

use core::cell::UnsafeCell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::vec::Vec;

use super::waker::{self, Wakes};
use crate::sync::{Arc, RawLock};

/// What one of two futures gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The first was ready.
    Left(A),
    /// The second was.
    Right(B),
}

/// The first of two futures that is ready; the other one is dropped.
///
/// ```
/// use gpu_std::future::{Either, block_on, select, sleep};
/// use std::time::Duration;
///
/// let first = block_on(select(std::future::ready(1), sleep(Duration::from_secs(9))));
/// assert_eq!(first, Either::Left(1));
/// ```
pub fn select<A: Future + Unpin, B: Future + Unpin>(a: A, b: B) -> Select<A, B> {
    Select { a, b }
}

/// See [`select`].
#[derive(Debug)]
pub struct Select<A, B> {
    a: A,
    b: B,
}

impl<A: Future + Unpin, B: Future + Unpin> Future for Select<A, B> {
    type Output = Either<A::Output, B::Output>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(value) = Pin::new(&mut self.a).poll(context) {
            return Poll::Ready(Either::Left(value));
        }
        Pin::new(&mut self.b).poll(context).map(Either::Right)
    }
}

/// The results of all futures, in their order. A wake-up polls those alone that it is for.
///
/// ```
/// use gpu_std::future::{block_on, join_all};
/// assert_eq!(block_on(join_all((0..3).map(|n| async move { n * n }))), [0, 1, 4]);
/// ```
pub fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> JoinAll<F> {
    let set = Set::new(futures);
    JoinAll {
        results: set.futures.iter().map(|_| None).collect(),
        set,
    }
}

/// See [`join_all`].
#[derive(Debug)]
pub struct JoinAll<F: Future> {
    set: Set<F>,
    results: Vec<Option<F::Output>>,
}

impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.set.begin(context);
        while let Some((index, value)) = this.set.next_ready() {
            this.results[index] = Some(value);
        }
        if this.set.left > 0 {
            return Poll::Pending;
        }
        Poll::Ready(this.results.iter_mut().flat_map(Option::take).collect())
    }
}

/// The first of several futures that is ready, and its index; the others are dropped.
///
/// ```
/// use gpu_std::future::{block_on, select_all, sleep};
/// use std::time::Duration;
///
/// let sleeps = [9_000, 1, 9_000].map(|n| sleep(Duration::from_millis(n)));
/// assert_eq!(block_on(select_all(sleeps)), ((), 1));
/// ```
///
/// # Panics
///
/// When it is polled, if there are none.
pub fn select_all<F: Future>(futures: impl IntoIterator<Item = F>) -> SelectAll<F> {
    SelectAll { set: Set::new(futures) }
}

/// See [`select_all`].
#[derive(Debug)]
pub struct SelectAll<F: Future> {
    set: Set<F>,
}

impl<F: Future> Unpin for SelectAll<F> {}

impl<F: Future> Future for SelectAll<F> {
    type Output = (F::Output, usize);
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(self.set.left > 0, "none of the futures is left");
        self.set.begin(context);
        match self.set.next_ready() {
            Some((index, value)) => Poll::Ready((value, index)),
            None => Poll::Pending,
        }
    }
}

/// Futures of which those are polled that were woken.
#[derive(Debug)]
struct Set<F> {
    futures: Vec<Option<Pin<Box<F>>>>,
    left: usize,
    woken: Arc<Woken>,
    /// Those to be polled.
    due: Vec<usize>,
}

#[derive(Debug)]
struct Woken {
    lock: RawLock,
    state: UnsafeCell<WokenState>,
}

#[derive(Debug)]
struct WokenState {
    indices: Vec<usize>,
    parent: Option<Waker>,
}

// SAFETY: the state is only reached with the lock.
unsafe impl Sync for Woken {}
// SAFETY: as above.
unsafe impl Send for Woken {}

impl Woken {
    fn with<R>(&self, f: impl FnOnce(&mut WokenState) -> R) -> R {
        // SAFETY: with the lock.
        self.lock.with(|| f(unsafe { &mut *self.state.get() }))
    }
}

impl<F: Future> Set<F> {
    fn new(futures: impl IntoIterator<Item = F>) -> Set<F> {
        let futures: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
        let woken = Woken {
            lock: RawLock::new(),
            state: UnsafeCell::new(WokenState {
                indices: Vec::new(),
                parent: None,
            }),
        };
        Set {
            left: futures.len(),
            due: (0..futures.len()).rev().collect(),
            futures,
            woken: Arc::new(woken),
        }
    }

    /// Notes which were woken since the last time, and whom to wake when others are. Those that are woken from here on are
    /// for the next time, for which that wakes: else one that always wakes itself would keep the others from being polled.
    fn begin(&mut self, context: &mut Context<'_>) {
        let waker = context.waker().clone();
        // Dropped without the lock.
        let (woken, _before) = self
            .woken
            .with(|state| (core::mem::take(&mut state.indices), state.parent.replace(waker)));
        self.due.extend(woken);
    }

    /// Polls those that were woken until one is ready.
    fn next_ready(&mut self) -> Option<(usize, F::Output)> {
        loop {
            let index = self.due.pop()?;
            let Some(future) = &mut self.futures[index] else {
                continue;
            };
            let waker = waker::of(OneOf {
                woken: self.woken.clone(),
                index,
            });
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                self.futures[index] = None;
                self.left -= 1;
                return Some((index, value));
            }
        }
    }
}

/// One future of a set.
#[derive(Clone)]
struct OneOf {
    woken: Arc<Woken>,
    index: usize,
}

impl Wakes for OneOf {
    fn wake(&self) {
        let parent = self.woken.with(|state| {
            state.indices.push(self.index);
            state.parent.clone()
        });
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}
