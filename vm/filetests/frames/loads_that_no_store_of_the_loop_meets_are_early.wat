;; test ptx --alone --local-frames
;; A loop of four passes loads bytes from the frame and stores words after them. The loads of all passes stand before the stores,
;; so that lanes wait once.
;; has: mov.b32 %r6, %w

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (result i32) (local $p i32) (local $i i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 32))))
    (i32.store (local.get $p) (local.get $x))
    (loop $again
      (i32.store offset=16 (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2)))
        (i32.load8_u (i32.add (local.get $p) (local.get $i))))
      (br_if $again (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4))))
    (local.set $x (i32.load offset=20 (local.get $p)))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 32)))
    (local.get $x)))

;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // f
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[940];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<49>;
;; 	.reg .b64 %l<26>;
;; 	.reg .pred %p<24>;
;; 	.local .align 16 .b8 frame[32];
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
;; 	ld.local.b32 %budget, [%local+28];
;; 	ld.param.b32 %r0, [args+0];
;; 	ld.const.b32 %w1, [instance+80];
;; 	mad.wide.u32 %l2, %w1, 8, %globals;
;; 	ld.global.b32 %w2, [%l2];
;; 	sub.u32 %frame_low, %w2, 32;
;; 	and.b32 %w3, %w2, 15;
;; 	setp.eq.u32 %p1, %w3, 0;
;; 	setp.ge.and.u32 %p2, %w2, 1056, %p1;
;; 	sub.u32 %w4, %size, 1;
;; 	sub.u32 %w3, %w2, 1;
;; 	setp.le.and.u32 %p3, %w3, %w4, %p2;
;; 	ld.local.b32 %w5, [%local+60];
;; 	setp.ge.and.u32 %p4, %frame_low, %w5, %p3;
;; 	selp.b32 %frame_size, 32, 0, %p4;
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
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; 	// global_get32     r5, global0
;; 	ld.const.b32 %w9, [instance+80];
;; 	mad.wide.u32 %l8, %w9, 8, %globals;
;; 	ld.global.b32 %r5, [%l8];
;; 	// i32.add_imm      r4, r5, -32
;; 	add.s32 %r4, -32, %r5;
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
;; 	// store32          r4, r0, +0
;; 	sub.u32 %w14, %r4, %frame_low;
;; 	add.u32 %w14, %w14, 0;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	@!%p9 bra MEMORY_6;
;; 	add.u32 %w15, %frame, %w14;
;; 	st.local.b32 [%w15], %r0;
;; 	bra ACCESSED_5;
;; MEMORY_6:
;; 	sub.u32 %w16, %size, 4;
;; 	setp.gt.u32 %p10, %r4, %w16;
;; 	@%p10 bra TRAP_7;
;; 	cvt.u64.u32 %l10, %r4;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b32 [%l10+0], %r0;
;; ACCESSED_5:
;; 	bra LOOP1;
;; LOOP1:
;; 	setp.eq.u32 %p11, %frame_size, 0;
;; 	@%p11 bra B1;
;; B1_1:
;; 	mov.b32 %w17, 0;
;; 	add.u32 %w17, %w17, %r3;
;; 	add.u32 %w17, %w17, %r4;
;; 	add.u32 %w19, %frame_less_low, %w17;
;; 	ld.local.b32 %w18, [%w19];
;; 	bfe.u32 %w20, %w18, 0, 8;
;; 	bfe.u32 %w21, %w18, 8, 8;
;; 	bfe.u32 %w22, %w18, 16, 8;
;; 	bfe.u32 %w23, %w18, 24, 8;
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// i32.add          r6, r4, r3
;; 	add.s32 %r6, %r3, %r4;
;; 	// i32.load8_u      r6, r6, +0
;; 	mov.b32 %r6, %w20;
;; 	// store32          r5, r6, +16
;; 	add.u32 %w24, %frame_less_low, %r5;
;; 	st.local.b32 [%w24+16], %r6;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4, @6
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_2;
;; B1_2:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// i32.add          r6, r4, r3
;; 	add.s32 %r6, %r3, %r4;
;; 	// i32.load8_u      r6, r6, +0
;; 	mov.b32 %r6, %w21;
;; 	// store32          r5, r6, +16
;; 	add.u32 %w25, %frame_less_low, %r5;
;; 	st.local.b32 [%w25+16], %r6;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4, @6
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_3;
;; B1_3:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// i32.add          r6, r4, r3
;; 	add.s32 %r6, %r3, %r4;
;; 	// i32.load8_u      r6, r6, +0
;; 	mov.b32 %r6, %w22;
;; 	// store32          r5, r6, +16
;; 	add.u32 %w26, %frame_less_low, %r5;
;; 	st.local.b32 [%w26+16], %r6;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4, @6
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_4;
;; B1_4:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// i32.add          r6, r4, r3
;; 	add.s32 %r6, %r3, %r4;
;; 	// i32.load8_u      r6, r6, +0
;; 	mov.b32 %r6, %w23;
;; 	// store32          r5, r6, +16
;; 	add.u32 %w27, %frame_less_low, %r5;
;; 	st.local.b32 [%w27+16], %r6;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4, @6
;; 	add.u32 %r3, %r3, 1;
;; 	bra B2;
;; B1:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// i32.add          r6, r4, r3
;; 	add.s32 %r6, %r3, %r4;
;; 	// i32.load8_u      r6, r6, +0
;; 	sub.u32 %w28, %r6, %frame_low;
;; 	add.u32 %w28, %w28, 0;
;; 	setp.lt.u32 %p12, %w28, %frame_size;
;; 	@!%p12 bra MEMORY_19;
;; 	add.u32 %w29, %frame, %w28;
;; 	ld.local.u8 %r6, [%w29];
;; 	bra ACCESSED_18;
;; MEMORY_19:
;; 	sub.u32 %w30, %size, 1;
;; 	setp.gt.u32 %p13, %r6, %w30;
;; 	@%p13 bra TRAP_20;
;; 	cvt.u64.u32 %l11, %r6;
;; 	add.s64 %l11, %base, %l11;
;; 	ld.global.u8 %r6, [%l11+0];
;; ACCESSED_18:
;; 	// store32          r5, r6, +16
;; 	sub.u32 %w31, %r5, %frame_low;
;; 	add.u32 %w31, %w31, 16;
;; 	setp.lt.u32 %p14, %w31, %frame_size;
;; 	@!%p14 bra MEMORY_22;
;; 	add.u32 %w32, %frame, %w31;
;; 	st.local.b32 [%w32], %r6;
;; 	bra ACCESSED_21;
;; MEMORY_22:
;; 	sub.u32 %w33, %size, 20;
;; 	setp.gt.u32 %p15, %r5, %w33;
;; 	@%p15 bra TRAP_23;
;; 	cvt.u64.u32 %l12, %r5;
;; 	add.s64 %l12, %base, %l12;
;; 	st.global.b32 [%l12+16], %r6;
;; ACCESSED_21:
;; 	// br_i32.add_ne_imm r3, r3, 1, 4, @6
;; 	add.u32 %r3, %r3, 1;
;; 	setp.ne.u32 %p16, %r3, 4;
;; 	@%p16 bra B1;
;; B2:
;; 	// load32           r0, r4, +20
;; 	sub.u32 %w34, %r4, %frame_low;
;; 	add.u32 %w34, %w34, 20;
;; 	setp.lt.u32 %p17, %w34, %frame_size;
;; 	@!%p17 bra MEMORY_25;
;; 	add.u32 %w35, %frame, %w34;
;; 	ld.local.b32 %r0, [%w35];
;; 	bra ACCESSED_24;
;; MEMORY_25:
;; 	sub.u32 %w36, %size, 24;
;; 	setp.gt.u32 %p18, %r4, %w36;
;; 	@%p18 bra TRAP_26;
;; 	cvt.u64.u32 %l13, %r4;
;; 	add.s64 %l13, %base, %l13;
;; 	ld.global.b32 %r0, [%l13+20];
;; ACCESSED_24:
;; 	// i32.add_imm      r5, r4, 32
;; 	add.s32 %r5, 32, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w37, [%local+60];
;; 	sub.u32 %w38, %size, 1;
;; 	sub.u32 %w39, %r5, 1;
;; 	setp.ne.u32 %p19, %r5, 0;
;; 	setp.gt.and.u32 %p21, %w39, %w38, %p19;
;; 	setp.lt.or.u32 %p20, %r5, %w37, %p21;
;; 	@%p20 bra TRAP_28;
;; 	ld.const.b32 %w40, [instance+80];
;; 	mad.wide.u32 %l14, %w40, 8, %globals;
;; 	st.global.b32 [%l14], %r5;
;; 	// return           header 1, r0, x1
;; 	mov.b32 %w41, 0;
;; COPY_29:
;; 	setp.ge.u32 %p22, %w41, %frame_size;
;; 	@%p22 bra COPIED_30;
;; 	cvt.u64.u32 %l15, %w41;
;; 	add.s64 %l16, %frame_at, %l15;
;; 	add.u32 %w42, %frame, %w41;
;; 	ld.local.b64 %l17, [%w42];
;; 	add.u32 %w43, %frame, %w41;
;; 	ld.local.b64 %l18, [%w43+8];
;; 	st.global.b64 [%l16], %l17;
;; 	st.global.b64 [%l16+8], %l18;
;; 	add.u32 %w41, %w41, 16;
;; 	bra COPY_29;
;; COPIED_30:
;; 	ld.global.b64 %l19, [%launch+88];
;; 	ld.local.b32 %w44, [%local+24];
;; 	mad.wide.u32 %l19, %w44, 4, %l19;
;; 	st.global.b32 [%l19+0], %r0;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l20, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l20;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 4;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_7:
;; 	mov.b32 %trap_pc, 5;
;; 	bra TRAP_BOUNDS;
;; TRAP_20:
;; 	mov.b32 %trap_pc, 8;
;; 	bra TRAP_BOUNDS;
;; TRAP_23:
;; 	mov.b32 %trap_pc, 9;
;; 	bra TRAP_BOUNDS;
;; TRAP_26:
;; 	mov.b32 %trap_pc, 12;
;; 	bra TRAP_BOUNDS;
;; TRAP_28:
;; 	mov.b32 %trap_pc, 14;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w45, 0;
;; COPY_31:
;; 	setp.ge.u32 %p23, %w45, %frame_size;
;; 	@%p23 bra COPIED_32;
;; 	cvt.u64.u32 %l21, %w45;
;; 	add.s64 %l22, %frame_at, %l21;
;; 	add.u32 %w46, %frame, %w45;
;; 	ld.local.b64 %l23, [%w46];
;; 	add.u32 %w47, %frame, %w45;
;; 	ld.local.b64 %l24, [%w47+8];
;; 	st.global.b64 [%l22], %l23;
;; 	st.global.b64 [%l22+8], %l24;
;; 	add.u32 %w45, %w45, 16;
;; 	bra COPY_31;
;; COPIED_32:
;; 	ld.const.b32 %w48, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w48;
;; 	ld.local.b64 %l25, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l25;
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
