//! Which blocks count in shared memory.

use super::{Options, text_alone_with};

/// Those that come back from where a thread began. What only comes before a trap, and what is called only through a table and
/// seldom, counts in memory.
#[test]
fn blocks_that_seldom_run_count_in_memory() {
    let module = |calls: &str| {
        format!(
            r#"(module
                (type $op (func (param i32) (result i32)))
                (table 1 funcref) (elem (i32.const 0) $listed)
                (memory 1)
                (func $listed (type $op) (i32.popcnt (local.get 0)))
                (func $named (param i32) (result i32) (i32.clz (local.get 0)))
                (func $fails (param i32) (i32.store (i32.const 0) (local.get 0)) unreachable)
                (func $main (export "main") (param $n i32) (result i32) (local $sum i32)
                    (if (i32.gt_u (local.get $n) (i32.const 1000)) (then (call $fails (local.get $n))))
                    (loop $outer
                        (local.set $sum (i32.rotl (local.get $sum) (i32.const 3)))
                        (loop $inner
                            (local.set $sum (i32.add (local.get $sum) (call $named (local.get $n))))
                            {calls}
                            (br_if $inner (i32.and (local.get $sum) (i32.const 1))))
                        (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
                    (call_indirect (type $op) (local.get $sum) (i32.const 0))))"#
        )
    };
    let in_shared_memory = |calls: &str| {
        let options = Options {
            counts: true,
            ..Options::default()
        };
        let text = text_alone_with(&module(calls), options);
        ["listed", "named", "fails", "main"].map(|name| {
            let (_, function) = text.split_once(&format!("// {name}\n")).expect("it is compiled");
            let function = function.split("\n}\n").next().unwrap_or_default();
            assert!(function.contains("red."), "{name} counts");
            function.contains("red.shared.add.u32")
        })
    };
    assert_eq!(in_shared_memory(""), [false, true, false, true]);
    let in_loops = "(local.set $sum (call_indirect (type $op) (local.get $sum) (i32.const 0)))";
    assert_eq!(in_shared_memory(in_loops), [true, true, false, true]);
}
