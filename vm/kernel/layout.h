// The structures that host and kernel share. vm/src/layout.rs has their twins; both sides assert
// the sizes. Pointers are device pointers unless a comment says pinned: pinned memory belongs to
// the host and is mapped into the device.
#pragma once

#include "platform.h"

namespace gpu_run {

constexpr u32 PAGE = 65536;
// Words at the start of the store's code that returns lead to.
constexpr u32 PC_BRIDGE_RETURN = 0;
constexpr u32 PC_THREAD_END = 1;

// The heap of a memory; see heap/heap.h. What it points to lies beside linear memory, where no guest
// reaches it. Host code of its own (src/store/heap.rs) reads it after a run.
constexpr u32 HEAP_CLASSES = 44;  // sizes of blocks in slabs
constexpr u32 HEAP_GROUPS = 128;  // of lanes that have a slab of a class in common
constexpr u32 HEAP_STRIPES = 16;  // of counters
constexpr u32 HEAP_WORDS = 64;  // of a slab's bitmap

// A page of 64 KiB of linear memory; the first one of a slab or a region speaks for all of it.
struct HeapPage {
  u64 state;  // see heap/pages.h and heap/slab.h
  u32 first;  // first page of the slab or region that it belongs to
  u32 pad;
  u64 bits[HEAP_WORDS];  // a slab's blocks: 1 is handed out
};
static_assert(sizeof(HeapPage) == 16 + 8 * HEAP_WORDS, "twin in layout.rs");

// Of a block of a checked heap; see heap/check.h.
constexpr u32 SITE_CALLS = 5;
enum SiteState : u32 {
  SITE_None = 0,  // nothing is known of the block
  SITE_Live = 1,
  SITE_Freed = 2,
};
struct HeapSite {
  u32 size;  // bytes that were asked for
  u32 state;  // SiteState
  u32 pc;  // of the instruction that allocated it
  u32 calls[SITE_CALLS];  // return addresses, innermost first; 0 behind the last
};
static_assert(sizeof(HeapSite) == 32, "twin in layout.rs");

struct Heap {
  HeapPage *pages;  // null: no program allocates in this memory
  u64 *sets;  // of pages: the free ones, then for each class those that begin a slab with room
  u32 *slots;  // by class, then group: 1 + first page of the slab that the group takes blocks from
  u32 page_limit;  // pages that all this has room for
  u32 lock;  // 1 while a lane fetches pages, or looks for a run of many
  u32 held;  // pages that memory was grown by
  u32 used;  // of these, pages of slabs and regions
  u32 used_peak;
  u32 failed;  // requests that found no memory
  HeapSite *sites;  // of a checked heap, one for each 64 bytes; else null
  u64 live_bytes;  // of a checked heap: that were asked for
  u64 live_peak;
  u32 guards;  // 1: of a checked heap whose blocks have guard bytes
  u32 pad;
  u64 transit;  // takers of slabs and pages that are under way; above 32 bits how many there were
  u32 slabs[HEAP_CLASSES];  // that there are
  u32 width[HEAP_CLASSES];  // log2 of how many groups have a slot
  u64 allocated[HEAP_STRIPES][HEAP_CLASSES + 1];  // blocks handed out so far; the last are regions
};
static_assert(sizeof(Heap) == 88 + 8 * HEAP_CLASSES + 8 * HEAP_STRIPES * (HEAP_CLASSES + 1), "twin in layout.rs");

struct Memory {
  u8 *base;  // aligned to 16 bytes at least
  u64 size;  // bytes; grows atomically
  u64 limit;  // bytes reserved at base: the size never exceeds it
  u32 wide;  // 1: addresses are i64
  u32 shared;  // 1: threads may wait on its addresses
  Heap heap;
};

struct Table {
  u32 *elements;  // references: 0 is null
  u32 size;
  u32 limit;
};
static_assert(sizeof(Table) == 16, "twin in layout.rs");

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
  u32 type;  // store-wide number of its type
};
static_assert(sizeof(Func) == 16, "twin in layout.rs");

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
  u32 pad;
};
static_assert(sizeof(Instance) == 72, "twin in layout.rs");

enum ThreadState : u32 {
  THREAD_New = 0,
  THREAD_Runnable = 1,
  THREAD_Sleeping = 2,
  THREAD_Ended = 3,
  THREAD_Waiting = 4,  // in the queue of an address; see atomics.h
};

// A thread at rest. While it runs, the lane holds this in hardware registers.
struct Thread {
  u32 state;
  u32 pc;
  u8 *frame;  // unit 0 of the running frame
  u32 stride;  // bytes from unit to unit
  u32 room;  // units from the frame's start to the segment's end
  u32 header;  // unit of the running frame's header
  u32 depth;  // frames on the stack
  u32 instance;
  u32 stack_limit;  // lowest value that the stack pointer global may take
  u64 progress;  // of an instruction that runs in several pieces
  u64 wake;  // when a sleeping thread goes on, on the device's clock
  u64 *globals;  // its block of globals
  u32 home_used;  // 1 while frames lie in the lane's own segment in memory, or may not lie there
  u32 exceptions;  // the exceptions that it made: index + 1 of the first
  u32 exception_count;
  u32 exception_limit;  // count at which it looks which are still needed
  u32 segment;  // of the first frame: 1 + its number in the arena, or 0
  u32 segment_size;
  u32 woken;  // 1 once a notify took the thread out of its queue; the others below are the bucket's
  u32 next;  // 1 + the thread behind it in the queue, or 0
  u32 previous;
  u32 pad;
  u8 *waits_at;  // where the word lies that it waits at
};
static_assert(sizeof(Thread) == 112, "twin in layout.rs");

// Threads that wait at addresses with the same hash, in the order in which they came.
constexpr u32 WAIT_BUCKETS = 1024;
struct Bucket {
  u32 lock;  // 1 while a lane works on the queue
  u32 first;  // 1 + a thread's number, or 0
  u32 last;
  u32 pad;
};
static_assert(sizeof(Bucket) == 16, "twin in layout.rs");

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
static_assert(sizeof(Chunk) == 64, "twin in layout.rs");
struct Exceptions {
  Chunk *chunks;
  u64 free;  // head: index + 1, and in the upper half a tag against ABA
  u32 used;
  u32 capacity;
};
static_assert(sizeof(Exceptions) == 24, "twin in layout.rs");
// Exceptions that a thread makes at most before it looks which are still needed.
constexpr u32 COLLECT_AFTER = 64;

// How a process ended. The first thread to end it claims the record.
enum EndKind : u32 {
  END_None = 0,
  END_Trap = 1,
  END_Exit = 2,
  END_Panic = 3,
};
constexpr u32 BACKTRACE = 64;
struct End {
  u32 kind;  // EndKind, written last
  u32 value;  // trap kind or exit code
  u32 thread;
  u32 pc;
  u32 depth;  // frames on the stack
  u32 frames;  // entries in backtrace
  u32 detail;  // of a trap of the heap: the address that it was about
  u32 pad;
  u32 backtrace[BACKTRACE];  // return addresses, innermost first
};
static_assert(sizeof(End) == 32 + 4 * BACKTRACE, "twin in layout.rs");

// Output from lanes to the host: records in a ring of bytes in pinned memory.
struct Ring {
  u8 *bytes;  // pinned
  u64 capacity;  // bytes, a multiple of 16
  u64 head;  // bytes reserved so far
  u64 tail_seen;  // a value that the tail has had
  u64 *tail;  // pinned: bytes taken by the host so far
};
static_assert(sizeof(Ring) == 40, "twin in layout.rs");

enum RecordKind : u32 {
  RECORD_Empty = 0,
  RECORD_Skip = 1,  // room left over at the ring's end
  RECORD_Text = 2,  // piece of a thread's open record
  RECORD_Close = 3,  // the thread's open record is complete
};
struct Record {
  u32 kind;  // written last
  u32 len;  // bytes of text behind it, padded to 16
  u32 thread;
  u32 stream;
};
static_assert(sizeof(Record) == 16, "twin in layout.rs");

// Pinned: what host and lanes tell each other while a kernel runs.
struct Control {
  u32 stop;  // set by the host: every thread ends at its next poll
  u32 pad[15];
  End end;
};

// Register segments beyond a lane's own: blocks of 2^k times SEGMENT bytes.
constexpr u32 SEGMENT = 65536;
constexpr u32 SEGMENT_SIZES = 4;
struct Arena {
  u8 *base;
  u64 size;
  u64 used;
  u64 free[SEGMENT_SIZES];  // heads, with a tag against ABA in the upper half: 1 + offset in segments
  u32 *next;  // links of the free lists, by offset in segments
};
static_assert(sizeof(Arena) == 64, "twin in layout.rs");

// Pinned: what a kernel that stays is told to run. Commands are numbered from 0, in the order in which
// they run; see `next_command`.
constexpr u32 COMMANDS = 1024;
struct Launch;
struct Commands {
  u64 published;  // how many there are; the host's
  u64 ended;  // how many have ended; the lane's
  const Launch *launches[COMMANDS];  // command n is at n % COMMANDS; null: the kernel ends
};
static_assert(sizeof(Commands) == 16 + 8 * COMMANDS, "twin in layout.rs");

struct Launch {
  const u64 *code;
  const Func *funcs;
  const Instance *instances;
  Thread *threads;
  Control *control;  // pinned
  Ring *ring;
  Arena *arena;
  const u64 *initial_globals;  // the store's block of globals
  u64 *shared_globals;
  u32 *args;  // units of the arguments, the same for every thread
  u32 *results;  // result units of thread 0, then of thread 1, …
  u8 *home;  // each lane's own register segment
  const TryFunction *try_functions;  // sorted
  const Try *tries;
  const Clause *clauses;
  Exceptions *exceptions;
  Bucket *buckets;  // WAIT_BUCKETS of them
  u64 wall_start;  // wall clock at launch, in ns since the Unix epoch
  mutable u64 clock_start;  // the device's clock then; stored by the first lane
  u32 thread_count;
  u32 lanes;
  u32 home_units;
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
  u32 rotate;  // 1: a lane has several threads, which take turns and have their frames in the arena
  u32 tls_base;  // slot of the global that points to a thread's thread-local storage, or ~0
  u32 tls_first;  // address of thread 0's block, which it does not use: it has the module's own
  u32 tls_stride;  // bytes from block to block
  // Of compiled code, by the store's number of a function: its address, and that of what calls it with
  // arguments from Context::values; 0 for a host function that does nothing.
  const u64 *functions;
  const u64 *tails;
  u32 native_stack;  // bytes of a lane's stack that compiled functions may use
  // Set when the process ends, as control->stop is: compiled loops look here, where it costs no trip over
  // the bus. The host sets it by a copy.
  mutable u32 stop;
  // The last two belong to the kernel, not to a run: commands do not bring them.
  Commands *commands;  // pinned: the kernel stays and runs these, on one lane; null: it ends after the run
  mutable u64 taken;  // commands that the lane has taken
};
static_assert(sizeof(Launch) == 23 * 8 + 22 * 4, "twin in layout.rs");

}  // namespace gpu_run
