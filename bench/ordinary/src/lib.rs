//! The units of work, each written as one would write it for a CPU. `native.rs` runs them on all cores; as a guest each
//! thread runs its own.

#[cfg(target_arch = "wasm32")]
mod guest;

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// A unit of work: of thread `id`, `rounds` times. Its result is a checksum.
pub type Work = fn(id: u32, rounds: u32) -> u32;

/// All of them, by name.
pub const WORK: [(&str, Work); 5] = [
    ("edit", edit),
    ("sort", sort),
    ("words", words),
    ("json", json),
    ("tree", tree),
];

fn next(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

fn seed(id: u32) -> u32 {
    (0x2545_f491 ^ id.wrapping_mul(0x9e37_79b1)) | 1
}

/// Edit distance of two texts of 48 bytes, with its rows in local arrays.
pub fn edit(id: u32, rounds: u32) -> u32 {
    const LEN: usize = 48;
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut text = || std::array::from_fn::<u8, LEN, _>(|_| b'a' + (next(&mut state) >> 16) as u8 % 4);
        let (a, b) = (text(), text());
        let mut row: [u32; LEN + 1] = std::array::from_fn(|j| j as u32);
        for i in 0..LEN {
            let mut diagonal = row[0];
            row[0] = i as u32 + 1;
            for j in 0..LEN {
                let substitution = diagonal + u32::from(a[i] != b[j]);
                diagonal = row[j + 1];
                row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
            }
        }
        sum = sum.wrapping_add(row[LEN]);
    }
    sum
}

/// Makes, sorts and sums a vector of 64 numbers.
pub fn sort(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut numbers: Vec<u32> = (0..64).map(|_| next(&mut state)).collect();
        numbers.sort_unstable();
        sum = numbers.iter().enumerate().fold(sum, |sum, (i, n)| sum.wrapping_add(n ^ i as u32));
    }
    sum
}

/// Counts 64 words, each formatted.
pub fn words(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for _ in 0..64 {
            *counts.entry(format!("word{}", (next(&mut state) >> 8) % 40)).or_default() += 1;
        }
        sum = counts.iter().fold(sum, |sum, (word, n)| sum.wrapping_add(n * n * word.len() as u32));
    }
    sum
}

#[derive(Serialize, Deserialize)]
struct Record {
    id: u32,
    name: String,
    scores: Vec<u32>,
    active: bool,
    ratio: f64,
}

/// Formats and parses a JSON text of about 100 bytes.
pub fn json(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let record = Record {
            id: next(&mut state) % 100_000,
            name: format!("user-{}", next(&mut state) % 1000),
            scores: (0..5).map(|_| next(&mut state) % 1000).collect(),
            active: next(&mut state) % 2 == 0,
            ratio: f64::from(next(&mut state) % 10_000) / 64.0,
        };
        let text = serde_json::to_string(&record).expect("it has no keys but strings");
        let back: Record = serde_json::from_str(&text).expect("it was written here");
        let scores: u32 = back.scores.iter().sum();
        let more = back.id ^ scores ^ back.name.len() as u32 ^ u32::from(back.active) ^ back.ratio as u32;
        sum = sum.wrapping_add(more).wrapping_add(text.len() as u32);
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
