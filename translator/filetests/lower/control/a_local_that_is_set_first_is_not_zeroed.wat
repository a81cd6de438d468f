;; test lower
;; A local that is set before it is read is not zeroed.
;; lacks: zero

(module
  (func (export "gcd") (param $a i64) (param $b i64) (result i64)
    (local $t i64)
    (loop $again (result i64)
      (if (result i64) (i64.eqz (local.get $b))
        (then (local.get $a))
        (else
          (local.set $t (i64.rem_u (local.get $a) (local.get $b)))
          (local.set $a (local.get $b))
          (local.set $b (local.get $t))
          (br $again))))))

;; func 0 gcd (i64, i64) -> (i64)
;;      0: enter            frame 12, header 4
;;      1: br_i64.ne_imm    r2, 0, @4 ; 0x2a
;;      2: copy64           r8, r0 ; 0x2e
;;      3: jump             @8
;;      4: i64.rem_u        r6, r0, r2 ; 0x33
;;      5: copy64           r0, r2 ; 0x38
;;      6: copy64           r2, r6 ; 0x3c
;;      7: jump             @1 ; 0x3e
;;      8: return           header 4, r8, x2 ; 0x42
