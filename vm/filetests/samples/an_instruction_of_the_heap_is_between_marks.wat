;; test ptx --samples --alone
;; An instruction that takes its time in the runtime is told apart from the code around it. A copy of few bytes does not.
;; has: st.relaxed.gpu.global.b32 [%row]

(module
  (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
  (memory 1)
  (func (export "make") (param $bytes i32) (result i32)
    (memory.copy (i32.const 64) (i32.const 0) (i32.const 8))
    (call $alloc (local.get $bytes) (i32.const 8))))

;; // make
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[4]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[944];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row, %next_row;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<10>;
;; 	.reg .b64 %l<11>;
;; 	.reg .pred %p<2>;
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
;; 	ld.local.b64 %row, [%local+904];
;; 	ld.param.b32 %r0, [args+0];
;; 	mov.b32 %w1, 0;
;; 	add.u32 %w1, %w1, 2147483649;
;; 	st.relaxed.gpu.global.b32 [%row], %w1;
;; B0:
;; 	// const32          r5, 8
;; 	mov.b32 %r5, 0x8;
;; 	// const32          r4, 0
;; 	mov.b32 %r4, 0x0;
;; 	// const32          r3, 64
;; 	mov.b32 %r3, 0x40;
;; 	// memory.copy      r3, r4, r5, memory0, memory0
;; 	cvt.u64.u32 %l2, %r3;
;; 	add.s64 %l2, %base, %l2;
;; 	cvt.u64.u32 %l3, %r4;
;; 	add.s64 %l3, %base, %l3;
;; 	ld.global.u64 %l4, [%l3+0];
;; 	st.global.b64 [%l2+0], %l4;
;; 	// const32          r4, 8
;; 	mov.b32 %r4, 0x8;
;; 	// alloc            r3, r0, r4
;; 	mov.b32 %w2, 0;
;; 	add.u32 %w2, %w2, 2147483655;
;; 	st.relaxed.gpu.global.b32 [%row], %w2;
;; 	mov.u32 %w3, %tid.x;
;; 	mov.u32 %w4, %ctaid.x;
;; 	mov.u32 %w5, %ntid.x;
;; 	mad.lo.u32 %w3, %w4, %w5, %w3;
;; 	ld.const.b64 %l5, [instance+64];
;; 	ld.const.b32 %w6, [instance+52];
;; 	ld.const.b64 %l6, [instance+56];
;; 	{
;; 	.reg .pred %xp<12>;
;; 	.reg .b32 %xr<34>;
;; 	.reg .b64 %xrd<14>;
;; 	setp.ge.u32 %xp1, %w3, %w6;
;; 	setp.gt.u32 %xp2, %r0, 1024;
;; 	setp.gt.u32 %xp3, %r4, 16;
;; 	or.pred %xp4, %xp2, %xp3;
;; 	mov.b32 %xr33, 0;
;; 	or.pred %xp5, %xp1, %xp4;
;; 	@%xp5 bra $x1_0;
;; 	add.s32 %xr8, %r0, 15;
;; 	shr.u32 %xr9, %xr8, 4;
;; 	setp.lt.u32 %xp6, %r0, 65;
;; 	max.u32 %xr10, %xr9, 1;
;; 	add.s32 %xr11, %xr10, -1;
;; 	add.s32 %xr12, %xr9, -1;
;; 	clz.b32 %xr13, %xr12;
;; 	shl.b32 %xr14, %xr13, 2;
;; 	xor.b32 %xr15, %xr14, 124;
;; 	sub.s32 %xr16, 29, %xr13;
;; 	shr.u32 %xr17, %xr12, %xr16;
;; 	and.b32 %xr18, %xr17, 3;
;; 	or.b32 %xr19, %xr15, %xr18;
;; 	add.s32 %xr20, %xr19, -4;
;; 	selp.b32 %xr1, %xr11, %xr20, %xp6;
;; 	mad.lo.s32 %xr21, %xr1, %w6, %w3;
;; 	mul.wide.u32 %xrd4, %xr21, 8;
;; 	add.s64 %xrd9, %l6, %xrd4;
;; 	ld.global.b64 %xrd3, [%xrd9];
;; 	cvt.u32.u64 %xr2, %xrd3;
;; 	setp.eq.b32 %xp7, %xr2, 0;
;; 	setp.lt.s64 %xp8, %xrd3, 0;
;; 	or.pred %xp9, %xp8, %xp7;
;; 	@%xp9 bra $x1_0;
;; 	add.s32 %xr3, %xr2, -1;
;; 	mul.wide.u32 %xrd6, %xr3, 32;
;; 	add.s64 %xrd7, %l5, %xrd6;
;; 	ld.global.b64 %xrd5, [%xrd7];
;; 	setp.eq.b64 %xp10, %xrd5, 0;
;; 	@%xp10 bra $x1_0;
;; 	add.s64 %xrd11, %xrd5, -1;
;; 	and.b64 %xrd8, %xrd11, %xrd5;
;; 	st.global.b64 [%xrd7], %xrd8;
;; 	add.s64 %xrd10, %xrd3, 4294967296;
;; 	st.global.b64 [%xrd9], %xrd10;
;; 	shl.b32 %xr22, %xr3, 10;
;; 	not.b64 %xrd12, %xrd5;
;; 	and.b64 %xrd13, %xrd12, %xrd11;
;; 	popc.b64 %xr23, %xrd13;
;; 	setp.lt.u32 %xp11, %xr1, 4;
;; 	shl.b32 %xr24, %xr1, 4;
;; 	add.s32 %xr25, %xr24, 16;
;; 	and.b32 %xr26, %xr1, 3;
;; 	add.s32 %xr27, %xr26, 5;
;; 	shr.u32 %xr28, %xr1, 2;
;; 	add.s32 %xr29, %xr28, -1;
;; 	shl.b32 %xr30, %xr27, %xr29;
;; 	shl.b32 %xr31, %xr30, 4;
;; 	selp.b32 %xr32, %xr25, %xr31, %xp11;
;; 	mad.lo.s32 %xr33, %xr32, %xr23, %xr22;
;; $x1_0:
;; 	mov.b32 %w7, %xr33;
;; $x1_end:
;; 	}
;; 	setp.ne.u32 %p1, %w7, 0;
;; 	@%p1 mov.b32 %r3, %w7;
;; 	@%p1 bra KEPT_2;
;; 	ld.const.b64 %l7, [instance+8];
;; 	mov.b32 %w8, 0;
;; 	add.u32 %w8, %w8, 7;
;; 	ld.local.b64 %l8, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l8;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w8;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %l7;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %r0;
;; 	.param .b32 q5;
;; 	st.param.b32 [q5], %r4;
;; 	.param .b32 q6;
;; 	st.param.b32 [q6], 0;
;; 	.param .b32 result;
;; 	call (result), gpu_run_allocate, (q0, q1, q2, q3, q4, q5, q6);
;; 	ld.param.b32 %r3, [result];
;; 	}
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; KEPT_2:
;; 	// return           header 1, r3, x1
;; 	ld.global.b64 %l9, [%launch+88];
;; 	ld.local.b32 %w9, [%local+24];
;; 	mad.wide.u32 %l9, %w9, 4, %l9;
;; 	st.global.b32 [%l9+0], %r3;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l10, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l10;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {0};
;; .visible .global .align 8 .u64 tails[1] = {0};
