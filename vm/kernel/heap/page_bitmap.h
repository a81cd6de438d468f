// Sets of pages as two-level bitmaps: a word for 64 pages, and a summary with a bit for each word that may hold some.
// The bit of a page is a token: it belongs to the lane that clears it.
//
// Against ABA: there are no links. A bit says all there is to say of its page. So an exchange that succeeds on a word
// that changed and changed back is as good as one on a word that never did.
#pragma once

#include "heap/classes.h"

namespace gpu_run {
namespace heap {

GPU_RUN_INLINE u32 low_bit(u64 bits) { return (u32)__builtin_ctzll(bits); }

struct Set {
  u64 *summary;
  u64 *words;
  u32 count;  // of words

  GPU_RUN_INLINE u32 summaries() const { return (count + 63) / 64; }
};

// The set of free pages, or with 1 + c that of slabs of class c that have room.
constexpr u32 FREE_PAGES = 0;
GPU_RUN_INLINE Set set(const Heap &heap, u32 index) {
  u32 count = (heap.page_limit + 63) / 64, summaries = (count + 63) / 64;
  u64 *at = heap.sets + (u64)index * (count + summaries);
  return {at, at + summaries, count};
}

// Bits of `len` pages from the word's bit `from` on.
GPU_RUN_INLINE u64 span(u32 from, u32 len) { return (~0ull >> (64 - len)) << from; }

// Adds pages of one word.
GPU_RUN_INLINE void add(const Set &set, u32 word, u64 bits) {
  // Release: a lane that clears a bit sees the page as it was left.
  if (fetch_or_acq_rel_device(&set.words[word], bits) != 0) return;
  fetch_or_acq_rel_device(&set.summary[word / 64], 1ull << word % 64);
}

// A word was found empty. A lane that fills it meanwhile sets the summary's bit before or after it is cleared here. If
// before, the load below sees what that lane put into the word, because its change of the summary comes after it.
GPU_RUN_INLINE void note_empty(const Set &set, u32 word) {
  u64 bit = 1ull << word % 64;
  fetch_and_acq_rel_device(&set.summary[word / 64], ~bit);
  if (load_relaxed_device(&set.words[word]) != 0) fetch_or_acq_rel_device(&set.summary[word / 64], bit);
}

// Clears bits of one word if all of them are set.
GPU_RUN_INLINE bool remove(const Set &set, u32 word, u64 bits) {
  u64 seen = load_relaxed_device(&set.words[word]);
  do {
    if ((seen & bits) != bits) return false;
    // Acquire/release: pairs with `add`, and hands on what came before.
  } while (!compare_exchange_acq_rel_device(&set.words[word], seen, seen & ~bits));
  if (seen == bits) note_empty(set, word);
  return true;
}

// The index of set bit number `rank`, beginning with 0.
GPU_RUN_INLINE u32 nth_bit(u64 bits, u32 rank) {
  u64 run = bits >> low_bit(bits);
  // Often the bits are adjacent.
  if (!(run & (run + 1))) return low_bit(bits) + rank;
  u32 at = 0;
  for (u32 half = 32; half; half /= 2) {
    u32 below = (u32)__builtin_popcountll(bits & ((1ull << half) - 1));
    if (rank < below) continue;
    rank -= below;
    bits >>= half;
    at += half;
  }
  return at;
}

// The lowest bit at which `len` (1 to 64) bits in a row are set, as a bit of the result.
GPU_RUN_INLINE u64 runs(u64 word, u32 len) {
  while (len > 1) {
    u32 half = len / 2;
    word &= word >> half;
    len -= half;
  }
  return word;
}

// Whether there are `len` adjacent pages in one word, without taking any. A bit of the summary may outlive its word's
// pages: a lane that adds some sets it after another has taken them. Here it goes, so that a set without pages is seen
// to have none.
GPU_RUN_NOINLINE bool has_run(const Set &set, u32 len) {
  for (u32 i = 0; i < set.summaries(); i++) {
    for (u64 left = load_relaxed_device(&set.summary[i]); left; left &= left - 1) {
      u32 word = i * 64 + low_bit(left);
      u64 seen = load_relaxed_device(&set.words[word]);
      if (runs(seen, len)) return true;
      if (!seen) note_empty(set, word);
    }
  }
  return false;
}

constexpr u32 NO_PAGE = ~0u;

// Words that are searched for a run of the wanted length before a shorter one will do.
constexpr u32 PATIENCE = 16;

// Takes `len` adjacent pages that lie in one word, or fewer: no less than `least`. `len` becomes how many; NO_PAGE:
// there are none. Low pages come first, so that high ones become free. A lane whose exchange fails goes on somewhere
// else: with one place for all, only one of them would make progress at a time.
//
// Lock-free: it looks at each word once, except for those where an exchange failed, so that another lane made progress.
GPU_RUN_INLINE u32 take(const Set &set, u32 least, u32 &len) {
  u32 first = 0, turn = 0, hash = 0, patience = len > least ? PATIENCE : 0;
  u64 none = 0;  // words of the summary's word that were looked at in vain
  for (u32 n = 0;;) {
    if (n >= set.summaries()) {
      if (patience == 0) return NO_PAGE;
      patience = n = 0;
    }
    u32 i = first + n < set.summaries() ? first + n : first + n - set.summaries();
    u64 left = load_relaxed_device(&set.summary[i]) & ~none;
    if (!left) {
      n++;
      none = 0;
      continue;
    }
    u64 above = left >> turn << turn;
    u32 bit = low_bit(above ? above : left), word = i * 64 + bit, found = len;
    u64 seen = load_relaxed_device(&set.words[word]), at;
    while (!(at = runs(seen, found)) && found > least) {
      u32 half = found / 2 / least * least;
      found = half > least ? half : least;
    }
    if (!at || (found < len && patience)) {
      if (at) patience--;
      none |= 1ull << bit;
      // After the last of these, words that were passed by count again.
      if (at && patience == 0) n = 0, none = 0;
      continue;
    }
    u32 from = low_bit(at);
    u64 bits = span(from, found);
    // Acquire/release: pairs with `add`, and hands on what came before.
    if (compare_exchange_acq_rel_device(&set.words[word], seen, seen & ~bits)) {
      if (seen == bits) note_empty(set, word);
      len = found;
      return word * 64 + from;
    }
    if (hash == 0) {
      hash = warp_number() * 0x9e3779b9u | 1;
      first = (hash >> 16) % set.summaries();
      n = 0;
      none = 0;
    }
    hash = hash * 0x9e3779b1u;
    turn = hash >> 26;
  }
}

// Takes up to `most` pages of one word, wherever in it they are; 0: there are none. Low ones come first; a lane that
// finds that others were faster goes on somewhere else.
GPU_RUN_INLINE u64 take_some(const Set &set, u32 most, u32 &word) {
  u32 first = 0, turn = 0, hash = 0;
  u64 none = 0;  // words of the summary's word that were looked at in vain
  for (u32 n = 0; n < set.summaries();) {
    u32 i = first + n < set.summaries() ? first + n : first + n - set.summaries();
    u64 left = load_relaxed_device(&set.summary[i]) & ~none;
    if (!left) {
      n++;
      none = 0;
      continue;
    }
    u64 above = left >> turn << turn;
    word = i * 64 + low_bit(above ? above : left);
    u64 seen = load_relaxed_device(&set.words[word]);
    u64 bits = (u32)__builtin_popcountll(seen) > most ? seen & ((1ull << nth_bit(seen, most)) - 1) : seen;
    if (bits) {
      // Acquire/release: pairs with `add`, and hands on what came before.
      u64 before = fetch_and_acq_rel_device(&set.words[word], ~bits);
      if (before & bits) {
        if (!(before & ~bits)) note_empty(set, word);
        return before & bits;
      }
      if (hash == 0) {
        hash = warp_number() * 0x9e3779b9u | 1;
        first = (hash >> 16) % set.summaries();
        n = 0;
        none = 0;
      }
      hash *= 0x9e3779b1u;
      turn = hash >> 26;
      continue;
    }
    none |= 1ull << word % 64;
  }
  return 0;
}

}  // namespace heap
}  // namespace gpu_run
