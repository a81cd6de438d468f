;; Constants fold into operands, locals are used in place, results go straight to locals.
(module
  (func (export "f") (param $x i32) (param $y i32) (result i32)
    (local $t i32)
    (local.set $t (i32.sub (i32.mul (local.get $x) (i32.const 3)) (i32.const 7)))
    (i32.add (i32.shl (local.get $t) (i32.const 2)) (local.get $y)))
  (func (export "wide") (param $x i64) (result i64)
    (i64.add (local.get $x) (i64.const 0x123456789abcdef)))
  (func (export "not_a_comparison") (param $x i32) (param $y i32) (result i32)
    (i32.eqz (i32.lt_s (local.get $x) (local.get $y)))))
