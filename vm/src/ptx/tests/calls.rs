//! Calls, and what is known of the whole program.

use std::collections::BTreeSet;
use std::mem::offset_of;

use super::{Options, body, compiled, part, program, text_alone, text_alone_with};
use crate::layout::Context;
use crate::ptx::{Analysis, Unit, block_starts, compile, definitions, reachable};

/// More frames than there are places for return addresses: a call puts back what had its place, also when what
/// it called has thrown.
#[test]
fn return_addresses_of_outer_calls_are_put_back_after_a_recursion() {
    let program = program(
        "(module (tag $e)
           (func $recurse (param i32)
             (if (i32.eqz (local.get 0)) (then (throw $e)))
             (call $recurse (i32.sub (local.get 0) (i32.const 1))))
           (func $behind (param i32) (call $leaf (local.get 0)))
           (func $leaf (param i32) (call $trap (local.get 0)))
           (func $trap (param i32) (drop (i32.div_u (i32.const 1) (local.get 0))))
           (func (export \"f\") (param i32) (call $leaf (local.get 0)) (call $recurse (local.get 0))))",
    );
    let unit = |exports, entries| super::Unit {
        program: &program,
        prefix: String::new(),
        code_start: 0,
        entries,
        cold: Default::default(),
        options: Options {
            exports,
            ..Options::default()
        },
    };
    let text = super::compile(&unit(false, vec![4])).text;
    // The call writes the place; then out of line the value that was there is put back after it, or before the call taken
    // from there, and put back where it has thrown.
    let places = |index| {
        let lines = body(&text, index).lines().map(str::trim);
        let places = lines.filter(|line| line.contains("+72]") && line.contains("[%l"));
        places.map(|line| &line[..2]).collect::<Vec<_>>()
    };
    assert_eq!(places(0), ["st", "ld", "st", "st"]);
    // Never deeper than three frames.
    assert_eq!(places(2), ["st"]);
    // How deep others call is not known.
    let text = compiled(
        &program,
        Options {
            exports: true,
            ..Options::default()
        },
    )
    .text;
    assert!(body(&text, 2).contains("ld.local.b32"), "{text}");
}

/// A function that a kernel calls and that ends in a tail call: what it calls has the same depth.
#[test]
fn a_tail_call_that_a_kernel_makes_has_a_depth() {
    let text = text_alone(
        "(module
           (func $leaf (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
           (func (export \"f\") (param i32) (result i32) (return_call $leaf (local.get 0))))",
    );
    let kernel = part(&text, "start_1(");
    let (depth, branch) = (kernel.find("mov.b32 %deeper, %depth;"), kernel.find("bra STATUS_"));
    assert!(depth.is_some() && branch.is_some() && depth < branch, "{kernel}");
}

/// Each of these functions calls the next one twice: without loops or recursion, and yet for long.
#[test]
fn a_tree_of_calls_looks_at_the_stop_flag() {
    let tree = |height: u32| {
        let function = |i: u32| format!("(func $f{i} (call $f{0}) (call $f{0}))", i + 1);
        let functions: String = (0..height).map(function).collect();
        text_alone(&format!(
            "(module (memory 1) {functions}
               (func $f{height} (i32.store8 (i32.const 0) (i32.const 1)))
               (func (export \"f\") (call $f0)))"
        ))
    };
    assert!(tree(20).contains("BEGIN:"));
    assert!(!tree(10).contains("BEGIN:"));
}

/// Every call compares the native stack with its limit, so there must be one.
#[test]
fn code_that_looks_at_the_depth_of_every_call_needs_the_stack() {
    let program = program("(module (func $leaf) (func (export \"f\") (call $leaf)))");
    for check_depth in [false, true] {
        let options = Options {
            check_depth,
            ..Options::default()
        };
        assert_eq!(compiled(&program, options).needs_stack, check_depth);
    }
}

/// The frame of a kernel that has room for many values lies above what the limit was measured from.
#[test]
fn a_large_frame_of_a_kernel_moves_the_limit_of_the_stack() {
    let kernel = |values: usize| {
        let parameters = "i32 ".repeat(values);
        text_alone(&format!(
            "(module (tag (param {parameters})) (func (export \"f\") (param i32) (call 0 (local.get 0))))"
        ))
    };
    let at = offset_of!(Context, native_limit);
    let moves = |text: &str| part(text, "start_0(").contains(&format!("st.local.b32 [%local+{at}]"));
    assert!(!moves(&kernel(1)));
    assert!(moves(&kernel(1000)));
}

/// What a function calls last may need more of the stack than the function itself.
#[test]
fn a_tail_call_counts_for_the_stack() {
    let (wide, values) = ("i64 ".repeat(200), "(i64.const 1) ".repeat(200));
    let program = program(&format!(
        "(module (type $t (func (param i32))) (table funcref (elem $large))
           (func $large (type $t) (call $wide {values}))
           (func $direct (param i32) (return_call $large (local.get 0)))
           (func $indirect (param i32) (return_call_indirect (type $t) (local.get 0) (i32.const 0)))
           (func (export \"f\") (call $direct (i32.const 0)) (call $indirect (i32.const 0)))
           (func $wide (param {wide})))"
    ));
    let analysis = Analysis::new(&program, &[3], &Options::default());
    let stack = |index: u32| analysis.of(index).map_or(0, |facts| facts.stack);
    assert!(stack(0) >= 8 * 400, "{}", stack(0));
    assert_eq!(stack(1), stack(0));
    assert!(stack(2) >= stack(0));
    assert!(stack(3) > stack(0));
}

/// What an entry does not lead to is not compiled, and does not count.
#[test]
fn words_are_those_that_entries_may_lead_to() {
    let program = program(
        r#"(module (type $t (func (result i32))) (table funcref (elem $far $other))
             (func $far (result i32) (i32.const 7))
             (func $other (param i32))
             (func $near (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
             (func (export "alone") (result i32) (i32.const 1))
             (func (export "direct") (result i32) (call $near))
             (func (export "table") (result i32) (call_indirect (type $t) (i32.const 0))))"#,
    );
    let functions = &program.meta.functions;
    let size = |index: usize| functions[index].end - functions[index].start;
    let words = |entries: &[u32]| reachable(&program, entries, &BTreeSet::new(), &Options::default()).words;
    assert_eq!(words(&[3]), size(3));
    assert_eq!(words(&[4]), size(4) + size(2));
    assert_eq!(words(&[5]), size(5) + size(0));
    assert_eq!(words(&[3, 4]), size(2) + size(3) + size(4));
}

/// The host may hand an exported function to one that puts it into a table. Without that, no call through a table finds it.
#[test]
fn an_exported_function_may_be_put_into_a_table() {
    let words = |put: &str| {
        let program = program(&format!(
            r#"(module (type $t (func (param i32))) (table 1 funcref)
                 (func (export "other") (param i32))
                 (func (export "entry") (param funcref) {put} (call_indirect (type $t) (i32.const 5) (i32.const 0))))"#
        ));
        let own = program.meta.functions[1].end - program.meta.functions[1].start;
        reachable(&program, &[1], &BTreeSet::new(), &Options::default()).words - own
    };
    assert_eq!(words(""), 0);
    assert!(words("(table.set (i32.const 0) (local.get 0))") > 0);
    assert!(words("(drop (table.grow (local.get 0) (i32.const 1)))") > 0);
}

/// The text of a program with `main` as its only entry, where some functions are interpreted; and its words.
fn mixed(wat: &str, interpreted: &[usize]) -> (String, u32) {
    let blocks = block_starts(&program(wat));
    let cold = interpreted.iter().flat_map(|function| blocks[*function].clone());
    without(wat, cold.collect())
}

/// The same where blocks are, by their first words.
fn without(wat: &str, cold: BTreeSet<u32>) -> (String, u32) {
    let program = program(wat);
    let main = program.meta.export("main").expect("an export").index;
    let unit = super::Unit {
        program: &program,
        prefix: String::new(),
        code_start: 0,
        entries: vec![main],
        cold,
        options: Options::default(),
    };
    let compiled = compile(&unit);
    let words = reachable(&program, &unit.entries, &unit.cold, &unit.options).words;
    (compiled.text, words)
}

#[test]
fn what_interpreted_functions_call_is_compiled_if_it_is_hot() {
    let wat = r#"(module (memory 1)
         (func $shared (param i32) (result i32) (i32.div_u (i32.const 9) (local.get 0)))
         (func $own (param i32) (result i32) (i32.rem_u (i32.const 9) (local.get 0)))
         (func $cold (param i32) (result i32) (i32.add (call $own (local.get 0)) (call $shared (local.get 0))))
         (func (export "main") (param i32) (result i32) (i32.add (call $cold (local.get 0)) (call $shared (local.get 0)))))"#;
    let (whole, all) = mixed(wat, &[]);
    let (text, words) = mixed(wat, &[2]);
    for function in ["f0(", "f1(", "f2("] {
        assert!(whole.contains(function));
    }
    assert!(!whole.contains("gpu_run_interpret, "));
    assert!(body(&text, 0).contains("div.u32"));
    assert!(body(&text, 1).contains("rem.u32"));
    assert!(text.contains("natives[8] = {n0, "), "{text}");
    assert!(body(&text, 2).contains("call (q), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);"));
    assert!(0 < words && words < all);
    let (text, _) = mixed(wat, &[1, 2]);
    assert!(!text.contains("f1("), "{text}");
    // An entry has a kernel whatever was asked for.
    let (text, words) = mixed(wat, &[0, 1, 2, 3]);
    assert!(text.contains("start_3(") && text.contains("gpu_run_interpret"));
    assert_eq!(words, 0);
}

/// What is read later goes to the interpreter, and nothing else does.
#[test]
fn a_way_out_takes_what_is_read_later() {
    let wat = r#"(module
         (func (export "main") (param $a i64) (param $b i32) (param $unread i32) (result i64)
           (if (local.get $b) (then
             (return (i64.add (local.get $a) (i64.extend_i32_u (i32.div_u (i32.const 9) (local.get $b)))))))
           (local.get $a)))"#;
    let mut seen = Vec::new();
    for block in block_starts(&program(wat)).remove(0).into_iter().skip(1) {
        let (text, _) = without(wat, [block].into());
        assert!(text.contains("gpu_run_interpret, "));
        let stored = text.matches("st.local.b32 [%local+").count();
        let divides = text.contains("div.u32");
        seen.push((divides, stored));
        // The number, in two halves, and its divisor where the division is what is left out.
        let list = if divides {
            "[3] = {2, 0, 1}"
        } else {
            "[4] = {3, 0, 1, 2}"
        };
        assert!(text.contains(list), "{text}");
    }
    assert!(seen.contains(&(true, 2)) && seen.contains(&(false, 3)), "{seen:?}");
}

/// An interpreted function may put a reference into a table, where compiled code finds it.
#[test]
fn references_of_interpreted_functions_are_called_by_compiled_ones() {
    let wat = r#"(module (type $t (func (result i32))) (table 1 funcref)
         (func $target (type $t) (i32.const 42))
         (func $puts (table.set (i32.const 0) (ref.func $target)))
         (elem declare func $target)
         (func (export "main") (result i32) (call $puts) (call_indirect (type $t) (i32.const 0))))"#;
    let (text, _) = mixed(wat, &[1]);
    assert!(body(&text, 0).contains("0x2a"));
    assert!(text.contains("functions[3] = {f0, 0, f2};"), "{text}");
    // It has a name though it is interpreted itself.
    let (text, _) = mixed(wat, &[0, 1]);
    assert!(body(&text, 0).contains("gpu_run_interpret"));
    assert!(text.contains("functions[3] = {f0, 0, f2};"), "{text}");
}

/// What is known of functions holds for the interpreted ones too: memory may grow in one, and it may throw.
#[test]
fn callers_of_interpreted_functions_know_what_those_do() {
    let wat = r#"(module (memory 1) (tag $t)
         (func $grow (drop (memory.grow (i32.const 1))))
         (func $throw (throw $t))
         (func $cold (call $grow) (call $throw))
         (func (export "main") (result i32) (call $cold) (i32.load (i32.const 0))))"#;
    let (text, _) = mixed(wat, &[0, 1, 2]);
    assert!(!text.contains("f0(") && !text.contains("f1("));
    assert!(body(&text, 2).contains("st.param.b32 [ret], %answer;"));
    let main = body(&text, 3);
    let call = main.find("call (q), f2").expect("the call");
    assert!(main[call..].contains("ld.global.b32 %size"));
    assert!(main.contains("st.param.b32 [ret], 1;"));
}

#[test]
fn the_regions_of_a_function_are_among_its_definitions() {
    let program = program(
        r#"(module (func (export "f") (param i32) (result i32)
            (if (i32.eqz (local.get 0)) (then (return (i32.const 7))))
            (if (i32.eqz (i32.ctz (local.get 0))) (then (return (i32.const 9))))
            (i32.mul (local.get 0) (local.get 0))))"#,
    );
    let unit = Unit {
        program: &program,
        prefix: "i0_".into(),
        code_start: 0,
        entries: vec![0],
        cold: Default::default(),
        options: Options {
            region_words: 5,
            ..Options::default()
        },
    };
    let found = definitions(&unit, &compile(&unit).text, 0);
    let names = ["i0_f0_0(", "i0_f0_1(", " i0_f0(", "i0_start_0("];
    for name in names {
        let count = found
            .iter()
            .filter(|text| text.lines().nth(1).is_some_and(|line| line.contains(name)));
        assert_eq!(count.count(), 1, "{name} {found:?}");
    }
}

/// Three functions that call each other around, and themselves through a table: one of the calls by name is hidden from the
/// assembler, counted, and looks at the stack. The function that calls through the table counts its calls too.
#[test]
fn one_call_by_name_of_each_cycle_is_special() {
    let cycle = |through_table: &str| {
        let wat = format!(
            "(module (type $t (func (param i32))) (table 2 funcref) (elem (i32.const 0) $first $third)
               (func $first (export \"f\") (param i32) (if (local.get 0) (then (call $second (local.get 0)))))
               (func $second (param i32) (call $third (i32.sub (local.get 0) (i32.const 1))))
               (func $third (param i32) {through_table} (call $first (local.get 0)))
               (func $outer (param i32) (call $second (local.get 0)))
               (func (export \"g\") (param i32) (call $outer (local.get 0)) (call $outer (i32.const 1))))",
        );
        text_alone_with(&wat, Options::default())
    };
    let counts = |text: &str| -> Vec<bool> { (0..4).map(|index| body(text, index).contains("BEGIN:")).collect() };
    let hidden = |text: &str| -> Vec<usize> {
        let calls = |index| body(text, index).matches("ld.global.b64 %l").count();
        (0..4).map(calls).collect()
    };
    let checks = |text: &str| -> Vec<bool> { (0..4).map(|index| body(text, index).contains("stacksave")).collect() };
    let text = cycle("");
    let special = |of: &[bool]| of.iter().filter(|special| **special).count();
    assert_eq!(
        text.matches("again").count(),
        2,
        "a variable, and a call that reads it: {text}"
    );
    assert_eq!((special(&counts(&text)), special(&checks(&text))), (1, 1), "{text}");
    assert_eq!(hidden(&text).iter().sum::<usize>(), 1);
    assert_eq!(
        (counts(&text)[3], checks(&text)[3]),
        (false, false),
        "it is in no cycle"
    );
    // A function that calls through a table counts, if that may lead back.
    let through_table = "(call_indirect (type $t) (local.get 0) (i32.and (local.get 0) (i32.const 1)))";
    let text = cycle(through_table);
    assert!(counts(&text)[2] && checks(&text)[2], "{text}");
    assert!(!counts(&text)[3]);
}
