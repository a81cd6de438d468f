//! What the fuzzers of `fuzz/` call, with whatever bytes.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;
use gpu_run_bytecode::{Program, decode, encode, verify};
use gpu_run_translator::{Error, Options, translate as translate_module};
use gpu_run_vm::{Cpu, Extern, Limits, RunOptions, Store, Stream, Value};

use crate::case::{Care, Case, Source};
use crate::compare::{Counts, Verdict, run};
use crate::engine::{Oracle, engines, hash};
use crate::generate;
use crate::proposals::{self, Proposal};

/// Translates bytes with all passes, and with none.
///
/// # Panics
///
/// The translator panicked, or made bytecode that the verifier does not take.
pub fn translate(bytes: &[u8]) {
    for options in [Options::full(), Options::default()] {
        if let Err(error @ Error::Verify(_)) = translate_module(bytes, &options) {
            panic!("{error}");
        }
    }
}

/// Decodes and verifies a program, and if it is verified, runs its exported functions for a moment.
///
/// # Panics
///
/// Anything on the way panicked.
pub fn container(bytes: &[u8]) {
    let Ok(program) = decode(bytes) else { return };
    if verify(&program).is_err() {
        return;
    }
    run_verified(program);
}

/// As [`container`], with checksums put right first, so that changed bytes get past them.
///
/// # Panics
///
/// As for [`container`].
pub fn container_repaired(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    repair(&mut bytes);
    container(&bytes);
}

/// Puts right the checksums of a container whose table of sections can be read.
fn repair(file: &mut [u8]) {
    const HEAD: usize = 12;
    const ENTRY: usize = 32;
    for index in 0..4 {
        let entry = HEAD + index * ENTRY;
        let Some(fields) = file.get(entry + 8..entry + 24) else {
            return;
        };
        let (offset, len) = fields.split_at(8);
        let number = |bytes: &[u8]| {
            bytes
                .try_into()
                .map_or(usize::MAX, |bytes| u64::from_le_bytes(bytes) as usize)
        };
        let (offset, len) = (number(offset), number(len));
        let Some(section) = offset.checked_add(len).and_then(|end| file.get(offset..end)) else {
            return;
        };
        let sum = crc32fast::hash(section).to_le_bytes();
        if let Some(place) = file.get_mut(entry + 24..entry + 28) {
            place.copy_from_slice(&sum);
        }
    }
}

/// A target for bytes, where there is no cargo-fuzz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// [`translate`].
    Translate,
    /// [`container_repaired`].
    Container,
}

/// Changes of each module in [`mutated`].
const CHANGES: u64 = 64;

/// Makes a sound input of a seed, changes some bytes of it again and again, and runs the target.
/// Returns how often it ran.
///
/// # Errors
///
/// The input with which the target panicked.
pub fn mutated(seed: u64, target: Target, proposals: &[Proposal]) -> Result<u64, Vec<u8>> {
    let Ok(case) = Case::from_seed(seed, Source::Smith, proposals, &[], Care::default()) else {
        return Ok(0);
    };
    let sound = match target {
        Target::Translate => case.wasm,
        Target::Container => match translate_module(&case.wasm, &Options::default()) {
            Ok(translation) => encode(&translation.program),
            Err(_) => return Ok(0),
        },
    };
    let mut rng = Rng::with_seed(seed);
    for _ in 0..CHANGES {
        let mut bytes = sound.clone();
        for _ in 0..rng.usize(1..6) {
            change(&mut bytes, &mut rng);
        }
        let run = || match target {
            Target::Translate => translate(&bytes),
            Target::Container => container_repaired(&bytes),
        };
        if std::panic::catch_unwind(run).is_err() {
            return Err(bytes);
        }
    }
    Ok(CHANGES)
}

fn change(bytes: &mut Vec<u8>, rng: &mut Rng) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.usize(..bytes.len());
    match rng.u32(..8) {
        0 => bytes[at] = rng.u8(..),
        1..4 => bytes[at] ^= 1 << rng.u32(..8),
        4 => bytes[at] = bytes[rng.usize(..bytes.len())],
        5 => bytes[at] = bytes[at].wrapping_add(rng.u8(..3)).wrapping_sub(1),
        6 => bytes.insert(at, rng.u8(..)),
        _ => {
            bytes.remove(at);
        }
    }
}

/// Memory that a program may have here.
const MEMORY: u64 = 16 << 20;

fn run_verified(program: Program) {
    let limits = Limits {
        memory: Some(MEMORY),
        undeclared_memory: MEMORY,
        table: 10_000,
        call_depth: 1_000,
        register_arena: 4 << 20,
        ..Limits::default()
    };
    let options = RunOptions {
        timeout: Some(Duration::from_millis(20)),
        ..RunOptions::default()
    };
    let exports: Vec<String> = program.meta.exports.iter().map(|export| export.name.clone()).collect();
    let Ok(mut store) = Store::new(Box::new(Cpu::new()), limits) else {
        return;
    };
    let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
    let Ok(instance) = store.instantiate(Arc::new(program), |_, _| None, &options, sink) else {
        return;
    };
    for name in exports.iter().take(4) {
        let Some(Extern::Func(func)) = store.export(instance, name) else {
            continue;
        };
        let params = store.func_type(func).params.clone();
        let args: Vec<Value> = params.iter().map(|ty| Value::from_bits(*ty, 0)).collect();
        _ = store.run(func, &args, &options, sink);
    }
}

const CARE: Care = Care {
    nans: true,
    wasmi: true,
};

/// Makes a module of bytes and compares engines on it.
///
/// # Panics
///
/// The engines do not agree.
pub fn differential(bytes: &[u8]) {
    let mut rng = Rng::with_seed(hash(bytes));
    let proposals = proposals::of(&[Oracle::Wasmi]);
    let config = generate::config(&mut rng, &proposals);
    let Ok(wasm) = generate::module(config, bytes) else {
        return;
    };
    let Ok(case) = Case::generated(&wasm, &mut rng, CARE, u32::MAX, 10) else {
        return;
    };
    let mut engines = engines(&[Oracle::Wasmi], &proposals, false);
    if let Verdict::Different(difference) = run(&case, &mut engines, &mut Counts::default()) {
        panic!("{difference}");
    }
}
