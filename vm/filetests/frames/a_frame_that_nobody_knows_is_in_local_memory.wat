;; test ptx --alone --local-frames
;; The frame is copied to local memory first and back in the end. An access asks whether its address lies in the frame
;; before it asks whether it lies in memory.
;; has: .local .align 16 .b8 frame[32];
;; has: st.local.b32

(module
  (memory 1)
  (global $__stack_pointer (mut i32) (i32.const 65536))
  (func (export "last") (param $i i32)
    (local $p i32)
    (global.set $__stack_pointer (local.tee $p (i32.sub (global.get $__stack_pointer) (i32.const 32))))
    (i32.store (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2))) (local.get $i))
    (global.set $__stack_pointer (i32.add (local.get $p) (i32.const 32)))))

;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // last
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[940];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<29>;
;; 	.reg .b64 %l<23>;
;; 	.reg .pred %p<16>;
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
;; 	// i32.shl2_add     r4, r0, r3
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	shl.b32 %xr3, %r0, 2;
;; 	add.s32 %r4, %xr3, %r3;
;; 	}
;; 	// store32          r4, r0, +0
;; 	sub.u32 %w14, %r4, %frame_low;
;; 	add.u32 %w14, %w14, 0;
;; 	setp.lt.u32 %p9, %w14, %frame_size;
;; 	@!%p9 bra MEMORY_7;
;; 	add.u32 %w15, %frame, %w14;
;; 	st.local.b32 [%w15], %r0;
;; 	bra ACCESSED_6;
;; MEMORY_7:
;; 	sub.u32 %w16, %size, 4;
;; 	setp.gt.u32 %p10, %r4, %w16;
;; 	@%p10 bra TRAP_8;
;; 	cvt.u64.u32 %l10, %r4;
;; 	add.s64 %l10, %base, %l10;
;; 	st.global.b32 [%l10+0], %r0;
;; ACCESSED_6:
;; 	// i32.add_imm      r4, r3, 32
;; 	add.s32 %r4, 32, %r3;
;; 	// stack_pointer_set r4, global0
;; 	ld.local.b32 %w17, [%local+60];
;; 	sub.u32 %w18, %size, 1;
;; 	sub.u32 %w19, %r4, 1;
;; 	setp.ne.u32 %p11, %r4, 0;
;; 	setp.gt.and.u32 %p13, %w19, %w18, %p11;
;; 	setp.lt.or.u32 %p12, %r4, %w17, %p13;
;; 	@%p12 bra TRAP_10;
;; 	ld.const.b32 %w20, [instance+80];
;; 	mad.wide.u32 %l11, %w20, 8, %globals;
;; 	st.global.b32 [%l11], %r4;
;; 	// return           header 1, r0, x0
;; 	mov.b32 %w21, 0;
;; COPY_11:
;; 	setp.ge.u32 %p14, %w21, %frame_size;
;; 	@%p14 bra COPIED_12;
;; 	cvt.u64.u32 %l12, %w21;
;; 	add.s64 %l13, %frame_at, %l12;
;; 	add.u32 %w22, %frame, %w21;
;; 	ld.local.b64 %l14, [%w22];
;; 	add.u32 %w23, %frame, %w21;
;; 	ld.local.b64 %l15, [%w23+8];
;; 	st.global.b64 [%l13], %l14;
;; 	st.global.b64 [%l13+8], %l15;
;; 	add.u32 %w21, %w21, 16;
;; 	bra COPY_11;
;; COPIED_12:
;; 	ld.global.b64 %l16, [%launch+88];
;; 	ld.local.b32 %w24, [%local+24];
;; 	mad.wide.u32 %l16, %w24, 0, %l16;
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
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_8:
;; 	mov.b32 %trap_pc, 5;
;; 	bra TRAP_BOUNDS;
;; TRAP_10:
;; 	mov.b32 %trap_pc, 7;
;; 	mov.b32 %trap_kind, 11;
;; 	bra TRAP;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	mov.b32 %w25, 0;
;; COPY_13:
;; 	setp.ge.u32 %p15, %w25, %frame_size;
;; 	@%p15 bra COPIED_14;
;; 	cvt.u64.u32 %l18, %w25;
;; 	add.s64 %l19, %frame_at, %l18;
;; 	add.u32 %w26, %frame, %w25;
;; 	ld.local.b64 %l20, [%w26];
;; 	add.u32 %w27, %frame, %w25;
;; 	ld.local.b64 %l21, [%w27+8];
;; 	st.global.b64 [%l19], %l20;
;; 	st.global.b64 [%l19+8], %l21;
;; 	add.u32 %w25, %w25, 16;
;; 	bra COPY_13;
;; COPIED_14:
;; 	ld.const.b32 %w28, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w28;
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
