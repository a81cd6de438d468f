// The lanes' loop where they run processes of a batch, interpreted: a lane takes one after the other. Where processes start
// others, see family_lanes.h.
#pragma once

#include "family_lanes.h"
#include "processes.h"
#include "scheduler.h"

namespace gpu_run {

// Returns the segments of frames that the thread's process has left open.
GPU_RUN_NOINLINE void leave_frames(const Launch &launch, Thread &thread) {
  MachineState at = {{thread.frame, thread.stride}, thread.room, thread.header, thread.pc, thread.instance, thread.depth};
  u32 left = 0;
  while (exceptions::leave(launch, thread, at, frames::UNWIND, left)) {
  }
  frames::give_left(*launch.arena, left);
  if (thread.segment) frames::give_segment(*launch.arena, thread.segment - 1, thread.segment_size);
  thread.segment = 0;
}

// The slot's process is over: tells so, and returns what it had. False if that is to be tried again.
GPU_RUN_NOINLINE bool end_process(const Batch &batch, ProcessSlot &slot, Thread &thread, u32 index) {
  processes::leave_mailbox(slot.requests, thread);
  if (!(batch.table ? family::end_member(batch, slot) : processes::tell_end(batch, slot))) return false;
  if (thread.exceptions) exceptions::sweep(slot.launch, thread, index, 0);
  const bool returned = slot.control.end.kind == END_None && thread.state == THREAD_Ended;
  if (!returned && thread.state != THREAD_New) leave_frames(slot.launch, thread);
  return true;
}

// Begins the lane's next process if that has come.
GPU_RUN_NOINLINE bool begin_turn(Batch &batch, ProcessSlot &slot, Turn &turn, u32 index) {
  using processes::Came;
  if (batch.table) return family::begin_turn(batch, slot, turn, index);
  if (!turn.drawn) turn.number = processes::draw(batch);
  const Came came = processes::look(batch, turn.number);
  turn.over = came == Came::Never;
  turn.drawn = came == Came::NotYet;
  turn.runs = came == Came::Yes;
  if (turn.drawn) backoff(++turn.idle);
  if (!turn.runs) return false;
  turn.idle = 0;
  processes::prepare_next(batch, slot, index, turn.number);
  return true;
}

// Finds out whether the lane's process can go on, or begins the next one. It ends in bounded time, as `find_thread` does.
GPU_RUN_NOINLINE bool next_turn(Batch &batch, ProcessSlot &slot, Turn &turn, u32 index) {
  Thread &thread = slot.launch.threads[index];
  if (!turn.runs && !begin_turn(batch, slot, turn, index)) return false;
  bool goes_on = false;
  const bool stops = thread.state == THREAD_Ended || stopped(slot.launch);
  if (stops) {
    turn.runs = !end_process(batch, slot, thread, index);
  } else {
    u32 spare = 0;
    goes_on = ready(slot.launch, thread, index, index, spare);
  }
  turn.idle = goes_on || !turn.runs ? 0 : turn.idle + 1;
  if (turn.idle) backoff(turn.idle);
  return goes_on;
}

GPU_RUN_INLINE void run_slot(Batch &batch, u32 index) {
  processes::begin_lane(batch, index);
  ProcessSlot &slot = batch.slots[index];
  Turn turn = {};
  for (;;) {
    while (!next_turn(batch, slot, turn, index)) {
      if (turn.over) return;
    }
    if (UNLIKELY(slot.launch.samples)) samples::begin_turn(slot.launch, index);
    run(slot.launch, slot.launch.threads[index], index, index);
    if (UNLIKELY(slot.launch.samples)) samples::end_turn(slot.launch, index);
  }
}

}  // namespace gpu_run
