;; test ptx
;; A small loop is written out several times. Only the last copy counts towards a look at the stop flag, which stands
;; after the function.
;; has: bra POLL_

(module
  (func (export "sum_of_squares") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.mul (local.get $n) (local.get $n))))
      (local.set $n (i32.div_u (i32.shl (local.get $n) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $n)))
    (local.get $sum)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // sum_of_squares
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<9>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<14>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; B1:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x3_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x3_0:
;; 	mov.b32 %w1, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x3_end:
;; 	}
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	@%p1 bra TRAP_4;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p2, %r0, 0;
;; 	@%p2 bra B1_1;
;; 	bra B2;
;; B1_1:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x7_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x7_0:
;; 	mov.b32 %w2, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x7_end:
;; 	}
;; 	setp.ne.u32 %p3, %w2, 0;
;; 	@%p3 bra TRAP_8;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p4, %r0, 0;
;; 	@%p4 bra B1_2;
;; 	bra B2;
;; B1_2:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x11_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x11_0:
;; 	mov.b32 %w3, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x11_end:
;; 	}
;; 	setp.ne.u32 %p5, %w3, 0;
;; 	@%p5 bra TRAP_12;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p6, %r0, 0;
;; 	@%p6 bra B1_3;
;; 	bra B2;
;; B1_3:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x15_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x15_0:
;; 	mov.b32 %w4, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x15_end:
;; 	}
;; 	setp.ne.u32 %p7, %w4, 0;
;; 	@%p7 bra TRAP_16;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p8, %r0, 0;
;; 	@%p8 bra B1_4;
;; 	bra B2;
;; B1_4:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x19_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x19_0:
;; 	mov.b32 %w5, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x19_end:
;; 	}
;; 	setp.ne.u32 %p9, %w5, 0;
;; 	@%p9 bra TRAP_20;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p10, %r0, 0;
;; 	@%p10 bra B1_5;
;; 	bra B2;
;; B1_5:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// i32.shl_imm      r4, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 3
;; 	mov.b32 %r5, 0x3;
;; 	// i32.div_u        r0, r4, r5
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r5, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x23_0;
;; 	div.u32 %xr4, %r4, %r5;
;; 	mov.b32 %xr3, 0;
;; $x23_0:
;; 	mov.b32 %w6, %xr3;
;; 	mov.b32 %r0, %xr4;
;; $x23_end:
;; 	}
;; 	setp.ne.u32 %p11, %w6, 0;
;; 	@%p11 bra TRAP_24;
;; 	// br_if            r0, @2
;; 	setp.ne.u32 %p12, %r0, 0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p13, %budget, 0;
;; 	@%p13 bra POLL_25;
;; COUNTED_26:
;; 	@%p12 bra B1;
;; B2:
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w1;
;; 	bra TRAP;
;; TRAP_8:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w2;
;; 	bra TRAP;
;; TRAP_12:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w3;
;; 	bra TRAP;
;; TRAP_16:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w4;
;; 	bra TRAP;
;; TRAP_20:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w5;
;; 	bra TRAP;
;; TRAP_24:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, %w6;
;; 	bra TRAP;
;; POLL_25:
;; 	ld.const.b32 %w7, [starts+0];
;; 	add.u32 %w7, %w7, 2;
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w7;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_26;
;; TRAP:
;; 	ld.const.b32 %w8, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w8;
;; 	cvta.local.u64 %l2, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
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
