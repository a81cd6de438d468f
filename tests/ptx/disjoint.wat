;; Two terms of a sum that have no bit in common, because one is inside of `e` and the other outside: they are
;; put together by `or`, which the assembler makes one instruction of with what made them.
(module
  (func (export "choose") (param $x i32) (param $e i32) (param $f i32) (param $g i32) (result i32)
    (i32.add
      (i32.add (local.get $x) (i32.and (local.get $g) (i32.xor (local.get $e) (i32.const -1))))
      (i32.and (local.get $e) (local.get $f))))

  ;; Of three terms, and with others between.
  (func (export "more") (param $x i32) (param $e i32) (param $f i32) (param $g i32) (result i32)
    (local $sum i32)
    (local.set $sum
      (i32.add (i32.add (local.get $x) (local.get $f)) (i32.and (local.get $e) (local.get $f))))
    (local.set $f (i32.and (local.get $g) (i32.xor (local.get $e) (i32.const -1))))
    (i32.add (i32.add (local.get $sum) (local.get $f)) (local.get $x)))

  ;; These may have bits in common.
  (func (export "not") (param $x i32) (param $e i32) (param $f i32) (param $g i32) (result i32)
    (i32.add
      (i32.add (local.get $x) (i32.and (local.get $g) (local.get $e)))
      (i32.and (local.get $e) (local.get $f)))))
