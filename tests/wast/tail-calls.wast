;; Chains of tail calls that no stack could hold.

(module $even
  (import "spectest" "print_i32" (func $print (param i32)))
  (type $step (func (param i64) (result i32)))
  (table (export "table") 4 funcref)
  (elem (i32.const 0) $even $odd)

  ;; Frames of different sizes and headers take each other's place.
  (func $even (export "even") (param i64) (result i32)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 1))))
    (return_call $odd (i64.sub (local.get 0) (i64.const 1))))
  (func $odd (param i64) (result i32)
    (local i64 i64 i64 i64)
    (if (i64.eqz (local.get 0)) (then (return (i32.const 0))))
    (return_call $wide (local.get 0) (local.get 1) (local.get 2) (local.get 3) (f64.const 1)))
  (func $wide (param i64 i64 i64 i64 f64) (result i32)
    (return_call_indirect (type $step) (i64.sub (local.get 0) (i64.const 1)) (i32.const 0)))

  ;; Results on more units than parameters.
  (func $count (export "count") (param i32 i64) (result i64 i64 i64)
    (if (i32.eqz (local.get 0)) (then (return (local.get 1) (i64.const 2) (i64.const 3))))
    (return_call $count (i32.sub (local.get 0) (i32.const 1)) (i64.add (local.get 1) (i64.const 5))))

  (func $host (export "host") (param i32) (return_call $print (local.get 0)))
  (func (export "trap") (param i32) (result i32)
    (return_call_indirect (type $step) (i64.const 0) (local.get 0))))

(assert_return (invoke "even" (i64.const 300000)) (i32.const 1))
(assert_return (invoke "even" (i64.const 300001)) (i32.const 0))
(assert_return (invoke "count" (i32.const 100000) (i64.const 1)) (i64.const 500001) (i64.const 2) (i64.const 3))
(assert_return (invoke "host" (i32.const 1)))
(assert_trap (invoke "trap" (i32.const 3)) "uninitialized element")
(assert_trap (invoke "trap" (i32.const 4)) "undefined element")

(register "even" $even)

;; Back and forth between two instances.
(module
  (type $step (func (param i64) (result i32)))
  (import "even" "table" (table $table 4 funcref))
  (import "even" "even" (func $even (param i64) (result i32)))
  (global $mine (mut i32) (i32.const 0))
  (func $down (export "down") (param i64) (result i32)
    (if (i64.eqz (local.get 0)) (then (return (global.get $mine))))
    (global.set $mine (i32.add (global.get $mine) (i32.const 1)))
    (return_call_indirect $table (type $step) (i64.sub (local.get 0) (i64.const 1)) (i32.const 2)))
  (func (export "other") (param i64) (result i32) (return_call $even (local.get 0)))
  (elem (table $table) (i32.const 3) func $down))

(module
  (type $step (func (param i64) (result i32)))
  (import "even" "table" (table $table 4 funcref))
  (func $up (param i64) (result i32)
    (local i64 i64 i64)
    (return_call_indirect $table (type $step) (local.get 0) (i32.const 3)))
  (elem (table $table) (i32.const 2) func $up))

(assert_return (invoke $even "even" (i64.const 4)) (i32.const 1))

(module $caller
  (type $step (func (param i64) (result i32)))
  (import "even" "table" (table $table 4 funcref))
  (func (export "ping pong") (param i64) (result i32)
    (call_indirect $table (type $step) (local.get 0) (i32.const 3))))

(assert_return (invoke $caller "ping pong" (i64.const 300000)) (i32.const 300000))

;; What a callee throws is not caught by the function that it replaced.
(module
  (tag $t)
  (func $throws (throw $t))
  (func $replaced (result i32)
    (block $caught
      (try_table (catch $t $caught) (return_call $seven))
      (return (i32.const 1)))
    (i32.const 2))
  (func $seven (result i32) (call $throws) (i32.const 7))
  (func (export "outer") (result i32)
    (block $caught
      (try_table (catch_all $caught) (return (call $replaced))))
    (i32.const 3)))

(assert_return (invoke "outer") (i32.const 3))
