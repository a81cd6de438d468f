//! A case: an instrumented module, and calls of its functions. Everything follows from a seed.

use clap::ValueEnum;
use fastrand::Rng;

use crate::dense;
use crate::engine::Value;
use crate::generate;
use crate::instrument::{Options, instrument};
use crate::mutate::{Fixture, Mutate};
use crate::proposals::Proposal;
use crate::shape::Shape;

/// Where modules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Source {
    /// wasm-smith.
    Smith,
    /// [`dense`].
    Dense,
    /// Parts of real programs, changed.
    Fixtures,
}

/// A call of an exported function.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The export.
    pub name: String,
    /// Arguments.
    pub args: Vec<Value>,
}

/// What is done to a module so that only bugs of gpu-run make a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Care {
    /// NaNs become canonical where instructions make them. Without this most cases have it.
    pub nans: bool,
    /// What wasmi is known to do wrong is kept out, see [`Options::apart`].
    pub wasmi: bool,
}

/// A module and what to do with it.
#[derive(Clone)]
pub struct Case {
    /// The instrumented module.
    pub wasm: Vec<u8>,
    /// Calls, in order.
    pub calls: Vec<Call>,
    /// Fuel of each call.
    pub fuel: i32,
    /// Calls after which memories are compared, besides the last one.
    pub memory_every: usize,
}

/// Fuel of a call of a generated module's function, whose loops rarely do more in more rounds.
const GENERATED_FUEL: i32 = 1_000;
/// Fuel of a call of a real program's function.
const FIXTURE_FUEL: i32 = 3_000;
/// Fuel where nothing else is known.
pub const REPLAY_FUEL: i32 = 10_000;

impl Case {
    /// The case of a seed.
    ///
    /// # Errors
    ///
    /// No valid module came of the seed.
    pub fn from_seed(
        seed: u64,
        source: Source,
        proposals: &[Proposal],
        fixtures: &[Fixture],
        care: Care,
    ) -> Result<Case, String> {
        let mut rng = Rng::with_seed(seed);
        match source {
            Source::Smith => {
                let wasm = generate::generate(&mut rng, proposals)?;
                // wasm-smith's constants and locals seldom have to do with each other.
                let rarity = [20, u32::MAX][rng.usize(..2)];
                Case::generated(&wasm, &mut rng, care, rarity, 10)
            }
            Source::Dense => {
                let wasm = dense::generate(&mut rng, proposals);
                let rarity = [1_000, u32::MAX][rng.usize(..2)];
                Case::generated(&wasm, &mut rng, care, rarity, 20)
            }
            Source::Fixtures => {
                let fixture = &fixtures[rng.usize(..fixtures.len())];
                let keep = fixture.choose(&mut rng);
                let canonicalize_nans = rng.bool() || care.nans;
                let rarity = [10, 50, 250, u32::MAX][rng.usize(..4)];
                let options = Options {
                    fuel: FIXTURE_FUEL,
                    canonicalize_nans,
                    apart: care.wasmi,
                    keep: Some(&keep),
                    growth: 2,
                    rewrite: &mut Mutate { rng: &mut rng, rarity },
                };
                let wasm = instrument(&fixture.wasm, options)?;
                let shape = Shape::of(&wasm)?;
                let calls = shape.calls(&mut rng, 6, true);
                Ok(Case {
                    wasm,
                    calls,
                    fuel: FIXTURE_FUEL,
                    memory_every: usize::MAX,
                })
            }
        }
    }

    /// A case of a generated module, one of `rarity` of its instructions changed, with `each` calls per
    /// function.
    ///
    /// # Errors
    ///
    /// The module cannot be instrumented.
    pub fn generated(wasm: &[u8], rng: &mut Rng, care: Care, rarity: u32, each: usize) -> Result<Case, String> {
        let canonicalize_nans = rng.u32(..8) != 0 || care.nans;
        let options = Options {
            fuel: GENERATED_FUEL,
            canonicalize_nans,
            apart: care.wasmi,
            keep: None,
            growth: 1,
            rewrite: &mut Mutate { rng, rarity },
        };
        let wasm = instrument(wasm, options)?;
        let calls = Shape::of(&wasm)?.calls(rng, each, false);
        Ok(Case {
            wasm,
            calls,
            fuel: GENERATED_FUEL,
            memory_every: 4,
        })
    }

    /// A case of a module as it is, with given calls.
    pub fn replay(wasm: Vec<u8>, calls: Vec<Call>) -> Case {
        Case {
            wasm,
            calls,
            fuel: REPLAY_FUEL,
            memory_every: 1,
        }
    }
}
