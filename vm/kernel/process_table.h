// Processes that start others: the table in which they are, their families, and the pipes between them.
//
// A family is a process that the host has started, and all that come of it. It ends with that one, as all processes of a
// container end with its first. One lock for each family protects what its members share: parents and children, the holders
// of pipes' ends, how processes have ended. The lock is only ever tried. A lane that does not get it comes again.
//
// A process that is started is in the list of those that are ready until a lane takes it. Some lanes are for those that the
// host starts (ProcessTable::most_roots), and there are never more others than lanes besides: so each gets one, though its
// parent keeps its own while it waits.
//
// An entry goes Free, Ready, Running, Zombie and, when its parent has asked how it ended, Free again. Of one whose parent has
// ended nobody asks (`orphan`): it is free at its end.
//
// A pipe is a ring of bytes with a lock of its own, because several processes may have the same end. Its ends count those that
// hold them.
#pragma once

#include "free_list.h"

namespace gpu_run {
namespace family {

// Process::pid: where the count of earlier uses begins.
constexpr u32 PID_GENERATION = 20;
// How a process ended, as its parent is told.
enum EndOf : u32 {
  END_OF_Exit = 0,  // with the code `value`
  END_OF_Trap = 1,  // the trap `value`
  END_OF_Kill = 2,
};
// The ends of a pipe.
enum Side : u32 { SIDE_Read = 0, SIDE_Write = 1 };

GPU_RUN_INLINE ProcessTable &table_of(const Batch &batch) { return *batch.table; }
GPU_RUN_INLINE Process &root_of(const ProcessTable &table, const Process &process) { return table.processes[process.root]; }
GPU_RUN_INLINE u32 place_of(const ProcessTable &table, const Process &process) { return (u32)(&process - table.processes); }

// The number of the next process that has the place.
GPU_RUN_INLINE u32 next_pid(const Process &process, u32 place) {
  return ((process.pid >> PID_GENERATION) + 1) << PID_GENERATION | (place + 1);
}

// Of the table's lists of processes: takes one, 1 + its place, or 0; and adds one.
GPU_RUN_INLINE u32 pop_process(ProcessTable &table, u64 &list) {
  return free_list::pop(&list, [&](u32 number) { return &table.processes[number - 1].link; });
}
GPU_RUN_INLINE void push_process(ProcessTable &table, u64 &list, u32 process) {
  free_list::push(&list, process, [&](u32 number) { return &table.processes[number - 1].link; });
}

// Acquire: pairs with the release in `unlock`, so what others did under the lock is visible.
GPU_RUN_INLINE bool try_lock(u32 &lock) {
  u32 found = load_relaxed_device(&lock);
  return found == 0 && compare_exchange_acquire_device(&lock, found, 1u);
}
GPU_RUN_INLINE void unlock(u32 &lock) { store_release_device(&lock, 0u); }

// --- Pipes ------------------------------------------------------------------------------------

// An end of a pipe has a number: twice the pipe's, plus its side.
GPU_RUN_INLINE PipeEnd &end_at(const ProcessTable &table, u32 end) { return table.pipes[end / 2].ends[end % 2]; }

GPU_RUN_INLINE u32 take_pipe(ProcessTable &table) {
  const u32 pipe = free_list::pop(&table.free_pipes, [&](u32 number) { return &table.pipes[number - 1].link; });
  if (pipe) table.pipes[pipe - 1].read = table.pipes[pipe - 1].written = 0;
  return pipe;
}

GPU_RUN_INLINE void give_pipe(ProcessTable &table, u32 pipe) {
  free_list::push(&table.free_pipes, pipe, [&](u32 number) { return &table.pipes[number - 1].link; });
}

// One holder more. With the family's lock.
GPU_RUN_INLINE void hold(const ProcessTable &table, u32 end) {
  PipeEnd &held = end_at(table, end);
  // Relaxed: a lane that looks at the count waits for it to become 0, and holds the other end.
  store_relaxed_device(&held.holders, held.holders + 1);
}

// One holder less; the pipe is free when nobody holds either end. With the family's lock.
GPU_RUN_NOINLINE void release(ProcessTable &table, u32 end) {
  PipeEnd &held = end_at(table, end);
  // Release: a lane that sees the last writer gone sees all that was written. Pairs with the acquire in `is_held`.
  store_release_device(&held.holders, held.holders - 1);
  if (held.holders || end_at(table, end ^ 1).holders) return;
  give_pipe(table, end / 2 + 1);
}

GPU_RUN_INLINE bool is_held(const ProcessTable &table, u32 end) {
  return load_acquire_device(&end_at(table, end).holders) != 0;
}

// A process has a handle of an end. With the family's lock.
GPU_RUN_INLINE void add_handle(const ProcessTable &table, Process &process, u32 end) {
  PipeEnd &held = end_at(table, end);
  // Relaxed: others look whether it is they, and it is not.
  store_relaxed_device(&held.owner, 1 + place_of(table, process));
  held.next = process.handles;
  process.handles = 1 + end;
  hold(table, end);
}

// It has none any more, but still holds the end.
GPU_RUN_NOINLINE void drop_handle(const ProcessTable &table, Process &process, u32 end) {
  u32 *at = &process.handles;
  while (*at != 1 + end) at = &end_at(table, *at - 1).next;
  *at = end_at(table, end).next;
  store_relaxed_device(&end_at(table, end).owner, 0u);
}

// --- Families ---------------------------------------------------------------------------------

// Adds a child to its parent's list. With the family's lock, as what follows.
GPU_RUN_INLINE void add_child(const ProcessTable &table, Process &parent, Process &child) {
  child.parent = place_of(table, parent);
  child.next = parent.first_child;
  child.previous = 0;
  if (child.next) table.processes[child.next - 1].previous = 1 + place_of(table, child);
  parent.first_child = 1 + place_of(table, child);
}

GPU_RUN_INLINE void remove_child(const ProcessTable &table, Process &child) {
  if (child.previous) {
    table.processes[child.previous - 1].next = child.next;
  } else {
    table.processes[child.parent].first_child = child.next;
  }
  if (child.next) table.processes[child.next - 1].previous = child.previous;
}

// An entry that nobody needs any more.
GPU_RUN_INLINE void free_entry(ProcessTable &table, Process &child) {
  child.state = PROCESS_Free;
  push_process(table, table.free, 1 + place_of(table, child));
}

// A process is to end. Its lane cannot take another one meanwhile, because it needs the lock to leave this one.
GPU_RUN_INLINE void kill(const Batch &batch, Process &process) {
  if (process.killed) return;
  // Relaxed: others look at it without the lock only for a hint.
  store_relaxed_device(&process.killed, 1u);
  if (process.state != PROCESS_Running) return;
  ProcessSlot &slot = batch.slots[process.slot];
  store_relaxed_device(&slot.control.stop, (u32)STOP_Ends);
  store_relaxed_device(&slot.launch.stop, (u32)STOP_Ends);
}

// The child's end is known to its parent, or to nobody.
GPU_RUN_INLINE void bury(ProcessTable &table, Process &child) {
  remove_child(table, child);
  free_entry(table, child);
}

// The children of a process that ends become those of the first of the family. Those that have ended are gone.
GPU_RUN_NOINLINE void leave_children(ProcessTable &table, Process &process) {
  while (process.first_child) {
    Process &child = table.processes[process.first_child - 1];
    if (child.state == PROCESS_Zombie) {
      bury(table, child);
      continue;
    }
    remove_child(table, child);
    child.orphan = 1;
    add_child(table, root_of(table, process), child);
  }
}

// The first of a family ends all that are left, as far as they have not ended. Whether none is. None of them starts others any
// more.
GPU_RUN_NOINLINE bool end_family(const Batch &batch, ProcessTable &table, Process &root) {
  store_relaxed_device(&root.killed, 1u);
  for (u32 next = root.first_child; next;) {
    Process &child = table.processes[next - 1];
    next = child.next;
    if (child.state == PROCESS_Zombie) {
      bury(table, child);
    } else {
      child.orphan = 1;
      kill(batch, child);
    }
  }
  return root.first_child == 0;
}

// A process closes what it has of pipes.
GPU_RUN_NOINLINE void close_pipes(ProcessTable &table, Process &process) {
  for (u32 i = 0; i < 3; i++) {
    if (process.ends[i]) release(table, process.ends[i] - 1);
    process.ends[i] = 0;
  }
  while (process.handles) {
    const u32 end = process.handles - 1;
    drop_handle(table, process, end);
    release(table, end);
  }
}

// A process has ended in this way, whose slot this is. False if that is to be tried again: somebody else has the lock, or
// the first of a family waits for the others.
GPU_RUN_NOINLINE bool leave(const Batch &batch, ProcessSlot &slot, u32 kind, u32 value) {
  ProcessTable &table = table_of(batch);
  Process &process = table.processes[slot.process];
  Process &root = root_of(table, process);
  if (!try_lock(root.lock)) return false;
  const bool is_root = &root == &process;
  if (is_root && !end_family(batch, table, root)) {
    unlock(root.lock);
    return false;
  }
  close_pipes(table, process);
  // What more memory would not have helped does not count.
  const u64 refused = batch.programs[slot.program - 1].starves ? slot.memory.refused : 0;
  if (is_root) {
    slot.refused = refused + root.refused;
    slot.restarts = root.restarts;
    process.state = PROCESS_Free;
  } else {
    root.refused += refused;
    leave_children(table, process);
    // The host has stopped it in place of one before it in its slot. What its parent sees is wrong, so the family runs again.
    if (kind == END_OF_Kill && !process.killed && !load_relaxed_device(&batch.stop)) {
      root.restarts = 1;
      kill(batch, root);
    }
    process.kind = kind;
    process.value = value;
    process.state = PROCESS_Zombie;
    if (process.orphan) bury(table, process);
  }
  // Before the lock is free: a parent that has seen the end finds the lane. Release: see `take_root`.
  fetch_add_acq_rel_device(is_root ? &table.roots : &table.live, ~0u);
  unlock(root.lock);
  return true;
}

}  // namespace family
}  // namespace gpu_run
