// Lists of free things (Treiber stacks), which any lane may take from and put back to. A thing has a number from 1 on. A
// list is a word: the number of its first thing, and above 32 bits a tag against ABA.
//
// `link` returns the address of a thing's link. It lies apart from what the thing's next owner writes with plain accesses,
// because a lane that comes too late still reads it; its exchange then fails.
#pragma once

#include "access.h"

namespace gpu_run {
namespace free_list {

// Takes a thing; 0 if there is none. Acquire: what its last owner did with it is over.
template <typename Link>
GPU_RUN_INLINE u32 pop(u64 *list, Link link) {
  u64 head = load_acquire_device(list);  // pairs with `push`: the link is visible
  while ((u32)head != 0) {
    const u64 next = load_relaxed_device(link((u32)head));
    if (compare_exchange_acq_rel_device(list, head, ((head >> 32) + 1) << 32 | next)) return (u32)head;
  }
  return 0;
}

template <typename Link>
GPU_RUN_INLINE void push(u64 *list, u32 number, Link link) {
  u64 head = load_relaxed_device(list);
  do {
    store_relaxed_device(link(number), (u32)head);
    // The release half publishes the link, and that the thing is free, to the acquire in `pop`.
  } while (!compare_exchange_acq_rel_device(list, head, ((head >> 32) + 1) << 32 | number));
}

}  // namespace free_list
}  // namespace gpu_run
