//! A channel with lanes: the more urgent first.

use std::vec::Vec;

use super::errors::{RecvError, SendError, TryRecvError, TrySendError};
use super::mpmc::{Receiver, Sender, bounded};
use crate::event::Event;
use crate::sync::Arc;

/// A channel of so many lanes (0 counts as 1) with so many places each. A receiver gets values of lane 0 before those of
/// lane 1, and so on; in a lane they keep their order.
///
/// ```
/// let (sender, receiver) = gpu_std::channel::priority(2, 8);
/// sender.send(1, "later").unwrap();
/// sender.send(0, "first").unwrap();
/// assert_eq!((receiver.recv(), receiver.recv()), (Ok("first"), Ok("later")));
/// ```
pub fn priority<T>(lanes: usize, places: usize) -> (PrioritySender<T>, PriorityReceiver<T>) {
    let (senders, receivers) = (0..lanes.max(1)).map(|_| bounded(places)).unzip();
    let sent = Arc::new(Event::new());
    let sender = PrioritySender {
        senders,
        sent: Notify(sent.clone()),
    };
    (sender, PriorityReceiver { receivers, sent })
}

/// Sends to a channel of [`priority`].
#[derive(Clone, Debug)]
pub struct PrioritySender<T> {
    // Dropped before `sent`, so that a receiver that is woken by that finds the lanes closed.
    senders: Vec<Sender<T>>,
    sent: Notify,
}

/// Notifies when it is dropped too.
#[derive(Clone, Debug)]
struct Notify(Arc<Event>);

impl Drop for Notify {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

/// Receives from a channel of [`priority`].
#[derive(Clone, Debug)]
pub struct PriorityReceiver<T> {
    receivers: Vec<Receiver<T>>,
    sent: Arc<Event>,
}

impl<T> PrioritySender<T> {
    /// Sends a value on a lane; waits while the lane is full. A lane that there is not is the last.
    ///
    /// # Errors
    ///
    /// If there are no receivers any more: the value comes back.
    pub fn send(&self, lane: usize, value: T) -> Result<(), SendError<T>> {
        self.lane(lane).send(value)?;
        self.sent.0.notify_one();
        Ok(())
    }

    /// Sends a value if there is room on the lane.
    ///
    /// # Errors
    ///
    /// If there is none, or there are no receivers any more: the value comes back.
    pub fn try_send(&self, lane: usize, value: T) -> Result<(), TrySendError<T>> {
        self.lane(lane).try_send(value)?;
        self.sent.0.notify_one();
        Ok(())
    }

    fn lane(&self, lane: usize) -> &Sender<T> {
        &self.senders[lane.min(self.senders.len() - 1)]
    }
}

impl<T> PriorityReceiver<T> {
    /// Waits for a value.
    ///
    /// # Errors
    ///
    /// If the channel is empty and there are no senders any more.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.sent.wait_until(|| self.attempt())
    }

    /// A value, if there is one.
    ///
    /// # Errors
    ///
    /// If there is none now, or there never will be.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.attempt() {
            Some(result) => result.map_err(|RecvError| TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Waits for a value as a future.
    ///
    /// # Errors
    ///
    /// As of [`recv`](Self::recv).
    pub async fn recv_async(&self) -> Result<T, RecvError> {
        self.sent.listen(|| self.attempt()).await
    }

    fn attempt(&self) -> Option<Result<T, RecvError>> {
        let mut closed = 0;
        for receiver in &self.receivers {
            match receiver.try_recv() {
                Ok(value) => return Some(Ok(value)),
                Err(TryRecvError::Disconnected) => closed += 1,
                Err(TryRecvError::Empty) => {}
            }
        }
        (closed == self.receivers.len()).then_some(Err(RecvError))
    }
}
