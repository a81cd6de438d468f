;; All that scripts may import of `spectest`, with the types that the reference interpreter gives them.

(module
  (import "spectest" "print" (func))
  (import "spectest" "print_i32" (func (param i32)))
  (import "spectest" "print_i64" (func (param i64)))
  (import "spectest" "print_f32" (func (param f32)))
  (import "spectest" "print_f64" (func (param f64)))
  (import "spectest" "print_i32_f32" (func (param i32 f32)))
  (import "spectest" "print_f64_f64" (func (param f64 f64)))
  (import "spectest" "global_i32" (global $i32 i32))
  (import "spectest" "global_i64" (global $i64 i64))
  (import "spectest" "global_f32" (global $f32 f32))
  (import "spectest" "global_f64" (global $f64 f64))
  (import "spectest" "table" (table 10 20 funcref))
  (import "spectest" "memory" (memory 1 2))
  (func (export "i32") (result i32) (global.get $i32))
  (func (export "i64") (result i64) (global.get $i64))
  (func (export "f32") (result f32) (global.get $f32))
  (func (export "f64") (result f64) (global.get $f64)))

(assert_return (invoke "i32") (i32.const 666))
(assert_return (invoke "i64") (i64.const 666))
(assert_return (invoke "f32") (f32.const 666.6))
(assert_return (invoke "f64") (f64.const 666.6))

;; A table with addresses of 64 bits.
(module
  (type $number (func (result i32)))
  (import "spectest" "table64" (table $t i64 10 20 funcref))
  (func $seven (type $number) (i32.const 7))
  (elem (table $t) (i64.const 3) func $seven)
  (func (export "size") (result i64) (table.size $t))
  (func (export "grow") (param i64) (result i64) (table.grow $t (ref.null func) (local.get 0)))
  (func (export "call") (param i64) (result i32) (call_indirect $t (type $number) (local.get 0))))

(assert_return (invoke "size") (i64.const 10))
(assert_return (invoke "call" (i64.const 3)) (i32.const 7))
(assert_trap (invoke "call" (i64.const 4)) "uninitialized element")
(assert_trap (invoke "call" (i64.const 0x1_0000_0003)) "undefined element")
(assert_return (invoke "grow" (i64.const 11)) (i64.const -1))
(assert_return (invoke "grow" (i64.const 10)) (i64.const 10))
(assert_return (invoke "size") (i64.const 20))

;; Another module has the same table.
(module
  (import "spectest" "table64" (table i64 10 funcref))
  (func (export "is empty") (param i64) (result i32) (ref.is_null (table.get (local.get 0)))))

(assert_return (invoke "is empty" (i64.const 3)) (i32.const 0))
(assert_return (invoke "is empty" (i64.const 4)) (i32.const 1))

(assert_unlinkable (module (import "spectest" "table64" (table 10 20 funcref))) "incompatible import type")
(assert_unlinkable (module (import "spectest" "table" (table i64 10 20 funcref))) "incompatible import type")
(assert_unlinkable (module (import "spectest" "table64" (table i64 10 19 funcref))) "incompatible import type")
