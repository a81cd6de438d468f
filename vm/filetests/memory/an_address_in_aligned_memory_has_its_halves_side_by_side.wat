;; test ptx --aligned-memory
;; Memory begins at a multiple of 4 GiB: no sum is needed, but for what does not fit an instruction.
;; has: mov.b64 %l1, {%r0, %high};
;; has: ld.const.b32 %high, [instance+20];
;; lacks: %base, %l

(module
  (memory 1)
  (func (export "first") (param $p i32) (result i32)
    (i32.load8_u offset=4 (local.get $p))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // first
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b32 %high, [instance+20];
;; B0:
;; 	// i32.load8_u      r3, r0, +4
;; 	sub.u32 %w1, %size, 5;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	mov.b64 %l1, {%r0, %high};
;; 	ld.global.u8 %r3, [%l1+4];
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 1;
;; 	bra TRAP_BOUNDS;
;; TRAP_BOUNDS:
;; 	mov.b32 %trap_kind, 2;
;; TRAP:
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w2;
;; 	cvta.local.u64 %l2, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
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
