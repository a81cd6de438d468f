;; test ptx --alone --local-frames
;; A loop of eight passes fills a frame of 32 bytes. Its copies do not ask whether an address lies in the frame: the loop asks
;; once whether local memory holds it. If not, the copy after them makes all passes.
;; has: add.u32 %w14, %frame_less_low, %r5;
;; has: st.local.b32 [%w14], %r0;

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (result i32) (local $p i32) (local $i i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 32))))
    (loop $again
      (i32.store (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2))) (local.get $x))
      (br_if $again (i32.ne (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8))))
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
;; 	.reg .b32 %w<37>;
;; 	.reg .b64 %l<23>;
;; 	.reg .pred %p<18>;
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
;; 	bra LOOP1;
;; LOOP1:
;; 	setp.eq.u32 %p9, %frame_size, 0;
;; 	@%p9 bra B1;
;; B1_1:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w14, %frame_less_low, %r5;
;; 	st.local.b32 [%w14], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_2;
;; B1_2:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w15, %frame_less_low, %r5;
;; 	st.local.b32 [%w15], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_3;
;; B1_3:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w16, %frame_less_low, %r5;
;; 	st.local.b32 [%w16], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_4;
;; B1_4:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w17, %frame_less_low, %r5;
;; 	st.local.b32 [%w17], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_5;
;; B1_5:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w18, %frame_less_low, %r5;
;; 	st.local.b32 [%w18], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_6;
;; B1_6:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w19, %frame_less_low, %r5;
;; 	st.local.b32 [%w19], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_7;
;; B1_7:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w20, %frame_less_low, %r5;
;; 	st.local.b32 [%w20], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B1_8;
;; B1_8:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	add.u32 %w21, %frame_less_low, %r5;
;; 	st.local.b32 [%w21], %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	bra B2;
;; B1:
;; 	// i32.shl2_add     r5, r3, r4
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r3, 2;
;; 	add.s32 %r5, %xr3, %r4;
;; 	}
;; 	// store32          r5, r0, +0
;; 	sub.u32 %w22, %r5, %frame_low;
;; 	add.u32 %w22, %w22, 0;
;; 	setp.lt.u32 %p10, %w22, %frame_size;
;; 	@!%p10 bra MEMORY_15;
;; 	add.u32 %w23, %frame, %w22;
;; 	st.local.b32 [%w23], %r0;
;; 	bra ACCESSED_14;
;; MEMORY_15:
;; 	sub.u32 %w24, %size, 4;
;; 	setp.gt.u32 %p11, %r5, %w24;
;; 	@%p11 bra TRAP_16;
;; 	cvt.u64.u32 %l10, %r5;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b32 [%l10+0], %r0;
;; ACCESSED_14:
;; 	// br_i32.add_ne_imm r3, r3, 1, 8, @5
;; 	add.u32 %r3, %r3, 1;
;; 	setp.ne.u32 %p12, %r3, 8;
;; 	@%p12 bra B1;
;; B2:
;; 	// i32.add_imm      r5, r4, 32
;; 	add.s32 %r5, 32, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w25, [%local+60];
;; 	sub.u32 %w26, %size, 1;
;; 	sub.u32 %w27, %r5, 1;
;; 	setp.ne.u32 %p13, %r5, 0;
;; 	setp.gt.and.u32 %p15, %w27, %w26, %p13;
;; 	setp.lt.or.u32 %p14, %r5, %w25, %p15;
;; 	@%p14 bra TRAP_18;
;; 	ld.const.b32 %w28, [instance+80];
;; 	mad.wide.u32 %l11, %w28, 8, %globals;
;; 	st.global.b32 [%l11], %r5;
;; 	// return           header 1, r0, x1
;; 	mov.b32 %w29, 0;
;; COPY_19:
;; 	setp.ge.u32 %p16, %w29, %frame_size;
;; 	@%p16 bra COPIED_20;
;; 	cvt.u64.u32 %l12, %w29;
;; 	add.s64 %l13, %frame_at, %l12;
;; 	add.u32 %w30, %frame, %w29;
;; 	ld.local.b64 %l14, [%w30];
;; 	add.u32 %w31, %frame, %w29;
;; 	ld.local.b64 %l15, [%w31+8];
;; 	st.global.b64 [%l13], %l14;
;; 	st.global.b64 [%l13+8], %l15;
;; 	add.u32 %w29, %w29, 16;
;; 	bra COPY_19;
;; COPIED_20:
;; 	ld.global.b64 %l16, [%launch+88];
;; 	ld.local.b32 %w32, [%local+24];
;; 	mad.wide.u32 %l16, %w32, 4, %l16;
;; 	st.global.b32 [%l16+0], %r0;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l17, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l17;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 4;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_16:
;; 	mov.b32 %trap_pc, 6;
;; 	bra TRAP_BOUNDS;
;; TRAP_18:
;; 	mov.b32 %trap_pc, 10;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w33, 0;
;; COPY_21:
;; 	setp.ge.u32 %p17, %w33, %frame_size;
;; 	@%p17 bra COPIED_22;
;; 	cvt.u64.u32 %l18, %w33;
;; 	add.s64 %l19, %frame_at, %l18;
;; 	add.u32 %w34, %frame, %w33;
;; 	ld.local.b64 %l20, [%w34];
;; 	add.u32 %w35, %frame, %w33;
;; 	ld.local.b64 %l21, [%w35+8];
;; 	st.global.b64 [%l19], %l20;
;; 	st.global.b64 [%l19+8], %l21;
;; 	add.u32 %w33, %w33, 16;
;; 	bra COPY_21;
;; COPIED_22:
;; 	ld.const.b32 %w36, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w36;
;; 	ld.local.b64 %l22, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l22;
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
