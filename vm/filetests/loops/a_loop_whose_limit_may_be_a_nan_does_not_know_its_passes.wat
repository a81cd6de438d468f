;; test ptx --only f0
;; A limit that arithmetic left the GPU's NaN in is not what the comparison sees: passes are not counted before.
;; has: // br_i32.add_lt_u
;; lacks: LOOP

(module
  (func (export "f") (param f32 i32) (result i32) (local $limit i32) (local $i i32)
    (local.set $limit (i32.reinterpret_f32 (f32.add (local.get 0) (local.get 0))))
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
;; 	.reg .b32 %w<18>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<34>;
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
;; 	// f32.add          r6, r0, r0
;; 	add.rn.f32 %r6, %r0, %r0;
;; 	// copy32           r5, r6
;; 	mov.b32 %r5, %r6;
;; B1:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p1, %r5, %r5;
;; 	selp.b32 %w1, 0x7fc00000, %r5, %p1;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p2, %r4, %w1;
;; 	@%p2 bra B1_1;
;; 	bra B2;
;; B1_1:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p3, %r5, %r5;
;; 	selp.b32 %w2, 0x7fc00000, %r5, %p3;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p4, %r4, %w2;
;; 	@%p4 bra B1_2;
;; 	bra B2;
;; B1_2:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p5, %r5, %r5;
;; 	selp.b32 %w3, 0x7fc00000, %r5, %p5;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p6, %r4, %w3;
;; 	@%p6 bra B1_3;
;; 	bra B2;
;; B1_3:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p7, %r5, %r5;
;; 	selp.b32 %w4, 0x7fc00000, %r5, %p7;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p8, %r4, %w4;
;; 	@%p8 bra B1_4;
;; 	bra B2;
;; B1_4:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p9, %r5, %r5;
;; 	selp.b32 %w5, 0x7fc00000, %r5, %p9;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p10, %r4, %w5;
;; 	@%p10 bra B1_5;
;; 	bra B2;
;; B1_5:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p11, %r5, %r5;
;; 	selp.b32 %w6, 0x7fc00000, %r5, %p11;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p12, %r4, %w6;
;; 	@%p12 bra B1_6;
;; 	bra B2;
;; B1_6:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p13, %r5, %r5;
;; 	selp.b32 %w7, 0x7fc00000, %r5, %p13;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p14, %r4, %w7;
;; 	@%p14 bra B1_7;
;; 	bra B2;
;; B1_7:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p15, %r5, %r5;
;; 	selp.b32 %w8, 0x7fc00000, %r5, %p15;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p16, %r4, %w8;
;; 	@%p16 bra B1_8;
;; 	bra B2;
;; B1_8:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p17, %r5, %r5;
;; 	selp.b32 %w9, 0x7fc00000, %r5, %p17;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p18, %r4, %w9;
;; 	@%p18 bra B1_9;
;; 	bra B2;
;; B1_9:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p19, %r5, %r5;
;; 	selp.b32 %w10, 0x7fc00000, %r5, %p19;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p20, %r4, %w10;
;; 	@%p20 bra B1_10;
;; 	bra B2;
;; B1_10:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p21, %r5, %r5;
;; 	selp.b32 %w11, 0x7fc00000, %r5, %p21;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p22, %r4, %w11;
;; 	@%p22 bra B1_11;
;; 	bra B2;
;; B1_11:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p23, %r5, %r5;
;; 	selp.b32 %w12, 0x7fc00000, %r5, %p23;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p24, %r4, %w12;
;; 	@%p24 bra B1_12;
;; 	bra B2;
;; B1_12:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p25, %r5, %r5;
;; 	selp.b32 %w13, 0x7fc00000, %r5, %p25;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p26, %r4, %w13;
;; 	@%p26 bra B1_13;
;; 	bra B2;
;; B1_13:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p27, %r5, %r5;
;; 	selp.b32 %w14, 0x7fc00000, %r5, %p27;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p28, %r4, %w14;
;; 	@%p28 bra B1_14;
;; 	bra B2;
;; B1_14:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p29, %r5, %r5;
;; 	selp.b32 %w15, 0x7fc00000, %r5, %p29;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p30, %r4, %w15;
;; 	@%p30 bra B1_15;
;; 	bra B2;
;; B1_15:
;; 	// br_i32.add_lt_u  r4, r4, 1, r5, @4
;; 	setp.nan.f32 %p31, %r5, %r5;
;; 	selp.b32 %w16, 0x7fc00000, %r5, %p31;
;; 	add.u32 %r4, %r4, 1;
;; 	setp.lt.u32 %p32, %r4, %w16;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p33, %budget, 0;
;; 	@%p33 bra POLL_2;
;; COUNTED_3:
;; 	@%p32 bra B1;
;; B2:
;; 	// return           header 2, r4, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; POLL_2:
;; 	ld.const.b32 %w17, [starts+0];
;; 	add.u32 %w17, %w17, 4;
;; 	cvta.local.u64 %l1, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l1;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w17;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_3;
;; }
