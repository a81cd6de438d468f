//! Where code marks that it runs, for samples.

use std::mem::offset_of;

use super::{Options, body, part, text_alone_with};
use crate::layout::{Context, MARK_GROUP};

/// The PTX of a module whose export `f` is its kernel, with samples.
fn text(module: &str) -> String {
    let options = Options {
        samples: true,
        ..Options::default()
    };
    text_alone_with(module, options)
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
    assert_eq!(marks(body(&fixed, 0)), (0, 0), "{fixed}");
    assert_eq!(marks(part(&fixed, "start_1(")).1, 1, "{fixed}");
    let (_, table) = fixed.split_once("table0[4] = {f0, ").expect("a table");
    let number: u64 = table.split(',').next().expect("a number").parse().expect("a number");
    assert!(number >> 63 == 1, "{number:x}");
    let changed = text(&module("(table.set (i32.const 0) (ref.null func))"));
    assert_eq!(marks(body(&changed, 0)), (1, 0), "{changed}");
    assert_eq!(marks(part(&changed, "start_1(")).1, 0, "{changed}");
    // A tail call through a table marks nothing of what it calls, and what an export of a table holds is not known.
    let tail = "(func $tail (param i32) (result i32)
        (return_call_indirect (type $op) (local.get 0) (i32.const 0)))";
    for other in [tail, "(export \"table\" (table 0))"] {
        let text = text(&module("").replace("(func (export", &format!("{other} (func (export")));
        assert_eq!(marks(body(&text, 0)), (1, 0), "{text}");
        assert!(!text.contains(&format!("+{}], %w", 4 * MARK_GROUP)), "{text}");
    }
}

/// One that is called by its name too, and whose first mark is far, may have the mark of its last run.
#[test]
fn what_is_called_by_its_name_too_may_mark_where_it_begins() {
    let module = |named: &str| {
        let far = "(local.set 0 (i32.mul (i32.rotl (local.get 0) (i32.const 3)) (i32.const 5)))".repeat(9);
        format!(
            "(module
               (type $op (func (param i32) (result i32)))
               (table 2 funcref) (elem (i32.const 0) $far $far)
               (func $other (param i32) (result i32) (i32.clz (local.get 0)))
               (func $far (type $op) {far} (call $other (local.get 0)))
               (func (export \"f\") (param i32) (result i32)
                 {named} (call_indirect (type $op) (local.get 0) (local.get 0))))"
        )
    };
    assert_eq!(marks(body(&text(&module("")), 1)).0, 1);
    assert_eq!(marks(body(&text(&module("(drop (call $far (local.get 0)))")), 1)).0, 2);
}

/// The frames of a function that calls itself are as one, which its first caller tells where it marks.
#[test]
fn calls_of_a_function_by_itself_mark_nothing() {
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
    let place = format!("[%local+{}]", offset_of!(Context, marks));
    let accesses = |body: &str, kind: &str| {
        let of_place = |line: &&str| line.trim_start().starts_with(kind) && line.contains(&place);
        body.lines().filter(of_place).count()
    };
    let alone = text(&module(""));
    assert_eq!(marks(body(&alone, 1)), (0, 0), "{alone}");
    assert!(!body(&alone, 1).contains(&place), "{alone}");
    // The kernel tells it, and has its own again.
    assert_eq!(accesses(part(&alone, "start_2("), "st.local.b64"), 2, "{alone}");
    // Each mark finds its place anew, in none of the registers that calls save.
    let beside = text(&module("(local.set 0 (call $other (local.get 0)))"));
    assert_eq!(marks(body(&beside, 1)), (2, 0), "{beside}");
    assert!(!body(&beside, 1).contains("ld.param.b64 %row"), "{beside}");
    assert_eq!(accesses(body(&beside, 1), "st.local.b64"), 0, "{beside}");
    let looped = text(&module(
        "(loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 3)))))",
    ));
    assert_eq!(marks(body(&looped, 1)), (2, 0), "{looped}");
}

/// A tail call is made by the caller of the function that ends so. What it calls finds in the context where it marks, and the
/// caller's callers find their own again.
#[test]
fn a_tail_call_is_told_where_it_marks() {
    let text = text(
        "(module
           (func $last (param i32) (result i32)
             (loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 3)))))
             (local.get 0))
           (func $ends (param i32) (result i32) (return_call $last (local.get 0)))
           (func $calls (param i32) (result i32)
             (i32.add (call $ends (local.get 0)) (i32.const 1)))
           (func (export \"f\") (param i32) (result i32)
             (i32.add (call $calls (local.get 0)) (call $calls (i32.const 5)))))",
    );
    let place = format!("[%local+{}]", offset_of!(Context, marks));
    let thunk = part(&text, "t0(");
    let lines = thunk.lines().map(str::trim);
    let read: Vec<&str> = lines
        .filter(|line| line.contains(&place) || line.contains("[q3]"))
        .collect();
    assert_eq!(
        read,
        [&format!("ld.local.b64 %l, {place};"), "st.param.b64 [q3], %l;"],
        "{text}"
    );
    let caller = body(&text, 2);
    let lines = caller.lines().map(str::trim);
    let of_place: Vec<&str> = lines.filter(|line| line.contains(&place)).collect();
    let [before, set, restored] = of_place[..] else {
        panic!("{caller}")
    };
    assert_eq!(set, format!("st.local.b64 {place}, %next_row;"));
    let register = before.split([' ', ',']).nth(1).expect("a register");
    assert_eq!(restored, format!("st.local.b64 {place}, {register};"));
}
