//! Where threads and futures wait until something has changed.

use core::cell::UnsafeCell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;

use crate::sync::RawLock;
use crate::word::Word32;
use crate::{platform, task};

/// Something that changes, and those that wait for it.
///
/// Who changes the state calls a `notify` afterwards. Who waits counts itself first and then looks at the state once
/// more. All of these are sequentially consistent: either the one sees the count or the other the change.
#[derive(Debug, Default)]
pub(crate) struct Event {
    /// Changes with each notification that somebody waited for.
    number: Word32,
    sleepers: Word32,
    /// Number of wakers.
    registered: Word32,
    lock: RawLock,
    wakers: Wakers,
}

/// Futures that wait, by the numbers that they got when they came.
#[derive(Debug, Default)]
struct Wakers(UnsafeCell<WakerList>);

#[derive(Debug, Default)]
struct WakerList {
    last: u64,
    wakers: BTreeMap<u64, Waker>,
}

// SAFETY: only reached with the event's lock.
unsafe impl Sync for Wakers {}
// SAFETY: as above.
unsafe impl Send for Wakers {}

/// Looks before a thread waits.
const LOOKS: u32 = platform::looks(16);
/// How long a worker of a pool waits before it looks for other tasks again, in nanoseconds.
const WORKER_WAIT: u64 = 50_000;

impl Event {
    pub const fn new() -> Event {
        Event {
            number: Word32::new(0),
            sleepers: Word32::new(0),
            registered: Word32::new(0),
            lock: RawLock::new(),
            wakers: Wakers(UnsafeCell::new(WakerList {
                last: 0,
                wakers: BTreeMap::new(),
            })),
        }
    }

    /// Waits until `look` returns something. A worker that is the only one of its pool runs other tasks meanwhile. Where
    /// there are more, it does not: a task that it runs may wait for what this one has yet to do.
    pub fn wait_until<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        self.wait(look, None, task::is_only_worker())
            .expect("it waits for ever")
    }

    /// The same until a time of [`crate::time`]; `None` then.
    pub fn wait_until_time<T>(&self, look: impl FnMut() -> Option<T>, end: u64) -> Option<T> {
        self.wait(look, Some(end), task::is_only_worker())
    }

    /// The same, for what tasks do that this one has spawned: a worker runs them, or others, meanwhile.
    pub fn wait_and_help<T>(&self, look: impl FnMut() -> Option<T>, end: Option<u64>) -> Option<T> {
        self.wait(look, end, true)
    }

    fn wait<T>(&self, mut look: impl FnMut() -> Option<T>, end: Option<u64>, helps: bool) -> Option<T> {
        let mut looks = 0;
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            let left = end.map(|end| end.saturating_sub(crate::time()));
            if left == Some(0) {
                return None;
            }
            if helps && task::may_help(looks) && task::help() {
                looks = 0;
                continue;
            }
            looks += 1;
            if looks <= LOOKS {
                platform::pause();
                continue;
            }
            // What it waits for may be a future that waits for a connection.
            if helps && task::poll_io() {
                continue;
            }
            let most = helps.then_some(WORKER_WAIT);
            let found = self.sleep(&mut look, left.into_iter().chain(most).min());
            if found.is_some() {
                return found;
            }
        }
    }

    fn sleep<T>(&self, look: &mut impl FnMut() -> Option<T>, most: Option<u64>) -> Option<T> {
        self.sleepers.add(1);
        let seen = self.number.get();
        let found = look();
        if found.is_none() {
            match most {
                Some(length) => drop(self.number.wait_for(seen, length)),
                None => self.number.wait(seen),
            }
        }
        self.sleepers.sub(1);
        found
    }

    /// Polls for a future that waits until `look` returns something. Its place in the list stays with it.
    pub fn poll<T>(&self, place: &mut Place, waker: &Waker, mut look: impl FnMut() -> Option<T>) -> Poll<T> {
        let mut found = look();
        if found.is_none() {
            let (number, waker) = (place.0, waker.clone());
            // The waker before is dropped without the lock, because it may be a task's last owner.
            let (number, _before) = self.with_wakers(|list| {
                let number = number.filter(|number| list.wakers.contains_key(number));
                let number = number.unwrap_or_else(|| {
                    list.last += 1;
                    list.last
                });
                (number, list.wakers.insert(number, waker))
            });
            place.0 = Some(number);
            // What came about before it was in the list woke nobody.
            found = look();
        }
        match found {
            Some(found) => {
                self.leave(place);
                Poll::Ready(found)
            }
            None => Poll::Pending,
        }
    }

    /// A future leaves the list. Whether it was still there: if not, it was notified since it came.
    fn leave(&self, place: &mut Place) -> bool {
        let Some(number) = place.0.take() else { return true };
        self.with_wakers(|list| list.wakers.remove(&number)).is_some()
    }

    /// A future is dropped that may not have looked since it was notified: another one does in its place.
    pub fn give_up(&self, place: &mut Place) {
        if !self.leave(place) {
            self.notify_one();
        }
    }

    /// A future that waits until `look` returns something.
    pub fn listen<T, L: FnMut() -> Option<T>>(&self, look: L) -> Listen<'_, L> {
        Listen {
            event: self,
            look,
            place: Place::default(),
        }
    }

    /// The state has changed in a way that is enough for one of those that wait: for a thread and a future, as it is not
    /// known whose it is.
    pub fn notify_one(&self) {
        self.notify(1);
    }

    /// The state has changed for all that wait.
    pub fn notify_all(&self) {
        self.notify(u32::MAX);
    }

    /// The state has changed for so many.
    pub fn notify(&self, count: u32) {
        if self.sleepers.get() != 0 {
            self.number.add(1);
            self.number.wake(count);
        }
        for _ in 0..count {
            if self.registered.get() == 0 {
                return;
            }
            let first = self.with_wakers(|list| list.wakers.pop_first());
            // Without the lock, because a waker may come back to this event.
            match first {
                Some((_, waker)) => waker.wake(),
                None => return,
            }
        }
    }

    fn with_wakers<R>(&self, f: impl FnOnce(&mut WakerList) -> R) -> R {
        self.lock.with(|| {
            // SAFETY: with the lock.
            let list = unsafe { &mut *self.wakers.0.get() };
            let result = f(list);
            self.registered.set(list.wakers.len() as u32);
            result
        })
    }
}

/// Where a future is in the list of those that wait; none at first. A notification that is for one of them goes to the
/// one that has waited longest.
#[derive(Debug, Default)]
pub(crate) struct Place(Option<u64>);

/// See [`Event::listen`].
#[derive(Debug)]
pub(crate) struct Listen<'e, L> {
    event: &'e Event,
    look: L,
    place: Place,
}

impl<L> Unpin for Listen<'_, L> {}

impl<T, L: FnMut() -> Option<T>> Future for Listen<'_, L> {
    type Output = T;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        this.event.poll(&mut this.place, context.waker(), &mut this.look)
    }
}

impl<L> Drop for Listen<'_, L> {
    fn drop(&mut self) {
        self.event.give_up(&mut self.place);
    }
}
