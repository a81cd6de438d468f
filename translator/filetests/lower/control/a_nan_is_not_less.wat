;; test lower
;; A comparison of floats that decides a branch is not turned into its opposite: a NaN is neither.
;; has: br_not_f64.lt
;; lacks: f64.ge

(module
  (func (export "nan_is_not_less") (param $x f64) (param $y f64) (result i32)
    (if (result i32) (f64.lt (local.get $x) (local.get $y))
      (then (i32.const 1))
      (else (i32.const 2)))))

;; func 0 nan_is_not_less (f64, f64) -> (i32)
;;      0: enter            frame 10, header 4
;;      1: br_not_f64.lt    r0, r2, @4 ; 0x34
;;      2: const32          r6, 1 ; 0x38
;;      3: jump             @5
;;      4: const32          r6, 2 ; 0x3b
;;      5: return           header 4, r6, x1 ; 0x3c
