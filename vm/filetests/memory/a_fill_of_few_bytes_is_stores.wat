;; test ptx
;; Memory's last 12 bytes of a page that is always there are cleared by stores alone.
;; lacks: gpu_run_fill

(module
  (memory 1)
  (func (export "clear_last_words")
    (memory.fill (i32.const 0xfff4) (i32.const 0) (i32.const 12))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size);
;;
;; // clear_last_words
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// const32          r4, 12
;; 	mov.b32 %r4, 0xc;
;; 	// const32          r3, 0
;; 	mov.b32 %r3, 0x0;
;; 	// const32          r2, 65524
;; 	mov.b32 %r2, 0xfff4;
;; 	// memory.fill      r2, r3, r4, memory0
;; 	cvt.u64.u32 %l1, %r2;
;; 	add.s64 %l1, %base, %l1;
;; 	prmt.b32 %w1, %r3, %r3, 0;
;; 	mov.b64 %l2, {%w1, %w1};
;; 	add.s64 %l3, %l1, 0;
;; 	cvt.u32.u64 %w2, %l3;
;; 	and.b32 %w2, %w2, 7;
;; 	setp.ne.u32 %p1, %w2, 0;
;; 	@%p1 bra BYTES_1;
;; 	st.global.b64 [%l1+0], %l2;
;; STORED_2:
;; 	st.global.b32 [%l1+8], %w1;
;; 	// return           header 0, r0, x0
;; 	ret;
;; BYTES_1:
;; 	mov.b64 %l4, %l2;
;; 	st.global.b32 [%l1+0], %l4;
;; 	shr.u64 %l4, %l4, 32;
;; 	st.global.b32 [%l1+4], %l4;
;; 	shr.u64 %l4, %l4, 32;
;; 	bra STORED_2;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
