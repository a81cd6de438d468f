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
  OP_thread_end = 0x00c,  // return from the first frame of a thread; never in a program
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
  OP_gid = 0x050,  // a = id of this thread, from 0
  OP_time = 0x051,  // a = monotonic clock in nanoseconds
  OP_atomic_add = 0x054,  // a = u32 at b, then add c to it; sequentially consistent
  OP_thread_count = 0x055,  // a = number of threads of the process
  OP_wall_time = 0x056,  // a = nanoseconds since the Unix epoch
  OP_sleep = 0x057,  // park the thread for a nanoseconds
  OP_exit = 0x058,  // end the process with exit code a
  OP_panic_exit = 0x059,  // end the process after a panic was reported: exit code 101
  OP_memcmp = 0x05a,  // a = difference of the first unequal byte pair of the d bytes at b and c, else 0
  OP_alloc = 0x060,  // a = new block of b bytes aligned to c, or 0
  OP_dealloc = 0x061,  // free the block a of b bytes aligned to c
  OP_realloc = 0x062,  // a = block b of c bytes aligned to d, moved to e bytes, or 0 and b unchanged
  OP_alloc_zero = 0x063,  // a = new zeroed block of b bytes aligned to c, or 0
  OP_print = 0x078,  // append c bytes at b to the thread's open record of stream a (1 stdout, 2 stderr)
  OP_print_end = 0x079,  // close the thread's record of stream a: it is written as one piece
  OP_atomic_inc = 0x083,  // a = u32 at b, then add 1 to it; sequentially consistent
  OP_atomic_dec = 0x084,  // a = u32 at b, then subtract 1 from it; sequentially consistent
  OP_atomic_cas = 0x085,  // a = u32 at b; if it was c it becomes d; sequentially consistent
  OP_i32_add = 0x100,  // a = b + c
  OP_i32_sub = 0x101,  // a = b - c
  OP_i32_mul = 0x102,  // a = b * c
  OP_i32_and = 0x103,  // a = b & c
  OP_i32_or = 0x104,  // a = b | c
  OP_i32_xor = 0x105,  // a = b ^ c
  OP_i32_shl = 0x106,  // a = b << c
  OP_i32_shr_s = 0x107,  // a = b >> c, signed
  OP_i32_shr_u = 0x108,  // a = b >> c, unsigned
  OP_i32_rotl = 0x109,  // a = b rotated left by c
  OP_i32_rotr = 0x10a,  // a = b rotated right by c
  OP_i32_div_s = 0x10b,  // a = b / c, signed; traps if c is 0 or on overflow
  OP_i32_div_u = 0x10c,  // a = b / c, unsigned; traps if c is 0
  OP_i32_rem_s = 0x10d,  // a = b % c, signed; traps if c is 0
  OP_i32_rem_u = 0x10e,  // a = b % c, unsigned; traps if c is 0
  OP_i32_add_imm = 0x10f,  // a = b + c
  OP_i32_mul_imm = 0x110,  // a = b * c
  OP_i32_and_imm = 0x111,  // a = b & c
  OP_i32_or_imm = 0x112,  // a = b | c
  OP_i32_xor_imm = 0x113,  // a = b ^ c
  OP_i32_shl_imm = 0x114,  // a = b << c
  OP_i32_shr_s_imm = 0x115,  // a = b >> c, signed
  OP_i32_shr_u_imm = 0x116,  // a = b >> c, unsigned
  OP_i32_rotl_imm = 0x117,  // a = b rotated left by c
  OP_i32_clz = 0x118,  // a = leading zero bits of b
  OP_i32_ctz = 0x119,  // a = trailing zero bits of b
  OP_i32_popcnt = 0x11a,  // a = one bits of b
  OP_i32_eqz = 0x11b,  // a = b == 0
  OP_i32_extend8_s = 0x11c,  // a = low 8 bits of b, sign extended
  OP_i32_extend16_s = 0x11d,  // a = low 16 bits of b, sign extended
  OP_i32_eq = 0x11e,  // a = b == c
  OP_i32_ne = 0x11f,  // a = b != c
  OP_i32_lt_s = 0x120,  // a = b < c, signed
  OP_i32_lt_u = 0x121,  // a = b < c, unsigned
  OP_i32_le_s = 0x122,  // a = b <= c, signed
  OP_i32_le_u = 0x123,  // a = b <= c, unsigned
  OP_i32_eq_imm = 0x124,  // a = b == c
  OP_i32_ne_imm = 0x125,  // a = b != c
  OP_i32_lt_s_imm = 0x126,  // a = b < c, signed
  OP_i32_lt_u_imm = 0x127,  // a = b < c, unsigned
  OP_i32_gt_s_imm = 0x128,  // a = b > c, signed
  OP_i32_gt_u_imm = 0x129,  // a = b > c, unsigned
  OP_i32_shl1_add = 0x12a,  // a = (b << 1) + c
  OP_i32_shl2_add = 0x12b,  // a = (b << 2) + c
  OP_i32_shl3_add = 0x12c,  // a = (b << 3) + c
  OP_i32_shl4_add = 0x12d,  // a = (b << 4) + c
  OP_i64_add = 0x140,  // a = b + c
  OP_i64_sub = 0x141,  // a = b - c
  OP_i64_mul = 0x142,  // a = b * c
  OP_i64_and = 0x143,  // a = b & c
  OP_i64_or = 0x144,  // a = b | c
  OP_i64_xor = 0x145,  // a = b ^ c
  OP_i64_shl = 0x146,  // a = b << c
  OP_i64_shr_s = 0x147,  // a = b >> c, signed
  OP_i64_shr_u = 0x148,  // a = b >> c, unsigned
  OP_i64_rotl = 0x149,  // a = b rotated left by c
  OP_i64_rotr = 0x14a,  // a = b rotated right by c
  OP_i64_div_s = 0x14b,  // a = b / c, signed; traps if c is 0 or on overflow
  OP_i64_div_u = 0x14c,  // a = b / c, unsigned; traps if c is 0
  OP_i64_rem_s = 0x14d,  // a = b % c, signed; traps if c is 0
  OP_i64_rem_u = 0x14e,  // a = b % c, unsigned; traps if c is 0
  OP_i64_add_imm = 0x14f,  // a = b + c
  OP_i64_mul_imm = 0x150,  // a = b * c
  OP_i64_and_imm = 0x151,  // a = b & c
  OP_i64_or_imm = 0x152,  // a = b | c
  OP_i64_xor_imm = 0x153,  // a = b ^ c
  OP_i64_shl_imm = 0x154,  // a = b << c
  OP_i64_shr_s_imm = 0x155,  // a = b >> c, signed
  OP_i64_shr_u_imm = 0x156,  // a = b >> c, unsigned
  OP_i64_rotl_imm = 0x157,  // a = b rotated left by c
  OP_i64_clz = 0x158,  // a = leading zero bits of b
  OP_i64_ctz = 0x159,  // a = trailing zero bits of b
  OP_i64_popcnt = 0x15a,  // a = one bits of b
  OP_i64_eqz = 0x15b,  // a = b == 0
  OP_i64_extend8_s = 0x15c,  // a = low 8 bits of b, sign extended
  OP_i64_extend16_s = 0x15d,  // a = low 16 bits of b, sign extended
  OP_i64_extend32_s = 0x15e,  // a = low 32 bits of b, sign extended
  OP_i64_eq = 0x15f,  // a = b == c
  OP_i64_ne = 0x160,  // a = b != c
  OP_i64_lt_s = 0x161,  // a = b < c, signed
  OP_i64_lt_u = 0x162,  // a = b < c, unsigned
  OP_i64_le_s = 0x163,  // a = b <= c, signed
  OP_i64_le_u = 0x164,  // a = b <= c, unsigned
  OP_i64_eq_imm = 0x165,  // a = b == c
  OP_i64_ne_imm = 0x166,  // a = b != c
  OP_i64_lt_s_imm = 0x167,  // a = b < c, signed
  OP_i64_lt_u_imm = 0x168,  // a = b < c, unsigned
  OP_i64_gt_s_imm = 0x169,  // a = b > c, signed
  OP_i64_gt_u_imm = 0x16a,  // a = b > c, unsigned
  OP_f32_add = 0x180,  // a = b + c
  OP_f32_sub = 0x181,  // a = b - c
  OP_f32_mul = 0x182,  // a = b * c
  OP_f32_div = 0x183,  // a = b / c
  OP_f32_min = 0x184,  // a = minimum of b and c
  OP_f32_max = 0x185,  // a = maximum of b and c
  OP_f32_copysign = 0x186,  // a = b with the sign of c
  OP_f32_abs = 0x187,  // a = b without its sign
  OP_f32_neg = 0x188,  // a = b with its sign changed
  OP_f32_ceil = 0x189,  // a = b rounded up
  OP_f32_floor = 0x18a,  // a = b rounded down
  OP_f32_trunc = 0x18b,  // a = b rounded to zero
  OP_f32_nearest = 0x18c,  // a = b rounded to nearest even
  OP_f32_sqrt = 0x18d,  // a = square root of b
  OP_f32_eq = 0x18e,  // a = b == c
  OP_f32_ne = 0x18f,  // a = b != c
  OP_f32_lt = 0x190,  // a = b < c
  OP_f32_le = 0x191,  // a = b <= c
  OP_f64_add = 0x1a0,  // a = b + c
  OP_f64_sub = 0x1a1,  // a = b - c
  OP_f64_mul = 0x1a2,  // a = b * c
  OP_f64_div = 0x1a3,  // a = b / c
  OP_f64_min = 0x1a4,  // a = minimum of b and c
  OP_f64_max = 0x1a5,  // a = maximum of b and c
  OP_f64_copysign = 0x1a6,  // a = b with the sign of c
  OP_f64_abs = 0x1a7,  // a = b without its sign
  OP_f64_neg = 0x1a8,  // a = b with its sign changed
  OP_f64_ceil = 0x1a9,  // a = b rounded up
  OP_f64_floor = 0x1aa,  // a = b rounded down
  OP_f64_trunc = 0x1ab,  // a = b rounded to zero
  OP_f64_nearest = 0x1ac,  // a = b rounded to nearest even
  OP_f64_sqrt = 0x1ad,  // a = square root of b
  OP_f64_eq = 0x1ae,  // a = b == c
  OP_f64_ne = 0x1af,  // a = b != c
  OP_f64_lt = 0x1b0,  // a = b < c
  OP_f64_le = 0x1b1,  // a = b <= c
  OP_i32_wrap_i64 = 0x1c0,  // a = low 32 bits of b
  OP_i64_extend_i32_s = 0x1c1,  // a = b, sign extended
  OP_i64_extend_i32_u = 0x1c2,  // a = b, zero extended
  OP_i32_trunc_f32_s = 0x1c3,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f32_u = 0x1c4,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f64_s = 0x1c5,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_f64_u = 0x1c6,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f32_s = 0x1c7,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f32_u = 0x1c8,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f64_s = 0x1c9,  // a = b truncated; traps if NaN or out of range
  OP_i64_trunc_f64_u = 0x1ca,  // a = b truncated; traps if NaN or out of range
  OP_i32_trunc_sat_f32_s = 0x1cb,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f32_u = 0x1cc,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f64_s = 0x1cd,  // a = b truncated and saturated; 0 if NaN
  OP_i32_trunc_sat_f64_u = 0x1ce,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f32_s = 0x1cf,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f32_u = 0x1d0,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f64_s = 0x1d1,  // a = b truncated and saturated; 0 if NaN
  OP_i64_trunc_sat_f64_u = 0x1d2,  // a = b truncated and saturated; 0 if NaN
  OP_f32_convert_i32_s = 0x1d3,  // a = b converted, signed
  OP_f32_convert_i32_u = 0x1d4,  // a = b converted, unsigned
  OP_f32_convert_i64_s = 0x1d5,  // a = b converted, signed
  OP_f32_convert_i64_u = 0x1d6,  // a = b converted, unsigned
  OP_f64_convert_i32_s = 0x1d7,  // a = b converted, signed
  OP_f64_convert_i32_u = 0x1d8,  // a = b converted, unsigned
  OP_f64_convert_i64_s = 0x1d9,  // a = b converted, signed
  OP_f64_convert_i64_u = 0x1da,  // a = b converted, unsigned
  OP_f32_demote_f64 = 0x1db,  // a = b rounded to f32
  OP_f64_promote_f32 = 0x1dc,  // a = b as f64
  OP_load32 = 0x200,  // a = 32-bit value at b + c
  OP_i32_load8_s = 0x201,  // a = 8-bit signed value at b + c
  OP_i32_load8_u = 0x202,  // a = 8-bit unsigned value at b + c
  OP_i32_load16_s = 0x203,  // a = 16-bit signed value at b + c
  OP_i32_load16_u = 0x204,  // a = 16-bit unsigned value at b + c
  OP_load64 = 0x205,  // a = 64-bit value at b + c
  OP_i64_load8_s = 0x206,  // a = 8-bit signed value at b + c
  OP_i64_load8_u = 0x207,  // a = 8-bit unsigned value at b + c
  OP_i64_load16_s = 0x208,  // a = 16-bit signed value at b + c
  OP_i64_load16_u = 0x209,  // a = 16-bit unsigned value at b + c
  OP_i64_load32_s = 0x20a,  // a = 32-bit signed value at b + c
  OP_i64_load32_u = 0x20b,  // a = 32-bit value at b + c
  OP_store32 = 0x20c,  // 32-bit value at a + c = b
  OP_i32_store8 = 0x20d,  // 8-bit value at a + c = b
  OP_i32_store16 = 0x20e,  // 16-bit value at a + c = b
  OP_store64 = 0x20f,  // 64-bit value at a + c = b
  OP_i64_store8 = 0x210,  // 8-bit value at a + c = b
  OP_i64_store16 = 0x211,  // 16-bit value at a + c = b
  OP_i64_store32 = 0x212,  // 32-bit value at a + c = b
  OP_load32_far = 0x220,  // a = 32-bit value at b + d in memory c
  OP_i32_load8_s_far = 0x221,  // a = 8-bit signed value at b + d in memory c
  OP_i32_load8_u_far = 0x222,  // a = 8-bit unsigned value at b + d in memory c
  OP_i32_load16_s_far = 0x223,  // a = 16-bit signed value at b + d in memory c
  OP_i32_load16_u_far = 0x224,  // a = 16-bit unsigned value at b + d in memory c
  OP_load64_far = 0x225,  // a = 64-bit value at b + d in memory c
  OP_i64_load8_s_far = 0x226,  // a = 8-bit signed value at b + d in memory c
  OP_i64_load8_u_far = 0x227,  // a = 8-bit unsigned value at b + d in memory c
  OP_i64_load16_s_far = 0x228,  // a = 16-bit signed value at b + d in memory c
  OP_i64_load16_u_far = 0x229,  // a = 16-bit unsigned value at b + d in memory c
  OP_i64_load32_s_far = 0x22a,  // a = 32-bit signed value at b + d in memory c
  OP_i64_load32_u_far = 0x22b,  // a = 32-bit value at b + d in memory c
  OP_store32_far = 0x22c,  // 32-bit value at a + d in memory c = b
  OP_i32_store8_far = 0x22d,  // 8-bit value at a + d in memory c = b
  OP_i32_store16_far = 0x22e,  // 16-bit value at a + d in memory c = b
  OP_store64_far = 0x22f,  // 64-bit value at a + d in memory c = b
  OP_i64_store8_far = 0x230,  // 8-bit value at a + d in memory c = b
  OP_i64_store16_far = 0x231,  // 16-bit value at a + d in memory c = b
  OP_i64_store32_far = 0x232,  // 32-bit value at a + d in memory c = b
  OP_br_i32_eq = 0x240,  // if a == b: pc += c
  OP_br_i32_ne = 0x241,  // if a != b: pc += c
  OP_br_i32_lt_s = 0x242,  // if a < b, signed: pc += c
  OP_br_i32_lt_u = 0x243,  // if a < b, unsigned: pc += c
  OP_br_i32_le_s = 0x244,  // if a <= b, signed: pc += c
  OP_br_i32_le_u = 0x245,  // if a <= b, unsigned: pc += c
  OP_br_i32_eq_imm = 0x246,  // if a == b: pc += c
  OP_br_i32_ne_imm = 0x247,  // if a != b: pc += c
  OP_br_i32_lt_s_imm = 0x248,  // if a < b, signed: pc += c
  OP_br_i32_lt_u_imm = 0x249,  // if a < b, unsigned: pc += c
  OP_br_i32_gt_s_imm = 0x24a,  // if a > b, signed: pc += c
  OP_br_i32_gt_u_imm = 0x24b,  // if a > b, unsigned: pc += c
  OP_br_i64_eq = 0x24c,  // if a == b: pc += c
  OP_br_i64_ne = 0x24d,  // if a != b: pc += c
  OP_br_i64_lt_s = 0x24e,  // if a < b, signed: pc += c
  OP_br_i64_lt_u = 0x24f,  // if a < b, unsigned: pc += c
  OP_br_i64_le_s = 0x250,  // if a <= b, signed: pc += c
  OP_br_i64_le_u = 0x251,  // if a <= b, unsigned: pc += c
  OP_br_i64_eq_imm = 0x252,  // if a == b: pc += c
  OP_br_i64_ne_imm = 0x253,  // if a != b: pc += c
  OP_br_i64_lt_s_imm = 0x254,  // if a < b, signed: pc += c
  OP_br_i64_lt_u_imm = 0x255,  // if a < b, unsigned: pc += c
  OP_br_i64_gt_s_imm = 0x256,  // if a > b, signed: pc += c
  OP_br_i64_gt_u_imm = 0x257,  // if a > b, unsigned: pc += c
  OP_br_f32_eq = 0x258,  // if a == b: pc += c
  OP_br_f32_ne = 0x259,  // if a != b: pc += c
  OP_br_f32_lt = 0x25a,  // if a < b: pc += c
  OP_br_f32_le = 0x25b,  // if a <= b: pc += c
  OP_br_not_f32_lt = 0x25c,  // unless a < b: pc += c
  OP_br_not_f32_le = 0x25d,  // unless a <= b: pc += c
  OP_br_f64_eq = 0x25e,  // if a == b: pc += c
  OP_br_f64_ne = 0x25f,  // if a != b: pc += c
  OP_br_f64_lt = 0x260,  // if a < b: pc += c
  OP_br_f64_le = 0x261,  // if a <= b: pc += c
  OP_br_not_f64_lt = 0x262,  // unless a < b: pc += c
  OP_br_not_f64_le = 0x263,  // unless a <= b: pc += c
  OP_br_bits = 0x264,  // if a & b != 0: pc += c
  OP_br_no_bits = 0x265,  // if a & b == 0: pc += c
  OP_br_bits_imm = 0x266,  // if a & b != 0: pc += c
  OP_br_no_bits_imm = 0x267,  // if a & b == 0: pc += c
};

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
  TRAP_ThreadStackOverflow = 11,  // the thread's stack in linear memory is exhausted
  TRAP_HeapCorrupted = 12,  // the heap holds or was given an impossible address: a block was used after it was freed, or freed with another size or address than its own
  TRAP_BadOpcode = 13,  // opcode unknown to this kernel
  TRAP_OutOfRegisterMemory = 14,  // no device memory left for call frames
  TRAP_UnalignedAtomic = 15,  // unaligned atomic
};

}  // namespace gpu_run
