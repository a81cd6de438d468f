// Processes of a batch: one program runs again and again, each time from the same beginning and with other arguments and
// another standard input.
//
// A lane has a slot: a launch record of one thread, and a memory, globals and tables. It draws the number of the next process
// of the queue, to which the host adds while the kernel runs. It waits until that one has come, restores the contents with
// which all begin, and runs it. It tells the host how that ended, by a record of the output ring. So a process that takes long
// holds only its lane, or in compiled code its warp. What one writes comes before its end, and before what the next one in the
// slot writes.
//
// Nothing of a process is left when the next one begins: all bytes that its memory had are set to 0 first. A trap, an
// exit or a stop ends its process alone, because each has a Control and a Launch of its own.
//
// In compiled code the lanes of a warp take their processes together, so that they run together as long as these go the same
// way. It cannot leave its functions from within: a lane whose process did not return ends with it. Where many have, the
// others take no more, and the host starts the kernel again for what is left.
#pragma once

#include "ops/output_ring.h"
#include "process_table.h"
#include "threads.h"

namespace gpu_run {
namespace processes {

// Sets `bytes` bytes, a multiple of 16, to 0, at a multiple of 16. Lanes that come here together do it for each of them in
// turn, so that their stores lie side by side.
GPU_RUN_INLINE void clear(u8 *at, u64 bytes) {
#if GPU_RUN_GPU
  const u32 zeros[4] = {0, 0, 0, 0};
  const u32 lanes = __nvvm_activemask();
  // Others' stores come after what each lane has stored there.
  __nvvm_bar_warp_sync(lanes);
  const u32 rank = (u32)__builtin_popcount(lanes & __nvvm_read_ptx_sreg_lanemask_lt());
  const u64 step = 16ull * (u32)__builtin_popcount(lanes);
  for (u32 left = lanes; left; left &= left - 1) {
    const u32 of = (u32)__builtin_ctz(left);
    u8 *const to = (u8 *)shuffle(lanes, (u64)at, of);
    const u64 end = shuffle(lanes, bytes, of);
    for (u64 i = 16ull * rank; i < end; i += step) store_16(to + i, zeros);
  }
  // Each lane's stores come after those that others made for it.
  __nvvm_bar_warp_sync(lanes);
#else
  __builtin_memset(at, 0, bytes);
#endif
}

// The lane's slot; ~0: it has none.
GPU_RUN_INLINE u32 slot_of_lane(const Batch &batch) {
  const u32 lane = global_lane();
#if GPU_RUN_GPU
  const u32 in_warp = lane % 32;
  const u32 slot = in_warp < batch.warp_lanes ? lane / 32 * batch.warp_lanes + in_warp : ~0u;
#else
  const u32 slot = lane;
#endif
  return slot < batch.slot_count ? slot : ~0u;
}

// A bit for each lane of the warp that has a slot.
GPU_RUN_INLINE u32 lanes_of_warp(const Batch &batch, u32 index) {
  const u32 left = batch.slot_count - index / batch.warp_lanes * batch.warp_lanes;
  const u32 lanes = left < batch.warp_lanes ? left : batch.warp_lanes;
  return lanes < 32 ? (1u << lanes) - 1 : ~0u;
}

// Waits until all of these lanes are here that have not ended. They go on together.
GPU_RUN_INLINE void meet([[maybe_unused]] u32 lanes) {
#if GPU_RUN_GPU
  __nvvm_bar_warp_sync(lanes);
#endif
}

// Copies whole words of 4 bytes.
template <typename T>
GPU_RUN_INLINE void copy_records(T *to, const T *from, u64 count) {
  using Word __attribute__((may_alias)) = u32;
  static_assert(sizeof(T) % 4 == 0, "whole words");
  const u64 words = count * sizeof(T) / 4;
  for (u64 i = 0; i < words; i++) ((Word *)to)[i] = ((const Word *)from)[i];
}

// Makes a slot of a program's model: what is its own lies at addresses of its own. All of it is 0 before the first time.
GPU_RUN_NOINLINE void make_slot(const Batch &batch, ProcessSlot &slot, u32 index, u32 number) {
  const ProcessProgram &program = batch.programs[number];
  const ProcessSlot &model = *program.model;
  slot.program = 1 + number;
  copy_records(&slot.launch, &model.launch, 1);
  copy_records(&slot.instance, &model.instance, 1);
  copy_records(&slot.requests, &model.requests, 1);
  // Functions name the instance by its number in the store.
  slot.launch.instances = (const Instance *)((u64)&slot.instance - program.instance * sizeof(Instance));
  slot.launch.control = &slot.control;
  if (model.launch.requests) slot.launch.requests = &slot.requests;
  if (batch.memories) {
    slot.memory.base = batch.memories + index * batch.memory_stride;
    slot.memory.limit = model.memory.limit;
    slot.memory.wide = model.memory.wide;
    slot.memories[0] = &slot.memory;
    slot.instance.memories = slot.memories;
  }
  if (program.table_count) {
    Table **tables = batch.own_pointers + (u64)index * batch.table_count;
    for (u32 i = 0; i < program.table_count; i++) tables[i] = &batch.own_tables[(u64)index * batch.table_count + i];
    slot.instance.tables = tables;
  }
  if (program.data_count) slot.instance.data = batch.own_data + (u64)index * batch.data_count;
  if (program.elem_count) slot.instance.elems = batch.own_elems + (u64)index * batch.elem_count;
}

// Restores in a slot the contents with which all processes of its program begin.
GPU_RUN_NOINLINE void restore(const Batch &batch, ProcessSlot &slot, u32 index) {
  const ProcessProgram &program = batch.programs[slot.program - 1];
  clear(slot.memory.base, batch.memories ? slot.memory.size : 0);
  for (u32 i = 0; i < program.piece_count; i++) {
    const ImagePiece &piece = program.pieces[i];
    copy_records((V128 *)(slot.memory.base + piece.at), (const V128 *)piece.bytes, piece.len / 16);
  }
  if (batch.memories) slot.memory.size = program.memory_size;
  slot.memory.refused = 0;
  copy_records(slot.launch.thread_globals + (u64)index * batch.global_count, batch.globals, batch.global_count);
  u32 *elements = batch.elements + (u64)index * batch.table_room;
  for (u32 i = 0; i < program.table_count; i++) {
    const Table &initial = program.tables[i];
    Table &table = batch.own_tables[(u64)index * batch.table_count + i];
    table = {elements, initial.size, program.table_units[i]};
    copy_records(elements, initial.elements, initial.size);
    elements += program.table_units[i];
  }
  copy_records(batch.own_data + (u64)index * batch.data_count, program.data, program.data_count);
  copy_records(batch.own_elems + (u64)index * batch.elem_count, program.elems, program.elem_count);
}

// Prepares a slot for a process of its program, which the host knows by `process`.
GPU_RUN_NOINLINE void prepare(const Batch &batch, ProcessSlot &slot, u32 index, u32 process) {
  restore(batch, slot, index);
  slot.launch.process = process;
  slot.launch.claimed = 0;
  slot.launch.clock_start = load_relaxed_device(&batch.clock_start);
  slot.control.end.kind = END_None;
  Requests &requests = slot.requests;
  requests.process = process;
  requests.child = requests.asked = 0;
  requests.input_at = 0;
  requests.input_position = &requests.input_at;
  for (u32 i = 0; i < STREAM_DESCRIPTORS; i++) requests.streams[i] = i == 1 || i == 2 ? i : 0;
  // Without a seed they are this machine's, and no two processes have the same.
  if (requests.apart) requests.nonce = process;
  Thread &thread = slot.launch.threads[index];
  thread.state = THREAD_New;
  thread.random = 0;
  thread.lane_segment_used = 0;
  thread.segment = 0;
  // Samples begin anew, too.
  if (slot.launch.samples) slot.launch.samples->threads[index].state = THREAD_New;
  slot.refused = 0;
  slot.left = slot.told = slot.restarts = 0;
  slot.began = clock_ns();
  // A host that stops a process writes these at any time. What it has stopped too late is told from others by its time, and
  // where it stops all of them it writes again and again.
  store_relaxed_device(&slot.control.stop, 0u);
  store_relaxed_device(&slot.launch.stop, 0u);
}

// Prepares it for process `number` of the queue.
GPU_RUN_NOINLINE void prepare_next(const Batch &batch, ProcessSlot &slot, u32 index, u32 number) {
  prepare(batch, slot, index, number + 1);
  const ProcessInput &input = batch.inputs[number & (batch.input_room - 1)];
  Requests &requests = slot.requests;
  requests.args = input.args;
  requests.environment = input.environment;
  requests.input = input.input;
  requests.input_len = input.input_len;
  store_relaxed_device(&batch.current[index], number + 1);
}

// A lane begins.
GPU_RUN_INLINE void begin_lane(Batch &batch, u32 index) {
  if (load_relaxed_device(&batch.clock_start) == 0) {
    u64 unset = 0;
    compare_exchange_acq_rel_device(&batch.clock_start, unset, clock_ns());
  }
  make_slot(batch, batch.slots[index], index, 0);
}

// Draws the number of the lane's next process. Lanes that come here together draw numbers that follow each other.
GPU_RUN_INLINE u32 draw(Batch &batch) {
  const CoalescedGroup group = match_group((u64)&batch);
  // Relaxed: what belongs to a number is acquired in `look`.
  const u32 first = group.is_leader() ? fetch_add_relaxed_device(&batch.taken, group.size) : 0;
  return broadcast(group, first) + group.rank;
}

// Whether the process of a number has come.
enum class Came : u32 { Yes, NotYet, Never };
GPU_RUN_INLINE Came look(const Batch &batch, u32 number) {
  if (load_relaxed_device(&batch.stop)) return Came::Never;
  // Before the count: where the queue is closed, the count seen after it is the last one. Acquire pairs with the host,
  // which copies inputs first, then their count, and closes the queue after that.
  const bool closed = load_acquire_system(&batch.closed) != 0;
  if (number < load_acquire_system(&batch.count)) return Came::Yes;
  return closed ? Came::Never : Came::NotYet;
}

// The same for lanes that have nothing else to do: waits until it is known. True if it has come.
GPU_RUN_NOINLINE bool await(const Batch &batch, u32 number) {
  Came came;
  for (u32 idle = 1; (came = look(batch, number)) == Came::NotYet; idle++) backoff(idle);
  return came == Came::Yes;
}

// Returns the thread's slot of the mailbox if its request is answered. Else the host may still write there, and the slot
// stays taken until it has: a process that was stopped waits for nothing.
GPU_RUN_INLINE void leave_mailbox(Requests &requests, Thread &thread) {
  if (!thread.request) return;
  if (requests::answered(requests, thread)) {
    requests::give_slot(requests, thread);
  } else {
    requests::abandon_slot(requests, thread);
  }
}

// Tells the host how the slot's process has ended. False if the ring has no room for that now.
GPU_RUN_NOINLINE bool tell_end(const Batch &batch, const ProcessSlot &slot) {
  const End &end = slot.control.end;
  const bool trapped = end.kind == END_Trap;
  const u64 len = trapped ? sizeof(ProcessEnd) : __builtin_offsetof(ProcessEnd, backtrace);
  Ring &ring = *batch.ring;
  const u64 at = output::begin(ring, slot.launch.process - 1, 0, (u32)len);
  if (at == output::FULL) return false;
  ProcessEnd told = {};
  told.kind = end.kind;
  told.value = end.value;
  told.pc = end.pc;
  told.depth = end.depth;
  told.frames = end.frames;
  told.stopped = end.kind == END_None && (load_relaxed_device(&slot.launch.stop) | load_relaxed_device(&slot.control.stop)) != 0;
  told.refused = batch.table ? slot.refused : slot.memory.refused;
  if (slot.restarts) {
    told.kind = END_None;
    told.stopped = 1;
  }
  told.child = slot.requests.child;
  told.program = slot.program - 1;
  told.memory = slot.memory.size;
  told.time = clock_ns() - slot.began;
  if (trapped) copy_records(told.backtrace, end.backtrace, BACKTRACE);
  output::put_whole(ring, at + sizeof(Record), &told, len);
  output::publish(ring, at, RECORD_Process);
  return true;
}
static_assert(__builtin_offsetof(ProcessEnd, backtrace) % 16 == 0 && sizeof(ProcessEnd) % 16 == 0,
              "told in pieces of 16 bytes");

}  // namespace processes
}  // namespace gpu_run
