//! Derives a key from a password: PBKDF2 with HMAC-SHA256 and 1,000 rounds.

use std::io::Read;

fn main() {
    let mut password = Vec::new();
    std::io::stdin().read_to_end(&mut password).expect("a password");
    let key: [u8; 32] = pbkdf2::pbkdf2_hmac_array::<sha2::Sha256, 32>(&password, b"salt of the bench", 1000);
    let text: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{text}");
}
