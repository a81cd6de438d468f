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

;; .func (.param .align 16 .b8 ret[4]) f1(.param .b64 ctx, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %ctx, %local, %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<13>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<8>;
;; 	ld.param.b64 %ctx, [ctx];
;; 	cvta.to.local.u64 %local, %ctx;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.relaxed.gpu.global.b32 %size, [%size_at+8];
;; 	ld.local.b32 %budget, [%local+36];
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
;; 	st.local.b32 [%local+36], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, step
;; 	and.b32 %w6, %depth, 63;
;; 	mad.wide.u32 %l1, %w6, 4, %local;
;; 	ld.local.b32 %w7, [%l1+72];
;; 	sub.u32 %w8, %depth, 65;
;; 	setp.lt.u32 %p2, %w8, 16;
;; 	@%p2 st.local.b32 [%l1+324], %w7;
;; 	mov.b32 %w9, 10;
;; 	st.local.b32 [%l1+72], %w9;
;; 	activemask.b32 %w11;
;; 	mov.u32 %w12, %lanemask_eq;
;; 	or.b32 %w11, %w11, %w12;
;; 	{
;; 	.param .b64 q0; st.param.b64 [q0], %ctx;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; 	bar.warp.sync %w11;
;; 	st.local.b32 [%l1+72], %w7;
;; CALLED_2:
;; 	// copy32           r0, r3
;; 	mov.b32 %r0, %r3;
;; 	// br_bits_imm      r0, 1, @5
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, %r0;
;; 	setp.ne.b32 %p3, %xr3, 0;
;; 	}
;; 	@%p3 bra PASS0;
;; B3:
;; 	// i32.add_imm      r0, r0, 3
;; 	add.s32 %r0, 3, %r0;
;; 	// br_bits_imm      r0, 2, @5
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 2, %r0;
;; 	setp.ne.b32 %p4, %xr3, 0;
;; 	}
;; 	@%p4 bra PASS0;
;; 	bra OUT0_2;
;; B4:
;; 	// return           header 1, r0, x1
;; 	st.local.b32 [%local+36], %budget;
;; 	st.param.b32 [ret+0], %r0;
;; 	ret;
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
;; 	setp.ne.u32 %p5, %w3, 0;
;; 	@%p5 bra LEFT0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p6, %budget, 0;
;; 	@%p6 bra POLL_6;
;; COUNTED_7:
;; 	bra OVER_8;
;; POLL_6:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %ctx;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], 5;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_7;
;; OVER_8:
;; 	bra B0;
;; LEFT0:
;; 	bar.warp.sync %w1;
;; 	setp.eq.u32 %p7, %w3, 1;
;; 	@%p7 bra EXIT0_1;
;; 	bra EXIT0_2;
;; EXIT0_1:
;; 	bra B1;
;; EXIT0_2:
;; 	bra B4;
;; }
