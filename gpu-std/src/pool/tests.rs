use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

#[test]
fn every_place_is_taken_once_from_whichever_list() {
    for (places, lists) in [(1, 1), (7, 3), (8, 8), (5, 9), (64, 4)] {
        let pool = Pool::of_lists(places, lists, Per::Warp);
        assert!(pool.lists.len() <= lists && pool.capacity() == places);
        for _ in 0..3 {
            let values: Vec<_> = (0..places).map(|n| pool.insert(n).unwrap()).collect();
            assert_eq!(pool.insert(99).unwrap_err(), 99);
            let mut slots: Vec<u32> = values.iter().map(|value| value.slot).collect();
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..places as u32));
            assert!(values.iter().enumerate().all(|(n, value)| **value == n));
        }
    }
    assert!(Pool::of_lists(0, 3, Per::Thread).insert(1).is_err());
    assert!(Pool::new(3, Per::Device).insert(1).is_ok());
}

#[test]
fn values_are_dropped_once_or_come_out() {
    static LIVE: AtomicU32 = AtomicU32::new(0);
    struct Counted(String);
    impl Counted {
        fn new(name: &str) -> Counted {
            LIVE.fetch_add(1, SeqCst);
            Counted(name.to_string())
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            LIVE.fetch_sub(1, SeqCst);
            assert_ne!(self.0, "panics");
        }
    }
    let pool = Pool::new(2, Per::Thread);
    let first = pool.insert(Counted::new("first")).ok().unwrap();
    drop(pool.insert(Counted::new("second")).ok().unwrap());
    assert_eq!(LIVE.load(SeqCst), 1);
    let first = first.into_inner();
    assert_eq!((first.0.as_str(), LIVE.load(SeqCst)), ("first", 1));
    drop(first);
    let panics = pool.insert(Counted::new("panics")).ok().unwrap();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(panics)));
    assert!(result.is_err());
    // Its place is free again.
    let values = [pool.insert(Counted::new("a")), pool.insert(Counted::new("b"))];
    assert!(values.iter().all(|value| value.is_ok()));
    drop(values);
    assert_eq!(LIVE.load(SeqCst), 0);
    assert_eq!(format!("{pool:?}"), "Pool { capacity: 2, per: Thread, .. }");
}

#[test]
fn threads_never_have_the_same_place() {
    let pool = Pool::of_lists(6, 2, Per::Warp);
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let pool = &pool;
            scope.spawn(move || {
                for n in 0..5000 {
                    let Ok(mut value) = pool.insert(thread << 32 | n) else {
                        continue;
                    };
                    *value += 1;
                    std::thread::yield_now();
                    assert_eq!(value.into_inner(), (thread << 32 | n) + 1);
                }
            });
        }
    });
    assert!(
        (0..6)
            .map(|n| pool.insert(n))
            .collect::<Vec<_>>()
            .iter()
            .all(|value| value.is_ok())
    );
}
