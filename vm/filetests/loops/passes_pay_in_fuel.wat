;; test ptx --fuel 1000 --only f0
;; A loop of one block stays one: its first instruction pays, and traps where too little is left.

(module
  (func (export "sum") (param $n i32) (result i32) (local $sum i32)
    (loop $next
      (local.set $sum (i32.add (local.get $sum) (local.get $n)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<22>;
;; 	.reg .b64 %l<39>;
;; 	.reg .pred %p<23>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b64 %globals, [%local+16];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; 	// fuel             x1, global0
;; 	ld.const.b32 %w1, [instance+80];
;; 	mad.wide.u32 %l1, %w1, 8, %globals;
;; 	ld.global.b64 %l2, [%l1];
;; 	setp.lt.u64 %p1, %l2, 1;
;; 	@%p1 bra TRAP_1;
;; 	sub.u64 %l2, %l2, 1;
;; 	st.global.b64 [%l1], %l2;
;; 	bra LOOP1;
;; LOOP1:
;; 	sub.u32 %w2, 0, %r0;
;; 	and.b32 %w2, %w2, 15;
;; 	setp.eq.u32 %p2, %w2, 0;
;; 	@%p2 bra B1_1;
;; B1:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w3, [instance+80];
;; 	mad.wide.u32 %l3, %w3, 8, %globals;
;; 	ld.global.b64 %l4, [%l3];
;; 	setp.lt.u64 %p3, %l4, 9;
;; 	@%p3 bra TRAP_2;
;; 	sub.u64 %l4, %l4, 9;
;; 	st.global.b64 [%l3], %l4;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	setp.ne.u32 %p4, %r0, 0;
;; 	@%p4 bra LOOP1;
;; 	bra B2;
;; B1_1:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w4, [instance+80];
;; 	mad.wide.u32 %l5, %w4, 8, %globals;
;; 	ld.global.b64 %l6, [%l5];
;; 	setp.lt.u64 %p5, %l6, 9;
;; 	@%p5 bra TRAP_2;
;; 	sub.u64 %l6, %l6, 9;
;; 	st.global.b64 [%l5], %l6;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_2;
;; B1_2:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w5, [instance+80];
;; 	mad.wide.u32 %l7, %w5, 8, %globals;
;; 	ld.global.b64 %l8, [%l7];
;; 	setp.lt.u64 %p6, %l8, 9;
;; 	@%p6 bra TRAP_2;
;; 	sub.u64 %l8, %l8, 9;
;; 	st.global.b64 [%l7], %l8;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_3;
;; B1_3:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w6, [instance+80];
;; 	mad.wide.u32 %l9, %w6, 8, %globals;
;; 	ld.global.b64 %l10, [%l9];
;; 	setp.lt.u64 %p7, %l10, 9;
;; 	@%p7 bra TRAP_2;
;; 	sub.u64 %l10, %l10, 9;
;; 	st.global.b64 [%l9], %l10;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_4;
;; B1_4:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w7, [instance+80];
;; 	mad.wide.u32 %l11, %w7, 8, %globals;
;; 	ld.global.b64 %l12, [%l11];
;; 	setp.lt.u64 %p8, %l12, 9;
;; 	@%p8 bra TRAP_2;
;; 	sub.u64 %l12, %l12, 9;
;; 	st.global.b64 [%l11], %l12;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_5;
;; B1_5:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w8, [instance+80];
;; 	mad.wide.u32 %l13, %w8, 8, %globals;
;; 	ld.global.b64 %l14, [%l13];
;; 	setp.lt.u64 %p9, %l14, 9;
;; 	@%p9 bra TRAP_2;
;; 	sub.u64 %l14, %l14, 9;
;; 	st.global.b64 [%l13], %l14;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_6;
;; B1_6:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w9, [instance+80];
;; 	mad.wide.u32 %l15, %w9, 8, %globals;
;; 	ld.global.b64 %l16, [%l15];
;; 	setp.lt.u64 %p10, %l16, 9;
;; 	@%p10 bra TRAP_2;
;; 	sub.u64 %l16, %l16, 9;
;; 	st.global.b64 [%l15], %l16;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_7;
;; B1_7:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w10, [instance+80];
;; 	mad.wide.u32 %l17, %w10, 8, %globals;
;; 	ld.global.b64 %l18, [%l17];
;; 	setp.lt.u64 %p11, %l18, 9;
;; 	@%p11 bra TRAP_2;
;; 	sub.u64 %l18, %l18, 9;
;; 	st.global.b64 [%l17], %l18;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_8;
;; B1_8:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w11, [instance+80];
;; 	mad.wide.u32 %l19, %w11, 8, %globals;
;; 	ld.global.b64 %l20, [%l19];
;; 	setp.lt.u64 %p12, %l20, 9;
;; 	@%p12 bra TRAP_2;
;; 	sub.u64 %l20, %l20, 9;
;; 	st.global.b64 [%l19], %l20;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_9;
;; B1_9:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w12, [instance+80];
;; 	mad.wide.u32 %l21, %w12, 8, %globals;
;; 	ld.global.b64 %l22, [%l21];
;; 	setp.lt.u64 %p13, %l22, 9;
;; 	@%p13 bra TRAP_2;
;; 	sub.u64 %l22, %l22, 9;
;; 	st.global.b64 [%l21], %l22;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_10;
;; B1_10:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w13, [instance+80];
;; 	mad.wide.u32 %l23, %w13, 8, %globals;
;; 	ld.global.b64 %l24, [%l23];
;; 	setp.lt.u64 %p14, %l24, 9;
;; 	@%p14 bra TRAP_2;
;; 	sub.u64 %l24, %l24, 9;
;; 	st.global.b64 [%l23], %l24;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_11;
;; B1_11:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w14, [instance+80];
;; 	mad.wide.u32 %l25, %w14, 8, %globals;
;; 	ld.global.b64 %l26, [%l25];
;; 	setp.lt.u64 %p15, %l26, 9;
;; 	@%p15 bra TRAP_2;
;; 	sub.u64 %l26, %l26, 9;
;; 	st.global.b64 [%l25], %l26;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_12;
;; B1_12:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w15, [instance+80];
;; 	mad.wide.u32 %l27, %w15, 8, %globals;
;; 	ld.global.b64 %l28, [%l27];
;; 	setp.lt.u64 %p16, %l28, 9;
;; 	@%p16 bra TRAP_2;
;; 	sub.u64 %l28, %l28, 9;
;; 	st.global.b64 [%l27], %l28;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_13;
;; B1_13:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w16, [instance+80];
;; 	mad.wide.u32 %l29, %w16, 8, %globals;
;; 	ld.global.b64 %l30, [%l29];
;; 	setp.lt.u64 %p17, %l30, 9;
;; 	@%p17 bra TRAP_2;
;; 	sub.u64 %l30, %l30, 9;
;; 	st.global.b64 [%l29], %l30;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_14;
;; B1_14:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w17, [instance+80];
;; 	mad.wide.u32 %l31, %w17, 8, %globals;
;; 	ld.global.b64 %l32, [%l31];
;; 	setp.lt.u64 %p18, %l32, 9;
;; 	@%p18 bra TRAP_2;
;; 	sub.u64 %l32, %l32, 9;
;; 	st.global.b64 [%l31], %l32;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_15;
;; B1_15:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w18, [instance+80];
;; 	mad.wide.u32 %l33, %w18, 8, %globals;
;; 	ld.global.b64 %l34, [%l33];
;; 	setp.lt.u64 %p19, %l34, 9;
;; 	@%p19 bra TRAP_2;
;; 	sub.u64 %l34, %l34, 9;
;; 	st.global.b64 [%l33], %l34;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	bra B1_16;
;; B1_16:
;; 	// fuel             x9, global0
;; 	ld.const.b32 %w19, [instance+80];
;; 	mad.wide.u32 %l35, %w19, 8, %globals;
;; 	ld.global.b64 %l36, [%l35];
;; 	setp.lt.u64 %p20, %l36, 9;
;; 	@%p20 bra TRAP_2;
;; 	sub.u64 %l36, %l36, 9;
;; 	st.global.b64 [%l35], %l36;
;; 	// i32.add          r3, r3, r0
;; 	add.s32 %r3, %r0, %r3;
;; 	// br_i32.add_ne_imm r0, r0, -1, 0, @3
;; 	add.u32 %r0, %r0, -1;
;; 	setp.ne.u32 %p21, %r0, 0;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p22, %budget, 0;
;; 	@%p22 bra POLL_20;
;; COUNTED_21:
;; 	@%p21 bra B1_1;
;; B2:
;; 	// return           header 1, r3, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 22;
;; 	bra TRAP;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 22;
;; 	bra TRAP;
;; POLL_20:
;; 	ld.const.b32 %w20, [starts+0];
;; 	add.u32 %w20, %w20, 3;
;; 	cvta.local.u64 %l37, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l37;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w20;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	mov.b32 %budget, 4096;
;; 	bra COUNTED_21;
;; TRAP:
;; 	ld.const.b32 %w21, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w21;
;; 	cvta.local.u64 %l38, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l38;
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
