// The SIMD page of the instruction set, in a function of its own: its registers and its code cost the
// interpreter's frequent instructions nothing.
//
// A 128-bit value is four units of registers. Lanes are little-endian, as in memory.
#pragma once

#include "frames.h"
#include "semantics.h"

namespace gpu_run {
namespace semantics {

GPU_RUN_INLINE V128 copy128(const V128 &a) { return a; }
GPU_RUN_INLINE V128 select128(const V128 &a, const V128 &b, u32 condition) { return condition ? a : b; }

}  // namespace semantics

namespace simd {

// Runs the instruction at `pc`, whose first word is `w`.
GPU_RUN_NOINLINE Done execute(const Launch &launch, const Instance &instance, const Registers &registers, u64 *globals,
                              const u64 *pc, u64 w) {
  auto get32 = [&](u32 unit) { return registers.get32(unit); };
  auto get64 = [&](u32 unit) { return registers.get64(unit); };
  auto get128 = [&](u32 unit) { return registers.get128(unit); };
  auto set64 = [&](u32 unit, u64 value) { registers.set64(unit, value); };
  auto set128 = [&](u32 unit, const V128 &value) { registers.set128(unit, value); };
  auto second_word = [&] { return load_code(pc + 1); };
  auto third_word = [&] { return load_code(pc + 2); };

#define CASE(name) case OP_##name:
#define STEP(words) return Done{DONE_Step, words, 0};
#define TRAP(kind) return Done{DONE_Trap, (kind), 0}
// The address of an access of `len` bytes, from the unit of its index and the unit-sized slot of its
// memory; the offset is always the second word.
#define ADDRESS(unit, memory, len)                                                                 \
  Memory &m = *instance.memories[memory];                                                          \
  u64 at;                                                                                          \
  if (!far_address(m, registers, unit, second_word(), len, at)) TRAP(TRAP_MemoryOutOfBounds);

  switch ((u16)w) {
#include "generated/simd.inc"

    CASE(v128_const) {
      u64 low = second_word(), high = third_word();
      set64(slot(w, 1), low);
      set64(slot(w, 1) + 2, high);
      STEP(3)
    }
    CASE(global_get128) {
      const u64 *from = global_slot(launch, instance, globals, upper(w));
      set64(slot(w, 1), from[0]);
      set64(slot(w, 1) + 2, from[1]);
      STEP(1)
    }
    CASE(global_set128) {
      u64 *to = global_slot(launch, instance, globals, upper(w));
      to[0] = get64(slot(w, 1));
      to[1] = get64(slot(w, 1) + 2);
      STEP(1)
    }
    CASE(v128_load) {
      ADDRESS(slot(w, 2), slot(w, 3), 16)
      set64(slot(w, 1), linear::load<u64>(m.base, at));
      set64(slot(w, 1) + 2, linear::load<u64>(m.base, at + 8));
      STEP(2)
    }
    CASE(v128_store) {
      ADDRESS(slot(w, 1), slot(w, 3), 16)
      linear::store<u64>(m.base, at, get64(slot(w, 2)));
      linear::store<u64>(m.base, at + 8, get64(slot(w, 2) + 2));
      STEP(2)
    }
    default: TRAP(TRAP_BadOpcode);
  }
#undef CASE
#undef STEP
#undef TRAP
#undef ADDRESS
}

}  // namespace simd
}  // namespace gpu_run
