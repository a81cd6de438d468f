;; test ptx
;; A loop that counts down to a limit does its odd passes first. Then come as many copies as are worth it, of which the
;; last compares.
;; has: LOOP

(module
  (memory 1)
  (func (export "sum") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (i32.mul (local.get $n) (local.get $n))))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // sum
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<5>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; 	bra LOOP1;
;; LOOP1:
;; 	sub.u32 %w1, 0, %r0;
;; 	and.b32 %w1, %w1, 15;
;; 	setp.eq.u32 %p1, %w1, 0;
;; 	@%p1 bra B1_1;
;; B1:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	setp.ne.u32 %p2, %r0, 0;
;; 	@%p2 bra LOOP1;
;; 	bra B2;
;; B1_1:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_2;
;; B1_2:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_3;
;; B1_3:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_4;
;; B1_4:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_5;
;; B1_5:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_6;
;; B1_6:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_7;
;; B1_7:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_8;
;; B1_8:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_9;
;; B1_9:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_10;
;; B1_10:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_11;
;; B1_11:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_12;
;; B1_12:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_13;
;; B1_13:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_14;
;; B1_14:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_15;
;; B1_15:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_16;
;; B1_16:
;; 	// i32.mul_add      r3, r0, r0, r3
;; 	mad.lo.s32 %r3, %r0, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @2
;; 	add.u32 %r0, %r0, -1;
;; 	setp.ne.u32 %p3, %r0, 0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p4, %budget, 0;
;; 	@%p4 bra POLL_18;
;; COUNTED_19:
;; 	@%p3 bra B1_1;
;; B2:
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; POLL_18:
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %w2, %w2, 2;
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
;; 	bra COUNTED_19;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
