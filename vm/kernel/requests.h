// Calls of WASI's functions: what needs the host goes to it in messages.
//
// A slot in pinned memory carries one request at a time. Two mailbox words belong to it, each written by one
// side only: the device counts the messages that it sent, the host the last one that it has answered, with the
// errno and whether that is all. Equal, the slot is the device's; else it is the host's. So no read-modify-write crosses the bus. The mailboxes lie
// packed, apart from the slots, so that the host looks at all of them in few cache lines.
//
//   device: writes the slot, stores n + 1 to `sent` (release)   -> host: sees it (acquire), reads the slot
//   host: writes the slot, stores n + 1 to `answered` (release) -> device: sees it (acquire), reads the slot
//
// Input longer than a slot goes in pieces: the host answers each but the last with nothing. Data of an answer
// longer than a slot comes in pieces: the device asks for each but the first. The lengths of the whole are in
// the first message of each.
//
// Slots are handed out in device memory, by a bit for each, unless there is one for each thread. A thread that
// finds none sleeps, and one that
// waits for an answer is left by its lane until `answered`: nothing ever waits inside.
//
// What pointers of the guest point to is checked at each access, because other threads may change lists of
// buffers meanwhile. Results and output buffers are looked at only if the errno is 0.
#pragma once

#include "tmpfs.h"

namespace gpu_run {
namespace requests {

// Writes the call to the slot, but for its input.
GPU_RUN_INLINE void describe(const Launch &launch, const Call &call, RequestSlot &slot, u32 id, u32 total, u32 capacity) {
  slot.function = call.function;
  slot.thread = id;
  slot.total = total;
  slot.capacity = capacity;
  u32 count = 0;
  call.each_param([&](u32 kind, u32 unit) {
    if (kind == wasi::PARAM_Value64) {
      slot.args[count++] = call.registers.get64(unit);
    } else {
      for (u32 i = 0; i < units_of(kind); i++) slot.args[count++] = call.registers.get32(unit + i);
    }
    return true;
  });
  // The host's clocks are others: it needs to know what these show.
  if (call.function == wasi::FN_poll_oneoff) {
    slot.args[count] = clock_time(launch, CLOCK_Realtime);
    slot.args[count + 1] = clock_time(launch, CLOCK_Monotonic);
  }
}

// Puts the input from byte `thread.moved` on into the slot, as much as goes there and `total` has.
GPU_RUN_INLINE u32 gather(const Call &call, Thread &thread, RequestSlot &slot, u32 total) {
  u32 len = (u32)lesser(total - thread.moved, REQUEST_BYTES), filled = 0;
  u64 before = thread.moved;
  u32 trap = call.each_buffer(INPUT, [&](u64 at, u64 bytes) {
    if (before >= bytes) {
      before -= bytes;
      return (u32)TRAP_None;
    }
    u32 count = (u32)lesser(bytes - before, len - filled);
    if (!call.fits(at + before, count)) return (u32)TRAP_MemoryOutOfBounds;
    move_piece(slot.data, filled, call.memory.base, at + before, count);
    filled += count;
    before = 0;
    return filled == len ? STOP : (u32)TRAP_None;
  });
  // Another thread may have made the buffers shorter: the rest is what the slot held.
  slot.len = len;
  thread.moved += len;
  return trap;
}

// Puts the answer's data in the slot, which begins at byte `thread.moved` of it, where the buffers are.
GPU_RUN_INLINE u32 scatter(const Call &call, Thread &thread, RequestSlot &slot) {
  u32 len = (u32)lesser(slot.len, REQUEST_BYTES), done = 0;
  u64 before = thread.moved;
  thread.moved += len;
  if (len == 0) return TRAP_None;
  return call.each_buffer(OUTPUT, [&](u64 at, u64 bytes) {
    if (before >= bytes) {
      before -= bytes;
      return (u32)TRAP_None;
    }
    u32 count = (u32)lesser(bytes - before, len - done);
    if (!call.fits(at + before, count)) return (u32)TRAP_MemoryOutOfBounds;
    move_piece(call.memory.base, at + before, slot.data, done, count);
    done += count;
    before = 0;
    return done == len ? STOP : (u32)TRAP_None;
  });
}

// Writes the results where their pointers say.
GPU_RUN_INLINE u32 store_results(const Call &call, const RequestSlot &slot) {
  u32 trap = TRAP_None, from = 0;
  u64 word = 0;
  call.each_param([&](u32 kind, u32 unit) {
    u32 bytes = wasi::RESULT_BYTES[kind];
    if (bytes == 0) return true;
    u64 at = call.registers.get32(unit);
    trap = call.check(at, bytes, wasi::RESULT_ALIGN[kind]);
    if (trap) return false;
    for (u32 i = 0; i < bytes; i++, from++) {
      // A word at a time, because each load goes over the bus.
      if (from % 8 == 0) word = *(const u64 *)(slot.results + from);
      linear::store<u8>(call.memory.base, at + i, (u8)(word >> from % 8 * 8));
    }
    return true;
  });
  return trap;
}

// Runs `request_queue`: does what the device can do by itself, else sends the call to the host.
GPU_RUN_NOINLINE Done queue(const Launch &launch, Thread &thread, u32 id, const Memory &memory, Registers registers,
                            u64 w) {
  const Call call = {memory, registers, slot(w, 1), slot(w, 2)};
  if (!launch.requests) {
    thread.answer = ERRNO_Nosys;
    return {DONE_Step, 1, 0};
  }
  Requests &requests = *launch.requests;
  u32 total, capacity;
  if (retires_file(thread)) {
    if (!answered(requests, thread)) return wait_for_answer(thread);
    end_retire(requests, thread);
  }
  if (tells_tmpfs(thread)) {
    if (!answered(requests, thread)) return wait_for_answer(thread);
    end_tell(requests, thread);
  }
  if (thread.request == 0) {
    Local local = begin_tmpfs(launch, thread, id, call);
    if (local.kind == LOCAL_Host) local = serve(launch, thread, id, call);
    if (local.kind == LOCAL_Host) local = begin_file(requests, thread, id, call);
    if (local.kind == LOCAL_Sent) return {DONE_Step, 1, 1};
    if (local.kind == LOCAL_Trap) return {DONE_Trap, local.value, 0};
    if (local.kind == LOCAL_Again) return {local.value, 0, 1};
    u32 error = 0, trap = TRAP_None;
    if (local.kind == LOCAL_Host) trap = measure(call, total, capacity, error);
    if (trap) return {DONE_Trap, trap, 0};
    if (local.kind == LOCAL_Served || error) {
      thread.answer = error ? error : local.value;
      return {call.function == wasi::FN_sched_yield ? (u32)DONE_Wait : (u32)DONE_Step, 1, 1};
    }
    thread.request = take_slot(requests, id);
    if (thread.request == 0) {
      thread.wake = clock_ns() + NO_SLOT_PAUSE;
      thread.state = THREAD_Sleeping;
      return {DONE_Wait, 0, 0};
    }
    if (!leave_tmpfs(requests, thread, call)) {
      give_slot(requests, thread);
      return {come_again(thread, FILE_BUSY_PAUSE).value, 0, 0};
    }
    leave_streams(requests, thread, call);
    thread.moved = 0;
    describe(launch, call, requests.slots[thread.request - 1], id, total, capacity);
  } else {
    // A piece of its input is sent.
    if (!answered(requests, thread)) return wait_for_answer(thread);
    total = answer_slot(requests, thread).total;
  }
  RequestSlot &slot = requests.slots[thread.request - 1];
  const u32 before = thread.moved;
  RequestKind kind = before ? REQUEST_More : REQUEST_Call;
  if (u32 trap = gather(call, thread, slot, total)) return {DONE_Trap, trap, 0};
  send(requests, thread, kind);
  if (thread.moved < total) return wait_for_answer(thread);
  thread.moved = 0;
  return {DONE_Step, 1, 1 + (total - before) / 256};
}

// Runs `request_poll`: takes the answer once it is there.
GPU_RUN_NOINLINE Done poll(const Launch &launch, Thread &thread, const Memory &memory, Registers registers,
                           u64 w) {
  const Call call = {memory, registers, slot(w, 2), slot(w, 3)};
  u32 error = thread.answer;
  if (thread.request) {
    Requests &requests = *launch.requests;
    if (!answered(requests, thread)) return wait_for_answer(thread);
    const u32 head = (u32)(thread.wake >> 32);
    File *file = held_file(requests, thread);
    error = head & MAIL_ERRNO;
    if (!(head & MAIL_WHOLE)) {
      RequestSlot &slot = answer_slot(requests, thread);
      if (!finish_tmpfs(launch, thread, slot)) return {DONE_Wait, 0, 0};
    }
    if (!(head & MAIL_WHOLE) && !error) {
      RequestSlot &slot = answer_slot(requests, thread);
      if (file) keep_piece(requests, thread, call, *file, slot);
      if (u32 trap = scatter(call, thread, slot)) return {DONE_Trap, trap, 0};
      if (thread.moved < slot.total && slot.len) {
        send(requests, thread, REQUEST_Next);
        return wait_for_answer(thread);
      }
      if (call.function == wasi::FN_path_open && !open_file(requests, thread, slot)) return {DONE_Wait, 0, 0};
      if (u32 trap = file ? end_file(call, *file, slot) : store_results(call, slot)) return {DONE_Trap, trap, 0};
    }
    if (file) leave_file(thread, call, *file);
    give_slot(requests, thread);
    come_back_to_tmpfs(requests, thread, call, error);
    come_back_to_streams(requests, thread, call, error);
  }
  registers.set32(slot(w, 1), error);
  return {DONE_Step, 2, 1};
}

// Whether an opcode is run here.
GPU_RUN_INLINE bool has(u16 op) { return op == OP_request_queue || op == OP_request_poll; }

// Runs one of the two instructions, whose first word is `w`, for thread number `id`.
GPU_RUN_NOINLINE Done execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, u64 w) {
  const Memory &memory = *instance.memories[0];
  if ((u16)w == OP_request_queue) return queue(launch, thread, id, memory, registers, w);
  return poll(launch, thread, memory, registers, w);
}

}  // namespace requests
}  // namespace gpu_run
