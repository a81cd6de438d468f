;; test ptx --alone --local-frames
;; The frame is in local memory until the function passes an address in it to another one, which may tell it to other threads.
;; has: mov.b32 %frame_size, 0;

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func $use (param i32) (i32.store (i32.const 8) (local.get 0)))
  (func (export "f") (param $x i32) (result i32) (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 32))))
    (i32.store (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 28))) (local.get $x))
    (call $use (local.get $p))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 32)))
    (i32.load (local.get $p))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[2] = {0, 4};
;;
;; // use
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b64 %l<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// const32          r3, 8
;; 	mov.b32 %r3, 0x8;
;; 	// store32          r3, r0, +0
;; 	cvt.u64.u32 %l1, %r3;
;; 	add.s64 %l1, %base, %l1;
;; 	st.global.b32 [%l1+0], %r0;
;; 	// return           header 1, r0, x0
;; 	ret;
;; }
;;
;; // f
;; .visible .entry start_1(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[940];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<38>;
;; 	.reg .b64 %l<29>;
;; 	.reg .pred %p<19>;
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
;; 	add.u32 %deeper, %depth, 1;
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
;; 	// global_get32     r4, global0
;; 	ld.const.b32 %w9, [instance+80];
;; 	mad.wide.u32 %l8, %w9, 8, %globals;
;; 	ld.global.b32 %r4, [%l8];
;; 	// i32.add_imm      r3, r4, -32
;; 	add.s32 %r3, -32, %r4;
;; 	// stack_pointer_set r3, global0
;; 	ld.local.b32 %w10, [%local+60];
;; 	sub.u32 %w11, %size, 1;
;; 	sub.u32 %w12, %r3, 1;
;; 	setp.ne.u32 %p6, %r3, 0;
;; 	setp.gt.and.u32 %p8, %w12, %w11, %p6;
;; 	setp.lt.or.u32 %p7, %r3, %w10, %p8;
;; 	@%p7 bra TRAP_4;
;; 	ld.const.b32 %w13, [instance+80];
;; 	mad.wide.u32 %l9, %w13, 8, %globals;
;; 	st.global.b32 [%l9], %r3;
;; 	// i32.and_imm      r5, r0, 28
;; 	and.b32 %r5, 28, %r0;
;; 	// i32.add          r4, r3, r5
;; 	add.s32 %r4, %r5, %r3;
;; 	// store32          r4, r0, +0
;; 	sub.u32 %w14, %r4, %frame_low;
;; 	add.u32 %w14, %w14, 0;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	@!%p9 bra MEMORY_8;
;; 	add.u32 %w15, %frame, %w14;
;; 	st.local.b32 [%w15], %r0;
;; 	bra ACCESSED_7;
;; MEMORY_8:
;; 	sub.u32 %w16, %size, 4;
;; 	setp.gt.u32 %p10, %r4, %w16;
;; 	@%p10 bra TRAP_9;
;; 	cvt.u64.u32 %l10, %r4;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b32 [%l10+0], %r0;
;; ACCESSED_7:
;; 	// copy32           r4, r3
;; 	mov.b32 %r4, %r3;
;; 	// call             r4, use
;; 	mov.b32 %w17, 0;
;; COPY_10:
;; 	setp.ge.u32 %p11, %w17, %frame_size;
;; 	@%p11 bra COPIED_11;
;; 	cvt.u64.u32 %l11, %w17;
;; 	add.s64 %l12, %frame_at, %l11;
;; 	add.u32 %w18, %frame, %w17;
;; 	ld.local.b64 %l13, [%w18];
;; 	add.u32 %w19, %frame, %w17;
;; 	ld.local.b64 %l14, [%w19+8];
;; 	st.global.b64 [%l12], %l13;
;; 	st.global.b64 [%l12+8], %l14;
;; 	add.u32 %w17, %w17, 16;
;; 	bra COPY_10;
;; COPIED_11:
;; 	mov.b32 %frame_size, 0;
;; 	and.b32 %w20, %depth, 63;
;; 	mad.wide.u32 %l15, %w20, 4, %local;
;; 	ld.const.b32 %w21, [starts+4];
;; 	add.u32 %w21, %w21, 9;
;; 	st.local.b32 [%l15+72], %w21;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	call f0, (q0, q1, q2, p0);
;; 	}
;; CALLED_12:
;; 	// i32.add_imm      r4, r3, 32
;; 	add.s32 %r4, 32, %r3;
;; 	// stack_pointer_set r4, global0
;; 	ld.local.b32 %w23, [%local+60];
;; 	sub.u32 %w24, %size, 1;
;; 	sub.u32 %w25, %r4, 1;
;; 	setp.ne.u32 %p12, %r4, 0;
;; 	setp.gt.and.u32 %p14, %w25, %w24, %p12;
;; 	setp.lt.or.u32 %p13, %r4, %w23, %p14;
;; 	@%p13 bra TRAP_14;
;; 	ld.const.b32 %w26, [instance+80];
;; 	mad.wide.u32 %l16, %w26, 8, %globals;
;; 	st.global.b32 [%l16], %r4;
;; 	// load32           r4, r3, +0
;; 	sub.u32 %w27, %r3, %frame_low;
;; 	add.u32 %w27, %w27, 0;
;; 	setp.lt.u32 %p15, %w27, %frame_size;
;; 	@!%p15 bra MEMORY_16;
;; 	add.u32 %w28, %frame, %w27;
;; 	ld.local.b32 %r4, [%w28];
;; 	bra ACCESSED_15;
;; MEMORY_16:
;; 	sub.u32 %w29, %size, 4;
;; 	setp.gt.u32 %p16, %r3, %w29;
;; 	@%p16 bra TRAP_17;
;; 	cvt.u64.u32 %l17, %r3;
;; 	add.s64 %l17, %base, %l17;
;; 	ld.global.b32 %r4, [%l17+0];
;; ACCESSED_15:
;; 	// return           header 1, r4, x1
;; 	mov.b32 %w30, 0;
;; COPY_18:
;; 	setp.ge.u32 %p17, %w30, %frame_size;
;; 	@%p17 bra COPIED_19;
;; 	cvt.u64.u32 %l18, %w30;
;; 	add.s64 %l19, %frame_at, %l18;
;; 	add.u32 %w31, %frame, %w30;
;; 	ld.local.b64 %l20, [%w31];
;; 	add.u32 %w32, %frame, %w30;
;; 	ld.local.b64 %l21, [%w32+8];
;; 	st.global.b64 [%l19], %l20;
;; 	st.global.b64 [%l19+8], %l21;
;; 	add.u32 %w30, %w30, 16;
;; 	bra COPY_18;
;; COPIED_19:
;; 	ld.global.b64 %l22, [%launch+88];
;; 	ld.local.b32 %w33, [%local+24];
;; 	mad.wide.u32 %l22, %w33, 4, %l22;
;; 	st.global.b32 [%l22+0], %r4;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l23, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l23;
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
;; TRAP_14:
;; 	mov.b32 %trap_pc, 10;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_17:
;; 	mov.b32 %trap_pc, 11;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w34, 0;
;; COPY_20:
;; 	setp.ge.u32 %p18, %w34, %frame_size;
;; 	@%p18 bra COPIED_21;
;; 	cvt.u64.u32 %l24, %w34;
;; 	add.s64 %l25, %frame_at, %l24;
;; 	add.u32 %w35, %frame, %w34;
;; 	ld.local.b64 %l26, [%w35];
;; 	add.u32 %w36, %frame, %w34;
;; 	ld.local.b64 %l27, [%w36+8];
;; 	st.global.b64 [%l25], %l26;
;; 	st.global.b64 [%l25+8], %l27;
;; 	add.u32 %w34, %w34, 16;
;; 	bra COPY_20;
;; COPIED_21:
;; 	ld.const.b32 %w37, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w37;
;; 	ld.local.b64 %l28, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l28;
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
;; .visible .global .align 8 .u64 functions[2] = {0, 0};
;; .visible .global .align 8 .u64 tails[2] = {0, 0};
