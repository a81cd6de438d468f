//! Vectors, maps and compressed blocks.

use std::collections::{BTreeMap, HashMap};

use crate::{next, seed};

/// Makes, sorts and sums a vector of 64 numbers.
pub fn sort(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut numbers: Vec<u32> = (0..64).map(|_| next(&mut state)).collect();
        numbers.sort_unstable();
        sum = numbers
            .iter()
            .enumerate()
            .fold(sum, |sum, (i, n)| sum.wrapping_add(n ^ i as u32));
    }
    sum
}

/// Counts 64 words, each formatted.
pub fn words(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for _ in 0..64 {
            *counts
                .entry(format!("word{}", (next(&mut state) >> 8) % 40))
                .or_default() += 1;
        }
        sum = counts
            .iter()
            .fold(sum, |sum, (word, n)| sum.wrapping_add(n * n * word.len() as u32));
    }
    sum
}

/// Fills a `BTreeMap` with 64 entries, removes every third, and sums the rest.
pub fn tree(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut map = BTreeMap::new();
        for i in 0..64 {
            map.insert(next(&mut state) >> 12, i);
        }
        let third: Vec<u32> = map.keys().copied().step_by(3).collect();
        for key in third {
            map.remove(&key);
        }
        sum = map.iter().fold(sum, |sum, (key, i)| sum.wrapping_add(key ^ i));
    }
    sum
}

/// Compresses a block of 512 bytes with repetitions by lz4_flex, and decompresses it.
pub fn lz4(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut block: Vec<u8> = Vec::with_capacity(512);
        while block.len() < 512 {
            let piece = next(&mut state);
            match piece % 3 {
                // Something that was there before.
                0 if block.len() > 32 => {
                    let from = (piece >> 8) as usize % (block.len() - 24);
                    block.extend_from_within(from..from + 8 + (piece >> 24) as usize % 16);
                }
                _ => block.extend_from_slice(&piece.to_le_bytes()),
            }
        }
        let packed = lz4_flex::compress_prepend_size(&block);
        let back = lz4_flex::decompress_size_prepended(&packed).expect("it was compressed here");
        let bytes = back
            .iter()
            .fold(0u32, |bytes, byte| bytes.rotate_left(5) ^ u32::from(*byte));
        sum = sum.wrapping_add(bytes).wrapping_add(packed.len() as u32);
    }
    sum
}
