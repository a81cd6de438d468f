;; test lower
;; An offset below 64 KiB is in the instruction.
;; has: load64
;; lacks: far

(module
  (memory 1)
  (func (export "near") (param $at i32) (result i64)
    (i64.load offset=8 (local.get $at))))

;; func 0 near (i32) -> (i64)
;;      0: enter            frame 6, header 2
;;      1: load64           r4, r0, +8 ; 0x2a
;;      2: return           header 2, r4, x2 ; 0x2d
