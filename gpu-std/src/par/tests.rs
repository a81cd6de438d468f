use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::string::String;
use std::sync::Mutex;
use std::vec;
use std::vec::Vec;

use super::*;
use crate::task;

#[test]
fn each_index_comes_once_and_in_order() {
    let mut seen = Vec::new();
    for_each(100, |i| seen.push(i));
    assert!(seen.iter().copied().eq(0..100));
    for_each(0, |_| panic!("there is none"));
}

#[test]
fn threads_share_a_queue() {
    for chunk in [0, 1, 7, 5000, usize::MAX] {
        let (queue, seen) = (Queue::new(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| queue.for_each(1000, chunk, |i| seen.lock().unwrap().push(i)));
            }
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort();
        assert!(seen.into_iter().eq(0..1000), "chunks of {chunk}");
    }
}

#[test]
fn the_only_thread_gets_the_result() {
    let largest = Reduction::new(AtomicU32::new(0));
    let scramble = |i: usize| (i as u32).wrapping_mul(2_654_435_769) >> 16;
    let expected = (0..100).map(scramble).max();
    assert_eq!(map_reduce(&largest, 100, 0, scramble, u32::max), expected);
}

/// In a run and outside of one.
fn both<R: Send + PartialEq + core::fmt::Debug>(f: impl Fn() -> R + Sync + Send) -> R {
    let alone = f();
    assert_eq!(task::run(&f), Some(f()));
    alone
}

#[test]
fn iterators_do_what_those_of_std_do() {
    let numbers: Vec<u64> = (0..10_007).map(|n| n * 7919 % 10_007).collect();
    let expected = |f: fn(&u64) -> bool| numbers.iter().copied().filter(f).collect::<Vec<_>>();
    assert_eq!(
        both(|| numbers.par_iter().copied().filter(|n| n % 3 == 0).collect::<Vec<_>>()),
        expected(|n| n % 3 == 0)
    );
    assert_eq!(both(|| numbers.par_iter().copied().collect::<Vec<_>>()), numbers);
    assert_eq!(both(|| numbers.par_iter().sum::<u64>()), numbers.iter().sum());
    assert_eq!(
        both(|| numbers.par_iter().filter_map(|n| n.checked_sub(9_000)).count()),
        1007
    );
    assert_eq!(
        both(|| numbers.par_iter().copied().max_by_key(|n| n % 1000)),
        numbers.iter().copied().max_by_key(|n| n % 1000)
    );
    assert_eq!(
        both(|| numbers.par_iter().copied().min_by_key(|n| n % 10)),
        numbers.iter().copied().min_by_key(|n| n % 10)
    );
    assert_eq!(
        both(|| (numbers.par_iter().min().copied(), numbers.par_iter().max().copied())),
        (Some(0), Some(10_006))
    );
    assert!(both(
        || numbers.par_iter().any(|n| *n == 5_000) && !numbers.par_iter().all(|n| *n == 5_000)
    ));
    assert_eq!(both(|| (0..5u64).into_par_iter().map(|n| n + 1).product::<u64>()), 120);
    let text = |n: u64| std::format!("{n},");
    let texts = both(|| numbers.par_iter().map(|n| text(*n)).reduce(String::new, |a, b| a + &b));
    assert_eq!(texts, numbers.iter().map(|n| text(*n)).collect::<String>());
    let odd = both(|| {
        numbers
            .par_iter()
            .fold(|| 0, |odd, n| odd + n % 2)
            .reduce(|| 0, |a, b| a + b)
    });
    assert_eq!(odd, 5003);
    let pairs = both(|| {
        numbers
            .par_iter()
            .rev()
            .skip(5)
            .take(20)
            .zip((0..20i32).into_par_iter())
            .enumerate()
            .map(|(i, (n, z))| (i, *n, z))
            .collect::<Vec<_>>()
    });
    assert!(
        pairs.into_iter().eq(numbers
            .iter()
            .rev()
            .skip(5)
            .take(20)
            .zip(0..20)
            .enumerate()
            .map(|(i, (n, z))| (i, *n, z)))
    );
    assert_eq!(both(|| (0..0u32).into_par_iter().max()), None);
    assert_eq!(
        both(|| (-3..3i64).into_par_iter().collect::<Vec<_>>()),
        [-3, -2, -1, 0, 1, 2]
    );
}

#[test]
fn slices_are_changed_in_place_and_by_chunks() {
    let mut numbers: Vec<u32> = (0..5000).collect();
    task::run(|| {
        numbers.par_iter_mut().for_each(|n| *n += 1);
        numbers
            .par_chunks_mut(7)
            .enumerate()
            .for_each(|(i, chunk)| chunk.iter_mut().for_each(|n| *n += 10 * i as u32));
    });
    assert!(numbers.iter().copied().eq((0..5000).map(|n| n + 1 + n / 7 * 10)));
    assert_eq!(both(|| numbers.par_chunks(7).map(<[u32]>::len).max()), Some(7));
    assert_eq!(
        both(|| numbers.par_windows(2).filter(|pair| pair[0] < pair[1]).count()),
        4999
    );
    assert_eq!(both(|| [1].par_windows(2).count()), 0);
}

#[test]
fn items_of_a_vector_go_once() {
    let texts = || (0..1000).map(|n| std::format!("{n}")).collect::<Vec<_>>();
    let lengths = both(|| texts().into_par_iter().map(|text| text.len()).sum::<usize>());
    assert_eq!(lengths, 10 + 180 + 2700);
    // Those that nobody asks for are dropped: a leak or a double free would be found by the sanitizers.
    assert!(both(|| texts().into_par_iter().any(|text| text == "3")));
}

#[test]
fn sorts_are_right_and_stable() {
    for len in [0, 1, 63, 64, 1000, 10_007] {
        let items: Vec<(u32, usize)> = (0..len)
            .map(|i| ((i as u32).wrapping_mul(2_654_435_769) >> 24, i))
            .collect();
        let mut expected = items.clone();
        expected.sort_by_key(|item| item.0);
        assert_eq!(
            both(|| {
                let mut sorted = items.clone();
                sorted.par_sort_by_key(|item| item.0);
                sorted
            }),
            expected
        );
        let mut boxes: Vec<std::boxed::Box<u32>> = items.iter().map(|item| item.0.into()).collect();
        task::run(|| boxes.par_sort_unstable());
        assert!(boxes.iter().map(|n| **n).eq(expected.iter().map(|item| item.0)));
    }
    // A comparison that is none leaves all items there too, whether it is found out or not.
    let mut texts: Vec<String> = (0..5000).map(|n| std::format!("{n}")).collect();
    let calls = AtomicU32::new(1);
    let _panics = task::catch(|| {
        task::run(|| {
            texts.par_sort_by(
                |_, _| match calls.fetch_add(1, SeqCst).wrapping_mul(2_654_435_769) >> 30 {
                    0 => core::cmp::Ordering::Equal,
                    1 => core::cmp::Ordering::Less,
                    _ => core::cmp::Ordering::Greater,
                },
            )
        })
    });
    texts.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert!(texts.iter().enumerate().all(|(i, text)| *text == std::format!("{i}")));
    // A comparison that panics leaves all items there.
    let mut items: Vec<String> = (0..2000).map(|n| std::format!("{}", n * 7919 % 2000)).collect();
    let calls = AtomicU32::new(0);
    let panicked = task::catch(|| {
        task::run(|| {
            items.par_sort_by(|a, b| {
                assert!(calls.fetch_add(1, SeqCst) < 15_000, "enough");
                a.cmp(b)
            })
        })
    });
    assert!(panicked.is_err());
    items.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert!(items.iter().enumerate().all(|(i, text)| *text == std::format!("{i}")));
}

#[test]
fn scans_and_histograms() {
    for len in [0, 1, 5, 3000] {
        let items: Vec<u64> = (1..=len).collect();
        let sums = both(|| {
            let mut sums = items.clone();
            inclusive_scan(&mut sums, |a, b| a + b);
            sums
        });
        assert!(sums.iter().copied().eq((1..=len).map(|n| n * (n + 1) / 2)));
        let (places, all) = both(|| {
            let mut places = items.clone();
            let all = exclusive_scan(&mut places, 7, |a, b| a + b);
            (places, all)
        });
        assert!(places.iter().copied().eq((1..=len).map(|n| 7 + n * (n - 1) / 2)));
        assert_eq!(all, 7 + len * (len + 1) / 2);
    }
    assert_eq!(
        both(|| histogram((0..1000usize).into_par_iter().map(|n| n % 5), 4)),
        vec![200; 4]
    );
}
