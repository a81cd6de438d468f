;; test ptx --only f0
;; The limit is an integer that the loop does not change: its passes are counted before.
;; has: LOOP

(module
  (func (export "f") (param f32 i32) (result i32) (local $limit i32) (local $i i32)
    (local.set $limit (local.get 1))
    (loop $again
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $limit))))
    (local.get $i)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<6>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r4, x1
;; 	mov.b32 %r4, 0;
;; 	mov.b64 %d4, 0;
;; 	// copy32           r5, r1
;; 	mov.b32 %r5, %r1;
;; 	bra LOOP1;
;; LOOP1:
;; 	sub.u32 %w1, %r5, %r4;
;; 	and.b32 %w1, %w1, 15;
;; 	setp.lt.u32 %p2, %r4, %r5;
;; 	setp.eq.and.u32 %p1, %w1, 0, %p2;
;; 	@%p1 bra B1_1;
;; B1:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p3, %r4, %r5;
;; 	@%p3 bra LOOP1;
;; 	bra B2;
;; B1_1:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_2;
;; B1_2:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_3;
;; B1_3:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_4;
;; B1_4:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_5;
;; B1_5:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_6;
;; B1_6:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_7;
;; B1_7:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_8;
;; B1_8:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_9;
;; B1_9:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_10;
;; B1_10:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_11;
;; B1_11:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_12;
;; B1_12:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_13;
;; B1_13:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_14;
;; B1_14:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_15;
;; B1_15:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	bra B1_16;
;; B1_16:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @3
;; 	add.u32 %r4, %r4, 16;
;; 	setp.lt.u32 %p4, %r4, %r5;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p5, %budget, 0;
;; 	@%p5 bra POLL_1;
;; COUNTED_2:
;; 	@%p4 bra B1_1;
;; B2:
;; 	// return           header 2, r4, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; POLL_1:
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %w2, %w2, 3;
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w2;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_2;
;; }
