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

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b64 ctx, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .global .align 8 .u64 again0[1] = {f0};
;;
;; // fib
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b64 ctx, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %ctx, %local, %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<17>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<9>;
;; 	ld.param.b64 %ctx, [ctx];
;; 	cvta.to.local.u64 %local, %ctx;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.relaxed.gpu.global.b32 %size, [%size_at+8];
;; 	ld.local.b32 %budget, [%local+36];
;; 	add.u32 %deeper, %depth, 1;
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
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
;; 	stacksave.u32 %w1;
;; 	ld.local.b32 %w2, [%local+32];
;; 	ld.local.b32 %w3, [%local+840];
;; 	setp.lt.u32 %p3, %w1, %w2;
;; 	setp.ge.or.u32 %p4, %depth, %w3, %p3;
;; 	@%p4 bra TRAP_5;
;; 	and.b32 %w4, %depth, 63;
;; 	mad.wide.u32 %l1, %w4, 4, %local;
;; 	ld.local.b32 %w5, [%l1+72];
;; 	sub.u32 %w6, %depth, 65;
;; 	setp.lt.u32 %p5, %w6, 16;
;; 	@%p5 st.local.b32 [%l1+324], %w5;
;; 	mov.b32 %w7, 6;
;; 	st.local.b32 [%l1+72], %w7;
;; 	st.local.b32 [%local+36], %budget;
;; 	ld.global.b64 %l2, [again0];
;; 	{
;; 	.param .b64 q0; st.param.b64 [q0], %ctx;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[4];
;; TYPE_6: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b64 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1, q2, p0), TYPE_6;
;; 	ld.param.b32 %r3, [q+0];
;; 	}
;; 	st.local.b32 [%l1+72], %w5;
;; 	ld.local.b32 %budget, [%local+36];
;; CALLED_7:
;; 	// i32.add_imm      r4, r0, -2
;; 	add.s32 %r4, -2, %r0;
;; 	// call             r4, fib
;; 	stacksave.u32 %w9;
;; 	ld.local.b32 %w10, [%local+32];
;; 	ld.local.b32 %w11, [%local+840];
;; 	setp.lt.u32 %p6, %w9, %w10;
;; 	setp.ge.or.u32 %p7, %depth, %w11, %p6;
;; 	@%p7 bra TRAP_9;
;; 	and.b32 %w12, %depth, 63;
;; 	mad.wide.u32 %l3, %w12, 4, %local;
;; 	ld.local.b32 %w13, [%l3+72];
;; 	sub.u32 %w14, %depth, 65;
;; 	setp.lt.u32 %p8, %w14, 16;
;; 	@%p8 st.local.b32 [%l3+324], %w13;
;; 	mov.b32 %w15, 8;
;; 	st.local.b32 [%l3+72], %w15;
;; 	st.local.b32 [%local+36], %budget;
;; 	ld.global.b64 %l4, [again0];
;; 	{
;; 	.param .b64 q0; st.param.b64 [q0], %ctx;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_10: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b64 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l4, (q0, q1, q2, p0), TYPE_10;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; 	st.local.b32 [%l3+72], %w13;
;; 	ld.local.b32 %budget, [%local+36];
;; CALLED_11:
;; 	// i32.add          r3, r3, r4
;; 	add.s32 %r3, %r4, %r3;
;; B3:
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+36], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; POLL_1:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %ctx;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], 0;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_2;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; TRAP_9:
;; 	mov.b32 %trap_pc, 7;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; TRAP:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %ctx;
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
