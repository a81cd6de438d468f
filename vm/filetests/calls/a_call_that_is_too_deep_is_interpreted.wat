;; test ptx --alone --deep-calls --only f0
;; What is left of the stack is compared once, with what the call and the interpreter take. Out of line the arguments go
;; into the context's values, and the interpreter is told the function's head; the result comes back the same way. The
;; limit of frames is a trap for itself.
;; has: gpu_run_interpret

(module
  (func $sum (param $n i64) (param $step i32) (result i64)
    (if (result i64) (i64.eqz (local.get $n))
      (then (i64.const 0))
      (else
        (i64.add (i64.extend_i32_u (local.get $step))
          (call $sum (i64.sub (local.get $n) (i64.const 1)) (local.get $step))))))
  (func (export "f") (param i64) (result i64) (call $sum (local.get 0) (i32.const 2))))

;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<15>;
;; 	.reg .b64 %d<15>;
;; 	.reg .b32 %w<23>;
;; 	.reg .b64 %l<9>;
;; 	.reg .pred %p<9>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b64 %d0, [a0];
;; 	ld.param.b32 %r2, [a1+0];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_i64.ne_imm    r0, 0, @4
;; 	setp.ne.b64 %p3, %d0, 0;
;; 	@%p3 bra B2;
;; B1:
;; 	// const64_s        r5, 0
;; 	mov.b64 %d5, 0x0;
;; 	// jump             @9
;; 	bra B3;
;; B2:
;; 	// i64.extend_i32_u r5, r2
;; 	cvt.u64.u32 %d5, %r2;
;; 	// i64.add_imm      r7, r0, -1
;; 	add.s64 %d7, -1, %d0;
;; 	// copy32           r9, r2
;; 	mov.b32 %r9, %r2;
;; 	// call             r7, sum
;; 	stacksave.u32 %w2;
;; 	ld.local.v2.b32 {%w3, %w4}, [%local+32];
;; 	add.u32 %w3, %w3, 8600;
;; 	setp.lt.u32 %p5, %w2, %w3;
;; 	setp.ge.or.u32 %p4, %depth, %w4, %p5;
;; 	mad.wide.u32 %l2, %depth, 4, %local;
;; 	@%p4 bra UNUSUAL_7;
;; USUAL_8:
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %w5, %w5, 8;
;; 	st.local.b32 [%l2+72], %w5;
;; 	ld.global.b64 %l5, [again0];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 p0;
;; 	st.param.b64 [p0+0], %d7;
;; 	.param .b32 p1;
;; 	st.param.b32 [p1+0], %r9;
;; 	.param .align 16 .b8 q[8];
;; TYPE_11: .callprototype (.param .align 16 .b8 _[8]) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, .param .b32 _);
;; 	call (q), %l5, (q0, q1, q2, p0, p1), TYPE_11;
;; 	ld.param.b64 %d7, [q+0];
;; 	}
;; CAME_BACK_9:
;; 	setp.ge.u32 %p8, %depth, 64;
;; 	@%p8 bra PUT_BACK_13;
;; IS_BACK_14:
;; CALLED_12:
;; 	// i64.add          r5, r5, r7
;; 	add.s64 %d5, %d7, %d5;
;; B3:
;; 	// return           header 3, r5, x2
;; 	st.param.b64 [ret+0], %d5;
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
;; TRAP_10:
;; 	mov.b32 %trap_pc, 7;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_7:
;; 	ld.local.b32 %w7, [%local+840];
;; 	setp.ge.u32 %p6, %depth, %w7;
;; 	@%p6 bra TRAP_10;
;; 	and.b32 %w8, %depth, 63;
;; 	mad.wide.u32 %l2, %w8, 4, %local;
;; 	ld.local.b32 %w9, [%l2+72];
;; 	st.local.b32 [outer_call], %w9;
;; 	sub.u32 %w10, %depth, 65;
;; 	setp.lt.u32 %p7, %w10, 16;
;; 	@%p7 st.local.b32 [%l2+324], %w9;
;; 	@!%p5 bra USUAL_8;
;; 	ld.const.b32 %w11, [starts+0];
;; 	add.u32 %w11, %w11, 8;
;; 	st.local.b32 [%l2+72], %w11;
;; 	mov.b64 {%w12, %w13}, %d7;
;; 	st.local.b32 [%local+936], %w12;
;; 	st.local.b32 [%local+940], %w13;
;; 	st.local.b32 [%local+944], %r9;
;; 	ld.const.b32 %w14, [starts+0];
;; 	ld.const.b32 %w15, [instance+48];
;; 	add.u32 %w16, %w14, 1;
;; 	mov.b64 %l3, 0;
;; 	cvta.local.u64 %l4, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %deeper;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %w15;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w14;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %w16;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l3;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l3;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l3;
;; 	.param .b32 result;
;; 	call (result), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	ld.param.b32 %w6, [result];
;; 	}
;; 	ld.local.b32 %w17, [%local+936];
;; 	ld.local.b32 %w18, [%local+940];
;; 	mov.b64 %d7, {%w17, %w18};
;; 	bra CAME_BACK_9;
;; PUT_BACK_13:
;; 	and.b32 %w20, %depth, 63;
;; 	mad.wide.u32 %l6, %w20, 4, %local;
;; 	ld.local.b32 %w19, [outer_call];
;; 	st.local.b32 [%l6+72], %w19;
;; 	bra IS_BACK_14;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w21, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w21;
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
;; 	ld.const.b32 %w22, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w22;
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
