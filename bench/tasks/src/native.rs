//! The same by rayon, crossbeam and std.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rayon::prelude::*;

use crate::{CUTOFF, collatz, fib, scrambled};

fn fib_by_joins(n: u32) -> u64 {
    if n < CUTOFF {
        return fib(n);
    }
    let (a, b) = rayon::join(|| fib_by_joins(n - 1), || fib_by_joins(n - 2));
    a + b
}

/// Half of the threads send, half receive; `batch` numbers at once.
fn messages(size: u64, batch: u64) -> u64 {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get() as u64 / 2);
    let (sender, receiver) = crossbeam_channel::bounded::<Vec<u64>>(1024);
    let sum = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (sender, receiver, sum) = (sender.clone(), receiver.clone(), &sum);
            scope.spawn(move || {
                let share = size / threads;
                for first in (0..share).step_by(batch as usize) {
                    let values = (first..share.min(first + batch)).map(|n| thread * share + n);
                    sender.send(values.collect()).unwrap();
                }
            });
            scope.spawn(move || {
                let mine: u64 = receiver.iter().flatten().sum();
                sum.fetch_add(mine, Relaxed);
            });
        }
        drop((sender, receiver));
    });
    sum.into_inner()
}

pub fn main() {
    let mut args = std::env::args().skip(1);
    let (name, size) = (args.next().unwrap(), args.next().unwrap().parse::<u64>().unwrap());
    // The pool's threads are there before.
    rayon::join(|| (), || ());
    let mut items: Vec<u64> = match name.as_str() {
        "sort" => (0..size).map(scrambled).collect(),
        _ => Vec::new(),
    };
    let begin = Instant::now();
    let result = match name.as_str() {
        "fib" => fib_by_joins(size as u32),
        "spawn" => {
            let sum = AtomicU64::new(0);
            rayon::scope(|scope| {
                for n in 0..size {
                    let sum = &sum;
                    scope.spawn(move |_| {
                        sum.fetch_add(n % 7, Relaxed);
                    });
                }
            });
            sum.into_inner()
        }
        "balanced" => (0..size).into_par_iter().map(collatz).sum(),
        "sort" => {
            items.par_sort_unstable();
            items
                .iter()
                .step_by(1000)
                .fold(0u64, |hash, n| hash.wrapping_mul(31).wrapping_add(*n))
        }
        "messages" => messages(size, 64),
        "one_message" => messages(size, 1),
        "barrier" => {
            let threads = rayon::current_num_threads();
            let barrier = Barrier::new(threads);
            std::thread::scope(|scope| {
                (0..threads).for_each(|_| drop(scope.spawn(|| (0..size).for_each(|_| drop(barrier.wait())))));
            });
            size
        }
        _ => {
            eprintln!("no such row: {name}");
            std::process::exit(2);
        }
    };
    println!("{result} {:.3}", begin.elapsed().as_secs_f64() * 1e3);
}
