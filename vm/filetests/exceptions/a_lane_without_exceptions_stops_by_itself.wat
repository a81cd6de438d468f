;; test ptx --alone
;; A lane that holds no exception and sees the stop flag just ends.
;; has: ld.relaxed.gpu.global.b32
;; has: GO_ON

(module
  (tag $e)
  (func $throw (throw $e))
  (func (export "loop") (param i32)
    (loop $again
      (block $caught (try_table (catch $e $caught) (call $throw)))
      (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))

;; .func (.param .align 16 .b8 ret[16]) f0(.param .b32 context, .param .b32 depth, .param .b32 size);
;; .func (.param .align 16 .b8 ret[16]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[2] = {0, 3};
;;
;; // throw
;; .func (.param .align 16 .b8 ret[16]) f0(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<6>;
;; 	.reg .b64 %d<6>;
;; 	.reg .b32 %w<4>;
;; 	.reg .b64 %l<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; B0:
;; 	// throw            r0, x0, tag0
;; 	ld.const.b32 %w1, [starts+0];
;; 	add.u32 %w1, %w1, 1;
;; 	mov.b32 %w2, 0;
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
;; }
;;
;; // loop
;; .func (.param .align 16 .b8 ret[16]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<8>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<7>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; B0:
;; 	// call             r3, throw
;; 	and.b32 %w1, %depth, 63;
;; 	mad.wide.u32 %l1, %w1, 4, %local;
;; 	ld.const.b32 %w2, [starts+4];
;; 	add.u32 %w2, %w2, 2;
;; 	st.local.b32 [%l1+72], %w2;
;; 	st.local.b32 [%local+28], %budget;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .align 16 .b8 q[16];
;; 	call (q), f0, (q0, q1, q2);
;; 	ld.param.b32 %w3, [q];
;; 	}
;; 	setp.ne.u32 %p1, %w3, 0;
;; 	@%p1 bra STATUS_2;
;; CALLED_1_AFTER:
;; 	ld.local.b32 %budget, [%local+28];
;; CALLED_1:
;; B1:
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @4
;; 	add.u32 %r0, %r0, -1;
;; 	setp.ne.u32 %p4, %r0, 0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p5, %budget, 0;
;; 	@%p5 bra POLL_6;
;; COUNTED_7:
;; 	@%p4 bra B0;
;; B2:
;; 	// return           header 1, r0, x0
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret], 0;
;; 	ret;
;; STATUS_2:
;; 	setp.ne.u32 %p2, %w3, 2;
;; 	@%p2 bra THROWN_3;
;; 	ld.local.b64 %l2, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[16];
;; TYPE_4: .callprototype (.param .align 16 .b8 _[16]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_4;
;; 	ld.param.b32 %w3, [q];
;; 	}
;; 	setp.ne.u32 %p2, %w3, 0;
;; 	@%p2 bra STATUS_2;
;; 	bra CALLED_1_AFTER;
;; THROWN_3:
;; 	ld.local.b32 %budget, [%local+28];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b32 %w4, [instance+88];
;; 	ld.local.b32 %w5, [%local+40];
;; 	setp.eq.u32 %p3, %w5, %w4;
;; 	@%p3 bra CATCH_5;
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; CATCH_5:
;; 	bra B1;
;; POLL_6:
;; 	ld.local.b64 %l3, [%local+0];
;; 	ld.relaxed.gpu.global.b32 %w6, [%l3+284];
;; 	setp.ne.u32 %p6, %w6, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p6 bra GO_ON_8;
;; 	mov.b32 %trap_pc, 1;
;; 	bra STOP;
;; GO_ON_8:
;; 	bra COUNTED_7;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w7, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w7;
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
;;
;; // loop
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
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; 	ld.param.b32 %r0, [args+0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r0;
;; 	.param .align 16 .b8 q[16];
;; 	call (q), f1, (q0, q1, q2, p0);
;; 	ld.param.b32 %w1, [q];
;; 	}
;; 	mov.b32 %deeper, %depth;
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	@%p1 bra STATUS_1;
;; RETURNED_2:
;; 	ld.global.b64 %l4, [%launch+88];
;; 	ld.local.b32 %w2, [%local+24];
;; 	mad.wide.u32 %l4, %w2, 0, %l4;
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
;; 	.param .align 16 .b8 q[16];
;; TYPE_4: .callprototype (.param .align 16 .b8 _[16]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_4;
;; 	ld.param.b32 %w1, [q];
;; 	}
;; 	setp.ne.u32 %p2, %w1, 0;
;; 	@%p2 bra STATUS_1;
;; 	bra RETURNED_2;
;; THROWN_3:
;; 	ld.local.b32 %budget, [%local+28];
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
;; .visible .global .align 8 .u64 functions[2] = {0, 0};
;; .visible .global .align 8 .u64 tails[2] = {0, 0};
