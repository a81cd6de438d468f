//! Compiled and interpreted functions call each other, whichever is which, and functions go from one to the other and back:
//! results, traps with their backtraces, exceptions and references to them are those of the interpreter alone.

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

/// Loops in loops, with values of all types that are made before, in and after them; memory that grows, calls, exceptions
/// that a loop catches, and a trap if `$n` is 9.
const LOOPS: &str = r#"(module
  (memory 1 4)
  (tag $t (param i64))
  (func $inner (param i32) (result i32) (local $k i32) (local $sum i32)
    (loop $again
      (if (i32.and (local.get $k) (i32.const 2)) (then (local.set $sum (i32.add (local.get $sum) (local.get 0)))))
      (if (i32.eq (local.get $k) (i32.const 5)) (then (local.set $sum (i32.xor (local.get $sum) (i32.const 0x55)))))
      (br_if $again (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (i32.const 9))))
    (local.get $sum))
  (func $throws (param i64) (result i64)
    (if (i64.eqz (i64.and (local.get 0) (i64.const 7))) (then (throw $t (local.get 0))))
    (i64.add (local.get 0) (i64.const 3)))
  (func (export "main") (param $n i32) (param $x i64) (result i64 i32 f64 v128)
    (local $i i32) (local $j i32) (local $z i64) (local $f f64) (local $g f32) (local $v v128) (local $sum i32)
    (local.set $g (f32.const 1.5))
    (loop $outer
      (local.set $j (i32.const 0))
      (loop $next
        (block $c (block $b (block $a
          (br_table $a $b $c (i32.rem_u (i32.add (local.get $i) (local.get $j)) (i32.const 4))))
          (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 31)) (i64.extend_i32_u (local.get $j))))
          (br $c))
          (local.set $f (f64.add (f64.mul (local.get $f) (f64.const 1.5)) (f64.convert_i64_s (local.get $x))))
          (local.set $g (f32.div (f32.sub (local.get $g) (local.get $g)) (f32.sub (local.get $g) (local.get $g)))))
        (if (i64.eq (i64.and (local.get $x) (i64.const 15)) (i64.const 3)) (then
          (local.set $v (i8x16.add (local.get $v) (i8x16.splat (local.get $j))))
          (drop (memory.grow (i32.const 1)))))
        (i64.store offset=8 (i32.mul (local.get $j) (i32.const 8)) (local.get $x))
        (local.set $z (i64.xor (local.get $z) (i64.load (i32.and (i32.mul (local.get $i) (i32.const 8)) (i32.const 63)))))
        (if (i32.eq (local.get $j) (i32.const 3)) (then
          (i32.store (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4)) (local.get $i))
          (local.set $sum (i32.add (local.get $sum) (call $inner (local.get $i))))))
        (block $caught (result i64)
          (try_table (catch $t $caught)
            (local.set $z (call $throws (local.get $z)))
            (br_if $next (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 6)))
            (local.set $j (i32.const 6)))
          (i64.const 1))
        (local.set $z (i64.add (local.get $z)))
        (br_if $next (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 6))))
      (if (i32.and (i32.eq (local.get $n) (i32.const 9)) (i32.eq (local.get $i) (i32.const 7))) (then unreachable))
      (br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (i64.xor (local.get $x) (local.get $z))
    (i32.add (local.get $sum) (i32.reinterpret_f32 (local.get $g)))
    (local.get $f)
    (local.get $v)))"#;

/// Without each block alone, and without each eighth of them.
#[test]
fn loops_go_on_compiled_after_the_interpreter() {
    let program = program(LOOPS);
    let blocks = block_starts(&program).concat();
    let each = blocks.iter().map(|block| BTreeSet::from([*block]));
    let eighths = (0..8).map(|eighth| blocks.iter().copied().skip(eighth).step_by(8).collect());
    let sets: Vec<BTreeSet<u32>> = each.chain(eighths).collect();
    for (n, x) in [(1, 0), (6, 77), (9, 1), (30, i64::MIN / 3)] {
        let calls = [("main", &[Value::I32(n), Value::I64(x)][..])];
        let ran = same_without(&program, &calls, 1, sets.iter().cloned());
        assert_eq!(matches!(ran[0].0, End::Trapped(_)), n == 9, "{:?}", ran[0].0);
    }
}

/// The head of a loop is a jump table and nothing else, of which some entries are not compiled.
const TABLE: &str = r#"(module
  (func (export "main") (param $which i32) (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (block $d (block $c (block $b (block $a
        (br_table $a $b $c $d (local.get $which)))
        (local.set $sum (i32.add (local.get $sum) (i32.const 1)))
        (local.set $which (i32.const 2))
        (br $d))
        (local.set $sum (i32.mul (local.get $sum) (i32.const 3)))
        (local.set $which (i32.const 0))
        (br $d))
        (local.set $sum (i32.xor (local.get $sum) (local.get $n)))
        (local.set $which (i32.const 1)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))"#;

#[test]
fn a_jump_table_at_a_loops_head_makes_progress() {
    let program = program(TABLE);
    let blocks = block_starts(&program).concat();
    let all = 1..1u32 << blocks.len();
    let chosen = |set: u32| blocks.iter().enumerate().filter(move |(i, _)| set >> i & 1 != 0);
    let sets: Vec<BTreeSet<u32>> = all.map(|set| chosen(set).map(|(_, block)| *block).collect()).collect();
    let calls = [("main", &[Value::I32(0), Value::I32(9)][..])];
    let ran = same_without(&program, &calls, 1, sets);
    assert!(matches!(ran[0].0, End::Returned), "{:?}", ran[0].0);
}
