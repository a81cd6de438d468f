// Debug messages: what a thread says between two of dbg_nl and dbg_flush, as small items that the host
// formats. An item is a word with the opcode and above it a length in bytes, then its value.
//
// A thread gathers items in its DebugThread. It sends them as a piece of its message when the message is complete or no
// more fit. A piece is two words that name the thread, then the items. Lanes of a warp that come together write one
// record to the output ring, in which their pieces are adjacent. So room is reserved and the record published once for
// all of them (warp-aggregated). A message that is sent in several pieces is put together by the host, so messages of
// different threads never mix. What is still gathered when the process ends, the host finds there.
#pragma once

#include "frames.h"
#include "ops/output_ring.h"

namespace gpu_run {
namespace debug {

// Whether messages of a severity of thread `id` are to be shown.
GPU_RUN_INLINE bool level_wanted(const Diagnostics &diagnostics, u32 level, u32 id) {
  return id >= diagnostics.first_thread && id <= diagnostics.last_thread && level >= diagnostics.least_level;
}

// Whether the message of thread `id` under way is. One that names no severity is a debug message.
GPU_RUN_INLINE bool wanted(const Diagnostics &diagnostics, const DebugThread &message, u32 id) {
  return level_wanted(diagnostics, message.level ? message.level - 1 : 0, id);
}

// Sends the gathered items. False if the thread must wait for room, and then changes nothing.
GPU_RUN_NOINLINE bool send(const Launch &launch, DebugThread &message, u32 id, u32 flags) {
  u32 used = message.used;
  message.used = 0;
  if (message.lost) return true;
  // In pieces of 16 bytes, which suit the bus best. What lies after the items is not looked at.
  constexpr u32 GRAIN = 4;
  u32 grains = (2 + used + GRAIN - 1) / GRAIN;
  static_assert((2 + DEBUG_WORDS) % GRAIN == 0 && (2 + DEBUG_WORDS) / GRAIN < 8, "warp_exclusive_sum() takes as much");
  Ring &ring = *launch.ring;
  WarpSum warp = warp_exclusive_sum(grains);
  u64 at = output::FULL;
  // The others wait for the first lane, which waits for no lane.
  if (is_leader(warp)) at = output::reserve(ring, sizeof(Record) + 16 * (u64)warp.all);
  at = broadcast(warp, at);
  if (at == output::FULL) {
    if (launch.diagnostics->drop) {
      message.lost = 1;
      return true;
    }
    message.used = used;
    backoff_long();
    return false;
  }
  u64 to = at + sizeof(Record) + 16 * (u64)warp.before;
  u32 head[GRAIN] = {id, flags | (message.begun ? 0u : (u32)DEBUG_First) | used << DEBUG_UsedShift, message.words[0],
                     message.words[1]};
  store_16(output::place(ring, to), head);
  for (u32 i = 1; i < grains; i++) store_16(output::place(ring, to + 16 * i), &message.words[GRAIN * i - 2]);
  message.begun = 1;
  // What the lanes have written comes before the first one's release, which pairs with the host's acquire.
  sync(warp);
  // Kind and length as one word.
  if (is_leader(warp)) store_release_system((u64 *)output::place(ring, at), RECORD_Debug | (u64)warp.all << 36);
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
  if (message.lost) red_add_device(&launch.diagnostics->dropped, (u64)1);
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
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, const u64 *pc, u64 w) {
  const Memory &memory = *instance.memories[0];
  auto wait = [&] { thread.state = THREAD_Busy; return StepResult{DONE_Wait, 0, 0}; };
  const StepResult next = {DONE_Step, 1, 0}, next2 = {DONE_Step, 2, 0}, again = {DONE_Step, 0, 1};
  DebugThread &message = launch.diagnostics->threads[id];
  u32 op = (u16)w;
  switch (op) {
    case OP_dbg_str: {
      u32 from = registers.get32(slot(w, 1)), len = registers.get32(slot(w, 2));
      if (!in_bounds(from, len, load_relaxed_device(&memory.size))) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
      u64 done = resume::count(thread);
      if (!add_text(launch, message, id, op, memory.base + from, len, done)) return wait();
      resume::set_count(thread, done < len ? done : 0);
      return done < len ? again : next;
    }
    case OP_dbg_level: {
      u32 from = registers.get32(slot(w, 2)), len = registers.get32(slot(w, 3));
      if (!in_bounds(from, len, load_relaxed_device(&memory.size))) return {DONE_Trap, TRAP_MemoryOutOfBounds, 0};
      if (resume::begins(thread)) {
        u32 level = (u32)lesser(registers.get32(slot(w, 1)), 3);
        message.level = level + 1;
        u32 line = registers.get32(slot(load_code(pc + 1), 0));
        if (!add(launch, message, id, op | level << 8, 2, line)) return wait();
        resume::set_count(thread, 1);
      }
      // One more than the bytes of text that are added.
      u64 done = (u64)resume::count(thread) - 1;
      if (!add_text(launch, message, id, DEBUG_FILE, memory.base + from, len, done)) return wait();
      resume::set_count(thread, done < len ? done + 1 : 0);
      return done < len ? again : next2;
    }
    case OP_dbg_i32:
    case OP_dbg_f32:
    case OP_dbg_bool:
    case OP_dbg_char:
    case OP_dbg_u32: return step(launch, id, op, registers.get32(slot(w, 1))) ? next : wait();
    case OP_dbg_i64:
    case OP_dbg_f64:
    case OP_dbg_u64: return step(launch, id, op, registers.get64(slot(w, 1))) ? next : wait();
    case OP_dbg_nl:
    case OP_dbg_flush: return step(launch, id, op, 0) ? next : wait();
    case OP_dbg_wanted: {
      u32 level = (u32)lesser(registers.get32(slot(w, 2)), 3);
      registers.set32(slot(w, 1), level_wanted(*launch.diagnostics, level, id));
      return next;
    }
    default: return {DONE_Trap, TRAP_BadOpcode, 0};
  }
}

}  // namespace debug
}  // namespace gpu_run
