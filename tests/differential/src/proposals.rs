//! Proposals that modules may use, beyond the first version of WebAssembly.

use clap::ValueEnum;

/// A proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum Proposal {
    SignExtension,
    SaturatingFloatToInt,
    MultiValue,
    BulkMemory,
    ReferenceTypes,
    MultiMemory,
    ExtendedConst,
    Simd,
    RelaxedSimd,
    TailCall,
    Memory64,
    /// wasmi does not have it.
    Threads,
    /// wasmi does not have it.
    Exceptions,
}

use Proposal::*;

/// What gpu-run runs; the default.
pub const DEFAULT: &[Proposal] = &[
    SignExtension,
    SaturatingFloatToInt,
    MultiValue,
    BulkMemory,
    ReferenceTypes,
    MultiMemory,
    ExtendedConst,
];
