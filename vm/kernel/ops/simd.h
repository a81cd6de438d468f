// The SIMD page of the instruction set, in a function of its own: its registers and its code cost the
// interpreter's frequent instructions nothing.
//
// A 128-bit value is four units of registers. Lanes are little-endian, as in memory.
#pragma once

#include "frames.h"
#include "ops/simd_semantics.h"

namespace gpu_run {
namespace simd {

// What a load of a lane found.
struct Loaded {
  bool in_bounds;
  u64 bits;
};

// Loads and stores of 1, 2, 4 or 8 bytes at `offset` + the index in `index_unit`. Out of line, for all
// instructions that reach memory by lanes.
GPU_RUN_NOINLINE Loaded load_lane(const Memory &memory, Registers registers, u32 index_unit, u64 offset,
                                  u32 len) {
  u64 at;
  if (!far_address(memory, registers, index_unit, offset, len, at)) return {false, 0};
  switch (len) {
    case 1: return {true, linear::load<u8>(memory.base, at)};
    case 2: return {true, linear::load<u16>(memory.base, at)};
    case 4: return {true, linear::load<u32>(memory.base, at)};
    default: return {true, linear::load<u64>(memory.base, at)};
  }
}
// Returns whether the address was in bounds.
GPU_RUN_NOINLINE bool store_lane(const Memory &memory, Registers registers, u32 index_unit, u64 offset,
                                 u32 len, u64 bits) {
  u64 at;
  if (!far_address(memory, registers, index_unit, offset, len, at)) return false;
  switch (len) {
    case 1: linear::store<u8>(memory.base, at, (u8)bits); break;
    case 2: linear::store<u16>(memory.base, at, (u16)bits); break;
    case 4: linear::store<u32>(memory.base, at, (u32)bits); break;
    default: linear::store<u64>(memory.base, at, bits);
  }
  return true;
}

// Runs the instruction at `pc`, whose first word is `w`. `registers` is a copy: a reference would bring
// the interpreter's own ones into memory, for every instruction.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, const Instance &instance, Registers registers, u64 *globals,
                              const u64 *pc, u64 w) {
  auto get32 = [&](u32 unit) { return registers.get32(unit); };
  auto get64 = [&](u32 unit) { return registers.get64(unit); };
  auto get128 = [&](u32 unit) { return registers.get128(unit); };
  auto set32 = [&](u32 unit, u32 value) { registers.set32(unit, value); };
  auto set64 = [&](u32 unit, u64 value) { registers.set64(unit, value); };
  auto second_word = [&] { return load_code(pc + 1); };
  auto third_word = [&] { return load_code(pc + 2); };
  auto value_of = [](u64 low, u64 high) {
    V128 value;
    split(low, value.unit[0], value.unit[1]);
    split(high, value.unit[2], value.unit[3]);
    return value;
  };

  // A result of 128 bits is written after the switch: once, not in two hundred cases.
  V128 result;
  u32 words;

#define CASE(name) case OP_##name:
#define STEP(count) return StepResult{DONE_Step, count, 0};
#define WRITE(count) { words = count; break; }
#define TRAP(kind) return StepResult{DONE_Trap, (kind), 0}
// The address of an access of 16 bytes, from the unit of its index; the offset is always the second word.
#define ADDRESS(unit)                                                                              \
  Memory &m = *instance.memories[slot(w, 3)];                                                      \
  u64 at;                                                                                          \
  if (!far_address(m, registers, unit, second_word(), 16, at)) TRAP(TRAP_MemoryOutOfBounds);
#define LOAD(memory, len)                                                                          \
  Loaded loaded = load_lane(*instance.memories[memory], registers, slot(w, 2), second_word(), len); \
  if (!loaded.in_bounds) TRAP(TRAP_MemoryOutOfBounds);
#define LOAD_EXTEND(extend)                                                                        \
  {                                                                                                \
    LOAD(slot(w, 3), 8)                                                                            \
    result = semantics::extend(value_of(loaded.bits, 0));                                          \
    WRITE(2)                                                                                       \
  }
#define LOAD_SPLAT(T)                                                                              \
  {                                                                                                \
    LOAD(slot(w, 3), sizeof(T))                                                                    \
    result = semantics::splat<T>((T)loaded.bits);                                                  \
    WRITE(2)                                                                                       \
  }
#define LOAD_ZERO(T)                                                                               \
  {                                                                                                \
    LOAD(slot(w, 3), sizeof(T))                                                                    \
    result = value_of(loaded.bits, 0);                                                             \
    WRITE(2)                                                                                       \
  }
#define LOAD_LANE(T)                                                                               \
  {                                                                                                \
    u64 z = third_word();                                                                          \
    LOAD(slot(z, 0), sizeof(T))                                                                    \
    result = semantics::with_lane<T>(get128(slot(w, 3)), (T)loaded.bits, slot(z, 1));              \
    WRITE(3)                                                                                       \
  }
#define STORE_LANE(T)                                                                              \
  {                                                                                                \
    T bits = semantics::lane_at<T>(get128(slot(w, 2)), slot(third_word(), 0));                     \
    const Memory &m = *instance.memories[slot(w, 3)];                                              \
    if (!store_lane(m, registers, slot(w, 1), second_word(), sizeof(T), bits)) TRAP(TRAP_MemoryOutOfBounds); \
    STEP(3)                                                                                        \
  }

  switch ((u16)w) {
#include "generated/simd.inc"

    CASE(v128_const) {
      result = value_of(second_word(), third_word());
      WRITE(3)
    }
    CASE(global_get128) {
      const u64 *from = global_slot(launch, instance, globals, upper(w));
      result = value_of(from[0], from[1]);
      WRITE(1)
    }
    CASE(global_set128) {
      u64 *to = global_slot(launch, instance, globals, upper(w));
      to[0] = get64(slot(w, 1));
      to[1] = get64(slot(w, 1) + 2);
      STEP(1)
    }
    CASE(v128_load) {
      ADDRESS(slot(w, 2))
      result = value_of(linear::load<u64>(m.base, at), linear::load<u64>(m.base, at + 8));
      WRITE(2)
    }
    CASE(v128_store) {
      ADDRESS(slot(w, 1))
      linear::store<u64>(m.base, at, get64(slot(w, 2)));
      linear::store<u64>(m.base, at + 8, get64(slot(w, 2) + 2));
      STEP(2)
    }
    CASE(v128_load8x8_s) LOAD_EXTEND(i16x8_extend_low_i8x16_s)
    CASE(v128_load8x8_u) LOAD_EXTEND(i16x8_extend_low_i8x16_u)
    CASE(v128_load16x4_s) LOAD_EXTEND(i32x4_extend_low_i16x8_s)
    CASE(v128_load16x4_u) LOAD_EXTEND(i32x4_extend_low_i16x8_u)
    CASE(v128_load32x2_s) LOAD_EXTEND(i64x2_extend_low_i32x4_s)
    CASE(v128_load32x2_u) LOAD_EXTEND(i64x2_extend_low_i32x4_u)
    CASE(v128_load8_splat) LOAD_SPLAT(u8)
    CASE(v128_load16_splat) LOAD_SPLAT(u16)
    CASE(v128_load32_splat) LOAD_SPLAT(u32)
    CASE(v128_load64_splat) LOAD_SPLAT(u64)
    CASE(v128_load32_zero) LOAD_ZERO(u32)
    CASE(v128_load64_zero) LOAD_ZERO(u64)
    CASE(v128_load8_lane) LOAD_LANE(u8)
    CASE(v128_load16_lane) LOAD_LANE(u16)
    CASE(v128_load32_lane) LOAD_LANE(u32)
    CASE(v128_load64_lane) LOAD_LANE(u64)
    CASE(v128_store8_lane) STORE_LANE(u8)
    CASE(v128_store16_lane) STORE_LANE(u16)
    CASE(v128_store32_lane) STORE_LANE(u32)
    CASE(v128_store64_lane) STORE_LANE(u64)
    CASE(i8x16_shuffle) {
      V128 indices = value_of(second_word(), third_word());
      result = semantics::i8x16_shuffle(get128(slot(w, 2)), get128(slot(w, 3)), indices);
      WRITE(3)
    }
    default: TRAP(TRAP_BadOpcode);
  }
#undef CASE
#undef STEP
#undef WRITE
#undef TRAP
#undef ADDRESS
#undef LOAD
#undef LOAD_EXTEND
#undef LOAD_SPLAT
#undef LOAD_ZERO
#undef LOAD_LANE
#undef STORE_LANE
  registers.set128(slot(w, 1), result);
  return StepResult{DONE_Step, words, 0};
}

}  // namespace simd
}  // namespace gpu_run
