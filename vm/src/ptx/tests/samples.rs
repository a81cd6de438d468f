//! Where code marks that it runs, for samples.

use std::mem::offset_of;

use super::{Options, text_alone_with};
use crate::device::FRAME_MEMORY;
use crate::layout::{Context, MARK_GROUP};

/// The PTX of a module whose export `f` is its kernel, with samples.
fn text(module: &str) -> String {
    let options = Options {
        samples: true,
        ..Options::default()
    };
    text_alone_with(module, options)
}

/// The text of a function's code, or of the kernel's.
fn body<'a>(text: &'a str, name: &str) -> &'a str {
    let (_, body) = text.rsplit_once(&format!(" {name}(")).expect("it has code");
    body.split_once("\n}").expect("it ends").0
}

/// How often a function marks itself, and what it calls.
fn marks(body: &str) -> (usize, usize) {
    let stores = |end: &str| {
        let stores = body.lines().filter(|line| line.contains("st.relaxed.gpu.global.b32 ["));
        stores
            .filter(|line| line.split(',').next().is_some_and(|place| place.ends_with(end)))
            .count()
    };
    let callees = stores(&format!("+{}]", 4 * MARK_GROUP));
    (stores("]") - callees, callees)
}

/// A function in a table marks nothing where it begins: the call has told the number that the table has beside its address. If
/// the module changes tables, the function marks it.
#[test]
fn what_a_table_leads_to_is_marked_by_the_call() {
    let module = |change: &str| {
        format!(
            "(module
               (type $op (func (param i32) (result i32)))
               (table 2 funcref) (elem (i32.const 0) $leaf $leaf)
               (func $leaf (type $op) (i32.clz (local.get 0)))
               (func (export \"f\") (param i32) (result i32)
                 {change}
                 (call_indirect (type $op) (local.get 0) (local.get 0))))"
        )
    };
    let fixed = text(&module(""));
    assert_eq!(marks(body(&fixed, "f0")), (0, 0), "{fixed}");
    assert_eq!(marks(body(&fixed, "start_1")).1, 1, "{fixed}");
    let (_, table) = fixed.split_once("table0[4] = {f0, ").expect("a table");
    let number: u64 = table.split(',').next().expect("a number").parse().expect("a number");
    assert!(number >> 63 == 1, "{number:x}");
    let changed = text(&module("(table.set (i32.const 0) (ref.null func))"));
    assert_eq!(marks(body(&changed, "f0")), (1, 0), "{changed}");
    assert_eq!(marks(body(&changed, "start_1")).1, 0, "{changed}");
}

/// The frames of a function that calls nothing but itself are as one.
#[test]
fn calls_of_a_function_that_only_calls_itself_mark_nothing() {
    let module = |other: &str| {
        format!(
            "(module
               (func $other (param i32) (result i32) (i32.clz (local.get 0)))
               (func $fib (param i32) (result i32)
                 (if (i32.lt_u (local.get 0) (i32.const 2)) (then (return (local.get 0))))
                 {other}
                 (i32.add
                   (call $fib (i32.sub (local.get 0) (i32.const 1)))
                   (call $fib (i32.sub (local.get 0) (i32.const 2)))))
               (func (export \"f\") (param i32) (result i32) (call $fib (local.get 0))))"
        )
    };
    let alone = text(&module(""));
    assert_eq!(marks(body(&alone, "f1")), (0, 0), "{alone}");
    assert!(!body(&alone, "f1").contains(&format!("[%local+{}]", offset_of!(Context, marks))));
    let beside = text(&module("(local.set 0 (call $other (local.get 0)))"));
    assert!(marks(body(&beside, "f1")).0 >= 3, "{beside}");
}

/// Each block of a table is looked at once, not by each way to it.
#[test]
fn marks_that_are_near_are_found_soon() {
    let tables: String = (0..12)
        .map(|_| {
            let labels = "0 1 2 3 4 5 6 7 ".repeat(2);
            let blocks = "(block ".repeat(8);
            format!("{blocks} (br_table {labels} (local.get 0)) {}", ")".repeat(8))
        })
        .collect();
    let module = format!(
        "(module (func $g (param i32)) (func (export \"f\") (param i32) (call $g (local.get 0)) {tables} (call $g (i32.const 1))))"
    );
    assert!(marks(body(&text(&module), "start_1")).0 > 0);
}

/// Kernels that call nothing have few registers, but not if they make many accesses at once.
#[test]
fn kernels_with_many_accesses_have_all_registers() {
    let says_many = |accesses: usize| {
        let loads: String = (0..accesses)
            .map(|number| {
                format!("(local.set 1 (i32.add (local.get 1) (i32.load (i32.mul (local.get 0) (i32.const {number})))))")
            })
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
    assert_eq!([8, 9].map(says_many), [true, false]);
}
