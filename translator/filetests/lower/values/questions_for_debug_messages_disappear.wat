;; test lower --no-debug
;; A program may ask whether a message is wanted, in the forms that compilers and people write. With `--no-debug`
;; neither the question nor what hangs on it is left.
;; lacks: dbg

(module
  (import "gpu_run_v1" "dbg_wanted" (func $wanted (param i32) (result i32)))
  (import "gpu_run_v1" "dbg_str" (func $str (param i32 i32)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (memory 1)
  (func $tell (param i32) (call $str (i32.const 0) (local.get 0)) (call $nl))

  ;; As LLVM has it.
  (func (export "branch") (param $x i32) (result i32)
    (block $quiet
      (br_if $quiet (i32.eqz (call $wanted (i32.const 1))))
      (i32.store (i32.const 8) (local.get $x))
      (if (local.get $x) (then (call $tell (i32.const 3))) (else (call $tell (i32.const 4)))))
    (i32.add (local.get $x) (i32.const 1)))

  (func (export "if") (param $x i32) (result i32)
    (if (call $wanted (i32.const 2)) (then (call $tell (local.get $x))))
    (if (result i32) (call $wanted (i32.const 2))
      (then (call $tell (i32.const 1)) (i32.const 10))
      (else (i32.add (local.get $x) (i32.const 2)))))

  (func (export "not") (param $x i32) (result i32)
    (loop $again (result i32)
      (if (result i32) (i32.eqz (call $wanted (i32.const 2)))
        (then (i32.add (local.get $x) (i32.const 3)))
        (else (call $tell (i32.const 1)) (br $again)))))

  ;; A branch with values below what it takes along, out of an if that stays.
  (func (export "values") (param $x i32) (result i32)
    (if (result i32) (local.get $x)
      (then
        (i32.const 7)
        (i32.const 8)
        (br_if 0 (i32.eqz (call $wanted (i32.const 0))))
        (call $tell)
        (drop)
        (i32.const 9))
      (else (i32.const 5))))

  ;; The answer as a value.
  (func (export "value") (result i32) (call $wanted (i32.const 3))))

;; func 0 tell (i32) -> ()
;;      0: enter            frame 3, header 1
;;      1: return           header 1, r0, x0 ; 0xa8
;;
;; func 1 branch (i32) -> (i32)
;;      2: enter            frame 5, header 1
;;      3: i32.add_imm      r3, r0, 1 ; 0xce
;;      4: return           header 1, r3, x1 ; 0xcf
;;
;; func 2 if (i32) -> (i32)
;;      5: enter            frame 5, header 1
;;      6: i32.add_imm      r3, r0, 2 ; 0xee
;;      7: return           header 1, r3, x1 ; 0xf0
;;
;; func 3 not (i32) -> (i32)
;;      8: enter            frame 5, header 1
;;      9: i32.add_imm      r3, r0, 3 ; 0x100
;;     10: return           header 1, r3, x1 ; 0x10a
;;
;; func 4 values (i32) -> (i32)
;;     11: enter            frame 5, header 1
;;     12: br_unless        r0, @15 ; 0x10f
;;     13: const32          r3, 8 ; 0x11a
;;     14: jump             @16
;;     15: const32          r3, 5 ; 0x124
;;     16: return           header 1, r3, x1 ; 0x125
;;
;; func 5 value () -> (i32)
;;     17: enter            frame 4, header 1
;;     18: const32          r3, 0 ; 0x12c
;;     19: return           header 1, r3, x1
