//! The types that guests have, on threads of std.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use std::format;
use std::string::ToString;
use std::vec::Vec;

use super::arc::Arc;
use super::barrier::Barrier;
use super::condvar::Condvar;
use super::mutex::Mutex;
use super::once::{LazyLock, Once, OnceLock};
use super::rwlock::RwLock;
use super::{Phaser, Semaphore, TryLockError};

fn on_threads(count: u32, f: impl Fn(u32) + Sync) {
    std::thread::scope(|scope| {
        let f = &f;
        (0..count).for_each(|thread| drop(scope.spawn(move || f(thread))));
    });
}

#[test]
fn a_mutex_lets_one_in() {
    static TOTAL: Mutex<u64> = Mutex::new(0);
    on_threads(4, |_| (0..5000).for_each(|_| *TOTAL.lock().unwrap() += 1));
    assert_eq!(*TOTAL.lock().unwrap(), 20_000);
    let held = TOTAL.lock().unwrap();
    assert!(matches!(TOTAL.try_lock(), Err(TryLockError::WouldBlock)));
    assert_eq!(format!("{TOTAL:?}"), "Mutex { data: <locked>, poisoned: false, .. }");
    assert_eq!(held.to_string(), "20000");
    drop(held);
    assert!(TOTAL.try_lock().is_ok());
}

#[test]
fn a_panic_poisons_what_it_had_locked() {
    let (mutex, lock) = (Mutex::new(1), RwLock::new(2));
    let panics = |f: &(dyn Fn() + Sync)| std::thread::scope(|scope| scope.spawn(f).join().is_err());
    assert!(panics(&|| {
        let _guard = mutex.lock().unwrap();
        panic!("with it");
    }));
    assert!(mutex.is_poisoned() && matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 1);
    mutex.clear_poison();
    let mut mutex = mutex;
    assert_eq!(*mutex.get_mut().unwrap(), 1);
    assert_eq!(mutex.into_inner().unwrap(), 1);
    // One that reads poisons nothing.
    assert!(panics(&|| {
        let _guard = lock.read().unwrap();
        panic!("with it");
    }));
    assert!(!lock.is_poisoned());
    assert!(panics(&|| {
        let _guard = lock.write().unwrap();
        panic!("with it");
    }));
    assert!(lock.is_poisoned() && lock.read().is_err());
    lock.clear_poison();
    let mut lock = lock;
    assert_eq!((*lock.get_mut().unwrap(), lock.into_inner().unwrap()), (2, 2));
}

#[test]
fn readers_share_and_writers_do_not() {
    let (lock, readers, most) = (RwLock::new((0u64, 0u64)), AtomicU32::new(0), AtomicU32::new(0));
    on_threads(6, |thread| {
        for _ in 0..2000 {
            if thread % 3 == 0 {
                let mut pair = lock.write().unwrap();
                assert_eq!(readers.load(SeqCst), 0);
                pair.0 += 1;
                pair.1 += 1;
            } else {
                let pair = lock.read().unwrap();
                most.fetch_max(readers.fetch_add(1, SeqCst) + 1, SeqCst);
                assert_eq!(pair.0, pair.1);
                readers.fetch_sub(1, SeqCst);
            }
        }
    });
    assert_eq!(*lock.read().unwrap(), (4000, 4000));
    assert!(most.into_inner() >= 1);
    let first = lock.read().unwrap();
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(first);
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_condition_is_awaited_and_its_time_ends() {
    let (turn, next) = (Mutex::new(0), Condvar::new());
    on_threads(4, |thread| {
        for round in 0..200 {
            let mine = next.wait_while(turn.lock().unwrap(), |turn| *turn != round * 4 + thread);
            *mine.unwrap() += 1;
            next.notify_all();
        }
    });
    assert_eq!(*turn.lock().unwrap(), 800);
    let wait = |length| {
        next.wait_timeout_while(turn.lock().unwrap(), length, |turn| *turn == 800)
            .unwrap()
            .1
    };
    assert!(wait(Duration::from_millis(2)).timed_out());
    let waits = std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(2));
        *turn.lock().unwrap() = 0;
        next.notify_one();
        waits.join().unwrap()
    });
    assert!(!waits.timed_out());
}

#[test]
fn once_is_once() {
    static ONCE: Once = Once::new();
    static CALLS: AtomicU32 = AtomicU32::new(0);
    static TABLE: OnceLock<Vec<u32>> = OnceLock::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| CALLS.fetch_add(1, SeqCst) + 40);
    on_threads(4, |thread| {
        if thread == 0 {
            ONCE.wait();
        }
        ONCE.call_once(|| {
            std::thread::sleep(Duration::from_millis(2));
            CALLS.fetch_add(1, SeqCst);
        });
        assert!(CALLS.load(SeqCst) >= 1);
        let table = TABLE.get_or_init(|| {
            CALLS.fetch_add(1, SeqCst);
            (0..9).collect()
        });
        assert_eq!(table[8] + *LAZY / 40, 9);
    });
    assert_eq!(CALLS.load(SeqCst), 3);
    assert_eq!(TABLE.set(Vec::new()), Err(Vec::new()));
    let mut cell = OnceLock::new();
    assert_eq!((cell.get().copied(), cell.set(3)), (None, Ok(())));
    assert_eq!(
        (cell.get_mut().copied(), cell.take(), cell.into_inner()),
        (Some(3), Some(3), None)
    );
}

#[test]
fn a_panic_in_once_is_told() {
    let (once, cell) = (Once::new(), OnceLock::new());
    let panics = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    assert!(panics(&|| once.call_once(|| panic!("first"))));
    assert!(panics(&|| once.call_once(|| ())) && panics(&|| once.wait()));
    once.call_once_force(|| ());
    assert!(once.is_completed());
    assert!(panics(
        &|| _ = cell.get_or_init(|| if true { panic!("first") } else { 1 })
    ));
    assert_eq!(*cell.get_or_init(|| 2), 2);
    let lazy: LazyLock<u32> = LazyLock::new(|| panic!("first"));
    assert!(panics(&|| _ = LazyLock::force(&lazy)) && panics(&|| _ = LazyLock::force(&lazy)));
}

#[test]
fn all_are_at_a_barrier() {
    let (barrier, steps, leaders) = (Barrier::new(4), AtomicU32::new(0), AtomicU32::new(0));
    on_threads(4, |_| {
        for phase in 1..=500 {
            steps.fetch_add(1, SeqCst);
            if barrier.wait().is_leader() {
                leaders.fetch_add(1, SeqCst);
            }
            assert!(steps.load(SeqCst) >= 4 * phase);
        }
    });
    assert_eq!((steps.into_inner(), leaders.into_inner()), (2000, 500));
}

#[test]
fn permits_are_given_back() {
    let (two, inside) = (Semaphore::new(2), AtomicU32::new(0));
    on_threads(5, |_| {
        for _ in 0..1000 {
            let _permit = two.acquire();
            assert!(inside.fetch_add(1, SeqCst) < 2);
            inside.fetch_sub(1, SeqCst);
        }
    });
    assert_eq!(two.available(), 2);
    two.acquire().forget();
    two.add(3);
    assert_eq!(two.available(), 4);
}

#[test]
fn the_last_owner_drops_the_value() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    struct Counted(u32);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
        }
    }
    let mut first = Arc::new(Counted(5));
    on_threads(4, |_| {
        for _ in 0..1000 {
            assert_eq!(first.clone().0, 5);
        }
    });
    assert_eq!((Arc::strong_count(&first), DROPS.load(SeqCst)), (1, 0));
    Arc::get_mut(&mut first).unwrap().0 = 6;
    let second = first.clone();
    assert!(Arc::ptr_eq(&first, &second) && Arc::as_ptr(&first) == Arc::as_ptr(&second));
    assert!(Arc::get_mut(&mut first).is_none());
    let second = Arc::try_unwrap(second).map(|_| ()).unwrap_err();
    drop(first);
    assert_eq!(
        (
            second.0,
            Arc::into_inner(second).map(|value| value.0),
            DROPS.load(SeqCst)
        ),
        (6, Some(6), 1)
    );
}

/// 6 threads, each in one of two groups or at the top, in 100 phases.
#[test]
fn a_phase_ends_for_a_whole_tree_at_once() {
    static TOP: Phaser = Phaser::new(4);
    static GROUPS: [Phaser; 2] = [Phaser::under(&TOP, 2), Phaser::under(&TOP, 2)];
    let (arrived, last) = (AtomicU32::new(0), AtomicU32::new(0));
    on_threads(6, |thread| {
        let phaser = GROUPS.get(thread as usize / 2).unwrap_or(&TOP);
        for phase in 0..100 {
            arrived.fetch_add(1, SeqCst);
            if (thread + phase) % 4 == 0 {
                last.fetch_add(phaser.arrive_and_wait().into(), SeqCst);
            } else {
                let (arrival, seen) = (phaser.arrive(), phaser.phase());
                assert!(seen == phase || seen == phase + 1);
                match (thread + phase) % 4 {
                    1 => while !arrival.is_over() {},
                    2 => arrival.wait(),
                    _ => crate::future::block_on(arrival.wait_async()),
                }
            }
            assert!(arrived.load(SeqCst) >= 6 * (phase + 1));
        }
    });
    assert_eq!(TOP.phase(), 100);
    assert!(last.load(SeqCst) <= 100);
}

/// Thread n takes part in n + 1 phases, and leaves in the next one.
#[test]
fn parties_join_and_leave() {
    let top = Phaser::new(2);
    let group = Phaser::under(&top, 1);
    (1..4).for_each(|_| group.join());
    on_threads(5, |thread| {
        if thread == 4 {
            // The group is complete in phases 0 to 4. Then this thread is alone.
            (0..5).for_each(|_| top.arrive().wait());
            assert!(top.arrive_and_wait());
            return;
        }
        for phase in 0..=thread {
            group.arrive().wait();
            assert!(group.phase() > phase);
        }
        group.leave();
    });
    assert_eq!((top.phase(), top.parties(), group.parties()), (6, 1, 0));
    assert_eq!(format!("{group:?}"), "Phaser { phase: 6, parties: 0, pending: 0, .. }");
}

#[test]
fn a_name_is_one_phaser() {
    let phaser = Phaser::named("tests", 2);
    on_threads(2, |_| {
        assert!(Phaser::named("tests", 2).arrive_and_wait() || phaser.phase() == 1)
    });
    let other = std::panic::catch_unwind(|| _ = Phaser::named("tests", 3));
    let said = *other.unwrap_err().downcast::<std::string::String>().unwrap();
    assert_eq!(said, "the phaser `tests` is for 2 parties, not for 3");
}

#[test]
#[should_panic = "more arrive than take part"]
fn a_thread_too_many_is_told() {
    let phaser = Phaser::new(0);
    phaser.leave();
}
