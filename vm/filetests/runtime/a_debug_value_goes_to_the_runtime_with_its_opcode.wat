;; test ptx
;; A value goes to the runtime with the opcode; text goes through the interpreter's own code.
;; has: call gpu_run_debug

(module
  (import "gpu_run_v1" "dbg_str" (func $str (param i32 i32)))
  (import "gpu_run_v1" "dbg_f32" (func $f32 (param f32)))
  (import "gpu_run_v1" "dbg_nl" (func $nl))
  (memory 1)
  (func (export "tell") (param $x f32)
    (call $str (i32.const 4) (i32.const 4))
    (call $f32 (f32.mul (local.get $x) (local.get $x)))
    (call $nl)))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;; .global .align 8 .b64 words_0_3[1] = {0x400000072};
;;
;; // tell
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<4>;
;; 	.reg .b64 %l<6>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// const32          r4, 4
;; 	mov.b32 %r4, 0x4;
;; 	// const32          r3, 4
;; 	mov.b32 %r3, 0x4;
;; 	// dbg_str          r3, r4
;; 	st.local.b32 [%local+712], %r3;
;; 	st.local.b32 [%local+728], %r4;
;; 	ld.const.b32 %w1, [instance+48];
;; 	mov.u64 %l1, words_0_3;
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %w2, %w2, 3;
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
;; 	// f32.mul          r3, r0, r0
;; 	mul.rn.f32 %r3, %r0, %r0;
;; 	// dbg_f32          r3
;; 	setp.nan.f32 %p1, %r3, %r3;
;; 	selp.b32 %w3, 0x7fc00000, %r3, %p1;
;; 	cvt.u64.u32 %l3, %w3;
;; 	cvta.local.u64 %l4, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], 113;
;; 	.param .b64 q2;
;; 	st.param.b64 [q2], %l3;
;; 	call gpu_run_debug, (q0, q1, q2);
;; 	}
;; 	// dbg_nl
;; 	cvta.local.u64 %l5, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l5;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], 116;
;; 	.param .b64 q2;
;; 	st.param.b64 [q2], 0;
;; 	call gpu_run_debug, (q0, q1, q2);
;; 	}
;; 	// return           header 1, r0, x0
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
