;; test ptx --alone --only start_1
;; The kernel of a program that spawns threads: the first lane has the first thread. Each other one asks the runtime for
;; the next that was spawned in its slot, and runs it from the program's export on.
;; has: gpu_run_next

(module
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (import "env" "memory" (memory 1 1 shared))
  (func (export "wasi_thread_start") (param $id i32) (param $argument i32)
    (i32.store (local.get $argument) (local.get $id)))
  (func $start (export "start")
    (drop (call $spawn (i32.const 8)))))

;; .visible .entry start_1(.param .b64 launch, .param .b32 threads) .maxntid 128
;; {
;; 	.local .align 16 .b8 context[944];
;; 	.reg .b64 %launch, %args, %context;
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<7>;
;; 	.reg .b64 %d<7>;
;; 	.reg .b32 %w<12>;
;; 	.reg .b64 %l<10>;
;; 	.reg .pred %p<3>;
;; 	ld.param.b64 %launch, [launch];
;; 	mov.u64 %local, context;
;; 	cvta.local.u64 %context, %local;
;; 	mov.b32 %depth, 1;
;; 	mov.u32 %w1, %tid.x;
;; 	mov.u32 %w2, %ctaid.x;
;; 	mov.u32 %w3, %ntid.x;
;; 	mad.lo.u32 %w1, %w2, %w3, %w1;
;; 	ld.global.b64 %l1, [%launch+320];
;; 	setp.ne.u32 %p1, %w1, 0;
;; 	setp.ne.and.b64 %p1, %l1, 0, %p1;
;; 	@%p1 bra NO_THREAD;
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	call gpu_run_begin, (q0, q1);
;; 	}
;; 	ld.local.b64 %l2, [%local+848];
;; 	cvta.to.local.u64 %l2, %l2;
;; 	cvt.u32.u64 %context_at, %l2;
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	ld.global.b64 %args, [%launch+80];
;; B0:
;; 	// const32          r2, 8
;; 	mov.b32 %r2, 0x8;
;; 	// thread_spawn     r2, r2
;; 	st.local.b32 [%local+728], %r2;
;; 	ld.const.b32 %w4, [instance+48];
;; 	mov.u64 %l3, words_1_2;
;; 	ld.const.b32 %w5, [starts+4];
;; 	add.u32 %w5, %w5, 2;
;; 	ld.local.b64 %l4, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l4;
;; 	.param .b32 q1;
;; 	st.param.b32 [q1], %w5;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %depth;
;; 	.param .b32 q3;
;; 	st.param.b32 [q3], %w4;
;; 	.param .b64 q4;
;; 	st.param.b64 [q4], %l3;
;; 	call gpu_run_op, (q0, q1, q2, q3, q4);
;; 	}
;; 	ld.local.b32 %r2, [%local+712];
;; 	// return           header 0, r0, x0
;; 	ld.global.b64 %l5, [%launch+88];
;; 	ld.local.b32 %w6, [%local+24];
;; 	mad.wide.u32 %l5, %w6, 0, %l5;
;; 	bra DONE;
;; DONE:
;; 	ld.local.b64 %l6, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l6;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	ret;
;; NO_THREAD:
;; 	mov.b32 %w10, 0;
;; NEXT_THREAD:
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %launch;
;; 	.param .b64 q1;
;; 	st.param.b64 [q1], %context;
;; 	.param .b32 q2;
;; 	st.param.b32 [q2], %w10;
;; 	.param .b32 result;
;; 	call (result), gpu_run_next, (q0, q1, q2);
;; 	ld.param.b32 %w7, [result];
;; 	}
;; 	setp.eq.u32 %p2, %w7, 0;
;; 	add.u32 %w10, %w10, 1;
;; 	@%p2 bra NEXT_THREAD;
;; 	ld.local.b64 %l8, [%local+848];
;; 	cvta.to.local.u64 %l8, %l8;
;; 	cvt.u32.u64 %context_at, %l8;
;; 	ld.local.b64 %l7, [%local+8];
;; 	ld.local.b32 %w8, [%local+24];
;; 	ld.global.b32 %w9, [%l7+136];
;; 	ld.const.b64 %size_at, [instance+8];
;; 	ld.global.b32 %size, [%size_at+8];
;; 	{
;; 	.param .b32 q0; st.param.b32 [q0], %context_at;
;; 	.param .b32 q1; st.param.b32 [q1], %depth;
;; 	.param .b32 q2; st.param.b32 [q2], %size;
;; 	.param .b32 p0;
;; 	st.param.b32 [p0+0], %w8;
;; 	.param .b32 p1;
;; 	st.param.b32 [p1+0], %w9;
;; 	call f0, (q0, q1, q2, p0, p1);
;; 	}
;; 	ld.local.b64 %l9, [%local+848];
;; 	{
;; 	.param .b64 q0;
;; 	st.param.b64 [q0], %l9;
;; 	call gpu_run_finish, (q0);
;; 	}
;; 	bra NO_THREAD;
;; }
