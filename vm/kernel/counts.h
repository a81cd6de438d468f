// How often basic blocks run, where the host asks for it: what `--profile-mode count` shows.
//
// The interpreter adds to a count in memory at each `visit`, which the host has put in place of the first instruction of
// blocks: on a GPU of each. Lanes that are threads of the host count at branches and calls, too, which takes much less, and
// blocks to which nothing else leads have no `visit` there. Compiled code adds to counters in shared memory, which are the hardware
// block's own: see emit/counts.rs of the PTX compiler. They have 32 bits. Code empties them into the counts in memory before
// they can be full, and the last lane of the hardware block does so when it ends.
//
// Counts order nothing, so accesses of them are relaxed. The host reads them while the kernel runs, and after it has ended.
#pragma once

#include "layout.h"

namespace gpu_run {
namespace counts {

#if GPU_RUN_GPU

// Counts the block that begins at word `word` of the store's code.
GPU_RUN_INLINE void note(const Launch &launch, u32 word) {
  const Counts &counts = *launch.counts;
  // Lanes of a warp at the same block add at once. Multiprocessors have copies, so that few wait for each other.
  const CoalescedGroup together = match_group(word);
  const u64 at = (u64)(sm_hint() & (counts.copies - 1)) * counts.words + word;
  if (!together.is_leader()) return;
  red_add_device(&counts.by_word[at], (u64)together.size);
  if (counts.by_warp) red_add_device(&counts.by_warp[at], (u64)1);
}

#else

// Adds 1 to a count that the lane alone writes to.
inline void add_one(u64 *count) { store_relaxed_device(count, load_relaxed_device(count) + 1); }

// Counts the block that begins at word `word` of the store's code. Each lane has a copy.
inline void note(const Launch &launch, u32 word) {
  const Counts &counts = *launch.counts;
  add_one(&counts.by_word[(u64)own_lane() * counts.words + word]);
}

// The lane's counts of blocks at branches.
inline u64 *at_branches(const Launch &launch) {
  return launch.counts->by_branch + (u64)own_lane() * launch.counts->words;
}

#endif

#if GPU_RUN_GPU

extern "C" __attribute__((address_space(3))) u32 gpu_run_block_counts[];

// Empties counter `i` into the count of a word.
GPU_RUN_INLINE void empty(const volatile __attribute__((address_space(3))) u32 *block, u32 i, u64 *counts, u32 word) {
  if (!block[BLOCK_First + i]) return;
  // At once: other lanes add to it.
  red_add_device(&counts[word], (u64)exchange_shared(&gpu_run_block_counts[BLOCK_First + i], 0));
}

// Empties the counters into the counts in memory.
GPU_RUN_NOINLINE void flush(const Launch &launch) {
  const volatile __attribute__((address_space(3))) u32 *block = gpu_run_block_counts;
  const u32 *words = (const u32 *)((u64)block[BLOCK_Words + 1] << 32 | block[BLOCK_Words]);
  const u32 size = block[BLOCK_Size];
  const Counts &counts = *launch.counts;
  for (u32 i = 0; i < size; i++) {
    empty(block, i, counts.by_word, words[i]);
    if (counts.by_warp) empty(block, size + i, counts.by_warp, words[i]);
  }
}

// A thread begins, which counts as a look at the stop flag: empties the counters if it is time.
GPU_RUN_NOINLINE void begin_thread(const Launch &launch) {
  if ((add_shared(&gpu_run_block_counts[BLOCK_Polls], 1) + 1) % COUNT_POLLS == 0) flush(launch);
}

// A lane of compiled code ends.
GPU_RUN_NOINLINE void end_lane(const Launch &launch) {
  // Acquire and release: the last one sees what all others have counted.
  fence_block();
  const u32 ended = add_shared(&gpu_run_block_counts[BLOCK_Ended], 1) + 1;
  fence_block();
  if (ended == lanes_in_block()) flush(launch);
}

#endif

}  // namespace counts
}  // namespace gpu_run
