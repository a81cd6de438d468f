;; Arithmetic leaves the GPU's NaN. Where bits can be seen, in memory or by an integer, it becomes the
;; canonical one; a value that was loaded keeps its bits.
(module
  (memory 1)
  (func (export "scale") (param $x f32) (param $y f32) (result f32)
    (f32.add (f32.mul (local.get $x) (local.get $y)) (local.get $x)))
  (func (export "copy")
    (f32.store (i32.const 8) (f32.load (i32.const 4))))
  (func (export "either") (param $which i32) (param $x f32)
    (local $v f32)
    (if (local.get $which)
      (then (local.set $v (f32.load (i32.const 0))))
      (else (local.set $v (f32.sqrt (local.get $x)))))
    (f32.store (i32.const 4) (local.get $v))))
