//! The rows as kernels.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use gpu_std::atomic::{
    self,
    Ordering::{Relaxed, SeqCst},
    Scope::Device,
};
use gpu_std::collective::Team;
use gpu_std::gc::{self, Gc, Root};
use gpu_std::par::{self, prelude::*};
use gpu_std::sync::{Arc, Barrier, OnceLock};
use gpu_std::{channel, future, gpu_println, task, thread_count, thread_id, work};

use crate::{CUTOFF, collatz, fib, scrambled};

fn size() -> u64 {
    gpu_std::state_in::read(0).expect("the size of the work as the run's input")
}

/// Prints the result and how long it took.
fn timed(f: impl FnOnce() -> u64) {
    let begin = gpu_std::time();
    let result = f();
    let end = gpu_std::time();
    gpu_println!("{} {:.3}", result, (end - begin) as f64 / 1e6);
}

/// The same of tasks, and what the pool has counted. Workers are apart.
fn by_tasks(f: impl FnOnce() -> u64 + Send) {
    task::run_spread(|| with_stats(f));
}

fn with_stats(f: impl FnOnce() -> u64 + Send) {
    // All workers are there before.
    task::scope(|scope| (0..1000).for_each(|_| scope.spawn(|_| ())));
    timed(f);
    if let Some(stats) = task::stats() {
        gpu_std::gpu_eprintln!("{stats:?}");
    }
}

fn fib_by_joins(n: u32) -> u64 {
    if n < CUTOFF {
        return fib(n);
    }
    let (a, b) = task::join(|| fib_by_joins(n - 1), || fib_by_joins(n - 2));
    a + b
}

static ALL: OnceLock<Barrier> = OnceLock::new();
static SUM: AtomicU64 = AtomicU64::new(0);

/// All threads meet; one of them gets true.
fn meet() -> bool {
    ALL.get_or_init(|| Barrier::new(thread_count() as usize))
        .wait()
        .is_leader()
}

/// Time between the meetings before and after what all threads do.
fn by_all(f: impl FnOnce()) {
    static BEGIN: AtomicU64 = AtomicU64::new(0);
    meet();
    if thread_id() == 0 {
        atomic::store(&BEGIN, gpu_std::time(), SeqCst, Device);
    }
    meet();
    f();
    if meet() {
        let ns = gpu_std::time() - atomic::load(&BEGIN, SeqCst, Device);
        gpu_println!("{} {:.3}", atomic::load(&SUM, SeqCst, Device), ns as f64 / 1e6);
    }
}

type Ends = (channel::Sender<u64>, channel::Receiver<u64>);

/// Half of the threads send, half receive; `batch` numbers at once.
fn messages(batch: u64, places: usize) {
    static ENDS: OnceLock<Ends> = OnceLock::new();
    static LEFT: AtomicU64 = AtomicU64::new(0);
    let (size, threads, id) = (size(), u64::from(thread_count() / 2), u64::from(thread_id()));
    let (sender, receiver) = ENDS.get_or_init(|| channel::bounded(places));
    if id == 0 {
        atomic::store(&LEFT, size / threads * threads, SeqCst, Device);
    }
    by_all(|| {
        let share = size / threads;
        if id % 2 == 0 && id / 2 < threads {
            let first = id / 2 * share;
            for at in (0..share).step_by(batch as usize) {
                let values = (at..share.min(at + batch)).map(|n| first + n);
                match batch {
                    1 => sender.send(first + at).unwrap(),
                    _ => sender.send_all(values).unwrap(),
                }
            }
        } else if id % 2 == 1 {
            // Each receives what one sends, from whomever it is.
            let (mut values, mut mine, mut left) = (Vec::with_capacity(batch as usize), 0, share);
            while left > 0 {
                values.clear();
                left -= receiver.recv_many(&mut values, left.min(batch) as usize).unwrap() as u64;
                mine += values.iter().sum::<u64>();
            }
            atomic::fetch_add(&SUM, mine, SeqCst, Device);
        }
    });
}

struct Link<'s> {
    next: Option<Gc<'s, Link<'s>>>,
    value: u64,
}
gc::trace!(Link<'s> { next, value });

gpu_std::kernel! {
    pub fn fib_tasks() {
        task::run(|| with_stats(|| fib_by_joins(size() as u32)));
    }

    /// The same by workers that are apart.
    pub fn fib_apart() {
        by_tasks(|| fib_by_joins(size() as u32))
    }

    /// Many tiny tasks of one scope, spawned by one.
    pub fn spawn() {
        by_tasks(|| {
            let sum = AtomicU64::new(0);
            task::scope(|scope| {
                for n in 0..size() {
                    let sum = &sum;
                    scope.spawn(move |_| {
                        atomic::fetch_add(sum, n % 7, Relaxed, Device);
                    });
                }
            });
            sum.into_inner()
        })
    }

    /// Work of equal size for all.
    pub fn balanced() {
        task::run(|| timed(|| (0..size()).into_par_iter().map(collatz).sum()));
    }

    pub fn sort() {
        task::run(|| {
            let mut items: Vec<u64> = (0..size()).into_par_iter().map(scrambled).collect();
            timed(|| {
                items.par_sort_unstable();
                items.iter().step_by(1000).fold(0u64, |hash, n| hash.wrapping_mul(31).wrapping_add(*n))
            })
        });
    }

    /// A hundred thousand tasks in a random graph: how many ended too early.
    pub fn graph() {
        by_tasks(|| {
            static CLOCK: AtomicU32 = AtomicU32::new(1);
            let count = size() as usize;
            let ends: Arc<Vec<AtomicU32>> = Arc::new((0..count).map(|_| AtomicU32::new(0)).collect());
            let mut edges = Vec::with_capacity(count);
            let mut tasks: Vec<task::JoinHandle<()>> = Vec::with_capacity(count);
            for i in 0..count {
                let random = |n: u64| scrambled(i as u64 * 4 + n) as usize;
                let before: Vec<usize> = (1..=random(0) as u64 % 4).map(|n| random(n) % (i + 1)).filter(|j| *j < i).collect();
                let awaited: Vec<_> = before.iter().map(|j| &tasks[*j]).collect();
                let ends = ends.clone();
                tasks.push(task::after(&awaited).spawn(move || {
                    atomic::store(&ends[i], atomic::fetch_add(&CLOCK, 1, SeqCst, Device), SeqCst, Device);
                }));
                edges.push(before);
            }
            tasks.into_iter().for_each(|task| task.join().unwrap());
            let end = |i: usize| atomic::load(&ends[i], SeqCst, Device);
            (0..count).filter(|i| end(*i) == 0 || edges[*i].iter().any(|j| end(*j) >= end(*i))).count() as u64
        })
    }

    /// Futures that sleep, then send to one that adds up.
    pub fn futures() {
        by_tasks(|| {
            let (sender, receiver) = channel::bounded(1024);
            for n in 0..size() {
                let sender = sender.clone();
                drop(future::spawn(async move {
                    future::sleep(Duration::from_micros(n * 37 % 5000)).await;
                    sender.send_async(n).await.unwrap();
                }));
            }
            drop(sender);
            future::block_on(future::spawn(async move {
                let mut sum = 0;
                while let Ok(value) = receiver.recv_async().await {
                    sum += value;
                }
                sum
            }))
            .unwrap()
        })
    }

    pub fn messages_64() {
        messages(64, 1 << 20)
    }

    pub fn one_message() {
        messages(1, 1 << 16)
    }

    /// Numbers through a work queue: each thread pushes and pops.
    pub fn queue() {
        static QUEUE: OnceLock<work::Queue> = OnceLock::new();
        let queue = QUEUE.get_or_init(|| work::Queue::with_capacity(1 << 17));
        by_all(|| {
            let mut sum = 0;
            for n in 0..size() as u32 {
                while !queue.push(n) {}
                loop {
                    if let Some(value) = queue.pop() {
                        sum += u64::from(value);
                        break;
                    }
                }
            }
            atomic::fetch_add(&SUM, sum, SeqCst, Device);
        });
    }

    pub fn barrier() {
        by_all(|| (0..size()).for_each(|_| {
            meet();
        }));
    }

    /// A sum of all threads' values, as often as the size says.
    pub fn reduce() {
        static TEAM: Team = Team::new();
        TEAM.barrier();
        by_all(|| {
            let mut sum = 0;
            for n in 0..size() {
                sum += TEAM.reduce(n + u64::from(thread_id()), |a, b| a + b);
            }
            if thread_id() == 0 {
                atomic::store(&SUM, sum, SeqCst, Device);
            }
        });
    }

    /// The same for blocks of 128 threads.
    pub fn reduce_block() {
        static TEAM: Team = Team::of(128);
        TEAM.barrier();
        by_all(|| {
            let mut sum = 0;
            for n in 0..size() {
                sum += TEAM.reduce(n + u64::from(thread_id()), |a, b| a + b);
            }
            if thread_id() == 0 {
                atomic::store(&SUM, sum, SeqCst, Device);
            }
        });
    }

    /// Objects of the traced heap: each thread keeps its share, then makes as many that nobody keeps. The longest session,
    /// with the part of the collector's work that is done at its end, goes to standard error.
    pub fn gc() {
        static LONGEST: AtomicU64 = AtomicU64::new(0);
        let share = size() / u64::from(thread_count());
        by_all(|| {
            let mut longest = 0;
            let mut list: Option<Root<Link<'static>>> = None;
            for n in 0..2 * share {
                let begin = gpu_std::time();
                let new = gc::enter(|session| {
                    let next = list.as_ref().map(|list| list.get(session));
                    let link = session.alloc(Link { next, value: n });
                    (n < share).then(|| Root::new(session, link))
                });
                list = new.or(list);
                longest = longest.max(gpu_std::time() - begin);
            }
            atomic::fetch_max(&LONGEST, longest, SeqCst, Device);
            let mine = gc::enter(|session| {
                let first = list.as_ref().map(|list| list.get(session));
                let links = std::iter::successors(first, |link| link.next);
                links.fold(0, |sum, link| sum + link.value)
            });
            atomic::fetch_add(&SUM, mine, SeqCst, Device);
        });
        if thread_id() == 0 {
            let longest = atomic::load(&LONGEST, SeqCst, Device) as f64 / 1e3;
            gpu_std::gpu_eprintln!("the longest session took {longest:.1} us; {:?}", gc::stats());
        }
    }

    pub fn scan() {
        task::run(|| {
            let mut items: Vec<u64> = (0..size()).into_par_iter().map(|n| n % 3).collect();
            timed(|| {
                par::inclusive_scan(&mut items, |a, b| a + b);
                items[items.len() - 1]
            });
            timed(|| items.par_iter().copied().map(|n| n & 1).sum());
        });
    }
}
