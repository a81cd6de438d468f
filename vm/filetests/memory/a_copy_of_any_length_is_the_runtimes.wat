;; test ptx
;; A copy whose length is not known is the runtime's, which checks the bounds too.
;; has: call gpu_run_copy

(module
  (memory 1)
  (func (export "move") (param $to i32) (param $from i32) (param $len i32)
    (memory.copy (local.get $to) (local.get $from) (local.get $len))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // move
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<12>;
;; 	.reg .b64 %d<12>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<6>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.param.b32 %r2, [a2+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// memory.copy      r0, r1, r2, memory0, memory0
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %base;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %size;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %r0;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %r1;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %r2;
;; 	.param .b32 result;
;; 	call (result), gpu_run_copy_short, (q0, q1, q2, q3, q4);
;; 	ld.param.b32 %w1, [result];
;; 	}
;; 	setp.eq.u32 %p1, %w1, 0;
;; 	@%p1 bra MORE_1;
;; DONE_2:
;; 	// return           header 3, r0, x0
;; 	ret;
;; MORE_1:
;; 	ld.const.b64 %l1, [instance+8];
;; 	cvt.u64.u32 %l2, %r0;
;; 	cvt.u64.u32 %l3, %r1;
;; 	cvt.u64.u32 %l4, %r2;
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %w2, %w2, 1;
;; 	cvta.local.u64 %l5, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l5;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w2;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %l1;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l1;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l2;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l3;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l4;
;; 	call gpu_run_copy, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	}
;; 	bra DONE_2;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
