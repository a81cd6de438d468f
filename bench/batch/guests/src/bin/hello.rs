//! As little as a program can do.

fn main() {
    println!("Hello, world!");
}
