// Made from vm/src/layout.rs; see vm/src/layout/check.rs. Do not edit.
#pragma once

#include "compiled.h"

#if !defined(GPU_RUN_LAYOUT_UNCHECKED)
namespace gpu_run {

#define CONSTANT(name, value) static_assert((u64)name == value, #name " has another value in vm/src/layout.rs")
#define SIZE(type, size) static_assert(sizeof(type) == size, #type " has another size in vm/src/layout.rs")
#define FIELD(type, field, offset, size) \
  static_assert(__builtin_offsetof(type, field) == offset && sizeof(type::field) == size, \
                #type "::" #field " lies elsewhere in vm/src/layout.rs")

CONSTANT(PC_BRIDGE_RETURN, 0);
CONSTANT(PC_THREAD_END, 1);
CONSTANT(PC_NATIVE_RETURN, 2);
CONSTANT(VISIT_OPCODE, 1023);
CONSTANT(VISIT_LOOP, 1024);
CONSTANT(VISIT_ONCE, 2048);
CONSTANT(VISIT_OFTEN, 63488);
CONSTANT(VISIT_CALLED, 1024);
CONSTANT(PAGE, 65536);
CONSTANT(SEGMENT, 4096);
CONSTANT(SEGMENT_SIZES, 8);
CONSTANT(CALL_SEGMENT, 4);
CONSTANT(SPARE_LISTS, 1024);
CONSTANT(INTERPRETER_STACK, 4096);
CONSTANT(BACKTRACE, 64);
CONSTANT(OUTER_CALLS, 16);
CONSTANT(STAND_CALLS, 12);
CONSTANT(STANDS, 256);
CONSTANT(SAMPLE_CALLS, 60);
CONSTANT(RAW_CALLS, 26);
CONSTANT(END_UNITS, 32);
CONSTANT(DEBUG_WORDS, 26);
CONSTANT(CHUNK_UNITS, 8);
CONSTANT(COMMANDS, 1024);
CONSTANT(WAIT_BUCKETS, 1024);
CONSTANT(REQUEST_SLOTS, 512);
CONSTANT(REQUEST_BYTES, 4096);
CONSTANT(REQUEST_RESULTS, 64);
CONSTANT(MESSAGE_WORDS, 16);
CONSTANT(MESSAGE_ARGUMENTS, 12);
CONSTANT(MESSAGE_KIND, 16);
CONSTANT(MESSAGE_DATA, 16777216);
CONSTANT(MESSAGE_RESULTS, 33554432);
CONSTANT(RESPONSE_WORDS, 4);
CONSTANT(RESPONSE_RESULTS, 3);
CONSTANT(RESPONSE_COUNT, 16);
CONSTANT(RESPONSE_SLOT, 16777216);
CONSTANT(STREAM_DESCRIPTORS, 32);
CONSTANT(FILE_DESCRIPTORS, 256);
CONSTANT(FILE_BLOCK, 16384);
CONSTANT(DEBUG_FILE, 127);
CONSTANT(TMPFS_BLOCK, 4096);
CONSTANT(TMPFS_DIRECT, 16);
CONSTANT(TMPFS_DESCRIPTORS, 65536);
CONSTANT(HEAP_CLASSES, 44);
CONSTANT(HEAP_GROUPS, 128);
CONSTANT(HEAP_STRIPES, 16);
CONSTANT(HEAP_WORDS, 64);
CONSTANT(LANE_CLASSES, 20);
CONSTANT(LANE_MOST, 1024);
CONSTANT(SHORT_UNITS, 64);
CONSTANT(NOT_SHORT, 2147483648);
CONSTANT(LANE_SLAB, 1024);
CONSTANT(SITE_GRAIN, 64);
CONSTANT(SITE_CALLS, 5);
CONSTANT(SITE_ALIGN, 8);
CONSTANT(HEAP_LARGEST, 57344);
CONSTANT(GUARD_FRONT, 16);
CONSTANT(GUARD_FRONT_MOST, 4096);
CONSTANT(GUARD_LEAST, 16);
CONSTANT(GUARD_MOST, 64);
CONSTANT(GUARD, 253);
CONSTANT(POISON, 221);
CONSTANT(POISON_MOST, 65536);
CONSTANT(TMPFS_ENTRIES, 1024);
CONSTANT(SCRATCH_UNITS, 32);
CONSTANT(MESSAGE_Head, 0);
CONSTANT(MESSAGE_Thread, 1);
CONSTANT(MESSAGE_Capacity, 2);
CONSTANT(MESSAGE_Total, 3);
CONSTANT(MESSAGE_Units, 4);
CONSTANT(SITE_Live, 1);
CONSTANT(SITE_Freed, 2);
CONSTANT(KIND_None, 0);
CONSTANT(KIND_Region, 1);
CONSTANT(FUNC_Wasm, 0);
CONSTANT(FUNC_Nothing, 1);
CONSTANT(THREAD_Sleeping, 2);
CONSTANT(THREAD_Ended, 3);
CONSTANT(THREAD_Waiting, 4);
CONSTANT(THREAD_Requesting, 5);
CONSTANT(THREAD_Busy, 6);
CONSTANT(STAND_Output, 16);
CONSTANT(STOP_Ends, 1);
CONSTANT(STOP_Parks, 2);
CONSTANT(PARKS_May, 1);
CONSTANT(PARKS_Soon, 2);
CONSTANT(END_Trap, 1);
CONSTANT(END_Exit, 2);
CONSTANT(END_Panic, 3);
CONSTANT(REQUEST_Call, 1);
CONSTANT(REQUEST_More, 2);
CONSTANT(REQUEST_Next, 3);
CONSTANT(FILE_Closes, 2);
CONSTANT(NOTE_None, 0);
CONSTANT(NOTE_Position, 1);
CONSTANT(NOTE_Keep, 2);
CONSTANT(NOTE_Changes, 3);
CONSTANT(NOTE_Tmpfs, 4);
CONSTANT(NOTE_Free, 5);
CONSTANT(TMPFS_FlagShift, 24);
CONSTANT(TMPFS_Read, 1);
CONSTANT(TMPFS_Write, 2);
CONSTANT(TMPFS_Append, 4);
CONSTANT(TMPFS_Truncate, 8);
CONSTANT(RECORD_Empty, 0);
CONSTANT(RECORD_Text, 2);
CONSTANT(RECORD_Close, 3);
CONSTANT(RECORD_Debug, 4);
CONSTANT(RECORD_Process, 5);
CONSTANT(DEBUG_First, 1);
CONSTANT(DEBUG_Last, 2);
CONSTANT(DEBUG_Line, 4);
CONSTANT(DEBUG_UsedShift, 8);

SIZE(HeapPage, 528);
FIELD(HeapPage, state, 0, 8);
FIELD(HeapPage, first, 8, 4);
FIELD(HeapPage, pad, 12, 4);
FIELD(HeapPage, bits, 16, 512);

SIZE(HeapSite, 32);
FIELD(HeapSite, size, 0, 4);
FIELD(HeapSite, state, 4, 4);
FIELD(HeapSite, pc, 8, 4);
FIELD(HeapSite, calls, 12, 20);

SIZE(LaneSlab, 32);
FIELD(LaneSlab, free, 0, 8);
FIELD(LaneSlab, owner, 8, 4);
FIELD(LaneSlab, next, 12, 4);
FIELD(LaneSlab, freed, 16, 8);
FIELD(LaneSlab, previous, 24, 4);
FIELD(LaneSlab, inbox, 28, 4);

SIZE(Heap, 6248);
FIELD(Heap, pages, 0, 8);
FIELD(Heap, sets, 8, 8);
FIELD(Heap, slots, 16, 8);
FIELD(Heap, sites, 24, 8);
FIELD(Heap, lane_lists, 32, 8);
FIELD(Heap, lane_slabs, 40, 8);
FIELD(Heap, lane_inboxes, 48, 8);
FIELD(Heap, lanes, 56, 4);
FIELD(Heap, lane_records, 60, 4);
FIELD(Heap, page_limit, 64, 4);
FIELD(Heap, guards, 68, 4);
FIELD(Heap, width, 72, 176);
FIELD(Heap, slab_pages, 248, 176);
FIELD(Heap, lock, 424, 4);
FIELD(Heap, held, 428, 4);
FIELD(Heap, used, 432, 4);
FIELD(Heap, used_peak, 436, 4);
FIELD(Heap, failed, 440, 4);
FIELD(Heap, relieved, 444, 4);
FIELD(Heap, live_bytes, 448, 8);
FIELD(Heap, live_peak, 456, 8);
FIELD(Heap, lanes_used, 464, 4);
FIELD(Heap, lanes_waste, 468, 4);
FIELD(Heap, lane_bytes, 472, 8);
FIELD(Heap, transit, 480, 8);
FIELD(Heap, allocated, 488, 5760);

SIZE(Memory, 6288);
FIELD(Memory, base, 0, 8);
FIELD(Memory, size, 8, 8);
FIELD(Memory, limit, 16, 8);
FIELD(Memory, wide, 24, 4);
FIELD(Memory, shared, 28, 4);
FIELD(Memory, heap, 32, 6248);
FIELD(Memory, refused, 6280, 8);

SIZE(Table, 16);
FIELD(Table, elements, 0, 8);
FIELD(Table, size, 8, 4);
FIELD(Table, limit, 12, 4);

SIZE(DataSegment, 16);
FIELD(DataSegment, bytes, 0, 8);
FIELD(DataSegment, len, 8, 8);

SIZE(ElemSegment, 16);
FIELD(ElemSegment, refs, 0, 8);
FIELD(ElemSegment, len, 8, 8);

SIZE(Func, 16);
FIELD(Func, kind, 0, 4);
FIELD(Func, instance, 4, 4);
FIELD(Func, pc, 8, 4);
FIELD(Func, type_index, 12, 4);

SIZE(Native, 16);
FIELD(Native, code, 0, 8);
FIELD(Native, stack, 8, 8);

SIZE(Instance, 72);
FIELD(Instance, memories, 0, 8);
FIELD(Instance, tables, 8, 8);
FIELD(Instance, globals, 16, 8);
FIELD(Instance, funcs, 24, 8);
FIELD(Instance, types, 32, 8);
FIELD(Instance, data, 40, 8);
FIELD(Instance, elems, 48, 8);
FIELD(Instance, tags, 56, 8);
FIELD(Instance, memory_count, 64, 4);
FIELD(Instance, thread_start, 68, 4);

SIZE(Thread, 152);
FIELD(Thread, state, 0, 4);
FIELD(Thread, pc, 4, 4);
FIELD(Thread, frame, 8, 8);
FIELD(Thread, stride, 16, 4);
FIELD(Thread, room, 20, 4);
FIELD(Thread, header, 24, 4);
FIELD(Thread, depth, 28, 4);
FIELD(Thread, instance, 32, 4);
FIELD(Thread, stack_limit, 36, 4);
FIELD(Thread, resume_state, 40, 8);
FIELD(Thread, wake, 48, 8);
FIELD(Thread, globals, 56, 8);
FIELD(Thread, lane_segment_used, 64, 4);
FIELD(Thread, exceptions, 68, 4);
FIELD(Thread, exception_count, 72, 4);
FIELD(Thread, exception_limit, 76, 4);
FIELD(Thread, segment, 80, 4);
FIELD(Thread, segment_size, 84, 4);
FIELD(Thread, woken, 88, 4);
FIELD(Thread, next, 92, 4);
FIELD(Thread, previous, 96, 4);
FIELD(Thread, request, 100, 4);
FIELD(Thread, waits_at, 104, 8);
FIELD(Thread, message_number, 112, 4);
FIELD(Thread, moved, 116, 4);
FIELD(Thread, answer, 120, 4);
FIELD(Thread, random, 124, 4);
FIELD(Thread, home, 128, 4);
FIELD(Thread, link, 132, 4);
FIELD(Thread, argument, 136, 4);
FIELD(Thread, start, 140, 4);
FIELD(Thread, native, 144, 8);

SIZE(Bucket, 16);
FIELD(Bucket, lock, 0, 4);
FIELD(Bucket, first, 4, 4);
FIELD(Bucket, last, 8, 4);
FIELD(Bucket, pad, 12, 4);

SIZE(End, 416);
FIELD(End, kind, 0, 4);
FIELD(End, value, 4, 4);
FIELD(End, thread, 8, 4);
FIELD(End, pc, 12, 4);
FIELD(End, depth, 16, 4);
FIELD(End, frames, 20, 4);
FIELD(End, unit_count, 24, 4);
FIELD(End, detail, 28, 4);
FIELD(End, backtrace, 32, 256);
FIELD(End, units, 288, 128);

SIZE(DebugThread, 120);
FIELD(DebugThread, used, 0, 4);
FIELD(DebugThread, begun, 4, 4);
FIELD(DebugThread, lost, 8, 4);
FIELD(DebugThread, level, 12, 4);
FIELD(DebugThread, words, 16, 104);

SIZE(Diagnostics, 40);
FIELD(Diagnostics, threads, 0, 8);
FIELD(Diagnostics, first_thread, 8, 4);
FIELD(Diagnostics, last_thread, 12, 4);
FIELD(Diagnostics, least_level, 16, 4);
FIELD(Diagnostics, drop, 20, 4);
FIELD(Diagnostics, dropped, 24, 8);
FIELD(Diagnostics, faults, 32, 4);
FIELD(Diagnostics, pad, 36, 4);

SIZE(Ring, 56);
FIELD(Ring, bytes, 0, 8);
FIELD(Ring, capacity, 8, 8);
FIELD(Ring, head, 16, 8);
FIELD(Ring, free, 24, 8);
FIELD(Ring, tail_seen, 32, 8);
FIELD(Ring, looked, 40, 8);
FIELD(Ring, tail, 48, 8);

SIZE(Record, 16);
FIELD(Record, kind, 0, 4);
FIELD(Record, len, 4, 4);
FIELD(Record, thread, 8, 4);
FIELD(Record, stream, 12, 4);

SIZE(Control, 480);
FIELD(Control, stop, 0, 4);
FIELD(Control, pad, 4, 60);
FIELD(Control, end, 64, 416);

SIZE(Arena, 112);
FIELD(Arena, base, 0, 8);
FIELD(Arena, size, 8, 8);
FIELD(Arena, used, 16, 8);
FIELD(Arena, free, 24, 64);
FIELD(Arena, next, 88, 8);
FIELD(Arena, spares, 96, 8);
FIELD(Arena, lanes, 104, 8);

SIZE(TryFunction, 16);
FIELD(TryFunction, start, 0, 4);
FIELD(TryFunction, end, 4, 4);
FIELD(TryFunction, first_try, 8, 4);
FIELD(TryFunction, try_count, 12, 4);

SIZE(Try, 16);
FIELD(Try, start, 0, 4);
FIELD(Try, end, 4, 4);
FIELD(Try, first_clause, 8, 4);
FIELD(Try, clause_count, 12, 4);

SIZE(Clause, 16);
FIELD(Clause, tag, 0, 4);
FIELD(Clause, reference, 4, 4);
FIELD(Clause, unit, 8, 4);
FIELD(Clause, target, 12, 4);

SIZE(Chunk, 64);
FIELD(Chunk, tag, 0, 4);
FIELD(Chunk, count, 4, 4);
FIELD(Chunk, more, 8, 4);
FIELD(Chunk, next, 12, 4);
FIELD(Chunk, owner, 16, 4);
FIELD(Chunk, sibling, 20, 4);
FIELD(Chunk, marked, 24, 4);
FIELD(Chunk, kept, 28, 4);
FIELD(Chunk, units, 32, 32);

SIZE(Exceptions, 24);
FIELD(Exceptions, chunks, 0, 8);
FIELD(Exceptions, free, 8, 8);
FIELD(Exceptions, used, 16, 4);
FIELD(Exceptions, capacity, 20, 4);

SIZE(Commands, 8208);
FIELD(Commands, published, 0, 8);
FIELD(Commands, ended, 8, 8);
FIELD(Commands, launches, 16, 8192);

SIZE(Io, 72);
FIELD(Io, input, 0, 8);
FIELD(Io, input_size, 8, 8);
FIELD(Io, output, 16, 8);
FIELD(Io, output_size, 24, 8);
FIELD(Io, output_end, 32, 8);
FIELD(Io, frame, 40, 8);
FIELD(Io, width, 48, 4);
FIELD(Io, height, 52, 4);
FIELD(Io, pixels, 56, 8);
FIELD(Io, progress, 64, 8);

SIZE(Census, 16);
FIELD(Census, counts, 0, 8);
FIELD(Census, deadlocked, 8, 4);
FIELD(Census, pad, 12, 4);

SIZE(Spawner, 88);
FIELD(Spawner, free, 0, 8);
FIELD(Spawner, next, 8, 8);
FIELD(Spawner, spawned, 16, 8);
FIELD(Spawner, inboxes, 24, 8);
FIELD(Spawner, idle, 32, 8);
FIELD(Spawner, mail, 40, 8);
FIELD(Spawner, globals, 48, 8);
FIELD(Spawner, initial_globals, 56, 8);
FIELD(Spawner, capacity, 64, 4);
FIELD(Spawner, used, 68, 4);
FIELD(Spawner, place, 72, 4);
FIELD(Spawner, most, 76, 4);
FIELD(Spawner, lanes_out, 80, 4);
FIELD(Spawner, pad, 84, 4);

SIZE(Launch, 416);
FIELD(Launch, code, 0, 8);
FIELD(Launch, funcs, 8, 8);
FIELD(Launch, instances, 16, 8);
FIELD(Launch, threads, 24, 8);
FIELD(Launch, control, 32, 8);
FIELD(Launch, ring, 40, 8);
FIELD(Launch, arena, 48, 8);
FIELD(Launch, initial_globals, 56, 8);
FIELD(Launch, thread_globals, 64, 8);
FIELD(Launch, shared_globals, 72, 8);
FIELD(Launch, args, 80, 8);
FIELD(Launch, results, 88, 8);
FIELD(Launch, lane_segments, 96, 8);
FIELD(Launch, try_functions, 104, 8);
FIELD(Launch, tries, 112, 8);
FIELD(Launch, clauses, 120, 8);
FIELD(Launch, exceptions, 128, 8);
FIELD(Launch, buckets, 136, 8);
FIELD(Launch, wall_start, 144, 8);
FIELD(Launch, clock_start, 152, 8);
FIELD(Launch, thread_count, 160, 4);
FIELD(Launch, lanes, 164, 4);
FIELD(Launch, lane_segment_units, 168, 4);
FIELD(Launch, shared_units, 172, 4);
FIELD(Launch, max_depth, 176, 4);
FIELD(Launch, func, 180, 4);
FIELD(Launch, arg_units, 184, 4);
FIELD(Launch, result_units, 188, 4);
FIELD(Launch, globals_per_thread, 192, 4);
FIELD(Launch, stack_pointer, 196, 4);
FIELD(Launch, stack_top, 200, 4);
FIELD(Launch, stack_size, 204, 4);
FIELD(Launch, slice, 208, 4);
FIELD(Launch, claimed, 212, 4);
FIELD(Launch, try_function_count, 216, 4);
FIELD(Launch, max_frame, 220, 4);
FIELD(Launch, multiplexed, 224, 4);
FIELD(Launch, tls_base, 228, 4);
FIELD(Launch, tls_first, 232, 4);
FIELD(Launch, tls_stride, 236, 4);
FIELD(Launch, functions, 240, 8);
FIELD(Launch, tails, 248, 8);
FIELD(Launch, natives, 256, 8);
FIELD(Launch, requests, 264, 8);
FIELD(Launch, io, 272, 8);
FIELD(Launch, native_stack, 280, 4);
FIELD(Launch, stop, 284, 4);
FIELD(Launch, lane_heaps, 288, 4);
FIELD(Launch, resumes, 292, 4);
FIELD(Launch, diagnostics, 296, 8);
FIELD(Launch, stands, 304, 8);
FIELD(Launch, census, 312, 8);
FIELD(Launch, spawner, 320, 8);
FIELD(Launch, visits, 328, 8);
FIELD(Launch, loops, 336, 8);
FIELD(Launch, parked, 344, 8);
FIELD(Launch, parks, 352, 4);
FIELD(Launch, left, 356, 4);
FIELD(Launch, interpreted, 360, 8);
FIELD(Launch, seen, 368, 8);
FIELD(Launch, samples, 376, 8);
FIELD(Launch, batch, 384, 8);
FIELD(Launch, process, 392, 4);
FIELD(Launch, pad, 396, 4);
FIELD(Launch, commands, 400, 8);
FIELD(Launch, taken, 408, 8);

SIZE(Context, 952);
FIELD(Context, launch, 0, 8);
FIELD(Context, thread, 8, 8);
FIELD(Context, globals, 16, 8);
FIELD(Context, id, 24, 4);
FIELD(Context, lane, 28, 4);
FIELD(Context, native_limit, 32, 4);
FIELD(Context, polls, 36, 4);
FIELD(Context, tag, 40, 4);
FIELD(Context, reference, 44, 4);
FIELD(Context, count, 48, 4);
FIELD(Context, throw_pc, 52, 4);
FIELD(Context, throw_depth, 56, 4);
FIELD(Context, stack_limit, 60, 4);
FIELD(Context, tail_target, 64, 8);
FIELD(Context, calls, 72, 320);
FIELD(Context, throw_calls, 392, 320);
FIELD(Context, scratch, 712, 128);
FIELD(Context, max_depth, 840, 4);
FIELD(Context, roots, 844, 4);
FIELD(Context, address, 848, 8);
FIELD(Context, nested, 856, 4);
FIELD(Context, nested_depth, 860, 4);
FIELD(Context, suspended, 864, 8);
FIELD(Context, resumed, 872, 8);
FIELD(Context, entering, 880, 8);
FIELD(Context, parked, 888, 4);
FIELD(Context, sample_due, 892, 4);
FIELD(Context, sample_mark, 896, 4);
FIELD(Context, sample_mark_depth, 900, 4);
FIELD(Context, sample_count, 904, 4);
FIELD(Context, sample_period, 908, 4);
FIELD(Context, sample_size, 912, 4);
FIELD(Context, pad, 916, 4);
FIELD(Context, sample_ring, 920, 8);
FIELD(Context, instance, 928, 8);
FIELD(Context, memory, 936, 8);
FIELD(Context, base, 944, 8);

SIZE(Roots, 8);
FIELD(Roots, next, 0, 4);
FIELD(Roots, count, 4, 4);

SIZE(RequestMessage, 128);
FIELD(RequestMessage, words, 0, 128);

SIZE(Response, 32);
FIELD(Response, words, 0, 32);

SIZE(RequestSlot, 4224);
FIELD(RequestSlot, len, 0, 4);
FIELD(RequestSlot, total, 4, 4);
FIELD(RequestSlot, note, 8, 4);
FIELD(RequestSlot, file, 12, 4);
FIELD(RequestSlot, generation, 16, 4);
FIELD(RequestSlot, pad, 20, 44);
FIELD(RequestSlot, results, 64, 64);
FIELD(RequestSlot, data, 128, 4096);

SIZE(Strings, 16);
FIELD(Strings, bytes, 0, 8);
FIELD(Strings, len, 8, 4);
FIELD(Strings, count, 12, 4);

SIZE(File, 64);
FIELD(File, lock, 0, 4);
FIELD(File, open, 4, 4);
FIELD(File, position, 8, 8);
FIELD(File, next, 16, 8);
FIELD(File, start, 24, 8);
FIELD(File, len, 32, 4);
FIELD(File, window, 36, 4);
FIELD(File, epoch, 40, 4);
FIELD(File, wanted, 44, 4);
FIELD(File, filled, 48, 8);
FIELD(File, pad, 56, 8);

SIZE(TmpfsInode, 128);
FIELD(TmpfsInode, lock, 0, 4);
FIELD(TmpfsInode, generation, 4, 4);
FIELD(TmpfsInode, size, 8, 8);
FIELD(TmpfsInode, written, 16, 8);
FIELD(TmpfsInode, wanted, 24, 8);
FIELD(TmpfsInode, root, 32, 4);
FIELD(TmpfsInode, levels, 36, 4);
FIELD(TmpfsInode, next, 40, 4);
FIELD(TmpfsInode, direct, 44, 64);
FIELD(TmpfsInode, pad, 108, 20);

SIZE(TmpfsDescriptor, 32);
FIELD(TmpfsDescriptor, target, 0, 8);
FIELD(TmpfsDescriptor, position, 8, 8);
FIELD(TmpfsDescriptor, moved, 16, 8);
FIELD(TmpfsDescriptor, lock, 24, 4);
FIELD(TmpfsDescriptor, pad, 28, 4);

SIZE(TmpfsAttributes, 128);
FIELD(TmpfsAttributes, number, 0, 8);
FIELD(TmpfsAttributes, links, 8, 8);
FIELD(TmpfsAttributes, accessed, 16, 8);
FIELD(TmpfsAttributes, modified, 24, 8);
FIELD(TmpfsAttributes, changed, 32, 8);
FIELD(TmpfsAttributes, written_then, 40, 8);
FIELD(TmpfsAttributes, pad, 48, 16);
FIELD(TmpfsAttributes, size, 64, 8);
FIELD(TmpfsAttributes, written, 72, 8);
FIELD(TmpfsAttributes, generation, 80, 4);
FIELD(TmpfsAttributes, pad2, 84, 44);

SIZE(Tmpfs, 72);
FIELD(Tmpfs, blocks, 0, 8);
FIELD(Tmpfs, taken, 8, 8);
FIELD(Tmpfs, inodes, 16, 8);
FIELD(Tmpfs, descriptors, 24, 8);
FIELD(Tmpfs, attributes, 32, 8);
FIELD(Tmpfs, device, 40, 8);
FIELD(Tmpfs, words, 48, 4);
FIELD(Tmpfs, free_data, 52, 4);
FIELD(Tmpfs, free_index, 56, 4);
FIELD(Tmpfs, most_index, 60, 4);
FIELD(Tmpfs, cursor, 64, 4);
FIELD(Tmpfs, pad, 68, 4);

SIZE(Requests, 320);
FIELD(Requests, sent, 0, 8);
FIELD(Requests, answered, 8, 8);
FIELD(Requests, slots, 16, 8);
FIELD(Requests, output_errors, 24, 8);
FIELD(Requests, args, 32, 16);
FIELD(Requests, environment, 48, 16);
FIELD(Requests, bell, 64, 8);
FIELD(Requests, bell_context, 72, 8);
FIELD(Requests, seed, 80, 32);
FIELD(Requests, run, 112, 4);
FIELD(Requests, epoch, 116, 4);
FIELD(Requests, files, 120, 8);
FIELD(Requests, blocks, 128, 8);
FIELD(Requests, tmpfs, 136, 8);
FIELD(Requests, slot_use, 144, 8);
FIELD(Requests, own_slots, 152, 4);
FIELD(Requests, process, 156, 4);
FIELD(Requests, streams, 160, 128);
FIELD(Requests, input, 288, 8);
FIELD(Requests, input_len, 296, 8);
FIELD(Requests, input_at, 304, 8);
FIELD(Requests, nonce, 312, 4);
FIELD(Requests, apart, 316, 4);

SIZE(SlotUse, 2128);
FIELD(SlotUse, first_look, 0, 4);
FIELD(SlotUse, pad, 4, 12);
FIELD(SlotUse, taken, 16, 64);
FIELD(SlotUse, messages, 80, 2048);

SIZE(ProcessInput, 48);
FIELD(ProcessInput, args, 0, 16);
FIELD(ProcessInput, environment, 16, 16);
FIELD(ProcessInput, input, 32, 8);
FIELD(ProcessInput, input_len, 40, 8);

SIZE(ImagePiece, 24);
FIELD(ImagePiece, bytes, 0, 8);
FIELD(ImagePiece, at, 8, 8);
FIELD(ImagePiece, len, 16, 8);

SIZE(ProcessEnd, 304);
FIELD(ProcessEnd, kind, 0, 4);
FIELD(ProcessEnd, value, 4, 4);
FIELD(ProcessEnd, pc, 8, 4);
FIELD(ProcessEnd, depth, 12, 4);
FIELD(ProcessEnd, frames, 16, 4);
FIELD(ProcessEnd, stopped, 20, 4);
FIELD(ProcessEnd, refused, 24, 8);
FIELD(ProcessEnd, memory, 32, 8);
FIELD(ProcessEnd, time, 40, 8);
FIELD(ProcessEnd, backtrace, 48, 256);

SIZE(ProcessSlot, 7600);
FIELD(ProcessSlot, memory, 0, 6288);
FIELD(ProcessSlot, launch, 6288, 416);
FIELD(ProcessSlot, instance, 6704, 72);
FIELD(ProcessSlot, requests, 6776, 320);
FIELD(ProcessSlot, control, 7096, 480);
FIELD(ProcessSlot, memories, 7576, 8);
FIELD(ProcessSlot, began, 7584, 8);
FIELD(ProcessSlot, pad, 7592, 8);

SIZE(Batch, 216);
FIELD(Batch, slots, 0, 8);
FIELD(Batch, model, 8, 8);
FIELD(Batch, memories, 16, 8);
FIELD(Batch, memory_stride, 24, 8);
FIELD(Batch, slot_count, 32, 4);
FIELD(Batch, count, 36, 4);
FIELD(Batch, closed, 40, 4);
FIELD(Batch, taken, 44, 4);
FIELD(Batch, lost, 48, 4);
FIELD(Batch, stop, 52, 4);
FIELD(Batch, warp_lanes, 56, 4);
FIELD(Batch, input_room, 60, 4);
FIELD(Batch, inputs, 64, 8);
FIELD(Batch, current, 72, 8);
FIELD(Batch, ring, 80, 8);
FIELD(Batch, clock_start, 88, 8);
FIELD(Batch, pieces, 96, 8);
FIELD(Batch, piece_count, 104, 4);
FIELD(Batch, global_count, 108, 4);
FIELD(Batch, globals, 112, 8);
FIELD(Batch, memory_size, 120, 8);
FIELD(Batch, tables, 128, 8);
FIELD(Batch, table_units, 136, 8);
FIELD(Batch, table_count, 144, 4);
FIELD(Batch, data_count, 148, 4);
FIELD(Batch, elem_count, 152, 4);
FIELD(Batch, table_room, 156, 4);
FIELD(Batch, elements, 160, 8);
FIELD(Batch, own_tables, 168, 8);
FIELD(Batch, own_pointers, 176, 8);
FIELD(Batch, data, 184, 8);
FIELD(Batch, elems, 192, 8);
FIELD(Batch, own_data, 200, 8);
FIELD(Batch, own_elems, 208, 8);

SIZE(Stand, 80);
FIELD(Stand, key, 0, 8);
FIELD(Stand, count, 8, 4);
FIELD(Stand, thread, 12, 4);
FIELD(Stand, state, 16, 4);
FIELD(Stand, pc, 20, 4);
FIELD(Stand, depth, 24, 4);
FIELD(Stand, frames, 28, 4);
FIELD(Stand, calls, 32, 48);

SIZE(Stands, 20488);
FIELD(Stands, new_threads, 0, 4);
FIELD(Stands, others, 4, 4);
FIELD(Stands, groups, 8, 20480);

SIZE(Sample, 280);
FIELD(Sample, key, 0, 8);
FIELD(Sample, count, 8, 8);
FIELD(Sample, thread, 16, 4);
FIELD(Sample, state, 20, 4);
FIELD(Sample, pc, 24, 4);
FIELD(Sample, depth, 28, 4);
FIELD(Sample, frames, 32, 4);
FIELD(Sample, pad, 36, 4);
FIELD(Sample, calls, 40, 240);

SIZE(RawSample, 128);
FIELD(RawSample, pc, 0, 4);
FIELD(RawSample, at, 4, 4);
FIELD(RawSample, depth, 8, 4);
FIELD(RawSample, mark, 12, 4);
FIELD(RawSample, mark_depth, 16, 4);
FIELD(RawSample, number, 20, 4);
FIELD(RawSample, calls, 24, 104);

SIZE(SampledThread, 48);
FIELD(SampledThread, left, 0, 8);
FIELD(SampledThread, last, 8, 8);
FIELD(SampledThread, waited, 16, 8);
FIELD(SampledThread, mark, 24, 4);
FIELD(SampledThread, mark_depth, 28, 4);
FIELD(SampledThread, state, 32, 4);
FIELD(SampledThread, tick, 36, 4);
FIELD(SampledThread, written, 40, 4);
FIELD(SampledThread, pad, 44, 4);

SIZE(Samples, 64);
FIELD(Samples, groups, 0, 8);
FIELD(Samples, threads, 8, 8);
FIELD(Samples, period_ns, 16, 8);
FIELD(Samples, period, 24, 8);
FIELD(Samples, capacity, 32, 4);
FIELD(Samples, lost, 36, 4);
FIELD(Samples, tick, 40, 4);
FIELD(Samples, weight, 44, 4);
FIELD(Samples, raw, 48, 8);
FIELD(Samples, raw_threads, 56, 4);
FIELD(Samples, raw_size, 60, 4);

#undef CONSTANT
#undef SIZE
#undef FIELD

}  // namespace gpu_run
#endif
