//! The command itself: its options and subcommands, what it says, and what it refuses.

mod aborting_tests;
mod attacks;
mod batch;
mod cache;
#[cfg(unix)]
mod cargo_runner;
mod command;
mod compile;
mod counts;
mod heap_profile;
mod hints;
mod inspect;
mod metrics;
#[cfg(unix)]
mod options;
mod output;
mod profile;
pub mod refuses;
pub mod reports;
mod snapshot;
mod translate;

use crate::support::{Test, Tests, bind};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    let tests = [
        refuses::general(),
        inspect::general(),
        translate::general(),
        snapshot::general(),
        cache::general(),
        compile::general(),
        output::general(),
        counts::general(),
        heap_profile::general(),
        profile::general(),
        metrics::general(),
        reports::general(),
        command::general(),
        aborting_tests::general(),
        attacks::general(),
        batch::general(),
        hints::general(),
        #[cfg(unix)]
        options::general(),
        #[cfg(unix)]
        cargo_runner::general(),
    ];
    tests.concat()
}

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = [
        reports::of_engine(),
        hints::of_engine(),
        counts::of_engine(),
        heap_profile::of_engine(),
        profile::of_engine(),
        metrics::of_engine(),
        batch::of_engine(),
        snapshot::of_engine(),
    ]
    .concat();
    if matches!(device, "ptx" | "emulator") {
        tests.extend(compile::of_compiled());
    }
    if device == "ptx" {
        tests.extend(cache::of_ptx());
    }
    bind(device, tests)
}
