;; A leaf disappears into its callers: its parameters become locals, its `return` a branch.
(module
  (func $max (param $a i32) (param $b i32) (result i32)
    (if (i32.gt_s (local.get $a) (local.get $b))
      (then (return (local.get $a))))
    (local.get $b))
  (func (export "max3") (param i32 i32 i32) (result i32)
    (call $max (call $max (local.get 0) (local.get 1)) (local.get 2))))
