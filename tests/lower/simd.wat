;; 128-bit values take four units of registers. One opcode serves where only the operands' order or the
;; lanes' meaning differs; lanes and bytes of a shuffle are constants in the instruction.
(module
  (memory 1)
  (global $mask (mut v128) (v128.const i32x4 1 2 3 4))
  (func (export "arithmetic") (param $a v128) (param $b v128) (result v128)
    (local $sum v128)
    (local.set $sum (i8x16.add (local.get $a) (local.get $b)))
    (v128.bitselect
      (local.get $sum)
      (i16x8.shl (local.get $a) (i32.const 3))
      (i8x16.gt_u (local.get $a) (local.get $b))))
  (func (export "lanes") (param $a v128) (param $x f32) (result f32)
    (f32x4.extract_lane 2
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (f32x4.replace_lane 1 (local.get $a) (local.get $x))
        (v128.const i64x2 1 2))))
  (func (export "memory") (param $at i32) (param $a v128)
    (v128.store offset=16 (local.get $at)
      (v128.load16_lane offset=100000 5 (local.get $at) (local.get $a)))
    (v128.store8_lane 15 (local.get $at) (v128.load8x8_u (local.get $at))))
  (func (export "find") (param $at i32) (param $wanted v128) (result i32)
    (local $equal v128)
    (loop $next
      (local.set $equal (i8x16.eq (v128.load (local.get $at)) (local.get $wanted)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.eqz (v128.any_true (local.get $equal)))))
    (i32.ctz (i8x16.bitmask (local.get $equal))))
  (func (export "relaxed") (param $a v128) (param $b v128) (param $c v128) (result v128)
    (global.set $mask (i32x4.relaxed_laneselect (local.get $a) (local.get $b) (global.get $mask)))
    (select
      (f32x4.relaxed_madd (local.get $a) (local.get $b) (local.get $c))
      (f32x4.relaxed_min (local.get $a) (local.get $b))
      (i32x4.all_true (local.get $c)))))
