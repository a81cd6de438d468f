;; An integer loop: xorshift32 summed up. 9 operations an iteration: three shifts, three xors, an
;; addition, a subtraction, a branch.
(module
  (func (export "hash") (param $n i32) (result i32)
    (local $x i32) (local $sum i32)
    (local.set $x (i32.const 0x2545f491))
    (loop $again
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
      (local.set $x (i32.xor (local.get $x) (i32.shr_u (local.get $x) (i32.const 17))))
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 5))))
      (local.set $sum (i32.add (local.get $sum) (local.get $x)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))
