//! The units of work, each written as one would write it for a CPU. `native.rs` runs them on all cores; as a guest each
//! thread runs its own.

mod arrays;
mod collections;
#[cfg(target_arch = "wasm32")]
mod guest;
mod numbers;
mod programs;
mod text;

pub use arrays::{histogram, insertion, knapsack, permutations, rc4};
pub use collections::{lz4, sort, tree, words};
pub use numbers::{blake3, edit, matrix, queens, sha256, shuffle};
pub use programs::{bank, csv, dijkstra, huffman, machine, miller, shapes, trie};
pub use text::{base64, expression, find, json, markdown, regex};

/// A unit of work: of thread `id`, `rounds` times. Its result is a checksum.
pub type Work = fn(id: u32, rounds: u32) -> u32;

/// All of them, by name.
pub const WORK: [(&str, Work); 29] = [
    ("edit", edit),
    ("sort", sort),
    ("words", words),
    ("json", json),
    ("tree", tree),
    ("regex", regex),
    ("base64", base64),
    ("lz4", lz4),
    ("markdown", markdown),
    ("matrix", matrix),
    ("find", find),
    ("queens", queens),
    ("expression", expression),
    ("sha256", sha256),
    ("blake3", blake3),
    ("shuffle", shuffle),
    ("rc4", rc4),
    ("histogram", histogram),
    ("knapsack", knapsack),
    ("insertion", insertion),
    ("permutations", permutations),
    ("bank", bank),
    ("csv", csv),
    ("dijkstra", dijkstra),
    ("huffman", huffman),
    ("machine", machine),
    ("miller", miller),
    ("shapes", shapes),
    ("trie", trie),
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
