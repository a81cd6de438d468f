// The blocks of files whose data the device holds, and which threads may touch a file: see rpc/tmpfs.h.
//
// The inode names the blocks of the first 16 pages. The others hang on a tree, whose inner nodes are index blocks. An
// index block has 1,024 numbers of blocks: 1 + the block, or 0 for a hole. The tree is as high as the file's highest
// page needs. A thread that changes a tree has the inode for itself.
//
// Free blocks are counted before their bits are looked for. There are never more counted than bits are clear, so a
// thread that was counted finds one. Some are for trees alone, so that files without holes may have all the others for
// data. When there are none of them, trees take others.
#pragma once

#include "bulk.h"

namespace gpu_run {
namespace tmpfs {

constexpr u32 INDEX_BITS = 10;  // of a page's number that one index block decides
static_assert(1u << INDEX_BITS == TMPFS_ENTRIES, "an index block is full");
constexpr u32 MOST_LEVELS = 6;  // 51 bits of pages

// --- Locks --------------------------------------------------------------------------------------

// No lane waits inside for any of these locks: one that finds it taken executes the instruction again. Each is released
// by the piece of code that took it, unless a thread waits for the host with a descriptor's.
constexpr u32 WRITER = 1u << 31;
// Nanoseconds for which readers let a writer come first that found readers.
constexpr u64 PATIENCE = 50000;

// Acquire: pairs with the releases in `end_read` and `end_write`.
GPU_RUN_INLINE bool try_write(TmpfsInode &inode) {
  u32 found = load_relaxed_device(&inode.lock);
  if (found == 0 && compare_exchange_acquire_device(&inode.lock, found, WRITER)) return true;
  // A time and not a mark, so that nothing is left over if the writer does not come again.
  if (!(found & WRITER)) store_relaxed_device(&inode.wanted, clock_ns() + PATIENCE);
  return false;
}

// Release: pairs with the acquires in `try_read` and `try_write`. Readers may have counted themselves meanwhile.
GPU_RUN_INLINE void end_write(TmpfsInode &inode) { fetch_and_release_device(&inode.lock, ~WRITER); }

// Release as well as acquire: pairs with the acquire in `try_write`.
GPU_RUN_INLINE void end_read(TmpfsInode &inode) { fetch_add_acq_rel_device(&inode.lock, ~0u); }

// Acquire: pairs with the release in `end_write`.
GPU_RUN_INLINE bool try_read(TmpfsInode &inode) {
  if (load_relaxed_device(&inode.lock) & WRITER) return false;
  u64 wanted = load_relaxed_device(&inode.wanted);
  if (wanted && clock_ns() < wanted) return false;
  if (!(fetch_add_acquire_device(&inode.lock, 1u) & WRITER)) return true;
  end_read(inode);
  return false;
}

// --- Blocks -------------------------------------------------------------------------------------

// Where a block's bytes begin, from Tmpfs::blocks on. Blocks are named as trees do: 1 + the number.
GPU_RUN_INLINE u64 start_of(u32 block) { return (u64)(block - 1) * TMPFS_BLOCK; }

GPU_RUN_INLINE u32 *entries_of(const Tmpfs &fs, u32 block) { return (u32 *)(fs.blocks + start_of(block)); }

// Counts one, if there is one. Acquire: pairs with the release in `Freed::flush`, after which blocks are counted.
GPU_RUN_INLINE bool take_one(u32 *count) {
  u32 found = load_relaxed_device(count);
  do {
    if (found == 0) return false;
  } while (!compare_exchange_acquire_device(count, found, found - 1));
  return true;
}

// Takes a block for a file, if there is one: that after its last one, one near, or one near the last that was found.
GPU_RUN_NOINLINE u32 take_block(Tmpfs &fs, const TmpfsInode &inode, bool index) {
  constexpr u32 NEAR = 8;  // words
  if (!(index && take_one(&fs.free_index)) && !take_one(&fs.free_data)) return 0;
  // Files begin far from each other, so that threads that write several are seldom in each other's way.
  const u32 spread = (u32)(&inode - fs.inodes) * 0x9e3779b1u;
  u32 at = (u32)((u64)spread * fs.words >> 32), bit = spread % 32;
  if (inode.next) at = inode.next / 32 % fs.words, bit = inode.next % 32;
  // There is a clear bit somewhere. It may move, but only if another lane made progress.
  for (u32 looked = 1;; looked++) {
    u32 found = load_relaxed_device(&fs.taken[at]);
    while (~found) {
      // The first clear one from there on.
      bit = (bit + (u32)__builtin_ctz(~(found >> bit | found << ((32 - bit) % 32)))) % 32;
      // Acquire: pairs with the release in `Freed::flush`.
      found = fetch_or_acquire_device(&fs.taken[at], 1u << bit);
      if (found >> bit & 1) continue;
      if (looked > NEAR + 1) store_relaxed_device(&fs.cursor, at);
      return at * 32 + bit + 1;
    }
    at = looked == NEAR ? load_relaxed_device(&fs.cursor) : at + 1;
    if (at >= fs.words) at = 0;
  }
}

// Blocks on their way to be free: those of one word of bits go together.
struct Freed {
  Tmpfs &fs;
  u32 word;
  u32 bits;
  u32 data, index;  // how many of each

  // Release: what was done with the blocks is over. Pairs with the acquire in `take_block`.
  GPU_RUN_INLINE void flush() {
    if (bits) fetch_and_release_device(&fs.taken[word], ~bits);
    bits = 0;
  }
  GPU_RUN_INLINE void add(u32 block) {
    u32 number = block - 1;
    if (number / 32 != word) flush();
    word = number / 32;
    bits |= 1u << number % 32;
  }
  // Counts them, now that their bits are clear. Release: pairs with the acquire in `take_one`.
  GPU_RUN_INLINE void finish() {
    flush();
    u32 found = load_relaxed_device(&fs.free_index), given;
    do {
      given = (u32)lesser(index, fs.most_index - found);
    } while (given && !compare_exchange_acq_rel_device(&fs.free_index, found, found + given));
    if (data + index > given) fetch_add_acq_rel_device(&fs.free_data, data + index - given);
  }
};

// --- Bytes --------------------------------------------------------------------------------------

// In functions of their own, because what is live here adds to all that the interpreter's loop holds. If it were more,
// it would be spilled.
constexpr u32 WORDS_TOGETHER = 8;

GPU_RUN_NOINLINE void clear_bytes(u8 *base, u64 at, u32 len) {
  u32 i = 0;
  for (; i < len && ((at + i) & 7); i++) linear::store<u8>(base, at + i, 0);
  for (; i + 8 <= len; i += 8) linear::store_word(base, at + i, 0);
  for (; i < len; i++) linear::store<u8>(base, at + i, 0);
}

// Where the source is aligned otherwise, words are put together from aligned ones: see linear::copy_up.
GPU_RUN_NOINLINE void copy_bytes(u8 *to_base, u64 to, const u8 *from_base, u64 from, u32 len) {
  constexpr u32 PIECE = 8 * WORDS_TOGETHER;
  u32 i = (u32)lesser((0 - to) & 7, len);
  if (i) copy_short(to_base, to, from_base, from, i);
  if (i + PIECE <= len) {
    const u32 shift = (u32)((from + i) & 7) * 8;
    u64 at = from + i - shift / 8, low = linear::load_word(from_base, at);
    for (; i + PIECE <= len; i += PIECE, at += PIECE) {
      u64 words[WORDS_TOGETHER];
      for (u32 k = 0; k + 1 < WORDS_TOGETHER; k++) words[k] = linear::load_word(from_base, at + 8 * (k + 1));
      // If all are aligned the last one begins the next piece, and may lie after the end.
      bool more = shift || i + 2 * PIECE <= len;
      words[WORDS_TOGETHER - 1] = more ? linear::load_word(from_base, at + PIECE) : 0;
      for (u32 k = 0; k < WORDS_TOGETHER; k++) {
        // In two steps, because a shift by all 64 bits is undefined.
        linear::store_word(to_base, to + i + 8 * k, low >> shift | words[k] << 1 << (63 - shift));
        low = words[k];
      }
    }
  }
  while (i < len) {
    u32 rest = (u32)lesser(linear::SHORT, len - i);
    copy_short(to_base, to + i, from_base, from + i, rest);
    i += rest;
  }
}

// --- Trees --------------------------------------------------------------------------------------

GPU_RUN_INLINE bool fits_tree(const TmpfsInode &inode, u64 page) { return page >> (INDEX_BITS * inode.levels) == 0; }

// Which entry of an index block leads to a page; those of level 1 lead to data.
GPU_RUN_INLINE u32 entry_of(u64 page, u32 level) {
  return (u32)(page >> (INDEX_BITS * (level - 1))) & (TMPFS_ENTRIES - 1);
}

// The block of a page, or 0: a hole.
GPU_RUN_NOINLINE u32 find_block(const Tmpfs &fs, const TmpfsInode &inode, u64 page) {
  if (page < TMPFS_DIRECT) return inode.direct[page];
  if (!fits_tree(inode, page)) return 0;
  u32 block = inode.root;
  for (u32 level = inode.levels; level && block; level--) block = entries_of(fs, block)[entry_of(page, level)];
  return block;
}

// A new block for the tree.
GPU_RUN_NOINLINE u32 new_index(Tmpfs &fs, const TmpfsInode &inode) {
  u32 block = take_block(fs, inode, true);
  if (block) clear_bytes(fs.blocks, start_of(block), TMPFS_BLOCK);
  return block;
}

// Where the block of a page of the tree is named; null: there is no room.
GPU_RUN_NOINLINE u32 *make_entry(Tmpfs &fs, TmpfsInode &inode, u64 page) {
  while (!fits_tree(inode, page)) {
    if (inode.root) {
      u32 block = new_index(fs, inode);
      if (!block) return nullptr;
      entries_of(fs, block)[0] = inode.root;
      inode.root = block;
    }
    inode.levels++;
  }
  u32 *entry = &inode.root;
  for (u32 level = inode.levels; level; level--) {
    if (!*entry) *entry = new_index(fs, inode);
    if (!*entry) return nullptr;
    entry = &entries_of(fs, *entry)[entry_of(page, level)];
  }
  return entry;
}

// The block of a page, which is made if it is a hole. All of it is then 0 except for `len` bytes from `from` on, which
// the caller writes. 0: there is no room.
GPU_RUN_NOINLINE u32 make_block(Tmpfs &fs, TmpfsInode &inode, u64 page, u32 from, u32 len) {
  u32 *entry = page < TMPFS_DIRECT ? &inode.direct[page] : make_entry(fs, inode, page);
  if (!entry || *entry) return entry ? *entry : 0;
  u32 block = take_block(fs, inode, false);
  if (!block) return 0;
  // The next one that the file needs is best right after it.
  inode.next = block;
  *entry = block;
  clear_bytes(fs.blocks, start_of(block), from);
  clear_bytes(fs.blocks, start_of(block) + from + len, TMPFS_BLOCK - from - len);
  return block;
}

// Frees the data of entries from `from` on.
GPU_RUN_NOINLINE void cut_entries(Freed &freed, u32 *entries, u32 from, u32 count) {
  constexpr u32 TOGETHER = 16;
  for (u32 i = from / TOGETHER * TOGETHER; i < count; i += TOGETHER) {
    // Loads that do not wait for each other.
    u32 found[TOGETHER];
    for (u32 k = 0; k < TOGETHER; k++) found[k] = entries[i + k];
    for (u32 k = 0; k < TOGETHER; k++) {
      if (found[k] == 0 || i + k < from) continue;
      freed.add(found[k]);
      freed.data++;
      entries[i + k] = 0;
    }
  }
}

// Frees the blocks of all pages from `first` on, and index blocks that lead to no others.
GPU_RUN_NOINLINE void cut_blocks(Tmpfs &fs, TmpfsInode &inode, u64 first) {
  Freed freed = {fs, 0, 0, 0, 0};
  static_assert(TMPFS_DIRECT % 16 == 0, "as `cut_entries` takes them");
  if (first < TMPFS_DIRECT) cut_entries(freed, inode.direct, (u32)first, TMPFS_DIRECT);
  // No lower pages are in the tree.
  if (first <= TMPFS_DIRECT) first = 0;
  // The way from the root: an index block of each level, its first page, and the entry that is next.
  u32 node[MOST_LEVELS + 1], next[MOST_LEVELS + 1];
  u64 base[MOST_LEVELS + 1];
  u32 level = inode.levels;
  auto enter = [&](u32 block, u64 page) {
    node[level] = block;
    base[level] = page;
    next[level] = first > page ? (u32)lesser((first - page) >> (INDEX_BITS * (level - 1)), TMPFS_ENTRIES) : 0;
  };
  if (inode.root) enter(inode.root, 0);
  while (inode.root && level <= inode.levels) {
    u32 *entries = entries_of(fs, node[level]);
    if (level > 1 && next[level] < TMPFS_ENTRIES) {
      u32 at = next[level]++, block = entries[at];
      u64 page = base[level] + ((u64)at << (INDEX_BITS * (level - 1)));
      if (block == 0) continue;
      if (page >= first) entries[at] = 0;
      level--;
      enter(block, page);
      continue;
    }
    if (level == 1) cut_entries(freed, entries, next[1], TMPFS_ENTRIES);
    if (base[level] >= first) freed.add(node[level]), freed.index++;
    level++;
  }
  freed.finish();
  if (first == 0) inode.root = inode.levels = 0;
}

}  // namespace tmpfs
}  // namespace gpu_run
