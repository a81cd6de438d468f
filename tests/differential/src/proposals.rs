//! Proposals that modules may use, beyond the first version of WebAssembly.

use clap::ValueEnum;

use crate::engine::Oracle;

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

/// What both gpu-run and all of the oracles run; the default. Not relaxed SIMD, whose results engines
/// may choose.
pub fn of(oracles: &[Oracle]) -> Vec<Proposal> {
    let mut proposals = vec![
        SignExtension,
        SaturatingFloatToInt,
        MultiValue,
        BulkMemory,
        ReferenceTypes,
        MultiMemory,
        ExtendedConst,
        Simd,
        TailCall,
        Memory64,
    ];
    if !oracles.contains(&Oracle::Wasmi) {
        proposals.extend([Threads, Exceptions]);
    }
    proposals
}
