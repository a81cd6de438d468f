;; test ptx --alone --local-frames
;; A range of the frame is filled where the frame is, by words if it begins and ends at a multiple of them. For any other one
;; memory takes the frame meanwhile.
;; has: bra FILL_MEMORY_

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (param $n i32) (result i32) (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 64))))
    (memory.fill (local.get $p) (i32.const 0) (local.get $n))
    (i32.store (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 60))) (local.get $x))
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
;; 	.reg .b32 %w<47>;
;; 	.reg .b64 %l<36>;
;; 	.reg .pred %p<24>;
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
;; 	// const32          r6, 0
;; 	mov.b32 %r6, 0x0;
;; 	// memory.fill      r4, r6, r1, memory0
;; 	sub.u32 %w14, %r4, %frame_low;
;; 	sub.u32 %w15, %frame_size, %w14;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	setp.ge.and.u32 %p10, %w15, %r1, %p9;
;; 	@!%p10 bra FILL_MEMORY_5;
;; 	prmt.b32 %w16, %r6, %r6, 0;
;; 	mov.b32 %w17, %w14;
;; 	or.b32 %w17, %w17, %r1;
;; 	and.b32 %w17, %w17, 3;
;; 	setp.ne.u32 %p11, %w17, 0;
;; 	mov.b32 %w18, %w14;
;; 	add.u32 %w19, %w18, %r1;
;; 	@%p11 bra FILL_BYTES_7;
;; FILL_8:
;; 	setp.ge.u32 %p12, %w18, %w19;
;; 	@%p12 bra FILLED_6;
;; 	add.u32 %w20, %frame, %w18;
;; 	st.local.b32 [%w20], %w16;
;; 	add.u32 %w18, %w18, 4;
;; 	bra FILL_8;
;; FILL_BYTES_7:
;; FILL_9:
;; 	setp.ge.u32 %p12, %w18, %w19;
;; 	@%p12 bra FILLED_6;
;; 	add.u32 %w21, %frame, %w18;
;; 	st.local.b8 [%w21], %w16;
;; 	add.u32 %w18, %w18, 1;
;; 	bra FILL_9;
;; FILL_MEMORY_5:
;; 	mov.b32 %w22, 0;
;; COPY_10:
;; 	setp.ge.u32 %p13, %w22, %frame_size;
;; 	@%p13 bra COPIED_11;
;; 	cvt.u64.u32 %l10, %w22;
;; 	add.s64 %l11, %frame_at, %l10;
;; 	add.u32 %w23, %frame, %w22;
;; 	ld.local.b64 %l12, [%w23];
;; 	add.u32 %w24, %frame, %w22;
;; 	ld.local.b64 %l13, [%w24+8];
;; 	st.global.b64 [%l11], %l12;
;; 	st.global.b64 [%l11+8], %l13;
;; 	add.u32 %w22, %w22, 16;
;; 	bra COPY_10;
;; COPIED_11:
;; 	ld.const.b64 %l14, [instance+8];
;; 	cvt.u64.u32 %l15, %r4;
;; 	cvt.u64.u32 %l16, %r1;
;; 	ld.const.b32 %w25, [starts+0];
;; 	add.u32 %w25, %w25, 5;
;; 	ld.local.b64 %l17, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l17;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w25;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %l14;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l15;
;; 	.param .b32 q5;
;; 	st.param.b32 [q5], %r6;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l16;
;; 	call gpu_run_fill, (q0, q1, q2, q3, q4, q5, q6);
;; 	}
;; 	mov.b32 %w26, 0;
;; COPY_12:
;; 	setp.ge.u32 %p14, %w26, %frame_size;
;; 	@%p14 bra COPIED_13;
;; 	cvt.u64.u32 %l18, %w26;
;; 	add.s64 %l19, %frame_at, %l18;
;; 	ld.global.b64 %l20, [%l19];
;; 	ld.global.b64 %l21, [%l19+8];
;; 	add.u32 %w27, %frame, %w26;
;; 	st.local.b64 [%w27], %l20;
;; 	add.u32 %w28, %frame, %w26;
;; 	st.local.b64 [%w28+8], %l21;
;; 	add.u32 %w26, %w26, 16;
;; 	bra COPY_12;
;; COPIED_13:
;; FILLED_6:
;; 	// i32.and_imm      r6, r0, 60
;; 	and.b32 %r6, 60, %r0;
;; 	// i32.add          r5, r4, r6
;; 	add.s32 %r5, %r6, %r4;
;; 	// store32          r5, r0, +0
;; 	sub.u32 %w29, %r5, %frame_low;
;; 	add.u32 %w29, %w29, 0;
;; 	setp.lt.u32 %p15, %w29, %frame_size;
;; 	@!%p15 bra MEMORY_17;
;; 	add.u32 %w30, %frame, %w29;
;; 	st.local.b32 [%w30], %r0;
;; 	bra ACCESSED_16;
;; MEMORY_17:
;; 	sub.u32 %w31, %size, 4;
;; 	setp.gt.u32 %p16, %r5, %w31;
;; 	@%p16 bra TRAP_18;
;; 	cvt.u64.u32 %l22, %r5;
;; 	add.s64 %l22, %base, %l22;
;; 	st.global.b32 [%l22+0], %r0;
;; ACCESSED_16:
;; 	// i32.add_imm      r5, r4, 64
;; 	add.s32 %r5, 64, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w32, [%local+60];
;; 	sub.u32 %w33, %size, 1;
;; 	sub.u32 %w34, %r5, 1;
;; 	setp.ne.u32 %p17, %r5, 0;
;; 	setp.gt.and.u32 %p19, %w34, %w33, %p17;
;; 	setp.lt.or.u32 %p18, %r5, %w32, %p19;
;; 	@%p18 bra TRAP_20;
;; 	ld.const.b32 %w35, [instance+80];
;; 	mad.wide.u32 %l23, %w35, 8, %globals;
;; 	st.global.b32 [%l23], %r5;
;; 	// load32           r5, r4, +0
;; 	sub.u32 %w36, %r4, %frame_low;
;; 	add.u32 %w36, %w36, 0;
;; 	setp.lt.u32 %p20, %w36, %frame_size;
;; 	@!%p20 bra MEMORY_22;
;; 	add.u32 %w37, %frame, %w36;
;; 	ld.local.b32 %r5, [%w37];
;; 	bra ACCESSED_21;
;; MEMORY_22:
;; 	sub.u32 %w38, %size, 4;
;; 	setp.gt.u32 %p21, %r4, %w38;
;; 	@%p21 bra TRAP_23;
;; 	cvt.u64.u32 %l24, %r4;
;; 	add.s64 %l24, %base, %l24;
;; 	ld.global.b32 %r5, [%l24+0];
;; ACCESSED_21:
;; 	// return           header 2, r5, x1
;; 	mov.b32 %w39, 0;
;; COPY_24:
;; 	setp.ge.u32 %p22, %w39, %frame_size;
;; 	@%p22 bra COPIED_25;
;; 	cvt.u64.u32 %l25, %w39;
;; 	add.s64 %l26, %frame_at, %l25;
;; 	add.u32 %w40, %frame, %w39;
;; 	ld.local.b64 %l27, [%w40];
;; 	add.u32 %w41, %frame, %w39;
;; 	ld.local.b64 %l28, [%w41+8];
;; 	st.global.b64 [%l26], %l27;
;; 	st.global.b64 [%l26+8], %l28;
;; 	add.u32 %w39, %w39, 16;
;; 	bra COPY_24;
;; COPIED_25:
;; 	ld.global.b64 %l29, [%launch+88];
;; 	ld.local.b32 %w42, [%local+24];
;; 	mad.wide.u32 %l29, %w42, 4, %l29;
;; 	st.global.b32 [%l29+0], %r5;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l30, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l30;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_18:
;; 	mov.b32 %trap_pc, 9;
;; 	bra TRAP_BOUNDS;
;; TRAP_20:
;; 	mov.b32 %trap_pc, 11;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_23:
;; 	mov.b32 %trap_pc, 12;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w43, 0;
;; COPY_26:
;; 	setp.ge.u32 %p23, %w43, %frame_size;
;; 	@%p23 bra COPIED_27;
;; 	cvt.u64.u32 %l31, %w43;
;; 	add.s64 %l32, %frame_at, %l31;
;; 	add.u32 %w44, %frame, %w43;
;; 	ld.local.b64 %l33, [%w44];
;; 	add.u32 %w45, %frame, %w43;
;; 	ld.local.b64 %l34, [%w45+8];
;; 	st.global.b64 [%l32], %l33;
;; 	st.global.b64 [%l32+8], %l34;
;; 	add.u32 %w43, %w43, 16;
;; 	bra COPY_26;
;; COPIED_27:
;; 	ld.const.b32 %w46, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w46;
;; 	ld.local.b64 %l35, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l35;
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
