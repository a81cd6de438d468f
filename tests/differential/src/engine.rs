//! What the comparison needs of an engine, and the engines: gpu-run in `ours`, and the oracles.

mod ours;
mod with_wasmi;
#[cfg(feature = "wasmtime")]
mod with_wasmtime;

use clap::ValueEnum;

use crate::proposals::Proposal;

/// A value, as far as engines can agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// Bits of an f32; every NaN is the same one.
    F32(u32),
    /// Bits of an f64; every NaN is the same one.
    F64(u64),
    /// Bits of a v128.
    V128(u128),
    /// Whether it is a function. Which one has no name that engines share.
    FuncRef(bool),
    /// A number of the host's, or null.
    ExternRef(Option<u32>),
    /// Whether it is an exception.
    ExnRef(bool),
}

impl Value {
    /// An f32; all NaNs become the canonical one.
    pub fn f32(bits: u32) -> Value {
        let nan = f32::from_bits(bits).is_nan();
        Value::F32(if nan { 0x7fc0_0000 } else { bits })
    }

    /// An f64; all NaNs become the canonical one.
    pub fn f64(bits: u64) -> Value {
        let nan = f64::from_bits(bits).is_nan();
        Value::F64(if nan { 0x7ff8_0000_0000_0000 } else { bits })
    }
}

/// Kinds of traps that all engines tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Trap {
    Unreachable,
    MemoryOutOfBounds,
    /// Also the "undefined element" of an indirect call.
    TableOutOfBounds,
    IndirectCallToNull,
    BadSignature,
    DivisionByZero,
    IntegerOverflow,
    BadConversion,
    UnalignedAtomic,
    NotShared,
    UncaughtException,
    NullReference,
}

/// Why a call or an instantiation returned no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It trapped.
    Trap(Trap),
    /// A limit of the engine's own was reached: nothing can be compared from here on.
    Limit(String),
    /// The engine does not take the module because of a proposal that it does not have.
    Unsupported(String),
    /// The engine says that the module is wrong, or broke.
    Broken(String),
}

/// Values, or why there are none.
pub type Outcome = Result<Vec<Value>, Failure>;

/// Something that runs modules.
pub trait Engine {
    /// Name for people.
    fn name(&self) -> &'static str;

    /// Instantiates a module without imports and runs its start function.
    fn instantiate(&mut self, wasm: &[u8]) -> Result<Box<dyn Instance>, Failure>;
}

/// An instance in an engine. Names are of exports, and callers pass only those that exist.
pub trait Instance {
    /// Calls a function.
    fn call(&mut self, name: &str, args: &[Value]) -> Outcome;

    /// Value of a global.
    fn global(&mut self, name: &str) -> Value;

    /// Sets a global of type i32.
    fn set_global(&mut self, name: &str, value: i32);

    /// Hash of a memory's size and contents.
    fn memory_hash(&mut self, name: &str) -> u64;
}

/// An engine that says what is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Oracle {
    Wasmi,
    #[cfg(feature = "wasmtime")]
    Wasmtime,
}

/// Engines that are compared: the oracles, and then gpu-run with and without inlining, or compiled and with inlining.
pub fn engines(oracles: &[Oracle], proposals: &[Proposal], compiled: bool) -> Vec<Box<dyn Engine>> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    for oracle in oracles {
        engines.push(match oracle {
            Oracle::Wasmi => Box::new(with_wasmi::Wasmi::new(proposals)),
            #[cfg(feature = "wasmtime")]
            Oracle::Wasmtime => Box::new(with_wasmtime::Wasmtime::new(proposals)),
        });
    }
    engines.push(Box::new(ours::Ours { inline: true }));
    engines.push(match compiled {
        true => Box::new(ours::Compiled),
        false => Box::new(ours::Ours { inline: false }),
    });
    engines
}

/// Hash of a memory; its length is part of it.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(bytes);
    hasher.write_usize(bytes.len());
    hasher.finish()
}
