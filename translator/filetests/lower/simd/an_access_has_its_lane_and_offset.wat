;; test lower
;; An access of one lane has the lane and the offset in the instruction.

(module
  (memory 1)
  (func (export "memory") (param $at i32) (param $a v128)
    (v128.store offset=16 (local.get $at)
      (v128.load16_lane offset=100000 5 (local.get $at) (local.get $a)))
    (v128.store8_lane 15 (local.get $at) (v128.load8x8_u (local.get $at)))))

;; func 0 memory (i32, v128) -> ()
;;      0: enter            frame 13, header 5
;;      1: v128.load16_lane r8, r0, r1, +100000, memory0, 5 ; 0x30
;;      4: v128.store       r0, r8, memory0, +16 ; 0x37
;;      6: v128.load8x8_u   r8, r0, memory0, +0 ; 0x3f
;;      8: v128.store8_lane r0, r8, memory0, +0, 15 ; 0x43
;;     11: return           header 5, r0, x0 ; 0x48
