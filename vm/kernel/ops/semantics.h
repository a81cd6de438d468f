// What the pure opcodes compute: functions of their operands, without state. The interpreter's
// generated cases call them by the opcode's name.
//
// Floats travel as bits, so that no compiler may touch a NaN on the way. Every arithmetic result
// that is NaN becomes the canonical one: the same bits on every engine.
#pragma once

#include "generated/isa.h"
#include "platform.h"

namespace gpu_run {
namespace semantics {

#define PURE GPU_RUN_INLINE

GPU_RUN_INLINE float to_f32(u32 bits) { return __builtin_bit_cast(float, bits); }
GPU_RUN_INLINE double to_f64(u64 bits) { return __builtin_bit_cast(double, bits); }
#if defined(GPU_RUN_LAZY_NAN)
// For the PTX compiler, which makes a NaN canonical where its bits can be seen, and not before.
GPU_RUN_INLINE u32 from_f32(float value) { return __builtin_bit_cast(u32, value); }
GPU_RUN_INLINE u64 from_f64(double value) { return __builtin_bit_cast(u64, value); }
#else
GPU_RUN_INLINE u32 from_f32(float value) { return value != value ? 0x7fc00000u : __builtin_bit_cast(u32, value); }
GPU_RUN_INLINE u64 from_f64(double value) {
  return value != value ? 0x7ff8000000000000ull : __builtin_bit_cast(u64, value);
}
#endif

PURE u32 copy32(u32 a) { return a; }
PURE u64 copy64(u64 a) { return a; }
PURE u32 select32(u32 a, u32 b, u32 condition) { return condition ? a : b; }
PURE u64 select64(u64 a, u64 b, u32 condition) { return condition ? a : b; }
PURE u32 ref_is_null(u32 a) { return a == 0; }
PURE bool bits(u32 a, u32 b) { return (a & b) != 0; }
PURE bool no_bits(u32 a, u32 b) { return (a & b) == 0; }

// The same text serves both integer widths: T is the type, S its signed twin, B its bits.
#define INTEGER_OPS(t, T, S, B)                                                                    \
  PURE T t##_add(T a, T b) { return a + b; }                                                       \
  PURE T t##_sub(T a, T b) { return a - b; }                                                       \
  PURE T t##_mul(T a, T b) { return a * b; }                                                       \
  PURE T t##_and(T a, T b) { return a & b; }                                                       \
  PURE T t##_or(T a, T b) { return a | b; }                                                        \
  PURE T t##_xor(T a, T b) { return a ^ b; }                                                       \
  PURE T t##_shl(T a, T b) { return a << (b & (B - 1)); }                                          \
  PURE T t##_shr_s(T a, T b) { return (T)((S)a >> (b & (B - 1))); }                                \
  PURE T t##_shr_u(T a, T b) { return a >> (b & (B - 1)); }                                        \
  PURE T t##_rotl(T a, T b) { return (a << (b & (B - 1))) | (a >> ((0 - b) & (B - 1))); }          \
  PURE T t##_rotr(T a, T b) { return (a >> (b & (B - 1))) | (a << ((0 - b) & (B - 1))); }          \
  PURE T t##_div_s(T a, T b, TrapKind &trap) {                                                     \
    if (b == 0) return trap = TRAP_IntegerDivideByZero, 0;                                         \
    if (b == (T)-1 && a == (T)1 << (B - 1)) return trap = TRAP_IntegerOverflow, 0;                 \
    return (T)((S)a / (S)b);                                                                       \
  }                                                                                                \
  PURE T t##_div_u(T a, T b, TrapKind &trap) {                                                     \
    if (b == 0) return trap = TRAP_IntegerDivideByZero, 0;                                         \
    return a / b;                                                                                  \
  }                                                                                                \
  PURE T t##_rem_s(T a, T b, TrapKind &trap) {                                                     \
    if (b == 0) return trap = TRAP_IntegerDivideByZero, 0;                                         \
    return b == (T)-1 ? 0 : (T)((S)a % (S)b);                                                      \
  }                                                                                                \
  PURE T t##_rem_u(T a, T b, TrapKind &trap) {                                                     \
    if (b == 0) return trap = TRAP_IntegerDivideByZero, 0;                                         \
    return a % b;                                                                                  \
  }                                                                                                \
  PURE u32 t##_eqz(T a) { return a == 0; }                                                         \
  PURE u32 t##_eq(T a, T b) { return a == b; }                                                     \
  PURE u32 t##_ne(T a, T b) { return a != b; }                                                     \
  PURE u32 t##_lt_s(T a, T b) { return (S)a < (S)b; }                                              \
  PURE u32 t##_lt_u(T a, T b) { return a < b; }                                                    \
  PURE u32 t##_le_s(T a, T b) { return (S)a <= (S)b; }                                             \
  PURE u32 t##_le_u(T a, T b) { return a <= b; }                                                   \
  PURE u32 t##_gt_s(T a, T b) { return (S)a > (S)b; }                                              \
  PURE u32 t##_gt_u(T a, T b) { return a > b; }                                                    \
  PURE T t##_extend8_s(T a) { return (T)(S)(i8)a; }                                                \
  PURE T t##_extend16_s(T a) { return (T)(S)(i16)a; }

INTEGER_OPS(i32, u32, i32, 32)
INTEGER_OPS(i64, u64, i64, 64)
#undef INTEGER_OPS

PURE u64 i64_extend32_s(u64 a) { return (u64)(i64)(i32)a; }
PURE u32 i32_clz(u32 a) { return a ? (u32)__builtin_clz(a) : 32; }
PURE u32 i32_ctz(u32 a) { return a ? (u32)__builtin_ctz(a) : 32; }
PURE u32 i32_popcnt(u32 a) { return (u32)__builtin_popcount(a); }
PURE u64 i64_clz(u64 a) { return a ? (u64)__builtin_clzll(a) : 64; }
PURE u64 i64_ctz(u64 a) { return a ? (u64)__builtin_ctzll(a) : 64; }
PURE u64 i64_popcnt(u64 a) { return (u64)__builtin_popcountll(a); }
PURE u64 i64_mul_hi_u(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }

// On a GPU by two estimates in floating point, and no loop. The first one is at most 7/8 * 2^-49 of itself too small, and never
// too large: six operations are rounded to 53 bits, which is less than the 2^-50 that the factor takes away. So what is
// left is less than 2^15 times the divisor. The second estimate is too small by 1 at most.
PURE u64 i64_div_wide_u(u64 high, u64 low, u64 divisor) {
  if (high >= divisor) return ~(u64)0;
  unsigned __int128 rest = (unsigned __int128)high << 64 | low;
#if GPU_RUN_GPU
  const double inverse = 1.0 / (double)divisor * (1 - 0x1p-50);
  auto estimate = [&] { return (u64)(__builtin_fma((double)(u64)(rest >> 64), 0x1p64, (double)(u64)rest) * inverse); };
  u64 quotient = estimate();
  rest -= (unsigned __int128)quotient * divisor;
  const u32 more = (u32)estimate();
  rest -= (unsigned __int128)more * divisor;
  return quotient + more + (rest >= divisor);
#else
  return (u64)(rest / divisor);
#endif
}

PURE u32 i32_shl1_add(u32 a, u32 b) { return (a << 1) + b; }
PURE u32 i32_shl2_add(u32 a, u32 b) { return (a << 2) + b; }
PURE u32 i32_shl3_add(u32 a, u32 b) { return (a << 3) + b; }
PURE u32 i32_shl4_add(u32 a, u32 b) { return (a << 4) + b; }

// min and max: NaN if either is, and -0 is less than +0, which the sign bits decide.
#define FLOAT_OPS(f, T, U, S, SIGN, C)                                                             \
  PURE U f##_add(U a, U b) { return from_##f(to_##f(a) + to_##f(b)); }                             \
  PURE U f##_sub(U a, U b) { return from_##f(to_##f(a) - to_##f(b)); }                             \
  PURE U f##_mul(U a, U b) { return from_##f(to_##f(a) * to_##f(b)); }                             \
  PURE U f##_div(U a, U b) { return from_##f(to_##f(a) / to_##f(b)); }                             \
  PURE U f##_min(U a, U b) {                                                                       \
    T x = to_##f(a), y = to_##f(b);                                                                \
    if (x != x || y != y) return from_##f(x + y);                                                  \
    return x < y ? a : y < x ? b : a | b;                                                          \
  }                                                                                                \
  PURE U f##_max(U a, U b) {                                                                       \
    T x = to_##f(a), y = to_##f(b);                                                                \
    if (x != x || y != y) return from_##f(x + y);                                                  \
    return x > y ? a : y > x ? b : a & b;                                                          \
  }                                                                                                \
  PURE U f##_copysign(U a, U b) { return (a & ~SIGN) | (b & SIGN); }                               \
  PURE U f##_abs(U a) { return a & ~SIGN; }                                                        \
  PURE U f##_neg(U a) { return a ^ SIGN; }                                                         \
  PURE U f##_ceil(U a) { return from_##f(__builtin_ceil##C(to_##f(a))); }                          \
  PURE U f##_floor(U a) { return from_##f(__builtin_floor##C(to_##f(a))); }                        \
  PURE U f##_trunc(U a) { return from_##f(__builtin_trunc##C(to_##f(a))); }                        \
  PURE U f##_nearest(U a) { return from_##f(__builtin_rint##C(to_##f(a))); }                       \
  PURE U f##_sqrt(U a) { return from_##f(__builtin_sqrt##C(to_##f(a))); }                          \
  PURE u32 f##_eq(U a, U b) { return to_##f(a) == to_##f(b); }                                     \
  PURE u32 f##_ne(U a, U b) { return to_##f(a) != to_##f(b); }                                     \
  PURE u32 f##_lt(U a, U b) { return to_##f(a) < to_##f(b); }                                      \
  PURE u32 f##_le(U a, U b) { return to_##f(a) <= to_##f(b); }

FLOAT_OPS(f32, float, u32, i32, 0x80000000u, f)
FLOAT_OPS(f64, double, u64, i64, 0x8000000000000000ull, )
#undef FLOAT_OPS

PURE u32 i32_wrap_i64(u64 a) { return (u32)a; }
PURE u32 i32_saturate_i64_u(u64 a) { return a > 0xffffffffu ? 0xffffffffu : (u32)a; }
PURE u64 i64_extend_i32_s(u32 a) { return (u64)(i64)(i32)a; }
PURE u64 i64_extend_i32_u(u32 a) { return a; }
PURE u32 f32_demote_f64(u64 a) { return from_f32((float)to_f64(a)); }
PURE u64 f64_promote_f32(u32 a) { return from_f64((double)to_f32(a)); }

// A float x truncates into the integer type iff LOW < x < HIGH. It is LOW <= x where `low_in` says that LOW itself is a
// float that fits.
#define TRUNC(i, f, s, I, U, B, T, IN, LOW, low_in, HIGH)                                          \
  PURE U i##_trunc_##f##_##s(B a, TrapKind &trap) {                                                \
    T x = to_##f(a);                                                                               \
    if (x != x) return trap = TRAP_InvalidConversion, 0;                                           \
    if (!((low_in ? x >= (T)LOW : x > (T)LOW) && x < (T)HIGH)) return trap = TRAP_IntegerOverflow, 0; \
    return (U)(I)x;                                                                                \
  }                                                                                                \
  PURE U i##_trunc_sat_##f##_##s(B a) {                                                            \
    T x = to_##f(a);                                                                               \
    if (x != x) return 0;                                                                          \
    if (!(low_in ? x >= (T)LOW : x > (T)LOW)) return (U)IN##_LEAST;                                \
    if (!(x < (T)HIGH)) return (U)IN##_MOST;                                                       \
    return (U)(I)x;                                                                                \
  }

#define I32_S_LEAST 0x80000000u
#define I32_S_MOST 0x7fffffffu
#define I32_U_LEAST 0u
#define I32_U_MOST 0xffffffffu
#define I64_S_LEAST 0x8000000000000000ull
#define I64_S_MOST 0x7fffffffffffffffull
#define I64_U_LEAST 0ull
#define I64_U_MOST 0xffffffffffffffffull

TRUNC(i32, f32, s, i32, u32, u32, float, I32_S, -2147483648.0, true, 2147483648.0)
TRUNC(i32, f32, u, u32, u32, u32, float, I32_U, -1.0, false, 4294967296.0)
TRUNC(i32, f64, s, i32, u32, u64, double, I32_S, -2147483649.0, false, 2147483648.0)
TRUNC(i32, f64, u, u32, u32, u64, double, I32_U, -1.0, false, 4294967296.0)
TRUNC(i64, f32, s, i64, u64, u32, float, I64_S, -9223372036854775808.0, true, 9223372036854775808.0)
TRUNC(i64, f32, u, u64, u64, u32, float, I64_U, -1.0, false, 18446744073709551616.0)
TRUNC(i64, f64, s, i64, u64, u64, double, I64_S, -9223372036854775808.0, true, 9223372036854775808.0)
TRUNC(i64, f64, u, u64, u64, u64, double, I64_U, -1.0, false, 18446744073709551616.0)
#undef TRUNC

PURE u32 f32_convert_i32_s(u32 a) { return from_f32((float)(i32)a); }
PURE u32 f32_convert_i32_u(u32 a) { return from_f32((float)a); }
PURE u32 f32_convert_i64_s(u64 a) { return from_f32((float)(i64)a); }
PURE u32 f32_convert_i64_u(u64 a) { return from_f32((float)a); }
PURE u64 f64_convert_i32_s(u32 a) { return from_f64((double)(i32)a); }
PURE u64 f64_convert_i32_u(u32 a) { return from_f64((double)a); }
PURE u64 f64_convert_i64_s(u64 a) { return from_f64((double)(i64)a); }
PURE u64 f64_convert_i64_u(u64 a) { return from_f64((double)a); }

// Pairs. Floats are rounded after each operation: the compilers contract nothing.
#define INTEGER_PAIRS(t, T)                                                                        \
  PURE T t##_shl_xor(T a, T b, T c) { return t##_shl(a, b) ^ c; }                                  \
  PURE T t##_shr_u_xor(T a, T b, T c) { return t##_shr_u(a, b) ^ c; }                              \
  PURE T t##_shl_or(T a, T b, T c) { return t##_shl(a, b) | c; }                                   \
  PURE T t##_rotl_xor(T a, T b, T c) { return t##_rotl(a, b) ^ c; }                                \
  PURE T t##_shr_u_and(T a, T b, T c) { return t##_shr_u(a, b) & c; }                              \
  PURE T t##_mul_add(T a, T b, T c) { return a * b + c; }                                          \
  PURE T t##_add_add(T a, T b, T c) { return a + b + c; }                                          \
  PURE T t##_and_xor(T a, T b, T c) { return (a & b) ^ c; }                                        \
  PURE T t##_xor_xor(T a, T b, T c) { return a ^ b ^ c; }
INTEGER_PAIRS(i32, u32)
INTEGER_PAIRS(i64, u64)
#undef INTEGER_PAIRS
#define FLOAT_PAIRS(f, U)                                                                          \
  PURE U f##_mul_add(U a, U b, U c) { return from_##f(to_##f(a) * to_##f(b) + to_##f(c)); }        \
  PURE U f##_mul_sub(U a, U b, U c) { return from_##f(to_##f(a) * to_##f(b) - to_##f(c)); }        \
  PURE U f##_sub_mul(U a, U b, U c) { return from_##f(to_##f(c) - to_##f(a) * to_##f(b)); }
FLOAT_PAIRS(f32, u32)
FLOAT_PAIRS(f64, u64)
#undef FLOAT_PAIRS

#undef PURE

}  // namespace semantics
}  // namespace gpu_run
