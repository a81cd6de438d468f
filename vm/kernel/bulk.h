// Instructions that work on ranges of memories and tables: in chunks, with a look at the stop flag between them.
// Callers of `bulk_` functions have checked the bounds; the others return false for a range that does not fit.
#pragma once

#include "access.h"

namespace gpu_run {

// Bytes that a bulk instruction moves between two looks at the stop flag.
constexpr u64 CHUNK = 262144;

// What threads are to do, a Stop, or 0. The host's word is across the bus. A single lane may look there. Many lanes would
// slow down all other traffic: they look at the device's copy, which the host writes.
GPU_RUN_INLINE u32 stop_word(const Launch &launch) {
#if GPU_RUN_GPU
  if (launch.lanes > 1) return load_relaxed_device(&launch.stop);
#endif
  return load_relaxed_system(&launch.control->stop);
}

// The number by which the host knows thread `id`: of a batch, that of its process.
GPU_RUN_INLINE u32 told_number(const Launch &launch, u32 id) { return launch.process ? launch.process - 1 : id; }

// Whether threads must end: also in the middle of an instruction, which one that is parked may not be.
GPU_RUN_INLINE bool stopped(const Launch &launch) { return stop_word(launch) == STOP_Ends; }

// Whether a loop over elements should stop at element `i`: it looks now and then.
GPU_RUN_INLINE bool poll(const Launch &launch, u32 i) { return i % 65536 == 65535 && stopped(launch); }

GPU_RUN_INLINE u64 lesser(u64 a, u64 b) { return a < b ? a : b; }

GPU_RUN_NOINLINE void copy_short(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  linear::copy_short(to_base, to, from_base, from, len);
}

GPU_RUN_NOINLINE void copy_chunks(const Launch &launch, u8 *to_base, u64 to, const u8 *from_base, u64 from, u64 len) {
  bool down = to_base == from_base && to > from;
  for (u64 done = 0; done < len && !(done && stopped(launch)); done += CHUNK) {
    u64 n = lesser(CHUNK, len - done);
    u64 at = down ? len - done - n : done;
    if (down) {
      linear::copy_down(to_base, to + at, from_base, from + at, n);
    } else {
      linear::copy_up(to_base, to + at, from_base, from + at, n);
    }
  }
}

// The short path is a function of its own, which needs few registers and so saves few.
GPU_RUN_INLINE void bulk_copy(const Launch &launch, u8 *to_base, u64 to, const u8 *from_base, u64 from, u64 len) {
  if (linear::is_short(to, from, len)) return copy_short(to_base, to, from_base, from, (u32)len);
  copy_chunks(launch, to_base, to, from_base, from, len);
}

GPU_RUN_NOINLINE void bulk_fill(const Launch &launch, u8 *base, u64 at, u8 value, u64 len) {
  for (u64 done = 0; done < len && !(done && stopped(launch)); done += CHUNK) {
    linear::fill(base, at + done, value, lesser(CHUNK, len - done));
  }
}

GPU_RUN_NOINLINE u32 bulk_compare(const Launch &launch, const u8 *base, u64 a, u64 b, u64 len) {
  for (u64 done = 0; done < len && !(done && stopped(launch)); done += CHUNK) {
    u32 result = linear::compare_bytes(base, a + done, b + done, (u32)lesser(CHUNK, len - done));
    if (result) return result;
  }
  return 0;
}

// Copies between memories, or from a data segment.
GPU_RUN_INLINE bool memory_copy(const Launch &launch, const Memory &to, u64 to_at, const u8 *from_bytes, u64 from_size,
                                u64 from_at, u64 len) {
  if (!in_bounds64(to_at, len, load_relaxed_device(&to.size))) return false;
  if (!in_bounds64(from_at, len, from_size)) return false;
  bulk_copy(launch, to.base, to_at, from_bytes, from_at, len);
  return true;
}

GPU_RUN_INLINE bool memory_fill(const Launch &launch, const Memory &memory, u64 at, u8 value, u64 len) {
  if (!in_bounds64(at, len, load_relaxed_device(&memory.size))) return false;
  bulk_fill(launch, memory.base, at, value, len);
  return true;
}

GPU_RUN_INLINE bool memory_compare(const Launch &launch, const Memory &memory, u32 a, u32 b, u32 len, u32 &result) {
  u64 size = load_relaxed_device(&memory.size);
  if (!in_bounds(a, len, size) || !in_bounds(b, len, size)) return false;
  result = bulk_compare(launch, memory.base, a, b, len);
  return true;
}

// The table instructions that work on ranges. Sizes only grow, so a range that fits goes on fitting.
GPU_RUN_INLINE bool table_range(const Table &table, u32 at, u32 len) {
  return (u64)at + len <= load_relaxed_device(&table.size);
}

GPU_RUN_NOINLINE bool table_fill(const Launch &launch, Table &table, u32 at, u32 value, u32 len) {
  if (!table_range(table, at, len)) return false;
  for (u32 i = 0; i < len && !poll(launch, i); i++) store_relaxed_device(&table.elements[at + i], value);
  return true;
}

GPU_RUN_NOINLINE bool table_copy(const Launch &launch, Table &to, u32 to_at, const Table &from, u32 from_at, u32 len) {
  if (!table_range(to, to_at, len) || !table_range(from, from_at, len)) return false;
  bool down = to_at > from_at;
  for (u32 i = 0; i < len && !poll(launch, i); i++) {
    u32 k = down ? len - 1 - i : i;
    store_relaxed_device(&to.elements[to_at + k], load_relaxed_device(&from.elements[from_at + k]));
  }
  return true;
}

GPU_RUN_NOINLINE bool table_init(const Launch &launch, Table &to, u32 to_at, const ElemSegment &from, u32 from_at, u32 len) {
  if (!table_range(to, to_at, len) || (u64)from_at + len > load_relaxed_device(&from.len)) return false;
  for (u32 i = 0; i < len && !poll(launch, i); i++) store_relaxed_device(&to.elements[to_at + i], from.refs[from_at + i]);
  return true;
}

GPU_RUN_NOINLINE u32 table_grow(const Launch &launch, Table &table, u32 len, u32 value) {
  u32 size = load_relaxed_device(&table.size);
  do {
    if (len > table.limit - size) return ~0u;
    // Acquire/release, as memory_grow: new elements are null until the fill below.
  } while (!compare_exchange_acq_rel_device(&table.size, size, size + len));
  table_fill(launch, table, size, value, len);
  return size;
}

}  // namespace gpu_run
