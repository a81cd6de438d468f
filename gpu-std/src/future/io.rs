//! Connections, and requests of files, that futures wait for.
//!
//! A future that finds nothing to read or no room to write leaves its waker here. One worker at a time, of those that have
//! nothing else to do, asks the host which of all these descriptors are ready, in one call. So ten thousand of them keep
//! one lane. On other targets, where std has no such call, a future looks again after a while.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
pub(super) use guest::{Direction, Interest};
#[cfg(not(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1"))))]
pub(super) use host::{Direction, Interest};

/// Does `call` as soon as it does not have to wait for `interest`.
pub(super) struct Ready<F> {
    pub interest: Interest,
    pub call: F,
}

impl<F> Unpin for Ready<F> {}

impl<T, F: FnMut() -> io::Result<T>> Future for Ready<F> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        loop {
            match (self.call)() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.interest.wait(context.waker());
                    return Poll::Pending;
                }
                result => return Poll::Ready(result),
            }
        }
    }
}

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
mod guest {
    use core::ops::Bound;
    use core::task::Waker;
    use core::time::Duration;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    use crate::net::TcpStream;
    use crate::sync::Locked;
    use crate::task::{set_poller, until_timer};
    pub use crate::wasi::Direction;
    use crate::wasi::poll;
    use crate::word::Word32;

    /// A future that may wait for a descriptor.
    pub struct Interest {
        fd: u32,
        direction: Direction,
        /// Its number, if its waker lies in the list or has lain there.
        number: Option<u32>,
    }

    /// By descriptor, direction, and a number of its own.
    type Key = (u32, Direction, u32);

    struct Waiting {
        wakers: Locked<BTreeMap<Key, Waker>>,
        count: Word32,
        last: Word32,
        /// What was asked for last, where not all can be at once. The worker that asks the host has it.
        asked: Locked<Key>,
    }

    static WAITING: Waiting = Waiting {
        wakers: Locked::new(BTreeMap::new()),
        count: Word32::new(0),
        last: Word32::new(0),
        asked: Locked::new((0, Direction::Read, 0)),
    };

    /// How long the host is asked to wait at most: what futures wait for meanwhile is asked for after that.
    const LONGEST: Duration = Duration::from_millis(1);

    impl Waiting {
        fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<Key, Waker>) -> R) -> R {
            self.wakers.with(|wakers| {
                let result = f(wakers);
                self.count.set(wakers.len() as u32);
                result
            })
        }

        /// Those to ask for, all of them in turns.
        fn next(&self, asked: &mut Key) -> Vec<Key> {
            let keys = self.with(|wakers| {
                let after = wakers.range((Bound::Excluded(*asked), Bound::Unbounded));
                let before = wakers.range(..=*asked);
                after
                    .chain(before)
                    .take(poll::MOST)
                    .map(|(key, _)| *key)
                    .collect::<Vec<_>>()
            });
            *asked = keys.last().copied().unwrap_or(*asked);
            keys
        }
    }

    impl Interest {
        pub fn new(stream: &TcpStream, direction: Direction) -> Interest {
            Interest::of(stream.fd(), direction)
        }

        /// In the descriptor of this number.
        pub fn of(fd: u32, direction: Direction) -> Interest {
            Interest {
                fd,
                direction,
                number: None,
            }
        }

        /// Has the waker woken when the descriptor is ready.
        pub fn wait(&mut self, waker: &Waker) {
            let number = *self.number.get_or_insert_with(|| WAITING.last.count_up(1));
            // The waker before is dropped without the lock, because it may be a task's last owner.
            let waker = waker.clone();
            let before = WAITING.with(|wakers| wakers.insert((self.fd, self.direction, number), waker));
            drop(before);
            set_poller(ask);
        }
    }

    impl Drop for Interest {
        fn drop(&mut self) {
            if let Some(number) = self.number {
                drop(WAITING.with(|wakers| wakers.remove(&(self.fd, self.direction, number))));
            }
        }
    }

    /// Asks the host which descriptors are ready, and wakes their futures. False if there is none to ask for, or another
    /// worker does.
    fn ask() -> bool {
        if WAITING.count.get() == 0 {
            return false;
        }
        let woken = WAITING.asked.try_with(|asked| {
            let keys = WAITING.next(asked);
            let waited_for: Vec<_> = keys.iter().map(|(fd, direction, _)| (*fd, *direction)).collect();
            // With an error, one of them is closed already, and all futures look for themselves.
            let ready = poll::poll(&waited_for, LONGEST.min(until_timer()));
            let ready = ready.unwrap_or_else(|_| (0..keys.len()).collect());
            WAITING.with(|wakers| {
                let keys = ready.into_iter().filter_map(|at| keys.get(at));
                keys.filter_map(|key| wakers.remove(key)).collect::<Vec<Waker>>()
            })
        });
        let asked = woken.is_some();
        woken.into_iter().flatten().for_each(Waker::wake);
        asked
    }
}

#[cfg(not(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1"))))]
mod host {
    use core::task::Waker;

    use crate::net::TcpStream;

    /// A future that may wait for a connection.
    pub struct Interest;

    /// How long it waits before it looks again, in nanoseconds.
    const PAUSE: u64 = 200_000;

    #[derive(Clone, Copy, Debug)]
    pub enum Direction {
        Read,
        Write,
    }

    impl Interest {
        pub fn new(_: &TcpStream, _: Direction) -> Interest {
            Interest
        }

        /// Has the waker woken when the connection may be ready.
        pub fn wait(&mut self, waker: &Waker) {
            crate::task::set_timer(crate::time() + PAUSE, waker.clone());
        }
    }
}
