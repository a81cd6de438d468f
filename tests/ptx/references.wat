;; A function that may hold references to exceptions shows its units to the runtime before it calls
;; something, and takes them back when it returns.
(module
  (tag $odd (param i32))
  (func $make (param $n i32) (result exnref)
    (block $caught (result exnref)
      (try_table (catch_all_ref $caught) (throw $odd (local.get $n)))
      (unreachable)))
  (func $use (export "use") (param $n i32)
    (local $first exnref)
    (local.set $first (call $make (local.get $n)))
    (drop (call $make (i32.const 1)))
    (throw_ref (local.get $first))))
