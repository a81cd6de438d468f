;; test ptx --alone --cold 0 --only f0
;; What stands in its place passes arguments and results in the context. It may throw, so that it returns a status.
;; has: gpu_run_interpret

(module
  (tag $t)
  (func $cold (param i32 i64) (result i64 f32)
    (if (i32.eqz (local.get 0)) (then (throw $t)))
    (local.get 1)
    (f32.const 1))
  (func (export "main") (result f32) (local $r f32)
    (call $cold (i32.const 1) (i64.const 2))
    (local.set $r)
    (drop)
    (local.get $r)))

;; .func (.param .align 16 .b8 ret[28]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b64 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %ctx;
;; 	.reg .b32 %depth, %instance, %answer, %w;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	cvta.local.u64 %ctx, %local;
;; 	ld.param.b32 %w, [a0+0];
;; 	st.local.b32 [%local+936], %w;
;; 	ld.param.b32 %w, [a1+0];
;; 	st.local.b32 [%local+940], %w;
;; 	ld.param.b32 %w, [a1+4];
;; 	st.local.b32 [%local+944], %w;
;; 	ld.const.b32 %instance, [instance+48];
;; 	.param .b64 q0;
;; 	.param .b32 q1;
;; 	.param .b32 q2;
;; 	.param .b32 q3;
;; 	.param .b32 q4;
;; 	.param .b64 q5;
;; 	.param .b64 q6;
;; 	.param .b64 q7;
;; 	.param .b32 q;
;; 	st.param.b64 [q0], %ctx;
;; 	st.param.b32 [q1], %depth;
;; 	st.param.b32 [q2], %instance;
;; 	ld.const.b32 %w, [starts+0];
;; 	st.param.b32 [q3], %w;
;; 	add.u32 %w, %w, 1;
;; 	st.param.b32 [q4], %w;
;; 	st.param.b64 [q5], 0;
;; 	st.param.b64 [q6], 0;
;; 	st.param.b64 [q7], 0;
;; 	call (q), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	ld.param.b32 %answer, [q];
;; 	st.param.b32 [ret], %answer;
;; 	ld.local.b32 %w, [%local+936];
;; 	st.param.b32 [ret+16], %w;
;; 	ld.local.b32 %w, [%local+940];
;; 	st.param.b32 [ret+20], %w;
;; 	ld.local.b32 %w, [%local+944];
;; 	st.param.b32 [ret+24], %w;
;; 	ret;
;; }
