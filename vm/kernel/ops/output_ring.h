// Output from lanes to the host: a bounded ring of records in pinned memory, with reservation; many lanes produce, the
// host consumes.
//
// A lane reserves room with two additions (both in device memory). It takes the bytes from `free`, so that no other
// lane has them, and then moves the head. It never waits for another lane: where there is too little, it puts back what
// it took, and its thread tries again later. It writes its record, and publishes it by storing the record's kind last
// with release order at system scope. The host polls the kind at its tail with acquire order, takes the record, sets
// its bytes to 0 and moves the tail. What lies beyond the ring's end continues at its beginning, in pieces of 16 bytes.
#pragma once

#include "bulk.h"

namespace gpu_run {
namespace output {

// Bytes of text in one record.
constexpr u32 PIECE = 1024;

constexpr u64 FULL = ~0ull;

// Where position `at` of all that went through the ring lies.
GPU_RUN_INLINE u8 *place(const Ring &ring, u64 at) { return ring.bytes + (at & (ring.capacity - 1)); }

// Nanoseconds between two looks at the tail. It is across the bus: if all lanes that wait for room looked, they
// would keep the records from it.
constexpr u64 LOOK_AFTER = 2000;

// Makes the bytes free that the host has taken since a lane last looked.
GPU_RUN_NOINLINE void refill(Ring &ring) {
  u64 now = clock_ns(), looked = load_relaxed_device(&ring.looked);
  // Less than nothing where another lane's clock is ahead.
  if ((i64)(now - looked) < (i64)LOOK_AFTER || !compare_exchange_acq_rel_device(&ring.looked, looked, now)) return;
  // Before the tail, so that it is not the newer one. The lane that wins adds the difference, and no other lane does.
  u64 seen = load_relaxed_device(&ring.tail_seen);
  // Pairs with the host's release: it has cleared the bytes.
  u64 tail = load_acquire_system(ring.tail);
  if (tail <= seen || !compare_exchange_acq_rel_device(&ring.tail_seen, seen, tail)) return;
  // Release pairs with the acquire of the lane that takes the bytes.
  fetch_add_acq_rel_device(&ring.free, tail - seen);
}

// Reserves `need` bytes, a multiple of 16: the position where they begin, or FULL.
GPU_RUN_INLINE u64 reserve(Ring &ring, u64 need) {
  // Below 0 while others put back what they took.
  auto lacks = [&](u64 free) { return (i64)free < (i64)need; };
  if (lacks(load_relaxed_device(&ring.free))) {
    refill(ring);
    if (lacks(load_relaxed_device(&ring.free))) return FULL;
  }
  // Acquire pairs with the release in `refill`; additions to `free` between the two hand it on.
  if (lacks(fetch_add_acquire_device(&ring.free, 0 - need))) {
    fetch_add_relaxed_device(&ring.free, need);
    return FULL;
  }
  // The place may be one that another lane's bytes were free for. From the lanes that moved the head before, this
  // acquires what they acquired from `free`. The lanes that move it after acquire the same from here.
  u64 at = fetch_add_acq_rel_device(&ring.head, need);
  // Eight times a round, a lane looks before bytes run out.
  if ((at ^ (at + need)) & ~(ring.capacity / 8 - 1)) refill(ring);
  return at;
}

// Begins a record of `len` bytes of text: where it is, or FULL. `put` and `publish` follow.
GPU_RUN_INLINE u64 begin(Ring &ring, u32 thread, u32 stream, u32 len) {
  u64 at = reserve(ring, sizeof(Record) + ((u64)len + 15) / 16 * 16);
  if (at == FULL) return FULL;
  Record *record = (Record *)place(ring, at);
  record->len = len;
  record->thread = thread;
  record->stream = stream;
  return at;
}

// Copies text out of guest memory, which other threads may write meanwhile.
GPU_RUN_INLINE void put(Ring &ring, u64 at, const u8 *text, u32 len) {
  u32 i = 0;
  for (; i < len && ((at + i) & 15); i++) *place(ring, at + i) = linear::load<u8>(text, i);
  // Each store is a packet of its own on the bus. Text may begin anywhere in its memory, which is aligned to 16 bytes.
  const u64 from = (u64)text & 15;
  for (; i + 16 <= len; i += 16) {
    u32 words[4];
    for (u32 k = 0; k < 4; k++) words[k] = linear::load<u32>(text - from, from + i + 4 * k);
    store_16(place(ring, at + i), words);
  }
  for (; i < len; i++) *place(ring, at + i) = linear::load<u8>(text, i);
}

// Copies a record of `len` bytes, a multiple of 16, to a multiple of 16.
GPU_RUN_INLINE void put_whole(Ring &ring, u64 at, const void *record, u64 len) {
  for (u64 i = 0; i < len; i += 16) {
    u32 words[4];
    __builtin_memcpy(words, (const u8 *)record + i, sizeof(words));
    // The ring's end is a multiple of 16 bytes, too.
    store_16(place(ring, at + i), words);
  }
}

// Publishes the record that `begin` has placed. Release pairs with the host's acquire.
GPU_RUN_INLINE void publish(Ring &ring, u64 at, RecordKind kind) {
  store_release_system(&((Record *)place(ring, at))->kind, (u32)kind);
}

// Appends a record; false if the ring is full.
GPU_RUN_INLINE bool append(Ring &ring, RecordKind kind, u32 thread, u32 stream, const u8 *text, u32 len) {
  u64 at = begin(ring, thread, stream, len);
  if (at == FULL) return false;
  put(ring, at + sizeof(Record), text, len);
  publish(ring, at, kind);
  return true;
}

// Appends the next piece of a text of which `done` bytes are in records; false if the ring is full.
GPU_RUN_INLINE bool append_piece(Ring &ring, u32 thread, u32 stream, const u8 *text, u32 len, u64 &done) {
  u32 piece = (u32)lesser(len - done, PIECE);
  if (piece && !append(ring, RECORD_Text, thread, stream, text + done, piece)) return false;
  done += piece;
  return true;
}

}  // namespace output
}  // namespace gpu_run
