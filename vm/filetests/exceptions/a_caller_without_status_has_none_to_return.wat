;; test ptx --alone --only f2
;; A function that can be called through a table has a status where another one there may throw. A caller that knows
;; that it does not throw has none.
;; has: THROWN_
;; has: exit;
;; lacks: [ret]

(module
  (tag $e)
  (table funcref (elem $quiet $throws))
  (func $quiet)
  (func $throws (throw $e))
  (func $caller (call $quiet))
  (func (export "f") (call $caller) (call_indirect (i32.const 0))))

;; .func f2(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<6>;
;; 	.reg .b64 %d<6>;
;; 	.reg .b32 %w<4>;
;; 	.reg .b64 %l<3>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	add.u32 %deeper, %depth, 1;
;; B0:
;; 	// call             r2, quiet
;; 	and.b32 %w1, %depth, 63;
;; 	mad.wide.u32 %l1, %w1, 4, %local;
;; 	ld.const.b32 %w2, [starts+8];
;; 	add.u32 %w2, %w2, 2;
;; 	st.local.b32 [%l1+72], %w2;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .align 16 .b8 q[16];
;; 	call (q), f0, (q0, q1, q2);
;; 	ld.param.b32 %w3, [q];
;; 	}
;; 	setp.ne.u32 %p1, %w3, 0;
;; 	@%p1 bra STATUS_2;
;; CALLED_1_AFTER:
;; CALLED_1:
;; 	// return           header 0, r0, x0
;; 	ret;
;; STATUS_2:
;; 	setp.ne.u32 %p2, %w3, 2;
;; 	@%p2 bra THROWN_3;
;; 	ld.local.b64 %l2, [%local+64];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .align 16 .b8 q[16];
;; TYPE_4: .callprototype (.param .align 16 .b8 _[16]) _ (.param .b32 _, .param .b32 _);
;; 	call (q), %l2, (q0, q1), TYPE_4;
;; 	ld.param.b32 %w3, [q];
;; 	}
;; 	setp.ne.u32 %p2, %w3, 0;
;; 	@%p2 bra STATUS_2;
;; 	bra CALLED_1_AFTER;
;; THROWN_3:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	exit;
;; }
