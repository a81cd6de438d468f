;; A call through a table: the element, its type, its address. A jump table is clamped first.
(module
  (table funcref (elem $double $square))
  (func $double (param i32) (result i32) (i32.shl (local.get 0) (i32.const 1)))
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func (export "apply") (param $which i32) (param $x i32) (result i32)
    (call_indirect (param i32) (result i32) (local.get $x) (local.get $which)))
  (func (export "choose") (param $which i32) (result i32)
    (block $two (block $one (block $zero
      (br_table $zero $one $two (local.get $which)))
      (return (i32.const 10)))
      (return (i32.const 20)))
    (i32.const 30)))
