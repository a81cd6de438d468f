// What the pure opcodes of the SIMD page compute, as ops/semantics.h does for scalars.
//
// A lane is a part of a unit, a unit, or a pair of units, lowest first as in memory. Everything is built from `lane`
// and `lanes`, whose loops unroll. With constant indices no value needs an address, so on a GPU it stays in registers.
// Where lanes stay as wide as they are, narrow ones are computed a unit at a time (ops/swar.h). Floats travel as bits,
// and their lanes use the scalar functions.
#pragma once

#include "access.h"
#include "ops/swar.h"
#include "ops/semantics.h"

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

namespace gpu_run {
namespace semantics {

#define PURE GPU_RUN_INLINE

// Lanes of type T in a value, and bits of one.
template <typename T>
constexpr u32 LANES = 16 / sizeof(T);
using swar::BITS;

// Lane `i`, which should be a constant once loops are unrolled.
template <typename T>
PURE T lane(const V128 &v, u32 i) {
  if constexpr (sizeof(T) == 8) {
    return (T)join(v.unit[2 * i], v.unit[2 * i + 1]);
  } else {
    constexpr u32 PER_UNIT = 4 / sizeof(T);
    return (T)(v.unit[i / PER_UNIT] >> (i % PER_UNIT * BITS<T>));
  }
}

// The value whose lane i is f(i).
template <typename T, typename F>
PURE V128 lanes(F f) {
  V128 v;
  if constexpr (sizeof(T) == 8) {
    UNROLL for (u32 i = 0; i < 2; i++) split((u64)f(i), v.unit[2 * i], v.unit[2 * i + 1]);
  } else {
    constexpr u32 PER_UNIT = 4 / sizeof(T), MASK = (u32)-1 >> (32 - BITS<T>);
    UNROLL for (u32 u = 0; u < 4; u++) {
      u32 unit = 0;
      UNROLL for (u32 i = 0; i < PER_UNIT; i++) {
        unit |= ((u32)f(u * PER_UNIT + i) & MASK) << (i * BITS<T>);
      }
      v.unit[u] = unit;
    }
  }
  return v;
}

// Lane by lane: f of the operands' lanes of type T.
template <typename T, typename F>
PURE V128 map(const V128 &a, F f) {
  return lanes<T>([&](u32 i) { return (T)f(lane<T>(a, i)); });
}
template <typename T, typename F>
PURE V128 map(const V128 &a, const V128 &b, F f) {
  return lanes<T>([&](u32 i) { return (T)f(lane<T>(a, i), lane<T>(b, i)); });
}
template <typename T, typename F>
PURE V128 map(const V128 &a, const V128 &b, const V128 &c, F f) {
  return lanes<T>([&](u32 i) { return (T)f(lane<T>(a, i), lane<T>(b, i), lane<T>(c, i)); });
}

// Unit and lane `i`, an index that is known at run time only: selected, since registers have no index.
// T is unsigned.
PURE u32 unit_at(const V128 &v, u32 i) {
  // All are read, so that values are selected and not places.
  u32 u0 = v.unit[0], u1 = v.unit[1], u2 = v.unit[2], u3 = v.unit[3];
  u32 low = i & 1 ? u1 : u0, high = i & 1 ? u3 : u2;
  return i & 2 ? high : low;
}
template <typename T>
PURE T lane_at(const V128 &v, u32 i) {
  if constexpr (sizeof(T) == 8) {
    return join(unit_at(v, 2 * i), unit_at(v, 2 * i + 1));
  } else {
    constexpr u32 PER_UNIT = 4 / sizeof(T);
    return (T)(unit_at(v, i / PER_UNIT) >> (i % PER_UNIT * BITS<T>));
  }
}
template <typename T>
PURE V128 with_lane(const V128 &v, T value, u32 at) {
  if constexpr (sizeof(T) >= 4) {
    return lanes<T>([&](u32 i) { return i == at ? value : lane<T>(v, i); });
  } else {
    constexpr u32 PER_UNIT = 4 / sizeof(T);
    u32 shift = at % PER_UNIT * BITS<T>;
    u32 mask = (u32)(T)-1 << shift;
    return lanes<u32>([&](u32 u) {
      return u == at / PER_UNIT ? (v.unit[u] & ~mask) | (u32)value << shift : v.unit[u];
    });
  }
}
template <typename T>
PURE V128 splat(T value) {
  swar::Word<T> word = value * swar::LOWEST<T>;
  return lanes<swar::Word<T>>([&](u32) { return word; });
}

// `value` as the nearest one that T has.
template <typename T>
PURE T saturate(i32 value) {
  constexpr bool SIGNED = (T)-1 < (T)0;
  constexpr i32 LEAST = SIGNED ? -(1 << (BITS<T> - 1)) : 0;
  constexpr i32 MOST = SIGNED ? (1 << (BITS<T> - 1)) - 1 : (i32)((1u << BITS<T>) - 1);
  return (T)(value < LEAST ? LEAST : value > MOST ? MOST : value);
}

PURE V128 copy128(const V128 &a) { return a; }
PURE V128 select128(const V128 &a, const V128 &b, u32 condition) {
  return lanes<u32>([&](u32 i) { return condition ? a.unit[i] : b.unit[i]; });
}

PURE V128 v128_not(const V128 &a) { return map<u32>(a, [](u32 x) { return ~x; }); }
PURE V128 v128_and(const V128 &a, const V128 &b) { return map<u32>(a, b, i32_and); }
PURE V128 v128_andnot(const V128 &a, const V128 &b) {
  return map<u32>(a, b, [](u32 x, u32 y) { return x & ~y; });
}
PURE V128 v128_or(const V128 &a, const V128 &b) { return map<u32>(a, b, i32_or); }
PURE V128 v128_xor(const V128 &a, const V128 &b) { return map<u32>(a, b, i32_xor); }
PURE V128 v128_bitselect(const V128 &a, const V128 &b, const V128 &mask) {
  return map<u32>(a, b, mask, [](u32 x, u32 y, u32 m) { return (x & m) | (y & ~m); });
}
PURE u32 v128_any_true(const V128 &a) { return (a.unit[0] | a.unit[1] | a.unit[2] | a.unit[3]) != 0; }

PURE V128 i8x16_swizzle(const V128 &a, const V128 &b) {
  return map<u8>(b, [&](u8 i) { return i < 16 ? lane_at<u8>(a, i) : 0; });
}
PURE V128 i8x16_shuffle(const V128 &a, const V128 &b, const V128 &indices) {
  return map<u8>(indices, [&](u8 i) { return i < 16 ? lane_at<u8>(a, i) : lane_at<u8>(b, i - 16); });
}

// Integers, by words of lanes: U is the lane, R the scalar that goes in.
#define BY_WORD(t, U, op)                                                                          \
  PURE V128 t##_##op(const V128 &a, const V128 &b) { return map<swar::Word<U>>(a, b, swar::op<U>); }
#define UNARY_BY_WORD(t, U, op)                                                                    \
  PURE V128 t##_##op(const V128 &a) { return map<swar::Word<U>>(a, swar::op<U>); }
#define SHIFT_BY_WORD(t, U, op)                                                                    \
  PURE V128 t##_##op(const V128 &a, u32 n) {                                                       \
    return map<swar::Word<U>>(a, [&](swar::Word<U> x) { return swar::op<U>(x, n & (BITS<U> - 1)); }); \
  }
#define LANES_OF_INTEGERS(t, U, R)                                                                 \
  PURE V128 t##_splat(R a) { return splat<U>((U)a); }                                              \
  PURE V128 t##_replace_lane(const V128 &a, R b, u32 at) { return with_lane<U>(a, (U)b, at); }     \
  BY_WORD(t, U, eq)                                                                                \
  BY_WORD(t, U, ne)                                                                                \
  BY_WORD(t, U, lt_s)                                                                              \
  BY_WORD(t, U, le_s)                                                                              \
  BY_WORD(t, U, add)                                                                               \
  BY_WORD(t, U, sub)                                                                               \
  UNARY_BY_WORD(t, U, abs)                                                                         \
  UNARY_BY_WORD(t, U, neg)                                                                         \
  SHIFT_BY_WORD(t, U, shl)                                                                         \
  SHIFT_BY_WORD(t, U, shr_s)                                                                       \
  SHIFT_BY_WORD(t, U, shr_u)                                                                       \
  PURE u32 t##_all_true(const V128 &a) {                                                           \
    swar::Word<U> all = swar::SIGN<U>;                                                         \
    UNROLL for (u32 i = 0; i < LANES<swar::Word<U>>; i++) {                                      \
      all &= swar::nonzero_signs<U>(lane<swar::Word<U>>(a, i));                                \
    }                                                                                              \
    return all == swar::SIGN<U>;                                                                 \
  }                                                                                                \
  PURE u32 t##_bitmask(const V128 &a) {                                                            \
    constexpr u32 WORDS = LANES<swar::Word<U>>;                                                  \
    u32 mask = 0;                                                                                  \
    UNROLL for (u32 i = 0; i < WORDS; i++) {                                                       \
      mask |= swar::sign_bits<U>(lane<swar::Word<U>>(a, i)) << (i * (LANES<U> / WORDS));       \
    }                                                                                              \
    return mask;                                                                                   \
  }
LANES_OF_INTEGERS(i8x16, u8, u32)
LANES_OF_INTEGERS(i16x8, u16, u32)
LANES_OF_INTEGERS(i32x4, u32, u32)
LANES_OF_INTEGERS(i64x2, u64, u64)
#undef LANES_OF_INTEGERS
#undef UNARY_BY_WORD
#undef SHIFT_BY_WORD

// Those that lanes of 64 bits lack.
#define LANES_UP_TO_32(t, U)                                                                       \
  BY_WORD(t, U, lt_u)                                                                              \
  BY_WORD(t, U, le_u)                                                                              \
  BY_WORD(t, U, min_s)                                                                             \
  BY_WORD(t, U, min_u)                                                                             \
  BY_WORD(t, U, max_s)                                                                             \
  BY_WORD(t, U, max_u)
LANES_UP_TO_32(i8x16, u8)
LANES_UP_TO_32(i16x8, u16)
LANES_UP_TO_32(i32x4, u32)
#undef LANES_UP_TO_32

// Those of 8 and 16 bits only. W is the lane of twice the width, `from` its shape.
#define LANES_UP_TO_16(t, U, S, from, W)                                                           \
  PURE u32 t##_extract_lane_s(const V128 &a, u32 at) { return (u32)(i32)(S)lane_at<U>(a, at); }    \
  PURE u32 t##_extract_lane_u(const V128 &a, u32 at) { return lane_at<U>(a, at); }                 \
  BY_WORD(t, U, add_sat_s)                                                                         \
  BY_WORD(t, U, add_sat_u)                                                                         \
  BY_WORD(t, U, sub_sat_s)                                                                         \
  BY_WORD(t, U, sub_sat_u)                                                                         \
  BY_WORD(t, U, avgr_u)                                                                            \
  PURE V128 t##_narrow_##from##_s(const V128 &a, const V128 &b) {                                  \
    return lanes<S>([&](u32 i) { return saturate<S>(lane<W>(i < LANES<W> ? a : b, i % LANES<W>)); }); \
  }                                                                                                \
  PURE V128 t##_narrow_##from##_u(const V128 &a, const V128 &b) {                                  \
    return lanes<U>([&](u32 i) { return saturate<U>(lane<W>(i < LANES<W> ? a : b, i % LANES<W>)); }); \
  }
LANES_UP_TO_16(i8x16, u8, i8, i16x8, i16)
LANES_UP_TO_16(i16x8, u16, i16, i32x4, i32)
#undef LANES_UP_TO_16
#undef BY_WORD

PURE u32 i32x4_extract_lane(const V128 &a, u32 at) { return lane_at<u32>(a, at); }
PURE u64 i64x2_extract_lane(const V128 &a, u32 at) { return lane_at<u64>(a, at); }

PURE V128 i8x16_popcnt(const V128 &a) { return map<u32>(a, swar::popcnt8); }
PURE V128 i16x8_mul(const V128 &a, const V128 &b) {
  return map<u16>(a, b, [](u32 x, u32 y) { return x * y; });
}
PURE V128 i32x4_mul(const V128 &a, const V128 &b) { return map<u32>(a, b, i32_mul); }
PURE V128 i64x2_mul(const V128 &a, const V128 &b) { return map<u64>(a, b, i64_mul); }
PURE V128 i16x8_q15mulr_sat_s(const V128 &a, const V128 &b) {
  return map<i16>(a, b, [](i32 x, i32 y) { return saturate<i16>((x * y + 0x4000) >> 15); });
}

// From lanes of type N to lanes of type T, of twice the width; `s` says how N extends.
#define WIDENING(t, T, from, N, s)                                                                 \
  PURE V128 t##_extend_low_##from##_##s(const V128 &a) {                                           \
    return lanes<T>([&](u32 i) { return (T)lane<N>(a, i); });                                      \
  }                                                                                                \
  PURE V128 t##_extend_high_##from##_##s(const V128 &a) {                                          \
    return lanes<T>([&](u32 i) { return (T)lane<N>(a, LANES<T> + i); });                           \
  }                                                                                                \
  PURE V128 t##_extmul_low_##from##_##s(const V128 &a, const V128 &b) {                            \
    return lanes<T>([&](u32 i) { return (T)lane<N>(a, i) * (T)lane<N>(b, i); });                   \
  }                                                                                                \
  PURE V128 t##_extmul_high_##from##_##s(const V128 &a, const V128 &b) {                           \
    return lanes<T>([&](u32 i) { return (T)lane<N>(a, LANES<T> + i) * (T)lane<N>(b, LANES<T> + i); }); \
  }
#define PAIRWISE(t, T, from, N, s)                                                                 \
  PURE V128 t##_extadd_pairwise_##from##_##s(const V128 &a) {                                      \
    return lanes<T>([&](u32 i) { return (T)lane<N>(a, 2 * i) + (T)lane<N>(a, 2 * i + 1); });       \
  }
WIDENING(i16x8, i16, i8x16, i8, s)
WIDENING(i16x8, u16, i8x16, u8, u)
WIDENING(i32x4, i32, i16x8, i16, s)
WIDENING(i32x4, u32, i16x8, u16, u)
WIDENING(i64x2, i64, i32x4, i32, s)
WIDENING(i64x2, u64, i32x4, u32, u)
PAIRWISE(i16x8, i16, i8x16, i8, s)
PAIRWISE(i16x8, u16, i8x16, u8, u)
PAIRWISE(i32x4, i32, i16x8, i16, s)
PAIRWISE(i32x4, u32, i16x8, u16, u)
#undef WIDENING
#undef PAIRWISE

// Sum of the products of lanes 2i and 2i + 1. As u32, since the greatest one is 2^31.
template <typename N>
PURE u32 dot(const V128 &a, const V128 &b, u32 i) {
  u32 even = (u32)(lane<N>(a, 2 * i) * lane<N>(b, 2 * i));
  u32 odd = (u32)(lane<N>(a, 2 * i + 1) * lane<N>(b, 2 * i + 1));
  return even + odd;
}
PURE V128 i32x4_dot_i16x8_s(const V128 &a, const V128 &b) {
  return lanes<u32>([&](u32 i) { return dot<i16>(a, b, i); });
}
PURE V128 i16x8_relaxed_dot_i8x16_i7x16_s(const V128 &a, const V128 &b) {
  return lanes<i16>([&](u32 i) { return saturate<i16>((i32)dot<i8>(a, b, i)); });
}
PURE V128 i32x4_relaxed_dot_i8x16_i7x16_add_s(const V128 &a, const V128 &b, const V128 &c) {
  V128 sums = i32x4_extadd_pairwise_i16x8_s(i16x8_relaxed_dot_i8x16_i7x16_s(a, b));
  return i32x4_add(sums, c);
}

// Floats: U is the bits of a lane, f the scalar's name. `pmin` and `pmax` pass bits on unchanged.
#define FLOAT_UNARY(t, U, f, op)                                                                   \
  PURE V128 t##_##op(const V128 &a) { return map<U>(a, f##_##op); }
#define FLOAT_BINARY(t, U, f, op)                                                                  \
  PURE V128 t##_##op(const V128 &a, const V128 &b) { return map<U>(a, b, f##_##op); }
#define FLOAT_COMPARE(t, U, f, op)                                                                 \
  PURE V128 t##_##op(const V128 &a, const V128 &b) {                                               \
    return map<U>(a, b, [](U x, U y) { return f##_##op(x, y) ? (U)-1 : (U)0; });                   \
  }
#define LANES_OF_FLOATS(t, U, f)                                                                   \
  FLOAT_COMPARE(t, U, f, eq)                                                                       \
  FLOAT_COMPARE(t, U, f, ne)                                                                       \
  FLOAT_COMPARE(t, U, f, lt)                                                                       \
  FLOAT_COMPARE(t, U, f, le)                                                                       \
  FLOAT_UNARY(t, U, f, ceil)                                                                       \
  FLOAT_UNARY(t, U, f, floor)                                                                      \
  FLOAT_UNARY(t, U, f, trunc)                                                                      \
  FLOAT_UNARY(t, U, f, nearest)                                                                    \
  FLOAT_UNARY(t, U, f, abs)                                                                        \
  FLOAT_UNARY(t, U, f, neg)                                                                        \
  FLOAT_UNARY(t, U, f, sqrt)                                                                       \
  FLOAT_BINARY(t, U, f, add)                                                                       \
  FLOAT_BINARY(t, U, f, sub)                                                                       \
  FLOAT_BINARY(t, U, f, mul)                                                                       \
  FLOAT_BINARY(t, U, f, div)                                                                       \
  FLOAT_BINARY(t, U, f, min)                                                                       \
  FLOAT_BINARY(t, U, f, max)                                                                       \
  PURE V128 t##_pmin(const V128 &a, const V128 &b) {                                               \
    return map<U>(a, b, [](U x, U y) { return f##_lt(y, x) ? y : x; });                            \
  }                                                                                                \
  PURE V128 t##_pmax(const V128 &a, const V128 &b) {                                               \
    return map<U>(a, b, [](U x, U y) { return f##_lt(x, y) ? y : x; });                            \
  }                                                                                                \
  PURE V128 t##_relaxed_madd(const V128 &a, const V128 &b, const V128 &c) {                        \
    return map<U>(a, b, c, f##_mul_add);                                                           \
  }                                                                                                \
  PURE V128 t##_relaxed_nmadd(const V128 &a, const V128 &b, const V128 &c) {                       \
    return map<U>(a, b, c, f##_sub_mul);                                                           \
  }
LANES_OF_FLOATS(f32x4, u32, f32)
LANES_OF_FLOATS(f64x2, u64, f64)
#undef FLOAT_UNARY
#undef FLOAT_BINARY
#undef FLOAT_COMPARE
#undef LANES_OF_FLOATS

#define CONVERSIONS(s)                                                                             \
  PURE V128 i32x4_trunc_sat_f32x4_##s(const V128 &a) { return map<u32>(a, i32_trunc_sat_f32_##s); } \
  PURE V128 f32x4_convert_i32x4_##s(const V128 &a) { return map<u32>(a, f32_convert_i32_##s); }    \
  PURE V128 i32x4_trunc_sat_f64x2_##s##_zero(const V128 &a) {                                      \
    return {{i32_trunc_sat_f64_##s(lane<u64>(a, 0)), i32_trunc_sat_f64_##s(lane<u64>(a, 1)), 0, 0}}; \
  }                                                                                                \
  PURE V128 f64x2_convert_low_i32x4_##s(const V128 &a) {                                           \
    return lanes<u64>([&](u32 i) { return f64_convert_i32_##s(a.unit[i]); });                      \
  }
CONVERSIONS(s)
CONVERSIONS(u)
#undef CONVERSIONS
PURE V128 f32x4_demote_f64x2_zero(const V128 &a) {
  return {{f32_demote_f64(lane<u64>(a, 0)), f32_demote_f64(lane<u64>(a, 1)), 0, 0}};
}
PURE V128 f64x2_promote_low_f32x4(const V128 &a) {
  return lanes<u64>([&](u32 i) { return f64_promote_f32(a.unit[i]); });
}

#undef PURE

}  // namespace semantics
}  // namespace gpu_run

#undef UNROLL
