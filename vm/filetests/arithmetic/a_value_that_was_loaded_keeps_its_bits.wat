;; test ptx
;; A float that goes from memory to memory keeps its bits, also those of a NaN.
;; lacks: setp.nan

(module
  (memory 1)
  (func (export "copy")
    (f32.store (i32.const 8) (f32.load (i32.const 4)))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size);
;;
;; // copy
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b64 %l<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// const32          r3, 4
;; 	mov.b32 %r3, 0x4;
;; 	// load32           r3, r3, +0
;; 	cvt.u64.u32 %l1, %r3;
;; 	add.s64 %l1, %base, %l1;
;; 	ld.global.b32 %r3, [%l1+0];
;; 	// const32          r2, 8
;; 	mov.b32 %r2, 0x8;
;; 	// store32          r2, r3, +0
;; 	cvt.u64.u32 %l2, %r2;
;; 	add.s64 %l2, %base, %l2;
;; 	st.global.b32 [%l2+0], %r3;
;; 	// return           header 0, r0, x0
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
