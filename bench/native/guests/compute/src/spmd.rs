//! A small independent job for each thread, with memory of its own: 16 numbers are made, sorted,
//! summed as floats and run through a CRC.

use crate::finish::finish;
use crate::{seed, xorshift};
use core::cell::UnsafeCell;
use gpu_std::thread_id;

const LEN: usize = 16;
/// Threads whose numbers lie side by side, as a warp reads them best.
const GROUP: usize = 32;
/// Groups of threads that have memory of their own.
const GROUPS: usize = 270_336 / GROUP;

/// Number `i` of thread `t` is at `[t / GROUP][i][t % GROUP]`.
struct Numbers([[[UnsafeCell<u32>; GROUP]; LEN]; GROUPS]);

// SAFETY: a thread uses only the numbers of its id.
unsafe impl Sync for Numbers {}

static NUMBERS: Numbers = Numbers([const { [const { [const { UnsafeCell::new(0) }; GROUP] }; LEN] }; GROUPS]);

/// The number `i` of a thread.
#[inline(always)]
fn number(thread: u32, i: usize) -> *mut u32 {
    let thread = thread as usize;
    // SAFETY: callers keep `i` below LEN; all else is below its bound.
    unsafe { NUMBERS.0[thread / GROUP % GROUPS].get_unchecked(i)[thread % GROUP].get() }
}

static CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut x = i as u32;
        let mut bit = 0;
        while bit < 8 {
            x = if x & 1 != 0 { x >> 1 ^ 0xedb8_8320 } else { x >> 1 };
            bit += 1;
        }
        table[i] = x;
        i += 1;
    }
    table
};

/// Does the job `n` times, with other numbers.
#[unsafe(no_mangle)]
extern "C" fn spmd(n: u32, expect: i64) -> u32 {
    let id = thread_id();
    // SAFETY: of all threads, this one alone has these numbers: there are no more threads than
    // places, as the bench sees to.
    let (get, set) = (
        |i| unsafe { *number(id, i) },
        |i, value| unsafe { *number(id, i) = value },
    );
    let (mut state, mut crc) = (seed(id), !0);
    for _ in 0..n {
        for i in 0..LEN {
            state = xorshift(state);
            set(i, state);
        }
        for i in 1..LEN {
            let number = get(i);
            let mut at = i;
            while at > 0 && get(at - 1) > number {
                set(at, get(at - 1));
                at -= 1;
            }
            set(at, number);
        }
        let mut sum = 0f32;
        for i in 0..LEN {
            let number: u32 = get(i);
            sum += number as f32 * 0.25;
            for byte in number.to_le_bytes() {
                crc = crc >> 8 ^ CRC[(crc as u8 ^ byte) as usize];
            }
        }
        crc ^= sum.to_bits();
    }
    finish(crc, expect)
}
