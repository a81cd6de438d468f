;; Calls between instances, which go through bridges: the depth of the stack is what it was afterwards.

(module $other
  (func (export "half") (param i64) (result i64) (i64.shr_u (local.get 0) (i64.const 1))))
(register "other" $other)

(module
  (import "other" "half" (func $half (param i64) (result i64)))
  (func $depth (export "depth") (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (i32.const 1) (call $depth (i32.sub (local.get $n) (i32.const 1)))))
      (else (i32.const 0))))
  (func (export "across") (param $times i32) (result i32)
    (loop $again
      (drop (call $half (i64.const 8)))
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))
    (call $depth (i32.const 50000))))

(assert_return (invoke "across" (i32.const 10)) (i32.const 50000))
(assert_return (invoke "across" (i32.const 200000)) (i32.const 50000))
(assert_exhaustion (invoke "depth" (i32.const 200000)) "call stack exhausted")
