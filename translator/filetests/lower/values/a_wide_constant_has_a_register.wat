;; test lower
;; A constant of more than 32 bits does not fit into an operand: it is loaded first.
;; has: const64

(module
  (func (export "wide") (param $x i64) (result i64)
    (i64.add (local.get $x) (i64.const 0x123456789abcdef))))

;; func 0 wide (i64) -> (i64)
;;      0: enter            frame 8, header 2
;;      1: const64          r6, 0x123456789abcdef ; 0x2f
;;      3: i64.add          r4, r0, r6
;;      4: return           header 2, r4, x2 ; 0x30
