;; test ptx
;; The instruction before says that an access orders less than all: it is for the next access alone, and not across a branch.
;; has: ld.relaxed.gpu.global.b32 %w
;; has: st.release.gpu.global.b32
;; has: atom.relaxed.gpu.global.add.u32

(module
  (import "gpu_run_v1" "atomic_relaxed" (func $relaxed))
  (import "gpu_run_v1" "atomic_acq_rel" (func $acq_rel))
  (import "gpu_run_v1" "i32.atomic.load" (func $load (param i32) (result i32)))
  (import "gpu_run_v1" "i32.atomic.store" (func $store (param i32 i32)))
  (import "gpu_run_v1" "i32.atomic.rmw.add" (func $add (param i32 i32) (result i32)))
  (memory 1)
  (func (export "orders") (param $p i32) (result i32)
    (call $relaxed)
    (drop (call $load (local.get $p)))
    (call $acq_rel)
    (call $store (local.get $p) (i32.const 1))
    (call $relaxed)
    (drop (call $add (local.get $p) (i32.const 2)))
    ;; Sequentially consistent again.
    (drop (call $load (local.get $p)))
    (call $relaxed)
    (if (local.get $p) (then (drop (call $load (local.get $p)))))
    (call $load (local.get $p))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // orders
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<17>;
;; 	.reg .b64 %l<14>;
;; 	.reg .pred %p<11>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// atomic_relaxed
;; 	// i32.atomic.load  r3, r0, memory0, +0
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
;; 	ld.relaxed.gpu.global.b32 %w3, [%l2];
;; 	mov.b32 %r3, %w3;
;; 	// atomic_acq_rel
;; 	// const32          r4, 1
;; 	mov.b32 %r4, 0x1;
;; 	// i32.atomic.store r0, r4, memory0, +0
;; 	cvt.u64.u32 %l3, %r0;
;; 	add.s64 %l3, %base, %l3;
;; 	add.s64 %l4, %l3, 0;
;; 	cvt.u32.u64 %w4, %l4;
;; 	and.b32 %w4, %w4, 3;
;; 	setp.ne.u32 %p3, %w4, 0;
;; 	@%p3 bra TRAP_3;
;; 	st.release.gpu.global.b32 [%l4], %r4;
;; 	// atomic_relaxed
;; 	// const32          r4, 2
;; 	mov.b32 %r4, 0x2;
;; 	// i32.atomic.rmw.add r3, r0, r4, +0, memory0
;; 	cvt.u64.u32 %l5, %r0;
;; 	add.s64 %l5, %base, %l5;
;; 	add.s64 %l6, %l5, 0;
;; 	cvt.u32.u64 %w6, %l6;
;; 	and.b32 %w6, %w6, 3;
;; 	setp.ne.u32 %p4, %w6, 0;
;; 	@%p4 bra TRAP_4;
;; 	atom.relaxed.gpu.global.add.u32 %w7, [%l6], %r4;
;; 	mov.b32 %r3, %w7;
;; 	// i32.atomic.load  r3, r0, memory0, +0
;; 	cvt.u64.u32 %l7, %r0;
;; 	add.s64 %l7, %base, %l7;
;; 	add.s64 %l8, %l7, 0;
;; 	cvt.u32.u64 %w8, %l8;
;; 	and.b32 %w8, %w8, 3;
;; 	setp.ne.u32 %p5, %w8, 0;
;; 	@%p5 bra TRAP_5;
;; 	fence.sc.gpu;
;; 	ld.acquire.gpu.global.b32 %w9, [%l8];
;; 	mov.b32 %r3, %w9;
;; 	// atomic_relaxed
;; 	// br_unless        r0, @19
;; 	setp.ne.u32 %p6, %r0, 0;
;; 	@!%p6 bra B2;
;; B1:
;; 	// i32.atomic.load  r3, r0, memory0, +0
;; 	sub.u32 %w10, %size, 4;
;; 	setp.gt.u32 %p7, %r0, %w10;
;; 	@%p7 bra TRAP_6;
;; 	cvt.u64.u32 %l9, %r0;
;; 	add.s64 %l9, %base, %l9;
;; 	add.s64 %l10, %l9, 0;
;; 	cvt.u32.u64 %w11, %l10;
;; 	and.b32 %w11, %w11, 3;
;; 	setp.ne.u32 %p8, %w11, 0;
;; 	@%p8 bra TRAP_7;
;; 	fence.sc.gpu;
;; 	ld.acquire.gpu.global.b32 %w12, [%l10];
;; 	mov.b32 %r3, %w12;
;; B2:
;; 	// i32.atomic.load  r3, r0, memory0, +0
;; 	sub.u32 %w13, %size, 4;
;; 	setp.gt.u32 %p9, %r0, %w13;
;; 	@%p9 bra TRAP_8;
;; 	cvt.u64.u32 %l11, %r0;
;; 	add.s64 %l11, %base, %l11;
;; 	add.s64 %l12, %l11, 0;
;; 	cvt.u32.u64 %w14, %l12;
;; 	and.b32 %w14, %w14, 3;
;; 	setp.ne.u32 %p10, %w14, 0;
;; 	@%p10 bra TRAP_9;
;; 	fence.sc.gpu;
;; 	ld.acquire.gpu.global.b32 %w15, [%l12];
;; 	mov.b32 %r3, %w15;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 2;
;; 	bra TRAP_BOUNDS;
;; TRAP_2:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_3:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 10;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 13;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_6:
;; 	mov.b32 %trap_pc, 17;
;; 	bra TRAP_BOUNDS;
;; TRAP_7:
;; 	mov.b32 %trap_pc, 17;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_8:
;; 	mov.b32 %trap_pc, 19;
;; 	bra TRAP_BOUNDS;
;; TRAP_9:
;; 	mov.b32 %trap_pc, 19;
;; 	mov.b32 %trap_kind, 15;
;; 	bra TRAP;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	ld.const.b32 %w16, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w16;
;; 	cvta.local.u64 %l13, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l13;
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
