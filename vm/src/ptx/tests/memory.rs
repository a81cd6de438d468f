//! Addresses, bounds and the stack pointer.

use std::sync::Arc;

use gpu_run_bytecode::{Program, ThreadLocals};

use super::{Options, body, compiled, part, program, text, text_alone, text_alone_with};
use crate::device::FRAME_MEMORY;
use crate::ptx::Analysis;
use crate::{Cpu, Extern, Limits, RunOptions, Store, Value};

const STACK: &str = "(module (memory 1 10)
    (global $__stack_pointer (mut i32) (i32.const 65536))
    (func (export \"pointer\") (result i32) (global.get 0)))";

/// Another thread may have made the memory in which a stack lies. A pointer beyond the size that is known is compared
/// once more with the size of now.
#[test]
fn a_stack_pointer_beyond_a_stale_size_has_it_read_again() {
    let program = program(
        "(module (memory 1 10)
           (global $__stack_pointer (mut i32) (i32.const 65536))
           (func (export \"switch\") (param i32) (global.set 0 (local.get 0))))",
    );
    assert_eq!(program.meta.stack_pointer, Some(0));
    let options = |growth_by_others| Options {
        growth_by_others,
        exports: true,
        ..Options::default()
    };
    // Once at the function's head, and again.
    let size = format!("+{}];", std::mem::offset_of!(crate::layout::Memory, size));
    for (growth_by_others, reads) in [(false, 1), (true, 2)] {
        let text = compiled(&program, options(growth_by_others)).text;
        let body = body(&text, 0);
        assert_eq!(
            body.lines()
                .filter(|line| line.contains(".global.b32") && line.ends_with(&size))
                .count(),
            reads,
            "{body}"
        );
    }
}

/// An instruction of PTX takes what it adds to an address for a signed number of 32 bits.
#[test]
fn offsets_of_2_gib_and_more_are_added_before() {
    let text = text(
        "(module (memory 65536)
           (func (export \"f\") (param i32) (result i32)
             (i32.add
               (i32.load8_u offset=0x7fffff00 (local.get 0))
               (i32.load8_u offset=0xc0000000 (local.get 0))))
           (func (export \"g\") (param i32)
             (i32.store offset=0x7ffffffc align=1 (local.get 0) (i32.const 1))
             (memory.copy (i32.add (i32.and (local.get 0) (i32.const 255)) (i32.const 0x7ffffff0)) (local.get 0) (i32.const 32))))",
    );
    let offsets = text
        .split("[%l")
        .skip(1)
        .filter_map(|rest| rest.split_once(']')?.0.split_once('+'));
    let largest = offsets.map(|(_, offset)| offset.parse::<u64>().unwrap()).max();
    assert!(largest.is_some_and(|largest| largest <= i32::MAX as u64), "{text}");
    assert!(text.contains(&format!(", {};", 0xc000_0000u32)), "{text}");
}

/// The host puts the address of a thread's block into that global, with the block's alignment.
#[test]
fn the_stack_is_not_known_to_be_aligned_where_its_pointer_is_a_block_of_thread_locals() {
    let mut program = program(STACK);
    let aligned = |program: &Program| Analysis::new(program, &[], &Options::default()).check_stack_alignment();
    assert!(aligned(&program));
    program.meta.thread_locals = Some(ThreadLocals {
        base: 0,
        block: Some((4, 4)),
    });
    assert!(!aligned(&program));
}

#[test]
fn stacks_of_threads_are_aligned_whatever_size_is_asked_for() {
    for thread_stack in [1, 1001, 4096] {
        let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        let options = RunOptions {
            threads: 3,
            thread_stack,
            ..RunOptions::default()
        };
        let mut silent = |_, _, _: &[u8]| {};
        let instance = store
            .instantiate(Arc::new(program(STACK)), |_, _| None, &options, &mut silent)
            .unwrap();
        let Some(Extern::Func(function)) = store.export(instance, "pointer") else {
            panic!("it is exported");
        };
        let results = store.run(function, &[], &options, &mut silent).unwrap().results;
        let pointers: Vec<i32> = results
            .iter()
            .flatten()
            .map(|value| match value {
                Value::I32(pointer) => *pointer,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(pointers.iter().all(|pointer| pointer % 16 == 0), "{pointers:?}");
        assert!(pointers[0] > pointers[1] && pointers[1] > pointers[2], "{pointers:?}");
    }
}

/// Only a program that makes its memory larger must expect that another thread does.
#[test]
fn memory_grows_where_code_makes_it() {
    let grow = "(func (export \"f\") (result i32) (memory.grow (i32.const 1)))";
    for (module, may) in [
        (format!("(module (memory 1) {grow})"), true),
        (format!("(module (memory 1 2) {grow})"), true),
        (format!("(module (memory 2 2) {grow})"), false),
        (
            "(module (memory 1) (func (export \"f\") (i32.store (i32.const 0) (i32.const 1))))".into(),
            false,
        ),
    ] {
        assert_eq!(super::super::may_grow(&program(&module)), may, "{module}");
    }
}

/// A loop that stores words from address 0 on, `step` bytes apart.
fn counted_stores(step: u32) -> String {
    format!(
        "(module (memory 1)
           (func (export \"f\") (param i32) (local i32)
             loop
               local.get 1 i32.const 7 i32.store
               local.get 1 i32.const 7 i32.store offset=64
               local.get 1 i32.const {step} i32.add local.tee 1
               local.get 0 i32.ne br_if 0
             end))"
    )
}

#[test]
fn what_a_loop_counts_keeps_its_alignment() {
    let branches = |step| text(&counted_stores(step)).contains("bra BYTES_");
    assert!(!branches(4));
    assert!(!branches(12));
    assert!(branches(2));
}

#[test]
fn copies_of_a_loop_share_what_traps() {
    let text = text(&counted_stores(4));
    let stores = text.matches("st.global.b32").count();
    assert!(stores >= 4, "there are copies");
    let traps = text
        .lines()
        .filter(|line| line.starts_with("TRAP_") && *line != "TRAP_BOUNDS:");
    assert_eq!(traps.count(), 2);
}

/// Predicates are for what a multiprocessor keeps: see `Compiler::is_bound_by_loads`.
#[test]
fn a_large_kernel_accesses_memory_as_a_function_does() {
    let accesses = "(i32.store align=1
            (i32.mul (local.get 0) (i32.const 3))
            (i32.load align=1 (i32.mul (local.get 0) (i32.const 5))))"
        .repeat(200);
    let module = format!("(module (memory 1) (func (export \"f\") (param i32) {accesses}))");
    let text = text_alone(&module);
    let kernel = part(&text, "start_0");
    assert!(!kernel.contains(" ld.global.b32"), "a load with a predicate");
    assert_eq!(
        kernel.matches("st.global.b8").count(),
        kernel.matches("NEXT_BYTE_").count() / 2
    );
}

/// In a loop that calculates with numbers, a load that is not needed costs more than a predicate.
#[test]
fn numeric_loops_load_what_they_need() {
    let function = |load: &str| {
        let module = format!(
            "(module (memory 1) (func (export \"f\") (param i32) (result f32) (local f32)
               (loop
                 (local.set 1 (f32.mul (local.get 1) (f32.const 3)))
                 (local.set 0 (i32.load align=1 (local.get 0)))
                 (br_if 0 (local.get 0)))
               {load} (local.get 1)))"
        );
        let text = text(&module);
        let words = |line: &&str| line.contains("ld.global.b32") && !line.contains("%size");
        let (needed, all): (Vec<&str>, Vec<&str>) = body(&text, 0)
            .lines()
            .map(str::trim)
            .filter(words)
            .partition(|line| line.starts_with('@'));
        (needed.len(), all.len())
    };
    let (needed, all) = function("");
    assert!(
        needed > 0 && needed == all,
        "the second word is loaded if it is needed: {needed}, {all}"
    );
    // Outside of the loop both are.
    assert_eq!(
        function("(drop (i32.load align=1 (i32.mul (local.get 0) (i32.const 3))))"),
        (needed, all + 2)
    );
}

/// A function with an access, as others call it, and as the body of a kernel.
fn function_and_kernel(access: &str) -> (String, String) {
    let module = format!("(module (memory 1) (func (export \"f\") (param i32) (result i64) {access}))");
    let (function, kernel) = (text(&module), text_alone(&module));
    (body(&function, 0).to_owned(), part(&kernel, "start_0").to_owned())
}

#[test]
fn a_function_loads_all_words_around_a_value_and_a_small_kernel_those_that_it_needs() {
    let (function, kernel) = function_and_kernel("(i64.load offset=4 align=1 (local.get 0))");
    let loads = |text: &str, predicate: &str| {
        let words =
            |line: &&str| line.contains("ld.global.b32") && !line.contains("%size") && line.starts_with(predicate);
        text.lines().map(str::trim).filter(words).count()
    };
    assert_eq!((loads(&function, "ld"), loads(&function, "@")), (3, 0), "{function}");
    assert_eq!((loads(&kernel, "ld"), loads(&kernel, "@")), (0, 3), "{kernel}");
    // The offset is a multiple of 4, so that other fields have the same words.
    assert!(function.contains("+12];"), "{function}");
}

#[test]
fn a_function_stores_bytes_in_a_loop() {
    let (function, kernel) = function_and_kernel("(i32.store align=1 (local.get 0) (i32.const 1)) (i64.const 0)");
    let bytes = |text: &str| text.matches("st.global.b8").count();
    assert_eq!((bytes(&function), bytes(&kernel)), (1, 4), "{function}{kernel}");
    assert!(function.contains(".pragma \"nounroll\";"), "{function}");
}

/// Kernels that call nothing have few registers, but not if they make many accesses at once.
#[test]
fn kernels_with_many_accesses_have_all_registers() {
    let says_many = |load: &str, accesses: usize| {
        let loads: String = (0..accesses)
            .map(|number| load.replace("AT", &format!("(i32.mul (local.get 0) (i32.const {number}))")))
            .collect();
        let module = format!(
            "(module (memory 1) (func (export \"f\") (param i32) (result i32) (local i32) {loads} (local.get 1)))"
        );
        let options = Options {
            frame_memory: FRAME_MEMORY,
            ..Options::default()
        };
        text_alone_with(&module, options).contains(".minnctapersm")
    };
    for load in [
        "(local.set 1 (i32.add (local.get 1) (i32.load AT)))",
        "(local.set 1 (i32.add (local.get 1) (i32x4.extract_lane 0 (v128.load AT))))",
    ] {
        assert_eq!(
            [8, 9].map(|accesses| says_many(load, accesses)),
            [true, false],
            "{load}"
        );
    }
}

/// Eight bytes at a multiple of 4, as compilers copy the first two of three words.
#[test]
fn eight_bytes_at_a_multiple_of_four_are_two_words() {
    let stores = |address: &str| {
        let text = text_alone(&format!(
            "(module (memory 1)
               (func $f (param i32) (i64.store {address} (i64.const 7)))
               (func (export \"f\") (param i32) (call $f (local.get 0))))"
        ));
        let count = |what: &str| text.matches(what).count();
        (count("st.global.b64"), count("st.global.b32"), count("st.global.b8"))
    };
    assert_eq!(stores("(local.get 0)"), (1, 2, 1));
    assert_eq!(stores("(i32.shl (local.get 0) (i32.const 2))"), (1, 2, 0));
    assert_eq!(stores("(i32.shl (local.get 0) (i32.const 3))"), (1, 0, 0));
}
