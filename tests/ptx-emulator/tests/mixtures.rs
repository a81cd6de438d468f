//! Compiled and interpreted functions call each other, whichever is which: results, traps with their backtraces, exceptions
//! and references to them are those of the interpreter alone.

mod support;

use std::collections::BTreeSet;

use gpu_run_vm::ptx::block_starts;
use gpu_run_vm::{End, Value};
use support::{program, same_without};

/// Four functions that call each other in turn, `$n` calls deep, and the end that `$how` says. `$d` catches what is thrown;
/// `$b` holds a reference to an exception over its call, and throws what it refers to again if that returns a multiple
/// of 64; `$c` makes garbage.
const MODULE: &str = r#"(module
  (type $f (func (param i32 i32) (result i32)))
  (tag $t (param i32)) (tag $other)
  (table 4 funcref) (elem (i32.const 0) $a $b $c $d)
  (func $a (type $f)
    (if (i32.eqz (local.get 0)) (then
      (if (i32.eq (local.get 1) (i32.const 1)) (then unreachable))
      (if (i32.eq (local.get 1) (i32.const 2)) (then (throw $t (i32.const 5))))
      (if (i32.eq (local.get 1) (i32.const 3)) (then (throw $other)))
      (return (i32.const 1))))
    (i32.add (local.get 0) (call $b (i32.sub (local.get 0) (i32.const 1)) (local.get 1))))
  (func $b (type $f) (local $held exnref) (local $r i32)
    (block $caught (result i32 exnref)
      (try_table (result i32 exnref) (catch_ref $t $caught) (throw $t (local.get 0))))
    (local.set $held)
    (local.set $r)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 2))))
    (local.set $r (i32.add (local.get $r)
      (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (local.get 1) (i32.const 2))))
    (if (i32.eqz (i32.and (local.get $r) (i32.const 63))) (then (throw_ref (local.get $held))))
    (local.get $r))
  (func $c (type $f) (local $i i32)
    (loop $again
      (block $caught (result i32 exnref)
        (try_table (result i32 exnref) (catch_ref $t $caught) (throw $t (i32.const 7))))
      drop drop
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))
    (if (i32.eqz (local.get 0)) (then (return (i32.const 3))))
    (i32.xor (local.get 0) (call $d (i32.sub (local.get 0) (i32.const 1)) (local.get 1))))
  (func $d (type $f)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 4))))
    (block $caught (result i32)
      (try_table (catch $t $caught)
        (return (i32.mul (i32.const 3) (call $a (i32.sub (local.get 0) (i32.const 1)) (local.get 1)))))
      unreachable)
    (i32.add (i32.const 1000)))
  (func (export "main") (type $f) (call $a (local.get 0) (local.get 1))))"#;

/// Every choice of functions, with and without a block of each of the others.
#[test]
fn functions_call_each_other_whichever_are_compiled() {
    let program = program(MODULE);
    let blocks = block_starts(&program);
    let sets = (0..32u32).map(|choice| {
        let cold = blocks.iter().enumerate().flat_map(|(function, blocks)| {
            let whole = choice >> function & 1 != 0;
            let last = choice >> 4 != 0;
            let left_out = move |(i, _): &(usize, &u32)| whole || (last && i + 1 == blocks.len());
            blocks.iter().enumerate().filter(left_out)
        });
        cold.map(|(_, block)| *block).collect::<BTreeSet<u32>>()
    });
    let sets: Vec<_> = sets.collect();
    let mut ends = BTreeSet::new();
    // Deeper than there are places for return addresses, too.
    for depth in [0, 1, 3, 18, 150] {
        for how in 0..4 {
            let calls = [("main", &[Value::I32(depth), Value::I32(how)][..])];
            let ran = same_without(&program, &calls, 1, sets.iter().cloned());
            ends.insert(match &ran[0].0 {
                End::Trapped(fault) => format!("{:?}", fault.kind),
                end => format!("{end:?}"),
            });
        }
    }
    assert_eq!(ends.len(), 3, "{ends:?}");
}
