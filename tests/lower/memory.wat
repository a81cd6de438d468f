;; Offsets below 64 KiB lie in the instruction; larger ones in a second word.
(module
  (memory 1)
  (func (export "near") (param $at i32) (result i64)
    (i64.load offset=8 (local.get $at)))
  (func (export "far") (param $at i32) (param $value f32)
    (f32.store offset=100000 (local.get $at) (local.get $value)))
  (func (export "grow") (param $pages i32) (result i32)
    (memory.fill (i32.const 0) (i32.const 1) (memory.size))
    (memory.grow (local.get $pages))))
