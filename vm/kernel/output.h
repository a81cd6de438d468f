// Output from lanes to the host: a bounded ring of records in pinned memory.
//
// A lane reserves room with a compare-exchange on the head (device memory), writes its record, and
// publishes it by storing the record's kind last with release order at system scope. The host polls
// the kind at its tail with acquire order, takes the record, sets its bytes to 0 and moves the tail.
// A record never wraps: what is left over at the end is skipped.
#pragma once

#include "bulk.h"

namespace gpu_run {
namespace output {

// Bytes of text in one record.
constexpr u32 PIECE = 1024;

constexpr u64 FULL = ~0ull;

// Reserves room for records of `need` bytes together: where in the ring it begins, or FULL.
GPU_RUN_INLINE u64 reserve(Ring &ring, u64 need) {
  u64 head = load_relaxed_device(&ring.head);
  u64 at, skip;
  do {
    at = head % ring.capacity;
    u64 left = ring.capacity - at;
    skip = left < need ? left : 0;
    u64 end = head + skip + need;
    // The tail is across the bus, so it is read only when the ring looks full. The host's clearing of
    // the bytes comes before what is written to them next: it releases the tail, whoever reads it
    // there acquires it and releases it here, and whoever reads it here acquires it.
    if (end - load_acquire_device(&ring.tail_seen) > ring.capacity) {
      u64 tail = load_acquire_system(ring.tail);
      store_release_device(&ring.tail_seen, tail);
      if (end - tail > ring.capacity) return FULL;
    }
  } while (!compare_exchange_acq_rel_device(&ring.head, head, head + skip + need));
  if (!skip) return at;
  Record *record = (Record *)(ring.bytes + at);
  record->len = (u32)(skip - sizeof(Record));
  store_release_system(&record->kind, (u32)RECORD_Skip);
  return 0;
}

// Appends a record; false if the ring is full.
GPU_RUN_INLINE bool append(Ring &ring, RecordKind kind, u32 thread, u32 stream, const u8 *text, u32 len) {
  u64 at = reserve(ring, sizeof(Record) + ((u64)len + 15) / 16 * 16);
  if (at == FULL) return false;
  Record *record = (Record *)(ring.bytes + at);
  record->len = len;
  record->thread = thread;
  record->stream = stream;
  u8 *to = ring.bytes + at + sizeof(Record);
  // Guest memory, which other threads may write meanwhile.
  for (u32 i = 0; i < len; i++) to[i] = linear::load<u8>(text, i);
  store_release_system(&record->kind, (u32)kind);
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
