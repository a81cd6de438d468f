;; test ptx
;; `$x` holds what was passed or a sum, and `$y` what was passed or `$x`. The sum becomes canonical where it is made,
;; because later nothing tells it from a value whose bits stay.
;; has: setp.nan.f32

(module
  (func (export "f") (param $a f32) (param $kept f32) (param $c i32) (param $d i32) (result f32)
    (local $x f32) (local $y f32)
    (local.set $x (local.get $kept))
    (local.set $y (local.get $kept))
    (if (local.get $c) (then (local.set $x (f32.add (local.get $a) (local.get $a)))))
    (if (local.get $d) (then (local.set $y (local.get $x))))
    (local.get $y)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3);
;;
;; // f
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<14>;
;; 	.reg .b64 %d<14>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.param.b32 %r2, [a2+0];
;; 	ld.param.b32 %r3, [a3+0];
;; B0:
;; 	// copy32           r6, r1
;; 	mov.b32 %r6, %r1;
;; 	// copy32           r7, r1
;; 	mov.b32 %r7, %r1;
;; 	// br_unless        r2, @5
;; 	setp.ne.u32 %p1, %r2, 0;
;; 	@!%p1 bra B2;
;; B1:
;; 	// f32.add          r6, r0, r0
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<4>;
;; 	add.rn.f32 %xr3, %r0, %r0;
;; 	setp.nan.f32 %xp1, %xr3, %xr3;
;; 	selp.b32 %r6, 2143289344, %xr3, %xp1;
;; 	}
;; B2:
;; 	// br_unless        r3, @7
;; 	setp.ne.u32 %p2, %r3, 0;
;; 	@!%p2 bra B4;
;; B3:
;; 	// copy32           r7, r6
;; 	mov.b32 %r7, %r6;
;; B4:
;; 	// return           header 4, r7, x1
;; 	st.param.b32 [ret+0], %r7;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
