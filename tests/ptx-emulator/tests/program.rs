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

/// Lanes of several warps, each of which has a frame in shared memory.
#[test]
fn lanes_have_a_frame_each() {
    let text = r#"(module (import "gpu_run_v1" "gid" (func $gid (result i32))) (memory 17)
        (global $__stack_pointer (mut i32) (i32.const 1048576))
        (func (export "f") (result i32) (local $p i32) (local $x i32) (local $n i32)
            (global.set 0 (local.tee $p (i32.sub (global.get 0) (i32.const 64))))
            (memory.fill (local.get $p) (i32.const 3) (i32.const 64))
            (local.set $x (i32.add (i32.mul (call $gid) (i32.const 0x9e3779b9)) (i32.const 77)))
            (loop $again
                (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1664525)) (i32.const 1013904223)))
                (i32.store8 (i32.add (local.get $p) (i32.and (i32.shr_u (local.get $x) (i32.const 9)) (i32.const 63)))
                    (local.get $x))
                (i32.store16 (i32.add (local.get $p) (i32.and (i32.shr_u (local.get $x) (i32.const 14)) (i32.const 62)))
                    (local.get $x))
                (i64.store (i32.add (local.get $p) (i32.and (i32.shr_u (local.get $x) (i32.const 20)) (i32.const 56)))
                    (i64.add (i64.load (local.get $p)) (i64.extend_i32_u (local.get $x))))
                (local.set $x (i32.xor (local.get $x)
                    (i32.load (i32.add (local.get $p) (i32.and (i32.shr_u (local.get $x) (i32.const 7)) (i32.const 60))))))
                (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 40))))
            (global.set 0 (i32.add (local.get $p) (i32.const 64)))
            (local.get $x)))"#;
    let program = program(text);
    assert!(support::compiled(&program, "f").contains(".shared .align 16 .b8 frame["));
    let ran = support::same(&program, &[("f", &[])], 100);
    assert_eq!(ran[0].1.len(), 100);
}
