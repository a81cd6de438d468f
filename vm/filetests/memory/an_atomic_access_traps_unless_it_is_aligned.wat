;; test ptx
;; The alignment of an atomic access is checked where it is not known.
;; has: fence.sc.gpu
;; has: bra TRAP_

(module
  (memory 1 1 shared)
  (func (export "acquire") (param $lock i32) (result i32)
    (i32.atomic.rmw.cmpxchg (local.get $lock) (i32.const 0) (i32.const 1))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // acquire
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<5>;
;; 	.reg .b64 %l<4>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// const32          r5, 1
;; 	mov.b32 %r5, 0x1;
;; 	// const32          r4, 0
;; 	mov.b32 %r4, 0x0;
;; 	// i32.atomic.rmw.cmpxchg r3, r0, r4, +0, r5, memory0
;; 	sub.u32 %w1, %size, 4;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	cvt.u64.u32 %l1, %r0;
;; 	add.s64 %l1, %base, %l1;
;; 	add.s64 %l2, %l1, 0;
;; 	cvt.u32.u64 %w2, %l2;
;; 	and.b32 %w2, %w2, 3;
;; 	setp.ne.u32 %p2, %w2, 0;
;; 	@%p2 bra TRAP_2;
;; 	fence.sc.gpu;
;; 	atom.acquire.gpu.global.cas.b32 %w3, [%l2], %r4, %r5;
;; 	mov.b32 %r3, %w3;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 3;
;; 	bra TRAP_BOUNDS;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	ld.const.b32 %w4, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w4;
;; 	cvta.local.u64 %l3, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l3;
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
