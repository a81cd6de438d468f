//! Futures on the workers of a pool.
//!
//! A future that waits keeps no thread: its worker goes on with other tasks, and whatever wakes it makes it ready for any
//! worker. So a hundred thousand of them wait as cheaply as one. [`crate::channel`]'s receivers and senders, timers and
//! [`JoinHandle`]s are futures, and those of other crates run here too.
//!
//! Connections are in [`net`] and files in [`fs`], and [`unblock`] is for whatever else makes its caller wait.
//!
//! ```
//! use gpu_std::{future, task};
//! use std::time::Duration;
//!
//! let sum = task::run(|| {
//!     let numbers = (0..100u32).map(|n| future::spawn(async move {
//!         future::sleep(Duration::from_micros(n.into())).await;
//!         n
//!     }));
//!     let all = future::join_all(numbers);
//!     future::block_on(async { all.await.into_iter().map(Result::unwrap).sum::<u32>() })
//! });
//! assert_eq!(sum, Some(4950));
//! ```

mod combine;
pub mod fs;
mod io;
pub mod net;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
mod waker;

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use core::time::Duration;

pub use combine::{Either, JoinAll, Select, SelectAll, join_all, select, select_all};
pub(crate) use waker::waker_of;
use waker::{Woken, waker_of_thread};

use crate::sync::Arc;
use crate::task::{self, Builder, JoinHandle, fire_timers, set_timer};

/// Runs a future as a task. Its handle is a future too, and has [`JoinHandle::join`] for other code.
///
/// Priority, deadline and the like are [`Builder::spawn_future`]'s.
///
/// # Panics
///
/// Outside of [`task::run`].
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Builder::new().spawn_future(future)
}

/// Runs a function that waits for something else as a task of its own. The future that waits for it keeps
/// no worker; the function does.
///
/// ```
/// use gpu_std::{fs, future, task};
///
/// let missing = task::run(|| future::block_on(future::unblock(|| fs::read("no such file").is_err())));
/// assert_eq!(missing, Some(true));
/// ```
///
/// # Panics
///
/// Outside of [`task::run`], and if the function does.
pub async fn unblock<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    match task::spawn(f).await {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// How long a thread waits before it looks at the timers again, in nanoseconds: one of them may be what it waits for.
const LOOK_AT_TIMERS: u64 = 50_000;

/// Polls a future until it is ready. A worker runs other tasks meanwhile.
///
/// ```
/// assert_eq!(gpu_std::future::block_on(async { 7 }), 7);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = waker_of_thread(woken.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        loop {
            fire_timers();
            if woken.wait(crate::time() + LOOK_AT_TIMERS) {
                break;
            }
        }
    }
}

/// Ready after a time. Workers that have nothing else to do look at the clock, and those that wait.
///
/// ```
/// use gpu_std::future;
/// use std::time::Duration;
///
/// let began = gpu_std::time();
/// future::block_on(future::sleep(Duration::from_millis(2)));
/// assert!(gpu_std::time() - began >= 2_000_000);
/// ```
pub fn sleep(length: Duration) -> Sleep {
    let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Sleep {
        until: crate::time().saturating_add(length),
        set: None,
    }
}

/// See [`sleep`].
#[derive(Debug)]
pub struct Sleep {
    until: u64,
    /// Who is woken then.
    set: Option<Waker>,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if crate::time() >= self.until {
            return Poll::Ready(());
        }
        if !self.set.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            self.set = Some(context.waker().clone());
            set_timer(self.until, context.waker().clone());
        }
        Poll::Pending
    }
}

/// The time of [`timeout`] was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl core::fmt::Display for Elapsed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the time is over")
    }
}

impl core::error::Error for Elapsed {}

/// A future for at most so long.
///
/// ```
/// use gpu_std::future::{block_on, timeout};
/// use std::time::Duration;
///
/// assert!(block_on(timeout(Duration::from_millis(1), std::future::pending::<()>())).is_err());
/// assert_eq!(block_on(timeout(Duration::from_secs(9), async { 3 })), Ok(3));
/// ```
///
/// # Errors
///
/// If it is not ready then. It is dropped.
pub async fn timeout<F: Future>(length: Duration, future: F) -> Result<F::Output, Elapsed> {
    match select(pin!(future), sleep(length)).await {
        Either::Left(value) => Ok(value),
        Either::Right(()) => Err(Elapsed),
    }
}

/// Lets other tasks go first.
///
/// ```
/// gpu_std::future::block_on(gpu_std::future::yield_now());
/// ```
pub fn yield_now() -> YieldNow {
    YieldNow(false)
}

/// See [`yield_now`].
#[derive(Debug)]
pub struct YieldNow(bool);

impl Future for YieldNow {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
