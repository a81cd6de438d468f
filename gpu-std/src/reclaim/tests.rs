use std::boxed::Box;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;

/// A value that says whether it is there, and counts those that are.
struct Counted {
    alive: AtomicU32,
    live: &'static AtomicU32,
}

impl Counted {
    fn new(live: &'static AtomicU32) -> Box<Counted> {
        live.fetch_add(1, SeqCst);
        Box::new(Counted {
            alive: AtomicU32::new(0xa11e),
            live,
        })
    }
    fn check(&self) {
        assert_eq!(self.alive.load(SeqCst), 0xa11e);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.alive.store(0, SeqCst);
        self.live.fetch_sub(1, SeqCst);
    }
}

#[test]
fn what_is_read_under_a_guard_stays_and_goes_later() {
    static LIVE: AtomicU32 = AtomicU32::new(0);
    let shared = Atomic::null();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    let guard = pin();
                    if let Some(old) = shared.swap(Some(Counted::new(&LIVE))) {
                        guard.retire(old);
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..5000 {
                    let guard = pin();
                    if let Some(value) = shared.load(&guard) {
                        value.check();
                        std::thread::yield_now();
                        value.check();
                    }
                }
            });
        }
    });
    drop(shared);
    // Guards of other tests may hold some back for a while.
    for _ in 0..1000 {
        Guard::collect();
        if LIVE.load(SeqCst) == 0 {
            return;
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    panic!("{} values were never freed", LIVE.load(SeqCst));
}

#[test]
fn nothing_is_freed_under_a_guard() {
    static LIVE: AtomicU32 = AtomicU32::new(0);
    let shared = Atomic::new(*Counted::new(&LIVE));
    let outer = pin();
    let seen = shared.load(&outer).unwrap();
    {
        let guard = pin();
        let old = shared.swap(None).unwrap();
        guard.retire(old);
    }
    (0..10).for_each(|_| Guard::collect());
    seen.check();
    assert!(shared.load(&outer).is_none());
}

#[test]
fn a_replacement_takes_what_was_seen_alone() {
    let shared = Atomic::new(1);
    let guard = pin();
    let seen = shared.load(&guard);
    let old = shared.replace(seen, Some(Box::new(2))).unwrap().unwrap();
    assert_eq!(*old, 1);
    let failed = shared.replace(seen, Some(Box::new(3))).unwrap_err();
    assert_eq!(failed, Some(Box::new(3)));
    guard.retire(old);
    assert_eq!(shared.load(&guard), Some(&2));
}

#[test]
fn hazard_pointers_keep_what_they_name() {
    static LIVE: AtomicU32 = AtomicU32::new(0);
    let shared: Atomic<Counted, ByHazard> = Atomic::null();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    if let Some(old) = shared.swap(Some(Counted::new(&LIVE))) {
                        Hazard::retire(old);
                    }
                }
            });
            scope.spawn(|| {
                let mut hazard = Hazard::new();
                for _ in 0..5000 {
                    if let Some(value) = hazard.load(&shared) {
                        value.check();
                        std::thread::yield_now();
                        value.check();
                    }
                }
            });
        }
    });
    let last = shared.swap(None).unwrap();
    Hazard::retire(last);
    Hazard::collect();
    assert_eq!(LIVE.load(SeqCst), 0);
}
