;; A loop that counts down to a limit: odd passes first, then as many copies as are worth it, of which the last
;; compares.
(module
  (memory 1)
  (func (export "sum") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.mul (local.get $n) (local.get $n))))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum))

  ;; 12 passes are 6 times 2 copies. Nothing reads the count in the loop, so it is added up where that is left.
  (func (export "steps") (param $x i32) (result i32) (local $i i32)
    (block $found
      (loop $next
        (br_if $found (i32.gt_u (local.get $x) (i32.const 1000)))
        (local.set $x (i32.add (i32.mul (local.get $x) (local.get $x)) (i32.rotl (local.get $x) (i32.const 7))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 1))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 2))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 3))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 4))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 5))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 6))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 7))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 8))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 9))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 10))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 11))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 12))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 13))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 14))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 15))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 16))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 17))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.ne (local.get $i) (i32.const 12)))))
    (i32.add (local.get $i) (local.get $x))))
