// Integer lanes, a word at a time (SIMD within a register). A word is four lanes of 8 bits, two of 16, or one of 32 or
// 64.
//
// Narrow lanes are computed together in one register, which takes several times less code than taking them apart. No
// carry may pass from one lane into the next. So sign bits, the topmost of each lane, are computed apart from the bits
// below. Comparisons have their result in the sign bits, and `fill` makes lanes of ones of it. For lanes as wide as the
// word, the compiler makes the plain instruction of all this.
#pragma once

#include "platform.h"

namespace gpu_run {
namespace swar {

template <typename U>
struct WordOf {
  using Type = u32;
};
template <>
struct WordOf<u64> {
  using Type = u64;
};
// U is the unsigned type of a lane.
template <typename U>
using Word = typename WordOf<U>::Type;
template <typename U>
constexpr u32 BITS = 8 * sizeof(U);
template <typename U>
constexpr bool WHOLE = sizeof(U) == sizeof(Word<U>);
// Lowest bit of every lane, sign bit of every lane.
template <typename U>
constexpr Word<U> LOWEST = (Word<U>)-1 / (U)-1;
template <typename U>
constexpr Word<U> SIGN = LOWEST<U> << (BITS<U> - 1);

// Ones in the lanes whose sign bit is set in `signs`, which has no other bits.
template <typename U>
GPU_RUN_INLINE Word<U> fill(Word<U> signs) {
  return (signs >> (BITS<U> - 1)) * (U)-1;
}
template <typename U>
GPU_RUN_INLINE Word<U> select(Word<U> mask, Word<U> x, Word<U> y) {
  return (x & mask) | (y & ~mask);
}

template <typename U>
GPU_RUN_INLINE Word<U> add(Word<U> x, Word<U> y) {
  if constexpr (WHOLE<U>) return x + y;
  return ((x & ~SIGN<U>) + (y & ~SIGN<U>)) ^ ((x ^ y) & SIGN<U>);
}
template <typename U>
GPU_RUN_INLINE Word<U> sub(Word<U> x, Word<U> y) {
  if constexpr (WHOLE<U>) return x - y;
  return ((x | SIGN<U>) - (y & ~SIGN<U>)) ^ (~(x ^ y) & SIGN<U>);
}

// Sign bits of the lanes where x is not 0, where x < y.
template <typename U>
GPU_RUN_INLINE Word<U> nonzero_signs(Word<U> x) {
  if constexpr (WHOLE<U>) return x != 0 ? SIGN<U> : 0;
  return (((x & ~SIGN<U>) + ~SIGN<U>) | x) & SIGN<U>;
}
template <typename U>
GPU_RUN_INLINE Word<U> less_u_signs(Word<U> x, Word<U> y) {
  if constexpr (WHOLE<U>) return x < y ? SIGN<U> : 0;
  // The borrow out of x - y.
  return ((~x & y) | (~(x ^ y) & sub<U>(x, y))) & SIGN<U>;
}
template <typename U>
GPU_RUN_INLINE Word<U> less_s_signs(Word<U> x, Word<U> y) {
  return less_u_signs<U>(x ^ SIGN<U>, y ^ SIGN<U>);
}

template <typename U>
GPU_RUN_INLINE Word<U> ne(Word<U> x, Word<U> y) {
  return fill<U>(nonzero_signs<U>(x ^ y));
}
template <typename U>
GPU_RUN_INLINE Word<U> eq(Word<U> x, Word<U> y) {
  return ~ne<U>(x, y);
}
template <typename U>
GPU_RUN_INLINE Word<U> lt_u(Word<U> x, Word<U> y) {
  return fill<U>(less_u_signs<U>(x, y));
}
template <typename U>
GPU_RUN_INLINE Word<U> le_u(Word<U> x, Word<U> y) {
  return ~lt_u<U>(y, x);
}
template <typename U>
GPU_RUN_INLINE Word<U> lt_s(Word<U> x, Word<U> y) {
  return fill<U>(less_s_signs<U>(x, y));
}
template <typename U>
GPU_RUN_INLINE Word<U> le_s(Word<U> x, Word<U> y) {
  return ~lt_s<U>(y, x);
}
template <typename U>
GPU_RUN_INLINE Word<U> min_u(Word<U> x, Word<U> y) {
  return select<U>(lt_u<U>(x, y), x, y);
}
template <typename U>
GPU_RUN_INLINE Word<U> max_u(Word<U> x, Word<U> y) {
  return select<U>(lt_u<U>(x, y), y, x);
}
template <typename U>
GPU_RUN_INLINE Word<U> min_s(Word<U> x, Word<U> y) {
  return select<U>(lt_s<U>(x, y), x, y);
}
template <typename U>
GPU_RUN_INLINE Word<U> max_s(Word<U> x, Word<U> y) {
  return select<U>(lt_s<U>(x, y), y, x);
}

template <typename U>
GPU_RUN_INLINE Word<U> neg(Word<U> x) {
  return sub<U>(0, x);
}
template <typename U>
GPU_RUN_INLINE Word<U> abs(Word<U> x) {
  return select<U>(fill<U>(x & SIGN<U>), neg<U>(x), x);
}

// Shifts: the whole word, then without what came over from the neighbouring lane. `n` is below the
// lane's width.
template <typename U>
GPU_RUN_INLINE Word<U> shl(Word<U> x, u32 n) {
  return (x << n) & ((U)((U)-1 << n) * LOWEST<U>);
}
template <typename U>
GPU_RUN_INLINE Word<U> shr_u(Word<U> x, u32 n) {
  return (x >> n) & ((U)((U)-1 >> n) * LOWEST<U>);
}
template <typename U>
GPU_RUN_INLINE Word<U> shr_s(Word<U> x, u32 n) {
  return shr_u<U>(x, n) | (fill<U>(x & SIGN<U>) & ~shr_u<U>((Word<U>)-1, n));
}

// For narrow lanes only.

template <typename U>
GPU_RUN_INLINE u32 add_sat_u(u32 x, u32 y) {
  u32 sum = add<U>(x, y);
  return sum | fill<U>(((x & y) | ((x | y) & ~sum)) & SIGN<U>);
}
template <typename U>
GPU_RUN_INLINE u32 sub_sat_u(u32 x, u32 y) {
  return sub<U>(x, y) & ~lt_u<U>(x, y);
}
// Where the signed result overflows, the greatest or least value: that with x's sign.
template <typename U>
GPU_RUN_INLINE u32 saturated_s(u32 x, u32 result, u32 overflow_signs) {
  u32 extreme = ~SIGN<U> + ((x & SIGN<U>) >> (BITS<U> - 1));
  return select<U>(fill<U>(overflow_signs & SIGN<U>), extreme, result);
}
template <typename U>
GPU_RUN_INLINE u32 add_sat_s(u32 x, u32 y) {
  u32 sum = add<U>(x, y);
  return saturated_s<U>(x, sum, ~(x ^ y) & (x ^ sum));
}
template <typename U>
GPU_RUN_INLINE u32 sub_sat_s(u32 x, u32 y) {
  u32 difference = sub<U>(x, y);
  return saturated_s<U>(x, difference, (x ^ y) & (x ^ difference));
}
// (x + y + 1) / 2: the bits of either, less half of those in which they differ.
template <typename U>
GPU_RUN_INLINE u32 avgr_u(u32 x, u32 y) {
  return sub<U>(x | y, ((x ^ y) >> 1) & ~SIGN<U>);
}

// Ones of every byte.
GPU_RUN_INLINE u32 popcnt8(u32 x) {
  x -= (x >> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
  return (x + (x >> 4)) & 0x0f0f0f0f;
}

// The sign bits side by side, lowest lane lowest: a product adds up shifted copies, one a lane.
template <typename U>
GPU_RUN_INLINE u32 sign_bits(Word<U> x) {
  u32 bits = (u32)((x & SIGN<U>) >> (BITS<U> - 1));
  if constexpr (sizeof(U) == 1) return (bits * 0x10204080) >> 28;
  if constexpr (sizeof(U) == 2) return (bits * 0x40008000) >> 30 & 3;
  return bits;
}

}  // namespace swar
}  // namespace gpu_run
