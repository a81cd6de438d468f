//! The library's rooms.
//!
//! [`engine`] and [`module`] are what programs have in common. [`linker`], [`store`] and [`instance`] make them run.
//! [`func`] has the handles of what they export, and [`outcome`] what comes of a run. [`batch`] runs one
//! program many times. [`host`] calls host functions.
//! [`compile`], [`device`] and [`exit`] are for programs that tell their users of these, as the command does.

pub(crate) mod batch;
pub mod compile;
pub(crate) mod config;
pub mod device;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod events;
pub mod exit;
pub(crate) mod func;
pub(crate) mod host;
pub(crate) mod instance;
pub(crate) mod linker;
pub(crate) mod module;
pub(crate) mod outcome;
mod profile;
pub(crate) mod store;
mod tiers;
pub(crate) mod values;
pub(crate) mod wasi;
