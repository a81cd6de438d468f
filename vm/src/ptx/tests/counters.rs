//! Which blocks count in shared memory.

use super::super::analysis::counters::Counters;
use super::super::analysis::interprocedural::Analysis;
use super::{Options, program};

/// The counters of a module with an export, `main`, of which calls are a part; and 400 functions in a table that have one type.
/// They are told by their functions, in their order.
fn counters(main: &str, warps: bool, frames: bool) -> Vec<String> {
    let names: Vec<String> = (0..400).map(|number| format!("$listed{number}")).collect();
    let listed: String = names
        .iter()
        .map(|name| format!("(func {name} (type $op) (i32.popcnt (local.get 0)))"))
        .collect();
    let module = format!(
        r#"(module
            (type $op (func (param i32) (result i32)))
            (table 400 funcref) (elem (i32.const 0) {})
            {listed}
            (func $named (param i32) (result i32) (i32.clz (local.get 0)))
            (func $fails (param i32) (drop (call $told (local.get 0))) unreachable)
            (func $told (param i32) (result i32) (i32.ctz (local.get 0)))
            (func $main (export "main") (param $n i32) (result i32)
                (if (i32.gt_u (local.get $n) (i32.const 1000)) (then (call $fails (local.get $n)) unreachable))
                {main}))"#,
        names.join(" ")
    );
    let program = program(&module);
    let entries = [program.meta.exports[0].index];
    let analysis = Analysis::new(&program, &entries, &Options::default());
    let counters = Counters::of(&analysis, &entries, warps, frames);
    let name = |word: &u32| program.places(*word)[0].function.clone();
    counters.words.iter().map(name).collect()
}

/// How many counters are of a function, or of those whose names begin so; and where the first is.
fn of(counters: &[String], name: &str) -> (usize, Option<usize>) {
    let is = |counter: &&String| counter.starts_with(name);
    let first = counters.iter().position(|counter| counter.starts_with(name));
    (counters.iter().filter(is).count(), first)
}

const CALL: &str = "(call_indirect (type $op) (local.get $n) (i32.const 7))";

/// What is called by name comes first, then what tables lead to. If these are many, they count in memory but for a few.
#[test]
fn what_threads_are_likely_to_come_to_has_counters() {
    let loops = |inner: &str| {
        format!(
            "(loop $outer
                (local.set $n (i32.rotl (local.get $n) (i32.const 3)))
                (loop $inner {inner} (br_if $inner (i32.and (local.get $n) (i32.const 1))))
                (br_if $outer (local.get $n)))
            (local.get $n)"
        )
    };
    let once = counters(&format!("(i32.add (call $named (local.get $n)) {CALL})"), false, true);
    assert_eq!((once.len(), of(&once, "main").0, of(&once, "named").0), (256, 2, 1));
    assert!(of(&once, "named").1 < of(&once, "listed").1);
    // Without frames in shared memory, which has room then.
    let all = counters(&format!("(i32.add (call $named (local.get $n)) {CALL})"), false, false);
    assert!(of(&all, "listed").0 == 400 && all.starts_with(&once), "{all:?}");
    // In two loops an eighth of the table's functions may be called as often as what is around.
    let often = counters(&loops(&format!("(drop {CALL})")), false, true);
    assert_eq!((of(&often, "listed").0, of(&often, "named").0), (400, 0));
    // A block may have two of them.
    assert_eq!(
        counters(&loops(&format!("(drop {CALL})")), true, true).len(),
        400 + of(&often, "main").0
    );
    assert_eq!(
        counters(&format!("(i32.add (call $named (local.get $n)) {CALL})"), true, true).len(),
        128
    );
}

/// What only comes before a trap is seldom reached. A function that never returns runs nevertheless.
#[test]
fn ways_to_a_trap_are_seldom_gone() {
    let found = counters("(call $named (local.get $n))", false, true);
    let order = ["named", "fails"].map(|name| of(&found, name).1.expect("there is room"));
    assert!(
        order.is_sorted() && of(&found, "told").1 > of(&found, "named").1,
        "{found:?}"
    );
    let ends = counters("(drop (call $named (local.get $n))) unreachable", false, true);
    assert!(of(&ends, "named").1 < of(&ends, "told").1, "{ends:?}");
}
