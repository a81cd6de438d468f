//! Compute kernels. Each thread does its share and returns a checksum of it; `../../kernels.h` has
//! the same algorithms in CUDA C++.
//!
//! Kernels are plain exports, because they have arguments: `n` says how much work there is, `expect`
//! what `finish` checks.

#![no_std]

#[path = "../../finish.rs"]
mod finish;
mod mandelbrot;
mod nbody;
mod puzzle;
mod sha256;
mod spmd;

use finish::finish;
use gpu_std::thread_id;

/// A state for xorshift32 of its own for each thread, never 0.
fn seed(id: u32) -> u32 {
    (0x2545_f491 ^ id.wrapping_mul(0x9e37_79b1)) | 1
}

/// The next state of xorshift32.
#[inline(always)]
fn xorshift(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ x << 5
}

/// The sum of `n` numbers of xorshift32: integer operations and nothing else.
#[unsafe(no_mangle)]
extern "C" fn hash(n: u32, expect: i64) -> u32 {
    let mut x = seed(thread_id());
    let mut sum = 0u32;
    for _ in 0..n {
        x = xorshift(x);
        sum = sum.wrapping_add(x);
    }
    finish(sum, expect)
}

/// How many of `n` random points of the unit square lie in the circle: pi / 4 of them.
#[unsafe(no_mangle)]
extern "C" fn monte_carlo(n: u32, expect: i64) -> u32 {
    const SCALE: f64 = 1.0 / 4_294_967_296.0;
    let mut state = seed(thread_id());
    let mut inside = 0u32;
    for _ in 0..n {
        state = xorshift(state);
        let x = state as f64 * SCALE;
        state = xorshift(state);
        let y = state as f64 * SCALE;
        inside += u32::from(x * x + y * y <= 1.0);
    }
    finish(inside, expect)
}
