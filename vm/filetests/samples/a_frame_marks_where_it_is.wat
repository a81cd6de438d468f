;; test ptx --samples --alone --only f0,f1
;; Of a run of which samples are taken, a frame writes its mark before a call and after it, and before a loop without calls and
;; after it, unless the next mark or the end is near. The callee has no mark of its own begin: the caller's tells it. Where
;; that goes is a parameter.
;; has: st.relaxed.gpu.global.b32

(module
  (func $callee (param $n i32) (result i32)
    (loop $again (br_if $again (local.tee $n (i32.shr_u (i32.add (local.get $n) (i32.const 3)) (i32.const 1)))))
    (i32.add (call $caller (i32.const 7)) (i32.const 5)))
  (func $caller (export "caller") (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (i32.const 1))))
    (i32.mul (call $callee (local.get $n)) (i32.const 3))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 row, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row, %next_row;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<13>;
;; 	.reg .b64 %l<7>;
;; 	.reg .pred %p<24>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b64 %row, [row];
;; 	ld.param.b32 %r0, [a0+0];
;; 	{
;; 	.reg .b32 %at, %last, %upper;
;; 	mov.b64 {%at, %upper}, %row;
;; 	or.b32 %last, %at, 15360;
;; 	add.u32 %at, %at, 512;
;; 	min.u32 %at, %at, %last;
;; 	mov.b64 %next_row, {%at, %upper};
;; 	}
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	bra IN0;
;; IN0:
;; 	mov.b32 %w2, 0;
;; 	add.u32 %w2, %w2, 2147483649;
;; 	st.relaxed.gpu.global.b32 [%row], %w2;
;; B0:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p3, %r0, 0;
;; 	@%p3 bra B0_1;
;; 	bra B1;
;; B0_1:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p4, %r0, 0;
;; 	@%p4 bra B0_2;
;; 	bra B1;
;; B0_2:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p5, %r0, 0;
;; 	@%p5 bra B0_3;
;; 	bra B1;
;; B0_3:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p6, %r0, 0;
;; 	@%p6 bra B0_4;
;; 	bra B1;
;; B0_4:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p7, %r0, 0;
;; 	@%p7 bra B0_5;
;; 	bra B1;
;; B0_5:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p8, %r0, 0;
;; 	@%p8 bra B0_6;
;; 	bra B1;
;; B0_6:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p9, %r0, 0;
;; 	@%p9 bra B0_7;
;; 	bra B1;
;; B0_7:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p10, %r0, 0;
;; 	@%p10 bra B0_8;
;; 	bra B1;
;; B0_8:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p11, %r0, 0;
;; 	@%p11 bra B0_9;
;; 	bra B1;
;; B0_9:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p12, %r0, 0;
;; 	@%p12 bra B0_10;
;; 	bra B1;
;; B0_10:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p13, %r0, 0;
;; 	@%p13 bra B0_11;
;; 	bra B1;
;; B0_11:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p14, %r0, 0;
;; 	@%p14 bra B0_12;
;; 	bra B1;
;; B0_12:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p15, %r0, 0;
;; 	@%p15 bra B0_13;
;; 	bra B1;
;; B0_13:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p16, %r0, 0;
;; 	@%p16 bra B0_14;
;; 	bra B1;
;; B0_14:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p17, %r0, 0;
;; 	@%p17 bra B0_15;
;; 	bra B1;
;; B0_15:
;; 	// i32.add_imm      r3, r0, 3
;; 	add.s32 %r3, 3, %r0;
;; 	// i32.shr_u_imm    r0, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r0, %r3, %xr3;
;; 	}
;; 	// br_if            r0, @1
;; 	setp.ne.u32 %p18, %r0, 0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p19, %budget, 0;
;; 	@%p19 bra POLL_36;
;; COUNTED_37:
;; 	@%p18 bra B0;
;; B1:
;; 	// const32          r3, 7
;; 	mov.b32 %r3, 0x7;
;; 	// call             r3, caller
;; 	setp.ge.u32 %p21, %depth, 64;
;; 	mad.wide.u32 %l3, %depth, 4, %local;
;; 	@%p21 bra UNUSUAL_39;
;; USUAL_40:
;; 	mov.b32 %w4, 0;
;; 	add.u32 %w4, %w4, 6;
;; 	st.local.b32 [%l3+72], %w4;
;; 	st.relaxed.gpu.global.b32 [%row], %w4;
;; 	st.local.b32 [%local+28], %budget;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %next_row;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; 	call (q), f1, (q0, q1, q2, q3, p0);
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_41:
;; 	setp.ge.u32 %p23, %depth, 64;
;; 	@%p23 bra PUT_BACK_44;
;; IS_BACK_45:
;; 	ld.local.b32 %budget, [%local+28];
;; CALLED_43:
;; 	// i32.add_imm      r3, r3, 5
;; 	add.s32 %r3, 5, %r3;
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; POLL_1:
;; 	ld.local.b64 %l1, [%local+0];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l1+284];
;; 	setp.ne.u32 %p2, %w1, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p2 bra GO_ON_3;
;; 	mov.b32 %trap_pc, 0;
;; 	bra STOP;
;; GO_ON_3:
;; 	bra COUNTED_2;
;; POLL_36:
;; 	ld.local.b64 %l2, [%local+0];
;; 	ld.relaxed.gpu.global.b32 %w3, [%l2+284];
;; 	setp.ne.u32 %p20, %w3, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p20 bra GO_ON_38;
;; 	mov.b32 %trap_pc, 1;
;; 	bra STOP;
;; GO_ON_38:
;; 	bra COUNTED_37;
;; TRAP_42:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_39:
;; 	and.b32 %w6, %depth, 63;
;; 	mad.wide.u32 %l3, %w6, 4, %local;
;; 	ld.local.b32 %w7, [%l3+72];
;; 	st.local.b32 [outer_call], %w7;
;; 	sub.u32 %w8, %depth, 65;
;; 	setp.lt.u32 %p22, %w8, 16;
;; 	@%p22 st.local.b32 [%l3+324], %w7;
;; 	bra USUAL_40;
;; PUT_BACK_44:
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l4, %w10, 4, %local;
;; 	ld.local.b32 %w9, [outer_call];
;; 	st.local.b32 [%l4+72], %w9;
;; 	bra IS_BACK_45;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	mov.b32 %w11, 0;
;; 	add.u32 %trap_pc, %trap_pc, %w11;
;; 	cvta.local.u64 %l5, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l5;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; TRAP:
;; 	mov.b32 %w12, 0;
;; 	add.u32 %trap_pc, %trap_pc, %w12;
;; 	cvta.local.u64 %l6, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l6;
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
;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 row, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row, %next_row;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<14>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<7>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b64 %row, [row];
;; 	ld.param.b32 %r0, [a0+0];
;; 	{
;; 	.reg .b32 %at, %last, %upper;
;; 	mov.b64 {%at, %upper}, %row;
;; 	or.b32 %last, %at, 15360;
;; 	add.u32 %at, %at, 512;
;; 	min.u32 %at, %at, %last;
;; 	mov.b64 %next_row, {%at, %upper};
;; 	}
;; 	add.u32 %deeper, %depth, 1;
;; 	mov.b32 %w1, 8;
;; 	add.u32 %w1, %w1, 2147483649;
;; 	st.relaxed.gpu.global.b32 [%row], %w1;
;; B0:
;; 	// br_i32.ne_imm    r0, 0, @12
;; 	setp.ne.b32 %p1, %r0, 0;
;; 	@%p1 bra B2;
;; B1:
;; 	// const32          r3, 1
;; 	mov.b32 %r3, 0x1;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, callee
;; 	stacksave.u32 %w2;
;; 	ld.local.v2.b32 {%w3, %w4}, [%local+32];
;; 	add.u32 %w3, %w3, 720;
;; 	setp.lt.u32 %p3, %w2, %w3;
;; 	setp.ge.or.u32 %p2, %depth, %w4, %p3;
;; 	mad.wide.u32 %l1, %depth, 4, %local;
;; 	@%p2 bra UNUSUAL_2;
;; USUAL_3:
;; 	mov.b32 %w5, 8;
;; 	add.u32 %w5, %w5, 6;
;; 	st.local.b32 [%l1+72], %w5;
;; 	st.relaxed.gpu.global.b32 [%row], %w5;
;; 	ld.global.b64 %l2, [again0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %next_row;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; TYPE_6: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1, q2, q3, p0), TYPE_6;
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_4:
;; 	setp.ge.u32 %p6, %depth, 64;
;; 	@%p6 bra PUT_BACK_8;
;; IS_BACK_9:
;; CALLED_7:
;; 	// i32.mul_imm      r3, r3, 3
;; 	mul.lo.s32 %r3, 3, %r3;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_2:
;; 	ld.local.b32 %w7, [%local+840];
;; 	setp.ge.or.u32 %p4, %depth, %w7, %p3;
;; 	@%p4 bra TRAP_5;
;; 	and.b32 %w8, %depth, 63;
;; 	mad.wide.u32 %l1, %w8, 4, %local;
;; 	ld.local.b32 %w9, [%l1+72];
;; 	st.local.b32 [outer_call], %w9;
;; 	sub.u32 %w10, %depth, 65;
;; 	setp.lt.u32 %p5, %w10, 16;
;; 	@%p5 st.local.b32 [%l1+324], %w9;
;; 	bra USUAL_3;
;; PUT_BACK_8:
;; 	and.b32 %w12, %depth, 63;
;; 	mad.wide.u32 %l3, %w12, 4, %local;
;; 	ld.local.b32 %w11, [outer_call];
;; 	st.local.b32 [%l3+72], %w11;
;; 	bra IS_BACK_9;
;; TRAP:
;; 	mov.b32 %w13, 8;
;; 	add.u32 %trap_pc, %trap_pc, %w13;
;; 	cvta.local.u64 %l4, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
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
