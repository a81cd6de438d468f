// Size classes: multiples of 16 bytes up to 64, then four steps for each power of two, up to 56 KiB. There are blocks
// of 64 KiB too, for alignments that no smaller block has. From 64 bytes on, a block is at most a quarter larger than
// what was asked for.
#pragma once

#include "bulk.h"

namespace gpu_run {
namespace heap {

constexpr u32 GRAIN = 16;
constexpr u32 ANY_SIZE = ~0u;  // where the size of a block is not known, as by C's free; no block has so many bytes

GPU_RUN_INLINE u32 log2_floor(u32 n) { return 31 - (u32)__builtin_clz(n); }

// Bytes of a class's blocks.
GPU_RUN_INLINE u32 class_size(u32 c) {
  if (c < 4) return (c + 1) * GRAIN;
  return (4 + c % 4 + 1) << (c / 4 - 1) << 4;
}

// The smallest class for 1 to HEAP_LARGEST bytes.
GPU_RUN_INLINE u32 class_of(u32 size) {
  u32 grains = (size + GRAIN - 1) / GRAIN;
  if (grains <= 4) return grains ? grains - 1 : 0;
  u32 log = log2_floor(grains - 1);  // 2^log < grains <= 2^(log+1)
  return log * 4 - 4 + ((grains - 1) >> (log - 2)) % 4;
}

// Whether a class's blocks are aligned as asked: slabs begin at pages, so blocks are aligned as their size is.
GPU_RUN_INLINE bool aligns(u32 c, u32 align) { return (class_size(c) & (align - 1)) == 0; }

// The smallest class for a size and an alignment, both at most HEAP_LARGEST. The search ends at a power of two.
GPU_RUN_INLINE u32 class_of(u32 size, u32 align) {
  u32 c = class_of(size > align ? size : align);
  // All blocks are aligned to that.
  if (align <= GRAIN) return c;
  while (!aligns(c, align)) c++;
  return c;
}

// The number of the block that begins at an offset in a slab of class `c`; a large number if none begins there. A block
// is 1, 3, 5 or 7 times a power of two. The quotient by an odd number is the product with its inverse modulo 2^32,
// which is large where there is a remainder. GPUs divide slowly.
GPU_RUN_INLINE u32 index_in_slab(u32 offset, u32 c) {
  // For 1 to 4 grains, and 5 to 8: how often they can be halved, and, above that, (what is left - 1) / 2.
  u32 grains = 0x3c582410 >> (c < 4 ? c : 4 + c % 4) * 4;
  u32 twos = (c < 4 ? 4 : c / 4 + 3) + grains % 4, odd = grains / 4 % 4;
  u32 inverse = (odd == 0 ? 1 : 0) | (odd == 1 ? 0xaaaaaaab : 0) | (odd == 2 ? 0xcccccccd : 0) |
                (odd == 3 ? 0xb6db6db7 : 0);
  return offset & ((1u << twos) - 1) ? ~0u : (offset >> twos) * inverse;
}

// Pages of a small slab: the fewest of which at most a 31st is left over. So slabs are soon without blocks, and can be
// given up.
GPU_RUN_INLINE u32 small_slab(u32 c) {
  u32 size = class_size(c);
  for (u32 pages = 1; pages <= 7; pages++) {
    if (pages * PAGE % size * 31 <= pages * PAGE) return pages;
  }
  return 1;
}

// Pages of a large slab: about `most`, but so few that a bitmap has bits for all blocks.
constexpr u32 SLAB_PAGES = 32;
GPU_RUN_INLINE u32 large_slab(u32 c, u32 most) {
  u32 size = class_size(c), slab = small_slab(c);
  if (most > SLAB_PAGES) most = SLAB_PAGES;
  while (slab * 2 <= most && slab * 2 * PAGE / size <= HEAP_WORDS * 64) slab *= 2;
  return slab;
}

}  // namespace heap
}  // namespace gpu_run
