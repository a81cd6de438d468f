;; memory.copy and memory.fill at all alignments, overlapping from both sides, against byte loops.

(module
  (memory 1)

  (func $pattern (param $i i32) (result i32)
    (i32.and (i32.add (i32.mul (local.get $i) (i32.const 7)) (i32.const 3)) (i32.const 255)))

  (func $reset
    (local $i i32)
    (loop $next
      (i32.store8 (local.get $i) (call $pattern (local.get $i)))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 512)))))

  ;; Copies and gives 1 if every byte of the first 512 is what it should be.
  (func $copy (export "copy") (param $to i32) (param $from i32) (param $len i32) (result i32)
    (local $i i32)
    (call $reset)
    (memory.copy (local.get $to) (local.get $from) (local.get $len))
    (loop $next
      (if (i32.ne
            (i32.load8_u (local.get $i))
            (call $pattern
              (if (result i32) (i32.lt_u (i32.sub (local.get $i) (local.get $to)) (local.get $len))
                (then (i32.add (local.get $from) (i32.sub (local.get $i) (local.get $to))))
                (else (local.get $i)))))
        (then (return (i32.const 0))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 512))))
    (i32.const 1))

  ;; The number of distances and destinations for which a copy of `len` bytes went wrong.
  (func (export "copies") (param $len i32) (result i32)
    (local $to i32) (local $distance i32) (local $wrong i32)
    (local.set $to (i32.const 200))
    (loop $tos
      (local.set $distance (i32.const -19))
      (loop $distances
        (local.set $wrong (i32.add (local.get $wrong)
          (i32.eqz (call $copy (local.get $to) (i32.add (local.get $to) (local.get $distance)) (local.get $len)))))
        (br_if $distances (i32.le_s (local.tee $distance (i32.add (local.get $distance) (i32.const 3))) (i32.const 19))))
      (br_if $tos (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 1))) (i32.const 208))))
    (local.get $wrong))

  (func (export "fills") (param $len i32) (result i32)
    (local $to i32) (local $i i32) (local $wrong i32)
    (local.set $to (i32.const 200))
    (loop $tos
      (call $reset)
      (memory.fill (local.get $to) (i32.const 0x1ab) (local.get $len))
      (local.set $i (i32.const 0))
      (loop $next
        (local.set $wrong (i32.add (local.get $wrong)
          (i32.ne
            (i32.load8_u (local.get $i))
            (if (result i32) (i32.lt_u (i32.sub (local.get $i) (local.get $to)) (local.get $len))
              (then (i32.const 0xab))
              (else (call $pattern (local.get $i)))))))
        (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 512))))
      (br_if $tos (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 1))) (i32.const 208))))
    (local.get $wrong)))

(assert_return (invoke "copies" (i32.const 0)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 1)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 7)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 8)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 17)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 71)) (i32.const 0))
(assert_return (invoke "copies" (i32.const 152)) (i32.const 0))
(assert_return (invoke "fills" (i32.const 0)) (i32.const 0))
(assert_return (invoke "fills" (i32.const 7)) (i32.const 0))
(assert_return (invoke "fills" (i32.const 90)) (i32.const 0))
(assert_return (invoke "fills" (i32.const 205)) (i32.const 0))

;; A segment that ends in the middle of a word, copied to every alignment.
(module
  (memory 1)
  (data $d "\01\02\03\04\05\06\07\08\09\0a\0b\0c\0d\0e\0f\10\11\12\13")
  (func (export "init") (param $to i32) (param $from i32) (param $len i32) (result i32)
    (local $i i32) (local $sum i32)
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 64))
    (memory.init $d (local.get $to) (local.get $from) (local.get $len))
    (loop $next
      (local.set $sum (i32.add (i32.mul (local.get $sum) (i32.const 3)) (i32.load8_u (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 24))))
    (local.get $sum)))

(assert_return (invoke "init" (i32.const 0) (i32.const 0) (i32.const 19)) (i32.const 1368752366))
(assert_return (invoke "init" (i32.const 5) (i32.const 0) (i32.const 19)) (i32.const 871696090))
(assert_return (invoke "init" (i32.const 3) (i32.const 2) (i32.const 17)) (i32.const 1125748091))
(assert_trap (invoke "init" (i32.const 0) (i32.const 1) (i32.const 19)) "out of bounds memory access")
