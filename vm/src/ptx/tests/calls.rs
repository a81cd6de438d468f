//! Calls, and what is known of the whole program.

use super::{Options, body, compiled, program};

/// More frames than there are places for return addresses: a call puts back what had its place, also when what
/// it called has thrown.
#[test]
fn return_addresses_of_outer_calls_are_put_back_behind_a_recursion() {
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
        options: Options {
            exports,
            ..Options::default()
        },
    };
    let text = super::compile(&unit(false, vec![4])).text;
    // The place is read and written before the call, and written where it returns and where it has thrown.
    let places = |index| {
        let lines = body(&text, index).lines().map(str::trim);
        let places = lines.filter(|line| line.contains("+72]") && line.contains("[%l"));
        places.map(|line| &line[..2]).collect::<Vec<_>>()
    };
    assert_eq!(places(0), ["ld", "st", "st", "st"]);
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
