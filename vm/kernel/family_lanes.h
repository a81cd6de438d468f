// How lanes take processes of a batch that start others, and how these end. In the order in which a lane looks: a process that
// is ready, then the next one of the host. Lanes stay until no process lives that could start others.
#pragma once

#include "processes.h"

namespace gpu_run {

// Where a lane is among the processes that it runs.
struct Turn {
  bool drawn;  // it has the number of a process that it is to run
  u32 number;
  u32 place;  // the same where processes start others: 1 + the place of one in their table
  bool runs;  // it has a process
  bool over;  // there is none for it any more
  u32 idle;  // looks in a row at which it could not go on
};

namespace family {

// Takes the host's next process, if it has come and more of them may run: its number; ~0: there is none. Sets `over` if there
// will be no process any more.
GPU_RUN_NOINLINE u32 take_root(Batch &batch, bool &over) {
  ProcessTable &table = *batch.table;
  // As in `processes::look`. A lane counts itself in `roots` before it takes a number. So a lane that sees all numbers taken
  // sees that count too.
  const bool stops = load_relaxed_device(&batch.stop) != 0;
  const bool closed = load_acquire_system(&batch.closed) != 0;
  u32 taken = load_acquire_device(&batch.taken);
  const u32 count = load_acquire_system(&batch.count);
  if (stops || taken >= count) {
    // The addition makes this lane's look at `stop` known to one that has counted itself after it.
    over = (stops || closed) && load_relaxed_device(&table.roots) == 0 && fetch_add_acq_rel_device(&table.roots, 0u) == 0;
    return ~0u;
  }
  if (load_relaxed_device(&table.roots) >= table.most_roots) return ~0u;
  // Acquire: where lanes have left because of a stop, it is seen here, and nothing begins that would lack them.
  const bool may_run = fetch_add_acq_rel_device(&table.roots, 1u) < table.most_roots && !load_relaxed_device(&batch.stop);
  if (may_run && compare_exchange_acq_rel_device(&batch.taken, taken, taken + 1)) return taken;
  fetch_add_acq_rel_device(&table.roots, ~0u);
  return ~0u;
}

// Makes the slot one of the process's program.
GPU_RUN_INLINE void choose_program(const Batch &batch, ProcessSlot &slot, u32 index, u32 program) {
  if (slot.program == 1 + program) return;
  // The memory that the last process had is still to be set to 0.
  const u64 size = slot.memory.size;
  processes::make_slot(batch, slot, index, program);
  slot.memory.size = size;
}

// Prepares the lane for a process that the host has started: the first of a family.
GPU_RUN_NOINLINE void begin_root(const Batch &batch, ProcessSlot &slot, u32 index, u32 number) {
  choose_program(batch, slot, index, 0);
  processes::prepare_next(batch, slot, index, number);
  Process &root = batch.table->processes[index];
  const u32 pid = next_pid(root, index);
  root = {};
  root.pid = pid;
  root.state = PROCESS_Running;
  root.root = index;
  root.slot = index;
  root.number = number + 1;
  slot.process = index;
}

// Prepares it for one that another process has started.
GPU_RUN_NOINLINE void begin_child(const Batch &batch, ProcessSlot &slot, u32 index, u32 place) {
  const Process &child = batch.table->processes[place];
  choose_program(batch, slot, index, child.program);
  processes::prepare(batch, slot, index, child.number);
  Requests &requests = slot.requests;
  requests.child = child.child;
  // Numbers of the host's processes are below.
  if (requests.apart) requests.nonce = 1u << 31 | child.child;
  requests.args = child.args;
  requests.environment = child.environment;
  requests.input = child.input;
  requests.input_len = child.input_len;
  if (child.input_position) requests.input_position = child.input_position;
  for (u32 i = 0; i < 3; i++) requests.streams[i] = child.streams[i];
  slot.process = place;
  // Its time is that of its family.
  store_relaxed_device(&batch.current[index], 0u);
}

// Whether the lane's process may run now, which is prepared. It may have been ended before.
GPU_RUN_NOINLINE bool begin_running(const Batch &batch, ProcessSlot &slot, u32 index) {
  ProcessTable &table = *batch.table;
  Process &child = table.processes[slot.process];
  u32 &lock = root_of(table, child).lock;
  if (!try_lock(lock)) return false;
  child.slot = index;
  child.state = PROCESS_Running;
  // From here on `kill` finds the slot.
  if (child.killed) {
    store_relaxed_device(&child.killed, 0u);
    kill(batch, child);
  }
  unlock(lock);
  return true;
}

// Begins the lane's next process, if there is one.
GPU_RUN_NOINLINE bool begin_turn(Batch &batch, ProcessSlot &slot, Turn &turn, u32 index) {
  ProcessTable &table = *batch.table;
  if (!turn.place && (u32)load_relaxed_device(&table.ready)) {
    turn.place = pop_process(table, table.ready);
    if (turn.place) begin_child(batch, slot, index, turn.place - 1);
  }
  if (turn.place) {
    turn.runs = begin_running(batch, slot, index);
    if (turn.runs) turn.place = 0;
  } else {
    const u32 number = take_root(batch, turn.over);
    turn.runs = number != ~0u;
    if (turn.runs) begin_root(batch, slot, index, number);
  }
  turn.idle = turn.runs ? 0 : turn.idle + 1;
  if (turn.idle && !turn.over) backoff(turn.idle);
  return turn.runs;
}

// The slot's process is over: it leaves the table. False if that is to be tried again.
GPU_RUN_NOINLINE bool leave_slot(const Batch &batch, ProcessSlot &slot) {
  if (slot.left) return true;
  const End &end = slot.control.end;
  const Process &process = batch.table->processes[slot.process];
  const bool stopped = (load_relaxed_device(&slot.launch.stop) | load_relaxed_device(&slot.control.stop)) != 0;
  u32 kind = END_OF_Exit;
  if (end.kind == END_Trap) kind = END_OF_Trap;
  if (end.kind == END_None && (stopped || load_relaxed_device(&process.killed))) kind = END_OF_Kill;
  if (!leave(batch, slot, kind, end.kind == END_None ? 0 : end.value)) return false;
  slot.left = 1;
  return true;
}

// Whether the host is told of the end of a process that another has started: of traps, and where it may have opened something.
GPU_RUN_INLINE bool is_told(const ProcessSlot &slot) {
  return slot.requests.asked || slot.control.end.kind == END_Trap;
}

// The slot's process is over: tells so and leaves the table. False if that is to be tried again. The host hears of the first
// of a family last, because others may still write in its name.
GPU_RUN_NOINLINE bool end_member(const Batch &batch, ProcessSlot &slot) {
  if (!slot.requests.child) return leave_slot(batch, slot) && processes::tell_end(batch, slot);
  if (!slot.told && is_told(slot) && !processes::tell_end(batch, slot)) return false;
  slot.told = 1;
  return leave_slot(batch, slot);
}

}  // namespace family
}  // namespace gpu_run
