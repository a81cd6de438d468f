use std::boxed::Box;
use std::string::{String, ToString};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::vec::Vec;

use super::*;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn joins_nest() {
    assert_eq!(fib(10), 55);
    crate::host::set_workers(4);
    for _ in 0..20 {
        assert_eq!(run(|| fib(18)), Some(2584));
    }
}

#[test]
fn a_scope_waits_for_all_that_its_tasks_spawn() {
    fn spread<'s>(scope: &Scope<'s>, depth: u32, count: &'s AtomicU32) {
        count.fetch_add(1, SeqCst);
        for _ in 0..if depth == 0 { 0 } else { 3 } {
            scope.spawn(move |scope| spread(scope, depth - 1, count));
        }
    }
    let count = AtomicU32::new(0);
    run(|| scope(|scope| spread(scope, 7, &count)));
    assert_eq!(count.load(SeqCst), (3u32.pow(8) - 1) / 2);
    // Outside of a run too.
    scope(|scope| spread(scope, 1, &count));
    assert_eq!(count.into_inner(), (3u32.pow(8) - 1) / 2 + 4);
}

#[test]
fn tasks_that_nobody_awaits_end_before_the_run_does() {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    run(|| {
        for _ in 0..1000 {
            drop(spawn(|| drop(spawn(|| ENDED.fetch_add(1, SeqCst)))));
        }
    });
    assert_eq!(ENDED.load(SeqCst), 1000);
}

fn text(panic: Box<dyn std::any::Any + Send>) -> String {
    panic.downcast_ref::<&str>().unwrap().to_string()
}

#[test]
fn a_panic_ends_its_task_alone() {
    let results = run(|| {
        let tasks: Vec<_> = (0..10)
            .map(|n| spawn(move || if n == 3 { panic!("three") } else { n }))
            .collect();
        tasks.into_iter().map(JoinHandle::join).collect::<Vec<_>>()
    });
    for (n, result) in results.unwrap().into_iter().enumerate() {
        match result {
            Ok(value) => assert_eq!(value, n),
            Err(panic) => assert_eq!((n, text(panic)), (3, "three".to_string())),
        }
    }
}

#[test]
fn join_and_scope_pass_a_panic_on_after_all_has_ended() {
    let done = AtomicU32::new(0);
    let outcome = run(|| {
        let joined = catch(|| {
            join(
                || panic!("a"),
                || {
                    crate::platform::sleep(1_000_000);
                    done.fetch_add(1, SeqCst)
                },
            )
        });
        assert_eq!(done.load(SeqCst), 1);
        let scoped = catch(|| {
            scope(|scope| {
                scope.spawn(|_| panic!("b"));
                scope.spawn(|_| _ = done.fetch_add(1, SeqCst));
            })
        });
        (text(joined.unwrap_err()), text(scoped.unwrap_err()))
    });
    assert_eq!(outcome, Some(("a".to_string(), "b".to_string())));
    assert_eq!(done.into_inner(), 2);
    let of_root = catch(|| {
        run(|| {
            if true {
                panic!("root")
            }
        })
    });
    assert_eq!(text(of_root.unwrap_err()), "root");
}

#[test]
fn a_random_graph_of_tasks_runs_in_order() {
    const TASKS: usize = 5000;
    static ENDS: [AtomicU64; TASKS] = [const { AtomicU64::new(0) }; TASKS];
    static CLOCK: AtomicU64 = AtomicU64::new(1);
    let wrong = run(|| {
        let (mut tasks, mut edges): (Vec<JoinHandle<()>>, Vec<Vec<usize>>) = Default::default();
        let mut seed = 1u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        for (i, own) in ENDS.iter().enumerate() {
            let before: Vec<usize> = (0..if i == 0 { 0 } else { random(4) }).map(|_| random(i)).collect();
            let awaited: Vec<&JoinHandle<()>> = before.iter().map(|j| &tasks[*j]).collect();
            let task = after(&awaited).spawn(move || own.store(CLOCK.fetch_add(1, SeqCst), SeqCst));
            tasks.push(task);
            edges.push(before);
        }
        tasks.into_iter().for_each(|task| task.join().unwrap());
        let end = |i: usize| ENDS[i].load(SeqCst);
        let late = |i: &usize| end(*i) == 0 || edges[*i].iter().any(|j| end(*j) >= end(*i));
        (0..TASKS).filter(late).count()
    });
    assert_eq!(wrong, Some(0));
}

#[test]
fn wishes_are_granted() {
    static ORDER: Mutex<Vec<&str>> = Mutex::new(Vec::new());
    let note = |name: &'static str| move || ORDER.lock().unwrap().push(name);
    run(|| {
        let first = Builder::new().worker(u32::MAX).spawn(|| worker().unwrap());
        assert_eq!(first.join().unwrap(), u32::MAX % workers());
    });
    run(|| {
        let tasks = [
            Builder::new().priority(Priority::Low).spawn(note("low")),
            Builder::new().priority(Priority::Urgent).spawn(note("urgent")),
            Builder::new().priority(Priority::High).spawn(note("high")),
            spawn(note("normal")),
            Builder::new()
                .deadline(core::time::Duration::ZERO)
                .spawn(note("deadline")),
        ];
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
    let mut order = ORDER.lock().unwrap().clone();
    order.sort_unstable();
    assert_eq!(order, ["deadline", "high", "low", "normal", "urgent"]);
}

#[test]
fn no_priority_starves() {
    static LOW: AtomicU32 = AtomicU32::new(0);
    let rounds = run(|| {
        let low = Builder::new()
            .priority(Priority::Low)
            .spawn(|| _ = LOW.fetch_add(1, SeqCst));
        // Work that is always there before it.
        let mut rounds = 0u32;
        while !low.is_finished() {
            let urgent = |_| Builder::new().priority(Priority::Urgent).spawn(|| ());
            (0..8).map(urgent).for_each(|task| task.join().unwrap());
            rounds += 1;
            assert!(rounds < 100_000, "it never ran");
        }
        rounds
    });
    assert!(rounds.is_some() && LOW.load(SeqCst) == 1);
}

#[test]
fn a_quota_holds() {
    static AT_ONCE: AtomicU32 = AtomicU32::new(0);
    static MOST: AtomicU32 = AtomicU32::new(0);
    run(|| {
        let two = Quota::new(2);
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                Builder::new().quota(&two).spawn(|| {
                    MOST.fetch_max(AT_ONCE.fetch_add(1, SeqCst) + 1, SeqCst);
                    crate::platform::pause();
                    AT_ONCE.fetch_sub(1, SeqCst);
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
    assert!((1..=2).contains(&MOST.load(SeqCst)));
}

#[test]
fn what_is_cancelled_before_it_begins_never_does() {
    let cancelled = run(|| {
        let gate = spawn(|| {
            while !is_cancelled() {
                yield_now()
            }
        });
        let waits = after(&[&gate]).spawn(|| unreachable!());
        waits.cancel();
        gate.cancel();
        drop(gate.join());
        waits.join().unwrap_err().is::<Cancelled>()
    });
    assert_eq!(cancelled, Some(true));
}

#[test]
fn bulk_jobs_call_for_each_number_once() {
    for numbers in [0, 1, 2, 1000] {
        let calls: Vec<AtomicU32> = (0..numbers).map(|_| AtomicU32::new(0)).collect();
        run(|| run_bulk(numbers, &|n| _ = calls[n].fetch_add(1, SeqCst)));
        assert!(calls.iter().all(|calls| calls.load(SeqCst) == 1));
    }
    let panics = catch(|| run(|| run_bulk(100, &|n| assert!(n != 50, "fifty"))));
    assert!(panics.is_err());
}
