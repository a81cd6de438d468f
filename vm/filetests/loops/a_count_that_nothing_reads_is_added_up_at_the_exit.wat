;; test ptx
;; Twelve passes are six times two copies. Nothing reads the count in the loop, so it is added up where the loop is
;; left.

(module
  (func (export "steps") (param $x i32) (result i32) (local $i i32)
    (block $found
      (loop $next
        (br_if $found (i32.gt_u (local.get $x) (i32.const 1000)))
        (local.set $x (i32.add (i32.mul (local.get $x) (local.get $x)) (i32.rotl (local.get $x) (i32.const 7))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 1))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 2))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 3))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 4))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 5))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 6))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 7))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 8))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 9))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 10))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 11))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 12))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 13))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 14))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 15))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 16))))
        (local.set $x (i32.add (i32.popcnt (local.get $x)) (i32.rotl (local.get $x) (i32.const 17))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.ne (local.get $i) (i32.const 12)))))
    (i32.add (local.get $i) (local.get $x))))

;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0);
;;
;; // steps
;; .func (.param .align 16 .b8 ret[4]) f0(.param .b32 context, .param .b32 depth, .param .b32 size, .param .b32 a0)
;; {
;; 	.reg .b64 %local;
;; 	.reg .b32 %context_at;
;; 	.reg .b64 %base, %size_at, %globals;
;; 	.reg .b32 %depth, %deeper, %size, %high, %budget, %trap_pc, %trap_kind;
;; 	.reg .b32 %r<11>;
;; 	.reg .b64 %d<11>;
;; 	.reg .pred %p<4>;
;; 	ld.param.b32 %context_at, [context];
;; 	cvt.u64.u32 %local, %context_at;
;; 	ld.param.b32 %depth, [depth];
;; 	ld.param.b32 %r0, [a0+0];
;; 	ld.local.b32 %budget, [%local+28];
;; B0:
;; 	// zero             r3, x1
;; 	mov.b32 %r3, 0;
;; 	mov.b64 %d3, 0;
;; 	bra LOOP1;
;; LOOP1:
;; 	sub.u32 %budget, %budget, 6;
;; B1_1:
;; 	// br_i32.gt_u_imm  r0, 1000, @59
;; 	setp.gt.u32 %p1, %r0, 1000;
;; 	@%p1 bra B3;
;; B2_1:
;; 	// i32.mul          r4, r0, r0
;; 	mul.lo.s32 %r4, %r0, %r0;
;; 	// i32.rotl_imm     r5, r0, 7
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 7;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 1
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 1;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 2
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 2;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 3
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 3;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 4
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 4;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 5
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 5;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 6
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 6;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 7
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 7;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 8
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 8;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 9
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 9;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 10
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 10;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 11
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 11;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 12
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 12;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 13
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 13;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 14
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 14;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 15
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 15;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 16
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 16;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 17
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 17;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// br_i32.add_ne_imm r3, r3, 1, 12, @2
;; 	bra B1_2;
;; B1_2:
;; 	// br_i32.gt_u_imm  r0, 1000, @59
;; 	setp.gt.u32 %p2, %r0, 1000;
;; 	@%p2 bra LEAVE_57;
;; B2_2:
;; 	// i32.mul          r4, r0, r0
;; 	mul.lo.s32 %r4, %r0, %r0;
;; 	// i32.rotl_imm     r5, r0, 7
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 7;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 1
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 1;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 2
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 2;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 3
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 3;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 4
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 4;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 5
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 5;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 6
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 6;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 7
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 7;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 8
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 8;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 9
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 9;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 10
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 10;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 11
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 11;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 12
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 12;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 13
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 13;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 14
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 14;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 15
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 15;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 16
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 16;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// i32.popcnt       r4, r0
;; 	popc.b32 %r4, %r0;
;; 	// i32.rotl_imm     r5, r0, 17
;; 	{
;; 	.reg .b32 %xa1; mov.b32 %xa1, 17;
;; 	shf.l.wrap.b32 %r5, %r0, %r0, %xa1;
;; 	}
;; 	// i32.add          r0, r4, r5
;; 	add.s32 %r0, %r5, %r4;
;; 	// br_i32.add_ne_imm r3, r3, 1, 12, @2
;; 	add.u32 %r3, %r3, 2;
;; 	setp.ne.u32 %p3, %r3, 12;
;; 	@%p3 bra B1_1;
;; B3:
;; 	// i32.add          r4, r3, r0
;; 	add.s32 %r4, %r0, %r3;
;; 	// return           header 1, r4, x1
;; 	st.local.b32 [%local+28], %budget;
;; 	st.param.b32 [ret+0], %r4;
;; 	ret;
;; LEAVE_57:
;; 	add.u32 %r3, %r3, 1;
;; 	bra B3;
;; }
;;
;; .visible .global .align 8 .u64 functions[1] = {f0};
;; .visible .global .align 8 .u64 tails[1] = {0};
