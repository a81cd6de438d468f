;; A comparison fuses with the branch that it decides; a local that is set before it is read is not
;; zeroed.
(module
  (func (export "sum") (param $n i32) (result i32)
    (local $sum i32) (local $next i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $sum) (local.get $n)))
        (local.set $next (i32.add (local.get $sum) (i32.const 1)))
        (local.set $sum (i32.add (local.get $next) (local.get $next)))
        (br $again)))
    (local.get $sum))
  (func (export "gcd") (param $a i64) (param $b i64) (result i64)
    (local $t i64)
    (loop $again (result i64)
      (if (result i64) (i64.eqz (local.get $b))
        (then (local.get $a))
        (else
          (local.set $t (i64.rem_u (local.get $a) (local.get $b)))
          (local.set $a (local.get $b))
          (local.set $b (local.get $t))
          (br $again))))))
