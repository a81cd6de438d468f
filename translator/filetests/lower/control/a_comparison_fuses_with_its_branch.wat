;; test lower
;; A comparison fuses with the branch that it decides.
;; has: br_i32.le_u

(module
  (func (export "sum") (param $n i32) (result i32)
    (local $sum i32) (local $next i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_u (local.get $sum) (local.get $n)))
        (local.set $next (i32.add (local.get $sum) (i32.const 1)))
        (local.set $sum (i32.add (local.get $next) (local.get $next)))
        (br $again)))
    (local.get $sum)))

;; func 0 sum (i32) -> (i32)
;;      0: enter            frame 7, header 1
;;      1: zero             r3, x1
;;      2: br_i32.le_u      r0, r3, @6 ; 0x2d
;;      3: i32.add_imm      r4, r3, 1 ; 0x33
;;      4: i32.add          r3, r4, r4 ; 0x3a
;;      5: jump             @2 ; 0x3d
;;      6: return           header 1, r3, x1 ; 0x43
