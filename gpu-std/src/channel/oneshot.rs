//! One value, once.

use core::cell::UnsafeCell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::errors::{RecvError, TryRecvError};
use crate::event::{Event, Place};
use crate::sync::Arc;
use crate::word::Word32;

/// A channel for one value.
///
/// ```
/// use gpu_std::{channel, task};
///
/// let answer = task::run(|| {
///     let (sender, receiver) = channel::oneshot();
///     task::spawn(move || sender.send(42));
///     receiver.recv()
/// });
/// assert_eq!(answer, Some(Ok(42)));
/// ```
pub fn oneshot<T>() -> (OneshotSender<T>, OneshotReceiver<T>) {
    let shared = Arc::new(Shared {
        state: Word32::new(EMPTY),
        value: UnsafeCell::new(None),
        changed: Event::new(),
    });
    let place = Place::default();
    (
        OneshotSender { shared: shared.clone() },
        OneshotReceiver { shared, place },
    )
}

const EMPTY: u32 = 0;
const SENT: u32 = 1;
/// The value was taken, or one of both ends is gone.
const CLOSED: u32 = 2;

#[derive(Debug)]
struct Shared<T> {
    state: Word32,
    /// The sender's while the channel is empty; then it is of the one that makes it closed.
    value: UnsafeCell<Option<T>>,
    changed: Event,
}

impl<T> Shared<T> {
    /// What the receiver finds.
    fn attempt(&self) -> Option<Result<T, RecvError>> {
        match self.state.get() {
            EMPTY => None,
            SENT if self.state.replace(SENT, CLOSED).is_ok() => {
                // SAFETY: it was sent, and this end has closed the channel.
                let value = unsafe { (*self.value.get()).take() };
                Some(Ok(value.expect("it was sent")))
            }
            _ => Some(Err(RecvError)),
        }
    }
}

// SAFETY: the value is reached by one end at a time, as the state says.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

/// Sends the value of a channel of [`oneshot`].
#[derive(Debug)]
pub struct OneshotSender<T> {
    shared: Arc<Shared<T>>,
}

/// Receives it. It is a future too.
#[derive(Debug)]
pub struct OneshotReceiver<T> {
    shared: Arc<Shared<T>>,
    /// Among those that wait, if it was polled.
    place: Place,
}

impl<T> OneshotSender<T> {
    /// Sends the value. It never waits.
    ///
    /// # Errors
    ///
    /// If the receiver is gone: the value comes back.
    pub fn send(self, value: T) -> Result<(), T> {
        // SAFETY: the channel is empty or closed, and nobody else looks at the value then.
        unsafe { *self.shared.value.get() = Some(value) };
        match self.shared.state.replace(EMPTY, SENT) {
            Ok(()) => {
                self.shared.changed.notify_all();
                Ok(())
            }
            // SAFETY: it is closed, and the receiver gone.
            Err(_) => Err(unsafe { (*self.shared.value.get()).take() }.expect("it was put there")),
        }
    }

    /// Whether the receiver is gone.
    pub fn is_closed(&self) -> bool {
        self.shared.state.get() == CLOSED
    }
}

impl<T> Drop for OneshotSender<T> {
    fn drop(&mut self) {
        if self.shared.state.replace(EMPTY, CLOSED).is_ok() {
            self.shared.changed.notify_all();
        }
    }
}

impl<T> OneshotReceiver<T> {
    /// Waits for the value.
    ///
    /// # Errors
    ///
    /// If the sender went without sending one.
    pub fn recv(self) -> Result<T, RecvError> {
        self.shared.changed.wait_until(|| self.shared.attempt())
    }

    /// The value, if it is there.
    ///
    /// # Errors
    ///
    /// If it is not, or never will be.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match self.shared.attempt() {
            Some(result) => result.map_err(|RecvError| TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

impl<T> Future for OneshotReceiver<T> {
    type Output = Result<T, RecvError>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let shared = &this.shared;
        shared
            .changed
            .poll(&mut this.place, context.waker(), || shared.attempt())
    }
}

impl<T> Drop for OneshotReceiver<T> {
    fn drop(&mut self) {
        self.shared.changed.give_up(&mut self.place);
        let _ = self.shared.state.replace(EMPTY, CLOSED);
    }
}
