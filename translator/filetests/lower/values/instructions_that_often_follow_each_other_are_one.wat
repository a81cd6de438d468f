;; test lower
;; Two instructions become one where they often follow each other, and so does the end of a loop.
;; has: i32.shl_xor
;; has: br_i32.add_ne

(module
  (func (export "xorshift") (param $x i32) (param $n i32) (result i32)
    (loop $again
      (local.set $x (i32.xor (local.get $x) (i32.shl (local.get $x) (i32.const 13))))
      (br_if $again (i32.ne (local.tee $n (i32.add (local.get $n) (i32.const 1))) (local.get $x))))
    (i32.and (i32.shr_u (local.get $x) (i32.const 3)) (i32.const 7)))
  (func (export "dot") (param $a f64) (param $b f64) (param $c f64) (result f64)
    (f64.sub (local.get $c) (f64.mul (local.get $a) (local.get $b)))))

;; func 0 xorshift (i32, i32) -> (i32)
;;      0: enter            frame 7, header 2
;;      1: i32.shl_xor      r0, r0, 13, r0 ; 0x3f
;;      3: br_i32.add_ne    r1, r1, 1, r0, @1 ; 0x4c
;;      5: i32.shr_u_and    r4, r0, 3, 7 ; 0x56
;;      7: return           header 2, r4, x1 ; 0x57
;;
;; func 1 dot (f64, f64, f64) -> (f64)
;;      8: enter            frame 14, header 6
;;      9: f64.sub_mul      r8, r0, r2, r4 ; 0x61
;;     11: return           header 6, r8, x2 ; 0x62
