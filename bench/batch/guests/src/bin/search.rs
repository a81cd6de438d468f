//! Prints the lines in which a time, an address or an error stands.

use std::io::{Read, Write};

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("a text");
    let pattern = regex::Regex::new(r"(\d{2}:\d{2}:\d{2})|(\w+@\w+\.\w+)|(error|warning)").expect("a pattern");
    let mut found = String::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(hit) = pattern.find(line) {
            found += &format!("{}:{}:{}\n", number + 1, hit.start(), line);
        }
    }
    std::io::stdout().write_all(found.as_bytes()).expect("stdout");
}
