//! Streaming kernels over 4 GiB of linear memory. The arrays follow the first page, which holds the
//! statics; neighbouring threads touch neighbouring elements.
//!
//! One run fills the arrays, goes over them `rounds` times and takes a checksum. The difference of
//! two runs of different `rounds` is the time of the rounds alone. A thread touches only elements of
//! its own, so the threads need no barrier.

#![no_std]

#[path = "../../finish.rs"]
mod finish;

use finish::finish;
use gpu_std::{thread_count, thread_id};

/// Address of the first array.
const BASE: u32 = 65536;

/// A load of the element `i` of an array at address `array`.
#[inline(always)]
fn load<T: Copy>(array: u32, i: u32) -> T {
    // SAFETY: the address is aligned and behind all that the compiler placed; the module checks it
    // against the memory's size, as it does every address.
    unsafe { ((array + 4 * i) as *const T).read() }
}

/// A store to the element `i` of an array at address `array`.
#[inline(always)]
fn store<T>(array: u32, i: u32, value: T) {
    // SAFETY: as in `load`; no other thread touches the element.
    unsafe { ((array + 4 * i) as *mut T).write(value) }
}

/// y = 0.5 x + y, `rounds` times, on two arrays of `len` f32 each.
#[unsafe(no_mangle)]
extern "C" fn saxpy(rounds: u32, len: u32, expect: i64) -> u32 {
    let (first, step) = (thread_id(), thread_count());
    let (x, y) = (BASE, BASE + 4 * len);
    let mut i = first;
    while i < len {
        store(x, i, (i % 1021) as f32);
        store(y, i, (i % 509) as f32);
        i += step;
    }
    for _ in 0..rounds {
        i = first;
        // Four elements at a time: all loads before the first store, so that many are under way.
        while i + 3 * step < len {
            let at = [i, i + step, i + 2 * step, i + 3 * step];
            let xs: [f32; 4] = at.map(|i| load(x, i));
            let ys: [f32; 4] = at.map(|i| load(y, i));
            for k in 0..4 {
                store(y, at[k], 0.5 * xs[k] + ys[k]);
            }
            i += 4 * step;
        }
        while i < len {
            store(y, i, 0.5 * load::<f32>(x, i) + load::<f32>(y, i));
            i += step;
        }
    }
    let mut sum = 0u32;
    i = first;
    while i < len {
        sum = sum.wrapping_add(load(y, i));
        i += step;
    }
    finish(sum, expect)
}

/// The sum of `len` u32, `rounds` times.
#[unsafe(no_mangle)]
extern "C" fn reduce(rounds: u32, len: u32, expect: i64) -> u32 {
    let (first, step) = (thread_id(), thread_count());
    let mut i = first;
    while i < len {
        store(BASE, i, i.wrapping_mul(0x9e37_79b1));
        i += step;
    }
    let mut sum = 0u32;
    for _ in 0..rounds {
        // Otherwise a compiler could sum up once and multiply.
        sum = sum.rotate_left(1);
        i = first;
        // Eight loads under way at a time.
        while i + 7 * step < len {
            let parts: [u32; 8] = core::array::from_fn(|k| load(BASE, i + k as u32 * step));
            sum = parts.into_iter().fold(sum, u32::wrapping_add);
            i += 8 * step;
        }
        while i < len {
            sum = sum.wrapping_add(load(BASE, i));
            i += step;
        }
    }
    finish(sum, expect)
}
