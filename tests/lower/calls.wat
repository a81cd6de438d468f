;; Arguments are brought to the place where the callee's frame begins; results come back there.
(module
  (type $op (func (param i32 i32) (result i32)))
  (table funcref (elem $add $swap_sub))
  (func $add (type $op) (i32.add (local.get 0) (local.get 1)))
  (func $swap_sub (type $op) (i32.sub (local.get 1) (local.get 0)))
  (func (export "apply") (param $which i32) (param $x i32) (result i32)
    (i32.add
      (call $add (local.get $x) (i32.const 1))
      (call_indirect (type $op) (local.get $x) (i32.const 2) (local.get $which))))
  (func (export "divide") (param $a i32) (param $b i32) (result i32 i32)
    (i32.div_u (local.get $a) (local.get $b))
    (i32.rem_u (local.get $a) (local.get $b))))
