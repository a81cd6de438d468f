//! The last value, for all that look.

use core::ops::Deref;

use super::errors::{RecvError, SendError};
use crate::event::Event;
use crate::sync::{Arc, RwLock, RwLockReadGuard};
use crate::word::{Word32, Word64};

/// A value that a sender replaces, and receivers look at or wait for the change of.
///
/// ```
/// let (sender, mut receiver) = gpu_std::channel::watch(1);
/// assert_eq!(*receiver.borrow(), 1);
/// sender.send(2).unwrap();
/// receiver.changed().unwrap();
/// assert_eq!(*receiver.borrow(), 2);
/// ```
pub fn watch<T>(value: T) -> (WatchSender<T>, WatchReceiver<T>) {
    let shared = Arc::new(Shared {
        value: RwLock::new(value),
        version: Word64::new(0),
        senders: Word32::new(1),
        receivers: Word32::new(1),
        changed: Event::new(),
    });
    (
        WatchSender { shared: shared.clone() },
        WatchReceiver { shared, seen: 0 },
    )
}

#[derive(Debug)]
struct Shared<T> {
    value: RwLock<T>,
    version: Word64,
    senders: Word32,
    receivers: Word32,
    changed: Event,
}

/// Replaces the value of a [`watch`].
#[derive(Debug)]
pub struct WatchSender<T> {
    shared: Arc<Shared<T>>,
}

/// Looks at it.
#[derive(Debug)]
pub struct WatchReceiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// The value, which is not replaced while this is there.
#[derive(Debug)]
pub struct WatchRef<'r, T>(RwLockReadGuard<'r, T>);

impl<T> Deref for WatchRef<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Shared<T> {
    fn borrow(&self) -> WatchRef<'_, T> {
        // A value that a panic has left is one still.
        WatchRef(self.value.read().unwrap_or_else(|error| error.into_inner()))
    }
}

impl<T> WatchSender<T> {
    /// Replaces the value.
    ///
    /// # Errors
    ///
    /// If there are no receivers any more: the value comes back.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.shared.receivers.get() == 0 {
            return Err(SendError(value));
        }
        self.send_modify(|old| *old = value);
        Ok(())
    }

    /// Changes the value, whether somebody looks or not.
    pub fn send_modify(&self, f: impl FnOnce(&mut T)) {
        let mut value = self.shared.value.write().unwrap_or_else(|error| error.into_inner());
        f(&mut value);
        // With the lock: who sees the version sees the value.
        self.shared.version.add(1);
        drop(value);
        self.shared.changed.notify_all();
    }

    /// The value.
    pub fn borrow(&self) -> WatchRef<'_, T> {
        self.shared.borrow()
    }

    /// A receiver that has seen the value as it is.
    pub fn subscribe(&self) -> WatchReceiver<T> {
        self.shared.receivers.add(1);
        WatchReceiver {
            seen: self.shared.version.get(),
            shared: self.shared.clone(),
        }
    }
}

impl<T> Clone for WatchSender<T> {
    fn clone(&self) -> WatchSender<T> {
        self.shared.senders.add(1);
        WatchSender {
            shared: self.shared.clone(),
        }
    }
}

impl<T> Drop for WatchSender<T> {
    fn drop(&mut self) {
        if self.shared.senders.sub(1) == 1 {
            self.shared.changed.notify_all();
        }
    }
}

impl<T> WatchReceiver<T> {
    /// The value.
    pub fn borrow(&self) -> WatchRef<'_, T> {
        self.shared.borrow()
    }

    /// The value, which then counts as seen.
    pub fn borrow_and_update(&mut self) -> WatchRef<'_, T> {
        let value = self.shared.value.read().unwrap_or_else(|error| error.into_inner());
        self.seen = self.shared.version.get();
        WatchRef(value)
    }

    /// Whether it was replaced since it was last seen.
    pub fn has_changed(&self) -> bool {
        self.shared.version.get() != self.seen
    }

    /// Waits until it was replaced since it was last seen, after which it counts as seen.
    ///
    /// # Errors
    ///
    /// If it was not, and there are no senders any more.
    pub fn changed(&mut self) -> Result<(), RecvError> {
        let shared = self.shared.clone();
        shared.changed.wait_until(|| self.attempt())
    }

    /// The same as a future.
    ///
    /// # Errors
    ///
    /// As of [`changed`](Self::changed).
    pub async fn changed_async(&mut self) -> Result<(), RecvError> {
        let shared = self.shared.clone();
        shared.changed.listen(|| self.attempt()).await
    }

    fn attempt(&mut self) -> Option<Result<(), RecvError>> {
        // Looked at first: what they have sent before they went is there then.
        let closed = self.shared.senders.get() == 0;
        let version = self.shared.version.get();
        if version != self.seen {
            self.seen = version;
            return Some(Ok(()));
        }
        closed.then_some(Err(RecvError))
    }
}

impl<T> Clone for WatchReceiver<T> {
    fn clone(&self) -> WatchReceiver<T> {
        self.shared.receivers.add(1);
        WatchReceiver {
            shared: self.shared.clone(),
            seen: self.seen,
        }
    }
}

impl<T> Drop for WatchReceiver<T> {
    fn drop(&mut self) {
        self.shared.receivers.sub(1);
    }
}
