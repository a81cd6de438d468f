;; test ptx --alone --local-frames --frame-memory 233472
;; The frame of 32 bytes of each lane is in shared memory: words of one offset lie side by side there, those of 32 lanes. A byte
;; is in its word, a value of eight bytes is two words. A hardware block has no more lanes than there are frames.
;; has: .shared .align 16 .b8 frame[4096];
;; has: st.shared.b8
;; has: ld.shared.b32

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (result i64) (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 32))))
    (i32.store8 (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 31))) (local.get $x))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 32)))
    (i64.load offset=8 (local.get $p))))

;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // f
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[944];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<55>;
;; 	.reg .b64 %l<24>;
;; 	.reg .pred %p<18>;
;; 	.shared .align 16 .b8 frame[4096];
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
;; 	mov.u32 %w6, %tid.x;
;; 	and.b32 %w7, %w6, 31;
;; 	shr.u32 %w8, %w6, 5;
;; 	mad.lo.u32 %frame, %w7, 4, %frame;
;; 	mad.lo.u32 %frame, %w8, 1024, %frame;
;; 	mad.lo.s32 %frame_less_low, %frame_low, -32, %frame;
;; 	mov.b32 %w9, 0;
;; COPY_1:
;; 	setp.ge.u32 %p5, %w9, %frame_size;
;; 	@%p5 bra COPIED_2;
;; 	cvt.u64.u32 %l4, %w9;
;; 	add.s64 %l5, %frame_at, %l4;
;; 	ld.global.b64 %l6, [%l5];
;; 	ld.global.b64 %l7, [%l5+8];
;; 	mad.lo.u32 %w10, %w9, 32, %frame;
;; 	mov.b64 {%w11, %w12}, %l6;
;; 	st.shared.b32 [%w10], %w11;
;; 	st.shared.b32 [%w10+128], %w12;
;; 	mad.lo.u32 %w13, %w9, 32, %frame;
;; 	add.u32 %w14, %w13, 256;
;; 	mov.b64 {%w15, %w16}, %l7;
;; 	st.shared.b32 [%w14], %w15;
;; 	st.shared.b32 [%w14+128], %w16;
;; 	add.u32 %w9, %w9, 16;
;; 	bra COPY_1;
;; COPIED_2:
;; B0:
;; 	// global_get32     r5, global0
;; 	ld.const.b32 %w17, [instance+80];
;; 	mad.wide.u32 %l8, %w17, 8, %globals;
;; 	ld.global.b32 %r5, [%l8];
;; 	// i32.add_imm      r4, r5, -32
;; 	add.s32 %r4, -32, %r5;
;; 	// stack_pointer_set r4, global0
;; 	ld.local.b32 %w18, [%local+60];
;; 	sub.u32 %w19, %size, 1;
;; 	sub.u32 %w20, %r4, 1;
;; 	setp.ne.u32 %p6, %r4, 0;
;; 	setp.gt.and.u32 %p8, %w20, %w19, %p6;
;; 	setp.lt.or.u32 %p7, %r4, %w18, %p8;
;; 	@%p7 bra TRAP_4;
;; 	ld.const.b32 %w21, [instance+80];
;; 	mad.wide.u32 %l9, %w21, 8, %globals;
;; 	st.global.b32 [%l9], %r4;
;; 	// i32.and_imm      r6, r0, 31
;; 	and.b32 %r6, 31, %r0;
;; 	// i32.add          r5, r4, r6
;; 	add.s32 %r5, %r6, %r4;
;; 	// i32.store8       r5, r0, +0
;; 	sub.u32 %w22, %r5, %frame_low;
;; 	add.u32 %w22, %w22, 0;
;; 	setp.lt.u32 %p9, %w22, %frame_size;
;; 	@!%p9 bra MEMORY_8;
;; 	and.b32 %w24, %w22, -4;
;; 	mad.lo.u32 %w23, %w24, 31, %w22;
;; 	add.u32 %w23, %w23, %frame;
;; 	st.shared.b8 [%w23], %r0;
;; 	bra ACCESSED_7;
;; MEMORY_8:
;; 	sub.u32 %w25, %size, 1;
;; 	setp.gt.u32 %p10, %r5, %w25;
;; 	@%p10 bra TRAP_9;
;; 	cvt.u64.u32 %l10, %r5;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b8 [%l10+0], %r0;
;; ACCESSED_7:
;; 	// i32.add_imm      r5, r4, 32
;; 	add.s32 %r5, 32, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w26, [%local+60];
;; 	sub.u32 %w27, %size, 1;
;; 	sub.u32 %w28, %r5, 1;
;; 	setp.ne.u32 %p11, %r5, 0;
;; 	setp.gt.and.u32 %p13, %w28, %w27, %p11;
;; 	setp.lt.or.u32 %p12, %r5, %w26, %p13;
;; 	@%p12 bra TRAP_11;
;; 	ld.const.b32 %w29, [instance+80];
;; 	mad.wide.u32 %l11, %w29, 8, %globals;
;; 	st.global.b32 [%l11], %r5;
;; 	// load64           r5, r4, +8
;; 	sub.u32 %w30, %r4, %frame_low;
;; 	add.u32 %w30, %w30, 8;
;; 	setp.lt.u32 %p14, %w30, %frame_size;
;; 	@!%p14 bra MEMORY_13;
;; 	mad.lo.u32 %w31, %w30, 32, %frame;
;; 	ld.shared.b32 %w32, [%w31];
;; 	ld.shared.b32 %w33, [%w31+128];
;; 	mov.b64 %d5, {%w32, %w33};
;; 	bra ACCESSED_12;
;; MEMORY_13:
;; 	sub.u32 %w34, %size, 16;
;; 	setp.gt.u32 %p15, %r4, %w34;
;; 	@%p15 bra TRAP_14;
;; 	cvt.u64.u32 %l12, %r4;
;; 	add.s64 %l12, %base, %l12;
;; 	ld.global.u64 %d5, [%l12+8];
;; ACCESSED_12:
;; 	// return           header 2, r5, x2
;; 	mov.b32 %w35, 0;
;; COPY_15:
;; 	setp.ge.u32 %p16, %w35, %frame_size;
;; 	@%p16 bra COPIED_16;
;; 	cvt.u64.u32 %l13, %w35;
;; 	add.s64 %l14, %frame_at, %l13;
;; 	mad.lo.u32 %w36, %w35, 32, %frame;
;; 	ld.shared.b32 %w37, [%w36];
;; 	ld.shared.b32 %w38, [%w36+128];
;; 	mov.b64 %l15, {%w37, %w38};
;; 	mad.lo.u32 %w39, %w35, 32, %frame;
;; 	add.u32 %w40, %w39, 256;
;; 	ld.shared.b32 %w41, [%w40];
;; 	ld.shared.b32 %w42, [%w40+128];
;; 	mov.b64 %l16, {%w41, %w42};
;; 	st.global.b64 [%l14], %l15;
;; 	st.global.b64 [%l14+8], %l16;
;; 	add.u32 %w35, %w35, 16;
;; 	bra COPY_15;
;; COPIED_16:
;; 	ld.global.b64 %l17, [%launch+88];
;; 	ld.local.b32 %w43, [%local+24];
;; 	mad.wide.u32 %l17, %w43, 8, %l17;
;; 	mov.b64 {%w44, %w45}, %d5;
;; 	st.global.b32 [%l17+0], %w44;
;; 	st.global.b32 [%l17+4], %w45;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l18, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l18;
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
;; TRAP_11:
;; 	mov.b32 %trap_pc, 8;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_14:
;; 	mov.b32 %trap_pc, 9;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w46, 0;
;; COPY_17:
;; 	setp.ge.u32 %p17, %w46, %frame_size;
;; 	@%p17 bra COPIED_18;
;; 	cvt.u64.u32 %l19, %w46;
;; 	add.s64 %l20, %frame_at, %l19;
;; 	mad.lo.u32 %w47, %w46, 32, %frame;
;; 	ld.shared.b32 %w48, [%w47];
;; 	ld.shared.b32 %w49, [%w47+128];
;; 	mov.b64 %l21, {%w48, %w49};
;; 	mad.lo.u32 %w50, %w46, 32, %frame;
;; 	add.u32 %w51, %w50, 256;
;; 	ld.shared.b32 %w52, [%w51];
;; 	ld.shared.b32 %w53, [%w51+128];
;; 	mov.b64 %l22, {%w52, %w53};
;; 	st.global.b64 [%l20], %l21;
;; 	st.global.b64 [%l20+8], %l22;
;; 	add.u32 %w46, %w46, 16;
;; 	bra COPY_17;
;; COPIED_18:
;; 	ld.const.b32 %w54, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w54;
;; 	ld.local.b64 %l23, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l23;
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
