;; test ptx --alone --cold 0.1,0.3,0.4 --only start_0
;; What is read later goes to the interpreter: the number, not the index. All entries of a jump table that lead to such
;; blocks have one way, by which the table's instruction is run again.
;; has: gpu_run_interpret

(module
  (func (export "choose") (param $which i32) (param $a i64) (param $read f64) (result i64)
    (local.set $a (i64.add (local.get $a) (i64.trunc_sat_f64_s (local.get $read))))
    (block $d (block $c (block $b (block $a
      (br_table $a $b $c $d (local.get $which)))
      (return (i64.mul (local.get $a) (local.get $a))))
      (return (i64.add (local.get $a) (i64.const 3))))
      (return (i64.sub (local.get $a) (i64.const 7))))
    (local.get $a)))

;; .visible .entry start_0(.param .b64 launch, .param .b32 threads, .param .align 4 .b8 args[20]) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[956];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %cold_units;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<15>;
;; 	.reg .b64 %d<15>;
;; 	.reg .b32 %w<19>;
;; 	.reg .b64 %l<9>;
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
;; 	ld.param.b32 %r0, [args+0];
;; 	ld.param.b32 %w1, [args+4];
;; 	ld.param.b32 %w2, [args+8];
;; 	mov.b64 %d1, {%w1, %w2};
;; 	ld.param.b32 %w3, [args+12];
;; 	ld.param.b32 %w4, [args+16];
;; 	mov.b64 %d3, {%w3, %w4};
;; B0:
;; 	// i64.trunc_sat_f64_s r9, r3
;; 	{
;; 	.reg .pred %xp<4>;
;; 	.reg .b64 %xrd<3>;
;; 	setp.nan.f64 %xp1, %d3, %d3;
;; 	mov.b64 %xrd2, 0;
;; 	@%xp1 bra $x1_0;
;; 	setp.ltu.f64 %xp2, %d3, 0dC3E0000000000000;
;; 	mov.b64 %xrd2, -9223372036854775808;
;; 	@%xp2 bra $x1_0;
;; 	setp.geu.f64 %xp3, %d3, 0d43E0000000000000;
;; 	mov.b64 %xrd2, 9223372036854775807;
;; 	@%xp3 bra $x1_0;
;; 	cvt.rzi.s64.f64 %xrd2, %d3;
;; $x1_0:
;; 	mov.b64 %d9, %xrd2;
;; $x1_end:
;; 	}
;; 	// i64.add          r1, r1, r9
;; 	add.s64 %d1, %d9, %d1;
;; 	// br_table         r0, 4 [@6, @8, @10, @12]
;; 	min.u32 %w5, %r0, 3;
;; TABLE_4: .branchtargets COLD_3, B2, COLD_3, COLD_3;
;; 	brx.idx %w5, TABLE_4;
;; B2:
;; 	// i64.add_imm      r7, r1, 3
;; 	add.s64 %d7, 3, %d1;
;; 	// return           header 5, r7, x2
;; 	ld.global.b64 %l2, [%launch+88];
;; 	ld.local.b32 %w8, [%local+24];
;; 	mad.wide.u32 %l2, %w8, 8, %l2;
;; 	mov.b64 {%w9, %w10}, %d7;
;; 	st.global.b32 [%l2+0], %w9;
;; 	st.global.b32 [%l2+4], %w10;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l3, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l3;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; COLD_3:
;; 	st.local.b32 [%local+936], %r0;
;; 	mov.b64 {%w6, %w7}, %d1;
;; 	st.local.b32 [%local+940], %w6;
;; 	st.local.b32 [%local+944], %w7;
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %cold_units, 0;
;; 	bra COLD;
;; COLD:
;; 	ld.const.b32 %w11, [instance+48];
;; 	mov.u64 %l4, units0;
;; 	cvt.u64.u32 %l5, %cold_units;
;; 	add.s64 %l5, %l4, %l5;
;; 	mov.u64 %l6, 0;
;; 	ld.const.b32 %w13, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w13;
;; 	ld.local.b64 %l7, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l7;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %depth;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %w11;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w13;
;; 	.param .b32 q4;
;; 	st.param.b32 [q4], %trap_pc;
;; 	.param .b64 q5;
;; 	st.param.b64 [q5], %l5;
;; 	.param .b64 q6;
;; 	st.param.b64 [q6], %l4;
;; 	.param .b64 q7;
;; 	st.param.b64 [q7], %l6;
;; 	.param .b32 result;
;; 	call (result), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);
;; 	ld.param.b32 %w12, [result];
;; 	}
;; 	ld.local.b32 %w14, [%local+936];
;; 	ld.local.b32 %w15, [%local+940];
;; 	mov.b64 %d0, {%w14, %w15};
;; 	ld.global.b64 %l8, [%launch+88];
;; 	ld.local.b32 %w16, [%local+24];
;; 	mad.wide.u32 %l8, %w16, 8, %l8;
;; 	mov.b64 {%w17, %w18}, %d0;
;; 	st.global.b32 [%l8+0], %w17;
;; 	st.global.b32 [%l8+4], %w18;
;; 	bra DONE;
;; }
