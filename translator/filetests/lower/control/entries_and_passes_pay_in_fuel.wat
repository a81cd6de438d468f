;; test lower --fuel 1000
;; The head of a function pays for all that is in no loop, the head of each loop for a pass. What is in the inner loop is paid
;; for there. A loop without instructions pays one unit. What cannot be reached costs nothing.

(module
  (global $own (mut i32) (i32.const 5))
  (func (export "passes") (param $n i32) (result i32) (local $i i32)
    (loop $outer
      (local.set $i (i32.const 0))
      (loop $inner
        (br_if $inner (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (global.get $own))))
      (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $i))
  (func (export "empty")
    (loop)
    (return)
    (loop (br 0))))

;; func 0 passes (i32) -> (i32)
;;      0: enter            frame 6, header 1
;;      1: zero             r3, x1
;;      2: fuel             x1, global1 ; 0x3b
;;      3: fuel             x7, global1
;;      4: const32          r3, 0 ; 0x3f
;;      5: fuel             x7, global1 ; 0x41
;;      6: i32.add_imm      r3, r3, 1 ; 0x47
;;      7: global_get32     r5, global0 ; 0x4a
;;      8: br_i32.lt_u      r3, r5, @5 ; 0x4d
;;      9: br_i32.add_ne_imm r0, r0, -1, 0, @3 ; 0x57
;;     11: return           header 1, r3, x1 ; 0x5c
;;
;; func 1 empty () -> ()
;;     12: enter            frame 2, header 0
;;     13: fuel             x1, global1 ; 0x5f
;;     14: fuel             x1, global1
;;     15: return           header 0, r0, x0 ; 0x62
