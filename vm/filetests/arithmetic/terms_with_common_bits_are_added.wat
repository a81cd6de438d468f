;; test ptx
;; Terms that may have bits in common stay a sum.
;; lacks: or.b32

(module
  (func (export "not") (param $x i32) (param $e i32) (param $f i32) (param $g i32) (result i32)
    (i32.add
      (i32.add (local.get $x) (i32.and (local.get $g) (local.get $e)))
      (i32.and (local.get $e) (local.get $f)))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3);
;;
;; // not
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0, .param .b32 a1, .param .b32 a2, .param .b32 a3)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<13>;
;; 	.reg .b64 %d<13>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.param.b32 %r1, [a1+0];
;; 	ld.param.b32 %r2, [a2+0];
;; 	ld.param.b32 %r3, [a3+0];
;; B0:
;; 	// i32.and          r7, r3, r1
;; 	and.b32 %r7, %r1, %r3;
;; 	// i32.add          r6, r0, r7
;; 	add.s32 %r6, %r7, %r0;
;; 	// i32.and          r7, r1, r2
;; 	and.b32 %r7, %r2, %r1;
;; 	// i32.add          r6, r6, r7
;; 	add.s32 %r6, %r7, %r6;
;; 	// return           header 4, r6, x1
;; 	st.param.b32 [ret+0], %r6;
;; 	ret;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
