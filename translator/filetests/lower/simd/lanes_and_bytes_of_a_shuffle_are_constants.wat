;; test lower
;; Lanes, and the bytes of a shuffle, are constants in the instruction.

(module
  (func (export "lanes") (param $a v128) (param $x f32) (result f32)
    (f32x4.extract_lane 2
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (f32x4.replace_lane 1 (local.get $a) (local.get $x))
        (v128.const i64x2 1 2)))))

;; func 0 lanes (v128, f32) -> (f32)
;;      0: enter            frame 15, header 5
;;      1: i32x4.replace_lane r7, r0, r4, 1 ; 0x29
;;      3: v128.const       r11, 0x1, 0x2 ; 0x3e
;;      6: i8x16.shuffle    r7, r7, r11, 0x1312111003020100, 0x1716151407060504
;;      9: i32x4.extract_lane r7, r7, 2 ; 0x50
;;     10: return           header 5, r7, x1 ; 0x53
