;; test ptx --samples --alone --only f0
;; After its call the frame marks nothing, because its end is near. So the mark of the call is still there when the function runs
;; the next time, and would tell that the callee runs. The function marks its beginning, for its first mark is far.
;; has: , 2147483649;

(module
  (func $work (param $n i32) (result i32)
    (local $x i32)
    (local.set $x (i32.mul (i32.add (i32.rotl (local.get $n) (i32.const 3)) (i32.const 5)) (i32.const 7)))
    (local.set $x (i32.xor (i32.rotl (local.get $x) (i32.const 5)) (i32.mul (local.get $x) (local.get $n))))
    (local.set $x (i32.add (i32.rotl (local.get $x) (i32.const 9)) (i32.mul (local.get $x) (local.get $n))))
    (if (i32.eqz (local.get $n)) (then (return (local.get $x))))
    (call $other (i32.sub (local.get $x) (i32.const 1))))
  (func $other (param $n i32) (result i32)
    (i32.mul (local.get $n) (i32.const 3)))
  (func (export "twice") (param $n i32) (result i32)
    (i32.add (call $work (local.get $n)) (call $work (i32.const 7)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b64 row, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b64 %row, %next_row;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<5>;
;; 	.reg .b64 %l<2>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.param.b64 %row, [row];
;; 	ld.param.b32 %r0, [a0+0];
;; 	{
;; 	.reg .b32 %at, %last, %upper;
;; 	mov.b64 {%at, %upper}, %row;
;; 	or.b32 %last, %at, 15360;
;; 	add.u32 %at, %at, 512;
;; 	min.u32 %at, %at, %last;
;; 	mov.b64 %next_row, {%at, %upper};
;; 	}
;; 	add.u32 %deeper, %depth, 1;
;; 	mov.b32 %w1, 0;
;; 	add.u32 %w1, %w1, 2147483649;
;; 	st.relaxed.gpu.global.b32 [%row], %w1;
;; B0:
;; 	// i32.rotl_imm     r4, r0, 3
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 3;
;; 	shf.l.wrap.b32 %r4, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add_imm      r4, r4, 5
;; 	add.s32 %r4, 5, %r4;
;; 	// i32.mul_imm      r3, r4, 7
;; 	mul.lo.s32 %r3, 7, %r4;
;; 	// i32.rotl_imm     r4, r3, 5
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 5;
;; 	shf.l.wrap.b32 %r4, %r3, %r3, %xa1;
;; 	}
;; 	// i32.mul          r5, r3, r0
;; 	mul.lo.s32 %r5, %r0, %r3;
;; 	// i32.xor          r3, r4, r5
;; 	xor.b32 %r3, %r5, %r4;
;; 	// i32.rotl_imm     r4, r3, 9
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 9;
;; 	shf.l.wrap.b32 %r4, %r3, %r3, %xa1;
;; 	}
;; 	// i32.mul_add      r3, r3, r0, r4
;; 	mad.lo.s32 %r3, %r0, %r3, %r4;
;; 	// br_i32.ne_imm    r0, 0, @12
;; 	setp.ne.b32 %p1, %r0, 0;
;; 	@%p1 bra B2;
;; B1:
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; B2:
;; 	// i32.add_imm      r4, r3, -1
;; 	add.s32 %r4, -1, %r3;
;; 	// call             r4, other
;; 	and.b32 %w2, %depth, 63;
;; 	mad.wide.u32 %l1, %w2, 4, %local;
;; 	mov.b32 %w3, 0;
;; 	add.u32 %w3, %w3, 14;
;; 	st.local.b32 [%l1+72], %w3;
;; 	st.relaxed.gpu.global.b32 [%row], %w3;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b64 q3;
;; 	st.param.b64 [q3], %next_row;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r4;
;; 	.param .align 16 .b8 q[4];
;; 	call (q), f1, (q0, q1, q2, q3, p0);
;; 	ld.param.b32 %r4, [q+0];
;; 	}
;; CALLED_11:
;; 	// return           header 1, r4, x1
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; }
