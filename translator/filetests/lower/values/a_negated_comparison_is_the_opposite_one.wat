;; test lower
;; The negation of a comparison is the opposite comparison: not `x < y` is `y <= x`.
;; has: i32.le_s
;; lacks: eqz

(module
  (func (export "not_a_comparison") (param $x i32) (param $y i32) (result i32)
    (i32.eqz (i32.lt_s (local.get $x) (local.get $y)))))

;; func 0 not_a_comparison (i32, i32) -> (i32)
;;      0: enter            frame 6, header 2
;;      1: i32.le_s         r4, r1, r0 ; 0x35
;;      2: return           header 2, r4, x1 ; 0x36
