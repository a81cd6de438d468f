//! What ends a run early, and what a program says meanwhile: traps, deep calls, limits of time, debug messages.

mod debug;
mod depth;
mod stops;
pub mod traps;

use crate::support::Tests;

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = debug::tests(device);
    tests.extend(traps::tests(device));
    tests.extend(depth::tests(device));
    tests.extend(stops::tests(device));
    tests
}
