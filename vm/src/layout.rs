//! The structures and constants that host and kernel share: twins of those in `kernel/layout.h` and
//! `kernel/compiled.h`, field by field.
//!
//! `kernel/generated/layout_check.h` is made from this file. It asserts on the kernel's side that each field lies where
//! it lies here, and that each constant has the same value; `check` makes it.
//!
//! In the order in which to read them: the structures here, each with its constants, then `requests`, `processes`, `samples` and `check`.

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
mod check;

/// Declares constants, and lists them for the kernel's assertions.
macro_rules! constants {
    ($list:ident: $($(#[$doc:meta])* $name:ident: $ty:ty = $value:expr;)*) => {
        $($(#[$doc])* pub const $name: $ty = $value;)*
        #[cfg(test)]
        const $list: &[(&str, u64)] = &[$((stringify!($name), $name as u64),)*];
    };
}

// These have the same names in the kernel.
constants! { CONSTANTS:
    /// Words at the start of a store's code that returns lead to.
    PC_BRIDGE_RETURN: u32 = 0;
    PC_THREAD_END: u32 = 1;
    PC_NATIVE_RETURN: u32 = 2;
    /// Of [`Launch`]'s visits: the opcode; whether a loop begins with the basic block; one time that it has run; and so
    /// many that no more are counted.
    VISIT_OPCODE: u32 = 0x3ff;
    VISIT_LOOP: u32 = 0x400;
    VISIT_ONCE: u32 = 0x800;
    VISIT_OFTEN: u32 = 0xf800;
    /// Of a run of which samples are taken: a function begins.
    VISIT_CALLED: u32 = VISIT_LOOP;
    /// Of a run of which blocks are counted: this one counts when its first instruction is done.
    VISIT_LATE: u32 = VISIT_LOOP;

    /// See `kernel/layout.h`.
    COUNT_PASSES: u32 = 4096;
    COUNT_POLLS: u32 = 2048;
    /// Lanes in a block of compiled code, at most.
    BLOCK_LANES: u32 = 512;

    PAGE: u64 = 65536;
    /// Bytes of the smallest register segment; see `kernel/layout.h`.
    SEGMENT: u64 = 4096;
    SEGMENT_SIZES: usize = 8;
    /// How often [`SEGMENT`] is doubled for segments after a thread's first.
    CALL_SEGMENT: u32 = 4;
    /// Heads of lists of threads' first segments.
    SPARE_LISTS: u64 = 1024;
    INTERPRETER_STACK: u32 = 4096;
    BACKTRACE: usize = 64;
    /// Of these, the outermost return addresses, where there are more.
    OUTER_CALLS: usize = 16;
    /// Return addresses of a thread that stands somewhere.
    STAND_CALLS: usize = 12;
    STANDS: usize = 256;
    /// The same of a sample of a thread.
    SAMPLE_CALLS: usize = 60;
    /// The bit of a mark that says that the frame itself is there, and no call of it; threads whose marks lie side by side,
    /// and their frames of which there are marks.
    MARK_OWN: u32 = 1 << 31;
    MARK_GROUP: usize = 128;
    MARK_FRAMES: usize = 31;
    /// Units of the innermost frame that the record of an end keeps.
    END_UNITS: usize = 32;
    /// Words of items that a thread gathers of a debug message.
    DEBUG_WORDS: usize = 26;
    /// Units of values in a piece of an exception.
    CHUNK_UNITS: usize = 8;
    /// Commands of which a kernel that stays can be told at once.
    COMMANDS: usize = 1024;
    WAIT_BUCKETS: u64 = 1024;
    /// Requests that may be under way at once; see `kernel/rpc/requests.h`.
    REQUEST_SLOTS: usize = 512;
    /// Bytes of data in a message.
    REQUEST_BYTES: usize = 4096;
    REQUEST_RESULTS: usize = 64;
    MESSAGE_WORDS: usize = 16;
    /// Most units of arguments.
    MESSAGE_ARGUMENTS: usize = MESSAGE_WORDS - MESSAGE_UNITS;
    /// The word that tells of a process which another has started.
    MESSAGE_CHILD: usize = MESSAGE_WORDS - 1;
    /// Where the kind begins in a message's head.
    MESSAGE_KIND: u32 = 16;
    MESSAGE_DATA: u32 = 1 << 24;
    MESSAGE_RESULTS: u32 = 1 << 25;
    MESSAGE_OF_CHILD: u32 = 1 << 26;
    RESPONSE_WORDS: usize = 4;
    RESPONSE_RESULTS: usize = RESPONSE_WORDS - 1;
    RESPONSE_COUNT: u32 = 16;
    RESPONSE_SLOT: u32 = 1 << 24;
    STREAM_DESCRIPTORS: usize = 32;
    /// Of processes that others start: bytes of their arguments and environment, and of a pipe.
    PROCESS_STRINGS: u64 = 8192;
    PIPE_BYTES: u64 = 16384;
    FILE_DESCRIPTORS: usize = 256;
    FILE_BLOCK: u64 = 16384;
    /// Of an item that names a file in a debug message; not an opcode.
    DEBUG_FILE: u32 = 0x7f;
    /// Bytes of a block of a file system whose data the device holds.
    TMPFS_BLOCK: usize = 4096;
    /// Pages of a file that need no index.
    TMPFS_DIRECT: usize = 16;
    /// Descriptors that may be files of it.
    TMPFS_DESCRIPTORS: usize = 65536;
    HEAP_CLASSES: usize = 44;
    HEAP_GROUPS: u64 = 128;
    HEAP_STRIPES: usize = 16;
    HEAP_WORDS: usize = 64;
    /// Classes of which lanes have slabs of their own.
    LANE_CLASSES: u64 = 20;
    /// Bytes of the largest block of these.
    LANE_MOST: u32 = 1024;
    /// Bytes of ranges that compiled code copies or compares by a function that calls no other.
    SHORT_UNITS: u32 = 64;
    /// What the comparison of others returns, which is the difference of no two bytes.
    NOT_SHORT: u32 = 1 << 31;
    /// Bytes of memory for each of which there is a [`LaneSlab`].
    LANE_SLAB: u64 = 1024;
    /// Bytes of linear memory for each of which a checked heap has a record.
    SITE_GRAIN: u64 = 64;
    SITE_CALLS: usize = 5;
    /// Where the alignment begins in [`HeapSite::state`].
    SITE_ALIGN: u32 = 8;
    /// Bytes of the largest block that is cut from a slab.
    HEAP_LARGEST: u64 = 57344;
    /// Guard bytes of a checked heap; see `kernel/layout.h`.
    GUARD_FRONT: u64 = 16;
    GUARD_FRONT_MOST: u64 = 4096;
    GUARD_LEAST: u64 = 16;
    GUARD_MOST: u64 = 64;
    GUARD: u8 = 0xfd;
    POISON: u8 = 0xdd;
    POISON_MOST: u64 = 65536;
    /// Entries of an index block of the device's file system.
    TMPFS_ENTRIES: usize = TMPFS_BLOCK / 4;
    /// Units of scratch that a [`Context`] has for an instruction's operands.
    SCRATCH_UNITS: usize = 32;
}

// The kernel's enumerators have what follows the first underscore in camel case: `END_EXIT` is `END_Exit`.
constants! { ENUMERATORS:
    MESSAGE_HEAD: usize = 0;
    MESSAGE_THREAD: usize = 1;
    MESSAGE_CAPACITY: usize = 2;
    MESSAGE_TOTAL: usize = 3;
    MESSAGE_UNITS: usize = 4;

    SITE_LIVE: u32 = 1;
    SITE_FREED: u32 = 2;

    /// Kinds of pages of a heap.
    KIND_NONE: u64 = 0;
    KIND_REGION: u64 = 1;

    FUNC_WASM: u32 = 0;
    FUNC_NOTHING: u32 = 1;

    THREAD_SLEEPING: u32 = 2;
    THREAD_ENDED: u32 = 3;
    THREAD_WAITING: u32 = 4;
    THREAD_REQUESTING: u32 = 5;
    THREAD_BUSY: u32 = 6;
    /// State of a [`Stand`] of threads that wait for room in the output ring.
    STAND_OUTPUT: u32 = 16;

    /// What threads are to do at their next poll: end, or be parked. Whether compiled code is left: may be, is to be.
    STOP_ENDS: u32 = 1;
    STOP_PARKS: u32 = 2;
    PARKS_MAY: u32 = 1;
    PARKS_SOON: u32 = 2;

    END_TRAP: u32 = 1;
    END_EXIT: u32 = 2;
    END_PANIC: u32 = 3;

    REQUEST_CALL: u32 = 1;
    REQUEST_MORE: u32 = 2;
    REQUEST_NEXT: u32 = 3;

    FILE_CLOSES: u32 = 2;

    NOTE_NONE: u32 = 0;
    NOTE_POSITION: u32 = 1;
    NOTE_KEEP: u32 = 2;
    NOTE_CHANGES: u32 = 3;
    NOTE_TMPFS: u32 = 4;
    NOTE_FREE: u32 = 5;

    TMPFS_FLAG_SHIFT: u32 = 24;
    TMPFS_READ: u32 = 1;
    TMPFS_WRITE: u32 = 2;
    TMPFS_APPEND: u32 = 4;
    TMPFS_TRUNCATE: u32 = 8;

    RECORD_EMPTY: u32 = 0;
    RECORD_TEXT: u32 = 2;
    RECORD_CLOSE: u32 = 3;
    RECORD_DEBUG: u32 = 4;
    RECORD_PROCESS: u32 = 5;
    RECORD_SAMPLE: u32 = 6;

    DEBUG_FIRST: u32 = 1;
    DEBUG_LAST: u32 = 2;
    DEBUG_LINE: u32 = 4;
    DEBUG_USED_SHIFT: u32 = 8;

    /// Steps of compiled kernels; see `kernel/steps.h`.
    STEP_PASS: u32 = 0;
    STEP_PHASE: u32 = 255;

    /// Words at the beginning of a block's shared memory; see `kernel/layout.h`.
    BLOCK_POLLS: u32 = 1;
    BLOCK_WORDS: u32 = 2;
    BLOCK_SIZE: u32 = 4;
    BLOCK_FIRST: u32 = 6;
}

/// A pointer on the device.
pub type Ptr = u64;

/// A shared structure as the kernel must have it: its fields by name, offset and size.
#[cfg(test)]
pub(super) struct Twin {
    name: &'static str,
    size: usize,
    fields: &'static [(&'static str, usize, usize)],
}

/// Declares structures, and lists them for the kernel's assertions.
macro_rules! twins {
    ($list:ident: $($(#[$doc:meta])* struct $name:ident { $($field:ident: $ty:ty,)* })*) => {
        $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name { $(pub $field: $ty,)* }
        )*
        #[cfg(test)]
        pub(super) const $list: &[Twin] = &[$(Twin {
            name: stringify!($name),
            size: size_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field), size_of::<$ty>()),)*],
        },)*];
    };
}

mod processes;
mod requests;
mod samples;
pub use processes::{
    Batch, ImagePiece, Pipe, Process, ProcessEnd, ProcessInput, ProcessProgram, ProcessSample, ProcessSlot,
    ProcessTable,
};
pub use requests::*;
pub use samples::{Counts, Sample, SampledThread, Samples, Stands};

twins! { TWINS:
    struct HeapPage {
        state: u64,
        first: u32,
        pad: u32,
        bits: [u64; HEAP_WORDS],
    }
    struct HeapSite {
        size: u32,
        state: u32,
        pc: u32,
        calls: [u32; SITE_CALLS],
    }
    /// A slab of one lane's: see `kernel/heap/lane_slab.h`.
    struct LaneSlab {
        free: u64,
        owner: u32,
        next: u32,
        freed: u64,
        previous: u32,
        inbox: u32,
    }
    struct Heap {
        pages: Ptr,
        sets: Ptr,
        slots: Ptr,
        sites: Ptr,
        lane_lists: Ptr,
        lane_slabs: Ptr,
        lane_inboxes: Ptr,
        lanes: u32,
        lane_records: u32,
        page_limit: u32,
        guards: u32,
        width: [u32; HEAP_CLASSES],
        slab_pages: [u32; HEAP_CLASSES],
        lock: u32,
        held: u32,
        used: u32,
        used_peak: u32,
        failed: u32,
        relieved: u32,
        live_bytes: u64,
        live_peak: u64,
        lanes_used: u32,
        lanes_waste: u32,
        lane_bytes: u64,
        transit: u64,
        allocated: [[u64; HEAP_CLASSES + 1]; HEAP_STRIPES],
    }
    struct Memory {
        base: Ptr,
        size: u64,
        limit: u64,
        wide: u32,
        shared: u32,
        heap: Heap,
        refused: u64,
    }
    struct Table {
        elements: Ptr,
        size: u32,
        limit: u32,
    }
    struct DataSegment {
        bytes: Ptr,
        len: u64,
    }
    struct ElemSegment {
        refs: Ptr,
        len: u64,
    }
    struct Func {
        kind: u32,
        instance: u32,
        pc: u32,
        type_index: u32,
    }
    struct Native {
        code: u64,
        stack: u64,
    }
    struct Instance {
        memories: Ptr,
        tables: Ptr,
        globals: Ptr,
        funcs: Ptr,
        types: Ptr,
        data: Ptr,
        elems: Ptr,
        tags: Ptr,
        memory_count: u32,
        thread_start: u32,
    }
    struct Thread {
        state: u32,
        pc: u32,
        frame: Ptr,
        stride: u32,
        room: u32,
        header: u32,
        depth: u32,
        instance: u32,
        stack_limit: u32,
        resume_state: u64,
        wake: u64,
        globals: Ptr,
        lane_segment_used: u32,
        exceptions: u32,
        exception_count: u32,
        exception_limit: u32,
        segment: u32,
        segment_size: u32,
        woken: u32,
        next: u32,
        previous: u32,
        request: u32,
        waits_at: Ptr,
        message_number: u32,
        moved: u32,
        answer: u32,
        random: u32,
        home: u32,
        link: u32,
        argument: u32,
        start: u32,
        native: Ptr,
    }
    struct Bucket {
        lock: u32,
        first: u32,
        last: u32,
        pad: u32,
    }
    struct End {
        kind: u32,
        value: u32,
        thread: u32,
        pc: u32,
        depth: u32,
        frames: u32,
        unit_count: u32,
        detail: u32,
        backtrace: [u32; BACKTRACE],
        units: [u32; END_UNITS],
    }
    struct DebugThread {
        used: u32,
        begun: u32,
        lost: u32,
        level: u32,
        words: [u32; DEBUG_WORDS],
    }
    struct Diagnostics {
        threads: Ptr,
        first_thread: u32,
        last_thread: u32,
        least_level: u32,
        drop: u32,
        dropped: u64,
        faults: u32,
        pad: u32,
    }
    struct Ring {
        bytes: Ptr,
        capacity: u64,
        head: u64,
        free: u64,
        tail_seen: u64,
        looked: u64,
        tail: Ptr,
    }
    struct Record {
        kind: u32,
        len: u32,
        thread: u32,
        stream: u32,
    }
    struct Control {
        stop: u32,
        pad: [u32; 15],
        end: End,
    }
    struct Arena {
        base: Ptr,
        size: u64,
        used: u64,
        free: [u64; SEGMENT_SIZES],
        next: Ptr,
        spares: Ptr,
        lanes: u64,
    }
    struct TryFunction {
        start: u32,
        end: u32,
        first_try: u32,
        try_count: u32,
    }
    struct Try {
        start: u32,
        end: u32,
        first_clause: u32,
        clause_count: u32,
    }
    struct Clause {
        tag: u32,
        reference: u32,
        unit: u32,
        target: u32,
    }
    /// A piece of an exception.
    struct Chunk {
        tag: u32,
        count: u32,
        more: u32,
        next: u32,
        owner: u32,
        sibling: u32,
        marked: u32,
        kept: u32,
        units: [u32; CHUNK_UNITS],
    }
    struct Exceptions {
        chunks: Ptr,
        free: u64,
        used: u32,
        capacity: u32,
    }
    struct Commands {
        published: u64,
        ended: u64,
        launches: [Ptr; COMMANDS],
    }
    struct Io {
        input: Ptr,
        input_size: u64,
        output: Ptr,
        output_size: u64,
        output_end: u64,
        frame: Ptr,
        width: u32,
        height: u32,
        pixels: u64,
        progress: Ptr,
    }
    struct Census {
        counts: u64,
        deadlocked: u32,
        pad: u32,
    }
    struct Spawner {
        free: u64,
        next: Ptr,
        spawned: u64,
        inboxes: Ptr,
        idle: Ptr,
        mail: Ptr,
        globals: Ptr,
        initial_globals: Ptr,
        capacity: u32,
        used: u32,
        place: u32,
        most: u32,
        lanes_out: u32,
        pad: u32,
    }
    struct Launch {
        code: Ptr,
        funcs: Ptr,
        instances: Ptr,
        threads: Ptr,
        control: Ptr,
        ring: Ptr,
        arena: Ptr,
        initial_globals: Ptr,
        thread_globals: Ptr,
        shared_globals: Ptr,
        args: Ptr,
        results: Ptr,
        lane_segments: Ptr,
        try_functions: Ptr,
        tries: Ptr,
        clauses: Ptr,
        exceptions: Ptr,
        buckets: Ptr,
        wall_start: u64,
        clock_start: u64,
        thread_count: u32,
        lanes: u32,
        lane_segment_units: u32,
        shared_units: u32,
        max_depth: u32,
        func: u32,
        arg_units: u32,
        result_units: u32,
        globals_per_thread: u32,
        stack_pointer: u32,
        stack_top: u32,
        stack_size: u32,
        slice: u32,
        claimed: u32,
        try_function_count: u32,
        max_frame: u32,
        multiplexed: u32,
        tls_base: u32,
        tls_first: u32,
        tls_stride: u32,
        functions: Ptr,
        tails: Ptr,
        natives: Ptr,
        requests: Ptr,
        io: Ptr,
        native_stack: u32,
        stop: u32,
        lane_heaps: u32,
        resumes: u32,
        diagnostics: Ptr,
        stands: Ptr,
        census: Ptr,
        spawner: Ptr,
        visits: Ptr,
        loops: Ptr,
        parked: Ptr,
        parks: u32,
        left: u32,
        interpreted: u64,
        seen: u64,
        samples: Ptr,
        counts: Ptr,
        batch: Ptr,
        process: u32,
        met: u32,
        commands: Ptr,
        taken: u64,
    }
    /// Of a thread of compiled code; see `kernel/compiled.h`.
    struct Context {
        launch: Ptr,
        thread: Ptr,
        globals: Ptr,
        id: u32,
        polls: u32,
        native_limit: u32,
        shallow: u32,
        tag: u32,
        reference: u32,
        count: u32,
        throw_pc: u32,
        throw_depth: u32,
        stack_limit: u32,
        tail_target: Ptr,
        calls: [u32; BACKTRACE + OUTER_CALLS],
        throw_calls: [u32; BACKTRACE + OUTER_CALLS],
        scratch: [u32; SCRATCH_UNITS],
        max_depth: u32,
        roots: u32,
        address: Ptr,
        nested: u32,
        nested_depth: u32,
        suspended: Ptr,
        resumed: Ptr,
        entering: Ptr,
        parked: u32,
        meets: u32,
        looks: u32,
        pad: u32,
        marks: Ptr,
        instance: Ptr,
        memory: Ptr,
        base: Ptr,
    }
    /// The head of a frame of units that may be references to exceptions; see `kernel/compiled.h`.
    struct Roots {
        next: u32,
        count: u32,
    }
}
