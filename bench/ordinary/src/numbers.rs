//! Arrays, hashes and random numbers.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::{next, seed};

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

/// Multiplies two matrices of 16 times 16 numbers in vectors of vectors.
pub fn matrix(id: u32, rounds: u32) -> u32 {
    const SIZE: usize = 16;
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let mut numbers = || -> Vec<Vec<f32>> {
            let mut row = || (0..SIZE).map(|_| (next(&mut state) % 64) as f32).collect();
            (0..SIZE).map(|_| row()).collect()
        };
        let (a, b) = (numbers(), numbers());
        let mut product = vec![vec![0f32; SIZE]; SIZE];
        for i in 0..SIZE {
            for j in 0..SIZE {
                for (k, row) in b.iter().enumerate() {
                    product[i][j] += a[i][k] * row[j];
                }
            }
        }
        // Whole numbers below 2^24, which are exact in any order.
        sum = product
            .iter()
            .flatten()
            .fold(sum, |sum, value| sum.wrapping_mul(31).wrapping_add(*value as u32));
    }
    sum
}

/// Counts the ways to put seven queens on a board of which one square is taken.
pub fn queens(id: u32, rounds: u32) -> u32 {
    fn place(row: usize, columns: u32, left: u32, right: u32, taken: (usize, u32)) -> u32 {
        const SIZE: usize = 7;
        if row == SIZE {
            return 1;
        }
        let mut free = !(columns | left | right) & ((1 << SIZE) - 1);
        if row == taken.0 {
            free &= !taken.1;
        }
        let mut ways = 0;
        while free != 0 {
            let queen = free & free.wrapping_neg();
            free ^= queen;
            ways += place(
                row + 1,
                columns | queen,
                (left | queen) << 1,
                (right | queen) >> 1,
                taken,
            );
        }
        ways
    }
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let square = next(&mut state) % 49;
        sum = sum
            .wrapping_mul(3)
            .wrapping_add(place(0, 0, 0, 0, (square as usize / 7, 1 << (square % 7))));
    }
    sum
}

/// Hashes 200 bytes by the crate sha2.
pub fn sha256(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let text: [u8; 200] = std::array::from_fn(|_| next(&mut state) as u8);
        let hash = Sha256::digest(text);
        sum = sum.wrapping_add(u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]]));
    }
    sum
}

/// Hashes 200 bytes by the crate blake3.
pub fn blake3(id: u32, rounds: u32) -> u32 {
    let (mut state, mut sum) = (seed(id), 0u32);
    for _ in 0..rounds {
        let text: [u8; 200] = std::array::from_fn(|_| next(&mut state) as u8);
        let hash = blake3::hash(&text);
        let [a, b, c, d, ..] = *hash.as_bytes();
        sum = sum.wrapping_add(u32::from_le_bytes([a, b, c, d]));
    }
    sum
}

/// Draws 64 numbers by the crates rand and rand_chacha, shuffles them, and picks some.
pub fn shuffle(id: u32, rounds: u32) -> u32 {
    let (mut random, mut sum) = (ChaCha8Rng::seed_from_u64(u64::from(seed(id))), 0u32);
    for _ in 0..rounds {
        let mut cards: Vec<u32> = (0..64).map(|_| random.random_range(0..1000)).collect();
        cards.shuffle(&mut random);
        let most = cards.iter().take(8).max().copied().unwrap_or(0);
        sum = sum.wrapping_mul(7).wrapping_add(most + cards[63]);
    }
    sum
}
