;; The first access compares with memory's size; what lies before it is then known to be inside, and an
;; index of at most 255 words is inside in any case. `$p` may have any alignment: aligned words around it
;; are loaded and shifted.
(module
  (memory 1)
  (func (export "fields") (param $p i32) (result i32)
    (i32.add (i32.load offset=12 (local.get $p)) (i32.load8_u offset=4 (local.get $p))))
  (func (export "table") (param $i i32) (result i32)
    (i32.load offset=1024 (i32.shl (i32.and (local.get $i) (i32.const 255)) (i32.const 2)))))
