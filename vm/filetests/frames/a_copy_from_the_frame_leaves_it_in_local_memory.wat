;; test ptx --alone --local-frames
;; A range is copied from the frame to memory where the frame is, and one of which no byte is in the frame as ever. For any other
;; one memory takes the frame meanwhile.
;; has: bra COPY_APART_
;; has: bra COPY_MEMORY_

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (param $to i32) (result i32) (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 64))))
    (i32.store (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 60))) (local.get $x))
    (memory.copy (local.get $to) (local.get $p) (i32.const 48))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 64)))
    (i32.load (local.get $p))))

;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // f
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[8]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[944];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<63>;
;; 	.reg .b64 %l<41>;
;; 	.reg .pred %p<36>;
;; 	.local .align 16 .b8 frame[64];
;; 	.reg .b64 %frame_at;
;; 	.reg .b32 %frame_less_low, %frame, %frame_low, %frame_size;
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
;; 	ld.const.b64 %base, [instance+16];
;; 	ld.local.b64 %globals, [%local+16];
;; 	ld.param.b32 %r0, [args+0];
;; 	ld.param.b32 %r1, [args+4];
;; 	ld.const.b32 %w1, [instance+80];
;; 	mad.wide.u32 %l2, %w1, 8, %globals;
;; 	ld.global.b32 %w2, [%l2];
;; 	sub.u32 %frame_low, %w2, 64;
;; 	and.b32 %w3, %w2, 15;
;; 	setp.eq.u32 %p1, %w3, 0;
;; 	setp.ge.and.u32 %p2, %w2, 1088, %p1;
;; 	sub.u32 %w4, %size, 1;
;; 	sub.u32 %w3, %w2, 1;
;; 	setp.le.and.u32 %p3, %w3, %w4, %p2;
;; 	ld.local.b32 %w5, [%local+60];
;; 	setp.ge.and.u32 %p4, %frame_low, %w5, %p3;
;; 	selp.b32 %frame_size, 64, 0, %p4;
;; 	cvt.u64.u32 %frame_at, %frame_low;
;; 	add.s64 %frame_at, %base, %frame_at;
;; 	mov.u64 %l3, frame;
;; 	cvt.u32.u64 %frame, %l3;
;; 	sub.u32 %frame_less_low, %frame, %frame_low;
;; 	mov.b32 %w6, 0;
;; COPY_1:
;; 	setp.ge.u32 %p5, %w6, %frame_size;
;; 	@%p5 bra COPIED_2;
;; 	cvt.u64.u32 %l4, %w6;
;; 	add.s64 %l5, %frame_at, %l4;
;; 	ld.global.b64 %l6, [%l5];
;; 	ld.global.b64 %l7, [%l5+8];
;; 	add.u32 %w7, %frame, %w6;
;; 	st.local.b64 [%w7], %l6;
;; 	add.u32 %w8, %frame, %w6;
;; 	st.local.b64 [%w8+8], %l7;
;; 	add.u32 %w6, %w6, 16;
;; 	bra COPY_1;
;; COPIED_2:
;; B0:
;; 	// global_get32     r5, global0
;; 	ld.const.b32 %w9, [instance+80];
;; 	mad.wide.u32 %l8, %w9, 8, %globals;
;; 	ld.global.b32 %r5, [%l8];
;; 	// i32.add_imm      r4, r5, -64
;; 	add.s32 %r4, -64, %r5;
;; 	// stack_pointer_set r4, global0
;; 	ld.local.b32 %w10, [%local+60];
;; 	sub.u32 %w11, %size, 1;
;; 	sub.u32 %w12, %r4, 1;
;; 	setp.ne.u32 %p6, %r4, 0;
;; 	setp.gt.and.u32 %p8, %w12, %w11, %p6;
;; 	setp.lt.or.u32 %p7, %r4, %w10, %p8;
;; 	@%p7 bra TRAP_4;
;; 	ld.const.b32 %w13, [instance+80];
;; 	mad.wide.u32 %l9, %w13, 8, %globals;
;; 	st.global.b32 [%l9], %r4;
;; 	// i32.and_imm      r6, r0, 60
;; 	and.b32 %r6, 60, %r0;
;; 	// i32.add          r5, r4, r6
;; 	add.s32 %r5, %r6, %r4;
;; 	// store32          r5, r0, +0
;; 	sub.u32 %w14, %r5, %frame_low;
;; 	add.u32 %w14, %w14, 0;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	@!%p9 bra MEMORY_8;
;; 	add.u32 %w15, %frame, %w14;
;; 	st.local.b32 [%w15], %r0;
;; 	bra ACCESSED_7;
;; MEMORY_8:
;; 	sub.u32 %w16, %size, 4;
;; 	setp.gt.u32 %p10, %r5, %w16;
;; 	@%p10 bra TRAP_9;
;; 	cvt.u64.u32 %l10, %r5;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b32 [%l10+0], %r0;
;; ACCESSED_7:
;; 	// const32          r7, 48
;; 	mov.b32 %r7, 0x30;
;; 	// memory.copy      r1, r4, r7, memory0, memory0
;; 	sub.u32 %w17, %r1, %frame_low;
;; 	sub.u32 %w18, %frame_size, %w17;
;; 	setp.lt.u32 %p11, %w17, %frame_size;
;; 	setp.ge.and.u32 %p12, %w18, 48, %p11;
;; 	sub.u32 %w19, %r4, %frame_low;
;; 	sub.u32 %w20, %frame_size, %w19;
;; 	setp.lt.u32 %p13, %w19, %frame_size;
;; 	setp.ge.and.u32 %p14, %w20, 48, %p13;
;; 	sub.u32 %w21, %size, 48;
;; 	sub.u32 %w22, %size, 1;
;; 	sub.u32 %w23, 48, 1;
;; 	setp.le.u32 %p15, %w23, %w22;
;; 	setp.lt.and.u32 %p15, 48, 4096, %p15;
;; 	mov.pred %p16, %p15;
;; 	neg.s32 %w24, %w17;
;; 	setp.ge.u32 %p18, %w17, %frame_size;
;; 	setp.ge.and.u32 %p17, %w24, 48, %p18;
;; 	setp.le.and.u32 %p17, %r1, %w21, %p17;
;; 	and.pred %p17, %p17, %p15;
;; 	or.pred %p19, %p17, %p12;
;; 	and.pred %p16, %p16, %p17;
;; 	@!%p19 bra COPY_MEMORY_10;
;; 	neg.s32 %w25, %w19;
;; 	setp.ge.u32 %p21, %w19, %frame_size;
;; 	setp.ge.and.u32 %p20, %w25, 48, %p21;
;; 	setp.le.and.u32 %p20, %r4, %w21, %p20;
;; 	and.pred %p20, %p20, %p15;
;; 	or.pred %p22, %p20, %p14;
;; 	and.pred %p16, %p16, %p20;
;; 	@!%p22 bra COPY_MEMORY_10;
;; 	@%p16 bra COPY_APART_11;
;; 	mov.b32 %w26, %w17;
;; 	or.b32 %w26, %w26, %w19;
;; 	or.b32 %w26, %w26, 48;
;; 	and.b32 %w26, %w26, 3;
;; 	setp.ne.u32 %p23, %w26, 0;
;; 	setp.lt.u32 %p24, %r4, %r1;
;; 	mov.b32 %w29, 48;
;; 	@%p23 bra COPY_BYTES_13;
;; 	sub.u32 %w27, 48, 4;
;; 	selp.b32 %w27, %w27, 0, %p24;
;; 	selp.b32 %w28, -4, 4, %p24;
;; COPY_PIECE_14:
;; 	setp.eq.u32 %p25, %w29, 0;
;; 	@%p25 bra COPIED_RANGE_12;
;; 	add.u32 %w31, %w19, %w27;
;; 	add.u32 %w32, %frame, %w31;
;; 	add.u32 %w31, %r4, %w27;
;; 	cvt.u64.u32 %l11, %w31;
;; 	add.s64 %l11, %base, %l11;
;; 	@%p14 ld.local.b32 %w30, [%w32];
;; 	@!%p14 ld.global.b32 %w30, [%l11];
;; 	add.u32 %w33, %w17, %w27;
;; 	add.u32 %w34, %frame, %w33;
;; 	add.u32 %w33, %r1, %w27;
;; 	cvt.u64.u32 %l12, %w33;
;; 	add.s64 %l12, %base, %l12;
;; 	@%p12 st.local.b32 [%w34], %w30;
;; 	@!%p12 st.global.b32 [%l12], %w30;
;; 	add.u32 %w27, %w27, %w28;
;; 	sub.u32 %w29, %w29, 4;
;; 	bra COPY_PIECE_14;
;; COPY_BYTES_13:
;; 	sub.u32 %w27, 48, 1;
;; 	selp.b32 %w27, %w27, 0, %p24;
;; 	selp.b32 %w28, -1, 1, %p24;
;; COPY_PIECE_15:
;; 	setp.eq.u32 %p25, %w29, 0;
;; 	@%p25 bra COPIED_RANGE_12;
;; 	add.u32 %w36, %w19, %w27;
;; 	add.u32 %w37, %frame, %w36;
;; 	add.u32 %w36, %r4, %w27;
;; 	cvt.u64.u32 %l13, %w36;
;; 	add.s64 %l13, %base, %l13;
;; 	@%p14 ld.local.u8 %w35, [%w37];
;; 	@!%p14 ld.global.u8 %w35, [%l13];
;; 	add.u32 %w38, %w17, %w27;
;; 	add.u32 %w39, %frame, %w38;
;; 	add.u32 %w38, %r1, %w27;
;; 	cvt.u64.u32 %l14, %w38;
;; 	add.s64 %l14, %base, %l14;
;; 	@%p12 st.local.b8 [%w39], %w35;
;; 	@!%p12 st.global.b8 [%l14], %w35;
;; 	add.u32 %w27, %w27, %w28;
;; 	sub.u32 %w29, %w29, 1;
;; 	bra COPY_PIECE_15;
;; COPY_MEMORY_10:
;; 	setp.ne.u32 %p16, 0, 0;
;; 	mov.b32 %w40, 0;
;; COPY_16:
;; 	setp.ge.u32 %p26, %w40, %frame_size;
;; 	@%p26 bra COPIED_17;
;; 	cvt.u64.u32 %l15, %w40;
;; 	add.s64 %l16, %frame_at, %l15;
;; 	add.u32 %w41, %frame, %w40;
;; 	ld.local.b64 %l17, [%w41];
;; 	add.u32 %w42, %frame, %w40;
;; 	ld.local.b64 %l18, [%w42+8];
;; 	st.global.b64 [%l16], %l17;
;; 	st.global.b64 [%l16+8], %l18;
;; 	add.u32 %w40, %w40, 16;
;; 	bra COPY_16;
;; COPIED_17:
;; COPY_APART_11:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %base;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %size;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %r1;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %r4;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %r7;
;; 	.param .b32 result;
;; 	call (result), gpu_run_copy_short, (q0, q1, q2, q3, q4);
;; 	ld.param.b32 %w43, [result];
;; 	}
;; 	setp.eq.u32 %p27, %w43, 0;
;; 	@%p27 bra MORE_18;
;; DONE_19:
;; 	@%p16 bra COPIED_RANGE_12;
;; 	mov.b32 %w45, 0;
;; COPY_20:
;; 	setp.ge.u32 %p28, %w45, %frame_size;
;; 	@%p28 bra COPIED_21;
;; 	cvt.u64.u32 %l24, %w45;
;; 	add.s64 %l25, %frame_at, %l24;
;; 	ld.global.b64 %l26, [%l25];
;; 	ld.global.b64 %l27, [%l25+8];
;; 	add.u32 %w46, %frame, %w45;
;; 	st.local.b64 [%w46], %l26;
;; 	add.u32 %w47, %frame, %w45;
;; 	st.local.b64 [%w47+8], %l27;
;; 	add.u32 %w45, %w45, 16;
;; 	bra COPY_20;
;; COPIED_21:
;; COPIED_RANGE_12:
;; 	// i32.add_imm      r5, r4, 64
;; 	add.s32 %r5, 64, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w48, [%local+60];
;; 	sub.u32 %w49, %size, 1;
;; 	sub.u32 %w50, %r5, 1;
;; 	setp.ne.u32 %p29, %r5, 0;
;; 	setp.gt.and.u32 %p31, %w50, %w49, %p29;
;; 	setp.lt.or.u32 %p30, %r5, %w48, %p31;
;; 	@%p30 bra TRAP_23;
;; 	ld.const.b32 %w51, [instance+80];
;; 	mad.wide.u32 %l28, %w51, 8, %globals;
;; 	st.global.b32 [%l28], %r5;
;; 	// load32           r5, r4, +0
;; 	sub.u32 %w52, %r4, %frame_low;
;; 	add.u32 %w52, %w52, 0;
;; 	setp.lt.u32 %p32, %w52, %frame_size;
;; 	@!%p32 bra MEMORY_25;
;; 	add.u32 %w53, %frame, %w52;
;; 	ld.local.b32 %r5, [%w53];
;; 	bra ACCESSED_24;
;; MEMORY_25:
;; 	sub.u32 %w54, %size, 4;
;; 	setp.gt.u32 %p33, %r4, %w54;
;; 	@%p33 bra TRAP_26;
;; 	cvt.u64.u32 %l29, %r4;
;; 	add.s64 %l29, %base, %l29;
;; 	ld.global.b32 %r5, [%l29+0];
;; ACCESSED_24:
;; 	// return           header 2, r5, x1
;; 	mov.b32 %w55, 0;
;; COPY_27:
;; 	setp.ge.u32 %p34, %w55, %frame_size;
;; 	@%p34 bra COPIED_28;
;; 	cvt.u64.u32 %l30, %w55;
;; 	add.s64 %l31, %frame_at, %l30;
;; 	add.u32 %w56, %frame, %w55;
;; 	ld.local.b64 %l32, [%w56];
;; 	add.u32 %w57, %frame, %w55;
;; 	ld.local.b64 %l33, [%w57+8];
;; 	st.global.b64 [%l31], %l32;
;; 	st.global.b64 [%l31+8], %l33;
;; 	add.u32 %w55, %w55, 16;
;; 	bra COPY_27;
;; COPIED_28:
;; 	ld.global.b64 %l34, [%launch+88];
;; 	ld.local.b32 %w58, [%local+24];
;; 	mad.wide.u32 %l34, %w58, 4, %l34;
;; 	st.global.b32 [%l34+0], %r5;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l35, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l35;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_9:
;; 	mov.b32 %trap_pc, 6;
;; 	bra TRAP_BOUNDS;
;; MORE_18:
;; 	ld.const.b64 %l19, [instance+8];
;; 	cvt.u64.u32 %l20, %r1;
;; 	cvt.u64.u32 %l21, %r4;
;; 	cvt.u64.u32 %l22, %r7;
;; 	ld.const.b32 %w44, [starts+0];
;; 	add.u32 %w44, %w44, 8;
;; 	ld.local.b64 %l23, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l23;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w44;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %l19;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l19;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l20;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l21;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l22;
;; 	call gpu_run_copy, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	}
;; 	bra DONE_19;
;; TRAP_23:
;; 	mov.b32 %trap_pc, 11;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_26:
;; 	mov.b32 %trap_pc, 12;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w59, 0;
;; COPY_29:
;; 	setp.ge.u32 %p35, %w59, %frame_size;
;; 	@%p35 bra COPIED_30;
;; 	cvt.u64.u32 %l36, %w59;
;; 	add.s64 %l37, %frame_at, %l36;
;; 	add.u32 %w60, %frame, %w59;
;; 	ld.local.b64 %l38, [%w60];
;; 	add.u32 %w61, %frame, %w59;
;; 	ld.local.b64 %l39, [%w61+8];
;; 	st.global.b64 [%l37], %l38;
;; 	st.global.b64 [%l37+8], %l39;
;; 	add.u32 %w59, %w59, 16;
;; 	bra COPY_29;
;; COPIED_30:
;; 	ld.const.b32 %w62, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w62;
;; 	ld.local.b64 %l40, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l40;
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
;; .visible .global .align 8 .u64 functions[1] = {0};
;; .visible .global .align 8 .u64 tails[1] = {0};
