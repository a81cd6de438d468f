;; test ptx --reconverge --only f1
;; The call of f0 cannot lead to f1 anew, so those that make it together meet after it. Those that call f1 do not.
;; has: bar.warp.sync

(module
  (func $step (export "step") (param $x i32) (result i32)
    (i32.div_u (i32.const 1000) (local.get $x)))
  (func $down (export "down") (param $x i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $x) (i32.const 3))
      (then (i32.const 1))
      (else (i32.add (call $step (local.get $x)) (call $down (i32.sub (local.get $x) (i32.const 2))))))))

;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<23>;
;; 	.reg .b64 %l<8>;
;; 	.reg .pred %p<11>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_i32.gt_u_imm  r0, 2, @8
;; 	setp.gt.u32 %p2, %r0, 2;
;; 	@%p2 bra B2;
;; B1:
;; 	// const32          r3, 1
;; 	mov.b32 %r3, 0x1;
;; 	// jump             @13
;; 	bra B3;
;; B2:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, step
;; 	setp.ge.u32 %p3, %depth, 64;
;; 	mad.wide.u32 %l2, %depth, 4, %local;
;; 	@%p3 bra UNUSUAL_4;
;; USUAL_5:
;; 	ld.const.b32 %w2, [starts+4];
;; 	add.u32 %w2, %w2, 6;
;; 	st.local.b32 [%l2+72], %w2;
;; 	activemask.b32 %w4;
;; 	mov.u32 %w5, %lanemask_eq;
;; 	or.b32 %w4, %w4, %w5;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_6:
;; 	bar.warp.sync %w4;
;; 	setp.ge.u32 %p5, %depth, 64;
;; 	@%p5 bra PUT_BACK_9;
;; IS_BACK_10:
;; CALLED_8:
;; 	// i32.add_imm      r4, r0, -2
;; 	add.s32 %r4, -2, %r0;
;; 	// call             r4, down
;; 	stacksave.u32 %w11;
;; 	ld.local.v2.b32 {%w12, %w13}, [%local+32];
;; 	add.u32 %w12, %w12, 728;
;; 	setp.lt.u32 %p7, %w11, %w12;
;; 	setp.ge.or.u32 %p6, %depth, %w13, %p7;
;; 	mad.wide.u32 %l4, %depth, 4, %local;
;; 	@%p6 bra UNUSUAL_12;
;; USUAL_13:
;; 	ld.const.b32 %w14, [starts+4];
;; 	add.u32 %w14, %w14, 8;
;; 	st.local.b32 [%l4+72], %w14;
;; 	ld.global.b64 %l5, [again1];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_16: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l5, (q0, q1, q2, p0), TYPE_16;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CAME_BACK_14:
;; 	setp.ge.u32 %p10, %depth, 64;
;; 	@%p10 bra PUT_BACK_18;
;; IS_BACK_19:
;; CALLED_17:
;; 	// i32.add          r3, r3, r4
;; 	add.s32 %r3, %r4, %r3;
;; B3:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; POLL_1:
;; 	ld.const.b32 %w1, [starts+4];
;; 	add.u32 %w1, %w1, 0;
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w1;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_2;
;; TRAP_7:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_4:
;; 	and.b32 %w6, %depth, 63;
;; 	mad.wide.u32 %l2, %w6, 4, %local;
;; 	ld.local.b32 %w7, [%l2+72];
;; 	st.local.b32 [outer_call], %w7;
;; 	sub.u32 %w8, %depth, 65;
;; 	setp.lt.u32 %p4, %w8, 16;
;; 	@%p4 st.local.b32 [%l2+324], %w7;
;; 	bra USUAL_5;
;; PUT_BACK_9:
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l3, %w10, 4, %local;
;; 	ld.local.b32 %w9, [outer_call];
;; 	st.local.b32 [%l3+72], %w9;
;; 	bra IS_BACK_10;
;; TRAP_15:
;; 	mov.b32 %trap_pc, 7;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_12:
;; 	ld.local.b32 %w16, [%local+840];
;; 	setp.ge.or.u32 %p8, %depth, %w16, %p7;
;; 	@%p8 bra TRAP_15;
;; 	and.b32 %w17, %depth, 63;
;; 	mad.wide.u32 %l4, %w17, 4, %local;
;; 	ld.local.b32 %w18, [%l4+72];
;; 	st.local.b32 [outer_call], %w18;
;; 	sub.u32 %w19, %depth, 65;
;; 	setp.lt.u32 %p9, %w19, 16;
;; 	@%p9 st.local.b32 [%l4+324], %w18;
;; 	bra USUAL_13;
;; PUT_BACK_18:
;; 	and.b32 %w21, %depth, 63;
;; 	mad.wide.u32 %l6, %w21, 4, %local;
;; 	ld.local.b32 %w20, [outer_call];
;; 	st.local.b32 [%l6+72], %w20;
;; 	bra IS_BACK_19;
;; TRAP:
;; 	ld.const.b32 %w22, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w22;
;; 	cvta.local.u64 %l7, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l7;
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
