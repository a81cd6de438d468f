;; test ptx
;; A divisor that is a constant in a register is not known to be other than 0: the template's check stays.
;; has: setp.eq.b32 %xp1, %xa1, 0;

(module
  (func (export "average") (param i32 i32) (result i32)
    (i32.div_s (i32.add (local.get 0) (local.get 1)) (i32.const 2))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // average
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; B0:
;; 	// i32.add          r4, r0, r1
;; 	add.s32 %r4, %r1, %r0;
;; 	// const32          r5, 2
;; 	mov.b32 %r5, 0x2;
;; 	// i32.div_s        r4, r4, r5
;; 	{
;; 	.reg .pred %xp<5>;
;; 	.reg .b32 %xr<5>;
;; 	.reg .b32 %xa0; mov.b32 %xa0, %r4;
;; 	.reg .b32 %xa1; mov.b32 %xa1, %r5;
;; 	setp.eq.b32 %xp1, %xa1, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x2_0;
;; 	setp.eq.b32 %xp2, %xa1, -1;
;; 	setp.eq.b32 %xp3, %xa0, -2147483648;
;; 	and.pred %xp4, %xp3, %xp2;
;; 	mov.b32 %xr3, 8;
;; 	@%xp4 bra $x2_0;
;; 	div.s32 %xr4, %xa0, %xa1;
;; 	mov.b32 %xr3, 0;
;; $x2_0:
;; 	mov.b32 %w1, %xr3;
;; 	mov.b32 %r4, %xr4;
;; $x2_end:
;; 	}
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	@%p1 bra TRAP_3;
;; 	// return           header 2, r4, x1
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; TRAP_3:
;; 	mov.b32 %trap_pc, 3;
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
