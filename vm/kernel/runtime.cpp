// What compiled code calls: the start and end of a thread, traps, exceptions, and every instruction that
// it has no code of its own for. Compiled for the GPU only, to generated/runtime.ptx, and linked with what
// the PTX compiler (src/ptx) makes. All numbers of words (pc) are the store's; `depth` counts the frames
// on the stack from 1.

// Internal, so that what is for the interpreter only is left out.
#define GPU_RUN_NOINLINE [[maybe_unused]] static __attribute__((noinline))

#include "generated/layout_check.h"
#include "compiled_thread.h"
#include "ops/debug.h"
#include "ops/slow.h"
#include "rpc/requests.h"
#include "steps.h"
#include "threads.h"

namespace gpu_run {
namespace {

// Bytes of native stack that are left for this file's functions where compiled ones find none.
constexpr u32 MARGIN = 2048;

[[noreturn]] void trap_at_throw(Context &context, TrapKind kind) {
  end(context, END_Trap, kind, context.throw_pc, context.throw_depth, context.throw_calls);
}

void begin_throw(Context &context, u32 pc, u32 depth, u32 tag, u32 reference) {
  context.tag = tag;
  context.reference = reference;
  context.throw_pc = pc;
  context.throw_depth = depth;
  for (u32 i = 1; i < depth && i <= OPEN_CALLS; i++) {
    u32 at = (depth - i) % OPEN_CALLS;
    context.throw_calls[at] = context.calls[at];
  }
  for (u32 i = OPEN_CALLS; depth > OPEN_CALLS && i < CALL_PLACES; i++) context.throw_calls[i] = context.calls[i];
}

// Bytes of which a bulk operation looks at the stop flag. Loops look too, so short ones need not.
constexpr u32 POLL_BYTES = 4096;

GPU_RUN_INLINE void poll_after(Context &context, u32 pc, u32 depth, u64 bytes) {
  if (bytes >= POLL_BYTES && process_ended(*context.launch)) stop(context, pc, depth, THREAD_Runnable);
}

// What another lane or the host must do first: a while later it is tried again. `state` is for `stop`.
GPU_RUN_NOINLINE void wait(Context &context, u32 pc, u32 depth, u32 state, u32 &idle) {
  wait_for_others(context, ++idle);
  if (process_ended(*context.launch)) stop(context, pc, depth, state);
}

// Runs a request to the heap until no other thread is in its way. `at` is the block's address.
template <typename Request>
GPU_RUN_INLINE void heap_request(Context &context, u32 pc, u32 depth, const u32 &at, Request request) {
  heap::Outcome outcome;
  for (u32 idle = 0; (outcome = request()) == heap::RETRY;) wait(context, pc, depth, THREAD_Busy, idle);
  if (outcome != heap::DONE) {
    resume::set_count(*context.thread, at);
    trap(context, pc, depth, heap_trap(outcome));
  }
}

// A checked heap knows which calls allocated a block.
GPU_RUN_NOINLINE void note_calls(const Context &context, Memory &memory, u32 address, u32 pc, u32 depth) {
  heap::note_calls(memory, address, pc, depth - 1, [&](u32 i) { return context.calls[(depth - 1 - i) % OPEN_CALLS]; });
}

// The same of many blocks.
GPU_RUN_NOINLINE void note_batch(const Context &context, Memory &memory, Registers scratch, const u64 *words, u32 pc,
                                 u32 depth) {
  heap::note_batch(memory, scratch, words, load_code(words), pc, depth - 1,
                   [&](u32 i) { return context.calls[(depth - 1 - i) % OPEN_CALLS]; });
}

// An instruction with one of the handlers that the runtime has: see `runtime_has` in src/ptx/emit/handwritten.rs.
GPU_RUN_INLINE StepResult execute_aside(Context &context, const Instance &instance, Registers scratch, const u64 *words,
                                  u64 w) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  const u16 op = (u16)w;
  if (is_run_by(HANDLER_Debug, op)) return debug::execute(launch, thread, context.id, instance, scratch, words, w);
  if (is_run_by(HANDLER_Atomics, op)) return atomics::execute(launch, thread, context.id, instance, scratch, words, w);
  if (is_run_by(HANDLER_Work, op)) return work::execute(launch, thread, context.id, instance, scratch, words, w);
  return slow::execute(launch, thread, context.id, instance, scratch, words, w);
}

// Frees the thread's exceptions that neither its functions nor the exception under way can name.
GPU_RUN_NOINLINE void collect(Context &context) {
  u32 work = 0;
  exceptions::mark_native(*context.launch, context, work);
  sweep(context, work);
}

// Runs an instruction again until it is done: it may work in pieces, or wait for another lane or the host. Not `may_meet`: it
// waits for lanes only that are in such an instruction too, and others of its warp wait for it elsewhere than at a meeting.
template <typename Step>
GPU_RUN_INLINE void run_to_end(Context &context, u32 pc, u32 depth, bool may_meet, Step step) {
  const Launch &launch = *context.launch;
  Thread &thread = *context.thread;
  auto poll = [&] {
    if (process_ended(launch)) stop(context, pc, depth, thread.state);
    // Of a program that spawns threads, the first tells of it.
    if ((context.id == 0 || !launch.spawner) && census::claim_deadlock(launch)) trap(context, pc, depth, TRAP_Deadlock);
  };
  for (u32 idle = 0;;) {
    StepResult done = step();
    if (done.kind == DONE_Trap) trap(context, pc, depth, done.value);
    if (done.kind == DONE_Wait) {
      do {
        const u64 now = thread.state == THREAD_Sleeping ? clock_ns() : 0;
        idle++;
        // Others of the warp may wait for this lane, so it does not sleep where lanes meet.
        if (!may_meet) backoff(idle);
        else if (!now || now >= thread.wake) wait_for_others(context, idle);
        else if (!let_meet(context, idle)) backoff_for(thread.wake - now);
        // Seldom: it takes as long as a response needs.
        if (idle % 16 == 0) poll();
      } while (!threads::can_go_on(launch, thread));
      thread.state = THREAD_Runnable;
    }
    // Short ones need not, because loops look too.
    if (done.cost > 1 || !done.value) poll();
    if (done.value) return;
  }
}

// A request that is not plain, or takes its time. So only the first look for a response is timed by those before it.
GPU_RUN_NOINLINE void request(Context &context, u32 pc, u32 depth, u32 instance_index, u64 w) {
  const Launch &launch = *context.launch;
  const Instance &instance = launch.instances[instance_index];
  Registers scratch = {(u8 *)context.scratch, 4};
  run_to_end(context, pc, depth, true,
             [&] { return requests::run_other(launch, *context.thread, context.id, instance, scratch, w); });
}

// Prepares the lane's context for thread `id`, which it has.
GPU_RUN_INLINE void take_thread(const Launch &launch, Context &context, u32 id) {
  Thread &thread = launch.threads[id];
  u32 stack = native_stack();
  context.launch = &launch;
  context.address = &context;
  context.thread = &thread;
  context.globals = thread.globals;
  context.id = id;
  context.native_limit = (stack > launch.native_stack ? stack - launch.native_stack : 0) + MARGIN;
  context.polls = launch.slice;
  if (UNLIKELY(launch.counts)) {
    context.polls = COUNT_PASSES;
    counts::begin_thread(launch);
  }
  context.reference = 0;
  context.count = 0;
  context.roots = 0;
  context.suspended = nullptr;
  context.resumed = nullptr;
  context.entering = nullptr;
  context.parked = 0;
  context.meets = 0;
  context.looks = 0;
  context.stack_limit = thread.stack_limit;
  context.max_depth = launch.max_depth;
  context.shallow = launch.max_depth < OPEN_CALLS ? launch.max_depth : OPEN_CALLS;
  begin_samples(context);
}

// Prepares thread `id`, which the lane has.
GPU_RUN_NOINLINE void begin_thread(const Launch &launch, Context &context, u32 id) {
  threads::begin_clock(launch);
  Thread &thread = launch.threads[id];
  threads::prepare(launch, thread, id);
  thread.state = THREAD_Runnable;
  take_thread(launch, context, id);
}

// Prepares the lane for thread `id`, which was begun in the interpreter. The entry's function begins as in a new thread: of
// such a run its first block is left to the interpreter, which goes on where the thread was parked.
GPU_RUN_NOINLINE void go_on_thread(const Launch &launch, Context &context, u32 id) {
  if (launch.threads[id].state == THREAD_Ended) end_lane(launch);
  take_thread(launch, context, id);
  context.parked = 1;
}

// Nanoseconds that a lane waits for a thread until it looks again, after it has looked `idle` times in vain. Each look takes
// time from the lane of its warp that has one, so they become rare. A lane that no thread has had yet gets its first one when
// all lanes before it have theirs: it waits longest from the beginning.
GPU_RUN_INLINE u64 time_without_thread(const Launch &launch, u32 idle) {
  constexpr u64 LEAST = 4000, MOST = 128000;
  // The time doubles after so many looks, and then after each few more.
  constexpr u32 SOON = 16, FEW = 4;
  if (spawn::place_of(launch.lanes, global_lane()) >= load_relaxed_device(&launch.spawner->used)) return MOST;
  const u32 doubled = idle < SOON ? 0 : (idle - SOON) / FEW;
  return doubled < 5 ? LEAST << doubled : MOST;
}

// Lets some time pass for a lane that has no thread. In a function of its own: see gpu_run_next.
GPU_RUN_NOINLINE void pause_without_thread(const Launch &launch, u32 idle) {
  if (process_ended(launch)) end_lane(launch);
  backoff_for(time_without_thread(launch, idle));
}

}  // namespace

extern "C" void gpu_run_poll(Context *context, u32 pc, u32 depth);

namespace {

// See `gpu_run_meet`.
constexpr u32 SAVED_BARRIERS = 6;

template <u32 LEFT>
GPU_RUN_INLINE void use_barriers(volatile u32 &never, u32 bits, Context *context) {
  if constexpr (LEFT == 0) {
    gpu_run_poll(context, 0, 0);
  } else if (bits & (1u << LEFT)) {
    never = LEFT;
    use_barriers<LEFT - 1>(never, bits, context);
    never = ~LEFT;
  }
}

}  // namespace

extern "C" {

// Ends the lane if its process was stopped. Not inlined: `gpu_run_meet` needs a call that returns.
[[gnu::noinline]] void gpu_run_poll(Context *context, u32 pc, u32 depth) {
  if (process_ended(*context->launch)) stop(*context, pc, depth, THREAD_Runnable);
}

// The lanes of a warp meet: waits until each other one has come here too, or has ended. Only in programs with `meet`, whose
// code has set Context::meets.
//
// Between two meetings a lane runs on its own. It may then wait for what another lane of its warp does, which waits here.
// So every way in which a lane may wait for ever comes here, again and again: what waits in the runtime or the interpreter
// (`let_meet`), and loops of compiled code with atomic accesses. All lanes wait at one instruction, with one mask.
//
// A lane may also wait at one of ptxas's convergence barriers for a lane that is here, in a function that was called from
// the barrier's region. Such a region has one of the barriers that callees save, and a callee clears what it saves, which
// lets go of those that wait there. So this function must save all of them. It does because of regions within each other,
// of calls that are never made. That it has them is tested: `cuda::machine_code`.
//
// Nothing is ordered by a meeting, and no result depends on it.
//
// `idle` is 0, or how often in a row the lane has waited in vain. If all lanes that are here wait they back off together.
// Else those that wait take no time from the others, which run until they come here again.
[[gnu::noinline]] void gpu_run_meet(Context *context, u32 idle) {
  // 0 or 1, so none of the bits is set that are asked for.
  volatile u32 &never = context->parked;
  const u32 bits = never;
  if (!idle && !load_relaxed_device(&context->launch->met)) store_relaxed_device(&context->launch->met, 1u);
  sync_lanes(context->meets);
  if (all_here(idle != 0)) backoff(idle);
  use_barriers<SAVED_BARRIERS>(never, bits, context);
}

// Prepares the lane's thread, which has the lane's number. Ends the lane if there is none or the process was
// stopped.
void gpu_run_begin(const Launch *launch, Context *context) {
  u32 id = global_lane();
  if (id >= launch->thread_count) {
    if (lane_in_block() % 32 == 0) steps::end();
    end_lane(*launch);
  }
  steps::begin();
  if (process_ended(*launch)) {
    if (stands::wanted(*launch)) red_add_device(&launch->stands->new_threads, 1u);
    end_lane(*launch);
  }
  if (launch->resumes && launch->threads[id].state != THREAD_New) return go_on_thread(*launch, *context, id);
  begin_thread(*launch, *context, id);
}

// Looks whether a thread was spawned in the lane's slot, and prepares it; 0 if there is none yet. Ends the lane when the
// process has ended. It has looked `idle` times in vain since its last thread.
//
// The caller asks again and again, while other lanes of its warp run. ptxas makes lanes that leave such a loop wait for
// those that stay in it, at a convergence barrier. It saves and clears the barriers of callers at the head of a function
// that calls others, as this one does: that lets go of them.
u32 gpu_run_next(const Launch *launch, Context *context, u32 idle) {
  const u32 id = global_lane();
  if (id >= launch->spawner->capacity) end_lane(*launch);
  u64 *mail = &launch->spawner->mail[id];
  const u64 found = look_acquire_device(mail, (u64)0);  // pairs with the release in `spawn::begin`
  if (found == 0) {
    pause_without_thread(*launch, idle);
    return 0;
  }
  // The slot is this thread's: nobody else writes there until it is given back.
  store_relaxed_device(mail, (u64)0);
  launch->threads[id].argument = (u32)found;
  begin_thread(*launch, *context, id);
  return 1;
}

// A lane of a batch begins. Ends it if it has no slot.
void gpu_run_begin_processes(Batch *batch, Context *) {
  const u32 index = processes::slot_of_lane(*batch);
  if (index == ~0u) end_lane(batch->programs->model->launch);
  processes::begin_lane(*batch, index);
}

// Waits for the lane's next process, and prepares it. Ends the lane if there is none. The lanes of a warp begin their processes
// together: on their ways apart they would run one after the other.
void gpu_run_next_process(Batch *batch, Context *context) {
  const u32 index = processes::slot_of_lane(*batch);
  ProcessSlot &slot = batch->slots[index];
  const u32 warp = processes::lanes_of_warp(*batch, index);
  processes::meet(warp);
  // Where a quarter of the lanes is gone, the host starts all of them again.
  if (load_relaxed_device(&batch->lost) > batch->slot_count / 4) end_lane(slot.launch);
  const u32 number = processes::draw(*batch);
  if (!processes::await(*batch, number)) end_lane(slot.launch);
  processes::meet(warp);
  processes::prepare_next(*batch, slot, index, number);
  processes::meet(warp);
  begin_thread(slot.launch, *context, index);
  context->instance = &slot.instance;
  context->memory = slot.instance.memories[0];
  context->base = context->memory->base;
}

// The process has returned.
void gpu_run_end_process(Context *context) {
  const Launch &launch = *context->launch;
  Thread &thread = *context->thread;
  if (launch.samples) end_samples(*context);
  if (thread.exceptions) exceptions::sweep(launch, thread, context->id, 0);
  thread.state = THREAD_Ended;
  tell_process_end(*context);
}

// The thread ended: its results are stored.
void gpu_run_finish(Context *context) {
  steps::end();
  const Launch &launch = *context->launch;
  Thread &thread = *context->thread;
  if (launch.samples) end_samples(*context);
  if (thread.exceptions) {
    u64 at = (u64)context->id * launch.result_units;
    exceptions::end_thread(launch, thread, context->id, {(u8 *)(launch.results + at), 4});
  }
  frames::mark_ended(launch, thread);
  spawn::count_returned(launch, context->id);
  if (launch.spawner) spawn::finish(launch, context->id);
}

// A lane of code with counters is about to return from its kernel.
void gpu_run_end_lane(const Launch *launch) {
  if (launch->counts) counts::end_lane(*launch);
}

// The warp has come to a step, which is STEP_Pass, STEP_Phase or a number between them.
void gpu_run_step(u32 step) { steps::come(step); }

// Ends the process with a trap. Of kind TRAP_None it ends the lane of a process that was stopped.
[[noreturn]] void gpu_run_trap(Context *context, u32 pc, u32 depth, u32 kind) {
  if (kind == TRAP_None) stop(*context, pc, depth, THREAD_Runnable);
  trap(*context, pc, depth, kind);
}

// Ends the process as an EndKind, with a value.
[[noreturn]] void gpu_run_exit(Context *context, u32 pc, u32 depth, u32 kind, u32 value) {
  end(*context, (EndKind)kind, value, pc, depth, context->calls);
}

// A barrier of all threads, at which this one has arrived: it waits for the next phase. Then all lanes of its warp that wait
// here go on together, which they may not have done before: where threads wait for each other, compiled code has no other
// place at which lanes meet.
//
// `met`, a word of the warp, has a bit for each lane that waits here. A lane sets its bit before it arrives, so once the
// phase has ended all of them are there to be seen. If they are `full`, all of the warp, they meet before that, and look at
// the phase together: else each lane of the device would look at one word by itself. A lane that sees the phase end looks
// at `met` afterwards, so all lanes of a warp choose the same way. None of them waits for anything else then, so the wait at
// the warp's barrier is short. Lanes that are interpreted or have no part in the barrier are not waited for.
GPU_RUN_NOINLINE void wait_with_warp(Context &context, u32 pc, u32 depth, u32 *met, u32 full, const u32 *phase,
                                     u32 began) {
  auto poll = [&](u32 looks) {
    if (looks % 64 == 0 && process_ended(*context.launch)) stop(context, pc, depth, THREAD_Busy);
  };
  // Acquire, here and below: pairs with the release of the last one that arrives.
  auto ended = [&] { return look_acquire_device(phase, began) != began; };
  for (u32 looks = 1; load_relaxed_device(met) != full; looks++) {
    if (looks % 4 == 0 && ended()) break;
    poll(looks);
    let_meet(context, looks);
  }
  const u32 lanes = load_relaxed_device(met);
  if (lanes != full && context.meets) {
    // Some lanes are elsewhere. Then some of these may be at a meeting, and must not be waited for.
    fetch_and_acq_rel_device(met, ~(1u << (lane_in_block() & 31)));
    return;
  }
  if (lanes == full) {
    sync_lanes(full);
    for (u32 looks = 1; !ended(); looks++) poll(looks);
  }
  sync_lanes(lanes);
  // One is enough, and they have all read it. Nobody sets a bit for the next phase before the second meeting.
  if ((lane_in_block() & 31) == (u32)__builtin_ctz(lanes)) store_relaxed_device(met, 0u);
  sync_lanes(lanes);
}

// Runs `barrier`. False if it is none of all threads, and so runs as other instructions do.
GPU_RUN_INLINE bool run_barrier(Context &context, u32 pc, u32 depth, const Memory &memory, Registers scratch, u64 w) {
  const Launch &launch = *context.launch;
  const u64 at = scratch.get32(slot(w, 2));
  // A thread that is alone waits for nobody; in a batch its neighbours are other processes.
  const bool of_all = scratch.get32(slot(w, 3)) == launch.thread_count && launch.thread_count > 1;
  if (launch.spawner || !of_all || at % 4) return false;
  if (!in_bounds(at, sizeof(work::BarrierWords), load_relaxed_device(&memory.size))) return false;
  work::BarrierWords &barrier = *(work::BarrierWords *)(memory.base + at);
  const u32 began = load_relaxed_device(&barrier.phase);
  // Two words in turns: a lane that was interpreted may be in the next phase while others still read this one's.
  Thread &first = launch.threads[context.id & ~31u];
  u32 *met = began % 2 ? &first.link : &first.home;
  // Release: before this lane arrives.
  fetch_or_acq_rel_device(met, 1u << (lane_in_block() & 31));
  const u32 last = work::arrive(barrier, launch.thread_count);
  const u32 threads = launch.thread_count - (context.id & ~31u);
  wait_with_warp(context, pc, depth, met, threads < 32 ? (1u << threads) - 1 : ~0u, &barrier.phase, began);
  scratch.set32(slot(w, 1), last ? 1 : work::PASSED);
  return true;
}

// Runs the instruction at `words`, which is in global memory: of a handler that needs
// neither the interpreter's frames nor its loop. Its registers are the units of Context::scratch.
void gpu_run_op(Context *context, u32 pc, u32 depth, u32 instance_index, const u64 *words) {
  const Launch &launch = *context->launch;
  const Instance &instance = launch.instances[instance_index];
  Registers scratch = {(u8 *)context->scratch, 4};
  u64 w = load_code(words);
  Memory &memory = *instance.memories[0];
  if ((u16)w == OP_barrier && run_barrier(*context, pc, depth, memory, scratch, w)) return;
  const CoalescedGroup together = match_group((u32)(u16)w);
  // A lane that is done waits for those that came with it. If one of these went to a meeting meanwhile, both would wait for
  // ever.
  const bool leave_together = work::is_prompt((u16)w);
  run_to_end(*context, pc, depth, !leave_together,
             [&] { return execute_aside(*context, instance, scratch, words, w); });
  if (leave_together) sync(together);
  if (UNLIKELY((u16)w == OP_alloc_batch) && memory.heap.sites) {
    note_batch(*context, memory, scratch, words, pc, depth);
  }
}

// Runs `request_queue` or `request_poll` at `words`, whose registers are the units of Context::scratch. The lane
// waits in here for its turn and for the host.
void gpu_run_request(Context *context, u32 pc, u32 depth, u32 instance_index, const u64 *words) {
  const u64 w = load_code(words);
  Registers scratch = {(u8 *)context->scratch, 4};
  if (requests::run_plain(*context->launch, *context->thread, context->id, scratch, w)) return;
  request(*context, pc, depth, instance_index, w);
}

// memory.copy and memcmp in memory 0 for short ranges, as most are. Compiled code asks these functions first. They
// call nothing, so ptxas needs no convergence barrier in them that they would have to save and clear; that lets go of
// the caller's lanes that wait at such a barrier. Bounds are modulo 2^32: memory has at least SHORT_UNITS bytes.

// Whether the ranges were in memory and short. If not, nothing was done.
u32 gpu_run_copy_short(u8 *base, u32 size, u32 to, u32 from, u32 len) {
  if (!linear::is_short(to, from, len) || to > size - len || from > size - len) return 0;
  linear::copy_short(base, to, base, from, len);
  return 1;
}

// As gpu_run_compare, or NOT_SHORT, which is the difference of no two bytes.
u32 gpu_run_compare_short(const u8 *base, u32 size, u32 a, u32 b, u32 len) {
  if (len > SHORT_UNITS || a > size - len || b > size - len) return NOT_SHORT;
  return linear::compare_bytes(base, a, b, len);
}

// memory.copy, with the records of the memories.
void gpu_run_copy(Context *context, u32 pc, u32 depth, const Memory *to, const Memory *from, u64 to_at, u64 from_at,
                  u64 len) {
  u64 from_size = load_relaxed_device(&from->size);
  if (!memory_copy(*context->launch, *to, to_at, from->base, from_size, from_at, len)) {
    trap(*context, pc, depth, TRAP_MemoryOutOfBounds);
  }
  poll_after(*context, pc, depth, len);
}

void gpu_run_fill(Context *context, u32 pc, u32 depth, const Memory *memory, u64 at, u32 value, u64 len) {
  if (!memory_fill(*context->launch, *memory, at, (u8)value, len)) trap(*context, pc, depth, TRAP_MemoryOutOfBounds);
  poll_after(*context, pc, depth, len);
}

// memcmp: the difference of the first two bytes that differ.
u32 gpu_run_compare(Context *context, u32 pc, u32 depth, const Memory *memory, u32 a, u32 b, u32 len) {
  u32 result = 0;
  if (!memory_compare(*context->launch, *memory, a, b, len, result)) trap(*context, pc, depth, TRAP_MemoryOutOfBounds);
  poll_after(*context, pc, depth, len);
  return result;
}

// A new block of the heap, or 0; its bytes are 0 if `zeroed` is not. If not, the caller has looked into the lane's
// own slabs.
u32 gpu_run_allocate(Context *context, u32 pc, u32 depth, Memory *memory, u32 size, u32 align, u32 zeroed) {
  u32 address = 0;
  heap_request(*context, pc, depth, address, [&] {
    return zeroed ? heap::allocate_zeroed(*context->launch, *memory, size, align, address)
                  : heap::unpack(heap::allocate_packed(*context->launch, *memory, size, align), address);
  });
  if (zeroed) poll_after(*context, pc, depth, size);
  if (UNLIKELY(memory->heap.sites != nullptr)) note_calls(*context, *memory, address, pc, depth);
  return address;
}

// Frees a block for which it does not do to set a bit in a slab of the lane's, as the caller has seen.
void gpu_run_release(Context *context, u32 pc, u32 depth, Memory *memory, u32 address, u32 size, u32 align) {
  heap_request(*context, pc, depth, address, [&] { return heap::release_slowly(*memory, address, size, align); });
}

// What the lane's own slabs can do of it, without a call; see heap::resize_own.
u32 gpu_run_reallocate_own(u64 *lists, LaneSlab *slabs, u32 lanes, u32 records, u8 *base, u32 old, u32 old_size, u32 align,
                           u32 size) {
  return heap::resize_own({lists, slabs, lanes, records, global_lane()}, base, old, old_size, align, size);
}

u32 gpu_run_reallocate(Context *context, u32 pc, u32 depth, Memory *memory, u32 old, u32 old_size, u32 align, u32 size) {
  u32 address = 0, copied = 0;
  heap_request(*context, pc, depth, old, [&] {
    return heap::reallocate_slowly(*context->launch, *memory, old, old_size, align, size, address, copied);
  });
  poll_after(*context, pc, depth, copied);
  if (UNLIKELY(memory->heap.sites != nullptr)) note_calls(*context, *memory, address, pc, depth);
  return address;
}

void gpu_run_print(Context *context, u32 pc, u32 depth, const Memory *memory, u32 stream, u32 from, u32 len) {
  if (!in_bounds(from, len, load_relaxed_device(&memory->size))) trap(*context, pc, depth, TRAP_MemoryOutOfBounds);
  const u8 *text = memory->base + from;
  Ring &ring = *context->launch->ring;
  u32 idle = 0;
  // A full ring makes the thread wait for the host, so nothing is lost.
  for (u64 done = 0; done < len;) {
    if (!output::append_piece(ring, told_number(*context->launch, context->id), stream, text, len, done)) wait(*context, pc, depth, STAND_Output, idle);
  }
  poll_after(*context, pc, depth, len);
}

void gpu_run_print_end(Context *context, u32 stream) {
  u32 idle = 0;
  while (!output::append(*context->launch->ring, RECORD_Close, told_number(*context->launch, context->id), stream, nullptr, 0)) {
    wait(*context, 0, 1, STAND_Output, idle);
  }
}

// A debug instruction whose operands are all in `value`, by its opcode.
void gpu_run_debug(Context *context, u32 op, u64 value) {
  u32 idle = 0;
  while (!debug::step(*context->launch, context->id, op, value)) wait(*context, 0, 1, STAND_Output, idle);
}

// An exception begins, whose values and their count are in the context. `tag` is the store's number.
void gpu_run_throw(Context *context, u32 pc, u32 depth, u32 tag) { begin_throw(*context, pc, depth, tag, 0); }

// The exception of a reference is thrown again; a trap if that is null.
void gpu_run_throw_ref(Context *context, u32 pc, u32 depth, u32 reference) {
  const Launch &launch = *context->launch;
  if (reference == 0) trap(*context, pc, depth, TRAP_NullExceptionReference);
  const Chunk &exception = exceptions::find(launch, reference);
  begin_throw(*context, pc, depth, exception.tag, reference);
  context->count = exception.count;
  exceptions::read_values(*launch.exceptions, reference, exception.count,
                          [&](u32 i, u32 unit) { context->values()[i] = unit; });
}

// A reference to the exception under way. Compiled functions show what they may hold in `roots`.
u32 gpu_run_reference(Context *context, u32, u32) {
  Thread &thread = *context->thread;
  Registers values = {(u8 *)context->values(), 4};
  bool due = thread.exception_count >= thread.exception_limit;
  while (context->reference == 0) {
    if (due) collect(*context);
    context->reference =
        exceptions::make(*context->launch, thread, context->id, context->tag, values, 0, context->count);
    // The interpreter makes it before it leaves the frames, so that the trap is at the throw.
    if (context->reference == 0 && due) trap_at_throw(*context, TRAP_TooManyExceptions);
    due = true;
  }
  return context->reference;
}

// The exception has left the thread's first frame.
[[noreturn]] void gpu_run_unhandled(Context *context) { trap_at_throw(*context, TRAP_UnhandledException); }
}

}  // namespace gpu_run
