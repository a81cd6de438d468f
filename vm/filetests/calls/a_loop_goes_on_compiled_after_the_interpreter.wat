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
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %cold_units;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<14>;
;; 	.reg .b64 %d<14>;
;; 	.reg .b32 %w<31>;
;; 	.reg .b64 %l<27>;
;; 	.reg .pred %p<10>;
;; 	ld.param.b64 %launch, [launch];
;; 	mov.u64 %local, context;
;; 	cvta.local.u64 %context, %local;
;; 	mov.b32 %depth, 1;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_begin, (q0, q1);
;; 	}
;; 	ld.local.b64 %l1, [%local+848];
;; 	cvta.to.local.u64 %l1, %l1;
;; 	cvt.u32.u64 %context_at, %l1;
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
;; 	setp.ge.u32 %p3, %r6, 1;
;; 	@%p3 bra OTHER_3;
;; 	mov.u64 %l4, table0;
;; 	mad.wide.u32 %l5, %r6, 16, %l4;
;; 	ld.global.v2.b64 {%l6, %l7}, [%l5];
;; 	setp.ne.u64 %p3, %l7, 1;
;; 	@%p3 bra OTHER_3;
;; GO_4:
;; 	and.b32 %w10, %depth, 63;
;; 	mad.wide.u32 %l17, %w10, 4, %local;
;; 	ld.const.b32 %w11, [starts+0];
;; 	add.u32 %w11, %w11, 8;
;; 	st.local.b32 [%l17+72], %w11;
;; 	st.local.b32 [%local+28], %budget;
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %deeper;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; TYPE_9: .callprototype _ (.param .b32 _, .param .b32 _, .param .b32 _);
;; 	call %l6, (q0, q1, q2), TYPE_9;
;; 	}
;; 	ld.local.b32 %budget, [%local+28];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; CALLED_5:
;; 	// i32.load8_u      r8, r0, +0
;; 	cvt.u64.u32 %l18, %r0;
;; 	add.s64 %l18, %base, %l18;
;; 	ld.global.u8 %r8, [%l18+0];
;; 	// i64.extend_i32_u r8, r8
;; 	cvt.u64.u32 %d8, %r8;
;; 	// i64.add          r4, r4, r8
;; 	add.s64 %d4, %d8, %d4;
;; 	// br_i32.add_ne    r0, r0, 1, r1, @2
;; 	add.u32 %r0, %r0, 1;
;; 	setp.ne.u32 %p6, %r0, %r1;
;; 	sub.u32 %budget, %budget, 1;
;; 	setp.le.s32 %p7, %budget, 0;
;; 	@%p7 bra POLL_13;
;; COUNTED_14:
;; 	@%p6 bra B1;
;; B4:
;; 	// return           header 2, r4, x2
;; 	ld.global.b64 %l19, [%launch+88];
;; 	ld.local.b32 %w14, [%local+24];
;; 	mad.wide.u32 %l19, %w14, 8, %l19;
;; 	mov.b64 {%w15, %w16}, %d4;
;; 	st.global.b32 [%l19+0], %w15;
;; 	st.global.b32 [%l19+4], %w16;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l20, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l20;
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
;; TRAP_6:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 4;
;; 	ld.const.b32 %w3, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w3;
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
;; TRAP_7:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 5;
;; 	ld.const.b32 %w4, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w4;
;; 	ld.local.b64 %l9, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l9;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; TRAP_8:
;; 	mov.b32 %trap_pc, 6;
;; 	mov.b32 %trap_kind, 6;
;; 	ld.const.b32 %w5, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w5;
;; 	ld.local.b64 %l10, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l10;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %trap_pc;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %trap_kind;
;; 	call gpu_run_trap, (q0, q1, q2, q3);
;; 	}
;; 	exit;
;; OTHER_3:
;; 	ld.const.b64 %l11, [instance+80];
;; 	ld.relaxed.gpu.global.b32 %w6, [%l11+8];
;; 	setp.ge.u32 %p4, %r6, %w6;
;; 	@%p4 bra TRAP_6;
;; 	ld.global.b64 %l12, [%l11+0];
;; 	mad.wide.u32 %l13, %r6, 4, %l12;
;; 	ld.relaxed.gpu.global.b32 %w7, [%l13];
;; 	setp.eq.u32 %p5, %w7, 0;
;; 	@%p5 bra TRAP_7;
;; 	sub.u32 %w7, %w7, 1;
;; 	ld.const.b64 %l14, [instance+24];
;; 	ld.const.b32 %w9, [instance+92];
;; 	mad.wide.u32 %l15, %w7, 16, %l14;
;; 	ld.global.b32 %w8, [%l15+12];
;; 	setp.ne.u32 %p5, %w8, %w9;
;; 	@%p5 bra TRAP_8;
;; 	ld.const.b64 %l16, [instance+32];
;; 	mad.wide.u32 %l5, %w7, 8, %l16;
;; 	ld.global.b64 %l6, [%l5];
;; 	setp.ne.u64 %p3, %l6, 0;
;; 	@%p3 bra GO_4;
;; 	bra CALLED_5;
;; POLL_13:
;; 	ld.relaxed.gpu.global.b32 %w13, [%launch+284];
;; 	setp.ne.u32 %p8, %w13, 0;
;; 	mov.b32 %budget, 4096;
;; 	@!%p8 bra GO_ON_15;
;; 	mov.b32 %trap_pc, 2;
;; 	bra STOP;
;; GO_ON_15:
;; 	bra COUNTED_14;
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
;; 	mov.u64 %l21, units0;
;; 	cvt.u64.u32 %l22, %cold_units;
;; 	add.s64 %l22, %l21, %l22;
;; 	mov.u64 %l23, places0;
;; 	ld.const.b32 %w21, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w21;
;; 	ld.local.b64 %l24, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l24;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %depth;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %w19;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w21;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %trap_pc;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l22;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l21;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l23;
;; 	.param .b32 result;
;; 	call (result), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	ld.param.b32 %w20, [result];
;; 	}
;; 	setp.ge.u32 %p9, %w20, 2;
;; 	@%p9 bra ENTER_16;
;; 	ld.local.b32 %w22, [%local+936];
;; 	ld.local.b32 %w23, [%local+940];
;; 	mov.b64 %d0, {%w22, %w23};
;; 	ld.global.b64 %l25, [%launch+88];
;; 	ld.local.b32 %w24, [%local+24];
;; 	mad.wide.u32 %l25, %w24, 8, %l25;
;; 	mov.b64 {%w25, %w26}, %d0;
;; 	st.global.b32 [%l25+0], %w25;
;; 	st.global.b32 [%l25+4], %w26;
;; 	bra DONE;
;; ENTER_16:
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	sub.u32 %w27, %w20, 2;
;; TABLE_18: .branchtargets ENTER_17;
;; 	brx.idx %w27, TABLE_18;
;; ENTER_17:
;; 	ld.local.b32 %r0, [%local+936];
;; 	ld.local.b32 %r1, [%local+940];
;; 	ld.local.b32 %w28, [%local+944];
;; 	ld.local.b32 %w29, [%local+948];
;; 	mov.b64 %d4, {%w28, %w29};
;; 	bra B1;
;; STOP:
;; 	mov.b32 %trap_kind, 0;
;; 	ld.const.b32 %w30, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w30;
;; 	ld.local.b64 %l26, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l26;
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
