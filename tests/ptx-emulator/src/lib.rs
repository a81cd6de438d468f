//! Runs the PTX that gpu-run's compiler writes on the CPU, so that tests of the PTX engine need no GPU.
//!
//! A [`Module`] is PTX text, decoded once. A [`Lane`](lane::Lane) executes it, one instruction after the other.
//! [`Emulator`] is the device that a store runs on. PTX that it does not know is an error that names the line,
//! and so is an access to memory that is not the device's. Every lane is alone: a warp has one.
//! Memory is this process's, so an address is a pointer, in every state space.

mod arithmetic;
mod decode;
mod device;
pub mod inst;
pub mod lane;
pub mod memory;
mod module;
mod token;

pub use device::Emulator;
pub use module::{Error, Function, Module, Param, Result, Source, Variable};
