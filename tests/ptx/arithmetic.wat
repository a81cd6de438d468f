;; A pure opcode is its template, with the units' registers for operands. A trap leaves the path.
(module
  (func (export "average") (param i32 i32) (result i32)
    (i32.div_s (i32.add (local.get 0) (local.get 1)) (i32.const 2)))
  (func (export "quotient") (param i64 i64) (result i64)
    (i64.div_u (local.get 0) (local.get 1))))
