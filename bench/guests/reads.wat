;; Reads of a file `data` in the first directory: each thread opens it and reads pieces at growing offsets.
(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread" (func $fd_pread (param i32 i32 i32 i64 i32) (result i32)))
  (import "gpu_run_v1" "gid" (func $gid (result i32)))
  (memory (export "memory") 300)
  (data (i32.const 0) "data")
  (func (export "_start"))
  ;; Makes `count` reads of `len` bytes (at most 65536), and traps if one gives fewer.
  (func (export "reads") (param $count i32) (param $len i32)
    (local $own i32) (local $descriptor i32) (local $i i32)
    ;; A list of one buffer and a result, in 16 bytes of each thread's.
    (local.set $own (i32.add (i32.const 1024) (i32.mul (call $gid) (i32.const 16))))
    (if (call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 0)
          (i64.const 6) (i64.const 0) (i32.const 0) (local.get $own))
      (then unreachable))
    (local.set $descriptor (i32.load (local.get $own)))
    (i32.store (local.get $own) (i32.add (i32.const 65536) (i32.mul (call $gid) (i32.const 65536))))
    (i32.store offset=4 (local.get $own) (local.get $len))
    (loop $again
      (if (call $fd_pread (local.get $descriptor) (local.get $own) (i32.const 1)
            (i64.extend_i32_u (i32.mul (i32.and (local.get $i) (i32.const 15)) (local.get $len)))
            (i32.add (local.get $own) (i32.const 8)))
        (then unreachable))
      (if (i32.ne (i32.load offset=8 (local.get $own)) (local.get $len)) (then unreachable))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))))
