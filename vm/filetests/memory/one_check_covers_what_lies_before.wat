;; test ptx
;; The first access compares with memory's size. What lies before it is then known to be inside.
;; has: bra TRAP_1;
;; lacks: TRAP_2

(module
  (memory 1)
  (func (export "fields") (param $p i32) (result i32)
    (i32.add (i32.load offset=12 (local.get $p)) (i32.load8_u offset=4 (local.get $p)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // fields
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<7>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// load32           r3, r0, +12
;; 	sub.u32 %w1, %size, 16;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	cvt.u64.u32 %l1, %r0;
;; 	add.s64 %l1, %base, %l1;
;; 	and.b64 %l2, %l1, -4;
;; 	cvt.u32.u64 %w2, %l1;
;; 	shl.b32 %w3, %w2, 3;
;; 	ld.global.b32 %w4, [%l2+12];
;; 	ld.global.b32 %w5, [%l2+16];
;; 	shf.r.wrap.b32 %r3, %w4, %w5, %w3;
;; 	// i32.load8_u      r4, r0, +4
;; 	cvt.u64.u32 %l3, %r0;
;; 	add.s64 %l3, %base, %l3;
;; 	ld.global.u8 %r4, [%l3+4];
;; 	// i32.add          r3, r3, r4
;; 	add.s32 %r3, %r4, %r3;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 1;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	ld.const.b32 %w6, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w6;
;; 	cvta.local.u64 %l4, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
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
