;; test ptx
;; A call passes the context, the depth and memory's size, and leaves its address for backtraces. One that may come
;; back to its caller compares both stacks with their limits.
;; has: stacksave.u32

(module
  (func $fib (export "fib") (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else
        (i32.add
          (call $fib (i32.sub (local.get $n) (i32.const 1)))
          (call $fib (i32.sub (local.get $n) (i32.const 2))))))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;; .visible .global .align 8 .u64 again0[1] = {f0};
;;
;; // fib
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<25>;
;; 	.reg .b64 %l<9>;
;; 	.reg .pred %p<13>;
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
;; 	// br_i32.gt_u_imm  r0, 1, @4
;; 	setp.gt.u32 %p2, %r0, 1;
;; 	@%p2 bra B2;
;; B1:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// jump             @9
;; 	bra B3;
;; B2:
;; 	// i32.add_imm      r3, r0, -1
;; 	add.s32 %r3, -1, %r0;
;; 	// call             r3, fib
;; 	stacksave.u32 %w2;
;; 	ld.local.v2.b32 {%w3, %w4}, [%local+32];
;; 	setp.lt.u32 %p4, %w2, %w3;
;; 	setp.ge.or.u32 %p3, %depth, %w4, %p4;
;; 	mad.wide.u32 %l2, %depth, 4, %local;
;; 	@%p3 bra UNUSUAL_5;
;; USUAL_6:
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %w5, %w5, 6;
;; 	st.local.b32 [%l2+72], %w5;
;; 	ld.global.b64 %l3, [again0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; TYPE_9: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l3, (q0, q1, q2, p0), TYPE_9;
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; CAME_BACK_7:
;; 	setp.ge.u32 %p7, %depth, 64;
;; 	@%p7 bra PUT_BACK_11;
;; IS_BACK_12:
;; CALLED_10:
;; 	// i32.add_imm      r4, r0, -2
;; 	add.s32 %r4, -2, %r0;
;; 	// call             r4, fib
;; 	stacksave.u32 %w13;
;; 	ld.local.v2.b32 {%w14, %w15}, [%local+32];
;; 	setp.lt.u32 %p9, %w13, %w14;
;; 	setp.ge.or.u32 %p8, %depth, %w15, %p9;
;; 	mad.wide.u32 %l5, %depth, 4, %local;
;; 	@%p8 bra UNUSUAL_14;
;; USUAL_15:
;; 	ld.const.b32 %w16, [starts+0];
;; 	add.u32 %w16, %w16, 8;
;; 	st.local.b32 [%l5+72], %w16;
;; 	ld.global.b64 %l6, [again0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_18: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l6, (q0, q1, q2, p0), TYPE_18;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CAME_BACK_16:
;; 	setp.ge.u32 %p12, %depth, 64;
;; 	@%p12 bra PUT_BACK_20;
;; IS_BACK_21:
;; CALLED_19:
;; 	// i32.add          r3, r3, r4
;; 	add.s32 %r3, %r4, %r3;
;; B3:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; POLL_1:
;; 	ld.const.b32 %w1, [starts+0];
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
;; TRAP_8:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_5:
;; 	ld.local.b32 %w7, [%local+840];
;; 	setp.ge.or.u32 %p5, %depth, %w7, %p4;
;; 	@%p5 bra TRAP_8;
;; 	and.b32 %w8, %depth, 63;
;; 	mad.wide.u32 %l2, %w8, 4, %local;
;; 	ld.local.b32 %w9, [%l2+72];
;; 	st.local.b32 [outer_call], %w9;
;; 	sub.u32 %w10, %depth, 65;
;; 	setp.lt.u32 %p6, %w10, 16;
;; 	@%p6 st.local.b32 [%l2+324], %w9;
;; 	bra USUAL_6;
;; PUT_BACK_11:
;; 	and.b32 %w12, %depth, 63;
;; 	mad.wide.u32 %l4, %w12, 4, %local;
;; 	ld.local.b32 %w11, [outer_call];
;; 	st.local.b32 [%l4+72], %w11;
;; 	bra IS_BACK_12;
;; TRAP_17:
;; 	mov.b32 %trap_pc, 7;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_14:
;; 	ld.local.b32 %w18, [%local+840];
;; 	setp.ge.or.u32 %p10, %depth, %w18, %p9;
;; 	@%p10 bra TRAP_17;
;; 	and.b32 %w19, %depth, 63;
;; 	mad.wide.u32 %l5, %w19, 4, %local;
;; 	ld.local.b32 %w20, [%l5+72];
;; 	st.local.b32 [outer_call], %w20;
;; 	sub.u32 %w21, %depth, 65;
;; 	setp.lt.u32 %p11, %w21, 16;
;; 	@%p11 st.local.b32 [%l5+324], %w20;
;; 	bra USUAL_15;
;; PUT_BACK_20:
;; 	and.b32 %w23, %depth, 63;
;; 	mad.wide.u32 %l7, %w23, 4, %local;
;; 	ld.local.b32 %w22, [outer_call];
;; 	st.local.b32 [%l7+72], %w22;
;; 	bra IS_BACK_21;
;; TRAP:
;; 	ld.const.b32 %w24, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w24;
;; 	cvta.local.u64 %l8, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l8;
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
