;; test lower
;; The import by which WASI's threads are spawned is an instruction; so is gpu-run's own.
;; has: thread_spawn

(module
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (import "gpu_run_v1" "thread_spawn" (func $own (param i32) (result i32)))
  (import "env" "memory" (memory 1 1 shared))
  (func (export "wasi_thread_start") (param $id i32) (param $argument i32))
  (func (export "both") (param $argument i32) (result i32)
    (i32.add (call $spawn (local.get $argument)) (call $own (i32.const 7)))))

;; func 0 wasi_thread_start (i32, i32) -> ()
;;      0: enter            frame 4, header 2
;;      1: return           header 2, r0, x0 ; 0x7d
;;
;; func 1 both (i32) -> (i32)
;;      2: enter            frame 5, header 1
;;      3: thread_spawn     r3, r0 ; 0x82
;;      4: const32          r4, 7 ; 0x86
;;      5: thread_spawn     r4, r4
;;      6: i32.add          r3, r3, r4 ; 0x88
;;      7: return           header 1, r3, x1 ; 0x89
