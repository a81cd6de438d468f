// The lanes' loop: a lane starts its threads and runs each until it ends, waits or has used its slice.
//
// Lane i of L has threads i, i + L, i + 2L, … With `rotate` they take turns: a thread that waits,
// sleeps or has used its slice is left for the next, so that threads may wait for each other even if
// a lane has many. Their frames then lie in the arena, each thread's in segments of its own. Without
// it a lane stays with a thread until it ends, and all use the lane's own registers.
#pragma once

#include "interpreter.h"
#include "threads.h"

namespace gpu_run {

#if GPU_RUN_GPU
// The block's dynamic shared memory: registers of its lanes, interleaved.
extern __attribute__((address_space(3))) u32 shared_registers[];
GPU_RUN_INLINE u8 *shared_segment() { return (u8 *)(shared_registers + lane_in_block()); }
#else
// A host has no shared memory; `shared_units` is 0 there.
inline u8 *shared_segment() { return nullptr; }
#endif

// Gives a new thread its globals, stack, thread-local storage and first frame. False if there is no
// memory for the frame.
GPU_RUN_INLINE bool start(const Launch &launch, Thread &thread, u32 id, u32 lane) {
  const Func &func = launch.funcs[launch.func];
  u64 head = load_code(launch.code + func.pc);
  u32 frame = frames::head_frame(head), header = frames::head_header(head);
  // With `rotate` the lane's own segment is nobody's, because the next thread would overwrite it.
  thread.home_used = launch.rotate;
  threads::prepare(launch, thread, id);
  frames::Segment segment;
  if (!launch.rotate && frame <= launch.shared_units) {
    segment = {{shared_segment(), lanes_in_block() * 4}, launch.shared_units, 0, 0};
  } else if (!frames::new_segment(launch, thread, lane, frame, segment)) {
    return false;
  }
  Registers registers = segment.registers;
  for (u32 i = 0; i < launch.arg_units; i++) registers.set32(i, launch.args[i]);
  registers.set32(header, PC_THREAD_END);
  registers.set32(header + 1, 0);
  thread.segment = segment.give_back > 1 ? segment.give_back - 1 : 0;
  thread.segment_size = segment.size;
  thread.frame = registers.frame;
  thread.stride = registers.stride;
  thread.room = segment.room;
  thread.header = header;
  thread.depth = 1;
  thread.pc = func.pc + 1;
  thread.instance = func.instance;
  thread.state = THREAD_Runnable;
  return true;
}

// Ends the process because a thread could not be started. Without a frame there is nothing to walk:
// the record names the function's head alone.
GPU_RUN_NOINLINE void end_without_frame(const Launch &launch, u32 id) {
  frames::record_end(launch, id, END_Trap, TRAP_OutOfRegisterMemory, launch.funcs[launch.func].pc, [](End &) {});
}

// Whether a thread that has not ended can run now. Starts a new one.
GPU_RUN_NOINLINE bool ready(const Launch &launch, Thread &thread, u32 id, u32 lane) {
  if (thread.state == THREAD_New) {
    if (!start(launch, thread, id, lane)) {
      // Threads that take turns will give memory back.
      if (!launch.rotate) end_without_frame(launch, id);
      return false;
    }
  } else if (!threads::can_go_on(launch, thread)) {
    return false;
  }
  thread.state = THREAD_Runnable;
  return true;
}

// Where a lane is among its threads.
struct Round {
  u32 first;  // all threads before it have ended
  u32 id;  // the thread that runs or is looked at
  u32 idle;  // rounds in a row without a thread that could run
  bool ran;  // whether one did in this round
  bool over;  // all threads have ended, or the lane must stop
};

// Finds the thread that the lane runs next, after the one that it ran: number `round.id`. False if
// there is none in the rest of the round. In a function of its own, so that nothing of it stays in hardware registers while
// a thread runs. It ends in bounded time and leaves repeating to `run_lane`: lanes of a warp may wait
// for each other at its end, so that none may stay in it until another has done something.
GPU_RUN_NOINLINE bool next_thread(const Launch &launch, Round &round, u32 lane) {
  bool back = round.ran;  // from the thread's turn
  while (round.id < launch.thread_count) {
    Thread &thread = launch.threads[round.id];
    if (back) {
      back = false;
      if (thread.state == THREAD_Ended && thread.segment) {
        frames::give_segment(*launch.arena, thread.segment - 1, thread.segment_size);
      }
    } else if (thread.state != THREAD_Ended && ready(launch, thread, round.id, lane)) {
      round.ran = true;
      round.over = stopped(launch);
      return !round.over;
    }
    bool ended = thread.state == THREAD_Ended;
    if (ended && round.id == round.first) round.first += launch.lanes;
    // Without `rotate` a round is one thread.
    round.id = launch.rotate || ended ? round.id + launch.lanes : launch.thread_count;
  }
  round.idle = round.ran ? 0 : round.idle + 1;
  if (round.idle) relax(round.idle);
  round.over = round.first >= launch.thread_count || (round.idle && stopped(launch));
  round.ran = false;
  round.id = round.first;
  return false;
}

GPU_RUN_INLINE void run_lane(const Launch &launch, u32 lane) {
  threads::begin_clock(launch);
  Round round = {lane, lane, 0, false, false};
  // Two loops, and the thread by its number: so the compiler keeps the interpreter's loop apart from
  // this one, and nothing of this one in its registers.
  for (;;) {
    while (!next_thread(launch, round, lane)) {
      if (round.over) return;
    }
    u32 id = round.id;
    run(launch, launch.threads[id], id, lane);
  }
}

}  // namespace gpu_run
