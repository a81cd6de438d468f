//! `native NAME THREADS ROUNDS`: the same work on all cores. Prints the sum and the milliseconds.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let work = ordinary::WORK
        .iter()
        .find(|(name, _)| *name == args[0])
        .expect("a name of WORK")
        .1;
    let (threads, rounds): (u32, u32) = (args[1].parse().expect("a number"), args[2].parse().expect("a number"));
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let (next, total) = (AtomicU32::new(0), AtomicU32::new(0));
    const PIECE: u32 = 64;
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(PIECE, Ordering::Relaxed);
                    if first >= threads {
                        break;
                    }
                    for id in first..threads.min(first + PIECE) {
                        total.fetch_add(work(id, rounds), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    println!("{} {ms:.1}", total.load(Ordering::Relaxed));
}
