;; test rewrite --module wasm/release/hello.wasm --only _print,gpu_run,__rdl_,default_alloc_error_hook
;; The functions of std in `hello` that print, allocate and panic become calls of what the GPU has.
;; has: "gpu_run_v1" "print"

;; (import "gpu_run_v1" "print" (func (;0;) (type 6) (param i32 i32 i32)))
;; (import "gpu_run_v1" "print_end" (func (;1;) (type 1) (param i32)))
;; (import "gpu_run_v1" "alloc" (func (;2;) (type 4) (param i32 i32) (result i32)))
;; (import "gpu_run_v1" "dealloc" (func (;3;) (type 6) (param i32 i32 i32)))
;; (import "gpu_run_v1" "realloc" (func (;4;) (type 7) (param i32 i32 i32 i32) (result i32)))
;; (import "gpu_run_v1" "alloc_zero" (func (;5;) (type 4) (param i32 i32) (result i32)))
;; (import "gpu_run_v1" "panic_exit" (func (;6;) (type 0)))
;; (import "gpu_run_v1" "gid" (func (;7;) (type 14) (result i32)))
;; (func $_RNvNtCs17uHzZLuHk4_3std5alloc24default_alloc_error_hook (;35;) (type 2) (param i32 i32)
;;   i32.const 2
;;   i32.const 1114420
;;   i32.const 21
;;   call 0
;;   local.get 1
;;   i32.const 2
;;   call $gpu_run::oom::print_number
;;   i32.const 2
;;   i32.const 1114444
;;   i32.const 14
;;   call 0
;;   i32.const 2
;;   call 1
;; )
;; (func $_RNvCsfgHYwM92fyn_7___rustc11___rdl_alloc (;37;) (type 4) (param i32 i32) (result i32)
;;   local.get 0
;;   local.get 1
;;   call 2
;; )
;; (func $_RNvCsfgHYwM92fyn_7___rustc13___rdl_dealloc (;41;) (type 6) (param i32 i32 i32)
;;   local.get 0
;;   local.get 1
;;   local.get 2
;;   call 3
;; )
;; (func $_RNvCsfgHYwM92fyn_7___rustc13___rdl_realloc (;43;) (type 7) (param i32 i32 i32 i32) (result i32)
;;   local.get 0
;;   local.get 1
;;   local.get 2
;;   local.get 3
;;   call 4
;; )
;; (func $_RNvNtNtCs17uHzZLuHk4_3std2io5stdio6__print (;56;) (type 2) (param i32 i32)
;;   i32.const 1
;;   i32.const 1114112
;;   local.get 0
;;   local.get 1
;;   call $_RNvNtCslLj77CIRn4j_4core3fmt5write
;;   drop
;;   i32.const 1
;;   call 1
;; )
;; (func $gpu_run::fmt::write_str (;107;) (type 5) (param i32 i32 i32) (result i32)
;;   local.get 0
;;   local.get 1
;;   local.get 2
;;   call 0
;;   i32.const 0
;; )
;; (func $gpu_run::fmt::write_char (;108;) (type 4) (param i32 i32) (result i32)
;;   (local i32 i32)
;;   global.get $__stack_pointer
;;   local.set 2
;;   local.get 1
;;   i32.const 128
;;   i32.lt_u
;;   if ;; label = @1
;;     local.get 2
;;     i32.const 1
;;     i32.sub
;;     local.tee 2
;;     local.get 1
;;     i32.store8
;;   else
;;     i32.const 128
;;     local.set 3
;;     loop ;; label = @2
;;       local.get 2
;;       i32.const 1
;;       i32.sub
;;       local.tee 2
;;       local.get 1
;;       i32.const 63
;;       i32.and
;;       i32.const 128
;;       i32.or
;;       i32.store8
;;       local.get 1
;;       i32.const 6
;;       i32.shr_u
;;       local.set 1
;;       local.get 3
;;       i32.const 1
;;       i32.shr_u
;;       i32.const 128
;;       i32.or
;;       local.set 3
;;       local.get 1
;;       local.get 3
;;       i32.const 255
;;       i32.xor
;;       i32.const 1
;;       i32.shr_u
;;       i32.gt_u
;;       br_if 0 (;@2;)
;;     end
;;     local.get 2
;;     i32.const 1
;;     i32.sub
;;     local.tee 2
;;     local.get 1
;;     local.get 3
;;     i32.or
;;     i32.store8
;;   end
;;   local.get 0
;;   local.get 2
;;   global.get $__stack_pointer
;;   local.get 2
;;   i32.sub
;;   call 0
;;   i32.const 0
;; )
;; (func $gpu_run::fmt::write_fmt (;109;) (type 5) (param i32 i32 i32) (result i32)
;;   local.get 0
;;   i32.const 1114112
;;   local.get 1
;;   local.get 2
;;   call $_RNvNtCslLj77CIRn4j_4core3fmt5write
;; )
;; (func $gpu_run::panic::print_number (;110;) (type 2) (param i32 i32)
;;   (local i32)
;;   global.get $__stack_pointer
;;   local.set 2
;;   loop ;; label = @1
;;     local.get 2
;;     i32.const 1
;;     i32.sub
;;     local.tee 2
;;     local.get 0
;;     i32.const 10
;;     i32.rem_u
;;     i32.const 48
;;     i32.add
;;     i32.store8
;;     local.get 0
;;     i32.const 10
;;     i32.div_u
;;     local.tee 0
;;     br_if 0 (;@1;)
;;   end
;;   local.get 1
;;   local.get 2
;;   global.get $__stack_pointer
;;   local.get 2
;;   i32.sub
;;   call 0
;; )
;; (func $gpu_run::panic::print_location (;111;) (type 0)
;;   global.get $gpu_run::panic::location
;;   i32.eqz
;;   if ;; label = @1
;;     i32.const 2
;;     i32.const 1114136
;;     i32.const 18
;;     call 0
;;   else
;;     i32.const 2
;;     global.get $gpu_run::panic::location
;;     i32.load
;;     global.get $gpu_run::panic::location
;;     i32.load offset=4
;;     call 0
;;     i32.const 2
;;     i32.const 1114156
;;     i32.const 1
;;     call 0
;;     global.get $gpu_run::panic::location
;;     i32.load offset=8
;;     i32.const 2
;;     call $gpu_run::panic::print_number
;;     i32.const 2
;;     i32.const 1114160
;;     i32.const 1
;;     call 0
;;     global.get $gpu_run::panic::location
;;     i32.load offset=12
;;     i32.const 2
;;     call $gpu_run::panic::print_number
;;   end
;; )
;; (func $gpu_run::panic::default_hook (;112;) (type 1) (param i32)
;;   (local i32)
;;   global.get $__stack_pointer
;;   i32.const 16
;;   i32.sub
;;   local.tee 1
;;   global.set $__stack_pointer
;;   local.get 1
;;   global.get $gpu_run::panic::payload
;;   global.get $gpu_run::panic::vtable
;;   i32.load offset=20
;;   call_indirect (type 2)
;;   i32.const 2
;;   i32.const 1114164
;;   i32.const 9
;;   call 0
;;   call 7
;;   if ;; label = @1
;;     i32.const 2
;;     i32.const 1114176
;;     i32.const 9
;;     call 0
;;   else
;;     i32.const 2
;;     i32.const 1114188
;;     i32.const 4
;;     call 0
;;   end
;;   i32.const 2
;;   i32.const 1114192
;;   i32.const 3
;;   call 0
;;   call 7
;;   i32.const 2
;;   call $gpu_run::panic::print_number
;;   i32.const 2
;;   i32.const 1114196
;;   i32.const 14
;;   call 0
;;   call $gpu_run::panic::print_location
;;   i32.const 2
;;   i32.const 1114212
;;   i32.const 2
;;   call 0
;;   local.get 1
;;   global.get $gpu_run::panic::payload
;;   i32.store
;;   local.get 1
;;   global.get $gpu_run::panic::vtable
;;   i32.load offset=12
;;   i32.store offset=4
;;   i32.const 2
;;   i32.const 1114112
;;   i32.const 1114216
;;   local.get 1
;;   call $_RNvNtCslLj77CIRn4j_4core3fmt5write
;;   drop
;;   i32.const 2
;;   i32.const 1114220
;;   i32.const 1
;;   call 0
;;   local.get 0
;;   global.get $gpu_run::panic::state
;;   i32.const 2
;;   i32.and
;;   i32.or
;;   i32.eqz
;;   if ;; label = @1
;;     i32.const 2
;;     i32.const 1114224
;;     i32.const 78
;;     call 0
;;     global.get $gpu_run::panic::state
;;     i32.const 2
;;     i32.or
;;     global.set $gpu_run::panic::state
;;   end
;;   i32.const 2
;;   call 1
;;   local.get 1
;;   i32.const 16
;;   i32.add
;;   global.set $__stack_pointer
;; )
;; (func $gpu_run::panic::enter (;113;) (type 2) (param i32 i32)
;;   (local i32)
;;   local.get 0
;;   global.set $gpu_run::panic::payload
;;   local.get 1
;;   global.set $gpu_run::panic::vtable
;;   global.get $gpu_run::panic::state
;;   i32.const 1
;;   i32.and
;;   if ;; label = @1
;;     i32.const 2
;;     i32.const 1114304
;;     i32.const 12
;;     call 0
;;     call $gpu_run::panic::print_location
;;     i32.const 2
;;     i32.const 1114316
;;     i32.const 2
;;     call 0
;;     global.get $__stack_pointer
;;     i32.const 16
;;     i32.sub
;;     local.tee 2
;;     global.set $__stack_pointer
;;     local.get 2
;;     local.get 0
;;     local.get 1
;;     i32.load offset=24
;;     call_indirect (type 2)
;;     local.get 2
;;     i32.load
;;     if ;; label = @2
;;       i32.const 2
;;       local.get 2
;;       i32.load
;;       local.get 2
;;       i32.load offset=4
;;       call 0
;;     end
;;     i32.const 2
;;     i32.const 1114320
;;     i32.const 51
;;     call 0
;;     i32.const 2
;;     call 1
;;     unreachable
;;   end
;;   global.get $gpu_run::panic::state
;;   i32.const 1
;;   i32.or
;;   global.set $gpu_run::panic::state
;; )
;; (func $gpu_run::oom::print_number (;114;) (type 2) (param i32 i32)
;;   (local i32)
;;   global.get $__stack_pointer
;;   local.set 2
;;   loop ;; label = @1
;;     local.get 2
;;     i32.const 1
;;     i32.sub
;;     local.tee 2
;;     local.get 0
;;     i32.const 10
;;     i32.rem_u
;;     i32.const 48
;;     i32.add
;;     i32.store8
;;     local.get 0
;;     i32.const 10
;;     i32.div_u
;;     local.tee 0
;;     br_if 0 (;@1;)
;;   end
;;   local.get 1
;;   local.get 2
;;   global.get $__stack_pointer
;;   local.get 2
;;   i32.sub
;;   call 0
;; )
