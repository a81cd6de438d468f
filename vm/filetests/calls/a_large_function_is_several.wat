;; test ptx --alone --regions 6 --only f0,f0_0,f0_1
;; What is read in the second region and was made before goes there among the context's values: the sum and the number. The
;; first one ends the function where the sum is 0.

(module
  (func (export "f") (param $x i32) (param $y f64) (result i64)
    (local $sum i64)
    (local.set $sum (i64.trunc_sat_f64_u (local.get $y)))
    (if (i64.eqz (local.get $sum)) (then (return (i64.const 7))))
    (if (i32.eqz (local.get $x)) (then (local.set $sum (i64.mul (local.get $sum) (local.get $sum)))))
    (i64.add (local.get $sum) (i64.extend_i32_u (local.get $x)))))

;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b64 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b32 %depth, %next, %w;
;; 	.reg .pred %p;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %w, [a0+0];
;; 	st.local.b32 [%local+936], %w;
;; 	ld.param.b32 %w, [a1+0];
;; 	st.local.b32 [%local+940], %w;
;; 	ld.param.b32 %w, [a1+4];
;; 	st.local.b32 [%local+944], %w;
;; 	mov.b32 %next, 2;
;; GO:
;; 	setp.lt.u32 %p, %next, 3;
;; 	@%p bra REGION_0;
;; REGION_1:
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %next;
;; 	.param .b32 q;
;; 	call (q), f0_1, (q0, q1, q2);
;; 	ld.param.b32 %next, [q];
;; 	}
;; 	bra NEXT;
;; REGION_0:
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %next;
;; 	.param .b32 q;
;; 	call (q), f0_0, (q0, q1, q2);
;; 	ld.param.b32 %next, [q];
;; 	}
;; 	bra NEXT;
;; NEXT:
;; 	setp.ge.u32 %p, %next, 2;
;; 	@%p bra GO;
;; 	ld.local.b32 %w, [%local+936];
;; 	st.param.b32 [ret+0], %w;
;; 	ld.local.b32 %w, [%local+940];
;; 	st.param.b32 [ret+4], %w;
;; 	ret;
;; }
;; .func (.param .b32 ret) f0_0(.param .b32 context, .param .b32 depth, .param .b32 place)
;; {
;; 	.reg .b32 %place;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<15>;
;; 	.reg .b64 %d<15>;
;; 	.reg .b32 %w<9>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<4>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %place, [place];
;; 	ld.local.b32 %budget, [%local+28];
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; ENTER_4:
;; 	ld.local.b32 %r0, [%local+936];
;; 	ld.local.b32 %w2, [%local+940];
;; 	ld.local.b32 %w3, [%local+944];
;; 	mov.b64 %d1, {%w2, %w3};
;; 	bra B0;
;; B0:
;; 	// i64.trunc_sat_f64_u r5, r1
;; 	{
;; 	.reg .pred %xp<3>;
;; 	.reg .b64 %xrd<3>;
;; 	setp.leu.f64 %xp1, %d1, 0dBFF0000000000000;
;; 	mov.b64 %xrd2, 0;
;; 	@%xp1 bra $x5_0;
;; 	setp.geu.f64 %xp2, %d1, 0d43F0000000000000;
;; 	mov.b64 %xrd2, -1;
;; 	@%xp2 bra $x5_0;
;; 	cvt.rzi.u64.f64 %xrd2, %d1;
;; $x5_0:
;; 	mov.b64 %d5, %xrd2;
;; $x5_end:
;; 	}
;; 	// br_i64.ne_imm    r5, 0, @5
;; 	setp.ne.b64 %p3, %d5, 0;
;; 	@%p3 bra B2;
;; B1:
;; 	// const64_s        r7, 7
;; 	mov.b64 %d7, 0x7;
;; 	// return           header 3, r7, x2
;; 	mov.b64 {%w4, %w5}, %d7;
;; 	st.local.b32 [%local+936], %w4;
;; 	st.local.b32 [%local+940], %w5;
;; 	mov.b32 %place, 0;
;; 	bra LEAVE;
;; POLL_1:
;; 	ld.local.b64 %l1, [%local+0];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l1+284];
;; 	setp.ne.u32 %p2, %w1, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p2 bra GO_ON_3;
;; 	mov.b32 %trap_pc, 1;
;; 	bra STOP;
;; GO_ON_3:
;; 	bra COUNTED_2;
;; B2:
;; 	st.local.b32 [%local+936], %r0;
;; 	mov.b64 {%w6, %w7}, %d5;
;; 	st.local.b32 [%local+948], %w6;
;; 	st.local.b32 [%local+952], %w7;
;; 	mov.b32 %place, 3;
;; 	bra LEAVE;
;; LEAVE:
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret], %place;
;; 	ret;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w8, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w8;
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
;; .func (.param .b32 ret) f0_1(.param .b32 context, .param .b32 depth, .param .b32 place)
;; {
;; 	.reg .b32 %place;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<15>;
;; 	.reg .b64 %d<15>;
;; 	.reg .b32 %w<7>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<4>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %place, [place];
;; 	ld.local.b32 %budget, [%local+28];
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p1, %budget, 0;
;; 	@%p1 bra POLL_1;
;; COUNTED_2:
;; ENTER_4:
;; 	ld.local.b32 %r0, [%local+936];
;; 	ld.local.b32 %w2, [%local+948];
;; 	ld.local.b32 %w3, [%local+952];
;; 	mov.b64 %d5, {%w2, %w3};
;; 	bra B2;
;; B2:
;; 	// br_i32.ne_imm    r0, 0, @7
;; 	setp.ne.b32 %p3, %r0, 0;
;; 	@%p3 bra B4;
;; B3:
;; 	// i64.mul          r5, r5, r5
;; 	mul.lo.s64 %d5, %d5, %d5;
;; B4:
;; 	// i64.extend_i32_u r9, r0
;; 	cvt.u64.u32 %d9, %r0;
;; 	// i64.add          r7, r5, r9
;; 	add.s64 %d7, %d9, %d5;
;; 	// return           header 3, r7, x2
;; 	mov.b64 {%w4, %w5}, %d7;
;; 	st.local.b32 [%local+936], %w4;
;; 	st.local.b32 [%local+940], %w5;
;; 	mov.b32 %place, 0;
;; 	bra LEAVE;
;; POLL_1:
;; 	ld.local.b64 %l1, [%local+0];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l1+284];
;; 	setp.ne.u32 %p2, %w1, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p2 bra GO_ON_3;
;; 	mov.b32 %trap_pc, 5;
;; 	bra STOP;
;; GO_ON_3:
;; 	bra COUNTED_2;
;; LEAVE:
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret], %place;
;; 	ret;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w6, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w6;
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
