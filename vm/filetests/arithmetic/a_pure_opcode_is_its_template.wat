;; test ptx
;; A pure opcode is its template, with the operands' registers in it.
;; has: add.s32 %r4, %r1, %r0;
;; lacks: TRAP

(module
  (func (export "sum") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;;
;; // sum
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; B0:
;; 	// i32.add          r4, r0, r1
;; 	add.s32 %r4, %r1, %r0;
;; 	// return           header 2, r4, x1
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
