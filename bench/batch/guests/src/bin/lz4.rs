//! Unpacks LZ4, and prints how many bytes there are and their sum.

use std::io::Read;

fn main() {
    let mut packed = Vec::new();
    std::io::stdin().read_to_end(&mut packed).expect("bytes");
    let bytes = lz4_flex::decompress_size_prepended(&packed).expect("packed bytes");
    let sum = bytes.iter().fold(0u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)));
    println!("{} bytes, {sum:08x}", bytes.len());
}
