;; test ptx
;; A loop that is known to have few passes does not look at the stop flag. It takes them from the budget before.
;; has: sub.u32 %budget, %budget, 256;
;; lacks: POLL

(module
  (func (export "f") (param i32) (result i32) (local i32)
    (loop $again
      (local.set 0 (i32.mul (local.get 0) (i32.const 3)))
      (br_if $again (i32.ne (local.tee 1 (i32.add (local.get 1) (i32.const 1))) (i32.const 4096))))
    (local.get 0)))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;;
;; // f
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<10>;
;; 	.reg .b64 %d<10>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; 	bra LOOP1;
;; LOOP1:
;; 	sub.u32 %budget, %budget, 256;
;; B1_1:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_2;
;; B1_2:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_3;
;; B1_3:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_4;
;; B1_4:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_5;
;; B1_5:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_6;
;; B1_6:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_7;
;; B1_7:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_8;
;; B1_8:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_9;
;; B1_9:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_10;
;; B1_10:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_11;
;; B1_11:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_12;
;; B1_12:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_13;
;; B1_13:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_14;
;; B1_14:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_15;
;; B1_15:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	bra B1_16;
;; B1_16:
;; 	// i32.mul_imm      r0, r0, 3
;; 	mul.lo.s32 %r0, 3, %r0;
;; 	// br_i32.add_ne_imm r3, r3, 1, 4096, @2
;; 	add.u32 %r3, %r3, 16;
;; 	setp.ne.u32 %p1, %r3, 4096;
;; 	@%p1 bra B1_1;
;; B2:
;; 	// return           header 1, r0, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r0;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
