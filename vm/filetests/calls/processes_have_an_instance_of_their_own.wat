;; test ptx --alone --processes
;; A lane runs one process after the other. What a process has for itself, its function finds in the context.
;; has: NEXT_PROCESS:
;; has: gpu_run_next_process
;; lacks: instance+16]

(module
  (memory 1 2)
  (table 1 funcref)
  (func (export "_start")
    (table.set (i32.const 0) (ref.null func))
    (i32.store (i32.const 16) (memory.grow (i32.const 1)))))

;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size);
;; .visible .const .align 4 .b32 starts[1] = {0};
;; .global .align 8 .b64 words_0_5[1] = {0x400000029};
;;
;; // _start
;; .func f0(.param .b32 context, .param .b32 depth, .param .b32 size)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<5>;
;; 	.reg .b64 %l<10>;
;; 	.reg .pred %p<2>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %size, [size];
;; 	ld.local.b64 %base, [%local+928];
;; B0:
;; 	// const32          r3, 0
;; 	mov.b32 %r3, 0x0;
;; 	// const32          r2, 0
;; 	mov.b32 %r2, 0x0;
;; 	// table.set        r2, r3, table0
;; 	ld.local.b64 %l1, [%local+912];
;; 	ld.global.b64 %l2, [%l1+8];
;; 	ld.global.b64 %l3, [%l2+0];
;; 	ld.relaxed.gpu.global.b32 %w1, [%l3+8];
;; 	setp.ge.u32 %p1, %r2, %w1;
;; 	@%p1 bra TRAP_1;
;; 	ld.global.b64 %l4, [%l3+0];
;; 	mad.wide.u32 %l5, %r2, 4, %l4;
;; 	st.relaxed.gpu.global.b32 [%l5], %r3;
;; 	// const32          r3, 1
;; 	mov.b32 %r3, 0x1;
;; 	// memory.grow      r3, r3, memory0
;; 	st.local.b32 [%local+728], %r3;
;; 	ld.const.b32 %w2, [instance+48];
;; 	mov.u64 %l6, words_0_5;
;; 	ld.const.b32 %w3, [starts+0];
;; 	add.u32 %w3, %w3, 5;
;; 	cvta.local.u64 %l7, %local;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l7;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w3;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w2;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l6;
;; 	call gpu_run_op, (q0, q1, q2, q3, q4);
;; 	}
;; 	ld.local.b32 %r3, [%local+712];
;; 	ld.local.b64 %size_at, [%local+920];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	// const32          r2, 16
;; 	mov.b32 %r2, 0x10;
;; 	// store32          r2, r3, +0
;; 	cvt.u64.u32 %l8, %r2;
;; 	add.s64 %l8, %base, %l8;
;; 	st.global.b32 [%l8+0], %r3;
;; 	// return           header 0, r0, x0
;; 	ret;
;; TRAP_1:
;; 	mov.b32 %trap_pc, 3;
;; 	mov.b32 %trap_kind, 3;
;; 	bra TRAP;
;; TRAP:
;; 	ld.const.b32 %w4, [starts+0];
;; 	add.u32 %trap_pc, %trap_pc, %w4;
;; 	cvta.local.u64 %l9, %local;
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
;; }
;;
;; // _start
;; .visible .entry start_0(.param .b64 launch, .param .b32 threads)
;; {
;; 	.local .align 16 .b8 context[936];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<8>;
;; 	.reg .b64 %d<8>;
;; 	.reg .b32 %w<2>;
;; 	.reg .b64 %l<3>;
;; 	ld.param.b64 %launch, [launch];
;; 	mov.u64 %local, context;
;; 	cvta.local.u64 %context, %local;
;; 	mov.b32 %depth, 1;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_begin_processes, (q0, q1);
;; 	}
;; NEXT_PROCESS:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_next_process, (q0, q1);
;; 	}
;; 	ld.local.b64 %l1, [%local+848];
;; 	cvta.to.local.u64 %l1, %l1;
;; 	cvt.u32.u64 %context_at, %l1;
;; 	ld.local.b64 %size_at, [%local+920];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	call f0, (q0, q1, q2);
;; 	}
;; 	ld.local.b64 %l2, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l2;
;; 	call gpu_run_end_process, (q0);
;; 	}
;; 	bra NEXT_PROCESS;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {0};
;; .visible .global .align 8 .u64 tails[1] = {0};
