//! The subcommands, and what only they need: which engine runs a program, and what ends a process that waits.

pub mod batch;
pub mod cache;
pub mod compile;
pub mod devices;
pub mod engine;
pub mod inspect;
pub mod libtest;
pub mod load;
pub mod process;
pub mod profile;
pub mod run;
pub mod snapshot;
pub mod spawning;
pub mod thread_safety;
pub mod translate;
pub mod wast;
pub mod watchdog;
