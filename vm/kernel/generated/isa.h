// Made from bytecode/src/isa.rs by `cargo run -p gpu-run-bytecode --bin isa-gen`.
#pragma once

namespace gpu_run {

enum Op : unsigned short {
  OP_trap = 0x000,  // stop with trap kind a
  OP_enter = 0x001,  // head of a function, read by calls: frame of a units, header at unit b; c is 0
  OP_jump = 0x002,  // pc += a
  OP_br_if = 0x003,  // if a != 0: pc += b
  OP_br_unless = 0x004,  // if a == 0: pc += b
  OP_br_table = 0x005,  // pc += entry min(a, b - 1) of the b 32-bit offsets in the words that follow
  OP_return = 0x006,  // copy c units from b to unit 0, drop the frame whose header is a, pc = caller's
  OP_call = 0x007,  // call the function whose head is at pc + b, frame at unit a
  OP_call_indirect = 0x008,  // call element b of table c, frame at unit a; traps unless its type is type d
  OP_call_import = 0x009,  // call function b of the instance (an import), frame at unit a
  OP_bridge_return = 0x00a,  // return through a bridge: from a frame in another register segment or instance; never in a program
  OP_return_call = 0x00b,  // call the function whose head is at pc + b in place of this frame, arguments at unit a; a `return` of its results follows for where it needs a frame of its own
  OP_thread_end = 0x00c,  // return from the first frame of a thread; never in a program
  OP_return_call_indirect = 0x00d,  // as return_call, of element b of table c; traps unless its type is type d
  OP_return_call_import = 0x00e,  // as return_call, of function b of the instance (an import)
  OP_throw = 0x00f,  // throw an exception with tag c and the b units at a as its values
  OP_copy32 = 0x010,  // a = b
  OP_copy64 = 0x011,  // a = b
  OP_copy_range = 0x012,  // copy c units from b to a, ascending
  OP_zero = 0x013,  // set b units from a to 0
  OP_const32 = 0x014,  // a = b
  OP_const64_s = 0x015,  // a = b, sign extended
  OP_const64 = 0x016,  // a = b
  OP_select32 = 0x017,  // a = d != 0 ? b : c
  OP_select64 = 0x018,  // a = d != 0 ? b : c
  OP_global_get32 = 0x019,  // a = global b
  OP_global_get64 = 0x01a,  // a = global b
  OP_global_set32 = 0x01b,  // global b = a
  OP_global_set64 = 0x01c,  // global b = a
  OP_stack_pointer_set = 0x01d,  // global b = a; traps if a is below the thread's stack limit
  OP_throw_ref = 0x01e,  // throw the exception a again; traps if it is null
  OP_exception_keep = 0x01f,  // a = b, an exception that is kept for good: it goes to a table or global
  OP_native_return = 0x020,  // return from the outermost interpreted function to the compiled one that called it; never in a program
  OP_visit = 0x021,  // note that a basic block runs which begins here, then run its first instruction, in whose place this stands; never in a program
  OP_fuel = 0x022,  // subtract a from global b, an unsigned number; traps if it is less than a
  OP_memory_size = 0x028,  // a = size of memory b in pages
  OP_memory_grow = 0x029,  // a = size of memory c in pages, then grow it by b pages; a = -1 if it cannot
  OP_memory_copy = 0x02a,  // copy c bytes from b in memory e to a in memory d
  OP_memory_fill = 0x02b,  // set c bytes from a in memory d to b
  OP_memory_init = 0x02c,  // copy c bytes from b of data segment e to a in memory d
  OP_data_drop = 0x02d,  // forget data segment a
  OP_table_get = 0x02e,  // a = element b of table c
  OP_table_set = 0x02f,  // element a of table c = b
  OP_table_size = 0x030,  // a = size of table b
  OP_table_grow = 0x031,  // a = size of table d, then grow it by b elements c; a = -1 if it cannot
  OP_table_fill = 0x032,  // set c elements from a of table d to b
  OP_table_copy = 0x033,  // copy c elements from b of table e to a of table d
  OP_table_init = 0x034,  // copy c elements from b of element segment e to a of table d
  OP_elem_drop = 0x035,  // forget element segment a
  OP_ref_func = 0x036,  // a = reference to function b of the instance
  OP_ref_is_null = 0x037,  // a = b is null
  OP_memory_size64 = 0x038,  // a = size of memory b in pages
  OP_memory_grow64 = 0x039,  // a = size of memory c in pages, then grow it by b pages; a = -1 if it cannot
  OP_memory_copy64 = 0x03a,  // copy c bytes from b in memory e to a in memory d
  OP_memory_fill64 = 0x03b,  // set c bytes from a in memory d to b
  OP_memory_init64 = 0x03c,  // copy c bytes from b of data segment e to a in memory d
  OP_i32_saturate_i64_u = 0x03d,  // a = the lesser of b and 2^32 - 1: an index of a 64-bit table
  OP_gid = 0x050,  // a = id of this thread, from 0
  OP_time = 0x051,  // a = monotonic clock in nanoseconds
  OP_st_out = 0x052,  // a = how many of the d bytes at c went to the run's output from its byte b on: fewer where that ends
  OP_ld_in = 0x053,  // a = how many of d bytes from byte b of the run's input on were copied to c: fewer where that ends
  OP_atomic_add = 0x054,  // a = u32 at b, then add c to it; sequentially consistent
  OP_thread_count = 0x055,  // a = number of threads of the process
  OP_wall_time = 0x056,  // a = nanoseconds since the Unix epoch
  OP_sleep = 0x057,  // park the thread for a nanoseconds
  OP_exit = 0x058,  // end the process with exit code a
  OP_panic_exit = 0x059,  // end the process after a panic was reported: exit code 101
  OP_memcmp = 0x05a,  // a = difference of the first unequal byte pair of the d bytes at b and c, else 0
  OP_in_size = 0x05b,  // a = bytes of the run's input
  OP_out_size = 0x05c,  // a = bytes that the run's output may have
  OP_frame_size = 0x05d,  // a = width of the run's frame in pixels, in the upper half its height; 0 if there is none
  OP_set_pixel = 0x05e,  // pixel in column a and row b of the frame = c, red in the lowest byte, then green, blue, alpha; nothing outside of it
  OP_meet = 0x05f,  // a = 1 after the other threads of the warp have come to a `meet` too, or wait, or have ended; 0 at once where lanes do not meet
  OP_alloc = 0x060,  // a = new block of b bytes aligned to c, or 0
  OP_dealloc = 0x061,  // free the block a of b bytes (-1: however many it has) aligned to c
  OP_realloc = 0x062,  // a = block b of c bytes (-1: however many it has) aligned to d, moved to e bytes, or 0 and b unchanged
  OP_alloc_zero = 0x063,  // a = new zeroed block of b bytes aligned to c, or 0
  OP_block_size = 0x064,  // a = bytes of the block b that may be used: as many as were asked for, or more
  OP_alloc_batch = 0x065,  // a = how many of e new blocks of b bytes aligned to c were made, whose addresses are stored from d on: fewer where memory ends
  OP_dealloc_batch = 0x066,  // free d blocks of a bytes (-1: however many they have) aligned to b, whose addresses are stored from c on
  OP_dbg_i32 = 0x070,  // add a, signed, to the thread's debug message
  OP_dbg_f32 = 0x071,  // add a to the thread's debug message
  OP_dbg_str = 0x072,  // add the b bytes of text at a to the thread's debug message
  OP_dbg_bool = 0x073,  // add a to the thread's debug message: `false` if it is 0, else `true`
  OP_dbg_nl = 0x074,  // end the thread's debug message, and its line
  OP_dbg_flush = 0x075,  // end the thread's debug message without a line's end
  OP_dbg_i64 = 0x076,  // add a, signed, to the thread's debug message
  OP_dbg_f64 = 0x077,  // add a to the thread's debug message
  OP_print = 0x078,  // append c bytes at b to the thread's open record of stream a (1 stdout, 2 stderr)
  OP_print_end = 0x079,  // close the thread's record of stream a: it is written as one piece
  OP_dbg_char = 0x07a,  // add a, a Unicode scalar value, to the thread's debug message
  OP_dbg_u32 = 0x07b,  // add a, unsigned, to the thread's debug message
  OP_dbg_u64 = 0x07c,  // add a, unsigned, to the thread's debug message
  OP_dbg_level = 0x07d,  // begin a debug message of severity a (0 debug, 1 info, 2 warn, 3 error) from line d of the file that the c bytes at b name
  OP_dbg_wanted = 0x07e,  // a = 1 if debug messages of severity b are wanted of the thread, else 0
  OP_work_push = 0x080,  // a = 1 and c is the last value of the work queue at b, or a = 0 if it is full, also for a moment while others push in vain
  OP_work_pop = 0x081,  // a = the first value of the work queue at b, taken out, or -1 if it is empty, also for a moment while others pop in vain
  OP_barrier = 0x082,  // the thread is at the barrier at b, which c threads use; if all are, a = 1, and the barrier is in its next phase; else a = 0, or 2 if the thread has waited for that
  OP_atomic_inc = 0x083,  // a = u32 at b, then add 1 to it; sequentially consistent
  OP_atomic_dec = 0x084,  // a = u32 at b, then subtract 1 from it; sequentially consistent
  OP_atomic_cas = 0x085,  // a = u32 at b; if it was c it becomes d; sequentially consistent
  OP_request_queue = 0x086,  // begin a call of WASI function a with the c units at b as its arguments: served here, or sent to the host
  OP_request_poll = 0x087,  // a = errno of the call of WASI function b that was begun with the d units at c, once it is answered; if 0, its results are in memory
  OP_frame_wait = 0x088,  // if the u32 at b is c, wait at most d ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out
  OP_spinlock = 0x089,  // wait until the u32 at a is 0, and make it 1
  OP_spinunlock = 0x08a,  // the u32 at a = 0, after all that the thread did before
  OP_thread_spawn = 0x08b,  // a = id of a new thread that calls the export `wasi_thread_start` with it and b, or -6 if there is no room for one
  OP_frame_wake = 0x08c,  // wake at most c threads that wait at b; a = how many
  OP_atomic_relaxed = 0x08d,  // the next atomic access of the function, if it follows in a straight line, orders no others; it may be sequentially consistent nevertheless
  OP_atomic_acq_rel = 0x08e,  // the next one, as above, orders others as release and acquire do
  OP_stack_limit = 0x08f,  // the thread's stack pointer must not fall below a from now on: see `stack_pointer_set`
  OP_i32_add = 0x090,  // a = b + c
  OP_i32_sub = 0x091,  // a = b - c
  OP_i32_mul = 0x092,  // a = b * c
  OP_i32_and = 0x093,  // a = b & c
  OP_i32_or = 0x094,  // a = b | c
  OP_i32_xor = 0x095,  // a = b ^ c
  OP_i32_shl = 0x096,  // a = b << c
  OP_i32_shr_s = 0x097,  // a = b >> c, signed
  OP_i32_shr_u = 0x098,  // a = b >> c, unsigned
  OP_i32_rotl = 0x099,  // a = b rotated left by c
  OP_i32_rotr = 0x09a,  // a = b rotated right by c
  OP_i32_div_s = 0x09b,  // a = b / c, signed; traps if c is 0 or on overflow
  OP_i32_div_u = 0x09c,  // a = b / c, unsigned; traps if c is 0
  OP_i32_rem_s = 0x09d,  // a = b % c, signed; traps if c is 0
  OP_i32_rem_u = 0x09e,  // a = b % c, unsigned; traps if c is 0
  OP_i32_add_imm = 0x09f,  // a = b + c
  OP_i32_mul_imm = 0x0a0,  // a = b * c
  OP_i32_and_imm = 0x0a1,  // a = b & c
  OP_i32_or_imm = 0x0a2,  // a = b | c
  OP_i32_xor_imm = 0x0a3,  // a = b ^ c
  OP_i32_shl_imm = 0x0a4,  // a = b << c
  OP_i32_shr_s_imm = 0x0a5,  // a = b >> c, signed
  OP_i32_shr_u_imm = 0x0a6,  // a = b >> c, unsigned
  OP_i32_rotl_imm = 0x0a7,  // a = b rotated left by c
  OP_i32_clz = 0x0a8,  // a = leading zero bits of b
  OP_i32_ctz = 0x0a9,  // a = trailing zero bits of b
  OP_i32_popcnt = 0x0aa,  // a = one bits of b
  OP_i32_eqz = 0x0ab,  // a = b == 0
  OP_i32_extend8_s = 0x0ac,  // a = low 8 bits of b, sign extended
  OP_i32_extend16_s = 0x0ad,  // a = low 16 bits of b, sign extended
  OP_i32_eq = 0x0ae,  // a = b == c
  OP_i32_ne = 0x0af,  // a = b != c
  OP_i32_lt_s = 0x0b0,  // a = b < c, signed
  OP_i32_lt_u = 0x0b1,  // a = b < c, unsigned
  OP_i32_le_s = 0x0b2,  // a = b <= c, signed
  OP_i32_le_u = 0x0b3,  // a = b <= c, unsigned
  OP_i32_eq_imm = 0x0b4,  // a = b == c
  OP_i32_ne_imm = 0x0b5,  // a = b != c
  OP_i32_lt_s_imm = 0x0b6,  // a = b < c, signed
  OP_i32_lt_u_imm = 0x0b7,  // a = b < c, unsigned
  OP_i32_gt_s_imm = 0x0b8,  // a = b > c, signed
  OP_i32_gt_u_imm = 0x0b9,  // a = b > c, unsigned
  OP_i32_shl1_add = 0x0ba,  // a = (b << 1) + c
  OP_i32_shl2_add = 0x0bb,  // a = (b << 2) + c
  OP_i32_shl3_add = 0x0bc,  // a = (b << 3) + c
  OP_i32_shl4_add = 0x0bd,  // a = (b << 4) + c
  OP_i64_add = 0x0c0,  // a = b + c
  OP_i64_sub = 0x0c1,  // a = b - c
  OP_i64_mul = 0x0c2,  // a = b * c
  OP_i64_and = 0x0c3,  // a = b & c
  OP_i64_or = 0x0c4,  // a = b | c
  OP_i64_xor = 0x0c5,  // a = b ^ c
  OP_i64_shl = 0x0c6,  // a = b << c
  OP_i64_shr_s = 0x0c7,  // a = b >> c, signed
  OP_i64_shr_u = 0x0c8,  // a = b >> c, unsigned
  OP_i64_rotl = 0x0c9,  // a = b rotated left by c
  OP_i64_rotr = 0x0ca,  // a = b rotated right by c
  OP_i64_div_s = 0x0cb,  // a = b / c, signed; traps if c is 0 or on overflow
  OP_i64_div_u = 0x0cc,  // a = b / c, unsigned; traps if c is 0
  OP_i64_rem_s = 0x0cd,  // a = b % c, signed; traps if c is 0
  OP_i64_rem_u = 0x0ce,  // a = b % c, unsigned; traps if c is 0
  OP_i64_add_imm = 0x0cf,  // a = b + c
  OP_i64_mul_imm = 0x0d0,  // a = b * c
  OP_i64_and_imm = 0x0d1,  // a = b & c
  OP_i64_or_imm = 0x0d2,  // a = b | c
  OP_i64_xor_imm = 0x0d3,  // a = b ^ c
  OP_i64_shl_imm = 0x0d4,  // a = b << c
  OP_i64_shr_s_imm = 0x0d5,  // a = b >> c, signed
  OP_i64_shr_u_imm = 0x0d6,  // a = b >> c, unsigned
  OP_i64_rotl_imm = 0x0d7,  // a = b rotated left by c
  OP_i64_clz = 0x0d8,  // a = leading zero bits of b
  OP_i64_ctz = 0x0d9,  // a = trailing zero bits of b
  OP_i64_popcnt = 0x0da,  // a = one bits of b
  OP_i64_eqz = 0x0db,  // a = b == 0
  OP_i64_extend8_s = 0x0dc,  // a = low 8 bits of b, sign extended
  OP_i64_extend16_s = 0x0dd,  // a = low 16 bits of b, sign extended
  OP_i64_extend32_s = 0x0de,  // a = low 32 bits of b, sign extended
  OP_i64_eq = 0x0df,  // a = b == c
  OP_i64_ne = 0x0e0,  // a = b != c
  OP_i64_lt_s = 0x0e1,  // a = b < c, signed
  OP_i64_lt_u = 0x0e2,  // a = b < c, unsigned
  OP_i64_le_s = 0x0e3,  // a = b <= c, signed
  OP_i64_le_u = 0x0e4,  // a = b <= c, unsigned
  OP_i64_eq_imm = 0x0e5,  // a = b == c
  OP_i64_ne_imm = 0x0e6,  // a = b != c
  OP_i64_lt_s_imm = 0x0e7,  // a = b < c, signed
  OP_i64_lt_u_imm = 0x0e8,  // a = b < c, unsigned
  OP_i64_gt_s_imm = 0x0e9,  // a = b > c, signed
  OP_i64_gt_u_imm = 0x0ea,  // a = b > c, unsigned
  OP_f32_add = 0x0f0,  // a = b + c
  OP_f32_sub = 0x0f1,  // a = b - c
  OP_f32_mul = 0x0f2,  // a = b * c
  OP_f32_div = 0x0f3,  // a = b / c
  OP_f32_min = 0x0f4,  // a = minimum of b and c
  OP_f32_max = 0x0f5,  // a = maximum of b and c
  OP_f32_copysign = 0x0f6,  // a = b with the sign of c
  OP_f32_abs = 0x0f7,  // a = b without its sign
  OP_f32_neg = 0x0f8,  // a = b with its sign changed
  OP_f32_ceil = 0x0f9,  // a = b rounded up
  OP_f32_floor = 0x0fa,  // a = b rounded down
  OP_f32_trunc = 0x0fb,  // a = b rounded to zero
  OP_f32_nearest = 0x0fc,  // a = b rounded to nearest even
  OP_f32_sqrt = 0x0fd,  // a = square root of b
  OP_f32_eq = 0x0fe,  // a = b == c
  OP_f32_ne = 0x0ff,  // a = b != c
  OP_f32_lt = 0x100,  // a = b < c
  OP_f32_le = 0x101,  // a = b <= c
  OP_f64_add = 0x108,  // a = b + c
  OP_f64_sub = 0x109,  // a = b - c
  OP_f64_mul = 0x10a,  // a = b * c
  OP_f64_div = 0x10b,  // a = b / c
  OP_f64_min = 0x10c,  // a = minimum of b and c
  OP_f64_max = 0x10d,  // a = maximum of b and c
  OP_f64_copysign = 0x10e,  // a = b with the sign of c
  OP_f64_abs = 0x10f,  // a = b without its sign
  OP_f64_neg = 0x110,  // a = b with its sign changed
  OP_f64_ceil = 0x111,  // a = b rounded up
  OP_f64_floor = 0x112,  // a = b rounded down
  OP_f64_trunc = 0x113,  // a = b rounded to zero
  OP_f64_nearest = 0x114,  // a = b rounded to nearest even
  OP_f64_sqrt = 0x115,  // a = square root of b
  OP_f64_eq = 0x116,  // a = b == c
  OP_f64_ne = 0x117,  // a = b != c
  OP_f64_lt = 0x118,  // a = b < c
  OP_f64_le = 0x119,  // a = b <= c
  OP_i32_wrap_i64 = 0x120,  // a = low 32 bits of b
  OP_i64_extend_i32_s = 0x121,  // a = b, sign extended
  OP_i64_extend_i32_u = 0x122,  // a = b, zero extended
  OP_i32_trunc_f32_s = 0x123,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f32_u = 0x124,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f64_s = 0x125,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f64_u = 0x126,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f32_s = 0x127,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f32_u = 0x128,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f64_s = 0x129,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f64_u = 0x12a,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_sat_f32_s = 0x12b,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f32_u = 0x12c,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f64_s = 0x12d,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f64_u = 0x12e,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f32_s = 0x12f,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f32_u = 0x130,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f64_s = 0x131,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f64_u = 0x132,  // a = b truncated and saturated; 0 if NaN
  OP_f32_convert_i32_s = 0x133,  // a = b converted, signed
  OP_f32_convert_i32_u = 0x134,  // a = b converted, unsigned
  OP_f32_convert_i64_s = 0x135,  // a = b converted, signed
  OP_f32_convert_i64_u = 0x136,  // a = b converted, unsigned
  OP_f64_convert_i32_s = 0x137,  // a = b converted, signed
  OP_f64_convert_i32_u = 0x138,  // a = b converted, unsigned
  OP_f64_convert_i64_s = 0x139,  // a = b converted, signed
  OP_f64_convert_i64_u = 0x13a,  // a = b converted, unsigned
  OP_f32_demote_f64 = 0x13b,  // a = b rounded to f32
  OP_f64_promote_f32 = 0x13c,  // a = b as f64
  OP_load32 = 0x140,  // a = 32-bit value at b + c
  OP_i32_load8_s = 0x141,  // a = 8-bit signed value at b + c
  OP_i32_load8_u = 0x142,  // a = 8-bit unsigned value at b + c
  OP_i32_load16_s = 0x143,  // a = 16-bit signed value at b + c
  OP_i32_load16_u = 0x144,  // a = 16-bit unsigned value at b + c
  OP_load64 = 0x145,  // a = 64-bit value at b + c
  OP_i64_load8_s = 0x146,  // a = 8-bit signed value at b + c
  OP_i64_load8_u = 0x147,  // a = 8-bit unsigned value at b + c
  OP_i64_load16_s = 0x148,  // a = 16-bit signed value at b + c
  OP_i64_load16_u = 0x149,  // a = 16-bit unsigned value at b + c
  OP_i64_load32_s = 0x14a,  // a = 32-bit signed value at b + c
  OP_i64_load32_u = 0x14b,  // a = 32-bit value at b + c
  OP_store32 = 0x14c,  // 32-bit value at a + c = b
  OP_i32_store8 = 0x14d,  // 8-bit value at a + c = b
  OP_i32_store16 = 0x14e,  // 16-bit value at a + c = b
  OP_store64 = 0x14f,  // 64-bit value at a + c = b
  OP_i64_store8 = 0x150,  // 8-bit value at a + c = b
  OP_i64_store16 = 0x151,  // 16-bit value at a + c = b
  OP_i64_store32 = 0x152,  // 32-bit value at a + c = b
  OP_load32_far = 0x158,  // a = 32-bit value at b + d in memory c
  OP_i32_load8_s_far = 0x159,  // a = 8-bit signed value at b + d in memory c
  OP_i32_load8_u_far = 0x15a,  // a = 8-bit unsigned value at b + d in memory c
  OP_i32_load16_s_far = 0x15b,  // a = 16-bit signed value at b + d in memory c
  OP_i32_load16_u_far = 0x15c,  // a = 16-bit unsigned value at b + d in memory c
  OP_load64_far = 0x15d,  // a = 64-bit value at b + d in memory c
  OP_i64_load8_s_far = 0x15e,  // a = 8-bit signed value at b + d in memory c
  OP_i64_load8_u_far = 0x15f,  // a = 8-bit unsigned value at b + d in memory c
  OP_i64_load16_s_far = 0x160,  // a = 16-bit signed value at b + d in memory c
  OP_i64_load16_u_far = 0x161,  // a = 16-bit unsigned value at b + d in memory c
  OP_i64_load32_s_far = 0x162,  // a = 32-bit signed value at b + d in memory c
  OP_i64_load32_u_far = 0x163,  // a = 32-bit value at b + d in memory c
  OP_store32_far = 0x164,  // 32-bit value at a + d in memory c = b
  OP_i32_store8_far = 0x165,  // 8-bit value at a + d in memory c = b
  OP_i32_store16_far = 0x166,  // 16-bit value at a + d in memory c = b
  OP_store64_far = 0x167,  // 64-bit value at a + d in memory c = b
  OP_i64_store8_far = 0x168,  // 8-bit value at a + d in memory c = b
  OP_i64_store16_far = 0x169,  // 16-bit value at a + d in memory c = b
  OP_i64_store32_far = 0x16a,  // 32-bit value at a + d in memory c = b
  OP_br_i32_eq = 0x170,  // if a == b: pc += c
  OP_br_i32_ne = 0x171,  // if a != b: pc += c
  OP_br_i32_lt_s = 0x172,  // if a < b, signed: pc += c
  OP_br_i32_lt_u = 0x173,  // if a < b, unsigned: pc += c
  OP_br_i32_le_s = 0x174,  // if a <= b, signed: pc += c
  OP_br_i32_le_u = 0x175,  // if a <= b, unsigned: pc += c
  OP_br_i32_eq_imm = 0x176,  // if a == b: pc += c
  OP_br_i32_ne_imm = 0x177,  // if a != b: pc += c
  OP_br_i32_lt_s_imm = 0x178,  // if a < b, signed: pc += c
  OP_br_i32_lt_u_imm = 0x179,  // if a < b, unsigned: pc += c
  OP_br_i32_gt_s_imm = 0x17a,  // if a > b, signed: pc += c
  OP_br_i32_gt_u_imm = 0x17b,  // if a > b, unsigned: pc += c
  OP_br_i64_eq = 0x17c,  // if a == b: pc += c
  OP_br_i64_ne = 0x17d,  // if a != b: pc += c
  OP_br_i64_lt_s = 0x17e,  // if a < b, signed: pc += c
  OP_br_i64_lt_u = 0x17f,  // if a < b, unsigned: pc += c
  OP_br_i64_le_s = 0x180,  // if a <= b, signed: pc += c
  OP_br_i64_le_u = 0x181,  // if a <= b, unsigned: pc += c
  OP_br_i64_eq_imm = 0x182,  // if a == b: pc += c
  OP_br_i64_ne_imm = 0x183,  // if a != b: pc += c
  OP_br_i64_lt_s_imm = 0x184,  // if a < b, signed: pc += c
  OP_br_i64_lt_u_imm = 0x185,  // if a < b, unsigned: pc += c
  OP_br_i64_gt_s_imm = 0x186,  // if a > b, signed: pc += c
  OP_br_i64_gt_u_imm = 0x187,  // if a > b, unsigned: pc += c
  OP_br_f32_eq = 0x188,  // if a == b: pc += c
  OP_br_f32_ne = 0x189,  // if a != b: pc += c
  OP_br_f32_lt = 0x18a,  // if a < b: pc += c
  OP_br_f32_le = 0x18b,  // if a <= b: pc += c
  OP_br_not_f32_lt = 0x18c,  // unless a < b: pc += c
  OP_br_not_f32_le = 0x18d,  // unless a <= b: pc += c
  OP_br_f64_eq = 0x18e,  // if a == b: pc += c
  OP_br_f64_ne = 0x18f,  // if a != b: pc += c
  OP_br_f64_lt = 0x190,  // if a < b: pc += c
  OP_br_f64_le = 0x191,  // if a <= b: pc += c
  OP_br_not_f64_lt = 0x192,  // unless a < b: pc += c
  OP_br_not_f64_le = 0x193,  // unless a <= b: pc += c
  OP_br_bits = 0x194,  // if a & b != 0: pc += c
  OP_br_no_bits = 0x195,  // if a & b == 0: pc += c
  OP_br_bits_imm = 0x196,  // if a & b != 0: pc += c
  OP_br_no_bits_imm = 0x197,  // if a & b == 0: pc += c
  OP_i32_shl_xor = 0x198,  // a = (b << c) ^ d
  OP_i32_shr_u_xor = 0x199,  // a = (b >> c, unsigned) ^ d
  OP_i32_shl_or = 0x19a,  // a = (b << c) | d
  OP_i32_rotl_xor = 0x19b,  // a = (b rotated left by c) ^ d
  OP_i32_shr_u_and = 0x19c,  // a = (b >> c, unsigned) & d
  OP_i32_mul_add = 0x19d,  // a = b * c + d
  OP_i32_add_add = 0x19e,  // a = b + c + d
  OP_i32_and_xor = 0x19f,  // a = (b & c) ^ d
  OP_i32_xor_xor = 0x1a0,  // a = b ^ c ^ d
  OP_i64_shl_xor = 0x1a1,  // a = (b << c) ^ d
  OP_i64_shr_u_xor = 0x1a2,  // a = (b >> c, unsigned) ^ d
  OP_i64_shl_or = 0x1a3,  // a = (b << c) | d
  OP_i64_rotl_xor = 0x1a4,  // a = (b rotated left by c) ^ d
  OP_i64_shr_u_and = 0x1a5,  // a = (b >> c, unsigned) & d
  OP_i64_mul_add = 0x1a6,  // a = b * c + d
  OP_i64_add_add = 0x1a7,  // a = b + c + d
  OP_i64_and_xor = 0x1a8,  // a = (b & c) ^ d
  OP_i64_xor_xor = 0x1a9,  // a = b ^ c ^ d
  OP_f32_mul_add = 0x1aa,  // a = b * c + d, rounded twice
  OP_f32_mul_sub = 0x1ab,  // a = b * c - d, rounded twice
  OP_f32_sub_mul = 0x1ac,  // a = d - b * c, rounded twice
  OP_f64_mul_add = 0x1ad,  // a = b * c + d, rounded twice
  OP_f64_mul_sub = 0x1ae,  // a = b * c - d, rounded twice
  OP_f64_sub_mul = 0x1af,  // a = d - b * c, rounded twice
  OP_br_i32_add_ne = 0x1b0,  // a = b + c; if a != d: pc += e
  OP_br_i32_add_lt_s = 0x1b1,  // a = b + c; if a < d, signed: pc += e
  OP_br_i32_add_lt_u = 0x1b2,  // a = b + c; if a < d, unsigned: pc += e
  OP_br_i32_add_ne_imm = 0x1b3,  // a = b + c; if a != d: pc += e
  OP_i64_mul_hi_u = 0x1b4,  // a = upper 64 bits of b * c, unsigned
  OP_copy128 = 0x200,  // a = b
  OP_select128 = 0x201,  // a = d != 0 ? b : c
  OP_v128_const = 0x202,  // a = b as lower and c as upper half
  OP_global_get128 = 0x203,  // a = global b
  OP_global_set128 = 0x204,  // global b = a
  OP_v128_load = 0x205,  // a = 128-bit value at b + d in memory c
  OP_v128_store = 0x206,  // 128-bit value at a + d in memory c = b
  OP_v128_load8x8_s = 0x207,  // a = 8 values of 8 bits at b + d in memory c, sign extended to lanes of 16 bits
  OP_v128_load8x8_u = 0x208,  // a = 8 values of 8 bits at b + d in memory c, zero extended to lanes of 16 bits
  OP_v128_load16x4_s = 0x209,  // a = 4 values of 16 bits at b + d in memory c, sign extended to lanes of 32 bits
  OP_v128_load16x4_u = 0x20a,  // a = 4 values of 16 bits at b + d in memory c, zero extended to lanes of 32 bits
  OP_v128_load32x2_s = 0x20b,  // a = 2 values of 32 bits at b + d in memory c, sign extended to lanes of 64 bits
  OP_v128_load32x2_u = 0x20c,  // a = 2 values of 32 bits at b + d in memory c, zero extended to lanes of 64 bits
  OP_v128_load8_splat = 0x20d,  // every lane of a = 8-bit value at b + d in memory c
  OP_v128_load16_splat = 0x20e,  // every lane of a = 16-bit value at b + d in memory c
  OP_v128_load32_splat = 0x20f,  // every lane of a = 32-bit value at b + d in memory c
  OP_v128_load64_splat = 0x210,  // every lane of a = 64-bit value at b + d in memory c
  OP_v128_load32_zero = 0x211,  // lane 0 of a = 32-bit value at b + d in memory c, the others are 0
  OP_v128_load64_zero = 0x212,  // lane 0 of a = 64-bit value at b + d in memory c, the others are 0
  OP_v128_load8_lane = 0x213,  // a = c with lane f = 8-bit value at b + d in memory e
  OP_v128_load16_lane = 0x214,  // a = c with lane f = 16-bit value at b + d in memory e
  OP_v128_load32_lane = 0x215,  // a = c with lane f = 32-bit value at b + d in memory e
  OP_v128_load64_lane = 0x216,  // a = c with lane f = 64-bit value at b + d in memory e
  OP_v128_store8_lane = 0x217,  // 8-bit value at a + d in memory c = lane e of b
  OP_v128_store16_lane = 0x218,  // 16-bit value at a + d in memory c = lane e of b
  OP_v128_store32_lane = 0x219,  // 32-bit value at a + d in memory c = lane e of b
  OP_v128_store64_lane = 0x21a,  // 64-bit value at a + d in memory c = lane e of b
  OP_i8x16_shuffle = 0x21b,  // a = for each byte of e:d, that byte of c:b
  OP_i8x16_swizzle = 0x21c,  // a = for each byte of c, that byte of b, or 0 from 16 on; also relaxed_swizzle
  OP_i8x16_splat = 0x21d,  // every lane of a = b
  OP_i16x8_splat = 0x21e,  // every lane of a = b
  OP_i32x4_splat = 0x21f,  // every lane of a = b
  OP_i64x2_splat = 0x220,  // every lane of a = b
  OP_i8x16_extract_lane_s = 0x221,  // a = lane c of b, sign extended
  OP_i8x16_extract_lane_u = 0x222,  // a = lane c of b, zero extended
  OP_i16x8_extract_lane_s = 0x223,  // a = lane c of b, sign extended
  OP_i16x8_extract_lane_u = 0x224,  // a = lane c of b, zero extended
  OP_i32x4_extract_lane = 0x225,  // a = lane c of b
  OP_i64x2_extract_lane = 0x226,  // a = lane c of b
  OP_i8x16_replace_lane = 0x227,  // a = b with lane d = c
  OP_i16x8_replace_lane = 0x228,  // a = b with lane d = c
  OP_i32x4_replace_lane = 0x229,  // a = b with lane d = c
  OP_i64x2_replace_lane = 0x22a,  // a = b with lane d = c
  OP_v128_not = 0x22b,  // a = ~b
  OP_v128_and = 0x22c,  // a = b & c
  OP_v128_andnot = 0x22d,  // a = b & ~c
  OP_v128_or = 0x22e,  // a = b | c
  OP_v128_xor = 0x22f,  // a = b ^ c
  OP_v128_bitselect = 0x230,  // a = bits of b where d has a 1, of c where it has a 0; also relaxed_laneselect
  OP_v128_any_true = 0x231,  // a = b has a bit that is 1
  OP_i8x16_eq = 0x232,  // a = b == c
  OP_i8x16_ne = 0x233,  // a = b != c
  OP_i8x16_lt_s = 0x234,  // a = b < c, signed
  OP_i8x16_lt_u = 0x235,  // a = b < c, unsigned
  OP_i8x16_le_s = 0x236,  // a = b <= c, signed
  OP_i8x16_le_u = 0x237,  // a = b <= c, unsigned
  OP_i8x16_abs = 0x238,  // a = |b|, wrapping
  OP_i8x16_neg = 0x239,  // a = -b
  OP_i8x16_popcnt = 0x23a,  // a = number of ones in b
  OP_i8x16_all_true = 0x23b,  // a = no lane of b is 0
  OP_i8x16_bitmask = 0x23c,  // a = the sign bits of b's lanes, lane 0 lowest
  OP_i8x16_shl = 0x23d,  // a = b << c
  OP_i8x16_shr_s = 0x23e,  // a = b >> c, signed
  OP_i8x16_shr_u = 0x23f,  // a = b >> c, unsigned
  OP_i8x16_add = 0x240,  // a = b + c
  OP_i8x16_add_sat_s = 0x241,  // a = b + c, signed and saturated
  OP_i8x16_add_sat_u = 0x242,  // a = b + c, unsigned and saturated
  OP_i8x16_sub = 0x243,  // a = b - c
  OP_i8x16_sub_sat_s = 0x244,  // a = b - c, signed and saturated
  OP_i8x16_sub_sat_u = 0x245,  // a = b - c, unsigned and saturated
  OP_i8x16_min_s = 0x246,  // a = the lesser of b and c, signed
  OP_i8x16_min_u = 0x247,  // a = the lesser of b and c, unsigned
  OP_i8x16_max_s = 0x248,  // a = the greater of b and c, signed
  OP_i8x16_max_u = 0x249,  // a = the greater of b and c, unsigned
  OP_i8x16_avgr_u = 0x24a,  // a = (b + c + 1) / 2, unsigned
  OP_i8x16_narrow_i16x8_s = 0x24b,  // a = the signed lanes of b, then of c, saturated to 8 bits signed
  OP_i8x16_narrow_i16x8_u = 0x24c,  // a = the signed lanes of b, then of c, saturated to 8 bits unsigned
  OP_i16x8_eq = 0x24d,  // a = b == c
  OP_i16x8_ne = 0x24e,  // a = b != c
  OP_i16x8_lt_s = 0x24f,  // a = b < c, signed
  OP_i16x8_lt_u = 0x250,  // a = b < c, unsigned
  OP_i16x8_le_s = 0x251,  // a = b <= c, signed
  OP_i16x8_le_u = 0x252,  // a = b <= c, unsigned
  OP_i16x8_abs = 0x253,  // a = |b|, wrapping
  OP_i16x8_neg = 0x254,  // a = -b
  OP_i16x8_all_true = 0x255,  // a = no lane of b is 0
  OP_i16x8_bitmask = 0x256,  // a = the sign bits of b's lanes, lane 0 lowest
  OP_i16x8_shl = 0x257,  // a = b << c
  OP_i16x8_shr_s = 0x258,  // a = b >> c, signed
  OP_i16x8_shr_u = 0x259,  // a = b >> c, unsigned
  OP_i16x8_add = 0x25a,  // a = b + c
  OP_i16x8_add_sat_s = 0x25b,  // a = b + c, signed and saturated
  OP_i16x8_add_sat_u = 0x25c,  // a = b + c, unsigned and saturated
  OP_i16x8_sub = 0x25d,  // a = b - c
  OP_i16x8_sub_sat_s = 0x25e,  // a = b - c, signed and saturated
  OP_i16x8_sub_sat_u = 0x25f,  // a = b - c, unsigned and saturated
  OP_i16x8_mul = 0x260,  // a = b * c
  OP_i16x8_min_s = 0x261,  // a = the lesser of b and c, signed
  OP_i16x8_min_u = 0x262,  // a = the lesser of b and c, unsigned
  OP_i16x8_max_s = 0x263,  // a = the greater of b and c, signed
  OP_i16x8_max_u = 0x264,  // a = the greater of b and c, unsigned
  OP_i16x8_avgr_u = 0x265,  // a = (b + c + 1) / 2, unsigned
  OP_i16x8_q15mulr_sat_s = 0x266,  // a = (b * c + 2^14) >> 15, saturated: fractions of 15 bits; also relaxed_q15mulr_s
  OP_i16x8_narrow_i32x4_s = 0x267,  // a = the signed lanes of b, then of c, saturated to 16 bits signed
  OP_i16x8_narrow_i32x4_u = 0x268,  // a = the signed lanes of b, then of c, saturated to 16 bits unsigned
  OP_i16x8_extend_low_i8x16_s = 0x269,  // a = the lower half of b's lanes, sign extended
  OP_i16x8_extend_low_i8x16_u = 0x26a,  // a = the lower half of b's lanes, zero extended
  OP_i16x8_extend_high_i8x16_s = 0x26b,  // a = the upper half of b's lanes, sign extended
  OP_i16x8_extend_high_i8x16_u = 0x26c,  // a = the upper half of b's lanes, zero extended
  OP_i16x8_extmul_low_i8x16_s = 0x26d,  // a = products of the lower halves of b's and c's lanes, sign extended first
  OP_i16x8_extmul_low_i8x16_u = 0x26e,  // a = products of the lower halves of b's and c's lanes, zero extended first
  OP_i16x8_extmul_high_i8x16_s = 0x26f,  // a = products of the upper halves of b's and c's lanes, sign extended first
  OP_i16x8_extmul_high_i8x16_u = 0x270,  // a = products of the upper halves of b's and c's lanes, zero extended first
  OP_i16x8_extadd_pairwise_i8x16_s = 0x271,  // a = sums of neighbouring lanes of b, sign extended first
  OP_i16x8_extadd_pairwise_i8x16_u = 0x272,  // a = sums of neighbouring lanes of b, zero extended first
  OP_i16x8_relaxed_dot_i8x16_i7x16_s = 0x273,  // a = sums of neighbouring products of the 8-bit lanes of b and c, both signed, saturated
  OP_i32x4_eq = 0x274,  // a = b == c
  OP_i32x4_ne = 0x275,  // a = b != c
  OP_i32x4_lt_s = 0x276,  // a = b < c, signed
  OP_i32x4_lt_u = 0x277,  // a = b < c, unsigned
  OP_i32x4_le_s = 0x278,  // a = b <= c, signed
  OP_i32x4_le_u = 0x279,  // a = b <= c, unsigned
  OP_i32x4_abs = 0x27a,  // a = |b|, wrapping
  OP_i32x4_neg = 0x27b,  // a = -b
  OP_i32x4_all_true = 0x27c,  // a = no lane of b is 0
  OP_i32x4_bitmask = 0x27d,  // a = the sign bits of b's lanes, lane 0 lowest
  OP_i32x4_shl = 0x27e,  // a = b << c
  OP_i32x4_shr_s = 0x27f,  // a = b >> c, signed
  OP_i32x4_shr_u = 0x280,  // a = b >> c, unsigned
  OP_i32x4_add = 0x281,  // a = b + c
  OP_i32x4_sub = 0x282,  // a = b - c
  OP_i32x4_mul = 0x283,  // a = b * c
  OP_i32x4_min_s = 0x284,  // a = the lesser of b and c, signed
  OP_i32x4_min_u = 0x285,  // a = the lesser of b and c, unsigned
  OP_i32x4_max_s = 0x286,  // a = the greater of b and c, signed
  OP_i32x4_max_u = 0x287,  // a = the greater of b and c, unsigned
  OP_i32x4_extend_low_i16x8_s = 0x288,  // a = the lower half of b's lanes, sign extended
  OP_i32x4_extend_low_i16x8_u = 0x289,  // a = the lower half of b's lanes, zero extended
  OP_i32x4_extend_high_i16x8_s = 0x28a,  // a = the upper half of b's lanes, sign extended
  OP_i32x4_extend_high_i16x8_u = 0x28b,  // a = the upper half of b's lanes, zero extended
  OP_i32x4_extmul_low_i16x8_s = 0x28c,  // a = products of the lower halves of b's and c's lanes, sign extended first
  OP_i32x4_extmul_low_i16x8_u = 0x28d,  // a = products of the lower halves of b's and c's lanes, zero extended first
  OP_i32x4_extmul_high_i16x8_s = 0x28e,  // a = products of the upper halves of b's and c's lanes, sign extended first
  OP_i32x4_extmul_high_i16x8_u = 0x28f,  // a = products of the upper halves of b's and c's lanes, zero extended first
  OP_i32x4_extadd_pairwise_i16x8_s = 0x290,  // a = sums of neighbouring lanes of b, sign extended first
  OP_i32x4_extadd_pairwise_i16x8_u = 0x291,  // a = sums of neighbouring lanes of b, zero extended first
  OP_i32x4_dot_i16x8_s = 0x292,  // a = sums of neighbouring products of the 16-bit lanes of b and c, signed
  OP_i32x4_relaxed_dot_i8x16_i7x16_add_s = 0x293,  // a = sums of neighbouring lanes of i16x8.relaxed_dot_i8x16_i7x16_s of b and c, plus d
  OP_i64x2_eq = 0x294,  // a = b == c
  OP_i64x2_ne = 0x295,  // a = b != c
  OP_i64x2_lt_s = 0x296,  // a = b < c, signed
  OP_i64x2_le_s = 0x297,  // a = b <= c, signed
  OP_i64x2_abs = 0x298,  // a = |b|, wrapping
  OP_i64x2_neg = 0x299,  // a = -b
  OP_i64x2_all_true = 0x29a,  // a = no lane of b is 0
  OP_i64x2_bitmask = 0x29b,  // a = the sign bits of b's lanes, lane 0 lowest
  OP_i64x2_shl = 0x29c,  // a = b << c
  OP_i64x2_shr_s = 0x29d,  // a = b >> c, signed
  OP_i64x2_shr_u = 0x29e,  // a = b >> c, unsigned
  OP_i64x2_add = 0x29f,  // a = b + c
  OP_i64x2_sub = 0x2a0,  // a = b - c
  OP_i64x2_mul = 0x2a1,  // a = b * c
  OP_i64x2_extend_low_i32x4_s = 0x2a2,  // a = the lower half of b's lanes, sign extended
  OP_i64x2_extend_low_i32x4_u = 0x2a3,  // a = the lower half of b's lanes, zero extended
  OP_i64x2_extend_high_i32x4_s = 0x2a4,  // a = the upper half of b's lanes, sign extended
  OP_i64x2_extend_high_i32x4_u = 0x2a5,  // a = the upper half of b's lanes, zero extended
  OP_i64x2_extmul_low_i32x4_s = 0x2a6,  // a = products of the lower halves of b's and c's lanes, sign extended first
  OP_i64x2_extmul_low_i32x4_u = 0x2a7,  // a = products of the lower halves of b's and c's lanes, zero extended first
  OP_i64x2_extmul_high_i32x4_s = 0x2a8,  // a = products of the upper halves of b's and c's lanes, sign extended first
  OP_i64x2_extmul_high_i32x4_u = 0x2a9,  // a = products of the upper halves of b's and c's lanes, zero extended first
  OP_f32x4_eq = 0x2aa,  // a = b == c
  OP_f32x4_ne = 0x2ab,  // a = b != c
  OP_f32x4_lt = 0x2ac,  // a = b < c
  OP_f32x4_le = 0x2ad,  // a = b <= c
  OP_f32x4_ceil = 0x2ae,  // a = b rounded up
  OP_f32x4_floor = 0x2af,  // a = b rounded down
  OP_f32x4_trunc = 0x2b0,  // a = b rounded to zero
  OP_f32x4_nearest = 0x2b1,  // a = b rounded to nearest, ties to even
  OP_f32x4_abs = 0x2b2,  // a = |b|: the sign bit is cleared
  OP_f32x4_neg = 0x2b3,  // a = -b: the sign bit is flipped
  OP_f32x4_sqrt = 0x2b4,  // a = square root of b
  OP_f32x4_add = 0x2b5,  // a = b + c
  OP_f32x4_sub = 0x2b6,  // a = b - c
  OP_f32x4_mul = 0x2b7,  // a = b * c
  OP_f32x4_div = 0x2b8,  // a = b / c
  OP_f32x4_min = 0x2b9,  // a = the lesser of b and c; NaN if one is; also relaxed_min
  OP_f32x4_max = 0x2ba,  // a = the greater of b and c; NaN if one is; also relaxed_max
  OP_f32x4_pmin = 0x2bb,  // a = c < b ? c : b, bits unchanged
  OP_f32x4_pmax = 0x2bc,  // a = b < c ? c : b, bits unchanged
  OP_f32x4_relaxed_madd = 0x2bd,  // a = b * c + d, rounded twice
  OP_f32x4_relaxed_nmadd = 0x2be,  // a = d - b * c, rounded twice
  OP_f64x2_eq = 0x2bf,  // a = b == c
  OP_f64x2_ne = 0x2c0,  // a = b != c
  OP_f64x2_lt = 0x2c1,  // a = b < c
  OP_f64x2_le = 0x2c2,  // a = b <= c
  OP_f64x2_ceil = 0x2c3,  // a = b rounded up
  OP_f64x2_floor = 0x2c4,  // a = b rounded down
  OP_f64x2_trunc = 0x2c5,  // a = b rounded to zero
  OP_f64x2_nearest = 0x2c6,  // a = b rounded to nearest, ties to even
  OP_f64x2_abs = 0x2c7,  // a = |b|: the sign bit is cleared
  OP_f64x2_neg = 0x2c8,  // a = -b: the sign bit is flipped
  OP_f64x2_sqrt = 0x2c9,  // a = square root of b
  OP_f64x2_add = 0x2ca,  // a = b + c
  OP_f64x2_sub = 0x2cb,  // a = b - c
  OP_f64x2_mul = 0x2cc,  // a = b * c
  OP_f64x2_div = 0x2cd,  // a = b / c
  OP_f64x2_min = 0x2ce,  // a = the lesser of b and c; NaN if one is; also relaxed_min
  OP_f64x2_max = 0x2cf,  // a = the greater of b and c; NaN if one is; also relaxed_max
  OP_f64x2_pmin = 0x2d0,  // a = c < b ? c : b, bits unchanged
  OP_f64x2_pmax = 0x2d1,  // a = b < c ? c : b, bits unchanged
  OP_f64x2_relaxed_madd = 0x2d2,  // a = b * c + d, rounded twice
  OP_f64x2_relaxed_nmadd = 0x2d3,  // a = d - b * c, rounded twice
  OP_i32x4_trunc_sat_f32x4_s = 0x2d4,  // a = b truncated and saturated, signed; 0 if NaN; also relaxed_trunc_f32x4_s
  OP_i32x4_trunc_sat_f32x4_u = 0x2d5,  // a = b truncated and saturated, unsigned; 0 if NaN; also relaxed_trunc_f32x4_u
  OP_i32x4_trunc_sat_f64x2_s_zero = 0x2d6,  // a = b truncated and saturated, signed, then two lanes of 0; 0 if NaN; also relaxed_trunc_f64x2_s_zero
  OP_i32x4_trunc_sat_f64x2_u_zero = 0x2d7,  // a = b truncated and saturated, unsigned, then two lanes of 0; 0 if NaN; also relaxed_trunc_f64x2_u_zero
  OP_f32x4_convert_i32x4_s = 0x2d8,  // a = b converted, signed
  OP_f32x4_convert_i32x4_u = 0x2d9,  // a = b converted, unsigned
  OP_f64x2_convert_low_i32x4_s = 0x2da,  // a = the lower two lanes of b converted, signed
  OP_f64x2_convert_low_i32x4_u = 0x2db,  // a = the lower two lanes of b converted, unsigned
  OP_f32x4_demote_f64x2_zero = 0x2dc,  // a = b rounded to f32, then two lanes of 0
  OP_f64x2_promote_low_f32x4 = 0x2dd,  // a = the lower two lanes of b as f64
  OP_i64_div_wide_u = 0x2e0,  // a = (b * 2^64 + c) / d, unsigned, or 2^64 - 1 unless b < d
  OP_memory_atomic_notify = 0x340,  // wake at most c threads that wait at b + d in memory e; a = how many
  OP_memory_atomic_wait32 = 0x341,  // if the u32 at b + d in memory e is c, wait at most f ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out
  OP_memory_atomic_wait64 = 0x342,  // if the u64 at b + d in memory e is c, wait at most f ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out
  OP_atomic_fence = 0x343,  // order all accesses before it before all after it
  OP_i32_atomic_load = 0x348,  // a = u32 at b + d in memory c
  OP_i64_atomic_load = 0x349,  // a = u64 at b + d in memory c
  OP_i32_atomic_load8_u = 0x34a,  // a = u8 at b + d in memory c
  OP_i32_atomic_load16_u = 0x34b,  // a = u16 at b + d in memory c
  OP_i64_atomic_load8_u = 0x34c,  // a = u8 at b + d in memory c
  OP_i64_atomic_load16_u = 0x34d,  // a = u16 at b + d in memory c
  OP_i64_atomic_load32_u = 0x34e,  // a = u32 at b + d in memory c
  OP_i32_atomic_store = 0x350,  // u32 at a + d in memory c = b
  OP_i64_atomic_store = 0x351,  // u64 at a + d in memory c = b
  OP_i32_atomic_store8 = 0x352,  // u8 at a + d in memory c = b
  OP_i32_atomic_store16 = 0x353,  // u16 at a + d in memory c = b
  OP_i64_atomic_store8 = 0x354,  // u8 at a + d in memory c = b
  OP_i64_atomic_store16 = 0x355,  // u16 at a + d in memory c = b
  OP_i64_atomic_store32 = 0x356,  // u32 at a + d in memory c = b
  OP_i32_atomic_rmw_add = 0x358,  // a = u32 at b + d in memory e, then add c to it
  OP_i64_atomic_rmw_add = 0x359,  // a = u64 at b + d in memory e, then add c to it
  OP_i32_atomic_rmw8_add_u = 0x35a,  // a = u8 at b + d in memory e, then add c to it
  OP_i32_atomic_rmw16_add_u = 0x35b,  // a = u16 at b + d in memory e, then add c to it
  OP_i64_atomic_rmw8_add_u = 0x35c,  // a = u8 at b + d in memory e, then add c to it
  OP_i64_atomic_rmw16_add_u = 0x35d,  // a = u16 at b + d in memory e, then add c to it
  OP_i64_atomic_rmw32_add_u = 0x35e,  // a = u32 at b + d in memory e, then add c to it
  OP_i32_atomic_rmw_sub = 0x360,  // a = u32 at b + d in memory e, then subtract c from it
  OP_i64_atomic_rmw_sub = 0x361,  // a = u64 at b + d in memory e, then subtract c from it
  OP_i32_atomic_rmw8_sub_u = 0x362,  // a = u8 at b + d in memory e, then subtract c from it
  OP_i32_atomic_rmw16_sub_u = 0x363,  // a = u16 at b + d in memory e, then subtract c from it
  OP_i64_atomic_rmw8_sub_u = 0x364,  // a = u8 at b + d in memory e, then subtract c from it
  OP_i64_atomic_rmw16_sub_u = 0x365,  // a = u16 at b + d in memory e, then subtract c from it
  OP_i64_atomic_rmw32_sub_u = 0x366,  // a = u32 at b + d in memory e, then subtract c from it
  OP_i32_atomic_rmw_and = 0x368,  // a = u32 at b + d in memory e, then it &= c
  OP_i64_atomic_rmw_and = 0x369,  // a = u64 at b + d in memory e, then it &= c
  OP_i32_atomic_rmw8_and_u = 0x36a,  // a = u8 at b + d in memory e, then it &= c
  OP_i32_atomic_rmw16_and_u = 0x36b,  // a = u16 at b + d in memory e, then it &= c
  OP_i64_atomic_rmw8_and_u = 0x36c,  // a = u8 at b + d in memory e, then it &= c
  OP_i64_atomic_rmw16_and_u = 0x36d,  // a = u16 at b + d in memory e, then it &= c
  OP_i64_atomic_rmw32_and_u = 0x36e,  // a = u32 at b + d in memory e, then it &= c
  OP_i32_atomic_rmw_or = 0x370,  // a = u32 at b + d in memory e, then it |= c
  OP_i64_atomic_rmw_or = 0x371,  // a = u64 at b + d in memory e, then it |= c
  OP_i32_atomic_rmw8_or_u = 0x372,  // a = u8 at b + d in memory e, then it |= c
  OP_i32_atomic_rmw16_or_u = 0x373,  // a = u16 at b + d in memory e, then it |= c
  OP_i64_atomic_rmw8_or_u = 0x374,  // a = u8 at b + d in memory e, then it |= c
  OP_i64_atomic_rmw16_or_u = 0x375,  // a = u16 at b + d in memory e, then it |= c
  OP_i64_atomic_rmw32_or_u = 0x376,  // a = u32 at b + d in memory e, then it |= c
  OP_i32_atomic_rmw_xor = 0x378,  // a = u32 at b + d in memory e, then it ^= c
  OP_i64_atomic_rmw_xor = 0x379,  // a = u64 at b + d in memory e, then it ^= c
  OP_i32_atomic_rmw8_xor_u = 0x37a,  // a = u8 at b + d in memory e, then it ^= c
  OP_i32_atomic_rmw16_xor_u = 0x37b,  // a = u16 at b + d in memory e, then it ^= c
  OP_i64_atomic_rmw8_xor_u = 0x37c,  // a = u8 at b + d in memory e, then it ^= c
  OP_i64_atomic_rmw16_xor_u = 0x37d,  // a = u16 at b + d in memory e, then it ^= c
  OP_i64_atomic_rmw32_xor_u = 0x37e,  // a = u32 at b + d in memory e, then it ^= c
  OP_i32_atomic_rmw_xchg = 0x380,  // a = u32 at b + d in memory e, then it becomes c
  OP_i64_atomic_rmw_xchg = 0x381,  // a = u64 at b + d in memory e, then it becomes c
  OP_i32_atomic_rmw8_xchg_u = 0x382,  // a = u8 at b + d in memory e, then it becomes c
  OP_i32_atomic_rmw16_xchg_u = 0x383,  // a = u16 at b + d in memory e, then it becomes c
  OP_i64_atomic_rmw8_xchg_u = 0x384,  // a = u8 at b + d in memory e, then it becomes c
  OP_i64_atomic_rmw16_xchg_u = 0x385,  // a = u16 at b + d in memory e, then it becomes c
  OP_i64_atomic_rmw32_xchg_u = 0x386,  // a = u32 at b + d in memory e, then it becomes c
  OP_i32_atomic_rmw_cmpxchg = 0x388,  // a = u32 at b + d in memory f; if it was c it becomes e
  OP_i64_atomic_rmw_cmpxchg = 0x389,  // a = u64 at b + d in memory f; if it was c it becomes e
  OP_i32_atomic_rmw8_cmpxchg_u = 0x38a,  // a = u8 at b + d in memory f; if it was c it becomes e
  OP_i32_atomic_rmw16_cmpxchg_u = 0x38b,  // a = u16 at b + d in memory f; if it was c it becomes e
  OP_i64_atomic_rmw8_cmpxchg_u = 0x38c,  // a = u8 at b + d in memory f; if it was c it becomes e
  OP_i64_atomic_rmw16_cmpxchg_u = 0x38d,  // a = u16 at b + d in memory f; if it was c it becomes e
  OP_i64_atomic_rmw32_cmpxchg_u = 0x38e,  // a = u32 at b + d in memory f; if it was c it becomes e
};

// The parts of the kernel beside the interpreter's loop.
enum Handler : unsigned short {
  HANDLER_Frames,
  HANDLER_Requests,
  HANDLER_Debug,
  HANDLER_Allocation,
  HANDLER_Slow,
  HANDLER_Simd,
  HANDLER_Atomics,
  HANDLER_Work,
};

// Whether a handler executes an opcode that is not in the loop's own switch. Comparisons and no table: each
// caller asks about few handlers, which it names.
constexpr inline bool is_run_by(Handler handler, unsigned short op) {
  switch (handler) {
    case HANDLER_Frames: return op <= 0x01e || op == 0x020 || (op >= 0x058 && op <= 0x059);
    case HANDLER_Requests: return (op >= 0x086 && op <= 0x087);
    case HANDLER_Debug: return (op >= 0x067 && op <= 0x077) || (op >= 0x07a && op <= 0x07e);
    case HANDLER_Allocation: return op == 0x060 || (op >= 0x062 && op <= 0x063) || op == 0x065;
    case HANDLER_Slow: return op == 0x01f || (op >= 0x021 && op <= 0x057) || (op >= 0x05a && op <= 0x05f) || op == 0x061 || op == 0x064 || op == 0x066 || (op >= 0x078 && op <= 0x079) || (op >= 0x083 && op <= 0x085) || op == 0x08b || (op >= 0x08d && op <= 0x08f);
    case HANDLER_Simd: return (op >= 0x090 && op <= 0x2e0);
    case HANDLER_Atomics: return op >= 0x2e1;
    case HANDLER_Work: return (op >= 0x07f && op <= 0x082) || (op >= 0x088 && op <= 0x08a) || op == 0x08c;
  }
  return false;
}

enum TrapKind : unsigned short {
  TRAP_None = 0,
  TRAP_Unreachable = 1,  // unreachable
  TRAP_MemoryOutOfBounds = 2,  // out of bounds memory access
  TRAP_TableOutOfBounds = 3,  // out of bounds table access
  TRAP_UndefinedElement = 4,  // undefined element
  TRAP_UninitializedElement = 5,  // uninitialized element
  TRAP_IndirectCallTypeMismatch = 6,  // indirect call type mismatch
  TRAP_IntegerDivideByZero = 7,  // integer divide by zero
  TRAP_IntegerOverflow = 8,  // integer overflow
  TRAP_InvalidConversion = 9,  // invalid conversion to integer
  TRAP_StackOverflow = 10,  // call stack exhausted
  TRAP_ThreadStackOverflow = 11,  // stack overflow: the thread's stack in linear memory is exhausted
  TRAP_HeapCorrupted = 12,  // the heap's records contradict each other: threads freed what they do not own at the same time
  TRAP_BadOpcode = 13,  // opcode unknown to this kernel
  TRAP_OutOfRegisterMemory = 14,  // no device memory left for call frames
  TRAP_UnalignedAtomic = 15,  // unaligned atomic
  TRAP_NotShared = 16,  // expected shared memory
  TRAP_UnhandledException = 17,  // unhandled exception
  TRAP_NullExceptionReference = 18,  // null exception reference
  TRAP_TooManyExceptions = 19,  // no device memory left for exceptions
  TRAP_UnalignedPointer = 20,  // unaligned pointer
  TRAP_Deadlock = 21,  // deadlock: every thread waits, and none is left to wake another
  TRAP_OutOfFuel = 22,  // out of fuel
  TRAP_HeapForeignAddress = 30,  // the heap was given an address at which it has no block
  TRAP_HeapFreedTwice = 31,  // the heap was given a block that had been freed
  TRAP_HeapWrongSize = 32,  // the heap was given a block with another size than it has
  TRAP_HeapOverrun = 33,  // bytes behind a block of the heap were written
  TRAP_HeapWrittenAfterFree = 34,  // a block of the heap was written after it had been freed
  TRAP_HeapUnderrun = 35,  // bytes in front of a block of the heap were written
  TRAP_HeapWrongAlign = 36,  // the heap was given a block with another alignment than it was asked for
};

}  // namespace gpu_run
