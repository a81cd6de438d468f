//! Differential testing: modules made from seeds run in gpu-run and in other engines, and all that
//! can be observed must be the same.
//!
//! ```text
//! seed --generate or mutate--> module --instrument--> case --compare--> verdict
//! ```
//!
//! [`instrument`] adds fuel to every module, so that it ends the same way in each engine, and exports
//! for all of its state. [`compare`] runs a [`Case`] in several [`engine::Engine`]s. [`targets`] has
//! what the fuzzers of `fuzz/` call.

pub mod case;
pub mod compare;
pub mod dense;
pub mod engine;
pub mod generate;
pub mod instrument;
#[cfg(feature = "minimize")]
pub mod minimize;
pub mod mutate;
mod nan;
mod operations;
pub mod proposals;
pub mod shape;
pub mod targets;
mod text;

pub use case::{Call, Case, Source};
pub use compare::{Counts, Difference, Verdict};
pub use engine::Oracle;
pub use proposals::Proposal;
