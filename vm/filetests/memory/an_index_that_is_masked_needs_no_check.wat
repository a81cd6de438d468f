;; test ptx
;; An index of at most 255 words is inside of memory, which has at least one page, and it is aligned.
;; lacks: TRAP_BOUNDS
;; lacks: BYTES_

(module
  (memory 1)
  (func (export "table") (param $i i32) (result i32)
    (i32.load offset=1024 (i32.shl (i32.and (local.get $i) (i32.const 255)) (i32.const 2)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;;
;; // table
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<9>;
;; 	.reg .b64 %d<9>;
;; 	.reg .b64 %l<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// i32.and_imm      r3, r0, 255
;; 	and.b32 %r3, 255, %r0;
;; 	// i32.shl_imm      r3, r3, 2
;; 	{
;; 	.reg .b32 %xr<4>;
;; 	and.b32 %xr3, 2, 31;
;; 	shl.b32 %r3, %r3, %xr3;
;; 	}
;; 	// load32           r3, r3, +1024
;; 	cvt.u64.u32 %l1, %r3;
;; 	add.s64 %l1, %base, %l1;
;; 	ld.global.b32 %r3, [%l1+1024];
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
