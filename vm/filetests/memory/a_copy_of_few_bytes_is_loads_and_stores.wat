;; test ptx
;; A copy of six bytes loads all of them before it stores the first, as the two may overlap.
;; lacks: gpu_run_copy

(module
  (memory 1)
  (func (export "shift") (param $at i32)
    (memory.copy (local.get $at) (i32.shl (local.get $at) (i32.const 2)) (i32.const 6))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // shift
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<12>;
;; 	.reg .b64 %l<8>;
;; 	.reg .pred %p<7>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// i32.shl_imm      r4, r0, 2
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 2, 31;
;; 	shl.b32 %r4, %r0, %xr3;
;; 	}
;; 	// const32          r5, 6
;; 	mov.b32 %r5, 0x6;
;; 	// memory.copy      r0, r4, r5, memory0, memory0
;; 	sub.u32 %w1, %size, 6;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_2;
;; 	cvt.u64.u32 %l1, %r0;
;; 	add.s64 %l1, %base, %l1;
;; 	sub.u32 %w2, %size, 6;
;; 	setp.gt.u32 %p2, %r4, %w2;
;; 	@%p2 bra TRAP_2;
;; 	cvt.u64.u32 %l2, %r4;
;; 	add.s64 %l2, %base, %l2;
;; 	ld.global.b32 %w3, [%l2+0];
;; 	ld.global.u16 %w4, [%l2+4];
;; 	add.s64 %l3, %l1, 0;
;; 	cvt.u32.u64 %w5, %l3;
;; 	and.b32 %w5, %w5, 3;
;; 	setp.ne.u32 %p3, %w5, 0;
;; 	@%p3 bra BYTES_3;
;; 	st.global.b32 [%l1+0], %w3;
;; STORED_4:
;; 	add.s64 %l5, %l1, 4;
;; 	cvt.u32.u64 %w8, %l5;
;; 	and.b32 %w8, %w8, 1;
;; 	setp.ne.u32 %p5, %w8, 0;
;; 	@%p5 bra BYTES_6;
;; 	st.global.b16 [%l1+4], %w4;
;; STORED_7:
;; 	// return           header 1, r0, x0
;; 	ret;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 3;
;; 	bra TRAP_BOUNDS;
;; BYTES_3:
;; 	mov.b32 %w6, %w3;
;; 	mov.b64 %l4, %l3;
;; 	mov.b32 %w7, 4;
;; NEXT_BYTE_5:
;; 	.pragma "nounroll";
;; 	st.global.b8 [%l4], %w6;
;; 	shr.u32 %w6, %w6, 8;
;; 	add.s64 %l4, %l4, 1;
;; 	sub.u32 %w7, %w7, 1;
;; 	setp.ne.u32 %p4, %w7, 0;
;; 	@%p4 bra NEXT_BYTE_5;
;; 	bra STORED_4;
;; BYTES_6:
;; 	mov.b32 %w9, %w4;
;; 	mov.b64 %l6, %l5;
;; 	mov.b32 %w10, 2;
;; NEXT_BYTE_8:
;; 	.pragma "nounroll";
;; 	st.global.b8 [%l6], %w9;
;; 	shr.u32 %w9, %w9, 8;
;; 	add.s64 %l6, %l6, 1;
;; 	sub.u32 %w10, %w10, 1;
;; 	setp.ne.u32 %p6, %w10, 0;
;; 	@%p6 bra NEXT_BYTE_8;
;; 	bra STORED_7;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	ld.const.b32 %w11, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w11;
;; 	cvta.local.u64 %l7, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l7;
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
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
