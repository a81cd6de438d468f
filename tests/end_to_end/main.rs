//! Runs `gpu-run` as its users do, by every engine on every device of this machine. Tests for a GPU are reported as
//! ignored where there is none.
//!
//! A module has the tests of one subject. `general` lists those that need no engine but the CPU's, `tests` or
//! `of_engine` those that run by each engine, whose names begin with the engine's. The rooms:
//!
//! - [`cli`]: the command itself, its messages, and what it refuses;
//! - [`programs`]: programs whose output and exit code are what the same source does natively;
//! - [`faults`]: traps, deep calls, runs that are stopped, debug messages;
//! - [`heap`]: blocks of many threads, and mistakes with blocks;
//! - [`threads`]: threads that wait, and more of them than lanes;
//! - [`host`]: files, connections and WASI;
//! - [`support`]: what all of them share.

mod cli;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod heap;
mod host;
mod programs;
mod support;
mod threads;

use common::{Turn, engines};
use libtest_mimic::{Arguments, Trial};

fn main() {
    let args = Arguments::from_args();
    let general = [cli::general(), programs::general(), heap::general(), host::general()];
    let general = general.into_iter().flatten();
    let mut trials: Vec<_> = general.map(|(name, test)| Trial::test(name, test)).collect();
    let ((name, test), python) = cli::reports::adapter();
    trials.push(Trial::test(name, test).with_ignored_flag(!python));
    for (device, present) in engines() {
        let rooms = [
            programs::tests(device),
            heap::tests(device),
            faults::tests(device),
            host::tests(device),
            cli::tests(device),
            threads::tests(device),
        ];
        for (name, test) in rooms.into_iter().flatten() {
            let test = move || {
                let _turn = (device == "ptx").then(Turn::take);
                test()
            };
            trials.push(Trial::test(format!("{device}/{name}"), test).with_ignored_flag(!present));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}
