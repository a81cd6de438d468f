//! What a task may wish for.

use core::future::Future;
use core::time::Duration;
use std::vec::Vec;

use super::context::Current;
use super::handle::{self, JoinHandle, Owner};
use super::quota::Quota;

/// In which order tasks begin that wait for a worker.
///
/// One look for work of 32 begins with the lower priorities, in turns: none starves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before all others.
    Urgent,
    /// Before a worker's own tasks.
    High,
    /// As tasks are.
    #[default]
    Normal,
    /// When a worker finds nothing else.
    Low,
}

impl Priority {
    pub(super) const COUNT: usize = 4;
    pub(super) const ALL: [Priority; Priority::COUNT] =
        [Priority::Urgent, Priority::High, Priority::Normal, Priority::Low];

    pub(super) fn is_normal(self) -> bool {
        self == Priority::Normal
    }
}

/// What the pool has to know of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes {
    pub priority: Priority,
    /// A time of [`crate::time`].
    pub deadline: Option<u64>,
    pub worker: Option<u32>,
    pub quota: Option<Quota>,
}

/// Spawns tasks that have wishes.
///
/// ```
/// use gpu_std::task::{self, Builder, Priority};
/// use std::time::Duration;
///
/// let order = task::run(|| {
///     let late = Builder::new().priority(Priority::Low).spawn(gpu_std::time);
///     let soon = Builder::new().deadline(Duration::from_millis(1)).spawn(gpu_std::time);
///     let after_both = task::after(&[&late, &soon]).spawn(gpu_std::time);
///     let both = late.join().unwrap().max(soon.join().unwrap());
///     both <= after_both.join().unwrap()
/// });
/// assert_eq!(order, Some(true));
/// ```
#[derive(Debug, Default)]
pub struct Builder {
    wishes: Wishes,
    awaited: Vec<Owner>,
}

/// Begins a task after all of `tasks` have ended, however they ended.
///
/// No thread waits for them: the last one that ends makes it ready. Tasks of different results are awaited by
/// [`Builder::after`].
///
/// ```
/// use gpu_std::task;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// static SUM: AtomicU32 = AtomicU32::new(0);
/// let sum = task::run(|| {
///     let parts: Vec<_> = (1..=4).map(|n| task::spawn(move || { SUM.fetch_add(n, SeqCst); })).collect();
///     let all: Vec<_> = parts.iter().collect();
///     task::after(&all).spawn(|| SUM.load(SeqCst)).join().unwrap()
/// });
/// assert_eq!(sum, Some(10));
/// ```
pub fn after<T>(tasks: &[&JoinHandle<T>]) -> Builder {
    tasks.iter().fold(Builder::new(), |builder, task| builder.after(task))
}

impl Builder {
    /// A task without wishes.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Its priority. Tasks that have another one than [`Priority::Normal`] lie in a queue for all workers, which costs
    /// more than a worker's own deque.
    pub fn priority(mut self, priority: Priority) -> Builder {
        self.wishes.priority = priority;
        self
    }

    /// It should begin within this time from now. Of such tasks the one with the least time left is first, and all are
    /// before [`Priority::Urgent`]. One that is too late still runs.
    pub fn deadline(mut self, within: Duration) -> Builder {
        let within = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        self.wishes.deadline = Some(crate::time().saturating_add(within));
        self
    }

    /// The worker that runs it, modulo their number: its data may be near there.
    pub fn worker(mut self, number: u32) -> Builder {
        self.wishes.worker = Some(number);
        self
    }

    /// It counts towards this quota.
    pub fn quota(mut self, quota: &Quota) -> Builder {
        self.wishes.quota = Some(quota.clone());
        self
    }

    /// It begins after this task has ended.
    pub fn after<T>(mut self, task: &JoinHandle<T>) -> Builder {
        self.awaited.push(task.owner().clone());
        self
    }

    /// Runs a function as a task.
    ///
    /// # Panics
    ///
    /// Outside of [`run`](super::run).
    pub fn spawn<T: Send + 'static>(self, f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let (current, wishes, awaited) = self.begin();
        let (task, handle) = handle::make(&current, wishes, f);
        begin(&task, &awaited);
        handle
    }

    /// Runs a future as a task: [`crate::future::spawn`].
    ///
    /// # Panics
    ///
    /// Outside of [`run`](super::run).
    pub fn spawn_future<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (current, wishes, awaited) = self.begin();
        let (task, handle) = handle::make_future(&current, wishes, future);
        begin(&task, &awaited);
        handle
    }

    fn begin(mut self) -> (Current, Wishes, Vec<Owner>) {
        let Some(current) = Current::get() else {
            panic!("tasks are spawned by the workers of `gpu_std::task::run`");
        };
        if let Some(number) = &mut self.wishes.worker {
            *number %= current.pool.workers().len() as u32;
        }
        (current, self.wishes, self.awaited)
    }
}

fn begin(task: &Owner, awaited: &[Owner]) {
    awaited.iter().for_each(|other| task.begin_after(other));
    task.release();
}
