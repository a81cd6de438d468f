;; Copies are the runtime's, with the bounds checked there, but for those of few bytes, which are loads and
;; stores. A table's element is a load behind a check.
(module
  (memory 1)
  (table $handlers 8 funcref)
  (func (export "move") (param $to i32) (param $from i32) (param $len i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $len)))
  (func (export "clear_last_words")
    (memory.fill (i32.const 0xfff4) (i32.const 0) (i32.const 12)))
  (func (export "shift") (param $at i32)
    (memory.copy (local.get $at) (i32.shl (local.get $at) (i32.const 2)) (i32.const 6)))
  (func (export "is_set") (param $i i32) (result i32)
    (i32.eqz (ref.is_null (table.get $handlers (local.get $i))))))
