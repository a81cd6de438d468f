//! Programs of rayon and of std's threads as people write them: `parallel NAME SIZE`. Each prints its result and how many
//! milliseconds the work took, without the start of the pool. The same source runs natively and by gpu-run.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::Builder;
use std::time::Instant;

use rayon::prelude::*;

/// Bytes of the stacks of threads that do little.
const SMALL_STACK: usize = 16 << 10;

/// A number that looks random.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn sum(size: u64) -> u64 {
    (0..size)
        .into_par_iter()
        .map(|i| (0..64).fold(i, |x, _| mix(x)))
        .reduce(|| 0, u64::wrapping_add)
}

fn quicksort<T: PartialOrd + Send>(values: &mut [T]) {
    if values.len() <= 1 {
        return;
    }
    let pivot = values.len() - 1;
    let mut place = 0;
    for i in 0..pivot {
        if values[i] <= values[pivot] {
            values.swap(i, place);
            place += 1;
        }
    }
    values.swap(place, pivot);
    let (low, high) = values.split_at_mut(place);
    rayon::join(|| quicksort(low), || quicksort(&mut high[1..]));
}

/// A sum that tells whether values are in order.
fn checksum(values: &[u64]) -> u64 {
    values.iter().fold(0u64, |sum, x| sum.wrapping_mul(31).wrapping_add(*x))
}

fn sort(size: u64) -> u64 {
    let mut values: Vec<u64> = (0..size).map(mix).collect();
    quicksort(&mut values);
    checksum(&values)
}

fn par_sort(size: u64) -> u64 {
    let mut values: Vec<u64> = (0..size).into_par_iter().map(mix).collect();
    values.par_sort_unstable();
    checksum(&values)
}

fn queens_below(row: u32, columns: u32, left: u32, right: u32, size: u32) -> u64 {
    if row == size {
        return 1;
    }
    let free = !(columns | left | right) & ((1 << size) - 1);
    let below = |column: u32| {
        let bit = 1 << column;
        queens_below(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1, size)
    };
    let is_free = |column: &u32| free >> column & 1 == 1;
    match row < 4 {
        true => (0..size).into_par_iter().filter(is_free).map(below).sum(),
        false => (0..size).filter(is_free).map(below).sum(),
    }
}

fn queens(size: u64) -> u64 {
    queens_below(0, 0, 0, 0, size as u32)
}

fn nbody(size: u64) -> u64 {
    let start = |i: u64| (mix(i) >> 40) as f64 / 1000.0;
    let mut bodies: Vec<([f64; 3], [f64; 3])> = (0..size)
        .map(|i| ([start(3 * i), start(3 * i + 1), start(3 * i + 2)], [0.0; 3]))
        .collect();
    for _ in 0..4 {
        let forces: Vec<[f64; 3]> = bodies
            .par_iter()
            .map(|(at, _)| {
                bodies.iter().fold([0.0; 3], |mut sum, (other, _)| {
                    let d = [other[0] - at[0], other[1] - at[1], other[2] - at[2]];
                    let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01).sqrt();
                    (0..3).for_each(|k| sum[k] += d[k] / (r * r * r));
                    sum
                })
            })
            .collect();
        bodies.par_iter_mut().zip(&forces).for_each(|((at, speed), force)| {
            for k in 0..3 {
                speed[k] += 0.01 * force[k];
                at[k] += 0.01 * speed[k];
            }
        });
    }
    bodies.iter().fold(0, |sum, (at, _)| mix(sum ^ at[0].to_bits()))
}

fn mandelbrot(size: u64) -> u64 {
    let inside = |x: u64, y: u64| {
        let (a, b) = (3.0 * x as f64 / size as f64 - 2.0, 2.0 * y as f64 / size as f64 - 1.0);
        let (mut re, mut im, mut n) = (0.0, 0.0, 0u64);
        while n < 200 && re * re + im * im < 4.0 {
            (re, im) = (re * re - im * im + a, 2.0 * re * im + b);
            n += 1;
        }
        n
    };
    (0..size * size)
        .into_par_iter()
        .map(|i| inside(i % size, i / size))
        .sum()
}

fn words(size: u64) -> u64 {
    const WORDS: [&str; 12] = [
        "the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "and", "sleeps", "well",
    ];
    let line = |i: u64| {
        (0..12)
            .map(|k| WORDS[(mix(i * 12 + k) % 12) as usize])
            .collect::<Vec<_>>()
            .join(" ")
    };
    let lines: Vec<String> = (0..size).map(line).collect();
    let counts = lines
        .par_iter()
        .fold(HashMap::new, |mut counts: HashMap<&str, u64>, line| {
            line.split(' ').for_each(|word| *counts.entry(word).or_default() += 1);
            counts
        })
        .reduce(HashMap::new, |mut all, counts| {
            counts
                .into_iter()
                .for_each(|(word, count)| *all.entry(word).or_default() += count);
            all
        });
    WORDS
        .iter()
        .fold(0, |sum, word| mix(sum ^ counts.get(word).copied().unwrap_or(0)))
}

/// Threads that do nothing, joined by hundreds.
fn spawn(size: u64) -> u64 {
    let mut ended = 0;
    for _ in 0..size / 100 {
        let start = || Builder::new().stack_size(SMALL_STACK).spawn(|| black_box(1u64));
        let threads: Vec<_> = (0..100).map(|_| start().expect("there is room")).collect();
        ended += threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(0))
            .sum::<u64>();
    }
    ended
}

/// Threads that each take one lock 100 times.
fn mutex(size: u64) -> u64 {
    let total = Arc::new(Mutex::new(0u64));
    let work = |total: Arc<Mutex<u64>>| {
        let add = move || (0..100).for_each(|_| *total.lock().unwrap_or_else(|poison| poison.into_inner()) += 1);
        Builder::new()
            .stack_size(SMALL_STACK)
            .spawn(add)
            .expect("there is room")
    };
    let threads: Vec<_> = (0..size).map(|_| work(total.clone())).collect();
    threads.into_iter().for_each(|thread| _ = thread.join());
    *total.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Messages from 100 threads to one.
fn channel(size: u64) -> u64 {
    let (sender, receiver) = mpsc::channel::<u64>();
    let threads: Vec<_> = (0..100)
        .map(|i| {
            let sender = sender.clone();
            let send = move || (0..size / 100).for_each(|j| _ = sender.send(i * (size / 100) + j));
            Builder::new()
                .stack_size(SMALL_STACK)
                .spawn(send)
                .expect("there is room")
        })
        .collect();
    drop(sender);
    let sum = receiver.iter().fold(0u64, |sum, x| sum.wrapping_add(mix(x)));
    threads.into_iter().for_each(|thread| _ = thread.join());
    sum
}

/// Messages from 50 threads to 50, through a channel that has room for 64.
fn bounded(size: u64) -> u64 {
    let (sender, receiver) = crossbeam_channel::bounded::<u64>(64);
    let start = |work: Box<dyn FnOnce() -> u64 + Send>| {
        Builder::new()
            .stack_size(SMALL_STACK)
            .spawn(work)
            .expect("there is room")
    };
    let mut threads = Vec::new();
    for i in 0..50 {
        let (sender, receiver) = (sender.clone(), receiver.clone());
        threads.push(start(Box::new(move || {
            (0..size / 50).for_each(|j| _ = sender.send(i * (size / 50) + j));
            0
        })));
        threads.push(start(Box::new(move || {
            receiver.iter().fold(0u64, |sum, x| sum.wrapping_add(mix(x)))
        })));
    }
    drop((sender, receiver));
    threads
        .into_iter()
        .fold(0, |sum, thread| sum.wrapping_add(thread.join().unwrap_or(0)))
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let work = match args.get(1).map(String::as_str) {
        Some("sum") => sum,
        Some("quicksort") => sort,
        Some("par_sort") => par_sort,
        Some("queens") => queens,
        Some("nbody") => nbody,
        Some("mandelbrot") => mandelbrot,
        Some("words") => words,
        Some("spawn") => spawn,
        Some("mutex") => mutex,
        Some("channel") => channel,
        Some("bounded") => bounded,
        _ => panic!("parallel NAME SIZE"),
    };
    let size = args.get(2).and_then(|size| size.parse().ok()).unwrap_or(100);
    // The pool is there before the time begins.
    let threads = rayon::broadcast(|_| ()).len();
    let begin = Instant::now();
    let result = work(black_box(size));
    println!("{result} {:.3} {threads}", begin.elapsed().as_secs_f64() * 1e3);
}
