;; test ptx
;; A trap leaves the path: the code that reports it stands after the function's.
;; has: bra TRAP_
;; has: call gpu_run_trap

(module
  (func (export "quotient") (param i64 i64) (result i64)
    (i64.div_u (local.get 0) (local.get 1))))

;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 a0, .param .b64 a1);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // quotient
;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 a0, .param .b64 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<14>;
;; 	.reg .b64 %d<14>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b64 %d0, [a0];
;; 	ld.param.b64 %d2, [a1];
;; B0:
;; 	// i64.div_u        r6, r0, r2
;; 	{
;; 	.reg .pred %xp<3>;
;; 	.reg .b32 %xr<5>;
;; 	.reg .b64 %xrd<6>;
;; 	setp.eq.b64 %xp1, %d2, 0;
;; 	mov.b64 %xrd5, 0;
;; 	mov.b32 %xr4, 7;
;; 	@%xp1 bra $x1_0;
;; 	or.b64 %xrd3, %d0, %d2;
;; 	and.b64 %xrd4, %xrd3, -4294967296;
;; 	setp.ne.b64 %xp2, %xrd4, 0;
;; 	@%xp2 bra $x1_1;
;; 	bra.uni $x1_2;
;; $x1_1:
;; 	div.u64 %xrd5, %d0, %d2;
;; 	mov.b32 %xr4, 0;
;; 	bra.uni $x1_0;
;; $x1_2:
;; 	cvt.u32.u64 %xr1, %d2;
;; 	cvt.u32.u64 %xr2, %d0;
;; 	div.u32 %xr3, %xr2, %xr1;
;; 	cvt.u64.u32 %xrd5, %xr3;
;; 	mov.b32 %xr4, 0;
;; $x1_0:
;; 	mov.b32 %w1, %xr4;
;; 	mov.b64 %d6, %xrd5;
;; $x1_end:
;; 	}
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	@%p1 bra TRAP_2;
;; 	// return           header 4, r6, x2
;; 	st.param.b64 [ret+0], %d6;
;; 	ret;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 1;
;; 	mov.b32 %trap_kind, %w1;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w2;
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
