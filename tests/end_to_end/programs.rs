//! Programs: what they print and return is what the same source does natively.

mod calls;
pub mod fixtures;
mod gpu_std;
mod patterns;
mod rustc;

use crate::support::{Test, Tests, bind};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    let std: Vec<Test> = vec![
        ("refuses/files", gpu_std::refused),
        ("translate/no_messages_left", gpu_std::no_messages_left),
    ];
    [std, rustc::general(), patterns::general()].concat()
}

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = fixtures::tests(device);
    tests.extend(calls::tests(device));
    tests.extend(gpu_std::tests(device));
    tests.extend(bind(device, [rustc::of_engine(), patterns::of_engine()].concat()));
    tests
}
