//! Texts in parts: what of them stays the same when a program changes.

use std::collections::BTreeSet;

use super::text_alone;
use crate::ptx::{few_registers, parts};

/// The PTX of many functions that call each other, loop, trap, allocate and recurse. Function 20 has this as well.
fn program(more: &str) -> String {
    let body = |i: u32| {
        let more = if i == 20 { more } else { "" };
        format!(
            r#"(func $f{i} (param $x i32) (result i32)
                (loop $again
                    (local.set $x (i32.div_u (i32.load offset={i} (local.get $x)) (i32.const 3)))
                    (br_if $again (i32.gt_u (local.get $x) (i32.const {i}))))
                {more}
                (drop (memory.grow (i32.const {i})))
                (drop (call_indirect (param i32) (result i32) (local.get $x) (i32.const 0)))
                (block $out (block $in (br_table $in $out $in (local.get $x)))
                    (local.set $x (i32.const {i})))
                (call $f{} (local.get $x)))"#,
            if i == 0 { 39 } else { i - 1 }
        )
    };
    let functions: String = (0..40).map(body).collect();
    text_alone(&format!(
        r#"(module (memory 1 9) (table 1 funcref) (elem (i32.const 0) $f7) {functions}
            (func (export "f") (param i32) (result i32) (call $f39 (local.get 0))))"#
    ))
}

#[test]
fn a_changed_function_changes_its_part_and_the_first() {
    let size = 8 << 10;
    let before = parts(&program(""), size);
    let after = parts(
        &program("(local.set $x (i32.mul (local.get $x) (i32.load (local.get $x))))"),
        size,
    );
    assert!(before.len() > 10, "{} parts", before.len());
    assert_eq!(before.len(), after.len());
    let changed: BTreeSet<usize> = (0..after.len()).filter(|i| before[*i] != after[*i]).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed.contains(&0));
    let other = after[*changed.last().expect("a part")].as_str();
    assert!(other.contains("\n// f20\n"), "the part of the function");
}

/// Comments name functions as the module does.
#[test]
fn kernels_alone_say_how_many_registers_functions_have() {
    for name in [".maxntid 0", ".maxntid 4096", ".visible .entry x .maxntid 4096"] {
        let module = format!(r#"(module (func (@name "{name}") (export "f")) (memory 1))"#);
        let text = text_alone(&module);
        assert!(text.contains(&format!("// {name}\n")), "{text}");
        assert_eq!(few_registers(&text), None, "{name}");
    }
    let kernel = |lanes: u32| format!("// f\n.visible .entry start_0(.param .b64 launch) .maxntid {lanes}\n{{\n}}\n");
    assert_eq!(few_registers(&kernel(256)), None);
    assert_eq!(few_registers(&kernel(512)), Some(128));
    assert_eq!(few_registers(&(kernel(128) + &kernel(512))), Some(128));
}
