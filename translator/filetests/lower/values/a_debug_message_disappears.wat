;; test lower --no-debug
;; With `--no-debug` nothing is left of a debug message, nor of what only it needed.
;; lacks: dbg

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
;;      0: enter            frame 7, header 3
;;      1: i32.add_imm      r5, r0, 1 ; 0xd5
;;      2: return           header 3, r5, x1 ; 0xd6
