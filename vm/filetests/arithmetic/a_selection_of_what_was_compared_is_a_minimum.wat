;; test ptx
;; WebAssembly has no minimum of integers. A comparison of two values and the selection of one of them are one.
;; has: min.u32 %r
;; has: max.s32 %r
;; lacks: setp.eq.b32

(module
  (func (export "clamp") (param $x i32) (param $y i32) (result i32) (local $least i32)
    (local.set $least (select (local.get $x) (local.get $y) (i32.lt_u (local.get $x) (local.get $y))))
    (select (i32.const 7) (local.get $least) (i32.lt_s (local.get $least) (i32.const 7)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;;
;; // clamp
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<13>;
;; 	.reg .b64 %d<13>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; B0:
;; 	// i32.lt_u         r7, r0, r1
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.lt.u32 %xp1, %r0, %r1;
;; 	selp.b32 %r7, 1, 0, %xp1;
;; 	}
;; 	// select32         r4, r0, r1, r7
;; 	min.u32 %r4, %r0, %r1;
;; 	// i32.lt_s_imm     r7, r4, 7
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.lt.s32 %xp1, %r4, 7;
;; 	selp.b32 %r7, 1, 0, %xp1;
;; 	}
;; 	// const32          r5, 7
;; 	mov.b32 %r5, 0x7;
;; 	// select32         r5, r5, r4, r7
;; 	max.s32 %r5, %r5, %r4;
;; 	// return           header 2, r5, x1
;; 	st.param.b32 [ret+0], %r5;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
