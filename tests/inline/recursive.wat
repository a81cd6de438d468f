;; A recursive function stays; what is called from one place moves there.
(module
  (func $fib (param $n i32) (result i32)
    (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else
        (i32.add
          (call $fib (i32.sub (local.get $n) (i32.const 1)))
          (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func $once (param $n i32) (result i32)
    (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (call $fib (local.get $n))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum))
  (func (export "main") (result i32)
    (call $once (i32.const 10))))
