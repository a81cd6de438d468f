;; test ptx --alone
;; A tail call through a table takes the address of a thunk. What can be called so has one, also where nothing in the
;; table has a status.
;; has: tails[2] = {t0, 0};
;; has: call (q), f0

(module
  (type $t (func (param i32) (result i32)))
  (table funcref (elem $leaf))
  (func $leaf (type $t) (local.get 0))
  (func (export "f") (type $t) (return_call_indirect (type $t) (local.get 0) (i32.const 0))))

;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[20]) t0(.param .b32 context, .param .b32 depth);
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[2] = {0, 2};
;;
;; // leaf
;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// return           header 1, r0, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r0;
;; 	ret;
;; }
;;
;; .func (.param .align 16 .b8 ret[20]) t0(.param .b32 context, .param .b32 depth)
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
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %w, [q];
;; 	st.param.b32 [ret], %w;
;; 	ld.param.b32 %w, [q+16];
;; 	st.param.b32 [ret+16], %w;
;; 	ret;
;; }
;;
;; // f
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<6>;
;; 	.reg .b64 %l<10>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// const32          r4, 0
;; 	mov.b32 %r4, 0x0;
;; 	// copy32           r3, r0
;; 	mov.b32 %r3, %r0;
;; 	// return_call_indirect r3, r4, table0, type0 (i32) -> (i32)
;; 	ld.const.b64 %l1, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l1+8];
;; 	setp.ge.u32 %p1, %r4, %w1;
;; 	@%p1 bra TRAP_1;
;; 	ld.global.b64 %l2, [%l1+0];
;; 	mad.wide.u32 %l3, %r4, 4, %l2;
;; 	ld.relaxed.gpu.global.b32 %w2, [%l3];
;; 	setp.eq.u32 %p2, %w2, 0;
;; 	@%p2 bra TRAP_2;
;; 	sub.u32 %w2, %w2, 1;
;; 	ld.const.b64 %l4, [instance+24];
;; 	ld.const.b32 %w4, [instance+88];
;; 	mad.wide.u32 %l5, %w2, 16, %l4;
;; 	ld.global.b32 %w3, [%l5+12];
;; 	setp.ne.u32 %p2, %w3, %w4;
;; 	@%p2 bra TRAP_3;
;; 	ld.const.b64 %l6, [instance+40];
;; 	mad.wide.u32 %l7, %w2, 8, %l6;
;; 	ld.global.b64 %l8, [%l7];
;; 	st.local.b32 [%local+936], %r3;
;; 	st.local.b64 [%local+64], %l8;
;; 	st.param.b32 [ret], 2;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 4;
;; 	bra TRAP;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 5;
;; 	bra TRAP;
;; TRAP_3:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 6;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w5, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w5;
;; 	cvta.local.u64 %l9, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l9;
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
;; // f
;; .visible .entry start_1(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[940];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<6>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b64 %launch, [launch];
;; 	mov.u64 %local, context;
;; 	cvta.local.u64 %context, %local;
;; 	mov.b32 %depth, 1;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_begin, (q0, q1);
;; 	}
;; 	ld.local.b64 %l1, [%local+848];
;; 	cvta.to.local.u64 %l1, %l1;
;; 	cvt.u32.u64 %context_at, %l1;
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	add.u32 %deeper, %depth, 1;
;; 	ld.param.b32 %r0, [args+0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r0;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f1, (q0, q1, q2, p0);
;; 	ld.param.b32 %w1, [q];
;; 	ld.param.b32 %r0, [q+16];
;; 	}
;; 	mov.b32 %deeper, %depth;
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	@%p1 bra STATUS_1;
;; RETURNED_2:
;; 	ld.global.b64 %l4, [%launch+88];
;; 	ld.local.b32 %w2, [%local+24];
;; 	mad.wide.u32 %l4, %w2, 4, %l4;
;; 	st.global.b32 [%l4+0], %r0;
;; DONE:
;; 	ld.local.b64 %l5, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l5;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; STATUS_1:
;; 	setp.ne.u32 %p2, %w1, 2;
;; 	@%p2 bra THROWN_3;
;; 	ld.local.b64 %l2, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[20];
;; TYPE_4: .callprototype (.param .align 16 .b8 _[20]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_4;
;; 	ld.param.b32 %w1, [q];
;; 	ld.param.b32 %r0, [q+16];
;; 	}
;; 	setp.ne.u32 %p2, %w1, 0;
;; 	@%p2 bra STATUS_1;
;; 	bra RETURNED_2;
;; THROWN_3:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.local.b64 %l3, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l3;
;; 	call gpu_run_unhandled, (q0);
;; 	}
;; 	exit;
;; }
;;
;; .visible .global .align 8 .u64 functions[2] = {f0, 0};
;; .visible .global .align 8 .u64 tails[2] = {t0, 0};
