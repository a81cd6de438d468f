//! Threads of this module, on threads of the host.

use core::cell::{Cell, RefCell};
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::string::ToString;
use std::vec::Vec;

use super::*;
use crate::sync::Arc;

#[test]
fn results_come_back() {
    let threads: Vec<_> = (0..50).map(|n| spawn(move || n * n)).collect();
    let results: Vec<u32> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(results, (0..50).map(|n| n * n).collect::<Vec<_>>());
}

#[test]
fn a_thread_goes_on_without_its_handle() {
    let seen = Arc::new(AtomicU32::new(0));
    for _ in 0..20 {
        let seen = seen.clone();
        drop(spawn(move || seen.fetch_add(1, SeqCst)));
    }
    while Arc::strong_count(&seen) != 1 {
        yield_now();
    }
    assert_eq!(seen.load(SeqCst), 20);
}

#[test]
fn names_and_ids() {
    let thread = Builder::new()
        .name("worker".into())
        .spawn(|| current().name().map(ToString::to_string));
    let thread = thread.unwrap();
    assert_eq!(thread.thread().name(), Some("worker"));
    let id = thread.thread().id();
    assert_eq!(thread.join().unwrap().as_deref(), Some("worker"));
    let other = spawn(|| current().id());
    let other_id = other.thread().id();
    assert_eq!(other.join().unwrap(), other_id);
    assert_ne!(other_id, id);
}

#[test]
fn a_scope_waits_for_its_threads() {
    let mut numbers = [1, 2, 3, 4];
    let sum = AtomicU32::new(0);
    let first = scope(|scope| {
        for number in &mut numbers {
            scope.spawn(|| {
                *number *= 2;
                sum.fetch_add(*number, SeqCst);
            });
        }
        scope.spawn(|| 7).join().unwrap()
    });
    assert_eq!((first, sum.into_inner(), numbers), (7, 20, [2, 4, 6, 8]));
}

#[test]
fn threads_of_a_scope_spawn_others() {
    let count = AtomicU32::new(0);
    scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                scope.spawn(|| count.fetch_add(1, SeqCst));
            }
        });
    });
    assert_eq!(count.into_inner(), 3);
}

#[test]
fn panics_are_results() {
    let error = spawn(|| -> () { panic!("the thread's own") }).join().unwrap_err();
    assert_eq!(error.downcast_ref::<&str>(), Some(&"the thread's own"));
    let panics = || -> () { panic!("of a scope") };
    assert!(scope(|scope| scope.spawn(panics).join().is_err()));
    let caught = catch_of(|| {
        scope(|scope| {
            scope.spawn(panics);
        });
    });
    assert_eq!(caught, "a scoped thread panicked");
    let caught = catch_of(|| {
        scope(|scope| {
            scope.spawn(|| ());
            panic!("the scope's own");
        });
    });
    assert_eq!(caught, "the scope's own");
}

fn catch_of(f: impl FnOnce()) -> &'static str {
    let error = crate::task::catch(f).unwrap_err();
    error.downcast_ref::<&str>().copied().unwrap_or_default()
}

#[test]
fn parking() {
    let go = Arc::new(AtomicU32::new(0));
    let theirs = go.clone();
    let thread = spawn(move || {
        while theirs.load(SeqCst) == 0 {
            park();
        }
        // A notification that came before is enough for the next.
        current().unpark();
        park();
        park_timeout(Duration::from_millis(1));
        theirs.load(SeqCst)
    });
    go.store(5, SeqCst);
    thread.thread().unpark();
    assert_eq!(thread.join().unwrap(), 5);
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Noisy;

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
        // Made while others are dropped, so dropped too.
        LATE.with_borrow_mut(|late| late.push(Loud));
        assert!(NOISY.try_with(|_| ()).is_err());
    }
}

struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        DROPPED.fetch_add(10, SeqCst);
    }
}

static COUNT: LocalKey<Cell<u32>> = LocalKey::new(|| Cell::new(3));
static NOISY: LocalKey<Noisy> = LocalKey::new(|| Noisy);
static LATE: LocalKey<RefCell<Vec<Loud>>> = LocalKey::new(RefCell::default);

#[test]
fn thread_locals() {
    let count = || {
        COUNT.set(COUNT.get() + 1);
        COUNT.get()
    };
    let thread = spawn(move || {
        NOISY.with(|_| ());
        (count(), count())
    });
    assert_eq!(thread.join().unwrap(), (4, 5));
    assert_eq!(spawn(count).join().unwrap(), 4);
    assert_eq!(DROPPED.load(SeqCst), 11);
}

#[test]
fn stacks_are_used_again() {
    // In two sizes.
    for round in 0..40 {
        let threads: Vec<_> = (0..20)
            .map(|n| {
                Builder::new()
                    .stack_size(1024 << (n % 2))
                    .spawn(move || round + n)
                    .unwrap()
            })
            .collect();
        assert!(
            threads
                .into_iter()
                .zip(0..)
                .all(|(thread, n)| thread.join().unwrap() == round + n)
        );
    }
}
