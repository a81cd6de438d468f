;; An instruction that runs seldom or takes long is the interpreter's own: the runtime gets its operands
;; and its words.
(module
  (memory 1)
  (func (export "clear") (param $at i32) (param $len i32)
    (memory.fill (local.get $at) (i32.const 0) (local.get $len)))
  (func (export "more") (result i32)
    (memory.grow (i32.const 1))))
