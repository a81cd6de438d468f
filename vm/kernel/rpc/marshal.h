// A call of a WASI function as its parameters tell it: what they point to, by the generated table of their
// kinds.
#pragma once

#include "bulk.h"
#include "frames.h"
#include "generated/wasi.h"

namespace gpu_run {
namespace requests {

enum Errno : u32 {
  ERRNO_Success = 0,
  ERRNO_Badf = 8,
  ERRNO_Fbig = 22,
  ERRNO_Inval = 28,
  ERRNO_Nametoolong = 37,
  ERRNO_Nomem = 48,
  ERRNO_Nospc = 51,
  ERRNO_Nosys = 52,
  ERRNO_Notsup = 58,
  ERRNO_Overflow = 61,
};

using resume::MOST_BYTES;
// Buffers of a list that a call uses at most, for the same reason: so that no call takes long.
constexpr u32 MOST_BUFFERS = 65536;
// Bytes of a path; longer ones exist nowhere.
constexpr u64 MOST_PATH = 65536;

enum Direction : u32 { INPUT, OUTPUT };

GPU_RUN_INLINE u32 used_buffers(u32 count) { return count < MOST_BUFFERS ? count : MOST_BUFFERS; }
// How many branches it counts like to go along the buffers of a list.
GPU_RUN_INLINE u32 cost_of_buffers(u32 count) { return 1 + used_buffers(count) / 16; }

// What a visit of a buffer returns to end the visits: no kind of trap.
constexpr u32 STOP = 0xffff;

// Units of a parameter's wasm arguments.
GPU_RUN_INLINE constexpr u32 units_of(u32 kind) {
  switch (kind) {
    case wasi::PARAM_Value64:
    case wasi::PARAM_In:
    case wasi::PARAM_Out:
    case wasi::PARAM_InVec:
    case wasi::PARAM_OutVec: return 2;
    default: return 1;
  }
}

// Sets of functions: a bit for each.
static_assert(sizeof(wasi::PARAMS) <= 64 * sizeof(wasi::PARAMS[0]), "a bit for each function");
template <typename... Function>
constexpr u64 set_of(Function... functions) {
  return (... | (1ull << functions));
}
GPU_RUN_INLINE bool is_in(u64 functions, u32 function) { return functions >> function & 1; }

// Those with parameters that point to buffers.
constexpr u64 functions_with_buffers() {
  u64 functions = 0, function = 1;
  for (u64 params : wasi::PARAMS) {
    for (; params; params >>= wasi::PARAM_BITS) {
      switch ((u32)params & ((1u << wasi::PARAM_BITS) - 1)) {
        case wasi::PARAM_In:
        case wasi::PARAM_InVec:
        case wasi::PARAM_Subscriptions:
        case wasi::PARAM_Out:
        case wasi::PARAM_OutVec:
        case wasi::PARAM_Events: functions |= function; break;
        default: break;
      }
    }
    function <<= 1;
  }
  return functions;
}
constexpr u64 WITH_BUFFERS = functions_with_buffers();
// Those with a list of buffers, whose length is the third argument.
constexpr u64 WITH_LISTS = set_of(wasi::FN_fd_read, wasi::FN_fd_pread, wasi::FN_fd_write, wasi::FN_fd_pwrite,
                                  wasi::FN_sock_recv, wasi::FN_sock_send);

struct Call {
  const Memory &memory;
  Registers registers;
  u32 function;
  u32 first;  // unit of its first argument

  // Argument of one unit, that many units after the first.
  GPU_RUN_INLINE u32 arg(u32 unit) const { return registers.get32(first + unit); }

  GPU_RUN_INLINE bool fits(u64 at, u64 len) const { return in_bounds(at, len, load_relaxed_device(&memory.size)); }

  // The trap of a pointer that is used, if it is wrong.
  GPU_RUN_INLINE u32 check(u64 at, u64 len, u32 align) const {
    if (!fits(at, len)) return TRAP_MemoryOutOfBounds;
    return at & (align - 1) ? TRAP_UnalignedPointer : TRAP_None;
  }

  // Address and length of a buffer of the list at `at`.
  GPU_RUN_INLINE void load_buffer(u64 at, u32 index, u64 &buffer, u64 &len) const {
    buffer = linear::load<u32>(memory.base, at + 8ull * index);
    len = linear::load<u32>(memory.base, at + 8ull * index + 4);
  }

  // Calls `visit` with the kind and the first unit of each parameter, until it returns false.
  template <typename Visit>
  GPU_RUN_INLINE void each_param(Visit visit) const {
    u32 unit = first;
    for (u64 left = wasi::PARAMS[function]; left; left >>= wasi::PARAM_BITS) {
      u32 kind = (u32)left & ((1u << wasi::PARAM_BITS) - 1);
      if (!visit(kind, unit)) return;
      unit += units_of(kind);
    }
  }

  // Calls `visit` with the address and the length of each buffer that the function reads or fills, until it returns a
  // trap or STOP. Returns the trap.
  template <typename Visit>
  GPU_RUN_INLINE u32 each_buffer(Direction direction, Visit visit) const {
    const u32 single = direction == INPUT ? wasi::PARAM_In : wasi::PARAM_Out;
    const u32 list = direction == INPUT ? wasi::PARAM_InVec : wasi::PARAM_OutVec;
    const u32 events = direction == INPUT ? wasi::PARAM_Subscriptions : wasi::PARAM_Events;
    u32 trap = TRAP_None;
    each_param([&](u32 kind, u32 unit) {
      u64 at = registers.get32(unit);
      if (kind == single) {
        trap = visit(at, (u64)registers.get32(unit + 1));
      } else if (kind == events) {
        // Their count is the argument after the events.
        u64 bytes = (u64)registers.get32(unit + (direction == INPUT ? 2 : 1)) *
                    (direction == INPUT ? wasi::SUBSCRIPTION_BYTES : wasi::EVENT_BYTES);
        if (at & 7) {
          trap = TRAP_UnalignedPointer;
        } else {
          trap = visit(at, bytes);
        }
      } else if (kind == list) {
        u32 count = registers.get32(unit + 1);
        // Its entries are a pointer and a length, 4 bytes each.
        if (count) trap = check(at, 8ull * count, 4);
        for (u32 i = 0; i < used_buffers(count) && trap == TRAP_None; i++) {
          u64 buffer, len;
          load_buffer(at, i, buffer, len);
          trap = visit(buffer, len);
        }
      }
      return trap == TRAP_None;
    });
    return trap == STOP ? (u32)TRAP_None : trap;
  }
};

// Moves a piece of a message, like `bulk_copy`. It is separate because that one needs more registers, which the
// interpreter's loop would spill.
GPU_RUN_NOINLINE void move_piece(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  u32 i = 0;
  for (; i < len && ((to + i) & 7); i++) linear::store<u8>(to_base, to + i, linear::load<u8>(from_base, from + i));
  if (((from + i) & 7) == 0) {
    for (; i + 32 <= len; i += 32) {
      u64 words[4];
      for (u32 k = 0; k < 4; k++) words[k] = linear::load_word(from_base, from + i + 8 * k);
      for (u32 k = 0; k < 4; k++) linear::store_word(to_base, to + i + 8 * k, words[k]);
    }
    for (; i + 8 <= len; i += 8) linear::store_word(to_base, to + i, linear::load_word(from_base, from + i));
  }
  for (; i < len; i++) linear::store<u8>(to_base, to + i, linear::load<u8>(from_base, from + i));
}

// The same where it comes over the bus, from where a load brings 32 bytes and takes a microsecond. It loads first a
// word of each 32 bytes, eight in flight at a time. The words beside them are near then.
GPU_RUN_NOINLINE void fetch_piece(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  constexpr u32 TOGETHER = 8, APART = 32;
  u32 i = (u32)lesser(-to & 7, len);
  move_piece(to_base, to, from_base, from, i);
  if (((from + i) & 7) == 0) {
    for (; i + TOGETHER * APART <= len; i += TOGETHER * APART) {
      // So the compiler sees how they are aligned.
      const u64 source = (from + i) & ~7ull, target = (to + i) & ~7ull;
      for (u32 beside = 0; beside < APART; beside += 4) {
        u32 words[TOGETHER];
        for (u32 k = 0; k < TOGETHER; k++) words[k] = linear::load<u32>(from_base, source + beside + APART * k);
        for (u32 k = 0; k < TOGETHER; k++) linear::store<u32>(to_base, target + beside + APART * k, words[k]);
      }
    }
  }
  move_piece(to_base, to + i, from_base, from + i, len - i);
}

// Adds up the buffers of a call; those of its input must lie in memory. Sets `error` if it asks for more than
// is served.
GPU_RUN_NOINLINE u32 measure(const Call &call, u32 &input, u32 &capacity, u32 &error) {
  u64 total = 0;
  u32 trap = call.each_buffer(INPUT, [&](u64 at, u64 len) {
    if (!call.fits(at, len)) return (u32)TRAP_MemoryOutOfBounds;
    total += len;
    // A list of many buffers is as good as used up.
    return total > MOST_BYTES ? STOP : (u32)TRAP_None;
  });
  input = (u32)lesser(total, MOST_BYTES);
  if (trap) return trap;
  bool paths = false;
  call.each_param([&](u32 kind, u32) {
    paths |= kind == wasi::PARAM_In;
    return true;
  });
  if (paths && total > MOST_PATH) error = ERRNO_Nametoolong;
  if (call.function == wasi::FN_poll_oneoff && total > MOST_BYTES) error = ERRNO_Nomem;
  u64 room = 0;
  trap = call.each_buffer(OUTPUT, [&](u64, u64 len) {
    room += len;
    return room > MOST_BYTES ? STOP : (u32)TRAP_None;
  });
  capacity = (u32)lesser(room, MOST_BYTES);
  return trap;
}

}  // namespace requests
}  // namespace gpu_run
