;; test lower
;; A debug message becomes small items, which the host formats.

(module
  (import "gpu_run_v1" "dbg_level" (func $level (param i32 i32 i32 i32)))
  (import "gpu_run_v1" "dbg_str" (func $str (param i32 i32)))
  (import "gpu_run_v1" "dbg_i32" (func $i32 (param i32)))
  (import "gpu_run_v1" "dbg_f64" (func $f64 (param f64)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (memory 1)
  (data (i32.const 0) "a.rsx = ")
  (func (export "tell") (param $x i32) (param $y f64) (result i32)
    (call $level (i32.const 2) (i32.const 0) (i32.const 4) (i32.const 17))
    (call $str (i32.const 4) (i32.const 4))
    (call $i32 (local.get $x))
    (call $f64 (f64.add (local.get $y) (f64.const 1)))
    (call $nl)
    (i32.add (local.get $x) (i32.const 1))))

;; func 0 tell (i32, f64) -> (i32)
;;      0: enter            frame 9, header 3
;;      1: const32          r8, 17 ; 0xb5
;;      2: const32          r7, 4
;;      3: const32          r6, 0
;;      4: const32          r5, 2
;;      5: dbg_level        r5, r6, r7, r8
;;      7: const32          r6, 4 ; 0xbb
;;      8: const32          r5, 4
;;      9: dbg_str          r5, r6
;;     10: dbg_i32          r0 ; 0xbf
;;     11: const64          r7, 0x3ff0000000000000 ; 0xcc
;;     13: f64.add          r5, r1, r7
;;     14: dbg_f64          r5 ; 0xcd
;;     15: dbg_nl ; 0xcf
;;     16: i32.add_imm      r5, r0, 1 ; 0xd5
;;     17: return           header 3, r5, x1 ; 0xd6
