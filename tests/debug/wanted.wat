;; Messages for which the program asks first, in the forms that compilers and people write, with `--no-debug`:
;; neither the question nor what hangs on it is left.
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
