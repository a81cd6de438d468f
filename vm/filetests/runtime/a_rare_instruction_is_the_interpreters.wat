;; test ptx
;; An instruction that runs seldom or takes long is the interpreter's own. The runtime takes its operands and its
;; words.
;; has: call gpu_run_op

(module
  (memory 1)
  (data $text "some words")
  (func (export "write") (param $at i32) (param $len i32)
    (memory.init $text (local.get $at) (i32.const 0) (local.get $len)))
  (func (export "more") (result i32)
    (memory.grow (i32.const 1))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size);
;; .visible .const .align 4 .b32 starts[2] = {0, 5};
;; .global .align 8 .b64 words_0_2[2] = {0x800040000002c, 0x0};
;; .global .align 8 .b64 words_1_2[1] = {0x400000029};
;;
;; // write
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; B0:
;; 	// const32          r5, 0
;; 	mov.b32 %r5, 0x0;
;; 	// memory.init      r0, r5, r1, memory0, data0
;; 	st.local.b32 [%local+712], %r0;
;; 	st.local.b32 [%local+728], %r5;
;; 	st.local.b32 [%local+744], %r1;
;; 	ld.const.b32 %w1, [instance+48];
;; 	mov.u64 %l1, words_0_2;
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %w2, %w2, 2;
;; 	cvta.local.u64 %l2, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w2;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w1;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l1;
;; 	call gpu_run_op, (q0, q1, q2, q3, q4);
;; 	}
;; 	// return           header 2, r0, x0
;; 	ret;
;; }
;;
;; // more
;; .func (.param .align 16 .b8 ret[4]) f1(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; B0:
;; 	// const32          r3, 1
;; 	mov.b32 %r3, 0x1;
;; 	// memory.grow      r3, r3, memory0
;; 	st.local.b32 [%local+728], %r3;
;; 	ld.const.b32 %w1, [instance+48];
;; 	mov.u64 %l1, words_1_2;
;; 	ld.const.b32 %w2, [starts+4];
;; 	add.u32 %w2, %w2, 2;
;; 	cvta.local.u64 %l2, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w2;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w1;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l1;
;; 	call gpu_run_op, (q0, q1, q2, q3, q4);
;; 	}
;; 	ld.local.b32 %r3, [%local+712];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[2] = {f0, f1};
;; .visible .global .align 8 .u64 tails[2] = {0, 0};
