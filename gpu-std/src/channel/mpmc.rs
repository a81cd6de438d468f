//! The channels from many senders to many receivers.

use core::time::Duration;
use std::boxed::Box;
use std::vec::Vec;

use super::bounded::Ring;
use super::errors::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use super::unbounded::Queue;
use crate::event::Event;
use crate::sync::Arc;
use crate::word::Word32;

/// A channel with so many places; 0 counts as 1. A sender waits while all are taken.
///
/// ```
/// use gpu_std::channel::{TrySendError, bounded};
///
/// let (sender, receiver) = bounded(1);
/// sender.send(1).unwrap();
/// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
pub fn bounded<T>(places: usize) -> (Sender<T>, Receiver<T>) {
    channel(Values::Bounded(Box::new(Ring::new(places))))
}

/// A channel that takes any number of values. It has a lock; where many threads send, [`bounded`] is faster.
///
/// ```
/// let (sender, receiver) = gpu_std::channel::unbounded();
/// (0..1000).for_each(|n| sender.send(n).unwrap());
/// drop(sender);
/// assert!(receiver.iter().eq(0..1000));
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    channel(Values::Unbounded(Queue::new()))
}

fn channel<T>(values: Values<T>) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        values,
        senders: Word32::new(1),
        receivers: Word32::new(1),
        sent: Event::new(),
        taken: Event::new(),
    });
    (Sender { shared: shared.clone() }, Receiver { shared })
}

#[derive(Debug)]
enum Values<T> {
    Bounded(Box<Ring<T>>),
    Unbounded(Queue<T>),
}

#[derive(Debug)]
struct Shared<T> {
    values: Values<T>,
    senders: Word32,
    receivers: Word32,
    /// Something was sent, or the last sender is gone.
    sent: Event,
    /// Something was taken, or the last receiver is gone.
    taken: Event,
}

impl<T> Values<T> {
    fn push(&self, count: usize, values: impl FnMut() -> T) -> usize {
        match self {
            Values::Bounded(ring) => ring.push(count, values),
            Values::Unbounded(queue) => {
                queue.push(count, values);
                count
            }
        }
    }

    fn pop(&self, count: usize, values: impl FnMut(T)) -> usize {
        match self {
            Values::Bounded(ring) => ring.pop(count, values),
            Values::Unbounded(queue) => queue.pop(count, values),
        }
    }

    fn len(&self) -> usize {
        match self {
            Values::Bounded(ring) => ring.len(),
            Values::Unbounded(queue) => queue.len(),
        }
    }
}

/// What sends. Clones send to the same channel; with the last of them it is closed.
#[derive(Debug)]
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// What receives. Clones receive from the same channel, each value goes to one of them.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.shared.senders.add(1);
        Sender {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.shared.receivers.add(1);
        Receiver {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.shared.senders.sub(1) == 1 {
            self.shared.sent.notify_all();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.shared.receivers.sub(1) == 1 {
            self.shared.taken.notify_all();
            // Nobody will have them.
            while self.shared.values.pop(usize::MAX, drop) > 0 {}
        }
    }
}

impl<T> Sender<T> {
    /// Sends a value; waits while the channel is full.
    ///
    /// # Errors
    ///
    /// If there are no receivers any more: the value comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut value = Some(value);
        self.shared.taken.wait_until(|| self.attempt(&mut value))
    }

    /// Sends a value if there is room.
    ///
    /// # Errors
    ///
    /// If there is none, or there are no receivers any more: the value comes back.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut value = Some(value);
        match self.attempt(&mut value) {
            Some(Ok(())) => Ok(()),
            Some(Err(SendError(value))) => Err(TrySendError::Disconnected(value)),
            None => Err(TrySendError::Full(value.take().expect("it was not sent"))),
        }
    }

    /// Sends a value; waits so long at most while the channel is full.
    ///
    /// # Errors
    ///
    /// If it still is full then, or there are no receivers any more: the value comes back.
    pub fn send_timeout(&self, value: T, length: Duration) -> Result<(), TrySendError<T>> {
        let mut value = Some(value);
        match self
            .shared
            .taken
            .wait_until_time(|| self.attempt(&mut value), end_of(length))
        {
            Some(Ok(())) => Ok(()),
            Some(Err(SendError(value))) => Err(TrySendError::Disconnected(value)),
            None => Err(TrySendError::Full(value.take().expect("it was not sent"))),
        }
    }

    /// Sends all values, in their order, though those of other senders may come between them. Places are taken for many at
    /// once.
    ///
    /// # Errors
    ///
    /// If there are no receivers any more: those that were not sent come back.
    pub fn send_all(&self, values: impl IntoIterator<Item = T>) -> Result<(), SendError<Vec<T>>> {
        let mut values: Vec<T> = values.into_iter().collect();
        values.reverse();
        while !values.is_empty() {
            let alive = self.shared.taken.wait_until(|| {
                if self.is_closed() {
                    return Some(false);
                }
                let count = values.len();
                let sent = self.push(count, || values.pop().expect("there are so many"));
                (sent > 0).then_some(true)
            });
            if !alive {
                values.reverse();
                return Err(SendError(values));
            }
        }
        Ok(())
    }

    /// Sends a value; the future waits while the channel is full.
    ///
    /// # Errors
    ///
    /// As of [`send`](Self::send).
    pub async fn send_async(&self, value: T) -> Result<(), SendError<T>> {
        let mut value = Some(value);
        self.shared.taken.listen(|| self.attempt(&mut value)).await
    }

    /// Whether there are no receivers any more.
    pub fn is_closed(&self) -> bool {
        self.shared.receivers.get() == 0
    }

    /// Values that are in the channel.
    pub fn len(&self) -> usize {
        self.shared.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Places of the channel; `None` if it has no limit.
    pub fn capacity(&self) -> Option<usize> {
        match &self.shared.values {
            Values::Bounded(ring) => Some(ring.places()),
            Values::Unbounded(_) => None,
        }
    }

    fn push(&self, count: usize, values: impl FnMut() -> T) -> usize {
        let sent = self.shared.values.push(count, values);
        if sent > 0 {
            self.shared.sent.notify(sent as u32);
        }
        // The last receiver may have gone meanwhile, and have looked before: nobody will take it.
        if sent > 0 && self.is_closed() {
            while self.shared.values.pop(usize::MAX, drop) > 0 {}
        }
        sent
    }

    fn attempt(&self, value: &mut Option<T>) -> Option<Result<(), SendError<T>>> {
        if self.is_closed() {
            return Some(Err(SendError(value.take().expect("it was not sent"))));
        }
        let sent = self.push(1, || value.take().expect("it is sent once"));
        (sent == 1).then_some(Ok(()))
    }
}

impl<T> Receiver<T> {
    /// Waits for a value.
    ///
    /// # Errors
    ///
    /// If the channel is empty and there are no senders any more.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.shared.sent.wait_until(|| self.attempt())
    }

    /// A value, if there is one.
    ///
    /// # Errors
    ///
    /// If there is none now, or there never will be.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.attempt() {
            Some(Ok(value)) => Ok(value),
            Some(Err(RecvError)) => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Waits so long at most for a value.
    ///
    /// # Errors
    ///
    /// If none has come by then, or none ever will.
    pub fn recv_timeout(&self, length: Duration) -> Result<T, RecvTimeoutError> {
        match self.shared.sent.wait_until_time(|| self.attempt(), end_of(length)) {
            Some(Ok(value)) => Ok(value),
            Some(Err(RecvError)) => Err(RecvTimeoutError::Disconnected),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    /// Waits for a value, and takes what else there is, at most `most` in all. They are put at the end of `values`;
    /// returns how many they are.
    ///
    /// # Errors
    ///
    /// As of [`recv`](Self::recv).
    pub fn recv_many(&self, values: &mut Vec<T>, most: usize) -> Result<usize, RecvError> {
        if most == 0 {
            return Ok(0);
        }
        self.shared.sent.wait_until(|| self.attempt_many(values, most))
    }

    /// Waits for a value as a future.
    ///
    /// # Errors
    ///
    /// As of [`recv`](Self::recv).
    pub async fn recv_async(&self) -> Result<T, RecvError> {
        self.shared.sent.listen(|| self.attempt()).await
    }

    /// Values until the channel is closed and empty.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Values until the channel is empty.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }

    /// Values that are in the channel.
    pub fn len(&self) -> usize {
        self.shared.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn attempt(&self) -> Option<Result<T, RecvError>> {
        let mut value = None;
        let result = self.take(1, |taken| value = Some(taken))?;
        Some(result.map(|_| value.expect("one was taken")))
    }

    fn attempt_many(&self, values: &mut Vec<T>, most: usize) -> Option<Result<usize, RecvError>> {
        self.take(most, |value| values.push(value))
    }

    fn take(&self, most: usize, mut values: impl FnMut(T)) -> Option<Result<usize, RecvError>> {
        // Looked at first: what they have sent before they went is there then.
        let closed = self.shared.senders.get() == 0;
        let taken = self.shared.values.pop(most, &mut values);
        match taken {
            0 if closed => return Some(Err(RecvError)),
            0 => return None,
            _ => self.shared.taken.notify(taken as u32),
        }
        Some(Ok(taken))
    }
}

/// Values of a channel as they come: [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'r, T>(&'r Receiver<T>);

/// Values that are there: [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'r, T>(&'r Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

impl<'r, T> IntoIterator for &'r Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'r, T>;
    fn into_iter(self) -> Iter<'r, T> {
        self.iter()
    }
}

/// The time of [`crate::time`] after so long.
fn end_of(length: Duration) -> u64 {
    let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    crate::time().saturating_add(length)
}
