//! What programs ask of the host: files, arguments, clocks, connections; by gpu-std and by WASI.

mod net;
mod std_files;
pub mod wasi;

use crate::support::{Test, Tests, bind};

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    [wasi::general(), net::general()].concat()
}

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let tests = [wasi::of_engine(), std_files::of_engine(), net::of_engine()];
    bind(device, tests.concat())
}
