//! Writes PTX.
//!
//! In: a function with the facts of `analysis`. Out: its text, by the [`writer`](crate::ptx::writer). In the order in
//! which to read them:
//!
//! - [`function`]: a function from its head to its end; the compiler's state;
//! - [`instructions`]: one instruction; [`handwritten`] names those that have no template;
//! - [`memory`], [`vectors`], [`atomics`]: accesses; [`own`]: where code finds its instance's memory;
//! - [`frame_copy`], [`frame_bulk`], [`frame_space`]: a frame of the shadow stack that is not in memory;
//! - [`calls`]: calls of the program's functions, of those that are interpreted too; [`runtime_calls`]; [`exceptions`];
//!   [`exnref_roots`] keeps what those calls may collect;
//! - [`jumps`], [`loops`]: branches, and where a loop looks whether the run was stopped; [`reconvergence`]: where lanes
//!   meet; [`samples`]: where it tells the host where it is; [`counts`]: where it counts;
//! - [`regions`]: large functions as several;
//! - [`entry`]: the kernels, which the host starts.

pub use entry::MOST_LANES;

pub mod atomics;
pub mod calls;
pub mod counts;
pub mod entry;
pub mod exceptions;
pub mod exnref_roots;
pub mod frame_bulk;
pub mod frame_copy;
pub mod frame_space;
pub mod function;
pub mod handwritten;
pub mod instructions;
pub mod jumps;
pub mod loops;
pub mod memory;
pub mod own;
pub mod reconvergence;
pub mod regions;
pub mod runtime_calls;
pub mod samples;
pub mod steps;
pub mod vectors;
