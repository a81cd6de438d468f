//! Local arrays at indices that only the data tells.

use crate::{next, seed};

/// Makes a key of 16 bytes and encrypts 256 bytes by RC4, whose state is 256 bytes.
pub fn rc4(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let key: [u8; 16] = std::array::from_fn(|_| next(&mut state) as u8);
        let mut s: [u8; 256] = std::array::from_fn(|i| i as u8);
        let mut j = 0u8;
        for i in 0..256 {
            j = j.wrapping_add(s[i]).wrapping_add(key[i % 16]);
            s.swap(i, j as usize);
        }
        let (mut i, mut j) = (0u8, 0u8);
        for _ in 0..256 {
            i = i.wrapping_add(1);
            j = j.wrapping_add(s[i as usize]);
            s.swap(i as usize, j as usize);
            let at = s[i as usize].wrapping_add(s[j as usize]);
            sum = sum.wrapping_mul(31).wrapping_add(u32::from(s[at as usize]));
        }
    }
    sum
}

/// Counts 512 numbers in 64 classes.
pub fn histogram(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut counts = [0u32; 64];
        for _ in 0..512 {
            counts[(next(&mut state) >> 9) as usize % 64] += 1;
        }
        sum = counts
            .iter()
            .fold(sum, |sum, count| sum.wrapping_mul(31).wrapping_add(*count));
    }
    sum
}

/// What 20 things are worth that fit a knapsack of 100, at most.
pub fn knapsack(id: u32, rounds: u32) -> u32 {
    const SIZE: usize = 100;
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut best = [0u32; SIZE + 1];
        for _ in 0..20 {
            let (weight, worth) = ((next(&mut state) % 40 + 1) as usize, next(&mut state) % 1000);
            for room in (weight..=SIZE).rev() {
                best[room] = best[room].max(best[room - weight] + worth);
            }
        }
        sum = sum.wrapping_mul(31).wrapping_add(best[SIZE]);
    }
    sum
}

/// Sorts 32 numbers by insertion.
pub fn insertion(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut values: [u32; 32] = std::array::from_fn(|_| next(&mut state));
        for i in 1..values.len() {
            let value = values[i];
            let mut to = i;
            while to > 0 && values[to - 1] > value {
                values[to] = values[to - 1];
                to -= 1;
            }
            values[to] = value;
        }
        sum = values
            .iter()
            .fold(sum, |sum, value| sum.wrapping_mul(31).wrapping_add(*value));
    }
    sum
}

/// Goes through the permutations of seven things, by Heap's algorithm.
pub fn permutations(id: u32, rounds: u32) -> u32 {
    const SIZE: usize = 7;
    let mut sum = id;
    for _ in 0..rounds {
        let mut things: [u8; SIZE] = std::array::from_fn(|i| i as u8);
        let mut swapped = [0usize; SIZE];
        let mut i = 0;
        while i < SIZE {
            if swapped[i] < i {
                things.swap(if i % 2 == 0 { 0 } else { swapped[i] }, i);
                sum = sum
                    .wrapping_mul(31)
                    .wrapping_add(u32::from(things[0]) * 7 + u32::from(things[3]));
                swapped[i] += 1;
                i = 0;
            } else {
                swapped[i] = 0;
                i += 1;
            }
        }
    }
    sum
}
