;; test lower
;; The size of a memory is a value as any other; growing and filling name the memory.

(module
  (memory 1)
  (func (export "grow") (param $pages i32) (result i32)
    (memory.fill (i32.const 0) (i32.const 1) (memory.size))
    (memory.grow (local.get $pages))))

;; func 0 grow (i32) -> (i32)
;;      0: enter            frame 6, header 1
;;      1: memory.size      r5, memory0 ; 0x2c
;;      2: const32          r4, 1 ; 0x2e
;;      3: const32          r3, 0
;;      4: memory.fill      r3, r4, r5, memory0
;;      6: memory.grow      r3, r0, memory0 ; 0x33
;;      7: return           header 1, r3, x1 ; 0x35
