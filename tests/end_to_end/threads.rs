//! Threads: how they wait for each other, and what happens where there are more of them than lanes.

mod many_threads;
mod own;
mod spawned;
mod tasks;
mod waiting;

use crate::support::{Tests, bind};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = waiting::tests(device);
    tests.extend(spawned::tests(device));
    tests.extend(own::tests(device));
    tests.extend(tasks::tests(device));
    tests.extend(bind(device, many_threads::of_engine()));
    tests
}
