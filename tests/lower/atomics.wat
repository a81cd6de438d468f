(module
  (memory 1 1 shared)
  (memory $wide i64 1 1 shared)

  ;; Every atomic names its memory and has a 64-bit offset.
  (func $accesses (param $at i32) (param $x i64) (result i64)
    (i64.atomic.store32 offset=4 (local.get $at) (local.get $x))
    (atomic.fence)
    (i64.atomic.load offset=8 (local.get $at)))

  (func $modify (param $at i32) (param $wide_at i64) (param $x i32) (result i32)
    (i32.atomic.rmw8.add_u offset=100000 (local.get $at) (local.get $x))
    (i32.atomic.rmw.xchg $wide (local.get $wide_at) (local.get $x))
    i32.add
    (i32.atomic.rmw16.cmpxchg_u (local.get $at) (i32.const 1) (local.get $x))
    i32.add)

  ;; A loop that takes a lock.
  (func $lock (param $at i32)
    (loop $again
      (if (i32.atomic.rmw.cmpxchg (local.get $at) (i32.const 0) (i32.const 1))
        (then
          (drop (memory.atomic.wait32 (local.get $at) (i32.const 1) (i64.const -1)))
          (br $again)))))

  (func $unlock (param $at i32)
    (i32.atomic.store (local.get $at) (i32.const 0))
    (drop (memory.atomic.notify (local.get $at) (i32.const 1))))

  (func $wait64 (param $at i64) (param $x i64) (result i32)
    (memory.atomic.wait64 $wide offset=16 (local.get $at) (local.get $x) (i64.const 1000000))))
