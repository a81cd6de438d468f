;; A small loop is written out several times, and only the last copy counts towards a look at the stop
;; flag, which stands behind the function.
(module
  (func (export "sum_of_squares") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.mul (local.get $n) (local.get $n))))
      (local.set $n (i32.div_u (i32.shl (local.get $n) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $n)))
    (local.get $sum)))
