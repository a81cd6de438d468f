;; test lower
;; Arguments are brought to the place where the callee's frame begins, and results come back there.

(module
  (type $op (func (param i32 i32) (result i32)))
  (table funcref (elem $add $swap_sub))
  (func $add (type $op) (i32.add (local.get 0) (local.get 1)))
  (func $swap_sub (type $op) (i32.sub (local.get 1) (local.get 0)))
  (func (export "apply") (param $which i32) (param $x i32) (result i32)
    (i32.add
      (call $add (local.get $x) (i32.const 1))
      (call_indirect (type $op) (local.get $x) (i32.const 2) (local.get $which))))
  (func (export "divide") (param $a i32) (param $b i32) (result i32 i32)
    (i32.div_u (local.get $a) (local.get $b))
    (i32.rem_u (local.get $a) (local.get $b))))

;; func 0 add (i32, i32) -> (i32)
;;      0: enter            frame 6, header 2
;;      1: i32.add          r4, r0, r1 ; 0x4f
;;      2: return           header 2, r4, x1 ; 0x50
;;
;; func 1 swap_sub (i32, i32) -> (i32)
;;      3: enter            frame 6, header 2
;;      4: i32.sub          r4, r1, r0 ; 0x57
;;      5: return           header 2, r4, x1 ; 0x58
;;
;; func 2 apply (i32, i32) -> (i32)
;;      6: enter            frame 8, header 2
;;      7: copy32           r4, r1 ; 0x5f
;;      8: const32          r5, 1
;;      9: call             r4, add
;;     10: copy32           r5, r1 ; 0x67
;;     11: const32          r6, 2
;;     12: call_indirect    r5, r0, table0, type0 (i32, i32) -> (i32)
;;     14: i32.add          r4, r4, r5 ; 0x6a
;;     15: return           header 2, r4, x1 ; 0x6b
;;
;; func 3 divide (i32, i32) -> (i32, i32)
;;     16: enter            frame 7, header 2
;;     17: i32.div_u        r4, r0, r1 ; 0x72
;;     18: i32.rem_u        r5, r0, r1 ; 0x77
;;     19: return           header 2, r4, x2 ; 0x78
