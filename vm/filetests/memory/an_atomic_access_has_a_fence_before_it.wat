;; test ptx
;; An atomic access is sequentially consistent by the fence before it. The mask shows that its address is aligned.
;; has: fence.sc.gpu

(module
  (memory 1 1 shared)
  (func (export "take") (param $i i32) (result i64)
    (i64.atomic.rmw.sub offset=8 (i32.and (local.get $i) (i32.const 0xff8)) (i64.const 1))))

;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;;
;; // take
;; .func (.param .align 16 .b8 ret[8]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .b64 %l<5>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.const.b64 %base, [instance+16];
;; B0:
;; 	// i32.and_imm      r4, r0, 4088
;; 	and.b32 %r4, 4088, %r0;
;; 	// const64_s        r5, 1
;; 	mov.b64 %d5, 0x1;
;; 	// i64.atomic.rmw.sub r4, r4, r5, +8, memory0
;; 	cvt.u64.u32 %l1, %r4;
;; 	add.s64 %l1, %base, %l1;
;; 	add.s64 %l2, %l1, 8;
;; 	neg.s64 %l4, %d5;
;; 	fence.sc.gpu;
;; 	atom.acquire.gpu.global.add.u64 %l3, [%l2], %l4;
;; 	mov.b64 %d4, %l3;
;; 	// return           header 2, r4, x2
;; 	st.param.b64 [ret+0], %d4;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
