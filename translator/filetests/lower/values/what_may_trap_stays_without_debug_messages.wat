;; test lower --no-debug
;; Code that may trap or has an effect stays with `--no-debug`, though nothing reads its value.
;; has: i32.div_s
;; has: load32
;; lacks: dbg

(module
  (import "gpu_run_v1" "dbg_i32" (func $i32 (param i32)))
  (import "gpu_run_v1" "dbg_u64" (func $u64 (param i64)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (import "gpu_run_v1" "gid" (func $gid (result i32)))
  (memory 1)
  (global $calls (mut i32) (i32.const 0))
  (func $count (result i32)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (global.get $calls))
  (func (export "kept") (param $x i32) (result i32)
    (local $y i32)
    (call $i32 (i32.add (i32.div_s (i32.const 6) (local.get $x)) (i32.const 1)))
    (call $i32 (i32.mul (call $count) (local.get $x)))
    (call $i32 (local.tee $y (i32.add (local.get $x) (i32.const 3))))
    (call $u64 (i64.extend_i32_u (i32.load (local.get $x))))
    (call $nl)
    (local.get $y))
  (func (export "tail") (return_call $nl)))

;; func 0 count () -> (i32)
;;      0: enter            frame 5, header 1
;;      1: global_get32     r3, global0 ; 0x9a
;;      2: i32.add_imm      r3, r3, 1 ; 0x9e
;;      3: global_set32     r3, global0 ; 0x9f
;;      4: global_get32     r3, global0 ; 0xa1
;;      5: return           header 1, r3, x1 ; 0xa3
;;
;; func 1 kept (i32) -> (i32)
;;      6: enter            frame 6, header 1
;;      7: const32          r4, 6 ; 0xac
;;      8: i32.div_s        r4, r4, r0
;;      9: call             r4, count ; 0xb2
;;     10: i32.add_imm      r3, r0, 3 ; 0xbd
;;     11: load32           r4, r0, +0 ; 0xc4
;;     12: return           header 1, r3, x1 ; 0xce
;;
;; func 2 tail () -> ()
;;     13: enter            frame 2, header 0
;;     14: return           header 0, r0, x0 ; 0xd1
