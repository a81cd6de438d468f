;; test lower
;; A test of lanes is a condition like any other: a loop's branch compares it.
;; has: br_i32.eq_imm

(module
  (memory 1)
  (func (export "find") (param $at i32) (param $wanted v128) (result i32)
    (local $equal v128)
    (loop $next
      (local.set $equal (i8x16.eq (v128.load (local.get $at)) (local.get $wanted)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.eqz (v128.any_true (local.get $equal)))))
    (i32.ctz (i8x16.bitmask (local.get $equal)))))

;; func 0 find (i32, v128) -> (i32)
;;      0: enter            frame 19, header 5
;;      1: zero             r7, x4
;;      2: v128.load        r11, r0, memory0, +0 ; 0x2f
;;      4: i8x16.eq         r7, r11, r1 ; 0x35
;;      5: i32.add_imm      r0, r0, 16 ; 0x3d
;;      6: v128.any_true    r11, r7 ; 0x42
;;      7: br_i32.eq_imm    r11, 0, @2 ; 0x45
;;      8: i8x16.bitmask    r11, r7 ; 0x4a
;;      9: i32.ctz          r11, r11 ; 0x4c
;;     10: return           header 5, r11, x1 ; 0x4d
