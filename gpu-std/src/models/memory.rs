//! What is freed when nobody reads it any more.

use std::boxed::Box;
use std::sync::Arc;

use super::{Plain, check, on_threads};
use crate::pool::{Per, Pool};
use crate::reclaim::{Atomic, ByHazard, Guard, Hazard, pin};
use crate::word::Word32;

/// A value that tells when it is dropped.
struct Told {
    dropped: Arc<Word32>,
    alive: Word32,
}

const ALIVE: u32 = 0xa11e;

impl Told {
    fn new(dropped: &Arc<Word32>) -> Box<Told> {
        Box::new(Told {
            dropped: dropped.clone(),
            alive: Word32::new(ALIVE),
        })
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.alive.set(0);
        self.dropped.add(1);
    }
}

#[test]
fn what_is_read_under_a_guard_stays_and_goes_later() {
    check(|| {
        let dropped = Arc::new(Word32::new(0));
        let shared: Atomic<Told> = Atomic::null();
        on_threads(3, |thread| {
            for _ in 0..2 {
                let guard = pin();
                if thread == 0 {
                    if let Some(old) = shared.swap(Some(Told::new(&dropped))) {
                        guard.retire(old);
                    }
                } else if let Some(value) = shared.load(&guard) {
                    assert_eq!((value.alive.get(), value.alive.get()), (ALIVE, ALIVE));
                }
                drop(guard);
                Guard::collect();
            }
        });
        drop(shared);
        Guard::collect();
        assert_eq!(dropped.get(), 2);
    });
}

#[test]
fn what_a_hazard_pointer_reads_stays_and_goes_later() {
    check(|| {
        let dropped = Arc::new(Word32::new(0));
        let shared: Atomic<Told, ByHazard> = Atomic::null();
        on_threads(3, |thread| {
            let mut hazard = Hazard::new();
            for _ in 0..2 {
                if thread == 0 {
                    if let Some(old) = shared.swap(Some(Told::new(&dropped))) {
                        Hazard::retire(old);
                    }
                    Hazard::collect();
                } else if let Some(value) = hazard.load(&shared) {
                    assert_eq!((value.alive.get(), value.alive.get()), (ALIVE, ALIVE));
                }
            }
        });
        drop(shared);
        Hazard::collect();
        assert_eq!(dropped.get(), 2);
    });
}

/// The list of free places: a slot that comes back while another thread is about to take it.
#[test]
fn a_place_of_a_pool_has_one_owner() {
    check(|| {
        let pool = Pool::of_lists(2, 1, Per::Device);
        let owners = [Plain::default(), Plain::default()];
        on_threads(3, |_| {
            for _ in 0..2 {
                let Ok(value) = pool.insert(0u32) else { continue };
                let other = pool.insert(0u32);
                let owner = &owners[value.slot as usize];
                owner.add(1);
                assert_eq!(owner.get(), 1);
                owner.add(u32::MAX);
                drop(value);
                drop(other);
            }
        });
        let all = [pool.insert(0), pool.insert(1)];
        assert!(all.iter().all(|value| value.is_ok()));
    });
}
