;; Each thread writes a file of its own, in pieces of 4 KiB, and reads it.
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread" (func $pread (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "gpu_run_v1" "gid" (func $gid (result i32)))
  ;; For each of at most 2,048 threads 8 KiB: a name of eight letters, a descriptor at 8, a list of a buffer at 16, a
  ;; result at 24, and the bytes from 4096 on.
  (memory (export "memory") 260 260 shared)
  (func (export "_start"))
  (func $own (result i32) (i32.add (i32.const 65536) (i32.mul (call $gid) (i32.const 8192))))
  (func $begin (result i32) (local $own i32) (local $i i32)
    (local.set $own (call $own))
    (loop $letter
      (i32.store8 (i32.add (local.get $own) (local.get $i)) (i32.add (i32.const 97)
        (i32.and (i32.shr_u (call $gid) (i32.mul (local.get $i) (i32.const 4))) (i32.const 15))))
      (br_if $letter (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
    (i32.store offset=16 (local.get $own) (i32.add (local.get $own) (i32.const 4096)))
    (i32.store offset=20 (local.get $own) (i32.const 4096))
    ;; Creates (1) and cuts (8) it, to read (2) and write (64).
    (if (call $open (i32.const 3) (i32.const 0) (local.get $own) (i32.const 8) (i32.const 9) (i64.const 66)
          (i64.const 0) (i32.const 0) (i32.add (local.get $own) (i32.const 8))) (then unreachable))
    (local.get $own))
  (func $writes (param $own i32) (param $count i32)
    (loop $again
      (if (call $write (i32.load offset=8 (local.get $own)) (i32.add (local.get $own) (i32.const 16)) (i32.const 1)
            (i32.add (local.get $own) (i32.const 24))) (then unreachable))
      (if (i32.ne (i32.load offset=24 (local.get $own)) (i32.const 4096)) (then unreachable))
      (br_if $again (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))
  (func $reads (param $own i32) (param $count i32)
    (loop $again
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (if (call $pread (i32.load offset=8 (local.get $own)) (i32.add (local.get $own) (i32.const 16)) (i32.const 1)
            (i64.mul (i64.extend_i32_u (local.get $count)) (i64.const 4096)) (i32.add (local.get $own) (i32.const 24)))
        (then unreachable))
      (if (i32.ne (i32.load offset=24 (local.get $own)) (i32.const 4096)) (then unreachable))
      (br_if $again (local.get $count))))
  (func (export "write") (param $count i32) (local $own i32)
    (local.set $own (call $begin))
    (call $writes (local.get $own) (local.get $count)))
  ;; Writes `count` pieces, and reads each of them 10 times.
  (func (export "read") (param $count i32) (local $own i32) (local $round i32)
    (local.set $own (call $begin))
    (call $writes (local.get $own) (local.get $count))
    (loop $again
      (call $reads (local.get $own) (local.get $count))
      (br_if $again (i32.lt_u (local.tee $round (i32.add (local.get $round) (i32.const 1))) (i32.const 10))))))
