//! Runs of a program in the interpreter and on the emulator.

// No test uses all of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_ptx_emulator::Emulator;
use gpu_run_translator::{Options, translate};
use gpu_run_vm::cuda::code::{self, CompileRequest, Surroundings};
use gpu_run_vm::ptx::{self, LocalFrames, Reconverge, Tuning};
use gpu_run_vm::{Cpu, Device, End, Extern, FRAME_MEMORY, Limits, RunOptions, Store, Stream, Value};

/// Everything that changes how code is compiled and not what it does.
const TUNING: Tuning = Tuning {
    local_frames: LocalFrames::Always,
    reconverge: Reconverge::Always,
    line_info: true,
    region_words: None,
};

/// Words of a function's regions, where it is compiled in some: few, so that there are many.
const REGION_WORDS: u32 = 48;

const AROUND: Surroundings = Surroundings {
    known_code: true,
    processes: false,
    checked_heap: false,
    frame_memory: FRAME_MEMORY,
    aligns_memories: true,
};

/// The program of a module, as bytes or text.
pub fn program(module: &(impl AsRef<[u8]> + ?Sized)) -> Arc<Program> {
    let wasm = wat::parse_bytes(module.as_ref()).expect("a module");
    Arc::new(translate(&wasm, &Options::full()).expect("a valid module").program)
}

/// A call of an exported function.
pub type Call<'a> = (&'a str, &'a [Value]);

/// How a run ended, what its threads returned, and what they printed.
pub type Ran = (End, Vec<Vec<Value>>, Vec<u8>);

fn entries(program: &Program, calls: &[Call]) -> Vec<u32> {
    let entry = |(name, _): &Call| program.meta.export(name).expect("an export").index;
    calls.iter().map(entry).collect()
}

/// Makes calls one after the other, compiled if the device can, but for some blocks.
fn run(
    device: Box<dyn Device>,
    program: &Arc<Program>,
    calls: &[Call],
    threads: u32,
    cold: &BTreeSet<u32>,
    tuning: Tuning,
    frame_memory: u32,
) -> Vec<Ran> {
    let mut store = Store::new(device, Limits::default()).expect("a store");
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let code = store.target().map(|target| {
        let request = CompileRequest {
            program: program.clone(),
            prefix: "i0_".into(),
            code_start: store.next_code_start(),
            entries: entries(program, calls),
            cold: cold.clone(),
            options: code::options(program, threads, 1000, tuning, Surroundings { frame_memory, ..AROUND }),
            target,
            progress: Default::default(),
        };
        request.build(None).expect("it links")
    });
    let compiled = code.is_some();
    let instance = store
        .instantiate_compiled(
            program.clone(),
            code.as_ref(),
            |_, _| None,
            &options,
            &mut |_: Stream, _: u32, _: &[u8]| {},
        )
        .expect("it is instantiated");
    let ran = |(name, args): &Call| {
        let mut printed = Vec::new();
        let sink = &mut |_: Stream, _: u32, text: &[u8]| printed.extend_from_slice(text);
        let Some(Extern::Func(func)) = store.export(instance, name) else {
            panic!("no function {name}")
        };
        let outcome = store.run(func, args, &options, sink).expect("it runs");
        assert_eq!(outcome.compiled, compiled);
        let mut end = outcome.end;
        if let End::Trapped(fault) = &mut end {
            // The interpreter's own.
            fault.backtrace.registers.clear();
        }
        (end, outcome.results, printed)
    };
    calls.iter().map(ran).collect()
}

/// Makes calls both ways, and compares: compiled as a whole, with only the called functions compiled, with only the first
/// block of each function, and with none.
pub fn same(program: &Arc<Program>, calls: &[Call], threads: u32) -> Vec<Ran> {
    let blocks = ptx::block_starts(program);
    let all: BTreeSet<u32> = blocks.iter().flatten().copied().collect();
    let called = entries(program, calls);
    let functions = (program.meta.imported_funcs()..).zip(&blocks);
    let others = functions.filter(|(index, _)| !called.contains(index));
    let others = others.flat_map(|(_, blocks)| blocks).copied().collect();
    let behind_first = blocks
        .iter()
        .flat_map(|blocks| blocks.iter().skip(1))
        .copied()
        .collect();
    same_without(program, calls, threads, [BTreeSet::new(), others, behind_first, all])
}

/// The same with each of these sets of blocks interpreted; functions as one, and in regions. Kernels' frames are in shared
/// memory, and in local memory for the first set.
pub fn same_without(
    program: &Arc<Program>,
    calls: &[Call],
    threads: u32,
    sets: impl IntoIterator<Item = BTreeSet<u32>>,
) -> Vec<Ran> {
    let expected = run(
        Box::new(Cpu::new()),
        program,
        calls,
        threads,
        &BTreeSet::new(),
        TUNING,
        0,
    );
    let in_regions = Tuning {
        region_words: Some(REGION_WORDS),
        ..TUNING
    };
    // In regions with every second one, for it takes as long again.
    let ways = sets.into_iter().enumerate().flat_map(|(i, cold)| {
        let regions = (i % 2 == 0).then(|| (cold.clone(), in_regions, FRAME_MEMORY));
        let local = (i == 0).then(|| (cold.clone(), TUNING, 0));
        [(cold, TUNING, FRAME_MEMORY)].into_iter().chain(regions).chain(local)
    });
    for (cold, tuning, frame_memory) in ways {
        let found = run(
            Box::new(Emulator::new()),
            program,
            calls,
            threads,
            &cold,
            tuning,
            frame_memory,
        );
        for (found, expected) in found.iter().zip(&expected) {
            let how = || {
                format!(
                    "without {cold:?}, regions {:?}, shared memory {frame_memory}",
                    tuning.region_words
                )
            };
            assert_eq!(format!("{:?}", found.0), format!("{:?}", expected.0), "{}", how());
            assert_eq!((&found.1, &found.2), (&expected.1, &expected.2), "{}", how());
        }
    }
    expected
}

/// The PTX of a program that is entered at `name`, with frames in local memory wherever that is possible.
pub fn compiled(program: &Program, name: &str) -> String {
    let unit = ptx::Unit {
        program,
        prefix: String::new(),
        code_start: 0,
        entries: entries(program, &[(name, &[])]),
        cold: Default::default(),
        options: code::options(program, 1, 1000, TUNING, AROUND),
    };
    ptx::compile(&unit).text
}
