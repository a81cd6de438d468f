;; Two instructions become one where they often follow each other, and so does the end of a loop.
(module
  (func (export "xorshift") (param $x i32) (param $n i32) (result i32)
    (loop $again
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
      (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (local.get $x))))
    (i32.and (i32.shr_u (local.get $x) (i32.const 3)) (i32.const 7)))
  (func (export "dot") (param $a f64) (param $b f64) (param $c f64) (result f64)
    (f64.sub (local.get $c) (f64.mul (local.get $a) (local.get $b)))))
