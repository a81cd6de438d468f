//! Locks, and what is made of them.

use core::time::Duration;

use super::{Plain, check, on_threads};
use crate::sync::{Arc, Barrier, Condvar, Meeting, Mutex, Once, OnceLock, Phaser, RawLock, RwLock, Semaphore};
use crate::word::Word32;

#[test]
fn a_lock_lets_one_in() {
    check(|| {
        let (lock, mutex, spin) = (RawLock::new(), Mutex::new(()), Word32::new(0));
        let counts = [const { Plain(Word32::new(0)) }; 3];
        on_threads(3, |_| {
            lock.with(|| counts[0].add(1));
            let guard = mutex.lock().unwrap();
            counts[1].add(1);
            drop(guard);
            spin.lock();
            counts[2].add(1);
            spin.unlock();
            if lock.try_with(|| counts[0].add(1)).is_some() {
                lock.with(|| counts[0].add(u32::MAX));
            }
        });
        counts.iter().for_each(|count| assert_eq!(count.get(), 3));
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    check(|| {
        let (lock, readers) = (RwLock::new(()), Word32::new(0));
        let pair = [Plain::default(), Plain::default()];
        on_threads(4, |thread| {
            if thread < 2 {
                let guard = lock.write().unwrap();
                assert_eq!(readers.get(), 0);
                pair.iter().for_each(|word| word.add(1));
                drop(guard);
            } else {
                let guard = lock.read().unwrap();
                readers.add(1);
                assert_eq!(pair[0].get(), pair[1].get());
                readers.sub(1);
                drop(guard);
            }
            if let Ok(guard) = lock.try_write() {
                pair.iter().for_each(|word| word.add(1));
                drop(guard);
            }
        });
        assert_eq!(pair[0].get(), pair[1].get());
    });
}

/// A buffer of one place: all that is put in is taken out, by whichever thread.
#[test]
fn no_wake_up_of_a_condition_is_lost() {
    check(|| {
        let (place, filled, emptied) = (Mutex::new(None), Condvar::new(), Condvar::new());
        let taken = on_threads(4, |thread| {
            if thread % 2 == 0 {
                for n in 0..2 {
                    let mut place = emptied
                        .wait_while(place.lock().unwrap(), |place| place.is_some())
                        .unwrap();
                    *place = Some(thread + n);
                    drop(place);
                    filled.notify_one();
                }
                return 0;
            }
            let take = |_| {
                let mut place = filled
                    .wait_while(place.lock().unwrap(), |place| place.is_none())
                    .unwrap();
                let value = place.take();
                drop(place);
                emptied.notify_one();
                value.unwrap()
            };
            (0..2).map(take).sum::<u32>()
        });
        assert_eq!(taken.iter().sum::<u32>(), 1 + 2 + 3);
    });
}

/// A notification of all, and waits that end by themselves.
#[test]
fn waits_end_by_time_or_by_notification() {
    check(|| {
        let (open, opened) = (Mutex::new(false), Condvar::new());
        on_threads(3, |thread| match thread {
            0 => {
                *open.lock().unwrap() = true;
                opened.notify_all();
            }
            1 => drop(opened.wait_while(open.lock().unwrap(), |open| !*open).unwrap()),
            _ => {
                let wait = opened.wait_timeout_while(open.lock().unwrap(), Duration::from_micros(5), |open| !*open);
                let (guard, result) = wait.unwrap();
                assert!(*guard || result.timed_out());
            }
        });
    });
}

#[test]
fn nobody_passes_a_barrier_early() {
    fn phases(threads: u32, wait: impl Fn() -> bool + Sync) {
        let (arrived, leaders) = (Word32::new(0), Word32::new(0));
        on_threads(threads, |_| {
            for phase in 1..=3 {
                arrived.add(1);
                leaders.add(u32::from(wait()));
                assert!(arrived.get() >= phase * threads);
            }
        });
        assert_eq!(leaders.get(), 3);
    }
    check(|| {
        let barrier = Barrier::new(3);
        phases(3, || barrier.wait().is_leader());
        let meeting = Meeting::new();
        phases(3, || meeting.wait(3));
    });
}

/// A tree of two groups, of which one has a thread that leaves after the first phase.
#[test]
fn a_phase_ends_for_a_whole_tree_at_once() {
    check(|| {
        let top = Phaser::new(2);
        let groups = [Phaser::under(&top, 1), Phaser::under(&top, 2)];
        let arrived = Word32::new(0);
        on_threads(3, |thread| {
            let group = &groups[usize::from(thread > 0)];
            for phase in 0..3 {
                arrived.add(1);
                if thread == 2 && phase == 1 {
                    return group.leave();
                }
                group.arrive().wait();
                assert!(arrived.get() >= [3, 6, 8][phase]);
            }
        });
        assert_eq!((top.phase(), groups[1].parties()), (3, 1));
    });
}

#[test]
fn what_happens_once_happens_once() {
    check(|| {
        let (once, cell, calls) = (Once::new(), OnceLock::new(), Plain::default());
        let found = on_threads(3, |thread| {
            once.call_once(|| calls.add(1));
            assert_eq!(calls.get(), 1);
            *cell.get_or_init(|| thread)
        });
        assert!(found.iter().all(|value| *value == found[0]));
    });
}

#[test]
fn a_semaphore_lets_so_many_in() {
    check(|| {
        let (semaphore, inside) = (Semaphore::new(2), Word32::new(0));
        on_threads(4, |_| {
            let permit = semaphore.acquire();
            assert!(inside.add(1) < 2);
            inside.sub(1);
            drop(permit);
        });
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn the_last_owner_drops() {
    struct Dropped<'d>(&'d Word32);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.add(1);
        }
    }
    check(|| {
        let drops = Word32::new(0);
        let shared = Arc::new(Dropped(&drops));
        let clones = [0; 2].map(|_| shared.clone());
        on_threads(3, |thread| match thread {
            0 => assert_eq!(drops.get(), 0),
            _ => drop(clones[thread as usize - 1].clone()),
        });
        assert_eq!(drops.get(), 0);
        let places = clones.map(|clone| Mutex::new(Some(clone)));
        drop(shared);
        on_threads(2, |thread| drop(places[thread as usize].lock().unwrap().take()));
        assert_eq!(drops.get(), 1);
    });
}
