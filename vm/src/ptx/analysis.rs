//! What is known of a program before a line of PTX is written.
//!
//! In: a verified [`Program`](gpu_run_bytecode::Program). Out: facts, which `emit` reads. In the order in which to
//! read them:
//!
//! - [`cfg`]: the basic blocks of a function and the edges between them;
//! - [`interprocedural`]: what the whole program tells of each function: whether it throws, grows memory; [`cycles`]: whether it
//!   recurses; [`atomics`]: whether it accesses memory atomically;
//! - [`flow`]: forward data-flow over the blocks: what is known of the value in each unit;
//! - [`dominance`]: which blocks every way leads through;
//! - [`live`]: backward data-flow: which units are read later;
//! - [`stack_frame`]: which functions keep their frame of the shadow stack in local memory; [`frame_ranges`]: which accesses of
//!   loops lie in it; [`linear`]: what sums of units addresses are;
//! - [`fixed_tables`]: what tables hold that nothing changes;
//! - [`regions`]: where a large function is divided;
//! - [`idioms`]: what takes WebAssembly several instructions and the GPU one.

mod atomics;
pub mod cfg;
pub mod counters;
mod cycles;
pub mod dominance;
pub mod fixed_tables;
pub mod flow;
pub mod frame_ranges;
pub mod idioms;
pub mod interprocedural;
pub mod linear;
pub mod live;
pub mod regions;
pub mod stack_frame;
