;; test ptx
;; A local is a loaded value on one path and a root on the other. The root becomes canonical on its own path, so
;; that the loaded value keeps its bits.
;; has: selp.b32 %r4, 2143289344

(module
  (memory 1)
  (func (export "either") (param $which i32) (param $x f32)
    (local $v f32)
    (if (local.get $which)
      (then (local.set $v (f32.load (i32.const 0))))
      (else (local.set $v (f32.sqrt (local.get $x)))))
    (f32.store (i32.const 4) (local.get $v))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1);
;;
;; // either
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// zero             r4, x1
;; 	mov.b32 %r4, 0;
;; 	mov.b64 %d4, 0;
;; 	// br_unless        r0, @6
;; 	setp.ne.u32 %p1, %r0, 0;
;; 	@!%p1 bra B2;
;; B1:
;; 	// const32          r5, 0
;; 	mov.b32 %r5, 0x0;
;; 	// load32           r4, r5, +0
;; 	cvt.u64.u32 %l1, %r5;
;; 	add.s64 %l1, %base, %l1;
;; 	ld.global.b32 %r4, [%l1+0];
;; 	// jump             @7
;; 	bra B3;
;; B2:
;; 	// f32.sqrt         r4, r1
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<3>;
;; 	sqrt.rn.f32 %xr2, %r1;
;; 	setp.ltu.f32 %xp1, %r1, 0f00000000;
;; 	selp.b32 %r4, 2143289344, %xr2, %xp1;
;; 	}
;; B3:
;; 	// const32          r5, 4
;; 	mov.b32 %r5, 0x4;
;; 	// store32          r5, r4, +0
;; 	cvt.u64.u32 %l2, %r5;
;; 	add.s64 %l2, %base, %l2;
;; 	st.global.b32 [%l2+0], %r4;
;; 	// return           header 2, r0, x0
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
