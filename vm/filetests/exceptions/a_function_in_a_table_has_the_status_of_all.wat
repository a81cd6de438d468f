;; test ptx --alone --only f0
;; A function that can be called through a table has a status where another one there may throw, though it never throws
;; itself.
;; has: st.param.b32 [ret], 0;

(module
  (tag $e)
  (table funcref (elem $quiet $throws))
  (func $quiet)
  (func $throws (throw $e))
  (func $caller (call $quiet))
  (func (export "f") (call $caller) (call_indirect (i32.const 0))))

;; .func (.param .align 16 .b8 ret[16]) f0(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<6>;
;; 	.reg .b64 %d<6>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; B0:
;; 	// return           header 0, r0, x0
;; 	st.param.b32 [ret], 0;
;; 	ret;
;; }
