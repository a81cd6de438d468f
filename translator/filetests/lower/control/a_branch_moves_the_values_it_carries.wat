;; test lower
;; Values that a branch carries are moved to their places. A table whose targets want values has a stub for each.

(module
  (func (export "classify") (param $x i32) (result i32)
    (block $big (result i32)
      (block $small (result i32)
        (i32.const 10)
        (br_table $small $small $big (local.get $x)))
      (i32.add (i32.const 1)))
    (i32.mul (local.get $x))))

;; func 0 classify (i32) -> (i32)
;;      0: enter            frame 5, header 1
;;      1: br_table         r0, 3 [@4, @4, @6] ; 0x2f
;;      4: const32          r3, 10
;;      5: jump             @8
;;      6: const32          r3, 10
;;      7: jump             @9
;;      8: i32.add_imm      r3, r3, 1 ; 0x37
;;      9: i32.mul          r3, r3, r0 ; 0x3b
;;     10: return           header 1, r3, x1 ; 0x3c
