;; test ptx
;; A tail call leaves its arguments in the context and lets the caller make the call, so that the stack does not
;; grow.
;; has: st.param.b32 [ret], 2;

(module
  (func $even (export "even") (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (return_call $odd (i32.sub (local.get $n) (i32.const 1))))
      (else (i32.const 1))))
  (func $odd (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (return_call $even (i32.sub (local.get $n) (i32.const 1))))
      (else (i32.const 0)))))

;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[20]) t0(.param .b32 context, .param .b32 depth);
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .func (.param .align 16 .b8 ret[20]) t1(.param .b32 context, .param .b32 depth);
;; .visible .const .align 4 .b32 starts[2] = {0, 7};
;; .visible .global .align 8 .u64 again0[1] = {f0};
;; .visible .global .align 8 .u64 again1[1] = {f1};
;;
;; // even
;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<2>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_unless        r0, @5
;; 	setp.ne.u32 %p2, %r0, 0;
;; 	@!%p2 bra B3;
;; B1:
;; 	// i32.add_imm      r3, r0, -1
;; 	add.s32 %r3, -1, %r0;
;; 	// return_call      r3, odd
;; 	mov.u64 %l2, t1;
;; 	st.local.b32 [%local+936], %r3;
;; 	st.local.b64 [%local+64], %l2;
;; 	st.param.b32 [ret], 2;
;; 	ret;
;; B3:
;; 	// const32          r3, 1
;; 	mov.b32 %r3, 0x1;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
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
;; // odd
;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<2>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_unless        r0, @12
;; 	setp.ne.u32 %p2, %r0, 0;
;; 	@!%p2 bra B3;
;; B1:
;; 	// i32.add_imm      r3, r0, -1
;; 	add.s32 %r3, -1, %r0;
;; 	// return_call      r3, even
;; 	mov.u64 %l2, t0;
;; 	st.local.b32 [%local+936], %r3;
;; 	st.local.b64 [%local+64], %l2;
;; 	st.param.b32 [ret], 2;
;; 	ret;
;; B3:
;; 	// const32          r3, 0
;; 	mov.b32 %r3, 0x0;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r3;
;; 	ret;
;; POLL_1:
;; 	ld.const.b32 %w1, [starts+4];
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
;; .visible .global .align 8 .u64 functions[2] = {f0, 0};
;; .visible .global .align 8 .u64 tails[2] = {t0, 0};
