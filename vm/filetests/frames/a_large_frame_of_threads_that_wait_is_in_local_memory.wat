;; test ptx --alone --local-frames --frame-memory 233472 --frame-lanes 256
;; A multiprocessor has room for frames of 1024 bytes of 192 lanes. More are taken to be resident where threads may wait for each
;; other, so the frame is in local memory.
;; has: .local .align 16 .b8 frame[1024];

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func (export "f") (param $x i32) (result i64) (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 1024))))
    (i32.store8 (i32.add (local.get $p) (i32.and (local.get $x) (i32.const 1023))) (local.get $x))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 1024)))
    (i64.load offset=8 (local.get $p))))

;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // f
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128 .minnctapersm 16
;; {
;; 	.local .align 16 .b8 context[944];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<34>;
;; 	.reg .b64 %l<24>;
;; 	.reg .pred %p<18>;
;; 	.local .align 16 .b8 frame[1024];
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
;; 	sub.u32 %frame_low, %w2, 1024;
;; 	and.b32 %w3, %w2, 15;
;; 	setp.eq.u32 %p1, %w3, 0;
;; 	setp.ge.and.u32 %p2, %w2, 2048, %p1;
;; 	sub.u32 %w4, %size, 1;
;; 	sub.u32 %w3, %w2, 1;
;; 	setp.le.and.u32 %p3, %w3, %w4, %p2;
;; 	ld.local.b32 %w5, [%local+60];
;; 	setp.ge.and.u32 %p4, %frame_low, %w5, %p3;
;; 	selp.b32 %frame_size, 1024, 0, %p4;
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
;; 	// i32.add_imm      r4, r5, -1024
;; 	add.s32 %r4, -1024, %r5;
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
;; 	// i32.and_imm      r6, r0, 1023
;; 	and.b32 %r6, 1023, %r0;
;; 	// i32.add          r5, r4, r6
;; 	add.s32 %r5, %r6, %r4;
;; 	// i32.store8       r5, r0, +0
;; 	sub.u32 %w14, %r5, %frame_low;
;; 	add.u32 %w14, %w14, 0;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	@!%p9 bra MEMORY_8;
;; 	add.u32 %w15, %frame, %w14;
;; 	st.local.b8 [%w15], %r0;
;; 	bra ACCESSED_7;
;; MEMORY_8:
;; 	sub.u32 %w16, %size, 1;
;; 	setp.gt.u32 %p10, %r5, %w16;
;; 	@%p10 bra TRAP_9;
;; 	cvt.u64.u32 %l10, %r5;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b8 [%l10+0], %r0;
;; ACCESSED_7:
;; 	// i32.add_imm      r5, r4, 1024
;; 	add.s32 %r5, 1024, %r4;
;; 	// stack_pointer_set r5, global0
;; 	ld.local.b32 %w17, [%local+60];
;; 	sub.u32 %w18, %size, 1;
;; 	sub.u32 %w19, %r5, 1;
;; 	setp.ne.u32 %p11, %r5, 0;
;; 	setp.gt.and.u32 %p13, %w19, %w18, %p11;
;; 	setp.lt.or.u32 %p12, %r5, %w17, %p13;
;; 	@%p12 bra TRAP_11;
;; 	ld.const.b32 %w20, [instance+80];
;; 	mad.wide.u32 %l11, %w20, 8, %globals;
;; 	st.global.b32 [%l11], %r5;
;; 	// load64           r5, r4, +8
;; 	sub.u32 %w21, %r4, %frame_low;
;; 	add.u32 %w21, %w21, 8;
;; 	setp.lt.u32 %p14, %w21, %frame_size;
;; 	@!%p14 bra MEMORY_13;
;; 	add.u32 %w22, %frame, %w21;
;; 	ld.local.u64 %d5, [%w22];
;; 	bra ACCESSED_12;
;; MEMORY_13:
;; 	sub.u32 %w23, %size, 16;
;; 	setp.gt.u32 %p15, %r4, %w23;
;; 	@%p15 bra TRAP_14;
;; 	cvt.u64.u32 %l12, %r4;
;; 	add.s64 %l12, %base, %l12;
;; 	ld.global.u64 %d5, [%l12+8];
;; ACCESSED_12:
;; 	// return           header 2, r5, x2
;; 	mov.b32 %w24, 0;
;; COPY_15:
;; 	setp.ge.u32 %p16, %w24, %frame_size;
;; 	@%p16 bra COPIED_16;
;; 	cvt.u64.u32 %l13, %w24;
;; 	add.s64 %l14, %frame_at, %l13;
;; 	add.u32 %w25, %frame, %w24;
;; 	ld.local.b64 %l15, [%w25];
;; 	add.u32 %w26, %frame, %w24;
;; 	ld.local.b64 %l16, [%w26+8];
;; 	st.global.b64 [%l14], %l15;
;; 	st.global.b64 [%l14+8], %l16;
;; 	add.u32 %w24, %w24, 16;
;; 	bra COPY_15;
;; COPIED_16:
;; 	ld.global.b64 %l17, [%launch+88];
;; 	ld.local.b32 %w27, [%local+24];
;; 	mad.wide.u32 %l17, %w27, 8, %l17;
;; 	mov.b64 {%w28, %w29}, %d5;
;; 	st.global.b32 [%l17+0], %w28;
;; 	st.global.b32 [%l17+4], %w29;
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
;; 	mov.b32 %w30, 0;
;; COPY_17:
;; 	setp.ge.u32 %p17, %w30, %frame_size;
;; 	@%p17 bra COPIED_18;
;; 	cvt.u64.u32 %l19, %w30;
;; 	add.s64 %l20, %frame_at, %l19;
;; 	add.u32 %w31, %frame, %w30;
;; 	ld.local.b64 %l21, [%w31];
;; 	add.u32 %w32, %frame, %w30;
;; 	ld.local.b64 %l22, [%w32+8];
;; 	st.global.b64 [%l20], %l21;
;; 	st.global.b64 [%l20+8], %l22;
;; 	add.u32 %w30, %w30, 16;
;; 	bra COPY_17;
;; COPIED_18:
;; 	ld.const.b32 %w33, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w33;
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
