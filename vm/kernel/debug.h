// Debug messages: what a thread says between two of dbg_nl and dbg_flush, as small items that the host
// formats. An item is a word with the opcode and above it a length in bytes, then its value.
//
// A thread gathers items in its DebugThread, and writes them to the output ring as one record when the message
// is complete or no more fit. Records of lanes that come together lie side by side, for which their warp
// reserves room once. A message that is written in pieces is put together by the host, so messages of
// different threads never mix. What is still gathered when the process ends, the host finds there.
#pragma once

#include "frames.h"
#include "output.h"

namespace gpu_run {
namespace debug {

// The item that names the file of a dbg_level; not an opcode.
constexpr u32 ITEM_File = 0x7e;

// Whether the message of thread `id` under way is to be shown. One that names no severity is a debug message.
GPU_RUN_INLINE bool wanted(const Diagnostics &diagnostics, const DebugThread &message, u32 id) {
  u32 level = message.level ? message.level - 1 : 0;
  return id >= diagnostics.first_thread && id <= diagnostics.last_thread && level >= diagnostics.least_level;
}

// Whether an opcode is one of these.
GPU_RUN_INLINE bool has(u32 op) { return op >= OP_dbg_i32 && op <= OP_dbg_level && op != OP_print && op != OP_print_end; }

// Room for a record of `grains` times 16 bytes, at most 7, or null if the ring is full.
GPU_RUN_INLINE Record *room(Ring &ring, u32 grains) {
  Together warp = together(grains);
  u64 at = output::FULL;
  // The others wait for the first lane, which waits for nobody: its compare-exchange fails only if that of
  // another warp succeeds.
  if (is_first(warp)) at = output::reserve(ring, (u64)warp.all * sizeof(Record));
  at = value_of_first(warp, at);
  return at == output::FULL ? nullptr : (Record *)(ring.bytes + at) + warp.before;
}

// Writes the gathered items as a record. False if the thread must wait for room, and then changes nothing.
GPU_RUN_NOINLINE bool send(const Launch &launch, DebugThread &message, u32 id, u32 flags) {
  if (message.lost) {
    message.used = 0;
    return true;
  }
  u32 grains = 1 + (message.used + 3) / 4;
  static_assert(1 + DEBUG_WORDS / 4 < 8 && sizeof(Record) == 16, "room() takes as many grains");
  Record *record = room(*launch.ring, grains);
  if (!record) {
    if (!launch.diagnostics->drop) return false;
    message.lost = 1;
    message.used = 0;
    return true;
  }
  record->thread = id;
  record->stream = flags | (message.begun ? 0u : (u32)DEBUG_First);
  // In pieces of 16 bytes, as the bus likes them best. What lies behind the items is not looked at.
  static_assert(sizeof(Record) == 16, "aligned as the ring's bytes are");
  for (u32 i = 0; i + 1 < grains; i++) store_16(record + i + 1, &message.words[4 * i]);
  // Kind and length as one word, written last; pairs with the host's acquire.
  store_release_system((u64 *)record, RECORD_Debug | (u64)message.used << 34);
  message.used = 0;
  message.begun = 1;
  return true;
}

// Adds an item of `words` words with its value. False if the thread must wait.
GPU_RUN_INLINE bool add(const Launch &launch, DebugThread &message, u32 id, u32 item, u32 words, u64 value) {
  if (!wanted(*launch.diagnostics, message, id)) return true;
  if (message.used + words > DEBUG_WORDS && !send(launch, message, id, 0)) return false;
  u32 *to = message.words + message.used;
  to[0] = item;
  to[1] = (u32)value;
  if (words > 2) to[2] = (u32)(value >> 32);
  message.used += words;
  return true;
}

// Adds the next part of the text of `len` bytes in guest memory of which `done` are added. False if the thread
// must wait.
GPU_RUN_INLINE bool add_text(const Launch &launch, DebugThread &message, u32 id, u32 item, const u8 *text, u32 len,
                             u64 &done) {
  if (!wanted(*launch.diagnostics, message, id)) {
    done = len;
    return true;
  }
  if (done == len) return true;
  // A word of text at least.
  if (message.used + 2 > DEBUG_WORDS && !send(launch, message, id, 0)) return false;
  u32 *to = message.words + message.used + 1;
  u32 bytes = (u32)lesser(len - done, (DEBUG_WORDS - message.used - 1) * 4);
  to[-1] = item | bytes << 8;
  for (u32 at = 0; at < bytes; at += 4) {
    u32 word = 0;
    for (u32 i = 0; i < 4 && at + i < bytes; i++) word |= (u32)linear::load<u8>(text, done + at + i) << 8 * i;
    to[at / 4] = word;
  }
  message.used += 1 + (bytes + 3) / 4;
  done += bytes;
  return true;
}

// Ends the message. False if the thread must wait.
GPU_RUN_INLINE bool finish(const Launch &launch, DebugThread &message, u32 id, u32 flags) {
  if (!wanted(*launch.diagnostics, message, id)) message.used = 0;
  if (message.begun || wanted(*launch.diagnostics, message, id)) {
    if (!send(launch, message, id, DEBUG_Last | flags)) return false;
  }
  if (message.lost) count_device(&launch.diagnostics->dropped, (u64)1);
  message.begun = 0;
  message.lost = 0;
  message.level = 0;
  return true;
}

// An instruction whose operands are all in `value`. False if the thread must wait.
GPU_RUN_INLINE bool step(const Launch &launch, u32 id, u32 op, u64 value) {
  DebugThread &message = launch.diagnostics->threads[id];
  switch (op) {
    case OP_dbg_nl: return finish(launch, message, id, DEBUG_Line);
    case OP_dbg_flush: return finish(launch, message, id, 0);
    case OP_dbg_i64:
    case OP_dbg_u64:
    case OP_dbg_f64: return add(launch, message, id, op, 3, value);
    default: return add(launch, message, id, op, 2, value);
  }
}

// Runs the instruction at `pc`, whose first word is `w`, for thread number `id`.
GPU_RUN_NOINLINE Done execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, const u64 *pc, u64 w) {
  const Memory &memory = *instance.memories[0];
  const Done wait = {DONE_Wait, 0, 0}, next = {DONE_Step, 1, 0}, next2 = {DONE_Step, 2, 0}, again = {DONE_Step, 0, 1};
  DebugThread &message = launch.diagnostics->threads[id];
  u32 op = (u16)w;
  switch (op) {
    case OP_dbg_str: {
      u32 from = registers.get32(slot(w, 1)), len = registers.get32(slot(w, 2));
      if (!in_bounds(from, len, load_relaxed_device(&memory.size))) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
      u64 done = thread.progress;
      if (!add_text(launch, message, id, op, memory.base + from, len, done)) return wait;
      thread.progress = done < len ? done : 0;
      return done < len ? again : next;
    }
    case OP_dbg_level: {
      u32 from = registers.get32(slot(w, 2)), len = registers.get32(slot(w, 3));
      if (!in_bounds(from, len, load_relaxed_device(&memory.size))) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
      if (thread.progress == 0) {
        u32 level = (u32)lesser(registers.get32(slot(w, 1)), 3);
        message.level = level + 1;
        u32 line = registers.get32(slot(load_code(pc + 1), 0));
        if (!add(launch, message, id, op | level << 8, 2, line)) return wait;
        thread.progress = 1;
      }
      u64 done = thread.progress - 1;
      if (!add_text(launch, message, id, ITEM_File, memory.base + from, len, done)) return wait;
      thread.progress = done < len ? done + 1 : 0;
      return done < len ? again : next2;
    }
    case OP_dbg_i32:
    case OP_dbg_f32:
    case OP_dbg_bool:
    case OP_dbg_char:
    case OP_dbg_u32: return step(launch, id, op, registers.get32(slot(w, 1))) ? next : wait;
    case OP_dbg_i64:
    case OP_dbg_f64:
    case OP_dbg_u64: return step(launch, id, op, registers.get64(slot(w, 1))) ? next : wait;
    case OP_dbg_nl:
    case OP_dbg_flush: return step(launch, id, op, 0) ? next : wait;
    default: return {DONE_Trap, TRAP_BadOpcode, 0};
  }
}

}  // namespace debug
}  // namespace gpu_run
