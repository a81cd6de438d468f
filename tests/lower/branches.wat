;; Values that a branch carries are moved to their places; a table whose targets want values gets
;; stubs. An entry of the stack that is a local is copied before the local changes.
(module
  (func (export "classify") (param $x i32) (result i32)
    (block $big (result i32)
      (block $small (result i32)
        (i32.const 10)
        (br_table $small $small $big (local.get $x)))
      (i32.add (i32.const 1)))
    (i32.mul (local.get $x)))
  (func (export "old_value") (param $x i32) (result i32)
    (local.get $x)
    (local.set $x (i32.const 5))
    (i32.add (local.get $x)))
  (func (export "nan_is_not_less") (param $x f64) (param $y f64) (result i32)
    (if (result i32) (f64.lt (local.get $x) (local.get $y))
      (then (i32.const 1))
      (else (i32.const 2)))))
