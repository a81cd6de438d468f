//! The workers and what they share.

use super::builder::Priority;
use super::bulk::Bulks;
use super::context::{self, Current};
use super::deque::{Deque, Steal};
use super::handle::Core;
use super::job::{Job, Panic, catch, resume};
use super::queue::{Deadlines, Queue};
use super::stats::Counters;
use super::timer::{fire_timers, poll_io};
use crate::platform;
use crate::word::{Word32, WordPtr};
use core::alloc::Layout;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// One of the threads that run tasks.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Worker {
    pub(super) deque: Deque,
    /// Jobs that others want this worker to run: a stack that is taken as a whole.
    inbox: WordPtr<Job>,
    /// Of the first worker of a group: whether one of the group looks for work elsewhere.
    searched: Word32,
    pub(super) own: Own,
    pub(super) counters: Counters,
}

/// What only the worker itself writes.
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code))] // A host's workers live as long as their run.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// The task that it runs; 0: none.
    pub task: AtomicPtr<Core>,
    /// Calls of [`run`] that it has taken part in, and whether one is under way.
    runs: AtomicU32,
    pub active: AtomicU32,
    /// Jobs that it runs inside of others.
    pub depth: AtomicU32,
    /// For random numbers.
    seed: AtomicU32,
    /// How often it has looked for work.
    ticks: AtomicU32,
}

impl Worker {
    /// Runs something inside of what the worker does.
    fn inside<R>(&self, f: impl FnOnce() -> R) -> R {
        let depth = self.own.depth.load(Relaxed);
        self.own.depth.store(depth + 1, Relaxed);
        let result = f();
        self.own.depth.store(depth, Relaxed);
        result
    }
}

fn layout(workers: u32) -> Layout {
    Layout::array::<Worker>(workers as usize).expect("workers are fewer than a memory has bytes")
}

pub(super) fn count(counter: &AtomicU32) -> u32 {
    let before = counter.load(Relaxed);
    counter.store(before.wrapping_add(1), Relaxed);
    before
}

/// Adds to a time that only the caller writes.
fn add_time(counter: &AtomicU64, nanoseconds: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(nanoseconds), Relaxed);
}

/// Counters of tasks that were spawned and that have ended, by groups of workers.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Tally {
    pub(super) spawned: Word32,
    ended: Word32,
}

pub(super) const TALLIES: usize = 16;
/// A worker that waits runs so many jobs inside of each other, because each needs room on its stack. It runs more if it
/// has waited for so many looks: what it waits for may be there for it alone to run.
const MOST_DEPTH: u32 = 4;
const PATIENCE: u32 = 64;
/// One look for work of so many begins with what has waited longest, so that no priority starves.
const AGING: u32 = 32;
/// Others that a look for work tries to steal from.
const VICTIMS: u32 = 4;
/// Looks without success after which a worker sleeps.
const LOOKS: u32 = 16;
/// Workers of which one at a time looks into the deques of others: the lanes of a warp, which run one after the other what
/// they do not do together. So those that look take time from those that work.
const GROUP: u32 = if cfg!(target_arch = "wasm32") { 32 } else { 1 };
/// The longest sleeps of one that looks for its group, and of the others, in nanoseconds.
const SEARCHER_SLEEP: u64 = 16_384;
const LONGEST_SLEEP: u64 = 262_144;

/// Whether workers meet that are lanes of a warp: see [`platform::meet`]. Then all of them look into the deques of others,
/// which they do together. Written before [`Pool::started`].
static MEETS: AtomicU32 = AtomicU32::new(0);

fn meets() -> bool {
    MEETS.load(Relaxed) != 0
}

/// The workers and the jobs that are nobody's own.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Written before `started`.
    pub(super) workers: AtomicPtr<Worker>,
    pub(super) count: AtomicU32,
    /// Of how many threads one is a worker. Written before `started` too.
    spacing: Word32,
    /// Numbers of the last call of [`run`] that has begun, and of the last that has ended.
    started: Word32,
    ended: Word32,
    /// Jobs in `queues`, `deadlines`, inboxes and `bulks`: what a worker looks at before it looks there.
    pub(super) shared: Word32,
    /// The most that there were at once.
    pub(super) most_shared: Word32,
    queues: [Queue; Priority::COUNT],
    deadlines: Deadlines,
    pub(super) bulks: Bulks,
    any_spawned: Word32,
    /// Threads that put a job into it, be they its workers or not.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) visitors: Word32,
    pub(super) tallies: [Tally; TALLIES],
}

impl Pool {
    pub const fn new() -> Pool {
        Pool {
            workers: AtomicPtr::new(core::ptr::null_mut()),
            count: AtomicU32::new(0),
            spacing: Word32::new(1),
            started: Word32::new(0),
            ended: Word32::new(0),
            shared: Word32::new(0),
            most_shared: Word32::new(0),
            queues: [const { Queue::new() }; Priority::COUNT],
            deadlines: Deadlines::new(),
            bulks: Bulks::new(),
            any_spawned: Word32::new(0),
            #[cfg(not(target_arch = "wasm32"))]
            visitors: Word32::new(0),
            tallies: [const {
                Tally {
                    spawned: Word32::new(0),
                    ended: Word32::new(0),
                }
            }; TALLIES],
        }
    }

    /// Makes the workers, if they are not there.
    fn prepare(&self, count: u32) {
        if self.workers.load(Relaxed).is_null() {
            // SAFETY: the size is not 0.
            let workers = unsafe { platform::alloc_zeroed(layout(count)) };
            assert!(!workers.is_null(), "no memory for {count} workers");
            self.count.store(count, Relaxed);
            self.workers.store(workers.cast(), Relaxed);
        }
    }

    pub fn workers(&self) -> &[Worker] {
        let (workers, count) = (self.workers.load(Relaxed), self.count.load(Relaxed));
        if workers.is_null() {
            return &[];
        }
        // SAFETY: so many were made, and they stay. Zeros are a worker without jobs.
        unsafe { core::slice::from_raw_parts(workers, count as usize) }
    }

    /// The number that a thread of the kernel has as a worker, if it may be one.
    #[cfg(target_arch = "wasm32")]
    pub fn number_of(&self, thread: u32) -> Option<u32> {
        // Of a thread that is a worker it was written before its run; of another one it matters only that it is no
        // worker's, whenever it is read.
        let spacing = self.spacing.glance();
        (thread % spacing == 0).then_some(thread / spacing)
    }

    pub fn worker(&self, number: u32) -> Option<&Worker> {
        self.workers().get(number as usize)
    }

    // --- Jobs -------------------------------------------------------------------------------------

    /// A job is ready: one without wishes, from worker `me` or from elsewhere.
    pub fn push(&self, job: *mut Job, me: Option<u32>) {
        let own = me
            .and_then(|me| self.worker(me))
            .is_some_and(|worker| worker.deque.push(job));
        if !own {
            self.push_to_queue(job, Priority::Normal);
        }
    }

    pub fn push_to_queue(&self, job: *mut Job, priority: Priority) {
        self.queues[priority as usize].push(job);
        // Afterwards, so that a worker that sees it finds the job, or another one has taken it.
        self.count_shared();
    }

    pub fn push_with_deadline(&self, job: *mut Job, deadline: u64) {
        self.deadlines.push(deadline, job);
        self.count_shared();
    }

    /// Counts one more job that is in no deque.
    pub(super) fn count_shared(&self) {
        // A worker may take a job before it is counted, so this may be below 0.
        let now = self.shared.add(1).wrapping_add(1);
        self.most_shared.raise(now);
    }

    pub fn push_to_worker(&self, job: *mut Job, number: u32) {
        let inbox = &self.workers()[number as usize].inbox;
        let mut first = inbox.get();
        loop {
            // SAFETY: a job that is ready lives until it has run.
            unsafe { (*job).next.set(first) };
            match inbox.replace(first, job) {
                Ok(()) => break,
                Err(found) => first = found,
            }
        }
        self.count_shared();
    }

    fn take_inbox(&self, me: u32, worker: &Worker) -> Option<*mut Job> {
        if worker.inbox.get().is_null() {
            return None;
        }
        let mut job = worker.inbox.swap(core::ptr::null_mut());
        // Turned round: the first to come is the first to go.
        let mut turned = core::ptr::null_mut::<Job>();
        while !job.is_null() {
            // SAFETY: the list is this worker's now, and its jobs live.
            let next = unsafe { (*job).next.get() };
            // SAFETY: as above.
            unsafe { (*job).next.set(turned) };
            turned = job;
            job = next;
        }
        let first = turned;
        if first.is_null() {
            return None;
        }
        // SAFETY: as above. Those after it go back: few are left at once.
        let mut rest = unsafe { (*first).next.get() };
        while !rest.is_null() {
            // SAFETY: as above.
            let next = unsafe { (*rest).next.get() };
            self.shared.sub(1);
            self.push_to_worker(rest, me);
            rest = next;
        }
        self.shared.sub(1);
        Some(first)
    }

    fn take_from_queue(&self, priority: Priority, me: u32) -> Option<*mut Job> {
        let job = self.queues[priority as usize].pop(me)?;
        self.shared.sub(1);
        Some(job)
    }

    /// Finds a job for worker `me`, or that there is a bulk job. `steals`: it looks into the deques of others too.
    fn find(&self, me: u32, worker: &Worker, steals: bool) -> Option<Found> {
        let tick = count(&worker.own.ticks);
        // A guess: what it misses it finds the next time.
        let shared = self.shared.glance() != 0;
        if shared && tick % AGING == AGING - 1 {
            // The lower priorities take turns in being first.
            let priority = Priority::ALL[Priority::COUNT - 1 - (tick / AGING) as usize % (Priority::COUNT - 1)];
            if let Some(job) = self.take_from_queue(priority, me) {
                return Some(Found::Job(job));
            }
        }
        if shared {
            let urgent = self
                .deadlines
                .pop()
                .inspect(|_| {
                    self.shared.sub(1);
                })
                .or_else(|| self.take_from_queue(Priority::Urgent, me))
                .or_else(|| self.take_inbox(me, worker))
                .or_else(|| self.take_from_queue(Priority::High, me));
            if let Some(job) = urgent {
                return Some(Found::Job(job));
            }
        }
        if let Some(job) = worker.deque.pop() {
            return Some(Found::Job(job));
        }
        if shared {
            if self.bulks.has_work() {
                return Some(Found::Bulk);
            }
            if let Some(job) = self.take_from_queue(Priority::Normal, me) {
                return Some(Found::Job(job));
            }
        }
        if steals && let Some(job) = self.steal(me, worker) {
            return Some(Found::Job(job));
        }
        if shared && let Some(job) = self.take_from_queue(Priority::Low, me) {
            return Some(Found::Job(job));
        }
        None
    }

    fn steal(&self, me: u32, worker: &Worker) -> Option<*mut Job> {
        let workers = self.workers();
        if workers.len() == 1 {
            return None;
        }
        let own = &worker.own;
        for _ in 0..VICTIMS {
            // Marsaglia's xorshift32 (2003), which never gets to 0.
            let mut seed = own.seed.load(Relaxed);
            if seed == 0 {
                seed = me.wrapping_mul(0x9e37_79b9) | 1;
            }
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            own.seed.store(seed, Relaxed);
            let victim = ((u64::from(seed) * workers.len() as u64) >> 32) as usize;
            if victim == me as usize {
                continue;
            }
            count(&worker.counters.attempts);
            if let Steal::Job(job) = workers[victim].deque.steal() {
                count(&worker.counters.stolen);
                return Some(job);
            }
        }
        None
    }

    /// Finds something to do and does it.
    pub fn step(&self, me: u32) -> bool {
        let Some(worker) = self.worker(me) else { return false };
        let searches = self.begin_search(me);
        let found = self.find(me, worker, searches || meets());
        if searches {
            self.end_search(me);
        }
        self.run_found(worker, found)
    }

    fn run_found(&self, worker: &Worker, found: Option<Found>) -> bool {
        match found {
            None => false,
            Some(Found::Bulk) => worker.inside(|| self.bulks.share()),
            Some(Found::Job(job)) => {
                self.run_job(worker, job);
                true
            }
        }
    }

    /// Whether this worker may look into the deques of others from now on. It is a hint, which orders nothing.
    fn begin_search(&self, me: u32) -> bool {
        let searched = self.searched(me);
        searched.glance() == 0 && searched.replace(0, 1).is_ok()
    }

    fn end_search(&self, me: u32) {
        self.searched(me).put(0);
    }

    fn searched(&self, me: u32) -> &Word32 {
        // Of workers that are apart, each is a group.
        let group = (GROUP / self.spacing.glance()).max(1);
        &self.workers()[(me / group * group) as usize].searched
    }

    pub fn run_job(&self, worker: &Worker, job: *mut Job) {
        count(&worker.counters.executed);
        platform::meet();
        // SAFETY: it was found in a queue, so it is ready, and whoever took it from there is the only one.
        worker.inside(|| unsafe { Job::run(job) });
    }

    /// Whether a worker may run jobs while it waits, after so many looks in vain.
    pub fn may_help(&self, me: u32, looks: u32) -> bool {
        self.worker(me)
            .is_some_and(|worker| looks >= PATIENCE || worker.own.depth.load(Relaxed) < MOST_DEPTH)
    }

    /// Works until `ended` says so.
    fn work(&self, me: u32, ended: impl Fn() -> bool) {
        let Some(worker) = self.worker(me) else { return };
        let mut idle = Idle::default();
        while !ended() {
            idle.searches = idle.searches || self.begin_search(me);
            let found = self.find(me, worker, idle.searches || meets());
            if found.is_none() {
                idle.wait();
                continue;
            }
            idle.end(self, me, worker);
            self.run_found(worker, found);
        }
        idle.end(self, me, worker);
    }

    // --- Counting tasks ---------------------------------------------------------------------------

    pub fn count_spawned(&self, me: u32) {
        if self.any_spawned.get() == 0 {
            self.any_spawned.set(1);
        }
        self.tallies[me as usize % TALLIES].spawned.add(1);
    }

    pub fn count_ended(&self, me: u32) {
        self.tallies[me as usize % TALLIES].ended.add(1);
    }

    /// Whether all tasks that were spawned have ended. Ends are summed up first: a task whose end was counted there had
    /// been counted as spawned, and so had all that it spawned. After F. Mattern, "Algorithms for distributed termination
    /// detection" (1987).
    fn is_quiet(&self) -> bool {
        if self.any_spawned.get() == 0 {
            return true;
        }
        let sum = |of: fn(&Tally) -> u32| {
            self.tallies
                .iter()
                .fold(0, |sum: u32, tally| sum.wrapping_add(of(tally)))
        };
        let ended = sum(|tally| tally.ended.get());
        ended == sum(|tally| tally.spawned.get())
    }

    pub fn spawned(&self) -> u32 {
        self.tallies
            .iter()
            .fold(0, |sum, tally| sum.wrapping_add(tally.spawned.get()))
    }

    pub fn queued(&self) -> u32 {
        (self.shared.get() as i32).max(0) as u32
    }

    pub fn most_queued(&self) -> u32 {
        self.most_shared.get()
    }
}

enum Found {
    Job(*mut Job),
    /// Part of a bulk job.
    Bulk,
}

/// A worker that finds nothing.
#[derive(Default)]
struct Idle {
    looks: u32,
    began: u64,
    /// It looks for its group.
    searches: bool,
}

impl Idle {
    fn wait(&mut self) {
        if self.looks == 0 {
            self.began = crate::time();
        }
        self.looks += 1;
        if self.searches {
            fire_timers();
            // Which may take a while, in which this worker finds nothing else.
            if self.looks > LOOKS && poll_io() {
                return;
            }
            pause_for(self.looks, LOOKS, SEARCHER_SLEEP);
        } else {
            pause_for(self.looks, 0, LONGEST_SLEEP);
        }
    }

    /// It has found something, or its run has ended.
    fn end(&mut self, pool: &Pool, me: u32, worker: &Worker) {
        if self.searches {
            pool.end_search(me);
            self.searches = false;
        }
        if self.looks > 0 {
            add_time(&worker.counters.idle, crate::time() - self.began);
            self.looks = 0;
        }
    }
}

/// Before the next look of one that waits, after so many in vain. Nothing that threads share is touched meanwhile.
pub(super) fn pause(looks: u32) {
    pause_for(looks, LOOKS, SEARCHER_SLEEP);
}

fn pause_for(looks: u32, awake: u32, longest: u64) {
    // A lane that sleeps where lanes meet takes no time from the others, and wakes as soon as they have met.
    let (awake, longest) = match meets() {
        false => (awake, longest),
        true => (0, SEARCHER_SLEEP),
    };
    match looks.checked_sub(awake) {
        None => platform::pause(),
        Some(more) => platform::sleep((1024 << more.min(8)).min(longest)),
    }
}

// --- Runs -------------------------------------------------------------------------------------------

/// Runs a function and the tasks that it spawns, on all threads of the kernel.
///
/// Every thread calls it. The first one runs `root` and gets its result; the others work until all tasks have ended, and
/// get `None`. It may be called again; each thread must call it as often as the first one does. Inside of a task it is a
/// plain call.
///
/// On a host it is called by one thread, and starts one for each other processor.
///
/// ```
/// use gpu_std::task;
/// assert_eq!(task::run(|| task::join(|| 1, || 2)), Some((1, 2)));
/// ```
///
/// # Panics
///
/// If `root` does, after all tasks have ended.
pub fn run<R: Send>(root: impl FnOnce() -> R + Send) -> Option<R> {
    if context::is_worker() {
        return Some(root());
    }
    start(1, root)
}

/// As [`run`], but of 32 neighbours one thread is a worker. The others have no part, and return at once.
///
/// The lanes of a warp, 32 neighbours on a GPU, run one after the other what they do not do together. Tasks that each go a
/// way of their own are done sooner by a lane that has its warp for itself: those of [`scope`](super::scope) and
/// [`spawn`](super::spawn), and futures. For the loops of [`par`](crate::par), which all lanes do together, and a
/// [`join`](super::join) of tasks that do the same, [`run`] is better: its workers of a warp begin their tasks together. A
/// program uses one of the two.
///
/// On a host it is [`run`].
///
/// ```
/// use gpu_std::task;
/// assert_eq!(task::run_spread(|| task::join(|| 1, || 2)), Some((1, 2)));
/// ```
///
/// # Panics
///
/// As [`run`] does; and if the program has called that before.
pub fn run_spread<R: Send>(root: impl FnOnce() -> R + Send) -> Option<R> {
    if context::is_worker() {
        return Some(root());
    }
    start(SPREAD, root)
}

/// Threads of which [`run_spread`] makes one a worker.
const SPREAD: u32 = 32;

/// The threads of the kernel are the workers, or one of `spacing` neighbours each.
#[cfg(target_arch = "wasm32")]
fn start<R: Send>(spacing: u32, root: impl FnOnce() -> R + Send) -> Option<R> {
    let (pool, id) = (&context::POOL, crate::thread_id());
    if id % spacing != 0 {
        return None;
    }
    if id == 0 {
        super::stats::keep_table();
        pool.spacing.set(spacing);
        MEETS.store(platform::meet().into(), Relaxed);
        pool.prepare(crate::thread_count().div_ceil(spacing));
    } else {
        // The first call, of this thread and of all: the workers may not be there yet.
        let mut looks = 0;
        while pool.started.get() == 0 {
            looks += 1;
            pause(looks);
        }
    }
    let me = id / spacing;
    let worker = pool.worker(me).filter(|_| pool.spacing.get() == spacing);
    let worker = worker.expect("a program calls either `task::run` or `task::run_spread`");
    let number = count(&worker.own.runs) + 1;
    worker.own.active.store(1, Relaxed);
    let result = if me == 0 {
        Some(pool.lead(number, root))
    } else {
        pool.follow(me, number)
    };
    worker.own.active.store(0, Relaxed);
    result.map(|result| result.unwrap_or_else(|panic| resume(panic)))
}

/// Threads of std are the workers.
#[cfg(not(target_arch = "wasm32"))]
fn start<R: Send>(_spacing: u32, root: impl FnOnce() -> R + Send) -> Option<R> {
    let count = crate::host::workers();
    let pool = Pool::new();
    pool.prepare(count);
    #[cfg(all(test, shuttle))]
    use shuttle::thread;
    #[cfg(not(all(test, shuttle)))]
    use std::thread;
    let result = thread::scope(|scope| {
        for me in 1..count {
            let pool = &pool;
            scope.spawn(move || context::with(pool, me, || pool.follow::<()>(me, 1)));
        }
        context::with(&pool, 0, || pool.lead(1, root))
    });
    // A thread of another pool that has woken a task of this one may not be back from that yet.
    while pool.visitors.get() != 0 {
        platform::pause();
    }
    // SAFETY: made by `prepare`, and all threads that had them have ended. They have nothing to drop.
    unsafe { platform::dealloc(pool.workers.load(Relaxed).cast(), layout(count)) };
    Some(result.unwrap_or_else(|panic| resume(panic)))
}

impl Pool {
    /// The first worker, in call `number`.
    fn lead<R>(&self, number: u32, root: impl FnOnce() -> R) -> Result<R, Panic> {
        let began = crate::time();
        self.started.set(number);
        let result = catch(root);
        self.work(0, || self.is_quiet());
        self.count_time(0, began);
        self.ended.set(number);
        result
    }

    /// Another one. Numbers of calls are compared modulo 2^32.
    fn follow<R>(&self, me: u32, number: u32) -> Option<Result<R, Panic>> {
        let has_come = |word: &Word32| word.get().wrapping_sub(number) as i32 >= 0;
        let mut looks = 0;
        while !has_come(&self.started) {
            looks += 1;
            pause(looks);
        }
        let began = crate::time();
        self.work(me, || has_come(&self.ended));
        self.count_time(me, began);
        None
    }

    /// Counts the time that a worker was in a call of [`run`].
    fn count_time(&self, me: u32, began: u64) {
        if let Some(worker) = self.worker(me) {
            add_time(&worker.counters.time, crate::time() - began);
        }
    }
}

/// The number of the worker that calls, from 0; `None` outside of [`run`].
///
/// ```
/// assert_eq!(gpu_std::task::worker(), None);
/// assert!(gpu_std::task::run(|| gpu_std::task::worker().is_some()).unwrap());
/// ```
pub fn worker() -> Option<u32> {
    Current::get().map(|current| current.number)
}

/// How many workers there are; 1 outside of [`run`].
///
/// ```
/// assert_eq!(gpu_std::task::workers(), 1);
/// ```
pub fn workers() -> u32 {
    Current::get().map_or(1, |current| current.pool.count.load(Relaxed))
}
