;; test ptx
;; A function that ends in a call of itself goes back to its begin with new parameters.
;; has: bra BEGIN;
;; lacks: call f0

(module
  (func $gcd (export "gcd") (param $a i32) (param $b i32) (result i32)
    (if (result i32) (local.get $b)
      (then (return_call $gcd (local.get $b) (i32.rem_u (local.get $a) (local.get $b))))
      (else (local.get $a)))))

;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;; .func (.param .align 16 .b8 ret[20]) t0(.param .b32 context, .param .b32 depth);
;; .visible .const .align 4 .b32 starts[1] = {0};
;; .visible .global .align 8 .u64 again0[1] = {f0};
;;
;; // gcd
;; .func (.param .align 16 .b8 ret[20]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<6>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<4>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.local.b32 %budget, [%local+28];
;; BEGIN:
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; 	st.local.b32 [%local+28], %budget;
;; B0:
;; 	// br_unless        r1, @6
;; 	setp.ne.u32 %p2, %r1, 0;
;; 	@!%p2 bra B3;
;; B1:
;; 	// i32.rem_u        r5, r0, r1
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<5>;
;; 	setp.eq.b32 %xp1, %r1, 0;
;; 	mov.b32 %xr4, 0;
;; 	mov.b32 %xr3, 7;
;; 	@%xp1 bra $x3_0;
;; 	rem.u32 %xr4, %r0, %r1;
;; 	mov.b32 %xr3, 0;
;; $x3_0:
;; 	mov.b32 %w2, %xr3;
;; 	mov.b32 %r5, %xr4;
;; $x3_end:
;; 	}
;; 	setp.ne.u32 %p3, %w2, 0;
;; 	@%p3 bra TRAP_4;
;; 	// copy32           r4, r1
;; 	mov.b32 %r4, %r1;
;; 	// return_call      r4, gcd
;; 	mov.b32 %w3, %r4;
;; 	mov.b32 %w4, %r5;
;; 	mov.b32 %r0, %w3;
;; 	mov.b32 %r1, %w4;
;; 	bra BEGIN;
;; B3:
;; 	// copy32           r4, r0
;; 	mov.b32 %r4, %r0;
;; 	// return           header 2, r4, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r4;
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
;; TRAP_4:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, %w2;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w5;
;; 	cvta.local.u64 %l2, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
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
;; 	.param .b32 p1;
;; 	ld.local.b32 %w, [%local+940];
;; 	st.param.b32 [p1+0], %w;
;; 	.param .align 16 .b8 q[20];
;; 	call (q), f0, (q0, q1, q2, p0, p1);
;; 	ld.param.b32 %w, [q];
;; 	st.param.b32 [ret], %w;
;; 	ld.param.b32 %w, [q+16];
;; 	st.param.b32 [ret+16], %w;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {t0};
