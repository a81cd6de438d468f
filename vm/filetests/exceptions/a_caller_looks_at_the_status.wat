;; test ptx
;; A function that may throw returns a status, which its caller looks at. A handler takes the values out of the
;; context.
;; has: call gpu_run_throw

(module
  (tag $odd (param i32))
  (func $half (param $n i32) (result i32)
    (if (i32.and (local.get $n) (i32.const 1)) (then (throw $odd (local.get $n))))
    (i32.shr_u (local.get $n) (i32.const 1)))
  (func (export "half_or_less") (param $n i32) (result i32)
    (block $caught (result i32)
      (return (try_table (result i32) (catch $odd $caught) (call $half (local.get $n)))))
    (i32.shr_u (i32.const 1))))

;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[20]) t1(.param .b32 context, .param .b32 depth);
;; .visible .const .align 4 .b32 starts[2] = {0, 7};
;;
;; // half
;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<4>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// br_no_bits_imm   r0, 1, @5
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, %r0;
;; 	setp.eq.b32 %p1, %xr3, 0;
;; 	}
;; 	@%p1 bra B2;
;; B1:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// throw            r3, x1, tag0
;; 	ld.const.b32 %w1, [starts+0];
;; 	add.u32 %w1, %w1, 3;
;; 	st.local.b32 [%local+936], %r3;
;; 	mov.b32 %w2, 1;
;; 	st.local.b32 [%local+48], %w2;
;; 	ld.const.b32 %w3, [instance+88];
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w1;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w3;
;; 	call gpu_run_throw, (q0, q1, q2, q3);
;; 	}
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; B2:
;; 	// i32.shr_u_imm    r3, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r3, %r0, %xr3;
;; 	}
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
;; 	ret;
;; }
;;
;; // half_or_less
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<13>;
;; 	.reg .b64 %l<6>;
;; 	.reg .pred %p<8>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	add.u32 %deeper, %depth, 1;
;; B0:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// call             r3, half
;; 	setp.ge.u32 %p1, %depth, 64;
;; 	mad.wide.u32 %l1, %depth, 4, %local;
;; 	@%p1 bra UNUSUAL_1;
;; USUAL_2:
;; 	ld.const.b32 %w1, [starts+4];
;; 	add.u32 %w1, %w1, 3;
;; 	st.local.b32 [%l1+72], %w1;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r3;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %w2, [q];
;; 	ld.param.b32 %r3, [q+16];
;; 	}
;; CAME_BACK_3:
;; 	setp.ne.u32 %p3, %w2, 0;
;; 	@%p3 bra STATUS_6;
;; CALLED_5_AFTER:
;; 	setp.ge.u32 %p7, %depth, 64;
;; 	@%p7 bra PUT_BACK_12;
;; IS_BACK_13:
;; CALLED_5:
;; B1:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
;; 	ret;
;; B2:
;; 	// i32.shr_u_imm    r3, r3, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shr.u32 %r3, %r3, %xr3;
;; 	}
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_1:
;; 	and.b32 %w3, %depth, 63;
;; 	mad.wide.u32 %l1, %w3, 4, %local;
;; 	ld.local.b32 %w4, [%l1+72];
;; 	st.local.b32 [outer_call], %w4;
;; 	sub.u32 %w5, %depth, 65;
;; 	setp.lt.u32 %p2, %w5, 16;
;; 	@%p2 st.local.b32 [%l1+324], %w4;
;; 	bra USUAL_2;
;; STATUS_6:
;; 	setp.ne.u32 %p4, %w2, 2;
;; 	@%p4 bra THROWN_7;
;; 	ld.local.b64 %l2, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[20];
;; TYPE_8: .callprototype (.param .align 16 .b8 _[20]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_8;
;; 	ld.param.b32 %w2, [q];
;; 	ld.param.b32 %r3, [q+16];
;; 	}
;; 	setp.ne.u32 %p4, %w2, 0;
;; 	@%p4 bra STATUS_6;
;; 	bra CALLED_5_AFTER;
;; THROWN_7:
;; 	setp.ge.u32 %p5, %depth, 64;
;; 	@%p5 bra PUT_BACK_9;
;; 	bra IS_BACK_10;
;; PUT_BACK_9:
;; 	and.b32 %w7, %depth, 63;
;; 	mad.wide.u32 %l3, %w7, 4, %local;
;; 	ld.local.b32 %w6, [outer_call];
;; 	st.local.b32 [%l3+72], %w6;
;; IS_BACK_10:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b32 %w8, [instance+88];
;; 	ld.local.b32 %w9, [%local+40];
;; 	setp.eq.u32 %p6, %w9, %w8;
;; 	@%p6 bra CATCH_11;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; CATCH_11:
;; 	ld.local.b32 %r3, [%local+936];
;; 	bra B2;
;; PUT_BACK_12:
;; 	and.b32 %w11, %depth, 63;
;; 	mad.wide.u32 %l4, %w11, 4, %local;
;; 	ld.local.b32 %w10, [outer_call];
;; 	st.local.b32 [%l4+72], %w10;
;; 	bra IS_BACK_13;
;; TRAP:
;; 	ld.const.b32 %w12, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w12;
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
;; }
;;
;; .func (.param .align 16 .b8 ret[20]) t1(.param .b32 context, .param .b32 depth)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %l;
;; 	.reg .b32 %depth, %w;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.const.b64 %l, [instance+8];
;; 	ld.global.b32 %w, [%l+8];
;; 	.param .b32 q0;
;; 	.param .b32 q1;
;; 	.param .b32 q2;
;; 	st.param.b32 [q0], %context_at;
;; 	st.param.b32 [q1], %depth;
;; 	st.param.b32 [q2], %w;
;; 	.param .b32 p0;
;; 	ld.local.b32 %w, [%local+936];
;; 	st.param.b32 [p0+0], %w;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f1, (q0, q1, q2, p0);
;; 	ld.param.b32 %w, [q];
;; 	st.param.b32 [ret], %w;
;; 	ld.param.b32 %w, [q+16];
;; 	st.param.b32 [ret+16], %w;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[2] = {0, f1};
;; .visible .global .align 8 .u64 tails[2] = {0, t1};
