//! Checks JSON, and formats it.

use std::io::{Read, Write};

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a text");
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(value) => {
            let mut formatted = serde_json::to_vec_pretty(&value).expect("a value");
            formatted.push(b'\n');
            std::io::stdout().write_all(&formatted).expect("stdout");
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
