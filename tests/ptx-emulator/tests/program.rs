//! A program compiled to PTX prints and returns on the emulator what it does in the interpreter.

mod support;

use std::path::Path;

use gpu_run_vm::{End, Value};
use support::{Ran, program};

fn same(path: &str, name: &str, args: &[Value], threads: u32) -> Ran {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/wasm")
        .join(path);
    let wasm = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    support::same(&program(&wasm), &[(name, args)], threads).remove(0)
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

/// Nothing stands before the loop, whose passes come from a parameter.
#[test]
fn a_loop_at_a_functions_head_makes_all_its_passes() {
    let program = program(
        r#"(module (memory 1) (func (export "f") (param $n i32) (result i32)
            (loop $l
                (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 1)))
                (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (i32.load (i32.const 0))))"#,
    );
    let ran = support::same(&program, &[("f", &[Value::I32(1000)])], 1);
    assert_eq!(ran[0].1, [[Value::I32(1000)]]);
}
