//! Linker options of the streaming module: a memory of 4 GiB, and what the linker places in its first page.

fn main() {
    for option in [
        "--initial-memory=4294967296",
        "--max-memory=4294967296",
        "-zstack-size=16384",
    ] {
        println!("cargo::rustc-link-arg-cdylib={option}");
    }
}
