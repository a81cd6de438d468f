//! Code that was compiled before its program runs, maybe on another machine, and travels with it: a [`NativeCode`] is
//! machine code that is still to be linked with the runtime, or PTX.
//!
//! It fits a run if it depends on the same things, and can start what the run starts. Which functions are left to the
//! interpreter may differ: results are the same.

use std::io::{Read, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use gpu_run_bytecode::NativeCode;

use super::barriers;
use super::cache::{Cache, Key, digest};
use super::code::{COMPILER, Code, CompileRequest, Origin, linked_with};
use super::link::Input;
use crate::device::{CodeFormat, DeviceResult, Target, frame_memory};
use crate::ptx::{MIXED, RUNTIME};

/// The target of code that any GPU's driver compiles.
pub const PTX: &str = "ptx";

/// The request as it is for a target that is named like this. Lanes meet only in machine code that is known, frames are in the
/// shared memory that the target has for sure, and of what an assembler makes nobody limits the registers.
fn for_target(request: &CompileRequest, target: &str) -> CompileRequest {
    let mut request = request.clone();
    let options = &mut request.options;
    options.reconverge &= barriers::are_known_of(target);
    options.frame_memory = major(target).map_or(0, frame_memory);
    options.large_blocks &= target == PTX;
    request
}

/// The major version of the compute capability of a target that is named `sm_90`.
fn major(target: &str) -> Option<i32> {
    let version: i32 = target.strip_prefix("sm_")?.parse().ok()?;
    Some(version / 10)
}

/// Hash of what code of a program depends on besides the functions that it starts and what of it is interpreted.
fn depends_on(request: &CompileRequest) -> [u8; 32] {
    let text = format!("{:?} {} {}", request.options, request.code_start, request.prefix);
    let program = digest(&request.program);
    let parts = [
        COMPILER.as_bytes(),
        RUNTIME.as_bytes(),
        MIXED.as_bytes(),
        text.as_bytes(),
        &program,
    ];
    *Key::of(&parts).bytes()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

/// The name of a target: `sm_90`.
fn name(compute_capability: (i32, i32)) -> String {
    format!("sm_{}{}", compute_capability.0, compute_capability.1)
}

/// Whether code for a target that is named like this runs on one: machine code of its major version, and of no later
/// minor one.
fn runs_on(code: &str, target: &Target) -> bool {
    let (major, minor) = target.compute_capability;
    match target.format {
        CodeFormat::Cubin => (0..=minor).any(|minor| code == name((major, minor))),
        CodeFormat::Ptx => false,
    }
}

/// Compiles a program for targets: `ptx`, or `sm_90` and so on, for which `assemble` makes a relocatable object of PTX.
///
/// # Errors
///
/// Those of `assemble`.
pub fn compile<E>(
    request: &CompileRequest,
    targets: &[String],
    assemble: impl Fn(&str, &str) -> Result<Vec<u8>, E>,
) -> Result<Vec<NativeCode>, E> {
    let native = |target: &String| {
        let request = for_target(request, target);
        let compiled = request.compile();
        let bytes = match &target[..] {
            PTX => compiled.text.into_bytes(),
            target => assemble(&compiled.text, target)?,
        };
        Ok(NativeCode {
            target: target.clone(),
            depends_on: depends_on(&request),
            entries: request.entries,
            mixed: !request.cold.is_empty(),
            needs_stack: compiled.needs_stack,
            bytes: packed(&bytes),
        })
    };
    targets.iter().map(native).collect()
}

/// The code that fits a run best: machine code, or PTX.
pub fn find<'n>(native: &'n [NativeCode], request: &CompileRequest) -> Option<&'n NativeCode> {
    let starts_all = |code: &&NativeCode| request.entries.iter().all(|entry| code.entries.contains(entry));
    let depends = |code: &&NativeCode| code.depends_on == depends_on(&for_target(request, &code.target));
    let fits: Vec<&NativeCode> = native.iter().filter(starts_all).filter(depends).collect();
    let found = fits.iter().find(|code| runs_on(&code.target, &request.target));
    found.or_else(|| fits.iter().find(|code| code.target == PTX)).copied()
}

/// Links code that fits a run, unless the cache has that.
///
/// # Errors
///
/// The driver's.
pub fn link(native: &NativeCode, request: &CompileRequest, cache: Option<&Cache>) -> DeviceResult<Code> {
    let code = |cubin: Vec<u8>, link: Duration| Code {
        cubin: cubin.into(),
        prefix: request.prefix.clone(),
        entries: native.entries.clone(),
        needs_stack: native.needs_stack,
        mixed: native.mixed,
        deep_calls: request.has_deep_calls(native.needs_stack),
        fixed_memory: request.options.fixed_memory,
        aligned_memory: request.options.aligned_memory,
        origin: Origin::Ahead { link },
    };
    let target = format!("{:?} {}", request.target.compute_capability, request.target.driver);
    let interpreted = native.mixed || request.has_deep_calls(native.needs_stack);
    let known = barriers::are_known_of(&native.target);
    let kept = barriers::Kept::of(&request.options, known);
    let how = format!("{interpreted} {kept:?}");
    let sources = [COMPILER, RUNTIME, MIXED].map(str::as_bytes);
    let key = Key::of(&[&sources[..], &[&native.bytes, target.as_bytes(), how.as_bytes()]].concat());
    let cache = cache.filter(|_| request.target.format == CodeFormat::Cubin);
    if let Some(cubin) = cache.and_then(|cache| cache.load(key)) {
        return Ok(code(cubin, Duration::ZERO));
    }
    let mut bytes = Vec::new();
    let read = GzDecoder::new(&native.bytes[..]).read_to_end(&mut bytes);
    let damaged = |what: &dyn std::fmt::Display| crate::DeviceError::Unavailable {
        what: format!("the code that came with the program is damaged: {what}"),
    };
    read.map_err(|error| damaged(&error))?;
    let text = match &native.target[..] {
        PTX => Some(std::str::from_utf8(&bytes).map_err(|error| damaged(&error))?),
        _ => None,
    };
    let program = Input {
        object: text.is_none().then_some(&bytes[..]),
        ..Input::program(text.unwrap_or_default())
    };
    let linked = linked_with(program, interpreted, kept, request)?;
    if let Some(cache) = cache {
        // The next run links again.
        _ = cache.save(key, &linked.cubin);
    }
    Ok(code(linked.cubin, linked.time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_runs_on_gpus_of_its_kind() {
        let target = |compute_capability, format| Target {
            ordinal: 0,
            compute_capability,
            multiprocessors: 1,
            driver: "13000".into(),
            format,
        };
        let hopper = target((9, 0), CodeFormat::Cubin);
        assert!(runs_on("sm_90", &hopper));
        for other in ["sm_80", "sm_89", "sm_100", "ptx", ""] {
            assert!(!runs_on(other, &hopper), "{other}");
        }
        let ada = target((8, 9), CodeFormat::Cubin);
        assert!(runs_on("sm_80", &ada) && runs_on("sm_86", &ada) && !runs_on("sm_90", &ada));
        assert!(!runs_on("sm_90", &target((9, 0), CodeFormat::Ptx)));
    }
}
