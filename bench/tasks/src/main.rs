//! What tasks, channels and barriers cost: see README.md.
//!
//! As a guest, each kernel is a row; the run's input is the size of its work. Natively, `tasks NAME SIZE` does the same
//! by rayon, crossbeam and std. Both print the result and milliseconds.

#[cfg(target_arch = "wasm32")]
mod guest;
#[cfg(not(target_arch = "wasm32"))]
mod native;

/// A Fibonacci number by calls.
fn fib(n: u32) -> u64 {
    if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
}

/// Below this, `fib` is called.
const CUTOFF: u32 = 10;

/// Work of some microseconds.
fn collatz(n: u64) -> u64 {
    let (mut n, mut steps) = (n + 1, 0);
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

/// Numbers in no order.
fn scrambled(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) >> 20
}

fn main() {
    #[cfg(not(target_arch = "wasm32"))]
    native::main();
}
