;; test ptx --only f1
;; After the call, a unit holds the sum or what was thrown. The sum's NaN becomes canonical before, as what was
;; thrown has bits that stay.
;; has: setp.nan.f32

(module
  (tag $e (param f32))
  (func $may_throw (param i32) (if (local.get 0) (then (throw $e (f32.const 1)))))
  (func (export "sum") (param f32 f32 i32) (result f32)
    (block $caught (result f32)
      (f32.add (local.get 0) (local.get 1))
      (try_table (param f32) (result f32) (catch $e $caught) (call $may_throw (local.get 2))))))

;; .func (.param .align 16 .b8 ret[20]) f1(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b32 %w<13>;
;; 	.reg .b64 %l<6>;
;; 	.reg .pred %p<8>;
;; 	.local .align 4 .b8 outer_call[4];
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.param.b32 %r2, [a2+0];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	add.u32 %deeper, %depth, 1;
;; B0:
;; 	// f32.add          r5, r0, r1
;; 	{
;; 	.reg .pred %xp<2>;
;; 	.reg .b32 %xr<4>;
;; 	add.rn.f32 %xr3, %r0, %r1;
;; 	setp.nan.f32 %xp1, %xr3, %xr3;
;; 	selp.b32 %r5, 2143289344, %xr3, %xp1;
;; 	}
;; 	// copy32           r6, r2
;; 	mov.b32 %r6, %r2;
;; 	// call             r6, may_throw
;; 	setp.ge.u32 %p1, %depth, 64;
;; 	mad.wide.u32 %l1, %depth, 4, %local;
;; 	@%p1 bra UNUSUAL_2;
;; USUAL_3:
;; 	ld.const.b32 %w1, [starts+4];
;; 	add.u32 %w1, %w1, 4;
;; 	st.local.b32 [%l1+72], %w1;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %r6;
;; 	.param .align 16 .b8 q[16];
;; 	call (q), f0, (q0, q1, q2, p0);
;; 	ld.param.b32 %w2, [q];
;; 	}
;; CAME_BACK_4:
;; 	setp.ne.u32 %p3, %w2, 0;
;; 	@%p3 bra STATUS_7;
;; CALLED_6_AFTER:
;; 	setp.ge.u32 %p7, %depth, 64;
;; 	@%p7 bra PUT_BACK_13;
;; IS_BACK_14:
;; CALLED_6:
;; B1:
;; 	// return           header 3, r5, x1
;; 	st.param.b32 [ret], 0;
;; 	st.param.b32 [ret+16], %r5;
;; 	ret;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 10;
;; 	bra TRAP;
;; UNUSUAL_2:
;; 	and.b32 %w3, %depth, 63;
;; 	mad.wide.u32 %l1, %w3, 4, %local;
;; 	ld.local.b32 %w4, [%l1+72];
;; 	st.local.b32 [outer_call], %w4;
;; 	sub.u32 %w5, %depth, 65;
;; 	setp.lt.u32 %p2, %w5, 16;
;; 	@%p2 st.local.b32 [%l1+324], %w4;
;; 	bra USUAL_3;
;; STATUS_7:
;; 	setp.ne.u32 %p4, %w2, 2;
;; 	@%p4 bra THROWN_8;
;; 	ld.local.b64 %l2, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[16];
;; TYPE_9: .callprototype (.param .align 16 .b8 _[16]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_9;
;; 	ld.param.b32 %w2, [q];
;; 	}
;; 	setp.ne.u32 %p4, %w2, 0;
;; 	@%p4 bra STATUS_7;
;; 	bra CALLED_6_AFTER;
;; THROWN_8:
;; 	setp.ge.u32 %p5, %depth, 64;
;; 	@%p5 bra PUT_BACK_10;
;; 	bra IS_BACK_11;
;; PUT_BACK_10:
;; 	and.b32 %w7, %depth, 63;
;; 	mad.wide.u32 %l3, %w7, 4, %local;
;; 	ld.local.b32 %w6, [outer_call];
;; 	st.local.b32 [%l3+72], %w6;
;; IS_BACK_11:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b32 %w8, [instance+96];
;; 	ld.local.b32 %w9, [%local+40];
;; 	setp.eq.u32 %p6, %w9, %w8;
;; 	@%p6 bra CATCH_12;
;; 	st.param.b32 [ret], 1;
;; 	ret;
;; CATCH_12:
;; 	ld.local.b32 %r5, [%local+936];
;; 	bra B1;
;; PUT_BACK_13:
;; 	and.b32 %w11, %depth, 63;
;; 	mad.wide.u32 %l4, %w11, 4, %local;
;; 	ld.local.b32 %w10, [outer_call];
;; 	st.local.b32 [%l4+72], %w10;
;; 	bra IS_BACK_14;
;; TRAP:
;; 	ld.const.b32 %w12, [starts+4];
;; 	add.u32 %trap_pc, %trap_pc, %w12;
;; 	cvta.local.u64 %l5, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l5;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; }
