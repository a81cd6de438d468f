;; test ptx --samples --alone --only f0
;; After its call the frame marks nothing, because its end is near. So the mark of the call is still there when the function runs
;; the next time, and would tell that the callee runs. The function marks its beginning, for its first mark is far.
;; has: add.u32 %w2, %w2, 2147483649;

(module
  (func $down (param $n i32) (result i32)
    (local $x i32)
    (local.set $x (i32.mul (i32.add (i32.rotl (local.get $n) (i32.const 3)) (i32.const 5)) (i32.const 7)))
    (local.set $x (i32.xor (i32.rotl (local.get $x) (i32.const 5)) (i32.mul (local.get $x) (local.get $n))))
    (local.set $x (i32.add (i32.rotl (local.get $x) (i32.const 9)) (i32.mul (local.get $x) (local.get $n))))
    (if (i32.eqz (local.get $n)) (then (return (local.get $x))))
    (call $down (i32.sub (local.get $x) (i32.const 1))))
  (func (export "twice") (param $n i32) (result i32)
    (i32.add (call $down (local.get $n)) (call $down (i32.const 7)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row;
;; 	.reg .b32 %here;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<18>;
;; 	.reg .b64 %l<9>;
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
;; 	mov.b32 %w2, 0;
;; 	add.u32 %w2, %w2, 2147483649;
;; 	ld.local.b64 %l2, [%local+904];
;; 	min.u32 %w3, %depth, 32;
;; 	mad.wide.u32 %l2, %w3, 512, %l2;
;; 	st.relaxed.gpu.global.b32 [%l2], %w2;
;; B0:
;; 	// i32.rotl_imm     r4, r0, 3
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 3;
;; 	shf.l.wrap.b32 %r4, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add_imm      r4, r4, 5
;; 	add.s32 %r4, 5, %r4;
;; 	// i32.mul_imm      r3, r4, 7
;; 	mul.lo.s32 %r3, 7, %r4;
;; 	// i32.rotl_imm     r4, r3, 5
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 5;
;; 	shf.l.wrap.b32 %r4, %r3, %r3, %xa1;
;; 	}
;; 	// i32.mul          r5, r3, r0
;; 	mul.lo.s32 %r5, %r0, %r3;
;; 	// i32.xor          r3, r4, r5
;; 	xor.b32 %r3, %r5, %r4;
;; 	// i32.rotl_imm     r4, r3, 9
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 9;
;; 	shf.l.wrap.b32 %r4, %r3, %r3, %xa1;
;; 	}
;; 	// i32.mul_add      r3, r3, r0, r4
;; 	mad.lo.s32 %r3, %r0, %r3, %r4;
;; 	// br_i32.ne_imm    r0, 0, @12
;; 	setp.ne.b32 %p3, %r0, 0;
;; 	@%p3 bra B2;
;; B1:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// i32.add_imm      r4, r3, -1
;; 	add.s32 %r4, -1, %r3;
;; 	// call             r4, down
;; 	stacksave.u32 %w4;
;; 	ld.local.v2.b32 {%w5, %w6}, [%local+32];
;; 	setp.lt.u32 %p5, %w4, %w5;
;; 	setp.ge.or.u32 %p4, %depth, %w6, %p5;
;; 	mad.wide.u32 %l3, %depth, 4, %local;
;; 	@%p4 bra UNUSUAL_14;
;; USUAL_15:
;; 	mov.b32 %w7, 0;
;; 	add.u32 %w7, %w7, 14;
;; 	st.local.b32 [%l3+72], %w7;
;; 	ld.local.b64 %l4, [%local+904];
;; 	min.u32 %w8, %depth, 32;
;; 	mad.wide.u32 %l4, %w8, 512, %l4;
;; 	st.relaxed.gpu.global.b32 [%l4], %w7;
;; 	ld.global.b64 %l5, [again0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_18: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l5, (q0, q1, q2, p0), TYPE_18;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CAME_BACK_16:
;; 	setp.ge.u32 %p8, %depth, 64;
;; 	@%p8 bra PUT_BACK_20;
;; IS_BACK_21:
;; CALLED_19:
;; 	// return           header 1, r4, x1
;; 	st.param.b32 [ret+0], %r4;
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
;; TRAP_17:
;; 	mov.b32 %trap_pc, 13;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_14:
;; 	ld.local.b32 %w10, [%local+840];
;; 	setp.ge.or.u32 %p6, %depth, %w10, %p5;
;; 	@%p6 bra TRAP_17;
;; 	and.b32 %w11, %depth, 63;
;; 	mad.wide.u32 %l3, %w11, 4, %local;
;; 	ld.local.b32 %w12, [%l3+72];
;; 	st.local.b32 [outer_call], %w12;
;; 	sub.u32 %w13, %depth, 65;
;; 	setp.lt.u32 %p7, %w13, 16;
;; 	@%p7 st.local.b32 [%l3+324], %w12;
;; 	bra USUAL_15;
;; PUT_BACK_20:
;; 	and.b32 %w15, %depth, 63;
;; 	mad.wide.u32 %l6, %w15, 4, %local;
;; 	ld.local.b32 %w14, [outer_call];
;; 	st.local.b32 [%l6+72], %w14;
;; 	bra IS_BACK_21;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	mov.b32 %w16, 0;
;; 	add.u32 %trap_pc, %trap_pc, %w16;
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
;; TRAP:
;; 	mov.b32 %w17, 0;
;; 	add.u32 %trap_pc, %trap_pc, %w17;
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
