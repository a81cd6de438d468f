;; wasmi 2.0.0 takes what the register holds, 5, for the condition, which is in a local. Kept apart
;; by an `and`, it agrees; gpu-run is right either way.
(module
  (func (export "f") (result i32) (local i32)
    (local.set 0 (i32.const 3))
    (drop (i32.add (local.get 0) (i32.const 2)))
    (select (i32.const 1) (local.get 0) (i32.and (i32.eqz (local.get 0)) (i32.const 1))))
  (func (export "zero") (result i32) (local i32)
    (drop (i32.add (local.get 0) (i32.const 2)))
    (select (i32.const 1) (local.get 0) (i32.and (i32.eqz (local.get 0)) (i32.const 1)))))
