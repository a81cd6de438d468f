;; test lower
;; 128-bit values take four units of registers. One opcode serves where only the operands' order or the lanes' meaning
;; differs.
;; has: i8x16.lt_u
;; lacks: gt_u

(module
  (func (export "arithmetic") (param $a v128) (param $b v128) (result v128)
    (local $sum v128)
    (local.set $sum (i8x16.add (local.get $a) (local.get $b)))
    (v128.bitselect
      (local.get $sum)
      (i16x8.shl (local.get $a) (i32.const 3))
      (i8x16.gt_u (local.get $a) (local.get $b)))))

;; func 0 arithmetic (v128, v128) -> (v128)
;;      0: enter            frame 30, header 8
;;      1: i8x16.add        r10, r0, r4 ; 0x30
;;      2: const32          r22, 3 ; 0x3a
;;      3: i16x8.shl        r18, r0, r22
;;      4: i8x16.lt_u       r22, r4, r0 ; 0x41
;;      5: v128.bitselect   r14, r10, r18, r22 ; 0x43
;;      7: return           header 8, r14, x4 ; 0x45
