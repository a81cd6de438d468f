//! What the command is told: its options, and what they mean for a module.
//!
//! [`cli`] has the options, [`parse`] reads them. [`entry`] finds the function that a run calls, [`wasi_options`] and
//! [`files`] make what it is given, and [`requests`] tells which options a module has a use for. [`profile`] has the options
//! of profiles, and [`batch`] those of batches.

pub mod batch;
pub mod cargo;
pub mod cli;
pub mod entry;
pub mod files;
pub mod names;
pub mod parse;
pub mod profile;
pub mod requests;
pub mod snapshot;
pub mod wasi_options;
