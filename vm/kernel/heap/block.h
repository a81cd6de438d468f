// Blocks that are handed out: which one an address means.
#pragma once

#include "heap/lane_slab.h"
#include "heap/large.h"

namespace gpu_run {
namespace heap {

// A block that is handed out.
struct Block {
  u32 first;  // page; the record of a lane's slab
  u32 index;  // in its slab
  u32 bytes;
  u64 state;
};

// Finds the block at an address, in a shared slab or as a region. The block is said to hold `size` bytes, or ANY_SIZE.
GPU_RUN_INLINE Outcome find_shared(const Heap &heap, u32 address, u32 size, Block &block) {
  u32 page = address / PAGE;
  if (!heap.pages || page >= heap.page_limit) return FOREIGN;
  // Mostly the page is the first one: so its state is loaded at the same time.
  block.first = load_relaxed_device(&heap.pages[page].first);
  block.state = load_relaxed_device(&heap.pages[page].state);
  if (block.first != page) block.state = load_relaxed_device(&heap.pages[block.first].state);
  u32 offset = address - block.first * PAGE;
  block.index = 0;
  if (kind(block.state) == KIND_None) return FOREIGN;
  if (kind(block.state) == KIND_Region) {
    if (offset != 0) return FOREIGN;
    // Below 4 GiB, so that it does not wrap to 0.
    block.bytes = (u32)lesser((u64)(u32)block.state * PAGE, ~0u);
  } else {
    u32 c = class_in(block.state);
    block.bytes = class_size(c);
    block.index = index_in_slab(offset, c);
    if (block.index >= lesser(capacity(block.state), HEAP_WORDS * 64)) return FOREIGN;
  }
  return size <= block.bytes || size == ANY_SIZE ? DONE : WRONG_SIZE;
}

// The same for a lane's slab, whose record says `owner`.
GPU_RUN_INLINE Outcome find_in_lane(u32 owner, u32 address, u32 size, Block &block) {
  u32 index = address / LANE_SLAB;
  const u32 c = lane_class_in(owner);
  if (c >= LANE_TWO) index &= ~1u;
  block = {index, index_in_slab(address - index * LANE_SLAB, c), class_size(c), (u64)KIND_Lane << 40 | (u64)c << 32};
  if (block.index >= blocks_in(owner)) return FOREIGN;
  return size <= block.bytes || size == ANY_SIZE ? DONE : WRONG_SIZE;
}

// Finds the block at an address. Lanes' slabs are blocks of shared ones, of which programs know nothing.
GPU_RUN_INLINE Outcome find(const Heap &heap, u32 address, u32 size, Block &block) {
  if (heap.lane_records) {
    const u32 index = address / LANE_SLAB;
    const u32 owner = index < heap.lane_records ? load_relaxed_device(&heap.lane_slabs[index].owner) : 0;
    if (owner) return find_in_lane(owner, address, size, block);
  }
  return find_shared(heap, address, size, block);
}

// The word of the bitmap that has the bit of a block of a slab.
GPU_RUN_INLINE u64 &word_of(const Heap &heap, const Block &block) {
  return heap.pages[block.first].bits[block.index / 64];
}
// Whether that bit is set: according to the records, the block is handed out.
GPU_RUN_INLINE bool is_marked(const Heap &heap, const Block &block) {
  if (kind(block.state) == KIND_Lane) {
    const LaneSlab &slab = heap.lane_slabs[block.first];
    return !((load_relaxed_device(&slab.free) | load_relaxed_device(&slab.freed)) >> block.index & 1);
  }
  return load_relaxed_device(&word_of(heap, block)) >> block.index % 64 & 1;
}

}  // namespace heap
}  // namespace gpu_run
