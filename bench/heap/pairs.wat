;; A program that allocates blocks and frees them, in turn: what that takes is told by `--stats` (see README.md).
(module
  (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
  (import "gpu_run_v1" "dealloc" (func $dealloc (param i32 i32 i32)))
  (memory 1)

  ;; `count` blocks of 64 bytes, of which each has its number written and read back. Gives how many were wrong.
  (func (export "pairs") (param $count i32) (result i32)
    (local $block i32) (local $wrong i32)
    (loop $next
      (local.set $block (call $alloc (i32.const 64) (i32.const 8)))
      (i32.store (local.get $block) (local.get $count))
      (local.set $wrong
        (i32.add (local.get $wrong) (i32.ne (i32.load (local.get $block)) (local.get $count))))
      (call $dealloc (local.get $block) (i32.const 64) (i32.const 8))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (local.get $wrong))

  ;; The same of blocks that no lane's cache keeps.
  (func (export "large_pairs") (param $count i32) (result i32)
    (local $block i32) (local $wrong i32)
    (loop $next
      (local.set $block (call $alloc (i32.const 320) (i32.const 8)))
      (i32.store (local.get $block) (local.get $count))
      (local.set $wrong
        (i32.add (local.get $wrong) (i32.ne (i32.load (local.get $block)) (local.get $count))))
      (call $dealloc (local.get $block) (i32.const 320) (i32.const 8))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (local.get $wrong))

  ;; Two blocks at a time, of sizes that change and that the compiler does not know.
  (func (export "sizes") (param $count i32) (result i32)
    (local $a i32) (local $b i32) (local $size i32) (local $wrong i32)
    (loop $next
      (local.set $size (i32.add (i32.and (i32.mul (local.get $count) (i32.const 40503)) (i32.const 127)) (i32.const 4)))
      (local.set $a (call $alloc (local.get $size) (i32.const 8)))
      (i32.store (local.get $a) (local.get $count))
      (local.set $b (call $alloc (i32.add (local.get $size) (i32.const 16)) (i32.const 8)))
      (i32.store (local.get $b) (i32.const 0))
      (local.set $wrong
        (i32.add (local.get $wrong) (i32.ne (i32.load (local.get $a)) (local.get $count))))
      (call $dealloc (local.get $b) (i32.add (local.get $size) (i32.const 16)) (i32.const 8))
      (call $dealloc (local.get $a) (local.get $size) (i32.const 8))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (local.get $wrong)))
