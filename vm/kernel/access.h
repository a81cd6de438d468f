// The accessors: every access of the kernel to registers, frames and linear memory is here. So a layout can change
// without a change to any opcode.
//
// Registers are units of 4 bytes. Unit u of a frame lies at frame + u * stride. In a segment that is interleaved across
// the lanes of a block, the stride is the block's width. So a warp whose lanes agree reads one line. In a segment of
// one thread it is 4.
//
// Linear memory is plain. Guest races are legal in wasm, so an aligned guest access is a relaxed atomic on the host. On
// the GPU a plain one satisfies wasm and may use the L1 cache.
#pragma once

#include "layout.h"

namespace gpu_run {

// Parts of an instruction's words.
GPU_RUN_INLINE u32 slot(u64 word, u32 index) { return (u32)(word >> (16 * index)) & 0xffff; }
GPU_RUN_INLINE u32 upper(u64 word) { return (u32)(word >> 32); }

// A 128-bit value: four units, lowest first.
struct V128 {
  u32 unit[4];
};

struct Registers {
  u8 *frame;
  u32 stride;

  GPU_RUN_INLINE u8 *at(u32 unit) const { return advance(frame, unit, stride); }

  GPU_RUN_INLINE u32 get32(u32 unit) const { return *(const u32 *)at(unit); }
  GPU_RUN_INLINE void set32(u32 unit, u32 value) const { *(u32 *)at(unit) = value; }
  GPU_RUN_INLINE u64 get64(u32 unit) const { return join(get32(unit), get32(unit + 1)); }
  GPU_RUN_INLINE void set64(u32 unit, u64 value) const {
    u32 low, high;
    split(value, low, high);
    set32(unit, low);
    set32(unit + 1, high);
  }
  GPU_RUN_INLINE V128 get128(u32 unit) const {
    return {{get32(unit), get32(unit + 1), get32(unit + 2), get32(unit + 3)}};
  }
  GPU_RUN_INLINE void set128(u32 unit, const V128 &value) const {
    for (u32 i = 0; i < 4; i++) set32(unit + i, value.unit[i]);
  }
};

// Where a global of the instance lies: in the thread's block or in the store's.
GPU_RUN_INLINE u64 *global_slot(const Launch &launch, const Instance &instance, u64 *globals, u32 index) {
  u32 at = instance.globals[index];
  return at & GLOBAL_SHARED ? launch.shared_globals + (at & ~GLOBAL_SHARED) : globals + at;
}

// Whether [at, at + len) lies in a memory of `size` bytes. `at` and `len` are below 2^33, so nothing
// wraps.
GPU_RUN_INLINE bool in_bounds(u64 at, u64 len, u64 size) { return at + len <= size; }
// The same for any `at` and `len`.
GPU_RUN_INLINE bool in_bounds64(u64 at, u64 len, u64 size) { return at <= size && len <= size - at; }

// Address `offset + index` of `len` bytes in a memory: false if it does not lie inside. Nothing wraps:
// each step compares with what is left.
GPU_RUN_INLINE bool far_address(const Memory &memory, const Registers &registers, u32 index_unit, u64 offset, u64 len,
                                u64 &at) {
  u64 index = memory.wide ? registers.get64(index_unit) : registers.get32(index_unit);
  u64 size = load_relaxed_device(&memory.size);
  at = offset + index;
  return offset <= size && index <= size - offset && len <= size - offset - index;
}

namespace linear {

// GPUs access naturally aligned addresses only. Elsewhere an access goes byte by byte, which is also what a race in
// wasm may look like.
template <typename T>
GPU_RUN_INLINE T load(const u8 *base, u64 at) {
  const u8 *p = base + at;
  if (UNLIKELY(at & (sizeof(T) - 1))) {
    u64 value = 0;
    for (u32 i = 0; i < sizeof(T); i++) value |= (u64)load_relaxed_device(p + i) << (8 * i);
    return (T)value;
  }
  return load_guest((const T *)p);
}

template <typename T>
GPU_RUN_INLINE void store(u8 *base, u64 at, T value) {
  u8 *p = base + at;
  if (UNLIKELY(at & (sizeof(T) - 1))) {
    for (u32 i = 0; i < sizeof(T); i++) store_relaxed_device(p + i, (u8)((u64)value >> (8 * i)));
    return;
  }
  store_guest((T *)p, value);
}

// Words of 8 bytes at addresses that are aligned for sure: no branch stands between several of them.
GPU_RUN_INLINE u64 load_word(const u8 *base, u64 at) { return load_guest((const u64 *)(base + at)); }
GPU_RUN_INLINE void store_word(u8 *base, u64 at, u64 value) { store_guest((u64 *)(base + at), value); }

// Bulk pieces: callers have checked the bounds. Long destinations are written in aligned words of 8 bytes. Several are in
// flight at once, because on a GPU each access waits for memory. A source that is aligned otherwise is read in aligned
// words too, and each written word is composed of two. So up to 7 bytes around the source are read, which lie in the
// same words and so in the same allocation.
constexpr u32 IN_FLIGHT = 8;

GPU_RUN_INLINE void copy_up(u8 *to_base, u64 to, const u8 *from_base, u64 from, u64 len) {
  u64 i = 0;
  for (; i < len && ((to + i) & 7); i++) store<u8>(to_base, to + i, load<u8>(from_base, from + i));
  u32 shift = (u32)((from + i) & 7) * 8;
  if (shift == 0) {
    for (u64 words[IN_FLIGHT]; i + 8 * IN_FLIGHT <= len; i += 8 * IN_FLIGHT) {
      for (u32 k = 0; k < IN_FLIGHT; k++) words[k] = load_word(from_base, from + i + 8 * k);
      for (u32 k = 0; k < IN_FLIGHT; k++) store_word(to_base, to + i + 8 * k, words[k]);
    }
    for (; i + 8 <= len; i += 8) store_word(to_base, to + i, load_word(from_base, from + i));
  } else if (i + 8 <= len) {
    // An overlapping destination lies below the source: no word is overwritten before it is read.
    u64 at = from + i - shift / 8, low = load_word(from_base, at);
    for (; i + 8 <= len; i += 8) {
      u64 high = load_word(from_base, at += 8);
      store_word(to_base, to + i, low >> shift | high << (64 - shift));
      low = high;
    }
  }
  for (; i < len; i++) store<u8>(to_base, to + i, load<u8>(from_base, from + i));
}

// The same from the end, for a destination that overlaps the source from above.
GPU_RUN_INLINE void copy_down(u8 *to_base, u64 to, const u8 *from_base, u64 from, u64 len) {
  u64 i = len;
  for (; i > 0 && ((to + i) & 7); i--) store<u8>(to_base, to + i - 1, load<u8>(from_base, from + i - 1));
  u32 shift = (u32)((from + i) & 7) * 8;
  if (shift == 0) {
    for (u64 words[IN_FLIGHT]; i >= 8 * IN_FLIGHT; i -= 8 * IN_FLIGHT) {
      for (u32 k = 0; k < IN_FLIGHT; k++) words[k] = load_word(from_base, from + i - 8 * (k + 1));
      for (u32 k = 0; k < IN_FLIGHT; k++) store_word(to_base, to + i - 8 * (k + 1), words[k]);
    }
    for (; i >= 8; i -= 8) store_word(to_base, to + i - 8, load_word(from_base, from + i - 8));
  } else if (i >= 8) {
    u64 at = from + i - shift / 8, high = load_word(from_base, at);
    for (; i >= 8; i -= 8) {
      u64 low = load_word(from_base, at -= 8);
      store_word(to_base, to + i - 8, low >> shift | high << (64 - shift));
      high = low;
    }
  }
  for (; i > 0; i--) store<u8>(to_base, to + i - 1, load<u8>(from_base, from + i - 1));
}

// Units of 4 bytes at addresses that are aligned for sure.
GPU_RUN_INLINE u32 load_unit(const u8 *base, u64 at) { return load_guest((const u32 *)(base + at)); }
GPU_RUN_INLINE void store_unit(u8 *base, u64 at, u32 value) { store_guest((u32 *)(base + at), value); }

// A range is short if it has so few bytes, or at most SHORT_UNITS in whole and aligned units.
constexpr u32 SHORT = 32;

GPU_RUN_INLINE bool are_units(u64 to, u64 from, u64 len) { return ((to | from | len) & 3) == 0; }
GPU_RUN_INLINE bool is_short(u64 to, u64 from, u64 len) {
  return len <= SHORT || (len <= SHORT_UNITS && are_units(to, from, len));
}

// At most COUNT units: every load is in flight before the first store.
template <u32 COUNT>
GPU_RUN_INLINE void copy_units(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  u32 units[COUNT];
  for (u32 k = 0; k < COUNT; k++) units[k] = 4 * k < len ? load_unit(from_base, from + 4 * k) : 0;
  for (u32 k = 0; k < COUNT; k++) {
    if (4 * k < len) store_unit(to_base, to + 4 * k, units[k]);
  }
}

// Copies a short range, overlapping or not.
GPU_RUN_INLINE void copy_short(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  if (are_units(to, from, len)) {
    if (len <= 16) return copy_units<4>(to_base, to, from_base, from, len);
    return copy_units<SHORT_UNITS / 4>(to_base, to, from_base, from, len);
  }
  const u32 shift = (u32)(from & 7) * 8;
  const u64 first = from & ~7ull, end = from + len;
  u64 words[SHORT / 8 + 1];
  for (u32 k = 0; k <= SHORT / 8; k++) words[k] = first + 8 * k < end ? load_word(from_base, first + 8 * k) : 0;
  for (u32 k = 0; k < SHORT / 8; k++) {
    u64 value = shift ? words[k] >> shift | words[k + 1] << (64 - shift) : words[k];
    for (u32 at = 8 * k; at < 8 * k + 8; at += 4, value >>= 32) {
      if (at >= len) return;
      if (len - at >= 4 && ((to + at) & 3) == 0) {
        store_unit(to_base, to + at, (u32)value);
      } else {
        for (u32 i = 0; i < 4 && at + i < len; i++) store<u8>(to_base, to + at + i, (u8)((u32)value >> (8 * i)));
      }
    }
  }
}

// The difference of the first two bytes that differ.
GPU_RUN_INLINE u32 compare_bytes(const u8 *base, u64 a, u64 b, u32 len) {
  u32 i = 0;
  if (((a | b) & 3) == 0) {
    for (; i + 4 <= len; i += 4) {
      u32 x = load_unit(base, a + i), y = load_unit(base, b + i), differ = x ^ y;
      if (differ == 0) continue;
      u32 low = (u32)__builtin_ctz(differ) & ~7u;
      return (x >> low & 0xff) - (y >> low & 0xff);
    }
  }
  for (; i < len; i++) {
    u32 x = load<u8>(base, a + i), y = load<u8>(base, b + i);
    if (x != y) return x - y;
  }
  return 0;
}

GPU_RUN_INLINE void fill(u8 *base, u64 at, u8 value, u64 len) {
  u64 word = value * 0x0101010101010101ull, i = 0;
  for (; i < len && ((at + i) & 7); i++) store<u8>(base, at + i, value);
  for (; i + 8 * IN_FLIGHT <= len; i += 8 * IN_FLIGHT) {
    for (u32 k = 0; k < IN_FLIGHT; k++) store_word(base, at + i + 8 * k, word);
  }
  for (; i + 8 <= len; i += 8) store_word(base, at + i, word);
  for (; i < len; i++) store<u8>(base, at + i, value);
}

}  // namespace linear

// Grows a memory by `pages`; returns its old size in pages, or ~0 if it cannot.
GPU_RUN_INLINE u64 memory_grow(Memory &memory, u64 pages) {
  u64 size = load_relaxed_device(&memory.size);
  do {
    if (pages > (memory.limit - size) / PAGE) return ~0ull;
    // Acquire/release: a lane that sees the new size also sees the pages as the lane that grew the memory left them.
  } while (!compare_exchange_acq_rel_device(&memory.size, size, size + pages * PAGE));
  return size / PAGE;
}

// The same for the guest's own instruction. The host tells the user when the limit was in the way.
GPU_RUN_INLINE u64 memory_grow_guest(Memory &memory, u64 pages) {
  u64 before = memory_grow(memory, pages);
  if (before == ~0ull) red_add_device(&memory.refused, 1ull);
  return before;
}

}  // namespace gpu_run
