;; A value goes to the runtime with the opcode; text goes through the interpreter's own code.
(module
  (import "gpu_run_v1" "dbg_str" (func $str (param i32 i32)))
  (import "gpu_run_v1" "dbg_f32" (func $f32 (param f32)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (memory 1)
  (func (export "tell") (param $x f32)
    (call $str (i32.const 4) (i32.const 4))
    (call $f32 (f32.mul (local.get $x) (local.get $x)))
    (call $nl)))
