//! What the heap says of a program's mistakes, and how a test looks for it.

use crate::common::{run_on, text};
use crate::support::{Tested, expect};

/// Of an address that no block has.
pub const FOREIGN: &str = "the heap was given an address at which it has no block";

/// Of a block that is freed again.
pub const TWICE: &str = "the heap was given a block that had been freed";

/// Of a write to a block that is free.
pub const LATE: &str = "a block of the heap was written after it had been freed";

/// Of a write beyond a block.
pub const OVERRUN: &str = "bytes behind a block of the heap were written";

/// An export ends by a trap whose message has all that is wanted.
pub fn heap_mistake(device: &str, options: &[&str], module: &str, export: &str, wanted: &[&str]) -> Tested {
    let output = run_on(device, options.iter().chain(&["--invoke", export, module]));
    expect(output.status.code() == Some(134), "exit code must be 134", &output)?;
    let stderr = text(&output.stderr);
    expect(
        wanted.iter().all(|wanted| stderr.contains(wanted)),
        "the message must say what and whose",
        &output,
    )
}

/// An export leaks a block, and the message says which function allocated it.
pub fn heap_leak(device: &str, module: &str, export: &str, wanted: &str) -> Tested {
    let output = run_on(device, ["--leak-check", "--invoke", export, module]);
    expect(output.status.code() == Some(23), "exit code must be 23", &output)?;
    expect(
        text(&output.stderr).contains(wanted),
        "the message must name the function",
        &output,
    )
}
