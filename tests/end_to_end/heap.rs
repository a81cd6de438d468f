//! The heap: blocks of many threads, C's allocator, memory that is used up, and mistakes with blocks.

mod blocks;
mod c_heap;
mod memory;
pub mod mistakes;

use crate::support::{Test, Tests, bind};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("inspect/c_allocator", c_heap::inspect),
        ("warns/own_allocator", memory::own_allocator),
    ]
}

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = blocks::tests(device);
    tests.extend(memory::tests(device));
    tests.extend(bind(device, c_heap::of_engine()));
    tests
}
