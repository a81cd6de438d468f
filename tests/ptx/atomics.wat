;; An atomic access has a fence before it, and traps unless its address is aligned; here a mask tells that
;; it is. A byte's `or` is one operation on the word around it, its `add` a loop.
(module
  (memory 1 1 shared)
  (func (export "take") (param $i i32) (result i64)
    (i64.atomic.rmw.sub offset=8 (i32.and (local.get $i) (i32.const 0xff8)) (i64.const 1)))
  (func (export "acquire") (param $lock i32) (result i32)
    (i32.atomic.rmw.cmpxchg (local.get $lock) (i32.const 0) (i32.const 1)))
  (func (export "flags") (param $p i32) (param $bits i32) (result i32)
    (i32.add
      (i32.atomic.rmw8.or_u (local.get $p) (local.get $bits))
      (i32.atomic.rmw8.add_u offset=1 (local.get $p) (local.get $bits)))))
