;; A tail call to itself is a jump. Any other leaves its arguments in the context and lets the caller
;; make the call, so that the stack does not grow.
(module
  (func $gcd (export "gcd") (param $a i32) (param $b i32) (result i32)
    (if (result i32) (local.get $b)
      (then (return_call $gcd (local.get $b) (i32.rem_u (local.get $a) (local.get $b))))
      (else (local.get $a))))
  (func $even (export "even") (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (return_call $odd (i32.sub (local.get $n) (i32.const 1))))
      (else (i32.const 1))))
  (func $odd (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (return_call $even (i32.sub (local.get $n) (i32.const 1))))
      (else (i32.const 0)))))
