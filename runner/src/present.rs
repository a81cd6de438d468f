//! What the command tells its user: output, messages, reports, statistics.
//!
//! [`report`] and [`log`] are for messages, [`terminal`] for the guest's output, [`fault`] for how a run ended,
//! [`results`] and [`stats`] for what came of it, [`progress`] for how far it is, [`profile`] for where
//! its time went, [`metrics`] and [`live`] for what it does meanwhile, of a batch by what [`processes`] counts. [`output`] writes all of it.

#[macro_use]
pub mod output;
pub mod calls;
pub mod fault;
pub mod json;
pub mod lines;
pub mod live;
pub mod log;
pub mod metrics;
pub mod panic;
pub mod processes;
pub mod profile;
pub mod progress;
pub mod report;
pub mod results;
pub mod sink;
pub mod stands;
pub mod stats;
pub mod terminal;
pub mod view;
pub mod writes;
