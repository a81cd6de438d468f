;; test ptx --reconverge --only f1
;; A pass begins at B0: the lanes that make it are noted. Both ways to the next pass, and both ways out, lead to MEET0, where
;; they wait for each other. One way out returns. Those that came in together by IN0 meet at LEFT0 before they go out. Those
;; that call f0 together meet after it.

(module
  (func $step (export "step") (param $x i32) (result i32)
    (i32.div_u (i32.const 1000) (local.get $x)))
  (func (export "steps") (param $x i32) (result i32)
    (loop $next
      (if (i32.gt_u (local.get $x) (i32.const 100)) (then (return (i32.const -1))))
      (local.set $x (call $step (local.get $x)))
      (br_if $next (i32.and (local.get $x) (i32.const 1)))
      (local.set $x (i32.add (local.get $x) (i32.const 3)))
      (br_if $next (i32.and (local.get $x) (i32.const 2))))
    (local.get $x)))

;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<17>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<10>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; IN0:
;; 	activemask.b32 %w1;
;; 	mov.u32 %w4, %lanemask_eq;
;; 	or.b32 %w1, %w1, %w4;
;; B0:
;; 	activemask.b32 %w2;
;; 	mov.u32 %w5, %lanemask_eq;
;; 	or.b32 %w2, %w2, %w5;
;; 	// br_i32.lt_u_imm  r0, 101, @8
;; 	setp.lt.u32 %p1, %r0, 101;
;; 	@%p1 bra B2;
;; 	bra OUT0_1;
;; B1:
;; 	// const32          r3, -1
;; 	mov.b32 %r3, 0xffffffff;
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, step
;; 	setp.ge.u32 %p2, %depth, 64;
;; 	mad.wide.u32 %l1, %depth, 4, %local;
;; 	@%p2 bra UNUSUAL_2;
;; USUAL_3:
;; 	ld.const.b32 %w6, [starts+4];
;; 	add.u32 %w6, %w6, 6;
;; 	st.local.b32 [%l1+72], %w6;
;; 	activemask.b32 %w8;
;; 	mov.u32 %w9, %lanemask_eq;
;; 	or.b32 %w8, %w8, %w9;
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
;; CAME_BACK_4:
;; 	bar.warp.sync %w8;
;; 	setp.ge.u32 %p4, %depth, 64;
;; 	@%p4 bra PUT_BACK_7;
;; IS_BACK_8:
;; CALLED_6:
;; 	// copy32           r0, r3
;; 	mov.b32 %r0, %r3;
;; 	// br_bits_imm      r0, 1, @5
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, %r0;
;; 	setp.ne.b32 %p5, %xr3, 0;
;; 	}
;; 	@%p5 bra PASS0;
;; B3:
;; 	// i32.add_imm      r0, r0, 3
;; 	add.s32 %r0, 3, %r0;
;; 	// br_bits_imm      r0, 2, @5
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 2, %r0;
;; 	setp.ne.b32 %p6, %xr3, 0;
;; 	}
;; 	@%p6 bra PASS0;
;; 	bra OUT0_2;
;; B4:
;; 	// return           header 1, r0, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r0;
;; 	ret;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_2:
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l1, %w10, 4, %local;
;; 	ld.local.b32 %w11, [%l1+72];
;; 	st.local.b32 [outer_call], %w11;
;; 	sub.u32 %w12, %depth, 65;
;; 	setp.lt.u32 %p3, %w12, 16;
;; 	@%p3 st.local.b32 [%l1+324], %w11;
;; 	bra USUAL_3;
;; PUT_BACK_7:
;; 	and.b32 %w14, %depth, 63;
;; 	mad.wide.u32 %l2, %w14, 4, %local;
;; 	ld.local.b32 %w13, [outer_call];
;; 	st.local.b32 [%l2+72], %w13;
;; 	bra IS_BACK_8;
;; OUT0_1:
;; 	mov.b32 %w3, 1;
;; 	bra MEET0;
;; OUT0_2:
;; 	mov.b32 %w3, 2;
;; 	bra MEET0;
;; PASS0:
;; 	mov.b32 %w3, 0;
;; MEET0:
;; 	bar.warp.sync %w2;
;; 	setp.ne.u32 %p7, %w3, 0;
;; 	@%p7 bra LEFT0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p8, %budget, 0;
;; 	@%p8 bra POLL_12;
;; COUNTED_13:
;; 	bra OVER_14;
;; POLL_12:
;; 	ld.const.b32 %w15, [starts+4];
;; 	add.u32 %w15, %w15, 1;
;; 	cvta.local.u64 %l3, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l3;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w15;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_13;
;; OVER_14:
;; 	bra B0;
;; LEFT0:
;; 	bar.warp.sync %w1;
;; 	setp.eq.u32 %p9, %w3, 1;
;; 	@%p9 bra EXIT0_1;
;; 	bra EXIT0_2;
;; EXIT0_1:
;; 	bra B1;
;; EXIT0_2:
;; 	bra B4;
;; TRAP:
;; 	ld.const.b32 %w16, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w16;
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
