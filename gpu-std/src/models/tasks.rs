//! Tasks and futures, on three workers.

use core::time::Duration;
use std::vec::Vec;

use super::{Plain, check};
use crate::channel::bounded;
use crate::channel::tests::sends_and_sum;
use crate::future::{block_on, join_all, sleep, spawn, timeout};
use crate::sync::{Arc, Mutex};
use crate::task::{self, Builder, Priority, Quota};
use crate::word::Word32;

/// Checks a model of what the first worker does.
fn check_on_workers(model: fn()) {
    crate::host::set_workers(3);
    check(move || assert!(task::run(model).is_some()));
}

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = task::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn both_halves_of_a_join_are_done_once() {
    check_on_workers(|| assert_eq!(fib(5), 5));
}

#[test]
fn a_scope_waits_for_all_of_its_tasks() {
    check_on_workers(|| {
        let done = Word32::new(0);
        task::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|scope| {
                    scope.spawn(|_| _ = done.add(1));
                    done.add(1);
                });
            }
        });
        assert_eq!(done.get(), 6);
    });
}

#[test]
fn tasks_come_after_those_that_they_wait_for() {
    check_on_workers(|| {
        let order = Arc::new(Mutex::new(Vec::new()));
        let add = |n: u32| {
            let order = order.clone();
            move || order.lock().unwrap().push(n)
        };
        let first = task::spawn(add(0));
        let second = Builder::new().priority(Priority::High).spawn(add(1));
        let third = task::after(&[&first, &second]).spawn(add(2));
        let last = task::after(&[&third]).worker(1).spawn(add(3));
        last.join().unwrap();
        let order = order.lock().unwrap();
        assert!(order.len() == 4 && order[2..] == [2, 3]);
    });
}

#[test]
fn a_quota_holds_and_all_run() {
    check_on_workers(|| {
        let (quota, inside, done) = (Quota::new(1), Arc::new(Word32::new(0)), Arc::new(Plain::default()));
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let (inside, done) = (inside.clone(), done.clone());
                Builder::new().quota(&quota).spawn(move || {
                    assert_eq!(inside.add(1), 0);
                    done.add(1);
                    inside.sub(1);
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(done.get(), 3);
    });
}

#[test]
fn a_cancelled_task_runs_whole_or_not_at_all() {
    check_on_workers(|| {
        let done = Arc::new(Word32::new(0));
        let tasks = [0; 2].map(|_| {
            let done = done.clone();
            task::spawn(move || _ = done.add(1))
        });
        tasks[0].cancel();
        let ended = tasks.map(|task| task.join().is_ok());
        assert!(ended[1]);
        assert_eq!(done.get(), ended.map(u32::from).iter().sum());
    });
}

#[test]
fn futures_are_woken() {
    check_on_workers(|| {
        let (sends, sum) = sends_and_sum(1, 3);
        block_on(join_all(sends)).into_iter().for_each(|sent| sent.unwrap());
        assert_eq!(sum.join().unwrap(), 3);
    });
}

#[test]
fn timers_end_waits() {
    check_on_workers(|| {
        let (sender, receiver) = bounded::<u32>(1);
        let waits = spawn(async move { timeout(Duration::from_micros(20), receiver.recv_async()).await.is_err() });
        block_on(sleep(Duration::from_micros(5)));
        assert!(waits.join().unwrap());
        drop(sender);
    });
}
