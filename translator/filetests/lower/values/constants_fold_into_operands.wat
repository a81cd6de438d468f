;; test lower
;; Constants fold into operands, locals are used in place, and results go straight to locals.
;; has: i32.shl2_add

(module
  (func (export "f") (param $x i32) (param $y i32) (result i32)
    (local $t i32)
    (local.set $t (i32.sub (i32.mul (local.get $x) (i32.const 3)) (i32.const 7)))
    (i32.add (i32.shl (local.get $t) (i32.const 2)) (local.get $y))))

;; func 0 f (i32, i32) -> (i32)
;;      0: enter            frame 7, header 2
;;      1: i32.mul_imm      r5, r0, 3 ; 0x27
;;      2: i32.add_imm      r4, r5, -7 ; 0x2a
;;      3: i32.shl2_add     r5, r4, r1 ; 0x34
;;      4: return           header 2, r5, x1 ; 0x35
