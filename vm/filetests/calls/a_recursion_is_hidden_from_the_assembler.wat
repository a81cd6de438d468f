;; test ptx --alone --only f0
;; ptxas takes branches of a function that calls itself for uniform. The call reads the function's address.
;; has: [again0]
;; lacks: call (q), f0

(module
  (func $down (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (i32.add (call $down (i32.sub (local.get $n) (i32.const 1))) (local.get $n)))
      (else (i32.const 0))))
  (func (export "sum") (param $n i32) (result i32) (call $down (local.get $n))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<15>;
;; 	.reg .b64 %l<7>;
;; 	.reg .pred %p<9>;
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
;; 	// br_unless        r0, @6
;; 	setp.ne.u32 %p3, %r0, 0;
;; 	@!%p3 bra B2;
;; B1:
;; 	// i32.add_imm      r3, r0, -1
;; 	add.s32 %r3, -1, %r0;
;; 	// call             r3, down
;; 	stacksave.u32 %w2;
;; 	ld.local.v2.b32 {%w3, %w4}, [%local+32];
;; 	setp.lt.u32 %p5, %w2, %w3;
;; 	setp.ge.or.u32 %p4, %depth, %w4, %p5;
;; 	mad.wide.u32 %l2, %depth, 4, %local;
;; 	@%p4 bra UNUSUAL_5;
;; USUAL_6:
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %w5, %w5, 4;
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
;; 	setp.ge.u32 %p8, %depth, 64;
;; 	@%p8 bra PUT_BACK_11;
;; IS_BACK_12:
;; CALLED_10:
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// jump             @7
;; 	bra B3;
;; B2:
;; 	// const32          r3, 0
;; 	mov.b32 %r3, 0x0;
;; B3:
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
;; 	ld.local.b32 %w7, [%local+840];
;; 	setp.ge.or.u32 %p6, %depth, %w7, %p5;
;; 	@%p6 bra TRAP_8;
;; 	and.b32 %w8, %depth, 63;
;; 	mad.wide.u32 %l2, %w8, 4, %local;
;; 	ld.local.b32 %w9, [%l2+72];
;; 	st.local.b32 [outer_call], %w9;
;; 	sub.u32 %w10, %depth, 65;
;; 	setp.lt.u32 %p7, %w10, 16;
;; 	@%p7 st.local.b32 [%l2+324], %w9;
;; 	bra USUAL_6;
;; PUT_BACK_11:
;; 	and.b32 %w12, %depth, 63;
;; 	mad.wide.u32 %l4, %w12, 4, %local;
;; 	ld.local.b32 %w11, [outer_call];
;; 	st.local.b32 [%l4+72], %w11;
;; 	bra IS_BACK_12;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w13, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w13;
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
;; 	ld.const.b32 %w14, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w14;
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
