// The structures and constants that host and kernel share. vm/src/layout.rs has their twins. It is the source of
// generated/layout_check.h, which asserts that each field and value is the same.
#pragma once

#include "platform.h"

namespace gpu_run {

constexpr u32 PAGE = 65536;
// Words at the start of the store's code that returns lead to.
constexpr u32 PC_BRIDGE_RETURN = 0;
constexpr u32 PC_THREAD_END = 1;
constexpr u32 PC_NATIVE_RETURN = 2;
constexpr u32 VISIT_OPCODE = 0x3ff, VISIT_LOOP = 0x400, VISIT_ONCE = 0x800, VISIT_OFTEN = 0xf800;  // in Launch::visits
constexpr u32 VISIT_CALLED = VISIT_LOOP;  // of a run of which samples are taken: a function begins
constexpr u32 VISIT_LATE = VISIT_LOOP;  // of a run of which blocks are counted: it counts when its first instruction is done

// The heap of a memory; see heap/heap.h. What it points to lies beside linear memory, where no guest
// reaches it. Host code of its own (src/store/heap.rs) reads it after a run.
constexpr u32 HEAP_CLASSES = 44;  // sizes of blocks in slabs
constexpr u32 HEAP_GROUPS = 128;  // of lanes that have a slab of a class in common
constexpr u32 HEAP_STRIPES = 16;  // of counters
constexpr u32 HEAP_WORDS = 64;  // of a slab's bitmap
constexpr u32 LANE_CLASSES = 20;  // the smallest, of which a lane has slabs of its own; see heap/lane_heap.h
constexpr u32 LANE_MOST = 1024;  // bytes of the largest of their blocks
// Bytes of ranges that compiled code copies or compares by a function that calls no other: see `linear::is_short`.
constexpr u32 SHORT_UNITS = 64;
constexpr u32 NOT_SHORT = 1u << 31;  // what comparing others returns, which is the difference of no two bytes
constexpr u32 LANE_SLAB = 1024;  // bytes of memory for each of which there is a LaneSlab

// What a page is, in bits 40 to 47 of HeapPage::state.
enum PageKind : u32 {
  KIND_None = 0,  // free, or the guest's, or not the first of its slab or region
  KIND_Region = 1,  // its pages are in the lower half of the state
  KIND_Held = 2,  // slabs: see heap/slab.h
  KIND_Listed = 3,
  KIND_Full = 4,
  KIND_Lane = 5,  // of no page: a block is of a lane's slab
};

// A page of 64 KiB of linear memory; the first one of a slab or a region speaks for all of it.
struct HeapPage {
  u64 state;  // see heap/pages.h and heap/slab.h
  u32 first;  // first page of the slab or region that it belongs to
  u32 pad;
  u64 bits[HEAP_WORDS];  // a slab's blocks: 1 is handed out
};

// Bytes of the largest block that is cut from a slab; larger ones are regions: whole pages.
constexpr u32 HEAP_LARGEST = 57344;

// Of a block of a checked heap; see heap/check.h.
constexpr u32 SITE_CALLS = 5;
// A block is no smaller, so that there is one record for each so many bytes.
constexpr u32 SITE_GRAIN = 64;
enum SiteState : u32 {
  SITE_None = 0,  // nothing is known of the block
  SITE_Live = 1,
  SITE_Freed = 2,
};
constexpr u32 SITE_ALIGN = 8;  // where the base-2 logarithm of the block's alignment begins in HeapSite::state
struct HeapSite {
  u32 size;  // bytes that were asked for
  u32 state;  // SiteState, and the alignment that was asked for
  u32 pc;  // of the instruction that allocated it
  u32 calls[SITE_CALLS];  // return addresses, innermost first; 0 after the last
};
// Guard bytes of a block of a checked heap: before it and after it.
constexpr u32 GUARD_FRONT = 16;  // at least, and as many as the block is aligned to
constexpr u32 GUARD_FRONT_MOST = 4096;  // none where a block is aligned to more
constexpr u32 GUARD_LEAST = 16;  // after it
constexpr u32 GUARD_MOST = 64;  // that are written and looked at, on each side
constexpr u8 GUARD = 0xfd;
constexpr u8 POISON = 0xdd;  // of a freed block
// Bytes of a block that are filled with poison at most: one lane does it.
constexpr u32 POISON_MOST = 65536;

// A slab of one lane's; see heap/lane_slab.h. There is a record for each KiB of memory.
struct LaneSlab {
  u64 free;  // its free blocks: only the owner writes
  u32 owner;  // 1 + the lane, class and blocks; 0: there is none here
  u32 next;  // 1 + the number of the next slab in the owner's list, or 0
  u64 freed;  // blocks that other lanes freed, until the owner takes them
  u32 previous;  // as `next`
  u32 inbox;  // 1 + the number of the next slab in the owner's inbox, or 0
};

// What all read, and seldom or never changes, lies apart from what many write.
struct Heap {
  HeapPage *pages;  // null: no program allocates in this memory
  u64 *sets;  // of pages: the free ones, then for each class those that begin a slab with room
  u64 *slots;  // by group, then class: tickets for blocks of a slab; see heap/ticket_slots.h
  HeapSite *sites;  // of a checked heap, one for each 64 bytes; else null
  u64 *lane_lists;  // by class, then lane: 1 + the number of the first slab; above 32 bits a count of blocks
  LaneSlab *lane_slabs;
  u32 *lane_inboxes;  // by lane: 1 + the number of the first slab in which others freed blocks, or 0
  u32 lanes;  // that have slabs of their own
  u32 lane_records;  // in lane_slabs
  u32 page_limit;  // pages that all this has room for
  u32 guards;  // 1: of a checked heap whose blocks have guard bytes
  u32 width[HEAP_CLASSES];  // log2 of how many groups have a slot
  u32 slab_pages[HEAP_CLASSES];  // that slabs of each class have
  u32 lock;  // 1 while a lane fetches pages, or looks for a run of many
  u32 held;  // pages that memory was grown by
  u32 used;  // of these, pages of slabs and regions
  u32 used_peak;
  u32 failed;  // requests that found no memory
  u32 relieved;  // 1 while a lane gives up slabs of lanes whose threads have ended
  u64 live_bytes;  // of a checked heap: that were asked for
  u64 live_peak;
  u32 lanes_used;  // 1 + the highest lane that has had a slab
  u32 lanes_waste;  // lanes are not to keep slabs without blocks: memory was short
  u64 lane_bytes;  // of slabs that lanes have
  u64 transit;  // takers of slabs and pages that are under way; above 32 bits how many there were
  u64 allocated[HEAP_STRIPES][HEAP_CLASSES + 1];  // blocks handed out so far; the last are regions
};

struct alignas(16) Memory {
  u8 *base;  // aligned to 16 bytes at least
  u64 size;  // bytes; grows atomically
  u64 limit;  // bytes reserved at base: the size never exceeds it
  u32 wide;  // 1: addresses are i64
  u32 shared;  // 1: threads may wait on its addresses
  Heap heap;
  u64 refused;  // memory.grow that found the limit in its way
};

struct Table {
  u32 *elements;  // references: 0 is null
  u32 size;
  u32 limit;
};

struct DataSegment {
  u8 *bytes;
  u64 len;
};

struct ElemSegment {
  u32 *refs;
  u64 len;
};

enum FuncKind : u32 {
  FUNC_Wasm = 0,
  FUNC_Nothing = 1,  // a host function that does nothing and has no results
};

// Entry of the store-wide function table. A reference to function n is n + 1.
struct Func {
  FuncKind kind;
  u32 instance;
  u32 pc;  // word index of its head in the store's code
  u32 type_index;  // store-wide number of its type
};

constexpr u32 GLOBAL_SHARED = 0x80000000;
struct Instance {
  Memory **memories;
  Table **tables;
  u32 *globals;  // slot of each global: in the thread's block, or with GLOBAL_SHARED in the store's
  u32 *funcs;  // store-wide number of each function
  u32 *types;  // store-wide number of each type
  DataSegment *data;
  ElemSegment *elems;
  u32 *tags;  // store-wide number of each tag
  u32 memory_count;
  u32 thread_start;  // 1 + the store-wide number of the function that threads begin with which it spawns, or 0
};

enum ThreadState : u32 {
  THREAD_New = 0,
  THREAD_Runnable = 1,
  THREAD_Sleeping = 2,
  THREAD_Ended = 3,
  THREAD_Waiting = 4,  // in the queue of an address; see ops/atomics.h
  THREAD_Requesting = 5,  // for the host's response; see rpc/requests.h
  THREAD_Busy = 6,  // it can run, and tries again what another lane or the host was in the way of
};

// A thread at rest. While it runs, the lane holds this in hardware registers.
struct Context;
struct Thread {
  Shown state;  // a ThreadState
  u32 pc;
  u8 *frame;  // unit 0 of the running frame
  u32 stride;  // bytes from unit to unit
  u32 room;  // units from the frame's start to the segment's end
  u32 header;  // unit of the running frame's header
  u32 depth;  // frames on the stack
  u32 instance;
  u32 stack_limit;  // lowest value that the stack pointer global may take
  u64 resume_state;  // of an instruction that runs in several pieces: see resume_state.h
  u64 wake;  // when a sleeping thread goes on, on the device's clock
  u64 *globals;  // its block of globals
  u32 lane_segment_used;  // 1 while frames lie in the lane's own segment in memory, or may not lie there
  u32 exceptions;  // the exceptions that it made: index + 1 of the first
  u32 exception_count;
  u32 exception_limit;  // count at which it looks which are still needed
  u32 segment;  // of the first frame: 1 + its number in the arena, or 0
  u32 segment_size;
  u32 woken;  // 1 once a notify took the thread out of its queue; the others below are the bucket's
  u32 next;  // 1 + the thread after it in the queue, or 0
  u32 previous;
  u32 request;  // 1 + the slot of the request that it makes of the host, or 0
  union {
    u8 *waits_at;  // where the word lies that it waits at
    u64 response_head;  // of one that made a request: see rpc/mailbox.h
  };
  u32 message_number;  // number of the last message that it sent in that slot
  u32 moved;  // bytes of the request's input or the response's data that are over; of a write: see rpc/device_calls.h
  u32 answer;  // errno of a request that was served without the host; else the first word of its results
  u32 random;  // blocks of random bytes that it has taken
  // Of a program that spawns threads; see spawn.h. In others, of the first thread of a warp: see run_barrier in runtime.cpp.
  u32 home;  // lane that it runs on
  u32 link;  // 1 + the thread after it in the lane's list, or 0
  u32 argument;  // that its parent has given it
  u32 start;  // store-wide number of the function that it begins with
  Context *native;  // while a compiled thread runs an interpreted function: see mixed.cpp. Else null
};

// Threads that wait at addresses with the same hash, in the order in which they came.
constexpr u32 WAIT_BUCKETS = 1024;
struct Bucket {
  u32 lock;  // 1 while a lane works on the queue
  u32 first;  // 1 + a thread's number, or 0
  u32 last;
  u32 pad;
};

// The exception tables of the store's functions. All numbers of words are the store's.
struct TryFunction {
  u32 start;
  u32 end;
  u32 first_try;
  u32 try_count;
};
struct Try {
  u32 start;
  u32 end;
  u32 first_clause;
  u32 clause_count;
};
struct Clause {
  u32 tag;  // store-wide number, or ~0: catches all
  u32 reference;  // 1: a reference to the exception follows its values
  u32 unit;  // where the values go; in the upper half how many units they take
  u32 target;
};

// A piece of an exception. A reference to an exception is the index + 1 of its first piece.
constexpr u32 CHUNK_UNITS = 8;
struct Chunk {
  u32 tag;
  u32 count;  // units of values in all pieces
  u32 more;  // index + 1 of the next piece
  u32 next;  // link of the free list, index + 1
  u32 owner;  // id + 1 of the thread that made it
  u32 sibling;  // index + 1 of the next exception of that thread
  u32 marked;
  u32 kept;  // 1: never freed
  u32 units[CHUNK_UNITS];
};
struct Exceptions {
  Chunk *chunks;
  u64 free;  // head: index + 1, and in the upper half a tag against ABA
  u32 used;
  u32 capacity;
};
// Exceptions that a thread makes at most before it looks which are still needed.
constexpr u32 COLLECT_AFTER = 64;

// Where the threads stand that a stop has ended, in groups: see stands.h. All calls of a group are the same.
constexpr u32 STAND_CALLS = 12;
constexpr u32 STANDS = 256;
// What a thread does there that neither waits as a ThreadState says nor runs: it waits for room in the output ring.
constexpr u32 STAND_Output = 16;
struct Stand {
  u64 key;  // a hash of what follows but the count and the thread; 0: of no group
  u32 count;
  u32 thread;  // one of them
  u32 state;  // a ThreadState, or STAND_Output
  u32 pc;
  u32 depth;  // frames on the stack
  u32 frames;  // entries in calls
  u32 calls[STAND_CALLS];  // return addresses, innermost first
};
struct Stands {
  u32 new_threads;  // that had not begun
  u32 others;  // for which there was no group left
  Stand groups[STANDS];
};

// What threads did over time, in samples: see samples.h. All calls of a group are the same.
constexpr u32 SAMPLE_CALLS = 60;
struct Sample {
  u64 key;  // as in Stand
  u64 count;
  u32 thread;
  u32 state;
  u32 pc;
  u32 depth;
  u32 frames;
  u32 pad;
  u32 calls[SAMPLE_CALLS];
};
// Where a thread is in compiled code, for the host, which looks now and then: whether it is there at all, and in each further
// row a mark of a frame, from the outermost. Frames of a function that calls itself by name have one row together. Deep frames
// share row MARK_FRAMES - 1, and row MARK_FRAMES is for what they call. A mark is a word of the store's code: where the frame
// goes on after a call that it makes, or, with MARK_OWN, where it is itself. A call through a table marks its callee, too. The
// threads of a group lie side by side in each row.
constexpr u32 MARK_OWN = 1u << 31;
constexpr u32 MARK_GROUP = 128;
constexpr u32 MARK_FRAMES = 31;
static_assert(((MARK_FRAMES + 1) & MARK_FRAMES) == 0, "a row is in bits of its own of a mark's address");
// Of a thread, by its id.
struct SampledThread {
  u64 left;  // when it left its lane to wait, on the device's clock
  u64 last;  // the lane's time at its last sample; while it may be on no lane, how long before it left that was
  u64 waited;  // nanoseconds of waits that are in no sample yet
  u32 mark;  // word of its last `visit`
  u32 mark_depth;  // frames on the stack there
  u32 state;  // a ThreadState, when it left its lane; while it is on one, THREAD_Runnable
  // Where the host counts the time: branches in its slices without a `visit`, and whether the last slice had none.
  u32 branches;
  u32 plain;
  u32 pad;
};
struct Samples {
  Sample *groups;
  SampledThread *threads;
  u64 period_ns;
  u64 period;  // of a lane's time: see `samples::lane_time`
  u64 ticks;  // where lanes have no cycles: the host's periods since the run began
  const u64 *plain;  // then also the store's code without a `visit`
  u32 capacity;  // of groups
  mutable u32 lost;  // samples for which there was no group left
  u32 weight;  // for how many a sample counts: of many lanes each has fewer
  u32 mark_threads;  // of which there are marks, a multiple of MARK_GROUP: threads with higher ids share them
  u32 *marks;  // of compiled code, by groups of threads, at a multiple of a group's bytes; null: the run has none
  u32 soon;  // 1: such a period ends soon, so that lanes are to run the code with them
  u32 pad;
};

// Of compiled code that counts blocks: passes between two of a lane's looks at the stop flag, at most, and looks of a
// hardware block's lanes after which one of them empties the counters.
constexpr u32 COUNT_PASSES = 4096, COUNT_POLLS = 2048;

// How often basic blocks have run: see counts.h.
struct Counts {
  u64 *by_word;  // by word of the store's code, `copies` times
  u64 *by_warp;  // the same of warps, whatever lanes of them were together; null: nobody asks, or each lane is a warp
  u64 *by_branch;  // the same at branches, of an interpreter whose lanes are threads of the host, each of which has a copy
  u32 words;
  u32 copies;  // on a GPU a power of 2
};

constexpr u32 BLOCK_LANES = 512;  // of a hardware block of compiled code, at most

// Steps of compiled kernels: see steps.h. What is between these is a step in a pass.
enum Step : u32 {
  STEP_Pass = 0,  // the next pass of a loop
  STEP_Phase = 255,  // what comes after a loop, or without one
};

// What stands at the beginning of a hardware block's shared memory, in words. Code with counters writes it when it begins.
enum BlockCounts : u32 {
  BLOCK_Ended = 0,  // lanes that have ended
  BLOCK_Polls = 1,
  BLOCK_Words = 2,  // address of the counters' words in the store's code
  BLOCK_Size = 4,  // how many counters there are
  BLOCK_First = 6,  // the first of them; after the last, the same of warps, if these are counted
};

// How a process ended. The first thread to end it claims the record.
enum EndKind : u32 {
  END_None = 0,
  END_Trap = 1,
  END_Exit = 2,
  END_Panic = 3,
};
constexpr u32 BACKTRACE = 64;
constexpr u32 OUTER_CALLS = 16;  // of these, the outermost ones if there are more than all
constexpr u32 END_UNITS = 32;
struct End {
  u32 kind;  // EndKind, written last
  u32 value;  // trap kind or exit code
  u32 thread;
  u32 pc;
  u32 depth;  // frames on the stack
  u32 frames;  // return addresses in all, of which `note` has kept as many as there is room for
  u32 unit_count;  // entries in units; 0 of compiled code, which has no frames to show
  u32 detail;  // of a trap of the heap: the address that it was about
  u32 backtrace[BACKTRACE];  // return addresses, innermost first; the last OUTER_CALLS are a ring
  u32 units[END_UNITS];  // the first units of the innermost frame, or what lies after it

  // Notes return address `index` of a stack of so many frames, innermost first. Of more than there is room for, the
  // innermost and the outermost stay. Those between are not written, because this is the host's memory.
  GPU_RUN_INLINE void note(u32 index, u32 address, u32 of_frames) {
    constexpr u32 INNER = BACKTRACE - OUTER_CALLS;
    if (index < INNER) {
      backtrace[index] = address;
    } else if (index + 1 + OUTER_CALLS >= of_frames) {
      backtrace[INNER + (index - INNER) % OUTER_CALLS] = address;
    }
  }
};

// Output from lanes to the host: records in a ring of bytes in pinned memory.
struct Ring {
  u8 *bytes;  // pinned
  u64 capacity;  // bytes, a power of two
  u64 head;  // bytes reserved so far
  u64 free;  // bytes that may be reserved; below 0 for a moment where lanes take too many
  u64 tail_seen;  // a value that the tail has had
  u64 looked;  // when a lane last looked at the tail
  u64 *tail;  // pinned: bytes taken by the host so far
};

enum RecordKind : u32 {
  RECORD_Empty = 0,
  RECORD_Text = 2,  // piece of a thread's open record
  RECORD_Close = 3,  // the thread's open record is complete
  RECORD_Debug = 4,  // pieces of threads' debug messages; see ops/debug.h. `thread` and `stream` are 0
  RECORD_Process = 5,  // a ProcessEnd: the process of a batch whose number is `thread` has ended
  RECORD_Sample = 6,  // a ProcessSample of such a process
};
struct Record {
  u32 kind;  // written last
  u32 len;  // bytes after it, padded to 16
  u32 thread;
  u32 stream;
};

// Debug messages: see ops/debug.h. Sizes in words of 4 bytes.
enum DebugFlag : u32 {
  DEBUG_First = 1,  // the message begins: what an earlier one left open is given up
  DEBUG_Last = 2,  // the message is complete
  DEBUG_Line = 4,  // and its line
};
// A piece begins with the thread's number and a word of flags, with the count of words of items above them.
constexpr u32 DEBUG_UsedShift = 8;
constexpr u32 DEBUG_WORDS = 26;
constexpr u32 DEBUG_FILE = 0x7f;  // the item that names the file of a dbg_level; not an opcode
// A thread's debug message, as far as it is not in the ring.
struct DebugThread {
  u32 used;  // words of items
  u32 begun;  // 1: pieces of the message are in the ring
  u32 lost;  // 1: a piece of the message was dropped, and so will be the rest
  u32 level;  // severity + 1, or 0 if the message names none
  u32 words[DEBUG_WORDS];
};

// What is reported of a run besides its output and its end.
struct Diagnostics {
  DebugThread *threads;  // null if the programs send no debug messages
  u32 first_thread;  // messages of threads outside of these, both included, are not wanted
  u32 last_thread;
  u32 least_level;  // nor those of a lesser severity
  u32 drop;  // 1: a message for which the ring has no room is dropped; 0: its thread waits
  u64 dropped;  // messages
  u32 faults;  // threads that trapped or panicked
  u32 pad;
};

// What threads are to do at their next poll.
enum Stop : u32 {
  STOP_Ends = 1,  // end
  STOP_Parks = 2,  // of an interpreted run: leave their lanes, to go on in another kernel; see Launch::resumes
};

// Whether a run in compiled code leaves it, to go on in another kernel.
enum Parks : u32 {
  PARKS_Never = 0,
  PARKS_May = 1,  // the host may ask for it; there is one thread
  PARKS_Soon = 2,  // once no compiled function is on the stack
};

// Pinned: what host and lanes tell each other while a kernel runs.
struct Control {
  u32 stop;  // a Stop, or 0; set by the host, and by a thread that ends the process
  u32 pad[15];
  End end;
};

}  // namespace gpu_run

#include "rpc/layout.h"

namespace gpu_run {

// Register segments beyond a lane's own: blocks of 2^k times SEGMENT bytes. A thread's first one is as small as its
// first frame allows, because there may be very many. Further ones are of CALL_SEGMENT while there are such.
constexpr u32 SEGMENT = 4096;
constexpr u32 SEGMENT_SIZES = 8;
constexpr u32 CALL_SEGMENT = 4;
struct Arena {
  u8 *base;
  u64 size;
  u64 used;
  u64 free[SEGMENT_SIZES];  // heads, with a tag against ABA in the upper half: 1 + offset in segments
  u32 *next;  // links of the free lists, by offset in segments
  u64 *spares;  // SPARE_LISTS heads of lists of threads' first segments; null without Launch::multiplexed
  u64 lanes;  // lane i of so many has the i-th first segment from the beginning
};
constexpr u32 SPARE_LISTS = 1024;

// Pinned: what a persistent kernel is to run. Commands are numbered from 0, in the order in which they
// run; see `next_command`.
constexpr u32 COMMANDS = 1024;
struct Launch;
struct Commands {
  u64 published;  // how many there are; the host's
  u64 ended;  // how many have ended; the lane's
  const Launch *launches[COMMANDS];  // command n is at n % COMMANDS; null: the kernel ends
};

// What a run reads and writes beside its memory: the buffers of ld_in, st_out and set_pixel.
struct Io {
  const u8 *input;
  u64 input_size;
  u8 *output;
  u64 output_size;  // bytes that it may have
  u64 output_end;  // after the highest byte written
  u32 *frame;  // rows of pixels, each red, green, blue, alpha
  u32 width;
  u32 height;
  u64 pixels;  // set so far; counted only for `progress`
  u64 *progress;  // pinned: where `pixels` is reported now and then, or null
};

// Of a program with a memory whose threads may wait: whether one of them can go on. See census.h.
struct Census {
  // Threads that live, or that will begin. Above 32 bits, those of them that wait and have no time at which they go on.
  u64 counts;
  u32 deadlocked;  // 1: all threads wait, and none is left to wake one; 2: and one has told of it
  u32 pad;
};

// Of a program that spawns threads. A thread has a slot, which is its id; the first has slot 0. See spawn.h.
struct Spawner {
  u64 free;  // slots whose threads have ended, as a list: 1 + the first, and above 32 bits a tag against ABA
  u32 *next;  // its links, by slot
  u64 spawned;  // threads since the launch
  u32 *inboxes;  // by lane of the interpreter: 1 + a thread that was spawned or woken, or 0; a list by Thread::link
  u32 *idle;  // by place (see `spawn::lane_at`), a bit: its lane has no thread that could run
  u64 *mail;  // by slot, of compiled code: SPAWN_MAIL and the argument of a thread that is to begin, or 0
  u64 *globals;  // blocks of the threads, by slot
  const u64 *initial_globals;  // what such a block begins with
  u32 capacity;  // slots
  u32 used;  // slots that have ever been handed out
  u32 place;  // that gets the next thread where no idle one is found
  u32 most;  // threads that lived at once
  u32 lanes_out;  // lanes of the interpreter that run no thread any more
  u32 pad;
};
// Above the argument in Spawner::mail.
constexpr u64 SPAWN_MAIL = 1ull << 32;

struct Batch;

struct Launch {
  const u64 *code;
  const Func *funcs;
  const Instance *instances;
  Thread *threads;
  Control *control;  // pinned
  Ring *ring;
  Arena *arena;
  const u64 *initial_globals;  // the store's block of globals
  u64 *thread_globals;  // thread 0's block, after it those of the others; of a single thread the store's
  u64 *shared_globals;
  u32 *args;  // units of the arguments, the same for every thread
  u32 *results;  // result units of thread 0, then of thread 1, …
  u8 *lane_segments;  // each lane's own register segment
  const TryFunction *try_functions;  // sorted
  const Try *tries;
  const Clause *clauses;
  Exceptions *exceptions;
  Bucket *buckets;  // WAIT_BUCKETS of them
  u64 wall_start;  // wall clock at launch, in ns since the Unix epoch
  mutable u64 clock_start;  // the device's clock then; stored by the first lane
  u32 thread_count;
  u32 lanes;
  u32 lane_segment_units;
  u32 shared_units;  // units of registers per lane in shared memory; 0: none
  u32 max_depth;
  u32 func;  // store-wide number of the function to run
  u32 arg_units;
  u32 result_units;
  u32 globals_per_thread;  // slots of 8 bytes
  u32 stack_pointer;  // slot of the stack pointer, or ~0
  u32 stack_top;  // highest stack's top in linear memory, with several threads
  u32 stack_size;  // bytes of each thread's stack; 0: threads keep the module's
  u32 slice;  // branches and calls between two polls
  // 1 once a thread has ended the process: it alone writes the record. Here and not in the record,
  // because GPUs have no atomics on the host's memory.
  mutable u32 claimed;
  u32 try_function_count;
  u32 max_frame;  // units of the largest frame
  u32 multiplexed;  // not 0: a lane's threads take turns, with frames in the arena; 1 + the size of the first
  u32 tls_base;  // slot of the global that points to a thread's thread-local storage, or ~0
  u32 tls_first;  // address of thread 0's block, which it does not use: it has the module's own
  u32 tls_stride;  // bytes from block to block
  // Of compiled code, by the store's number of a function: its address, and that of what calls it with arguments from
  // Context::values. 0 for a host function that does nothing.
  const u64 *functions;
  const u64 *tails;
  const struct Native *natives;  // by number in a function's head, less 1; null: all code is of one kind
  Requests *requests;  // null: there is no host to ask
  Io *io;
  u32 native_stack;  // bytes of a lane's stack that compiled functions may use
  // Set as control->stop is. Compiled loops and the lanes of a GPU look here, where it costs no trip over the bus. The host
  // sets it by a copy, where a launch has more than one lane.
  mutable u32 stop;
  u32 lane_heaps;  // 1: lanes have slabs of a heap of their own, so that it matters when a thread has ended
  u32 resumes;  // 1: threads that are not new go on where the interpreter has parked them
  Diagnostics *diagnostics;
  Stands *stands;  // null: the host does not ask
  Census *census;  // null: threads cannot wait for each other by addresses
  // null: the program spawns no threads, or may not: it begins with several, or this is its start function.
  Spawner *spawner;
  u16 *visits;  // by word of the code, where `visit` stands: its opcode, VISIT_LOOP if a loop begins there, times it has run
  // Heads of loops at which compiled functions go on that were begun interpreted: how many, then for each its word, in order,
  // and above it 1 + the function's place in `natives`. Null: there are none.
  const u64 *loops;
  u8 *parked;  // room for each lane's registers in shared memory, if the run may be parked
  u32 parks;  // a Parks; the host changes it by copies
  mutable u32 left;  // 1: compiled code was left for that
  // Of compiled code that may be parked: cycles of the interpreter in it, and the lane's clock when they were last added to,
  // or when the interpreter last began. The host reads them by copies.
  mutable u64 interpreted;
  mutable u64 seen;
  const Samples *samples;  // null: nobody asks where time goes
  const Counts *counts;  // null: nobody asks how often blocks run
  Batch *batch;  // that the process is one of, or null: see processes.h
  u32 process;  // 1 + its number in the batch, by which the host knows its thread; 0: of no batch
  mutable u32 met;  // 1 once a thread has come to a `meet` of compiled code
  // The last two belong to the kernel, not to a run: commands do not bring them.
  Commands *commands;  // pinned: the kernel stays and runs these, on one lane; null: it ends after the run
  mutable u64 taken;  // commands that the lane has taken
};

}  // namespace gpu_run

#include "process_layout.h"
