;; test lower
;; Every atomic instruction names its memory and has a 64-bit offset.

(module
  (memory 1 1 shared)
  (memory $wide i64 1 1 shared)

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

;; func 0 accesses (i32, i64) -> (i64)
;;      0: enter            frame 8, header 3
;;      1: i64.atomic.store32 r0, r1, memory0, +4 ; 0x3c
;;      3: atomic.fence ; 0x40
;;      4: i64.atomic.load  r5, r0, memory0, +8 ; 0x45
;;      6: return           header 3, r5, x2 ; 0x49
;;
;; func 1 modify (i32, i64, i32) -> (i32)
;;      7: enter            frame 10, header 4
;;      8: i32.atomic.rmw8.add_u r6, r0, r3, +100000, memory0 ; 0x50
;;     11: i32.atomic.rmw.xchg r7, r1, r3, +0, memory1 ; 0x5a
;;     14: i32.add          r6, r6, r7 ; 0x5f
;;     15: const32          r8, 1 ; 0x66
;;     16: i32.atomic.rmw16.cmpxchg_u r7, r0, r8, +0, r3, memory0
;;     19: i32.add          r6, r6, r7 ; 0x6a
;;     20: return           header 4, r6, x1 ; 0x6b
;;
;; func 2 lock (i32) -> ()
;;     21: enter            frame 7, header 1
;;     22: const32          r5, 1 ; 0x76
;;     23: const32          r4, 0
;;     24: i32.atomic.rmw.cmpxchg r3, r0, r4, +0, r5, memory0
;;     27: br_unless        r3, @34 ; 0x7a
;;     28: const64_s        r5, -1 ; 0x82
;;     29: const32          r4, 1
;;     30: memory.atomic.wait32 r3, r0, r4, +0, memory0, r5
;;     33: jump             @22 ; 0x87
;;     34: return           header 1, r0, x0 ; 0x8b
;;
;; func 3 unlock (i32) -> ()
;;     35: enter            frame 5, header 1
;;     36: const32          r4, 0 ; 0x92
;;     37: i32.atomic.store r0, r4, memory0, +0
;;     39: const32          r4, 1 ; 0x9a
;;     40: memory.atomic.notify r3, r0, r4, +0, memory0
;;     43: return           header 1, r0, x0 ; 0x9f
;;
;; func 4 wait64 (i64, i64) -> (i32)
;;     44: enter            frame 12, header 4
;;     45: const64_s        r10, 1000000 ; 0xaa
;;     46: memory.atomic.wait64 r6, r0, r2, +16, memory1, r10
;;     49: return           header 4, r6, x1 ; 0xaf
