;; test lower
;; An entry of the stack that is a local is copied before the local changes.
;; has: copy32

(module
  (func (export "old_value") (param $x i32) (result i32)
    (local.get $x)
    (local.set $x (i32.const 5))
    (i32.add (local.get $x))))

;; func 0 old_value (i32) -> (i32)
;;      0: enter            frame 5, header 1
;;      1: copy32           r3, r0 ; 0x2c
;;      2: const32          r0, 5
;;      3: i32.add          r3, r3, r0 ; 0x30
;;      4: return           header 1, r3, x1 ; 0x31
