;; An instruction that runs seldom or takes long is the interpreter's own: the runtime gets its operands
;; and its words.
(module
  (memory 1)
  (data $text "some words")
  (func (export "write") (param $at i32) (param $len i32)
    (memory.init $text (local.get $at) (i32.const 0) (local.get $len)))
  (func (export "more") (result i32)
    (memory.grow (i32.const 1))))
