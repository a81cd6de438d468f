;; Calls that only the host can answer, as small as they come: a descriptor that is not open.
(module
  (import "wasi_snapshot_preview1" "sock_shutdown" (func $shutdown (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start"))
  ;; Makes `count` calls, and traps if one of them does not give EBADF.
  (func (export "calls") (param $count i32)
    (loop $again
      (if (i32.ne (call $shutdown (i32.const 99) (i32.const 1)) (i32.const 8)) (then unreachable))
      (br_if $again (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))))
