// Calls of WASI's functions. In: an instruction that calls one. Out: its errno and results, from the device itself
// or from the host by messages.
//
//   mailbox.h        the words of a message and of its response, which lane and host write and read
//   slots.h          which thread has a slot, and which may take one
//   marshal.h        the arguments of a call, and what they point to
//   device_calls.h   calls that need no host
//   file_cache.h     files that are read ahead of their readers
//   tmpfs.h          files whose data the device holds; tmpfs_calls.h, tmpfs_blocks.h
//   process_calls.h  processes that start others, and pipes; ../process_table.h
//   fast_path.h      calls that are no more than their arguments
//   requests.h       this file: a call from its instruction to its end
//
// A slot carries one request at a time, in messages and responses: see rpc/mailbox.h. Slots are handed out in device
// memory, by a bit for each, unless there is one for each thread. A thread that finds none sleeps, and one that waits
// for a response is left by its lane until `answered`. So no lane ever waits inside of an instruction, except for a few
// polls of the response where it has only one thread.
//
// What the guest's pointers point to is checked at each access, because other threads may change lists of buffers
// meanwhile. Results and output buffers are used only if the errno is 0.
#pragma once

#include "rpc/fast_path.h"

namespace gpu_run {
namespace requests {

constexpr u32 most_units() {
  u32 most = 0;
  for (u64 params : wasi::PARAMS) {
    u32 units = 0;
    for (; params; params >>= wasi::PARAM_BITS) units += units_of((u32)params & ((1u << wasi::PARAM_BITS) - 1));
    if (units > most) most = units;
  }
  return most;
}
static_assert(most_units() <= MESSAGE_ARGUMENTS, "a message has room for all arguments");

// Begins the message of a call: all but its head. `units` are those of its arguments.
GPU_RUN_INLINE Outgoing describe(const Launch &launch, const Call &call, Thread &thread, u32 units, u32 total,
                                 u32 capacity) {
  Outgoing message = begin_message(*launch.requests, thread);
  message.put(MESSAGE_Capacity, capacity, total);
  for (u32 i = 0; i < units; i += 2) {
    message.put(MESSAGE_Units + i, call.arg(i), i + 1 < units ? call.arg(i + 1) : 0);
  }
  // The host's clocks are others: it needs to know what these show.
  if (call.function == wasi::FN_poll_oneoff) {
    for (u32 clock = CLOCK_Realtime; clock <= CLOCK_Monotonic; clock++) {
      u32 low, high;
      split(clock_time(launch, clock), low, high);
      message.put(MESSAGE_Units + units + 2 * clock, low, high);
    }
  }
  return message;
}

// Puts the input from byte `thread.moved` on into the slot, as much as goes there and `total` has.
GPU_RUN_NOINLINE u32 gather(const Call &call, Thread &thread, RequestSlot &slot, u32 total) {
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

// Puts the response's data in the slot, which begins at byte `thread.moved` of all its data, where the buffers are.
GPU_RUN_NOINLINE u32 scatter(const Call &call, Thread &thread, RequestSlot &slot) {
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
    fetch_piece(call.memory.base, at + before, slot.data, done, count);
    done += count;
    before = 0;
    return done == len ? STOP : (u32)TRAP_None;
  });
}

// Writes the results, which lie one after another, where their pointers say.
GPU_RUN_NOINLINE u32 store_results(const Call &call, const u32 *results) {
  u32 trap = TRAP_None, from = 0, word = 0;
  call.each_param([&](u32 kind, u32 unit) {
    u32 bytes = wasi::RESULT_BYTES[kind];
    if (bytes == 0) return true;
    u64 at = call.registers.get32(unit);
    trap = call.check(at, bytes, wasi::RESULT_ALIGN[kind]);
    if (trap) return false;
    for (u32 i = 0; i < bytes; i++, from++) {
      // A word at a time, because a load may go over the bus.
      if (from % 4 == 0) word = results[from / 4];
      linear::store<u8>(call.memory.base, at + i, (u8)(word >> from % 4 * 8));
    }
    return true;
  });
  return trap;
}

// Sends a message without words of its own.
GPU_RUN_INLINE void send_bare(Requests &requests, Thread &thread, u32 id, const Call &call, RequestKind kind,
                              u32 flags) {
  send(requests, thread, id, begin_message(requests, thread), call.function, kind, flags);
}

// A message is sent whose input went on from byte `before`: waits until the next piece may follow, if one must.
GPU_RUN_INLINE StepResult end_of_piece(Thread &thread, u32 total, u32 before) {
  if (thread.moved < total) return wait_for_answer(thread);
  thread.moved = 0;
  return {DONE_Step, 1, 1 + (total - before) / 256};
}

// Sends the next piece of a call's input, once the host has taken the last.
GPU_RUN_NOINLINE StepResult send_more(Requests &requests, Thread &thread, u32 id, const Call &call) {
  if (!answered(requests, thread)) return wait_for_answer(thread);
  // The slot is this thread's again: what it stores there comes after the host's loads.
  RequestSlot &slot = response_slot(requests, thread);
  // As many bytes as were announced at first, whatever the guest has made of its buffers meanwhile.
  const u32 total = total_input(requests, thread), before = thread.moved;
  if (u32 trap = gather(call, thread, slot, total)) return {DONE_Trap, trap, 0};
  send_bare(requests, thread, id, call, REQUEST_More, MESSAGE_DATA);
  return end_of_piece(thread, total, before);
}

// Runs `request_queue`: does what the device can do by itself, else sends the call to the host.
GPU_RUN_NOINLINE StepResult queue(const Launch &launch, Thread &thread, u32 id, const Memory &memory, Registers registers,
                            u64 w) {
  const Call call = {memory, registers, slot(w, 1), slot(w, 2)};
  if (!launch.requests) {
    thread.answer = ERRNO_Nosys;
    return {DONE_Step, 1, 0};
  }
  Requests &requests = *launch.requests;
  u32 total = 0, capacity = 0;
  const bool retires = retires_file(thread);
  if (retires || tells_tmpfs(thread)) {
    if (!answered(requests, thread)) return wait_for_answer(thread);
    if (!finish_told(launch, thread)) return {DONE_Wait, 0, 0};
    retires ? end_retire(requests, thread) : end_tell(requests, thread);
  }
  if (thread.request) return send_more(requests, thread, id, call);
  Local local = {LOCAL_Host, 0};
  if (is_in(TMPFS_FUNCTIONS, call.function)) local = begin_tmpfs(launch, thread, id, call);
  if (is_in(PROCESS_FUNCTIONS, call.function)) local = process_call(launch, thread, id, call);
  const bool of_pipe = is_of_pipe(launch, call);
  if (of_pipe) local = pipe_descriptor(launch, thread, id, call);
  if (local.kind == LOCAL_Host && !of_pipe && is_in(LOCAL_FUNCTIONS, call.function)) local = serve(launch, thread, id, call);
  if (local.kind == LOCAL_Host && reads_input(requests, call)) local = read_input(launch, call);
  if (local.kind == LOCAL_Host && is_in(FILE_FUNCTIONS, call.function)) local = begin_file(requests, thread, id, call);
  if (local.kind == LOCAL_Sent) return {DONE_Step, 1, 1};
  if (local.kind == LOCAL_Trap) return {DONE_Trap, local.value, 0};
  // A call of many small buffers counts by its time, so that the stop flag is seen in time.
  const u32 cost = is_in(WITH_LISTS, call.function) ? cost_of_buffers(call.arg(2)) : 1;
  if (local.kind == LOCAL_Again) return {local.value, 0, local.cost};
  u32 error = 0, trap = TRAP_None;
  if (local.kind == LOCAL_Host && is_in(WITH_BUFFERS, call.function)) trap = measure(call, total, capacity, error);
  if (trap) return {DONE_Trap, trap, 0};
  if (local.kind == LOCAL_Served || error) {
    thread.answer = error ? error : local.value;
    return {call.function == wasi::FN_sched_yield ? (u32)DONE_Wait : (u32)DONE_Step, 1, cost};
  }
  thread.request = take_slot(requests, id);
  if (thread.request == 0) {
    thread.wake = clock_ns() + no_slot_pause(launch);
    thread.state = THREAD_Sleeping;
    return {DONE_Wait, 0, 0};
  }
  if (!leave_tmpfs(requests, thread, call)) {
    give_slot(requests, thread);
    return {come_again(thread, FILE_BUSY_PAUSE).value, 0, 0};
  }
  leave_streams(requests, thread, call);
  thread.moved = 0;
  if (total) trap = gather(call, thread, requests.slots[thread.request - 1], total);
  if (trap) return {DONE_Trap, trap, 0};
  // What the thread has told about the device's files comes first, and a message without data is no release by itself.
  if (requests.tmpfs && total == 0) leave_slot();
  const Outgoing message = describe(launch, call, thread, slot(w, 3), total, capacity);
  send(requests, thread, id, message, call.function, REQUEST_Call, total ? MESSAGE_DATA : 0u);
  StepResult done = end_of_piece(thread, total, 0);
  done.cost += cost;
  return done;
}

// Runs `request_poll`: takes the response once it is there.
GPU_RUN_NOINLINE StepResult poll(const Launch &launch, Thread &thread, u32 id, const Memory &memory, Registers registers,
                           u64 w) {
  const Call call = {memory, registers, slot(w, 2), slot(w, 3)};
  u32 error = thread.answer;
  if (thread.request) {
    Requests &requests = *launch.requests;
    // A lane with other threads looks for one that can run. And for a plain call, `run_plain` has already waited for
    // the response.
    const bool once = launch.multiplexed || (requests.own_slots && is_plain(w));
    const bool there = once ? answered(requests, thread) : poll_response(requests, thread);
    if (!there) return wait_for_answer(thread);
    const u32 head = (u32)thread.response_head;
    File *file = held_file(requests, thread);
    error = head & RESPONSE_ERRNO;
    if (head & RESPONSE_SLOT) {
      RequestSlot &slot = response_slot(requests, thread);
      if (!finish_tmpfs(launch, thread, slot)) return {DONE_Wait, 0, 0};
      if (error == 0) {
        if (file) keep_piece(requests, thread, call, *file, slot);
        if (u32 trap = scatter(call, thread, slot)) return {DONE_Trap, trap, 0};
        if (thread.moved < slot.total && slot.len) {
          leave_slot();
          send_bare(requests, thread, id, call, REQUEST_Next, 0);
          return {DONE_Step, 0, 1};
        }
        if (call.function == wasi::FN_path_open && !open_file(requests, thread, slot)) return {DONE_Wait, 0, 0};
        const u32 *results = (const u32 *)slot.results;
        if (u32 trap = file ? end_file(call, *file, slot) : store_results(call, results)) return {DONE_Trap, trap, 0};
      }
      leave_slot();
    } else if (head >> RESPONSE_COUNT) {
      u32 results[RESPONSE_RESULTS];
      if (!take_results(requests, thread, results)) return wait_for_answer(thread);
      if (u32 trap = store_results(call, results)) return {DONE_Trap, trap, 0};
    }
    if (file) leave_file(thread, call, *file);
    give_slot(requests, thread);
    come_back_to_tmpfs(requests, thread, call, error);
    come_back_to_streams(requests, thread, call, error);
  }
  registers.set32(slot(w, 1), error);
  return {DONE_Step, 2, 1};
}

// Runs one of the two instructions, whose first word is `w`, for thread number `id`; after `run_plain`, which does not.
GPU_RUN_INLINE StepResult run_other(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, u64 w) {
  const Memory &memory = *instance.memories[0];
  if ((u16)w == OP_request_queue) return queue(launch, thread, id, memory, registers, w);
  return poll(launch, thread, id, memory, registers, w);
}

// Runs one of them.
GPU_RUN_NOINLINE StepResult execute(const Launch &launch, Thread &thread, u32 id, const Instance &instance,
                              Registers registers, u64 w) {
  const u32 words = (u16)w == OP_request_queue ? 1 : 2;
  if (run_plain(launch, thread, id, registers, w)) return {DONE_Step, words, 1};
  return run_other(launch, thread, id, instance, registers, w);
}

}  // namespace requests
}  // namespace gpu_run
