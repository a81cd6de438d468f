(module
  (func $square (param $x i32) (result i32)
    (i32.mul (local.get $x) (local.get $x)))
  (func (export "sum") (param $n i32) (result i32)
    (local $total i32)
    (loop $next
      (local.set $total
        (i32.add (local.get $total) (call $square (local.get $n))))
      (br_if $next
        (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $total)))
