//! A program compiled to PTX prints and returns on the emulator what it does in the interpreter.

use std::path::Path;
use std::sync::Arc;

use gpu_run_bytecode::Program;
use gpu_run_ptx_emulator::Emulator;
use gpu_run_translator::{Options, translate};
use gpu_run_vm::cuda::code::{self, CompileRequest};
use gpu_run_vm::{Cpu, Device, End, Extern, Limits, RunOptions, Store, Stream, Value};

fn fixture(path: &str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/wasm")
        .join(path);
    let wasm = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Arc::new(translate(&wasm, &Options::full()).expect("a valid module").program)
}

/// How a run ended, what its threads returned, and what they printed.
type Ran = (End, Vec<Vec<Value>>, Vec<u8>);

/// Runs an exported function, compiled if the device can, and returns how it ended and what was printed.
fn run(device: Box<dyn Device>, program: &Arc<Program>, name: &str, args: &[Value], threads: u32) -> Ran {
    let mut store = Store::new(device, Limits::default()).expect("a store");
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let mut printed = Vec::new();
    let sink = &mut |_: Stream, _: u32, text: &[u8]| printed.extend_from_slice(text);
    let entry = program.meta.export(name).expect("an export").index;
    let code = store.target().map(|target| {
        let request = CompileRequest {
            program: program.clone(),
            prefix: "i0_".into(),
            code_start: store.next_code_start(),
            entries: vec![entry],
            options: code::options(program, threads, 1000),
            target,
        };
        request.build(None).expect("it links")
    });
    let compiled = code.is_some();
    let instance = store
        .instantiate_compiled(program.clone(), code.as_ref(), |_, _| None, &options, sink)
        .expect("it is instantiated");
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
}

fn same(path: &str, name: &str, args: &[Value], threads: u32) -> Ran {
    let program = fixture(path);
    let expected = run(Box::new(Cpu::new()), &program, name, args, threads);
    let found = run(Box::new(Emulator::new()), &program, name, args, threads);
    assert_eq!(format!("{:?}", found.0), format!("{:?}", expected.0));
    assert_eq!((&found.1, &found.2), (&expected.1, &expected.2));
    found
}

#[test]
fn a_program_prints_the_same() {
    let (_, _, printed) = same("release/integers.wasm", "main", &[Value::I32(0), Value::I32(0)], 1);
    assert!(!printed.is_empty());
}

#[test]
fn threads_return_the_same() {
    let (_, results, _) = same("wat/ackermann.wasm", "ackermann", &[Value::I32(2), Value::I32(3)], 40);
    assert_eq!(results, vec![vec![Value::I32(9)]; 40]);
}

#[test]
fn a_trap_is_the_same() {
    let (end, ..) = same("wat/traps.wasm", "unreachable", &[], 1);
    assert!(matches!(end, End::Trapped(_)), "{end:?}");
}
