//! Every value to every receiver.

use core::cell::UnsafeCell;
use std::collections::VecDeque;

use super::errors::{BroadcastError, SendError};
use crate::event::Event;
use crate::sync::{Arc, RawLock};

/// A channel that keeps the last `places` values (0 counts as 1), of which each receiver gets a clone. A sender never
/// waits. A receiver that is too slow is told how many it has missed.
///
/// ```
/// use gpu_std::channel::{BroadcastError, broadcast};
///
/// let (sender, mut first) = broadcast(2);
/// let mut second = sender.subscribe();
/// (1..=3).for_each(|n| drop(sender.send(n)));
/// assert_eq!(first.recv(), Err(BroadcastError::Lagged(1)));
/// assert_eq!((first.recv(), first.recv()), (Ok(2), Ok(3)));
/// assert_eq!(second.recv(), Err(BroadcastError::Lagged(1)));
/// ```
pub fn broadcast<T: Clone>(places: usize) -> (BroadcastSender<T>, BroadcastReceiver<T>) {
    let shared = Arc::new(Shared {
        places: places.max(1),
        lock: RawLock::new(),
        state: UnsafeCell::new(State {
            values: VecDeque::new(),
            first: 0,
            senders: 1,
            receivers: 1,
        }),
        sent: Event::new(),
    });
    (
        BroadcastSender { shared: shared.clone() },
        BroadcastReceiver { shared, next: 0 },
    )
}

#[derive(Debug)]
struct Shared<T> {
    places: usize,
    lock: RawLock,
    state: UnsafeCell<State<T>>,
    sent: Event,
}

#[derive(Debug)]
struct State<T> {
    values: VecDeque<Arc<T>>,
    /// The number of the first of them.
    first: u64,
    senders: usize,
    receivers: usize,
}

// SAFETY: the state is only reached with the lock; the values are shared by those who clone them.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    fn with<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        // SAFETY: with the lock.
        self.lock.with(|| f(unsafe { &mut *self.state.get() }))
    }
}

/// Sends to a channel of [`broadcast`].
#[derive(Debug)]
pub struct BroadcastSender<T> {
    shared: Arc<Shared<T>>,
}

/// Receives from it. A clone goes on where this one is.
#[derive(Debug)]
pub struct BroadcastReceiver<T> {
    shared: Arc<Shared<T>>,
    next: u64,
}

impl<T: Clone> BroadcastSender<T> {
    /// Sends a value to all receivers; returns how many there are.
    ///
    /// # Errors
    ///
    /// If there are none: the value comes back.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let receivers = self.shared.with(|state| {
            if state.receivers == 0 {
                return Err(SendError(value));
            }
            state.values.push_back(Arc::new(value));
            let mut gone = None;
            if state.values.len() > self.shared.places {
                gone = state.values.pop_front();
                state.first += 1;
            }
            Ok((state.receivers, gone))
        });
        // What is gone is dropped without the lock.
        let (receivers, _gone) = receivers?;
        self.shared.sent.notify_all();
        Ok(receivers)
    }

    /// A receiver of what is sent from now on.
    pub fn subscribe(&self) -> BroadcastReceiver<T> {
        let next = self.shared.with(|state| {
            state.receivers += 1;
            state.first + state.values.len() as u64
        });
        BroadcastReceiver {
            shared: self.shared.clone(),
            next,
        }
    }
}

impl<T> Clone for BroadcastSender<T> {
    fn clone(&self) -> BroadcastSender<T> {
        self.shared.with(|state| state.senders += 1);
        BroadcastSender {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for BroadcastSender<T> {
    fn drop(&mut self) {
        self.shared.with(|state| state.senders -= 1);
        self.shared.sent.notify_all();
    }
}

impl<T: Clone> BroadcastReceiver<T> {
    /// Waits for the next value.
    ///
    /// # Errors
    ///
    /// If values are gone that it has not had, or no more will come.
    pub fn recv(&mut self) -> Result<T, BroadcastError> {
        let shared = self.shared.clone();
        shared.sent.wait_until(|| self.attempt())
    }

    /// The next value, if it is there; `None` if there is none yet.
    ///
    /// # Errors
    ///
    /// As of [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<Option<T>, BroadcastError> {
        self.attempt().transpose()
    }

    /// Waits for the next value as a future.
    ///
    /// # Errors
    ///
    /// As of [`recv`](Self::recv).
    pub async fn recv_async(&mut self) -> Result<T, BroadcastError> {
        let shared = self.shared.clone();
        shared.sent.listen(|| self.attempt()).await
    }

    fn attempt(&mut self) -> Option<Result<T, BroadcastError>> {
        // The value is cloned without the lock: a clone may do anything.
        let found: Option<Result<Arc<T>, BroadcastError>> = self.shared.with(|state| {
            if self.next < state.first {
                let missed = state.first - self.next;
                self.next = state.first;
                return Some(Err(BroadcastError::Lagged(missed)));
            }
            match state.values.get((self.next - state.first) as usize) {
                Some(value) => {
                    self.next += 1;
                    Some(Ok(value.clone()))
                }
                None if state.senders == 0 => Some(Err(BroadcastError::Closed)),
                None => None,
            }
        });
        found.map(|found| found.map(|value| T::clone(&value)))
    }
}

impl<T> Clone for BroadcastReceiver<T> {
    fn clone(&self) -> BroadcastReceiver<T> {
        self.shared.with(|state| state.receivers += 1);
        BroadcastReceiver {
            shared: self.shared.clone(),
            next: self.next,
        }
    }
}

impl<T> Drop for BroadcastReceiver<T> {
    fn drop(&mut self) {
        self.shared.with(|state| state.receivers -= 1);
    }
}
