// Frames beyond the fast path: bridges to other register segments and instances, and the walk
// along the stack that a fault's backtrace needs.
//
// A call normally puts the callee's frame over the caller's outgoing arguments. Where the segment has no room, or the
// callee belongs to another instance, a bridge is built. It is BRIDGE units of bookkeeping, then the callee's frame
// with a copy of the arguments. The callee returns to BRIDGE_RETURN, which copies the results back and undoes the
// bridge.
#pragma once

#include "access.h"
#include "compiled.h"
#include "free_list.h"
#include "generated/isa.h"
#include "resume_state.h"

namespace gpu_run {

// A running thread's state, as slow paths take it.
struct MachineState {
  Registers registers;
  u32 room;
  u32 header;
  u32 pc;
  u32 instance;
  u32 depth;  // frames on the stack
};

// How an instruction outside of the interpreter's loop ended.
enum DoneKind : u32 {
  DONE_Step,  // go on `value` words further
  DONE_Moved,  // go on where the state is now
  DONE_Wait,  // leave the lane; go on `value` words further when the thread runs again
  DONE_Trap,  // end the process with trap `value`
  DONE_Ended,  // the thread is over
};
struct StepResult {
  u32 kind;
  u32 value;
  u32 cost;  // branches that it counts like
};

// Interpreted frames that wait for a compiled function, which the innermost of them has called.
struct Suspended {
  const Suspended *outer;
  MachineState state;
};

namespace frames {

// A thread has ended. Release: pairs with the acquire in `heap::is_over`, whose lane goes on with what this one had.
GPU_RUN_INLINE void mark_ended(const Launch &launch, Thread &thread) {
  if (launch.lane_heaps) return store_release_device(&thread.state, (u32)THREAD_Ended);
  thread.state = THREAD_Ended;
}

constexpr u32 BRIDGE = 10;
enum BridgeUnit : u32 {
  BRIDGE_FrameLow = 0,
  BRIDGE_FrameHigh = 1,
  BRIDGE_Room = 2,
  BRIDGE_Stride = 3,
  BRIDGE_Base = 4,  // caller's base unit, and units copied in the upper half
  BRIDGE_Header = 5,
  BRIDGE_ReturnPc = 6,
  BRIDGE_Instance = 7,
  BRIDGE_Segment = 8,  // what to return: 0 nothing, 1 the lane's own segment, n + 2 segment n
  BRIDGE_SegmentSize = 9,
};

GPU_RUN_INLINE u32 head_frame(u64 head) { return (u32)(head >> 16) & 0xffff; }
GPU_RUN_INLINE u32 head_header(u64 head) { return (u32)(head >> 32) & 0xffff; }
// 1 + the function's number among Launch::natives, or 0.
GPU_RUN_INLINE u32 head_native(u64 head) { return (u32)(head >> 48); }

// Notes that the basic block runs whose first word is `at`, where `visit` took the place of its opcode, and returns what
// stands in Launch::visits. The code stays as it is, because it is read through caches that see no writes.
GPU_RUN_INLINE u16 visit(const Launch &launch, u32 at) {
  // Other lanes may note the same block now, and some of it may be lost: what is noted is how often, about, up to 31. All
  // but the count stays the same. The host looks after the run.
  const u16 visit = load_hint(&launch.visits[at]);
  if (visit < VISIT_OFTEN) store_relaxed_device(&launch.visits[at], (u16)(visit + VISIT_ONCE));
  return visit;
}

GPU_RUN_INLINE Registers back_by(const Registers &registers, u32 units) {
  return {registers.frame - (u64)units * registers.stride, registers.stride};
}

// The function that element `index` of table `table` refers to; a trap if its type is not `type`.
GPU_RUN_INLINE u32 indirect(const Launch &launch, const Instance &instance, u32 table, u32 index, u32 type,
                            const Func *&func) {
  const Table &in = *instance.tables[table];
  if (index >= load_relaxed_device(&in.size)) return TRAP_UndefinedElement;
  u32 ref = load_relaxed_device(&in.elements[index]);
  if (ref == 0) return TRAP_UninitializedElement;
  func = &launch.funcs[ref - 1];
  return func->type_index == instance.types[type] ? TRAP_None : TRAP_IndirectCallTypeMismatch;
}

// Lists of free segments, whose numbers there are 1 + theirs. Links are apart from the segments, whose next owner writes
// there with plain accesses.
GPU_RUN_INLINE u32 pop_segment(Arena &arena, u64 *list) {
  return free_list::pop(list, [&](u32 number) { return &arena.next[number - 1]; }) - 1;
}

GPU_RUN_INLINE void push_segment(Arena &arena, u64 *list, u32 segment) {
  free_list::push(list, segment + 1, [&](u32 number) { return &arena.next[number - 1]; });
}

// Takes a segment of SEGMENT << size bytes from the arena; ~0 if there is none. Lanes that come here together form a
// coalesced group and take new ones by a single exchange. At the beginning of a launch all of the GPU may do so.
GPU_RUN_INLINE u32 take_segment(Arena &arena, u32 size) {
  u32 free = pop_segment(arena, &arena.free[size]);
  if (free != ~0u) return free;
  const u64 bytes = (u64)SEGMENT << size;
  const CoalescedGroup group = match_group((u64)&arena + size);
  u64 used = 0;
  u32 taken = 0;
  if (group.is_leader()) {
    used = load_relaxed_device(&arena.used);
    do {
      u64 room = (arena.size - used) / bytes;
      taken = room < group.size ? (u32)room : group.size;
    } while (taken && !compare_exchange_acq_rel_device(&arena.used, used, used + taken * bytes));
  }
  used = broadcast(group, used);
  taken = broadcast(group, taken);
  return group.rank < taken ? (u32)(used / SEGMENT) + (group.rank << size) : ~0u;
}

GPU_RUN_INLINE void give_segment(Arena &arena, u32 segment, u32 size) {
  push_segment(arena, &arena.free[size], segment);
}

// First segments of threads, all of one size, have lists of their own, so that few lanes meet at one of them.
GPU_RUN_INLINE void give_first_segment(Arena &arena, u32 list, u32 segment) {
  push_segment(arena, &arena.spares[list % SPARE_LISTS], segment);
}

// Where new ones are used up, a lane looks into some of these lists, others each time, and divides the segments that
// calls returned. Returns ~0 if there was none there; a thread that gets none begins later.
constexpr u32 SPARE_LOOKS = 64;
GPU_RUN_NOINLINE u32 take_first_segment(Arena &arena, u32 lane, u32 size) {
  u32 segment = take_segment(arena, size);
  if (segment != ~0u) return segment;
  // The clock may move in steps: its product spreads them.
  const u32 first = lane + (u32)(clock_ns() * 0x9e3779b97f4a7c15ull >> 32);
  for (u32 i = 0; i < SPARE_LOOKS && segment == ~0u; i++) {
    segment = pop_segment(arena, &arena.spares[(first + i) % SPARE_LISTS]);
  }
  for (u32 larger = size + 1; larger < SEGMENT_SIZES && segment == ~0u; larger++) {
    segment = pop_segment(arena, &arena.free[larger]);
    for (u32 piece = 1; segment != ~0u && piece < 1u << (larger - size); piece++) {
      give_first_segment(arena, lane + piece, segment + (piece << size));
    }
  }
  return segment;
}

// The lane's own segment in memory.
GPU_RUN_INLINE Registers lane_segment(const Launch &launch, u32 lane) {
  u32 lanes = lanes_in_block();
  u64 block = (u64)(lane / lanes) * launch.lane_segment_units * lanes * 4;
  return {launch.lane_segments + block + (u64)(lane % lanes) * 4, lanes * 4};
}

struct Segment {
  Registers registers;
  u32 room;
  u32 give_back;  // as BRIDGE_Segment
  u32 size;
};

// Segment number `index` of the arena.
GPU_RUN_INLINE Segment segment_at(const Launch &launch, u32 index, u32 size) {
  return {{launch.arena->base + (u64)index * SEGMENT, 4}, (SEGMENT << size) / 4, index + 2, size};
}

// Finds room for `units` units, in a segment of the size `usual` if they fit; false if there is none.
GPU_RUN_INLINE bool new_segment(const Launch &launch, Thread &thread, u32 lane, u32 units, Segment &segment,
                                u32 usual = CALL_SEGMENT) {
  if (!thread.lane_segment_used && units <= launch.lane_segment_units) {
    thread.lane_segment_used = 1;
    segment = {lane_segment(launch, lane), launch.lane_segment_units, 1, 0};
    return true;
  }
  u32 least = 0;
  while (((u64)SEGMENT << least) / 4 < units) least++;
  if (least >= SEGMENT_SIZES) return false;
  u32 size = least > usual ? least : usual, index = take_segment(*launch.arena, size);
  // Where memory runs short, the smallest that will do, and those of threads that have ended.
  if (index == ~0u && least < size) index = take_segment(*launch.arena, size = least);
  if (index == ~0u && launch.multiplexed > least) {
    index = take_first_segment(*launch.arena, lane, size = launch.multiplexed - 1);
  }
  if (index == ~0u) return false;
  segment = segment_at(launch, index, size);
  return true;
}

// Builds a bridge for a call of the function at word `target` of `instance`, and moves `state` into the callee. The
// callee's frame is at unit `base` of the caller's. False if there is no memory.
GPU_RUN_NOINLINE bool build_bridge(const Launch &launch, Thread &thread, u32 lane, MachineState &state, u32 target, u32 base,
                                   u32 instance) {
  u64 head = load_code(launch.code + target);
  u32 frame = head_frame(head), header = head_header(head);
  Registers caller = state.registers;
  Segment segment;
  u32 here = base + header;
  if (here + BRIDGE + frame <= state.room) {
    segment = {{caller.frame + (u64)here * caller.stride, caller.stride}, state.room - here, 0, 0};
  } else if (!new_segment(launch, thread, lane, BRIDGE + frame, segment)) {
    return false;
  }
  Registers bridge = segment.registers;
  bridge.set32(BRIDGE_FrameLow, (u32)(u64)caller.frame);
  bridge.set32(BRIDGE_FrameHigh, (u32)((u64)caller.frame >> 32));
  bridge.set32(BRIDGE_Room, state.room);
  bridge.set32(BRIDGE_Stride, caller.stride);
  bridge.set32(BRIDGE_Base, base | header << 16);
  bridge.set32(BRIDGE_Header, state.header);
  bridge.set32(BRIDGE_ReturnPc, state.pc);
  bridge.set32(BRIDGE_Instance, state.instance);
  bridge.set32(BRIDGE_Segment, segment.give_back);
  bridge.set32(BRIDGE_SegmentSize, segment.size);
  Registers callee = {bridge.frame + (u64)BRIDGE * bridge.stride, bridge.stride};
  for (u32 i = 0; i < header; i++) callee.set32(i, caller.get32(base + i));
  callee.set32(header, PC_BRIDGE_RETURN);
  callee.set32(header + 1, 0);
  state = {callee, segment.room - BRIDGE, header, target + 1, instance, state.depth + 1};
  return true;
}

// Units of the caller's frame that are in use while the callee at `state` runs.
GPU_RUN_INLINE u32 units_below(const MachineState &state) {
  if (state.registers.get32(state.header) == PC_BRIDGE_RETURN) {
    return back_by(state.registers, BRIDGE).get32(BRIDGE_Base) & 0xffff;
  }
  return state.registers.get32(state.header + 1) & 0xffff;
}

// Why a bridge is crossed: to look at the caller, to leave for it after a throw, or to return to it.
enum Crossing : u32 { LOOK, UNWIND, RETURN };

// Segments that a throw has left, as a list through the arena's links: index + 1, and above it the size. They are
// returned once the exception's values, which lie in one of them, are copied.
constexpr u32 LEFT_SIZE_SHIFT = 28;
GPU_RUN_INLINE void give_left(Arena &arena, u32 list) {
  while (list) {
    u32 segment = (list & ((1u << LEFT_SIZE_SHIFT) - 1)) - 1;
    u32 next = load_relaxed_device(&arena.next[segment]);
    give_segment(arena, segment, list >> LEFT_SIZE_SHIFT);
    list = next;
  }
}

// Goes back over a bridge: `state` has unit 0 of the callee's frame, on RETURN with the results in it.
GPU_RUN_NOINLINE void cross_bridge(const Launch &launch, Thread &thread, MachineState &state, Crossing crossing,
                                   u32 &left) {
  Registers callee = state.registers;
  Registers bridge = back_by(callee, BRIDGE);
  u64 frame = bridge.get32(BRIDGE_FrameLow) | (u64)bridge.get32(BRIDGE_FrameHigh) << 32;
  Registers caller = {(u8 *)frame, bridge.get32(BRIDGE_Stride)};
  u32 base = bridge.get32(BRIDGE_Base);
  MachineState back = {caller, bridge.get32(BRIDGE_Room), bridge.get32(BRIDGE_Header), bridge.get32(BRIDGE_ReturnPc),
                bridge.get32(BRIDGE_Instance), state.depth};
  // A `return` has left the frame already.
  if (crossing != RETURN) back.depth--;
  if (crossing == RETURN) {
    for (u32 i = 0; i < base >> 16; i++) caller.set32((base & 0xffff) + i, callee.get32(i));
  }
  u32 segment = bridge.get32(BRIDGE_Segment), size = bridge.get32(BRIDGE_SegmentSize);
  if (crossing != LOOK && segment == 1) thread.lane_segment_used = 0;
  if (crossing == RETURN && segment > 1) give_segment(*launch.arena, segment - 2, size);
  if (crossing == UNWIND && segment > 1) {
    // The link belongs to this thread as long as the segment does.
    store_relaxed_device(&launch.arena->next[segment - 2], left);
    left = (segment - 1) | size << LEFT_SIZE_SHIFT;
  }
  state = back;
}

// Whether the caller is the one to end the process: no thread has. Acquire/release: there is nothing to order but the
// winner's own writes.
GPU_RUN_INLINE bool claim_end(const Launch &launch) {
  u32 unclaimed = 0;
  return compare_exchange_acq_rel_device(&launch.claimed, unclaimed, 1u);
}

// Makes every thread of the process stop at its next poll.
GPU_RUN_INLINE void stop_threads(const Launch &launch) {
  store_relaxed_system(&launch.control->stop, (u32)STOP_Ends);
  store_relaxed_device(&launch.stop, (u32)STOP_Ends);
}

// Ends the process unless another thread already did. Records how and where, with the backtrace that `trace` makes.
// Makes every thread of the process stop at its next poll.
template <typename Trace>
GPU_RUN_INLINE void record_end(const Launch &launch, u32 id, EndKind kind, u32 value, u32 pc, Trace trace) {
  End &end = launch.control->end;
  if (kind != END_Exit) red_add_device(&launch.diagnostics->faults, 1u);
  if (claim_end(launch)) {
    end.value = value;
    end.thread = id;
    end.pc = pc;
    trace(end);
    // The host reads the record once it sees the kind: release here, acquire there.
    store_release_system(&end.kind, (u32)kind);
  }
  stop_threads(launch);
}

// Walks the stack from `state` and passes each return address to `visit`, innermost first, until that returns false.
template <typename Visit>
GPU_RUN_INLINE void each_call(const Launch &launch, Thread &thread, MachineState state, Visit visit) {
  for (;;) {
    u32 pc = state.registers.get32(state.header);
    u32 back = state.registers.get32(state.header + 1);
    if (pc == PC_THREAD_END) return;
    if (pc == PC_NATIVE_RETURN) return native::each_call(*thread.native, visit);
    if (pc == PC_BRIDGE_RETURN) {
      u32 left = 0;
      cross_bridge(launch, thread, state, LOOK, left);
      pc = state.pc;
    } else {
      state.registers = back_by(state.registers, back & 0xffff);
      state.header = back >> 16;
    }
    if (!visit(pc)) return;
  }
}

// Keeps where a thread is: its frames are looked at once more after its end.
GPU_RUN_INLINE void leave_state(Thread &thread, const MachineState &state) {
  thread.pc = state.pc;
  thread.frame = state.registers.frame;
  thread.stride = state.registers.stride;
  thread.room = state.room;
  thread.header = state.header;
  thread.depth = state.depth;
  thread.instance = state.instance;
}

// The same for a thread at `state`, which it ends.
GPU_RUN_NOINLINE void end_process(const Launch &launch, Thread &thread, u32 id, MachineState state, EndKind kind, u32 value) {
  if (launch.batch) leave_state(thread, state);
  record_end(launch, id, kind, value, state.pc, [&](End &end) {
    end.depth = state.depth;
    u32 units = state.room < END_UNITS ? state.room : END_UNITS;
    for (u32 i = 0; i < units; i++) end.units[i] = state.registers.get32(i);
    end.unit_count = units;
    end.detail = resume::count(thread);
    u32 frames = 0;
    const u32 place_depth = state.depth;
    each_call(launch, thread, state, [&](u32 pc) {
      end.note(frames++, pc, place_depth);
      return true;
    });
    end.frames = frames;
  });
  mark_ended(launch, thread);
}

}  // namespace frames
}  // namespace gpu_run
