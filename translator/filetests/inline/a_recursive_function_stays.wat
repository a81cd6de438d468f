;; test inline
;; A recursive function stays; what is called from one place moves there.
;; has: call

(module
  (func $fib (param $n i32) (result i32)
    (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else
        (i32.add
          (call $fib (i32.sub (local.get $n) (i32.const 1)))
          (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func $once (param $n i32) (result i32)
    (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (call $fib (local.get $n))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum))
  (func (export "main") (result i32)
    (call $once (i32.const 10))))

;; (module
;;   (type (;0;) (func (param i32) (result i32)))
;;   (type (;1;) (func (result i32)))
;;   (export "main" (func 1))
;;   (func $fib (;0;) (type 0) (param i32) (result i32)
;;     local.get 0
;;     i32.const 2
;;     i32.lt_s
;;     if (result i32) ;; label = @1
;;       local.get 0
;;     else
;;       local.get 0
;;       i32.const 1
;;       i32.sub
;;       call $fib
;;       local.get 0
;;       i32.const 2
;;       i32.sub
;;       call $fib
;;       i32.add
;;     end
;;   )
;;   (func (;1;) (type 1) (result i32)
;;     (local i32 i32)
;;     i32.const 10
;;     local.set 0
;;     loop ;; label = @1
;;       local.get 1
;;       local.get 0
;;       call $fib
;;       i32.add
;;       local.set 1
;;       local.get 0
;;       i32.const 1
;;       i32.sub
;;       local.tee 0
;;       br_if 0 (;@1;)
;;     end
;;     local.get 1
;;   )
;;   (@custom "gpu-run.origins" (after code) "\01\01\01e\00\02\01\01\11\00)\00\02\00\02\00\01\00\02\00\02\00\01\00\02\00\02\00\01\00\02\00\02\00\02\00\01\00\02\00\01\00\01\03\01\10\00\e2\00\00\02\02d\01\00\02\00\02\00\02\00\02\00\01\00\02\00\02\00\02\00\01\00\02\00\02\00\01\02\09\00")
;; )
