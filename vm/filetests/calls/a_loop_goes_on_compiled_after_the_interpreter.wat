;; test ptx --alone --cold 0.2 --only start_0
;; A block in a loop is left to the interpreter. At the loop's head the function goes on compiled, with the values that the
;; interpreter has left. There it is not known any more how far memory reaches beyond the address.
;; has: brx.idx

(module
  (memory 1)
  (table 1 funcref)
  (func (export "sum") (param $at i32) (param $end i32) (result i64)
    (local $sum i64)
    (loop $next
      (if (i32.eqz (i32.load8_u (local.get $at)))
        (then (local.set $sum (i64.mul (local.get $sum) (i64.const 3)))))
      (call_indirect (i32.const 0))
      (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (i32.load8_u (local.get $at)))))
      (br_if $next (i32.ne (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $end))))
    (local.get $sum)))

;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[8]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[952];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %ctx, %local, %base, %size_at, %globals;
;; 	.reg .b32 %cold_units;
;; 	.reg .b32 %depth, %deeper, %size, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<14>;
;; 	.reg .b64 %d<14>;
;; 	.reg .b32 %w<31>;
;; 	.reg .b64 %l<25>;
;; 	.reg .pred %p<10>;
;; 	ld.param.b64 %launch, [launch];
;; 	mov.u64 %local, context;
;; 	cvta.local.u64 %context, %local;
;; 	mov.b32 %depth, 1;
;; 	ld.local.b64 %l1, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_begin, (q0, q1);
;; 	}
;; 	ld.local.b64 %ctx, [%local+848];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.const.b64 %base, [instance+16];
;; 	ld.local.b32 %budget, [%local+28];
;; 	add.u32 %deeper, %depth, 1;
;; 	ld.param.b32 %r0, [args+0];
;; 	ld.param.b32 %r1, [args+4];
;; B0:
;; 	// zero             r4, x2
;; 	mov.b32 %r4, 0;
;; 	mov.b64 %d4, 0;
;; 	mov.b32 %r5, 0;
;; 	mov.b64 %d5, 0;
;; B1:
;; 	// i32.load8_u      r6, r0, +0
;; 	sub.u32 %w1, %size, 1;
;; 	setp.gt.u32 %p1, %r0, %w1;
;; 	@%p1 bra TRAP_1;
;; 	cvt.u64.u32 %l3, %r0;
;; 	add.s64 %l3, %base, %l3;
;; 	ld.global.u8 %r6, [%l3+0];
;; 	// br_i32.ne_imm    r6, 0, @5
;; 	setp.ne.b32 %p2, %r6, 0;
;; 	@%p2 bra B3;
;; 	bra B2;
;; B3:
;; 	// const32          r6, 0
;; 	mov.b32 %r6, 0x0;
;; 	// call_indirect    r6, r6, table0, type1 () -> ()
;; 	ld.const.b64 %l4, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w3, [%l4+8];
;; 	setp.ge.u32 %p3, %r6, %w3;
;; 	@%p3 bra TRAP_3;
;; 	ld.global.b64 %l5, [%l4+0];
;; 	mad.wide.u32 %l6, %r6, 4, %l5;
;; 	ld.relaxed.gpu.global.b32 %w5, [%l6];
;; 	setp.eq.u32 %p4, %w5, 0;
;; 	@%p4 bra TRAP_4;
;; 	sub.u32 %w5, %w5, 1;
;; 	ld.const.b64 %l9, [instance+24];
;; 	ld.const.b32 %w8, [instance+92];
;; 	mad.wide.u32 %l10, %w5, 16, %l9;
;; 	ld.global.b32 %w7, [%l10+12];
;; 	setp.ne.u32 %p4, %w7, %w8;
;; 	@%p4 bra TRAP_5;
;; 	ld.const.b64 %l12, [instance+32];
;; 	mad.wide.u32 %l13, %w5, 8, %l12;
;; 	ld.global.b64 %l14, [%l13];
;; 	setp.eq.u64 %p5, %l14, 0;
;; 	@%p5 bra CALLED_6;
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l15, %w10, 4, %local;
;; 	ld.const.b32 %w11, [starts+0];
;; 	add.u32 %w11, %w11, 8;
;; 	st.local.b32 [%l15+72], %w11;
;; 	st.local.b32 [%local+28], %budget;
;; 	{
;; 	.param .b64 q0; st.param.b64 [q0], %ctx;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; TYPE_7: .callprototype _ (.param .b64 _, .param .b32 _, .param .b32 _);
;; 	call %l14, (q0, q1, q2), TYPE_7;
;; 	}
;; 	ld.local.b32 %budget, [%local+28];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; CALLED_6:
;; 	// i32.load8_u      r8, r0, +0
;; 	cvt.u64.u32 %l16, %r0;
;; 	add.s64 %l16, %base, %l16;
;; 	ld.global.u8 %r8, [%l16+0];
;; 	// i64.extend_i32_u r8, r8
;; 	cvt.u64.u32 %d8, %r8;
;; 	// i64.add          r4, r4, r8
;; 	add.s64 %d4, %d8, %d4;
;; 	// br_i32.add_ne    r0, r0, 1, r1, @2
;; 	add.u32 %r0, %r0, 1;
;; 	setp.ne.u32 %p6, %r0, %r1;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p7, %budget, 0;
;; 	@%p7 bra POLL_11;
;; COUNTED_12:
;; 	@%p6 bra B1;
;; B4:
;; 	// return           header 2, r4, x2
;; 	ld.global.b64 %l17, [%launch+88];
;; 	ld.local.b32 %w14, [%local+24];
;; 	mad.wide.u32 %l17, %w14, 8, %l17;
;; 	mov.b64 {%w15, %w16}, %d4;
;; 	st.global.b32 [%l17+0], %w15;
;; 	st.global.b32 [%l17+4], %w16;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l18, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l18;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 2;
;; 	mov.b32 %trap_kind, 2;
;; 	ld.const.b32 %w2, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w2;
;; 	ld.local.b64 %l2, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; TRAP_3:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 4;
;; 	ld.const.b32 %w4, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w4;
;; 	ld.local.b64 %l7, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l7;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; TRAP_4:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 5;
;; 	ld.const.b32 %w6, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w6;
;; 	ld.local.b64 %l8, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l8;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; TRAP_5:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 6;
;; 	ld.const.b32 %w9, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w9;
;; 	ld.local.b64 %l11, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l11;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; POLL_11:
;; 	ld.relaxed.gpu.global.b32 %w13, [%launch+284];
;; 	setp.ne.u32 %p8, %w13, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p8 bra GO_ON_13;
;; 	mov.b32 %trap_pc, 2;
;; 	bra STOP;
;; GO_ON_13:
;; 	bra COUNTED_12;
;; B2:
;; 	st.local.b32 [%local+936], %r0;
;; 	st.local.b32 [%local+940], %r1;
;; 	mov.b64 {%w17, %w18}, %d4;
;; 	st.local.b32 [%local+944], %w17;
;; 	st.local.b32 [%local+948], %w18;
;; 	mov.b32 %trap_pc, 4;
;; 	mov.b32 %cold_units, 0;
;; 	bra COLD;
;; COLD:
;; 	ld.const.b32 %w19, [instance+48];
;; 	mov.u64 %l19, units0;
;; 	cvt.u64.u32 %l20, %cold_units;
;; 	add.s64 %l20, %l19, %l20;
;; 	mov.u64 %l21, places0;
;; 	ld.const.b32 %w21, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w21;
;; 	ld.local.b64 %l22, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l22;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %depth;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %w19;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w21;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %trap_pc;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l20;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l19;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l21;
;; 	.param .b32 result;
;; 	call (result), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	ld.param.b32 %w20, [result];
;; 	}
;; 	setp.ge.u32 %p9, %w20, 2;
;; 	@%p9 bra ENTER_14;
;; 	ld.local.b32 %w22, [%local+936];
;; 	ld.local.b32 %w23, [%local+940];
;; 	mov.b64 %d0, {%w22, %w23};
;; 	ld.global.b64 %l23, [%launch+88];
;; 	ld.local.b32 %w24, [%local+24];
;; 	mad.wide.u32 %l23, %w24, 8, %l23;
;; 	mov.b64 {%w25, %w26}, %d0;
;; 	st.global.b32 [%l23+0], %w25;
;; 	st.global.b32 [%l23+4], %w26;
;; 	bra DONE;
;; ENTER_14:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	sub.u32 %w27, %w20, 2;
;; TABLE_16: .branchtargets ENTER_15;
;; 	brx.idx %w27, TABLE_16;
;; ENTER_15:
;; 	ld.local.b32 %r0, [%local+936];
;; 	ld.local.b32 %r1, [%local+940];
;; 	ld.local.b32 %w28, [%local+944];
;; 	ld.local.b32 %w29, [%local+948];
;; 	mov.b64 %d4, {%w28, %w29};
;; 	bra B1;
;; STOP:
;; 	ld.const.b32 %w30, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w30;
;; 	ld.local.b64 %l24, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l24;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	call gpu_run_poll, (q0, q1, q2);
;; 	}
;; 	exit;
;; }
