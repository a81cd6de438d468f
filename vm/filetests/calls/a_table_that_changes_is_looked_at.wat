;; test ptx
;; A call through a table to which something writes loads the element, compares its type, and takes its address.
;; has: ld.relaxed.gpu.global.b32
;; lacks: ld.global.v2.b64

(module
  (table $table funcref (elem $double $square))
  (func $double (param i32) (result i32) (i32.shl (local.get 0) (i32.const 1)))
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func (export "change") (table.set $table (i32.const 0) (ref.func $square)))
  (func (export "apply") (param $which i32) (param $x i32) (result i32)
    (call_indirect (param i32) (result i32) (local.get $x) (local.get $which))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func f2(.param .b32 context, .param .b32 depth, .param .b32 size);
;; .func (.param .align 16 .b8 ret[4]) f3(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;; .visible .const .align 4 .b32 starts[4] = {0, 3, 6, 11};
;;
;; // double
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// i32.shl_imm      r3, r0, 1
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 1, 31;
;; 	shl.b32 %r3, %r0, %xr3;
;; 	}
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; }
;;
;; // square
;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// i32.mul          r3, r0, r0
;; 	mul.lo.s32 %r3, %r0, %r0;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; }
;;
;; // change
;; .func f2(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<4>;
;; 	.reg .b64 %l<7>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; B0:
;; 	// ref.func         r3, square
;; 	ld.const.b64 %l1, [instance+0];
;; 	ld.global.b64 %l2, [%l1+24];
;; 	ld.global.b32 %w1, [%l2+4];
;; 	add.u32 %r3, %w1, 1;
;; 	// const32          r2, 0
;; 	mov.b32 %r2, 0x0;
;; 	// table.set        r2, r3, table0
;; 	ld.const.b64 %l3, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w2, [%l3+8];
;; 	setp.ge.u32 %p1, %r2, %w2;
;; 	@%p1 bra TRAP_1;
;; 	ld.global.b64 %l4, [%l3+0];
;; 	mad.wide.u32 %l5, %r2, 4, %l4;
;; 	st.relaxed.gpu.global.b32 [%l5], %r3;
;; 	// return           header 0, r0, x0
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 3;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w3, [starts+8];
;; 	add.u32 %trap_pc, %trap_pc, %w3;
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
;;
;; // apply
;; .func (.param .align 16 .b8 ret[4]) f3(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<18>;
;; 	.reg .b64 %l<13>;
;; 	.reg .pred %p<10>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
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
;; 	// copy32           r4, r1
;; 	mov.b32 %r4, %r1;
;; 	// call_indirect    r4, r0, table0, type0 (i32) -> (i32)
;; 	ld.const.b64 %l2, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w2, [%l2+8];
;; 	setp.ge.u32 %p2, %r0, %w2;
;; 	@%p2 bra TRAP_3;
;; 	ld.global.b64 %l3, [%l2+0];
;; 	mad.wide.u32 %l4, %r0, 4, %l3;
;; 	ld.relaxed.gpu.global.b32 %w3, [%l4];
;; 	setp.eq.u32 %p3, %w3, 0;
;; 	@%p3 bra TRAP_4;
;; 	sub.u32 %w3, %w3, 1;
;; 	ld.const.b64 %l5, [instance+24];
;; 	ld.const.b32 %w5, [instance+88];
;; 	mad.wide.u32 %l6, %w3, 16, %l5;
;; 	ld.global.b32 %w4, [%l6+12];
;; 	setp.ne.u32 %p3, %w4, %w5;
;; 	@%p3 bra TRAP_5;
;; 	ld.const.b64 %l7, [instance+32];
;; 	mad.wide.u32 %l8, %w3, 8, %l7;
;; 	ld.global.b64 %l9, [%l8];
;; 	setp.eq.u64 %p4, %l9, 0;
;; 	@%p4 bra CALLED_6;
;; 	stacksave.u32 %w6;
;; 	ld.local.v2.b32 {%w7, %w8}, [%local+32];
;; 	setp.lt.u32 %p6, %w6, %w7;
;; 	setp.ge.or.u32 %p5, %depth, %w8, %p6;
;; 	mad.wide.u32 %l10, %depth, 4, %local;
;; 	@%p5 bra UNUSUAL_7;
;; USUAL_8:
;; 	ld.const.b32 %w9, [starts+12];
;; 	add.u32 %w9, %w9, 4;
;; 	st.local.b32 [%l10+72], %w9;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; TYPE_11: .callprototype (.param .align 16 .b8 _[4]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b32 _);
;; 	call (q), %l9, (q0, q1, q2, p0), TYPE_11;
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CAME_BACK_9:
;; 	setp.ge.u32 %p9, %depth, 64;
;; 	@%p9 bra PUT_BACK_13;
;; IS_BACK_14:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; CALLED_6:
;; 	// return           header 2, r4, x1
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; POLL_1:
;; 	ld.const.b32 %w1, [starts+12];
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
;; TRAP_3:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 4;
;; 	bra TRAP;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 5;
;; 	bra TRAP;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 6;
;; 	bra TRAP;
;; TRAP_10:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_7:
;; 	ld.local.b32 %w11, [%local+840];
;; 	setp.ge.or.u32 %p7, %depth, %w11, %p6;
;; 	@%p7 bra TRAP_10;
;; 	and.b32 %w12, %depth, 63;
;; 	mad.wide.u32 %l10, %w12, 4, %local;
;; 	ld.local.b32 %w13, [%l10+72];
;; 	st.local.b32 [outer_call], %w13;
;; 	sub.u32 %w14, %depth, 65;
;; 	setp.lt.u32 %p8, %w14, 16;
;; 	@%p8 st.local.b32 [%l10+324], %w13;
;; 	bra USUAL_8;
;; PUT_BACK_13:
;; 	and.b32 %w16, %depth, 63;
;; 	mad.wide.u32 %l11, %w16, 4, %local;
;; 	ld.local.b32 %w15, [outer_call];
;; 	st.local.b32 [%l11+72], %w15;
;; 	bra IS_BACK_14;
;; TRAP:
;; 	ld.const.b32 %w17, [starts+12];
;; 	add.u32 %trap_pc, %trap_pc, %w17;
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
;; .visible .global .align 8 .u64 functions[4] = {f0, f1, f2, f3};
;; .visible .global .align 8 .u64 tails[4] = {0, 0, 0, 0};
