;; test inline
;; A leaf disappears into its callers: its parameters become locals, its `return` a branch.
;; lacks: call

(module
  (func $max (param $a i32) (param $b i32) (result i32)
    (if (i32.gt_s (local.get $a) (local.get $b))
      (then (return (local.get $a))))
    (local.get $b))
  (func (export "max3") (param i32 i32 i32) (result i32)
    (call $max (call $max (local.get 0) (local.get 1)) (local.get 2))))

;; (module
;;   (type (;0;) (func (param i32 i32) (result i32)))
;;   (type (;1;) (func (param i32 i32 i32) (result i32)))
;;   (export "max3" (func 0))
;;   (func (;0;) (type 1) (param i32 i32 i32) (result i32)
;;     (local i32 i32)
;;     local.get 0
;;     local.get 1
;;     local.set 4
;;     local.set 3
;;     block (result i32) ;; label = @1
;;       local.get 3
;;       local.get 4
;;       i32.gt_s
;;       if ;; label = @2
;;         local.get 3
;;         br 1 (;@1;)
;;       end
;;       local.get 4
;;     end
;;     local.get 2
;;     local.set 4
;;     local.set 3
;;     block (result i32) ;; label = @1
;;       local.get 3
;;       local.get 4
;;       i32.gt_s
;;       if ;; label = @2
;;         local.get 3
;;         br 1 (;@1;)
;;       end
;;       local.get 4
;;     end
;;   )
;;   (@custom "gpu-run.origins" (after code) "\01\02\00A\00\00E\00\01\02\01\1c\00<\00\02\00\02\00\00\00\00\02l\01\00\02\00\02\00\01\00\02\00\02\00\01\00\01\00\02\02\09\00\00\02\00\00\00\00\02h\02\00\02\00\02\00\01\00\02\00\02\00\01\00\01\00\02\02\0d\00")
;; )
