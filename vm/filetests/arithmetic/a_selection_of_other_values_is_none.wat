;; test ptx
;; The second selection is of a value that was written since it was compared, so it stays one.
;; has: min.u32 %r
;; has: selp.b32 %r
;; lacks: max.

(module
  (func (export "f") (param $x i32) (param $y i32) (result i32) (local $less i32) (local $least i32)
    (local.set $less (i32.lt_u (local.get $x) (local.get $y)))
    (local.set $least (select (local.get $x) (local.get $y) (local.get $less)))
    (local.set $y (i32.mul (local.get $y) (local.get $least)))
    (select (local.get $y) (local.get $x) (local.get $less))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;;
;; // f
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
;; 	// i32.lt_u         r4, r0, r1
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.lt.u32 %xp1, %r0, %r1;
;; 	selp.b32 %r4, 1, 0, %xp1;
;; 	}
;; 	// select32         r5, r0, r1, r4
;; 	min.u32 %r5, %r0, %r1;
;; 	// i32.mul          r1, r1, r5
;; 	mul.lo.s32 %r1, %r5, %r1;
;; 	// select32         r6, r1, r0, r4
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.eq.b32 %xp1, %r4, 0;
;; 	selp.b32 %r6, %r0, %r1, %xp1;
;; 	}
;; 	// return           header 2, r6, x1
;; 	st.param.b32 [ret+0], %r6;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
