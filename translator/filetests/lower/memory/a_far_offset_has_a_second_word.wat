;; test lower
;; An offset of 64 KiB or more is in a second word.
;; has: far

(module
  (memory 1)
  (func (export "far") (param $at i32) (param $value f32)
    (f32.store offset=100000 (local.get $at) (local.get $value))))

;; func 0 far (i32, f32) -> ()
;;      0: enter            frame 6, header 2
;;      1: store32_far      r0, r1, memory0, +100000 ; 0x2b
;;      3: return           header 2, r0, x0 ; 0x30
