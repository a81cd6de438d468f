;; test lower
;; A relaxed instruction becomes an instruction with one of the results that it may have, and always the same.
;; has: v128.bitselect
;; has: f32x4.min
;; lacks: relaxed_min
;; lacks: laneselect

(module
  (global $mask (mut v128) (v128.const i32x4 1 2 3 4))
  (func (export "relaxed") (param $a v128) (param $b v128) (param $c v128) (result v128)
    (global.set $mask (i32x4.relaxed_laneselect (local.get $a) (local.get $b) (global.get $mask)))
    (select
      (f32x4.relaxed_madd (local.get $a) (local.get $b) (local.get $c))
      (f32x4.relaxed_min (local.get $a) (local.get $b))
      (i32x4.all_true (local.get $c)))))

;; func 0 relaxed (v128, v128, v128) -> (v128)
;;      0: enter            frame 26, header 12
;;      1: global_get128    r22, global0 ; 0x44
;;      2: v128.bitselect   r14, r0, r4, r22 ; 0x46
;;      4: global_set128    r14, global0 ; 0x49
;;      5: f32x4.relaxed_madd r14, r0, r4, r8 ; 0x51
;;      7: f32x4.min        r18, r0, r4 ; 0x58
;;      8: i32x4.all_true   r22, r8 ; 0x5d
;;      9: select128        r14, r14, r18, r22 ; 0x60
;;     11: return           header 12, r14, x4 ; 0x61
