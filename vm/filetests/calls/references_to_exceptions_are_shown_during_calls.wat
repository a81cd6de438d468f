;; test ptx
;; A function that may hold references to exceptions shows its units to the runtime before it calls something, and
;; takes them back when it returns.

(module
  (tag $odd (param i32))
  (func $make (param $n i32) (result exnref)
    (block $caught (result exnref)
      (try_table (catch_all_ref $caught) (throw $odd (local.get $n)))
      (unreachable)))
  (func $use (export "use") (param $n i32)
    (local $first exnref)
    (local.set $first (call $make (local.get $n)))
    (drop (call $make (i32.const 1)))
    (throw_ref (local.get $first))))

;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[16]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[16]) t1(.param .b32 context, .param .b32 depth);
;; .visible .const .align 4 .b32 starts[2] = {0, 5};
;;
;; // make
;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<7>;
;; 	.reg .b64 %l<4>;
;; 	.local .align 8 .b8 roots[24];
;; 	.reg .b64 %roots;
;; 	.reg .b32 %outer;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; 	mov.u64 %roots, roots;
;; 	ld.local.b32 %outer, [%local+844];
;; 	st.local.b32 [%roots], %outer;
;; 	st.local.b32 [%roots+4], 4;
;; B0:
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// throw            r3, x1, tag0
;; 	ld.const.b32 %w1, [starts+0];
;; 	add.u32 %w1, %w1, 2;
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
;; 	bra CATCH_1;
;; CATCH_1:
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %w5, %w5, 2;
;; 	st.local.b32 [%roots+8], %r0;
;; 	st.local.b32 [%roots+12], %r1;
;; 	st.local.b32 [%roots+16], %r2;
;; 	st.local.b32 [%roots+20], %r3;
;; 	sub.u64 %l2, %local, %roots;
;; 	cvt.u32.u64 %w6, %l2;
;; 	st.local.b32 [%local+844], %w6;
;; 	cvta.local.u64 %l3, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l3;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w5;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 result;
;; 	call (result), gpu_run_reference, (q0, q1, q2);
;; 	ld.param.b32 %w4, [result];
;; 	}
;; 	mov.b32 %r3, %w4;
;; 	bra B1;
;; B1:
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+844], %outer;
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
;; 	ret;
;; }
;;
;; // use
;; .func (.param .align 16 .b8 ret[16]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<23>;
;; 	.reg .b64 %l<13>;
;; 	.reg .pred %p<13>;
;; 	.local .align 8 .b8 roots[28];
;; 	.reg .b64 %roots;
;; 	.reg .b32 %outer;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	mov.u64 %roots, roots;
;; 	ld.local.b32 %outer, [%local+844];
;; 	st.local.b32 [%roots], %outer;
;; 	st.local.b32 [%roots+4], 5;
;; 	add.u32 %deeper, %depth, 1;
;; B0:
;; 	// copy32           r4, r0
;; 	mov.b32 %r4, %r0;
;; 	// call             r4, make
;; 	setp.ge.u32 %p1, %depth, 64;
;; 	mad.wide.u32 %l1, %depth, 4, %local;
;; 	@%p1 bra UNUSUAL_1;
;; USUAL_2:
;; 	ld.const.b32 %w1, [starts+4];
;; 	add.u32 %w1, %w1, 3;
;; 	st.local.b32 [%l1+72], %w1;
;; 	st.local.b32 [%roots+8], %r0;
;; 	st.local.b32 [%roots+12], %r1;
;; 	st.local.b32 [%roots+16], %r2;
;; 	st.local.b32 [%roots+20], %r3;
;; 	st.local.b32 [%roots+24], %r4;
;; 	sub.u64 %l2, %local, %roots;
;; 	cvt.u32.u64 %w2, %l2;
;; 	st.local.b32 [%local+844], %w2;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %w3, [q];
;; 	ld.param.b32 %r4, [q+16];
;; 	}
;; CAME_BACK_3:
;; 	setp.ne.u32 %p3, %w3, 0;
;; 	@%p3 bra STATUS_6;
;; CALLED_5_AFTER:
;; 	setp.ge.u32 %p6, %depth, 64;
;; 	@%p6 bra PUT_BACK_11;
;; IS_BACK_12:
;; CALLED_5:
;; 	// copy32           r3, r4
;; 	mov.b32 %r3, %r4;
;; 	// const32          r4, 1
;; 	mov.b32 %r4, 0x1;
;; 	// call             r4, make
;; 	setp.ge.u32 %p7, %depth, 64;
;; 	mad.wide.u32 %l6, %depth, 4, %local;
;; 	@%p7 bra UNUSUAL_13;
;; USUAL_14:
;; 	ld.const.b32 %w11, [starts+4];
;; 	add.u32 %w11, %w11, 6;
;; 	st.local.b32 [%l6+72], %w11;
;; 	st.local.b32 [%roots+8], %r0;
;; 	st.local.b32 [%roots+12], %r1;
;; 	st.local.b32 [%roots+16], %r2;
;; 	st.local.b32 [%roots+20], %r3;
;; 	st.local.b32 [%roots+24], %r4;
;; 	sub.u64 %l7, %local, %roots;
;; 	cvt.u32.u64 %w12, %l7;
;; 	st.local.b32 [%local+844], %w12;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %w13, [q];
;; 	ld.param.b32 %r4, [q+16];
;; 	}
;; CAME_BACK_15:
;; 	setp.ne.u32 %p9, %w13, 0;
;; 	@%p9 bra STATUS_18;
;; CALLED_17_AFTER:
;; 	setp.ge.u32 %p12, %depth, 64;
;; 	@%p12 bra PUT_BACK_23;
;; IS_BACK_24:
;; CALLED_17:
;; 	// throw_ref        r3
;; 	ld.const.b32 %w21, [starts+4];
;; 	add.u32 %w21, %w21, 6;
;; 	cvta.local.u64 %l11, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l11;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w21;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %r3;
;; 	call gpu_run_throw_ref, (q0, q1, q2, q3);
;; 	}
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	st.local.b32 [%local+844], %outer;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_1:
;; 	and.b32 %w4, %depth, 63;
;; 	mad.wide.u32 %l1, %w4, 4, %local;
;; 	ld.local.b32 %w5, [%l1+72];
;; 	st.local.b32 [outer_call], %w5;
;; 	sub.u32 %w6, %depth, 65;
;; 	setp.lt.u32 %p2, %w6, 16;
;; 	@%p2 st.local.b32 [%l1+324], %w5;
;; 	bra USUAL_2;
;; STATUS_6:
;; 	setp.ne.u32 %p4, %w3, 2;
;; 	@%p4 bra THROWN_7;
;; 	ld.local.b64 %l3, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[20];
;; TYPE_8: .callprototype (.param .align 16 .b8 _[20]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l3, (q0, q1), TYPE_8;
;; 	ld.param.b32 %w3, [q];
;; 	ld.param.b32 %r4, [q+16];
;; 	}
;; 	setp.ne.u32 %p4, %w3, 0;
;; 	@%p4 bra STATUS_6;
;; 	bra CALLED_5_AFTER;
;; THROWN_7:
;; 	setp.ge.u32 %p5, %depth, 64;
;; 	@%p5 bra PUT_BACK_9;
;; 	bra IS_BACK_10;
;; PUT_BACK_9:
;; 	and.b32 %w8, %depth, 63;
;; 	mad.wide.u32 %l4, %w8, 4, %local;
;; 	ld.local.b32 %w7, [outer_call];
;; 	st.local.b32 [%l4+72], %w7;
;; IS_BACK_10:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	st.local.b32 [%local+844], %outer;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; PUT_BACK_11:
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l5, %w10, 4, %local;
;; 	ld.local.b32 %w9, [outer_call];
;; 	st.local.b32 [%l5+72], %w9;
;; 	bra IS_BACK_12;
;; TRAP_16:
;; 	mov.b32 %trap_pc, 5;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_13:
;; 	and.b32 %w14, %depth, 63;
;; 	mad.wide.u32 %l6, %w14, 4, %local;
;; 	ld.local.b32 %w15, [%l6+72];
;; 	st.local.b32 [outer_call], %w15;
;; 	sub.u32 %w16, %depth, 65;
;; 	setp.lt.u32 %p8, %w16, 16;
;; 	@%p8 st.local.b32 [%l6+324], %w15;
;; 	bra USUAL_14;
;; STATUS_18:
;; 	setp.ne.u32 %p10, %w13, 2;
;; 	@%p10 bra THROWN_19;
;; 	ld.local.b64 %l8, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[20];
;; TYPE_20: .callprototype (.param .align 16 .b8 _[20]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l8, (q0, q1), TYPE_20;
;; 	ld.param.b32 %w13, [q];
;; 	ld.param.b32 %r4, [q+16];
;; 	}
;; 	setp.ne.u32 %p10, %w13, 0;
;; 	@%p10 bra STATUS_18;
;; 	bra CALLED_17_AFTER;
;; THROWN_19:
;; 	setp.ge.u32 %p11, %depth, 64;
;; 	@%p11 bra PUT_BACK_21;
;; 	bra IS_BACK_22;
;; PUT_BACK_21:
;; 	and.b32 %w18, %depth, 63;
;; 	mad.wide.u32 %l9, %w18, 4, %local;
;; 	ld.local.b32 %w17, [outer_call];
;; 	st.local.b32 [%l9+72], %w17;
;; IS_BACK_22:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	st.local.b32 [%local+844], %outer;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; PUT_BACK_23:
;; 	and.b32 %w20, %depth, 63;
;; 	mad.wide.u32 %l10, %w20, 4, %local;
;; 	ld.local.b32 %w19, [outer_call];
;; 	st.local.b32 [%l10+72], %w19;
;; 	bra IS_BACK_24;
;; TRAP:
;; 	ld.const.b32 %w22, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w22;
;; 	cvta.local.u64 %l12, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l12;
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
;; .func (.param .align 16 .b8 ret[16]) t1(.param .b32 context, .param .b32 depth)
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
;; 	.param .align 16 .b8 q[16];
;; 	call (q), f1, (q0, q1, q2, p0);
;; 	ld.param.b32 %w, [q];
;; 	st.param.b32 [ret], %w;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[2] = {0, f1};
;; .visible .global .align 8 .u64 tails[2] = {0, t1};
