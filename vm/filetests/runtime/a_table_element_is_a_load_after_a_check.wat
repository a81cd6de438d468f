;; test ptx
;; An element of a table is a load after a check of the index.
;; has: bra TRAP_
;; lacks: gpu_run_op

(module
  (table $handlers 8 funcref)
  (func (export "is_set") (param $i i32) (result i32)
    (i32.eqz (ref.is_null (table.get $handlers (local.get $i))))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;; .visible .const .align 4 .b32 starts[1] = {0};
;;
;; // is_set
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<3>;
;; 	.reg .b64 %l<5>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; B0:
;; 	// table.get        r3, r0, table0
;; 	ld.const.b64 %l1, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l1+8];
;; 	setp.ge.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	ld.global.b64 %l2, [%l1+0];
;; 	mad.wide.u32 %l3, %r0, 4, %l2;
;; 	ld.relaxed.gpu.global.b32 %r3, [%l3];
;; 	// ref.is_null      r3, r3
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.eq.b32 %xp1, %r3, 0;
;; 	selp.b32 %r3, 1, 0, %xp1;
;; 	}
;; 	// i32.eqz          r3, r3
;; 	{
;; 	.reg .pred %xp<2>;
;; 	setp.eq.b32 %xp1, %r3, 0;
;; 	selp.b32 %r3, 1, 0, %xp1;
;; 	}
;; 	// return           header 1, r3, x1
;; 	st.param.b32 [ret+0], %r3;
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 1;
;; 	mov.b32 %trap_kind, 3;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w2;
;; 	cvta.local.u64 %l4, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
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
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
