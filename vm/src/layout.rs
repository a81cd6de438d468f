//! The structures that host and kernel share: twins of `kernel/layout.h`, field by field.

use bytemuck::{Pod, Zeroable};

/// Words at the start of a store's code that returns lead to.
pub const PC_BRIDGE_RETURN: u32 = 0;
/// See [`PC_BRIDGE_RETURN`].
pub const PC_THREAD_END: u32 = 1;

pub const PAGE: u64 = 65536;
/// Bytes of the smallest register segment; see `kernel/layout.h`.
pub const SEGMENT: u64 = 4096;
const SEGMENT_SIZES: usize = 8;
/// Heads of lists of threads' first segments.
pub const SPARE_LISTS: u64 = 1024;
pub const BACKTRACE: usize = 64;
/// Of these, the outermost return addresses, where there are more.
pub const OUTER_CALLS: usize = 16;
/// Return addresses of a thread that stands somewhere.
pub const STAND_CALLS: usize = 12;
pub const STANDS: usize = 256;
/// Units of the innermost frame that the record of an end keeps.
pub const END_UNITS: usize = 32;
/// Words of items that a thread gathers of a debug message.
pub const DEBUG_WORDS: usize = 26;
/// Bytes of a piece of an exception.
pub const CHUNK: u64 = 64;
/// Commands of which a kernel that stays can be told at once.
pub const COMMANDS: usize = 1024;
pub const WAIT_BUCKETS: u64 = 1024;
/// Requests that may be under way at once; see `kernel/rpc/requests.h`.
pub const REQUEST_SLOTS: usize = 512;
/// Bytes of data in a message.
pub const REQUEST_BYTES: usize = 4096;
pub const REQUEST_RESULTS: usize = 64;
pub const MESSAGE_WORDS: usize = 16;
pub const MESSAGE_HEAD: usize = 0;
pub const MESSAGE_THREAD: usize = 1;
pub const MESSAGE_CAPACITY: usize = 2;
pub const MESSAGE_TOTAL: usize = 3;
pub const MESSAGE_UNITS: usize = 4;
pub const MESSAGE_KIND: u32 = 16;
pub const MESSAGE_DATA: u32 = 1 << 24;
pub const MESSAGE_RESULTS: u32 = 1 << 25;
pub const RESPONSE_WORDS: usize = 4;
pub const RESPONSE_RESULTS: usize = RESPONSE_WORDS - 1;
pub const RESPONSE_COUNT: u32 = 16;
pub const RESPONSE_SLOT: u32 = 1 << 24;
pub const STREAM_DESCRIPTORS: usize = 32;
pub const FILE_DESCRIPTORS: usize = 256;
pub const FILE_BLOCK: u64 = 16384;
/// Bytes of a block of a file system whose data the device holds.
pub const TMPFS_BLOCK: usize = 4096;
/// Pages of a file that need no index.
pub const TMPFS_DIRECT: usize = 16;
/// Descriptors that may be files of it.
pub const TMPFS_DESCRIPTORS: usize = 65536;
pub const HEAP_CLASSES: usize = 44;
pub const HEAP_GROUPS: u64 = 128;
const HEAP_STRIPES: usize = 16;
pub const HEAP_WORDS: usize = 64;
pub const CACHE_CLASSES: u64 = 12;
/// Bytes of the largest block that a cache has.
pub const CACHED_MOST: u32 = 256;
/// Bytes of linear memory for each of which a checked heap has a record.
pub const SITE_GRAIN: u64 = 64;
pub const SITE_CALLS: usize = 5;
pub const SITE_LIVE: u32 = 1;
pub const SITE_FREED: u32 = 2;
const SITE_ALIGN: u32 = 8;
/// Bytes of the largest block that is cut from a slab.
pub const HEAP_LARGEST: u64 = 57344;
/// Guard bytes of a checked heap; see `kernel/layout.h`.
pub const GUARD_FRONT: u64 = 16;
pub const GUARD_FRONT_MOST: u64 = 4096;
pub const GUARD_LEAST: u64 = 16;
pub const GUARD_MOST: u64 = 64;
pub const GUARD: u8 = 0xfd;
pub const POISON: u8 = 0xdd;
pub const POISON_MOST: u64 = 65536;

/// A pointer on the device.
pub type Ptr = u64;

macro_rules! twins {
    ($($(#[$doc:meta])* struct $name:ident [$size:expr] { $($field:ident: $ty:ty,)* })*) => {
        $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name { $(pub $field: $ty,)* }
        const _: () = assert!(size_of::<$name>() == $size);
        )*
    };
}

twins! {
    struct HeapPage [16 + 8 * HEAP_WORDS] {
        state: u64,
        first: u32,
        pad: u32,
        bits: [u64; HEAP_WORDS],
    }
    struct HeapSite [32] {
        size: u32,
        state: u32,
        pc: u32,
        calls: [u32; SITE_CALLS],
    }
    /// Of the cache of a lane: see `kernel/heap/lane_cache.h`.
    struct CacheEntry [16] {
        kept: u64,
        lent: u64,
    }
    struct Heap [104 + 8 * HEAP_CLASSES + 8 * HEAP_STRIPES * (HEAP_CLASSES + 1)] {
        pages: Ptr,
        sets: Ptr,
        slots: Ptr,
        sites: Ptr,
        caches: Ptr,
        cache_lanes: u64,
        page_limit: u32,
        guards: u32,
        width: [u32; HEAP_CLASSES],
        slab_pages: [u32; HEAP_CLASSES],
        lock: u32,
        held: u32,
        used: u32,
        used_peak: u32,
        failed: u32,
        pad: u32,
        live_bytes: u64,
        live_peak: u64,
        transit: u64,
        allocated: [[u64; HEAP_CLASSES + 1]; HEAP_STRIPES],
    }
    struct Memory [40 + size_of::<Heap>()] {
        base: Ptr,
        size: u64,
        limit: u64,
        wide: u32,
        shared: u32,
        heap: Heap,
        refused: u64,
    }
    struct Table [16] {
        elements: Ptr,
        size: u32,
        limit: u32,
    }
    /// A data or element segment: bytes or references, and how many.
    struct Segment [16] {
        items: Ptr,
        len: u64,
    }
    struct Func [16] {
        kind: u32,
        instance: u32,
        pc: u32,
        ty: u32,
    }
    struct Instance [72] {
        memories: Ptr,
        tables: Ptr,
        globals: Ptr,
        funcs: Ptr,
        types: Ptr,
        data: Ptr,
        elems: Ptr,
        tags: Ptr,
        memory_count: u32,
        pad: u32,
    }
    struct Thread [128] {
        state: u32,
        pc: u32,
        frame: Ptr,
        stride: u32,
        room: u32,
        header: u32,
        depth: u32,
        instance: u32,
        stack_limit: u32,
        progress: u64,
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
    }
    struct Bucket [16] {
        lock: u32,
        first: u32,
        last: u32,
        pad: u32,
    }
    struct End [32 + 4 * (BACKTRACE + END_UNITS)] {
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
    struct DebugThread [16 + 4 * DEBUG_WORDS] {
        used: u32,
        begun: u32,
        lost: u32,
        level: u32,
        words: [u32; DEBUG_WORDS],
    }
    struct Diagnostics [40] {
        threads: Ptr,
        first_thread: u32,
        last_thread: u32,
        least_level: u32,
        drop: u32,
        dropped: u64,
        faults: u32,
        pad: u32,
    }
    struct Ring [56] {
        bytes: Ptr,
        capacity: u64,
        head: u64,
        free: u64,
        tail_seen: u64,
        looked: u64,
        tail: Ptr,
    }
    struct Record [16] {
        kind: u32,
        len: u32,
        thread: u32,
        stream: u32,
    }
    /// Threads that stood at one place when a run was stopped; see `kernel/stands.h`.
    struct Stand [32 + 4 * STAND_CALLS] {
        key: u64,
        count: u32,
        thread: u32,
        state: u32,
        pc: u32,
        depth: u32,
        frames: u32,
        calls: [u32; STAND_CALLS],
    }
    struct Stands [8 + STANDS * size_of::<Stand>()] {
        new_threads: u32,
        others: u32,
        groups: [Stand; STANDS],
    }
    struct Control [64 + size_of::<End>()] {
        stop: u32,
        pad: [u32; 15],
        end: End,
    }
    struct RequestMessage [8 * MESSAGE_WORDS] {
        words: [u64; MESSAGE_WORDS],
    }
    struct Response [8 * RESPONSE_WORDS] {
        words: [u64; RESPONSE_WORDS],
    }
    struct RequestSlot [128 + REQUEST_BYTES] {
        len: u32,
        total: u32,
        note: u32,
        file: u32,
        generation: u32,
        pad: [u32; 11],
        results: [u8; REQUEST_RESULTS],
        data: [u8; REQUEST_BYTES],
    }
    struct Strings [16] {
        bytes: Ptr,
        len: u32,
        count: u32,
    }
    struct File [64] {
        lock: u32,
        open: u32,
        position: u64,
        next: u64,
        start: u64,
        len: u32,
        window: u32,
        epoch: u32,
        wanted: u32,
        filled: u64,
        pad: u64,
    }
    struct TmpfsInode [128] {
        lock: u32,
        generation: u32,
        size: u64,
        written: u64,
        wanted: u64,
        root: u32,
        levels: u32,
        next: u32,
        direct: [u32; TMPFS_DIRECT],
        pad: [u32; 5],
    }
    struct TmpfsDescriptor [32] {
        target: u64,
        position: u64,
        moved: u64,
        lock: u32,
        pad: u32,
    }
    struct TmpfsAttributes [128] {
        number: u64,
        links: u64,
        accessed: u64,
        modified: u64,
        changed: u64,
        written_then: u64,
        pad: [u64; 2],
        size: u64,
        written: u64,
        generation: u32,
        pad2: [u32; 11],
    }
    struct Tmpfs [72] {
        blocks: Ptr,
        taken: Ptr,
        inodes: Ptr,
        descriptors: Ptr,
        attributes: Ptr,
        device: u64,
        words: u32,
        free_data: u32,
        free_index: u32,
        most_index: u32,
        cursor: u32,
        pad: u32,
    }
    struct Requests [152 + 4 * (STREAM_DESCRIPTORS + REQUEST_SLOTS / 32 + REQUEST_SLOTS)] {
        sent: Ptr,
        answered: Ptr,
        slots: Ptr,
        output_errors: Ptr,
        args: Strings,
        environment: Strings,
        bell: u64,
        bell_context: u64,
        seed: [u32; 8],
        run: u32,
        epoch: u32,
        files: Ptr,
        blocks: Ptr,
        tmpfs: Ptr,
        own_slots: u32,
        first_look: u32,
        streams: [u32; STREAM_DESCRIPTORS],
        taken: [u32; REQUEST_SLOTS / 32],
        messages: [u32; REQUEST_SLOTS],
    }
    struct Arena [48 + 8 * SEGMENT_SIZES] {
        base: Ptr,
        size: u64,
        used: u64,
        free: [u64; SEGMENT_SIZES],
        next: Ptr,
        spares: Ptr,
        lanes: u64,
    }
    struct TryFunction [16] {
        start: u32,
        end: u32,
        first_try: u32,
        try_count: u32,
    }
    struct Try [16] {
        start: u32,
        end: u32,
        first_clause: u32,
        clause_count: u32,
    }
    struct Clause [16] {
        tag: u32,
        reference: u32,
        unit: u32,
        target: u32,
    }
    struct Exceptions [24] {
        chunks: Ptr,
        free: u64,
        used: u32,
        capacity: u32,
    }
    struct Commands [16 + 8 * COMMANDS] {
        published: u64,
        ended: u64,
        launches: [Ptr; COMMANDS],
    }
    struct Io [72] {
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
    struct Launch [312] {
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
        requests: Ptr,
        io: Ptr,
        native_stack: u32,
        stop: u32,
        diagnostics: Ptr,
        stands: Ptr,
        commands: Ptr,
        taken: u64,
    }
    /// Of a thread of compiled code; see `kernel/compiled.h`.
    struct Context [856] {
        launch: Ptr,
        thread: Ptr,
        globals: Ptr,
        id: u32,
        lane: u32,
        native_limit: u32,
        polls: u32,
        tag: u32,
        reference: u32,
        count: u32,
        throw_pc: u32,
        throw_depth: u32,
        stack_limit: u32,
        tail_target: Ptr,
        calls: [u32; BACKTRACE + OUTER_CALLS],
        throw_calls: [u32; BACKTRACE + OUTER_CALLS],
        scratch: [u32; 32],
        max_depth: u32,
        roots: u32,
        this: Ptr,
    }
}

impl HeapSite {
    /// [`SITE_LIVE`], [`SITE_FREED`], or 0 if nothing is known of a block.
    pub fn kind(&self) -> u32 {
        self.state & ((1 << SITE_ALIGN) - 1)
    }

    /// Bytes from the start of the heap's block to the program's, which has guard bytes in front of it or not.
    pub fn front(&self, guards: bool) -> u64 {
        match 1u64 << (self.state >> SITE_ALIGN & 31) {
            align if !guards || align > GUARD_FRONT_MOST => 0,
            align => align.max(GUARD_FRONT),
        }
    }
}

/// The offsets that `compiled.h` asserts too.
macro_rules! offsets {
    ($($field:ident = $offset:literal)*) => {
        $(const _: () = assert!(std::mem::offset_of!(Context, $field) == $offset);)*
    };
}
offsets! {
    launch = 0 thread = 8 globals = 16 id = 24 lane = 28 native_limit = 32 polls = 36 tag = 40 reference = 44
    count = 48 throw_pc = 52 throw_depth = 56 stack_limit = 60 tail_target = 64 calls = 72 throw_calls = 392
    scratch = 712 max_depth = 840 roots = 844 this = 848
}

pub const FUNC_WASM: u32 = 0;
pub const FUNC_NOTHING: u32 = 1;

pub const THREAD_SLEEPING: u32 = 2;
pub const THREAD_WAITING: u32 = 4;
pub const THREAD_REQUESTING: u32 = 5;
pub const THREAD_BUSY: u32 = 6;
/// State of a [`Stand`] of threads that wait for room in the output ring.
pub const STAND_OUTPUT: u32 = 16;

pub const END_TRAP: u32 = 1;
pub const END_EXIT: u32 = 2;
pub const END_PANIC: u32 = 3;

pub const REQUEST_CALL: u32 = 1;
pub const REQUEST_MORE: u32 = 2;
pub const REQUEST_NEXT: u32 = 3;

pub const FILE_CLOSES: u32 = 2;

pub const NOTE_NONE: u32 = 0;
pub const NOTE_POSITION: u32 = 1;
pub const NOTE_KEEP: u32 = 2;
pub const NOTE_CHANGES: u32 = 3;
pub const NOTE_TMPFS: u32 = 4;
pub const NOTE_FREE: u32 = 5;

pub const TMPFS_FLAG_SHIFT: u32 = 24;
pub const TMPFS_READ: u32 = 1;
pub const TMPFS_WRITE: u32 = 2;
pub const TMPFS_APPEND: u32 = 4;
pub const TMPFS_TRUNCATE: u32 = 8;

pub const RECORD_EMPTY: u32 = 0;
pub const RECORD_TEXT: u32 = 2;
pub const RECORD_CLOSE: u32 = 3;
pub const RECORD_DEBUG: u32 = 4;

pub const DEBUG_FIRST: u32 = 1;
pub const DEBUG_LAST: u32 = 2;
pub const DEBUG_LINE: u32 = 4;
pub const DEBUG_USED_SHIFT: u32 = 8;
