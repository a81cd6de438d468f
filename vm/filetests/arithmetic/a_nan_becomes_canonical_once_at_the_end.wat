;; test ptx
;; Arithmetic leaves the GPU's NaN. Only the result, whose bits a caller can see, becomes the canonical one.
;; has: setp.nan.f32

(module
  (func (export "scale") (param $x f32) (param $y f32) (result f32)
    (f32.add (f32.mul (local.get $x) (local.get $y)) (local.get $x))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;;
;; // scale
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .b32 %w<2>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; B0:
;; 	// f32.mul_add      r4, r0, r1, r0
;; 	{
;; 	.reg .b32 %xr<5>;
;; 	mul.rn.f32 %xr4, %r0, %r1;
;; 	add.rn.f32 %r4, %xr4, %r0;
;; 	}
;; 	// return           header 2, r4, x1
;; 	setp.nan.f32 %p1, %r4, %r4;
;; 	selp.b32 %w1, 0x7fc00000, %r4, %p1;
;; 	st.param.b32 [ret+0], %w1;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
