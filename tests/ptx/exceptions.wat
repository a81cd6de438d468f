;; A function that may throw returns a status, which its caller looks at; a handler takes the values out
;; of the context.
(module
  (tag $odd (param i32))
  (func $half (param $n i32) (result i32)
    (if (i32.and (local.get $n) (i32.const 1)) (then (throw $odd (local.get $n))))
    (i32.shr_u (local.get $n) (i32.const 1)))
  (func (export "half_or_less") (param $n i32) (result i32)
    (block $caught (result i32)
      (return (try_table (result i32) (catch $odd $caught) (call $half (local.get $n)))))
    (i32.shr_u (i32.const 1))))
