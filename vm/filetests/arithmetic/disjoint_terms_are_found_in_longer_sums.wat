;; test ptx
;; Terms without common bits are joined by `or` in a sum of three and more too, with other code between them.
;; has: or.b32

(module
  (func (export "more") (param $x i32) (param $e i32) (param $f i32) (param $g i32) (result i32)
    (local $sum i32)
    (local.set $sum
      (i32.add (i32.add (local.get $x) (local.get $f)) (i32.and (local.get $e) (local.get $f))))
    (local.set $f (i32.and (local.get $g) (i32.xor (local.get $e) (i32.const -1))))
    (i32.add (i32.add (local.get $sum) (local.get $f)) (local.get $x))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3);
;;
;; // more
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<14>;
;; 	.reg .b64 %d<14>;
;; 	.reg .b32 %w<5>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.param.b32 %r2, [a2+0];
;; 	ld.param.b32 %r3, [a3+0];
;; B0:
;; 	// i32.add          r7, r0, r2
;; 	add.s32 %r7, %r2, %r0;
;; 	// i32.and          r8, r1, r2
;; 	and.b32 %r8, %r2, %r1;
;; 	// i32.add          r6, r7, r8
;; 	mov.b32 %w1, %r7;
;; 	mov.b32 %w2, %r8;
;; 	add.s32 %r6, %r8, %r7;
;; 	// i32.xor_imm      r8, r1, -1
;; 	xor.b32 %r8, -1, %r1;
;; 	// i32.and          r2, r3, r8
;; 	and.b32 %r2, %r8, %r3;
;; 	// i32.add_add      r7, r6, r2, r0
;; 	add.u32 %w3, %r0, %w1;
;; 	or.b32 %w4, %w2, %r2;
;; 	add.u32 %r7, %w3, %w4;
;; 	// return           header 4, r7, x1
;; 	st.param.b32 [ret+0], %r7;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
