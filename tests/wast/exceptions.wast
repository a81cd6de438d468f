;; Exceptions beyond the specification's own tests: long runs, deep stacks, references everywhere.

(module $thrower
  (tag $pair (export "pair") (param i32 i64))
  (func (export "throw pair") (param i32 i64)
    (throw $pair (local.get 0) (local.get 1)))
  (func $deep (export "deep") (param $n i32)
    (local i64 i64 i64 i64)
    (if (local.get $n) (then (call $deep (i32.sub (local.get $n) (i32.const 1))))
      (else (throw $pair (i32.const 11) (i64.const 22))))))
(register "thrower" $thrower)

(module
  (import "thrower" "pair" (tag $pair (param i32 i64)))
  (import "thrower" "throw pair" (func $throw (param i32 i64)))
  (import "thrower" "deep" (func $deep (param i32)))
  (tag $other (param i32))
  (tag $wide (param i64 i64 i64 i64 i64 v128 f64))
  (tag $holder (param exnref))
  (tag $empty)
  (table $table 2 exnref)
  (global $global (mut exnref) (ref.null exn))

  (func (export "across instances") (result i32 i64)
    (block $caught (result i32 i64)
      (try_table (catch $pair $caught) (call $throw (i32.const 5) (i64.const 6)))
      (unreachable)))

  ;; The stack is as deep as it was before, each time.
  (func (export "deep") (param $n i32) (param $times i32) (result i64)
    (local $sum i64)
    (loop $again
      (block $caught (result i32 i64)
        (try_table (catch $pair $caught) (call $deep (local.get $n)))
        (unreachable))
      (local.set $sum (i64.add (local.get $sum)))
      (drop)
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))
    (local.get $sum))

;; Many more exceptions with references than may exist at once.
  (func (export "many references") (param $times i32) (result i32)
    (local $caught i32)
    (loop $again
      (block $done
        (try_table (catch $empty $done)
          (block $outer (result exnref)
            (try_table (catch_all_ref $outer) (throw $empty))
            (unreachable))
          (throw_ref))
        (unreachable))
      (local.set $caught (i32.add (local.get $caught) (i32.const 1)))
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1)))))
    (local.get $caught))

  ;; A reference held by an exception lives as long as that one.
  (func (export "held") (param $times i32) (result i32)
    (local $inner exnref)
    (local $holder exnref)
    (local.set $inner
      (block $ref (result exnref)
        (try_table (catch_all_ref $ref) (throw $other (i32.const 1234)))
        (unreachable)))
    (local.set $holder
      (block $ref (result exnref)
        (try_table (catch_all_ref $ref) (throw $holder (local.get $inner)))
        (unreachable)))
    (local.set $inner (ref.null exn))
    (call $churn (local.get $times))
    (block $value (result i32)
      (try_table (catch $other $value)
        (block $again (result exnref)
          (try_table (catch $holder $again) (throw_ref (local.get $holder)))
          (unreachable))
        (throw_ref))
      (unreachable)))

  ;; Each exception holds the one before it.
  (func (export "chain") (param $n i32) (result i32)
    (local $last exnref) (local $count i32)
    (loop $again
      (local.set $last
        (block $ref (result exnref)
          (try_table (catch_all_ref $ref) (throw $holder (local.get $last)))
          (unreachable)))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (loop $down
      (local.set $last
        (block $held (result exnref)
          (try_table (catch $holder $held) (throw_ref (local.get $last)))
          (unreachable)))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br_if $down (i32.eqz (ref.is_null (local.get $last)))))
    (local.get $count))

  (func $churn (param $times i32)
    (loop $again
      (block $ref (result exnref)
        (try_table (catch_all_ref $ref) (throw $other (local.get $times)))
        (unreachable))
      (drop)
      (br_if $again (local.tee $times (i32.sub (local.get $times) (i32.const 1))))))

  ;; References in a table and a global outlive the call that made them.
  (func (export "keep") (param $value i32)
    (table.set $table (i32.const 1)
      (block $ref (result exnref)
        (try_table (catch_all_ref $ref) (throw $other (local.get $value)))
        (unreachable)))
    (global.set $global (table.get $table (i32.const 1)))
    (call $churn (i32.const 1000)))
  (func (export "kept") (param $from_table i32) (result i32)
    (call $churn (i32.const 1000))
    (block $value (result i32)
      (try_table (catch $other $value)
        (throw_ref
          (if (result exnref) (local.get $from_table)
            (then (table.get $table (i32.const 1)))
            (else (global.get $global)))))
      (unreachable)))
  (func (export "throw null") (throw_ref (table.get $table (i32.const 0))))

  ;; Values of all widths, through an object of several pieces.
  (func (export "wide") (result i64 i64 i64 i64 i64 v128 f64)
    (block $caught (result i64 i64 i64 i64 i64 v128 f64)
      (try_table (catch $wide $caught)
        (block $ref (result exnref)
          (try_table (catch_all_ref $ref)
            (throw $wide (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5)
              (v128.const i32x4 6 7 8 9) (f64.const 10)))
          (unreachable))
        (throw_ref))
      (unreachable)))

  ;; A handler may be the start of a loop, or the end of the function.
  (func (export "to loop") (param $n i32) (result i32)
    (local.get $n)
    (loop $again (param i32) (result i32)
      (local.tee $n)
      (if (result i32) (i32.lt_u (i32.const 100))
        (then
          (try_table (result i32) (catch $other $again)
            (throw $other (i32.mul (local.get $n) (i32.const 3)))))
        (else (local.get $n)))))
  (func (export "to function") (param $n i32) (result i32)
    (try_table (result i32) (catch $other 0)
      (throw $other (i32.add (local.get $n) (i32.const 1)))))

  ;; A local that is set before the throw keeps its value.
  (func (export "locals") (result i32)
    (local $a i32) (local $b i32)
    (block $caught
      (try_table (catch_all $caught)
        (local.set $a (i32.const 40))
        (call $throw (i32.const 1) (i64.const 2))
        (local.set $b (i32.const 1000)))
      (unreachable))
    (i32.add (i32.add (local.get $a) (local.get $b)) (i32.const 2)))

  ;; The first clause that fits catches; the inner handler goes first.
  (func (export "order") (param $which i32) (result i32)
    (block $c (result i32)
      (block $b
        (block $a
          (try_table (catch_all $a)
            (try_table (catch $empty $b) (catch $other $c)
              (if (i32.eqz (local.get $which)) (then (throw $empty)))
              (if (i32.eq (local.get $which) (i32.const 1)) (then (throw $other (i32.const 77))))
              (throw $pair (i32.const 1) (i64.const 1))))
          (unreachable))
        (return (i32.const 3)))
      (i32.const 2))))

(assert_return (invoke "across instances") (i32.const 5) (i64.const 6))
(assert_return (invoke "deep" (i32.const 3000) (i32.const 200)) (i64.const 4400))
(assert_return (invoke "many references" (i32.const 200000)) (i32.const 200000))
(assert_return (invoke "held" (i32.const 100000)) (i32.const 1234))
(assert_return (invoke "chain" (i32.const 20000)) (i32.const 20000))
(assert_return (invoke "keep" (i32.const 55)))
(assert_return (invoke "kept" (i32.const 0)) (i32.const 55))
(assert_return (invoke "kept" (i32.const 1)) (i32.const 55))
(assert_trap (invoke "throw null") "null exception reference")
(assert_return (invoke "wide")
  (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (v128.const i32x4 6 7 8 9) (f64.const 10))
(assert_return (invoke "to loop" (i32.const 2)) (i32.const 162))
(assert_return (invoke "to function" (i32.const 2)) (i32.const 3))
(assert_return (invoke "locals") (i32.const 42))
(assert_return (invoke "order" (i32.const 0)) (i32.const 2))
(assert_return (invoke "order" (i32.const 1)) (i32.const 77))
(assert_return (invoke "order" (i32.const 2)) (i32.const 3))
(assert_exception (invoke $thrower "throw pair" (i32.const 1) (i64.const 2)))
(assert_exception (invoke $thrower "deep" (i32.const 10000)))

;; A handler's values lie where a sum lies when nothing is thrown: the sum's NaN is canonical all the same.
(module
  (tag $e (param f32))
  (func $may_throw (param i32) (if (local.get 0) (then (throw $e (f32.const nan:0x123456)))))
  (func (export "sum") (param f32 f32 i32) (result f32)
    (block $caught (result f32)
      (f32.add (local.get 0) (local.get 1))
      (try_table (param f32) (result f32) (catch $e $caught) (call $may_throw (local.get 2))))))
(assert_return (invoke "sum" (f32.const inf) (f32.const -inf) (i32.const 0)) (f32.const nan:canonical))
(assert_return (invoke "sum" (f32.const inf) (f32.const -inf) (i32.const 1)) (f32.const nan:0x123456))
