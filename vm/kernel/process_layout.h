// What processes of a batch share with the host: a part of layout.h. See processes.h, and of those that start others
// process_table.h.
#pragma once

namespace gpu_run {

// A process as it waits for its turn.
struct ProcessInput {
  Strings args;
  Strings environment;
  const u8 *input;  // its standard input
  u64 input_len;
};

// Part of the memory with which all processes of a program begin. The rest of it is 0.
struct ImagePiece {
  const u8 *bytes;  // `at` and they are aligned to 16 bytes
  u64 at;
  u64 len;  // a multiple of 16
};

// How a process ended, as the host is told.
struct ProcessEnd {
  u32 kind;  // an EndKind; END_None: it has returned, or was stopped
  u32 value;  // as in End, as what follows
  u32 pc;
  u32 depth;
  u32 frames;
  u32 stopped;  // 1: it was
  u64 refused;  // times that memory.grow found the slot's room used up
  u64 memory;  // bytes of its memory
  u64 time;  // nanoseconds from its begin
  u32 child;  // Process::child of one that another has started; 0: the host has started it
  u32 program;
  u32 pad[2];
  u32 backtrace[BACKTRACE];  // of a trap; else it is not sent
};

// Samples of a process, as the host is told.
struct ProcessSample {
  u64 count;
  u32 state;  // as in Sample, as what follows
  u32 pc;
  u32 frames;
  u32 more;  // 1: there are calls further out
  u32 pad[2];
  u32 calls[SAMPLE_CALLS];  // as many are sent as there are frames, and up to three more
};

// Where processes run, one after the other: all that one has for itself, in the lane with the slot's number.
struct alignas(16) ProcessSlot {
  Memory memory;
  Launch launch;  // of one thread
  Instance instance;
  Requests requests;
  Control control;
  Memory *memories[1];  // Instance::memories
  u64 began;  // on the device's clock
  u32 program;  // 1 + the program that it was made for
  u32 process;  // of a batch with a table: the process's place there
  u64 refused;  // of all that it has started; as ProcessEnd::refused
  u32 left;  // 1: it has ended and left the table
  u32 told;  // 1: the host knows of its end, of one that another has started
  u32 restarts;  // as Process::restarts
  u32 pad;
};

// A program that processes run: what all of them begin with.
struct ProcessProgram {
  const ProcessSlot *model;  // what their slots have in common, but for addresses of what is theirs
  const ImagePiece *pieces;
  u64 memory_size;  // bytes
  const Table *tables;
  const u32 *table_units;  // of each table, elements that it may have
  const DataSegment *data;
  const ElemSegment *elems;
  u32 piece_count;
  u32 table_count;  // that processes have for themselves; 0: none is ever written, and all share them
  u32 data_count;  // segments that they may drop
  u32 elem_count;
  u32 instance;  // its number in the store
  u32 name_len;
  u32 starves;  // 1: it may have more memory than slots have room for
  u32 pad;
  const u8 *name;  // by which processes start it
};

// Where a process is that is in the table.
enum ProcessState : u32 {
  PROCESS_Free = 0,
  PROCESS_Ready = 1,  // it waits for a lane
  PROCESS_Running = 2,
  PROCESS_Zombie = 3,  // it has ended, and its parent has not asked how
};

// What a standard descriptor of a process is.
enum StreamKind : u32 {
  STREAM_Host = 0,  // the host's matter, or closed
  STREAM_Stdout = 1,  // the output of the process that the host has started
  STREAM_Stderr = 2,
  STREAM_Pipe = 3,  // and up to 5: the pipe that descriptor 0, 1 or 2 was at first
  STREAM_Null = 6,
};

// Bytes of arguments and environment that a process may be given.
constexpr u32 PROCESS_STRINGS = 8192;
// Bytes that a pipe holds: a power of two. Up to PIPE_WHOLE of them are written as a whole.
constexpr u32 PIPE_BYTES = 16384;
constexpr u32 PIPE_WHOLE = 4096;

// A process in the table. All that its family shares, the processes that come of one that the host has started, is
// protected by the lock of that one.
struct Process {
  u32 lock;  // of the first of a family
  u32 state;  // a ProcessState
  u32 pid;  // its place + 1, and from PID_GENERATION on how often that was used before
  u32 root;  // places: of the first of its family
  u32 parent;
  u32 first_child;  // 1 + a place, or 0
  u32 next;  // the same, in the parent's list
  u32 previous;
  u32 link;  // in the list of those that are ready, or free
  u32 program;
  u32 slot;  // while it runs
  u32 killed;  // 1: it is to end; of the first of a family: none of it starts others
  u32 orphan;  // 1: its parent has ended, so that nobody waits for it
  u32 kind;  // how it has ended: an END_ of process_table.h
  u32 value;
  u32 handles;  // 1 + the first end of a pipe that it has besides its descriptors: a list by PipeEnd::next
  u32 ends[3];  // 1 + the end of a pipe that descriptor 0, 1 or 2 was at first, or 0
  u32 streams[3];  // a StreamKind for each
  u32 child;  // its number among all that were started, from 1; 0: the host has started it
  u32 number;  // as Launch::process, that of the family
  const u8 *input;  // what standard input is if that is no pipe
  u64 input_len;
  u64 *input_position;
  Strings args;
  Strings environment;
  u64 refused;  // of those of the family that have ended, but for the first one
  u32 restarts;  // 1: the family is to run again
  u32 pad;
};

struct PipeEnd {
  u32 holders;  // descriptors and handles
  u32 owner;  // 1 + the place of the process that has a handle of it, or 0
  u32 next;  // in Process::handles
};

struct Pipe {
  u32 lock;
  u32 link;  // in the list of those that are free
  PipeEnd ends[2];  // that is read, that is written
  u64 read;  // bytes so far
  u64 written;
};

// The processes of a batch that start others.
struct ProcessTable {
  Process *processes;  // first one for each slot, for those that the host has started; then `capacity` for the others
  u8 *strings;  // PROCESS_STRINGS for each of these others
  Pipe *pipes;
  u8 *bytes;  // PIPE_BYTES for each
  u64 free;  // lists of 1 + a place
  u64 ready;
  u64 free_pipes;
  u32 capacity;
  u32 pipe_count;
  u32 most_roots;  // processes of the host that may run at once
  u32 roots;  // how many do
  u32 live;  // others that run or are ready; never more than there are lanes besides
  u32 started;  // by processes, so far
};

struct Batch {
  ProcessSlot *slots;
  const ProcessProgram *programs;  // the host starts the first one
  u8 *memories;  // of the first slot; null: no program has one
  u64 memory_stride;  // bytes to the next slot's
  u32 slot_count;
  u32 count;  // processes in the queue so far
  u32 closed;  // 1: there will be no more
  u32 taken;  // numbers of processes that lanes have drawn
  u32 lost;  // lanes that have ended with their process
  u32 stop;  // 1: no process begins any more
  u32 warp_lanes;  // lanes of each warp that have slots: where there are few processes, more warps run them
  u32 input_room;  // inputs that there is room for, a power of two: the next ones take places of processes that have ended
  const ProcessInput *inputs;
  u32 *current;  // by slot, 1 + the number of its process; of one that another has started 0
  Ring *ring;
  u64 clock_start;  // as Launch::clock_start
  // What slots have room for.
  const u64 *globals;  // that all begin with
  u32 global_count;  // slots of 8 bytes
  u32 program_count;
  u32 table_count;
  u32 table_room;  // elements of all tables of a process
  u32 data_count;
  u32 elem_count;
  u32 *elements;  // those of each slot
  Table *own_tables;  // the same of the records, and pointers to them
  Table **own_pointers;
  DataSegment *own_data;
  ElemSegment *own_elems;
  ProcessTable *table;  // null: processes start no others
};

}  // namespace gpu_run
