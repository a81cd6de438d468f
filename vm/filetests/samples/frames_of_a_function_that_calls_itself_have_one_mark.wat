;; test ptx --samples --alone --only f1
;; A function that calls itself finds where it marks in the context, not in a register, which each of its frames would save. Its
;; calls of itself mark nothing. After another call it marks itself though its end is near: the frame that goes on then may
;; have more to do.
;; has: ld.local.b64
;; lacks: ld.param.b64 %row

(module
  (func $leaf (param $n i32) (result i32)
    (i32.clz (local.get $n)))
  (func $tree (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (call $leaf (local.get $n)))))
    (i32.add
      (call $tree (i32.shr_u (local.get $n) (i32.const 1)))
      (call $tree (i32.shr_u (local.get $n) (i32.const 2)))))
  (func (export "f") (param i32) (result i32)
    (call $tree (local.get 0))))

;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 row, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row, %next_row;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<34>;
;; 	.reg .b64 %l<16>;
;; 	.reg .pred %p<17>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_i32.ne_imm    r0, 0, @8
;; 	setp.ne.b32 %p3, %r0, 0;
;; 	@%p3 bra B2;
;; B1:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, leaf
;; 	setp.ge.u32 %p4, %depth, 64;
;; 	mad.wide.u32 %l2, %depth, 4, %local;
;; 	@%p4 bra UNUSUAL_5;
;; USUAL_6:
;; 	mov.b32 %w2, 3;
;; 	add.u32 %w2, %w2, 4;
;; 	st.local.b32 [%l2+72], %w2;
;; 	ld.local.b64 %l3, [%local+904];
;; 	st.relaxed.gpu.global.b32 [%l3], %w2;
;; 	ld.local.b64 %l4, [%local+904];
;; 	{
;; 	.reg .b32 %at, %last, %upper;
;; 	mov.b64 {%at, %upper}, %l4;
;; 	or.b32 %last, %at, 15360;
;; 	add.u32 %at, %at, 512;
;; 	min.u32 %at, %at, %last;
;; 	mov.b64 %l5, {%at, %upper};
;; 	}
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %l5;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; 	call (q), f0, (q0, q1, q2, q3, p0);
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_7:
;; 	mov.b32 %w7, 3;
;; 	add.u32 %w7, %w7, 2147483652;
;; 	ld.local.b64 %l6, [%local+904];
;; 	st.relaxed.gpu.global.b32 [%l6], %w7;
;; 	setp.ge.u32 %p6, %depth, 64;
;; 	@%p6 bra PUT_BACK_10;
;; IS_BACK_11:
;; CALLED_9:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// i32.shr_u_imm    r3, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r3, %r0, %xr3;
;; 	}
;; 	// call             r3, tree
;; 	stacksave.u32 %w10;
;; 	ld.local.v2.b32 {%w11, %w12}, [%local+32];
;; 	add.u32 %w11, %w11, 720;
;; 	setp.lt.u32 %p8, %w10, %w11;
;; 	setp.ge.or.u32 %p7, %depth, %w12, %p8;
;; 	mad.wide.u32 %l8, %depth, 4, %local;
;; 	@%p7 bra UNUSUAL_13;
;; USUAL_14:
;; 	mov.b32 %w13, 3;
;; 	add.u32 %w13, %w13, 7;
;; 	st.local.b32 [%l8+72], %w13;
;; 	ld.global.b64 %l9, [again1];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; TYPE_17: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b32 _);
;; 	call (q), %l9, (q0, q1, q2, q3, p0), TYPE_17;
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_15:
;; 	setp.ge.u32 %p11, %depth, 64;
;; 	@%p11 bra PUT_BACK_19;
;; IS_BACK_20:
;; CALLED_18:
;; 	// i32.shr_u_imm    r4, r0, 2
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 2, 31;
;; 	shr.u32 %r4, %r0, %xr3;
;; 	}
;; 	// call             r4, tree
;; 	stacksave.u32 %w21;
;; 	ld.local.v2.b32 {%w22, %w23}, [%local+32];
;; 	add.u32 %w22, %w22, 720;
;; 	setp.lt.u32 %p13, %w21, %w22;
;; 	setp.ge.or.u32 %p12, %depth, %w23, %p13;
;; 	mad.wide.u32 %l11, %depth, 4, %local;
;; 	@%p12 bra UNUSUAL_22;
;; USUAL_23:
;; 	mov.b32 %w24, 3;
;; 	add.u32 %w24, %w24, 9;
;; 	st.local.b32 [%l11+72], %w24;
;; 	ld.global.b64 %l12, [again1];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_26: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b32 _);
;; 	call (q), %l12, (q0, q1, q2, q3, p0), TYPE_26;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CAME_BACK_24:
;; 	setp.ge.u32 %p16, %depth, 64;
;; 	@%p16 bra PUT_BACK_28;
;; IS_BACK_29:
;; CALLED_27:
;; 	// i32.add          r3, r3, r4
;; 	add.s32 %r3, %r4, %r3;
;; 	// return           header 1, r3, x1
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
;; TRAP_8:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_5:
;; 	and.b32 %w4, %depth, 63;
;; 	mad.wide.u32 %l2, %w4, 4, %local;
;; 	ld.local.b32 %w5, [%l2+72];
;; 	st.local.b32 [outer_call], %w5;
;; 	sub.u32 %w6, %depth, 65;
;; 	setp.lt.u32 %p5, %w6, 16;
;; 	@%p5 st.local.b32 [%l2+324], %w5;
;; 	bra USUAL_6;
;; PUT_BACK_10:
;; 	and.b32 %w9, %depth, 63;
;; 	mad.wide.u32 %l7, %w9, 4, %local;
;; 	ld.local.b32 %w8, [outer_call];
;; 	st.local.b32 [%l7+72], %w8;
;; 	bra IS_BACK_11;
;; TRAP_16:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_13:
;; 	ld.local.b32 %w15, [%local+840];
;; 	setp.ge.or.u32 %p9, %depth, %w15, %p8;
;; 	@%p9 bra TRAP_16;
;; 	and.b32 %w16, %depth, 63;
;; 	mad.wide.u32 %l8, %w16, 4, %local;
;; 	ld.local.b32 %w17, [%l8+72];
;; 	st.local.b32 [outer_call], %w17;
;; 	sub.u32 %w18, %depth, 65;
;; 	setp.lt.u32 %p10, %w18, 16;
;; 	@%p10 st.local.b32 [%l8+324], %w17;
;; 	bra USUAL_14;
;; PUT_BACK_19:
;; 	and.b32 %w20, %depth, 63;
;; 	mad.wide.u32 %l10, %w20, 4, %local;
;; 	ld.local.b32 %w19, [outer_call];
;; 	st.local.b32 [%l10+72], %w19;
;; 	bra IS_BACK_20;
;; TRAP_25:
;; 	mov.b32 %trap_pc, 8;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_22:
;; 	ld.local.b32 %w26, [%local+840];
;; 	setp.ge.or.u32 %p14, %depth, %w26, %p13;
;; 	@%p14 bra TRAP_25;
;; 	and.b32 %w27, %depth, 63;
;; 	mad.wide.u32 %l11, %w27, 4, %local;
;; 	ld.local.b32 %w28, [%l11+72];
;; 	st.local.b32 [outer_call], %w28;
;; 	sub.u32 %w29, %depth, 65;
;; 	setp.lt.u32 %p15, %w29, 16;
;; 	@%p15 st.local.b32 [%l11+324], %w28;
;; 	bra USUAL_23;
;; PUT_BACK_28:
;; 	and.b32 %w31, %depth, 63;
;; 	mad.wide.u32 %l13, %w31, 4, %local;
;; 	ld.local.b32 %w30, [outer_call];
;; 	st.local.b32 [%l13+72], %w30;
;; 	bra IS_BACK_29;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	mov.b32 %w32, 3;
;; 	add.u32 %trap_pc, %trap_pc, %w32;
;; 	cvta.local.u64 %l14, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l14;
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
;; 	mov.b32 %w33, 3;
;; 	add.u32 %trap_pc, %trap_pc, %w33;
;; 	cvta.local.u64 %l15, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l15;
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
