;; test ptx
;; An atomic `or` of a byte is one operation on the word around it.
;; has: .or.b32
;; lacks: .cas.

(module
  (memory 1 1 shared)
  (func (export "flags") (param $p i32) (param $bits i32) (result i32)
    (i32.atomic.rmw8.or_u (local.get $p) (local.get $bits))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // flags
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<7>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// i32.atomic.rmw8.or_u r4, r0, r1, +0, memory0
;; 	sub.u32 %w1, %size, 1;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	cvt.u64.u32 %l1, %r0;
;; 	add.s64 %l1, %base, %l1;
;; 	add.s64 %l2, %l1, 0;
;; 	and.b64 %l3, %l2, -4;
;; 	cvt.u32.u64 %w3, %l2;
;; 	and.b32 %w3, %w3, 3;
;; 	shl.b32 %w3, %w3, 3;
;; 	mov.b32 %w5, 0;
;; 	bfi.b32 %w5, %r1, %w5, %w3, 8;
;; 	fence.sc.gpu;
;; 	atom.acquire.gpu.global.or.b32 %w4, [%l3], %w5;
;; 	bfe.u32 %w2, %w4, %w3, 8;
;; 	mov.b32 %r4, %w2;
;; 	// return           header 2, r4, x1
;; 	st.param.b32 [ret+0], %r4;
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
