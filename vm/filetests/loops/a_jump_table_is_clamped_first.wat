;; test ptx
;; An index beyond a jump table's end takes the last target.
;; has: brx.idx

(module
  (func (export "choose") (param $which i32) (result i32)
    (block $two (block $one (block $zero
      (br_table $zero $one $two (local.get $which)))
      (return (i32.const 10)))
      (return (i32.const 20)))
    (i32.const 30)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;;
;; // choose
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// br_table         r0, 3 [@4, @6, @8]
;; 	min.u32 %w1, %r0, 2;
;; TABLE_1: .branchtargets B1, B2, B3;
;; 	brx.idx %w1, TABLE_1;
;; B1:
;; 	// const32          r3, 10
;; 	mov.b32 %r3, 0xa;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// const32          r3, 20
;; 	mov.b32 %r3, 0x14;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B3:
;; 	// const32          r3, 30
;; 	mov.b32 %r3, 0x1e;
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
