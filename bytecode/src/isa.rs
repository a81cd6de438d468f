//! The instruction set: one table, from which everything that lists opcodes is made.
//!
//! A row is `number Name "text" [operands] class handler "what it does";`. In the description `a`, `b`, `c`
//! are the operands in order. From the rows come [`Op`] and [`OpInfo`] here, and through
//! [`crate::generate`] the kernel's C++ header, its cases of pure opcodes and the ISA page.
//!
//! An instruction is one 64-bit word: the opcode in the low 16 bits, then three 16-bit slots. An
//! opcode with more operands has a second and a third word with four slots each. Operands of 32 bits
//! lie in the upper half of the first word or in a half of a later one. Operands of 64 bits are a
//! later word. `br_table` is followed by its offsets, two to a word.
//!
//! Registers are units of 4 bytes, numbered from the frame's start. A 64-bit value takes two units,
//! a 128-bit one four.
//!
//! Numbers come in pages. Up to 0x1ff is the interpreter's own switch, whose opcodes are frequent.
//! SIMD and atomics have a switch each, reached from it, so that they cost the others nothing.

use Class::*;
use Operand::*;
use Ty::*;

/// Type of a register operand. `B32` and `B64` are values of that width whose type does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Ty {
    I32,
    I64,
    F32,
    F64,
    B32,
    B64,
    V128,
    /// A function or host reference: 0 is null, n + 1 refers to n.
    Ref,
}

impl Ty {
    /// Units of 4 bytes that a value takes.
    pub const fn units(self) -> u32 {
        match self {
            I32 | F32 | B32 | Ref => 1,
            I64 | F64 | B64 => 2,
            V128 => 4,
        }
    }
}

/// Type of a value in memory, as loads and stores see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, non_camel_case_types)]
pub enum Mem {
    i8,
    u8,
    i16,
    u16,
    i32,
    u32,
    u64,
}

impl Mem {
    /// Size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Mem::i8 | Mem::u8 => 1,
            Mem::i16 | Mem::u16 => 2,
            Mem::i32 | Mem::u32 => 4,
            Mem::u64 => 8,
        }
    }
}

/// Meaning of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Register written.
    Def(Ty),
    /// Register read.
    Src(Ty),
    /// Register read: an address in the memory that the instruction names, an i32, or an i64 where that
    /// memory is a 64-bit one.
    Address,
    /// Signed 16-bit constant.
    Imm16,
    /// Unsigned 16-bit constant: an offset of a load or store.
    Offset16,
    /// 32 bits of any meaning.
    Imm32,
    /// Signed 32-bit constant.
    ImmS32,
    /// 64 bits of any meaning.
    Imm64,
    /// 64-bit offset of a load or store.
    Offset64,
    /// Jump distance in words from this instruction, 16 or 32 bits.
    Rel16,
    /// Jump distance, 32 bits.
    Rel32,
    /// Jump distance to the head of a function, 32 bits.
    Callee,
    /// Number of `br_table` offsets.
    TableLen,
    /// Unit at which the callee's frame begins: its parameters lie there, its results come there.
    Base,
    /// First unit of a range written; a [`Operand::Count`] follows.
    DefRange,
    /// First unit of a range read; a [`Operand::Count`] follows.
    SrcRange,
    /// Number of units in the ranges before it.
    Count,
    /// Units of a frame.
    Frame,
    /// Unit of the frame's header: return pc, then caller's base and header.
    Header,
    /// Index of a memory.
    Memory,
    /// Index of a table.
    Table,
    /// Index of a global.
    Global,
    /// Index of a function (imports first).
    Func,
    /// Index of a type.
    Type,
    /// Index of a tag.
    Tag,
    /// Index of a data segment.
    DataSegment,
    /// Index of an element segment.
    ElemSegment,
    /// Number of a [`crate::TrapKind`].
    Trap,
    /// Number of a [`crate::wasi::Function`] that returns an errno.
    Wasi,
    /// Index of a lane, below this number of lanes.
    Lane(u8),
    /// Not used, 0.
    Zero,
}

impl Operand {
    /// 16-bit slots that the operand takes.
    pub const fn slots(self) -> usize {
        match self {
            Imm64 | Offset64 => 4,
            Imm32 | ImmS32 | Rel32 | Callee | TableLen | Global | Func | Type | Tag | DataSegment | ElemSegment => 2,
            _ => 1,
        }
    }
}

/// How an opcode's kernel case and its checks come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Written by hand, where its [`Handler`] is.
    Control,
    /// Written by hand beside the interpreter's loop, where its [`Handler`] is: seldom run, or long.
    Aside,
    /// A GPU opcode, importable from module `gpu_run_v1` under its name. Written by hand, as `Aside`.
    Gpu,
    /// Result depends on operands alone: the case is generated around a function of `semantics.h`.
    Pure,
    /// As `Pure`, but the function may report a trap.
    Traps,
    /// Branches if the pure comparison that its name ends in holds.
    Branch,
    /// Load of a memory type from memory 0.
    Load(Mem),
    /// Store of a memory type to memory 0.
    Store(Mem),
    /// Load with memory index and 64-bit offset.
    LoadFar(Mem),
    /// Store with memory index and 64-bit offset.
    StoreFar(Mem),
    /// Access to memory of the SIMD or atomics page. Written by hand there.
    Access,
}

/// The part of the kernel that executes an opcode, by its file in `vm/kernel/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handler {
    /// The loop's own switch: `interpreter.h`.
    InLoop,
    /// What needs to know of frames, or leaves them: `ops/control.h`.
    Frames,
    /// Both halves of a call of the host: `rpc/requests.h`.
    Requests,
    /// Debug messages, which `--no-debug` leaves out: `ops/debug.h`.
    Debug,
    /// As `Slow`; a checked heap notes which call allocated the block: `ops/dispatch.h`.
    Allocation,
    /// What is seldom run, or long: `ops/slow.h`.
    Slow,
    /// The SIMD page: `ops/simd.h`.
    Simd,
    /// The page of atomics: `ops/atomics.h`.
    Atomics,
    /// What threads do with each other beside those: `ops/work.h`.
    Work,
}

impl Handler {
    /// Those beside the loop.
    pub const ASIDE: [Handler; 8] = [
        Handler::Frames,
        Handler::Requests,
        Handler::Debug,
        Handler::Allocation,
        Handler::Slow,
        Handler::Simd,
        Handler::Atomics,
        Handler::Work,
    ];
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The opcode.
    pub op: Op,
    /// Name in disassembly, and for GPU opcodes the import name.
    pub name: &'static str,
    /// Operands in order.
    pub operands: &'static [Operand],
    /// Kind of opcode.
    pub class: Class,
    /// What executes it.
    pub handler: Handler,
    /// What it does.
    pub doc: &'static str,
}

const MAX_SLOTS: usize = 12;

impl OpInfo {
    /// Slot (0 is the opcode's own) at which operand `index` begins.
    pub const fn slot(&self, index: usize) -> usize {
        let mut slot = 1usize;
        let mut i = 0;
        loop {
            let width = self.operands[i].slots();
            // 32-bit operands start at an even slot, 64-bit ones at a word.
            slot = slot.next_multiple_of(width);
            if i == index {
                return slot;
            }
            slot += width;
            i += 1;
        }
    }

    /// Words that the instruction takes, without `br_table`'s offsets.
    pub const fn words(&self) -> usize {
        let n = self.operands.len();
        if n == 0 {
            return 1;
        }
        let end = self.slot(n - 1) + self.operands[n - 1].slots();
        assert!(end <= MAX_SLOTS);
        end.div_ceil(4)
    }
}

/// Short spellings for the rows.
mod spell {
    use super::{Operand, Operand::*, Ty};
    macro_rules! spell {
        ($($name:ident = $value:expr;)*) => { $(pub const $name: Operand = $value;)* };
    }
    spell! {
        I32 = Src(Ty::I32); I64 = Src(Ty::I64); F32 = Src(Ty::F32); F64 = Src(Ty::F64);
        B32 = Src(Ty::B32); B64 = Src(Ty::B64); V128 = Src(Ty::V128); REF = Src(Ty::Ref); ADDR = Address;
        DI32 = Def(Ty::I32); DI64 = Def(Ty::I64); DF32 = Def(Ty::F32); DF64 = Def(Ty::F64);
        DB32 = Def(Ty::B32); DB64 = Def(Ty::B64); DV128 = Def(Ty::V128); DREF = Def(Ty::Ref);
        S16 = Imm16; U16 = Offset16; U32 = Imm32; S32 = ImmS32; X64 = Imm64; FAR = Offset64;
        R16 = Rel16; R32 = Rel32; CALLEE = Callee; LEN = TableLen;
        BASE = Base; DRANGE = DefRange; RANGE = SrcRange; COUNT = Count;
        FRAME = Frame; HEADER = Header; NONE = Zero; TRAP = Trap; WASI = Wasi;
        MEMORY = Memory; TABLE = Table; GLOBAL = Global; FUNC = Func; TYPE = Type; TAG = Tag;
        DATA = DataSegment; ELEM = ElemSegment;
        LANE16 = Lane(16); LANE8 = Lane(8); LANE4 = Lane(4); LANE2 = Lane(2);
    }
}

macro_rules! table {
    ($($number:literal $op:ident $name:literal [$($operand:ident),*] $class:ident $(($mem:ident))? $handler:ident $doc:literal;)*) => {
        /// An opcode. Its number is its value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op {
            $(#[doc = $doc] $op = $number,)*
        }

        /// Every row, in order of the opcode's number.
        pub const TABLE: &[OpInfo] = &[$(OpInfo {
            op: Op::$op,
            name: $name,
            operands: &[$(spell::$operand),*],
            class: $class $((Mem::$mem))?,
            handler: Handler::$handler,
            doc: $doc,
        }),*];
    };
}

table! {

    // Control
    0x000 Trap "trap" [TRAP] Control InLoop "stop with trap kind a";
    0x001 Enter "enter" [FRAME, HEADER, NONE] Aside Frames "head of a function, read by calls: frame of a units, header at unit b; c is 0";
    0x002 Jump "jump" [R32] Control InLoop "pc += a";
    0x003 BrIf "br_if" [I32, R32] Control InLoop "if a != 0: pc += b";
    0x004 BrUnless "br_unless" [I32, R32] Control InLoop "if a == 0: pc += b";
    0x005 BrTable "br_table" [I32, LEN] Control InLoop "pc += entry min(a, b - 1) of the b 32-bit offsets in the words that follow";
    0x006 Return "return" [HEADER, RANGE, COUNT] Control InLoop "copy c units from b to unit 0, drop the frame whose header is a, pc = caller's";
    0x007 Call "call" [BASE, CALLEE] Control InLoop "call the function whose head is at pc + b, frame at unit a";
    0x008 CallIndirect "call_indirect" [BASE, I32, TABLE, TYPE] Control InLoop "call element b of table c, frame at unit a; traps unless its type is type d";
    0x009 CallImport "call_import" [BASE, FUNC] Aside Frames "call function b of the instance (an import), frame at unit a";
    0x00a BridgeReturn "bridge_return" [] Aside Frames "return through a bridge: from a frame in another register segment or instance; never in a program";
    0x00b ReturnCall "return_call" [BASE, CALLEE] Aside Frames "call the function whose head is at pc + b in place of this frame, arguments at unit a; a `return` of its results follows for where it needs a frame of its own";
    0x00c ThreadEnd "thread_end" [] Aside Frames "return from the first frame of a thread; never in a program";
    0x00d ReturnCallIndirect "return_call_indirect" [BASE, I32, TABLE, TYPE] Aside Frames "as return_call, of element b of table c; traps unless its type is type d";
    0x00e ReturnCallImport "return_call_import" [BASE, FUNC] Aside Frames "as return_call, of function b of the instance (an import)";
    0x00f Throw "throw" [RANGE, COUNT, TAG] Aside Frames "throw an exception with tag c and the b units at a as its values";

    // Moves
    0x010 Copy32 "copy32" [DB32, B32] Pure InLoop "a = b";
    0x011 Copy64 "copy64" [DB64, B64] Pure InLoop "a = b";
    0x012 CopyRange "copy_range" [DRANGE, RANGE, COUNT] Control InLoop "copy c units from b to a, ascending";
    0x013 Zero "zero" [DRANGE, COUNT] Control InLoop "set b units from a to 0";
    0x014 Const32 "const32" [DB32, U32] Control InLoop "a = b";
    0x015 Const64S "const64_s" [DB64, S32] Control InLoop "a = b, sign extended";
    0x016 Const64 "const64" [DB64, X64] Control InLoop "a = b";
    0x017 Select32 "select32" [DB32, B32, B32, I32] Pure InLoop "a = d != 0 ? b : c";
    0x018 Select64 "select64" [DB64, B64, B64, I32] Pure InLoop "a = d != 0 ? b : c";
    0x019 GlobalGet32 "global_get32" [DB32, GLOBAL] Control InLoop "a = global b";
    0x01a GlobalGet64 "global_get64" [DB64, GLOBAL] Control InLoop "a = global b";
    0x01b GlobalSet32 "global_set32" [B32, GLOBAL] Control InLoop "global b = a";
    0x01c GlobalSet64 "global_set64" [B64, GLOBAL] Control InLoop "global b = a";
    0x01d StackPointerSet "stack_pointer_set" [I32, GLOBAL] Control InLoop "global b = a; traps if a is below the thread's stack limit";
    0x01e ThrowRef "throw_ref" [REF] Aside Frames "throw the exception a again; traps if it is null";
    0x01f ExceptionKeep "exception.keep" [DREF, REF] Aside Slow "a = b, an exception that is kept for good: it goes to a table or global";
    0x020 NativeReturn "native_return" [] Aside Frames "return from the outermost interpreted function to the compiled one that called it; never in a program";
    0x021 Visit "visit" [] Control InLoop "note that a basic block runs which begins here, then run its first instruction, in whose place this stands; never in a program";
    0x022 Fuel "fuel" [COUNT, GLOBAL] Control InLoop "subtract a from global b, an unsigned number; traps if it is less than a";

    // Memories, tables, segments
    0x028 MemorySize "memory.size" [DI32, MEMORY] Aside Slow "a = size of memory b in pages";
    0x029 MemoryGrow "memory.grow" [DI32, I32, MEMORY] Aside Slow "a = size of memory c in pages, then grow it by b pages; a = -1 if it cannot";
    0x02a MemoryCopy "memory.copy" [I32, I32, I32, MEMORY, MEMORY] Aside Slow "copy c bytes from b in memory e to a in memory d";
    0x02b MemoryFill "memory.fill" [I32, I32, I32, MEMORY] Aside Slow "set c bytes from a in memory d to b";
    0x02c MemoryInit "memory.init" [I32, I32, I32, MEMORY, DATA] Aside Slow "copy c bytes from b of data segment e to a in memory d";
    0x02d DataDrop "data.drop" [DATA] Aside Slow "forget data segment a";
    0x02e TableGet "table.get" [DREF, I32, TABLE] Aside Slow "a = element b of table c";
    0x02f TableSet "table.set" [I32, REF, TABLE] Aside Slow "element a of table c = b";
    0x030 TableSize "table.size" [DI32, TABLE] Aside Slow "a = size of table b";
    0x031 TableGrow "table.grow" [DI32, I32, REF, TABLE] Aside Slow "a = size of table d, then grow it by b elements c; a = -1 if it cannot";
    0x032 TableFill "table.fill" [I32, REF, I32, TABLE] Aside Slow "set c elements from a of table d to b";
    0x033 TableCopy "table.copy" [I32, I32, I32, TABLE, TABLE] Aside Slow "copy c elements from b of table e to a of table d";
    0x034 TableInit "table.init" [I32, I32, I32, TABLE, ELEM] Aside Slow "copy c elements from b of element segment e to a of table d";
    0x035 ElemDrop "elem.drop" [ELEM] Aside Slow "forget element segment a";
    0x036 RefFunc "ref.func" [DREF, FUNC] Aside Slow "a = reference to function b of the instance";
    0x037 RefIsNull "ref.is_null" [DI32, REF] Pure InLoop "a = b is null";
    0x038 MemorySize64 "memory.size64" [DI64, MEMORY] Aside Slow "a = size of memory b in pages";
    0x039 MemoryGrow64 "memory.grow64" [DI64, I64, MEMORY] Aside Slow "a = size of memory c in pages, then grow it by b pages; a = -1 if it cannot";
    0x03a MemoryCopy64 "memory.copy64" [I64, I64, I64, MEMORY, MEMORY] Aside Slow "copy c bytes from b in memory e to a in memory d";
    0x03b MemoryFill64 "memory.fill64" [I64, I32, I64, MEMORY] Aside Slow "set c bytes from a in memory d to b";
    0x03c MemoryInit64 "memory.init64" [I64, I32, I32, MEMORY, DATA] Aside Slow "copy c bytes from b of data segment e to a in memory d";
    0x03d I32SaturateI64U "i32.saturate_i64_u" [DI32, I64] Pure InLoop "a = the lesser of b and 2^32 - 1: an index of a 64-bit table";

    // GPU opcodes: numbers are fixed, names are imports of module `gpu_run_v1`
    0x050 Gid "gid" [DI32] Gpu Slow "a = id of this thread, from 0";
    0x051 Time "time" [DI64] Gpu Slow "a = monotonic clock in nanoseconds";
    0x052 StOut "st_out" [DI32, I64, I32, I32] Gpu Slow "a = how many of the d bytes at c went to the run's output from its byte b on: fewer where that ends";
    0x053 LdIn "ld_in" [DI32, I64, I32, I32] Gpu Slow "a = how many of d bytes from byte b of the run's input on were copied to c: fewer where that ends";
    0x054 AtomicAdd "atomic_add" [DI32, I32, I32] Gpu Slow "a = u32 at b, then add c to it; sequentially consistent";
    0x055 ThreadCount "thread_count" [DI32] Gpu Slow "a = number of threads of the process";
    0x056 WallTime "wall_time" [DI64] Gpu Slow "a = nanoseconds since the Unix epoch";
    0x057 Sleep "sleep" [I64] Gpu Slow "park the thread for a nanoseconds";
    0x058 Exit "exit" [I32] Gpu Frames "end the process with exit code a";
    0x059 PanicExit "panic_exit" [] Gpu Frames "end the process after a panic was reported: exit code 101";
    0x05a Memcmp "memcmp" [DI32, I32, I32, I32] Gpu Slow "a = difference of the first unequal byte pair of the d bytes at b and c, else 0";
    0x05b InSize "in_size" [DI64] Gpu Slow "a = bytes of the run's input";
    0x05c OutSize "out_size" [DI64] Gpu Slow "a = bytes that the run's output may have";
    0x05d FrameSize "frame_size" [DI64] Gpu Slow "a = width of the run's frame in pixels, in the upper half its height; 0 if there is none";
    0x05e SetPixel "set_pixel" [I32, I32, I32] Gpu Slow "pixel in column a and row b of the frame = c, red in the lowest byte, then green, blue, alpha; nothing outside of it";
    0x05f Meet "meet" [DI32] Gpu Slow "a = 1 after the other threads of the warp have come to a `meet` too, or wait, or have ended; 0 at once where lanes do not meet";
    0x060 Alloc "alloc" [DI32, I32, I32] Gpu Allocation "a = new block of b bytes aligned to c, or 0";
    0x061 Dealloc "dealloc" [I32, I32, I32] Gpu Slow "free the block a of b bytes (-1: however many it has) aligned to c";
    0x062 Realloc "realloc" [DI32, I32, I32, I32, I32] Gpu Allocation "a = block b of c bytes (-1: however many it has) aligned to d, moved to e bytes, or 0 and b unchanged";
    0x063 AllocZero "alloc_zero" [DI32, I32, I32] Gpu Allocation "a = new zeroed block of b bytes aligned to c, or 0";
    0x064 BlockSize "block_size" [DI32, I32] Gpu Slow "a = bytes of the block b that may be used: as many as were asked for, or more";
    0x065 AllocBatch "alloc_batch" [DI32, I32, I32, I32, I32] Gpu Allocation "a = how many of e new blocks of b bytes aligned to c were made, whose addresses are stored from d on: fewer where memory ends";
    0x066 DeallocBatch "dealloc_batch" [I32, I32, I32, I32] Gpu Slow "free d blocks of a bytes (-1: however many they have) aligned to b, whose addresses are stored from c on";
    0x070 DbgI32 "dbg_i32" [I32] Gpu Debug "add a, signed, to the thread's debug message";
    0x071 DbgF32 "dbg_f32" [F32] Gpu Debug "add a to the thread's debug message";
    0x072 DbgStr "dbg_str" [I32, I32] Gpu Debug "add the b bytes of text at a to the thread's debug message";
    0x073 DbgBool "dbg_bool" [I32] Gpu Debug "add a to the thread's debug message: `false` if it is 0, else `true`";
    0x074 DbgNl "dbg_nl" [] Gpu Debug "end the thread's debug message, and its line";
    0x075 DbgFlush "dbg_flush" [] Gpu Debug "end the thread's debug message without a line's end";
    0x076 DbgI64 "dbg_i64" [I64] Gpu Debug "add a, signed, to the thread's debug message";
    0x077 DbgF64 "dbg_f64" [F64] Gpu Debug "add a to the thread's debug message";
    0x078 Print "print" [I32, I32, I32] Gpu Slow "append c bytes at b to the thread's open record of stream a (1 stdout, 2 stderr)";
    0x079 PrintEnd "print_end" [I32] Gpu Slow "close the thread's record of stream a: it is written as one piece";
    0x07a DbgChar "dbg_char" [I32] Gpu Debug "add a, a Unicode scalar value, to the thread's debug message";
    0x07b DbgU32 "dbg_u32" [I32] Gpu Debug "add a, unsigned, to the thread's debug message";
    0x07c DbgU64 "dbg_u64" [I64] Gpu Debug "add a, unsigned, to the thread's debug message";
    0x07d DbgLevel "dbg_level" [I32, I32, I32, I32] Gpu Debug "begin a debug message of severity a (0 debug, 1 info, 2 warn, 3 error) from line d of the file that the c bytes at b name";
    0x07e DbgWanted "dbg_wanted" [DI32, I32] Gpu Debug "a = 1 if debug messages of severity b are wanted of the thread, else 0";
    0x080 WorkPush "work_push" [DI32, I32, I32] Gpu Work "a = 1 and c is the last value of the work queue at b, or a = 0 if it is full, also for a moment while others push in vain";
    0x081 WorkPop "work_pop" [DI64, I32] Gpu Work "a = the first value of the work queue at b, taken out, or -1 if it is empty, also for a moment while others pop in vain";
    0x082 Barrier "barrier" [DI32, I32, I32] Gpu Work "the thread is at the barrier at b, which c threads use; if all are, a = 1, and the barrier is in its next phase; else a = 0, or 2 if the thread has waited for that";
    0x083 AtomicInc "atomic_inc" [DI32, I32] Gpu Slow "a = u32 at b, then add 1 to it; sequentially consistent";
    0x084 AtomicDec "atomic_dec" [DI32, I32] Gpu Slow "a = u32 at b, then subtract 1 from it; sequentially consistent";
    0x085 AtomicCas "atomic_cas" [DI32, I32, I32, I32] Gpu Slow "a = u32 at b; if it was c it becomes d; sequentially consistent";

    // Host calls: an import of module `wasi_snapshot_preview1` or `gpu_run_net_v1` is called by these two, one after
    // the other
    0x086 RequestQueue "request_queue" [WASI, RANGE, COUNT] Aside Requests "begin a call of WASI function a with the c units at b as its arguments: served here, or sent to the host";
    0x087 RequestPoll "request_poll" [DI32, WASI, RANGE, COUNT] Aside Requests "a = errno of the call of WASI function b that was begun with the d units at c, once it is answered; if 0, its results are in memory";

    // Threads
    0x088 FrameWait "frame_wait" [DI32, I32, I32, I64] Gpu Work "if the u32 at b is c, wait at most d ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out";
    0x089 Spinlock "spinlock" [I32] Gpu Work "wait until the u32 at a is 0, and make it 1";
    0x08a Spinunlock "spinunlock" [I32] Gpu Work "the u32 at a = 0, after all that the thread did before";
    0x08b ThreadSpawn "thread_spawn" [DI32, I32] Gpu Slow "a = id of a new thread that calls the export `wasi_thread_start` with it and b, or -6 if there is no room for one";
    0x08c FrameWake "frame_wake" [DI32, I32, I32] Gpu Work "wake at most c threads that wait at b; a = how many";
    0x08d AtomicRelaxed "atomic_relaxed" [] Gpu InLoop "the next atomic access of the function, if it follows in a straight line, orders no others; it may be sequentially consistent nevertheless";
    0x08e AtomicAcqRel "atomic_acq_rel" [] Gpu InLoop "the next one, as above, orders others as release and acquire do";
    0x08f StackLimit "stack_limit" [I32] Gpu Slow "the thread's stack pointer must not fall below a from now on: see `stack_pointer_set`";

    // i32 arithmetic
    0x090 I32Add "i32.add" [DI32, I32, I32] Pure InLoop "a = b + c";
    0x091 I32Sub "i32.sub" [DI32, I32, I32] Pure InLoop "a = b - c";
    0x092 I32Mul "i32.mul" [DI32, I32, I32] Pure InLoop "a = b * c";
    0x093 I32And "i32.and" [DI32, I32, I32] Pure InLoop "a = b & c";
    0x094 I32Or "i32.or" [DI32, I32, I32] Pure InLoop "a = b | c";
    0x095 I32Xor "i32.xor" [DI32, I32, I32] Pure InLoop "a = b ^ c";
    0x096 I32Shl "i32.shl" [DI32, I32, I32] Pure InLoop "a = b << c";
    0x097 I32ShrS "i32.shr_s" [DI32, I32, I32] Pure InLoop "a = b >> c, signed";
    0x098 I32ShrU "i32.shr_u" [DI32, I32, I32] Pure InLoop "a = b >> c, unsigned";
    0x099 I32Rotl "i32.rotl" [DI32, I32, I32] Pure InLoop "a = b rotated left by c";
    0x09a I32Rotr "i32.rotr" [DI32, I32, I32] Pure InLoop "a = b rotated right by c";
    0x09b I32DivS "i32.div_s" [DI32, I32, I32] Traps InLoop "a = b / c, signed; traps if c is 0 or on overflow";
    0x09c I32DivU "i32.div_u" [DI32, I32, I32] Traps InLoop "a = b / c, unsigned; traps if c is 0";
    0x09d I32RemS "i32.rem_s" [DI32, I32, I32] Traps InLoop "a = b % c, signed; traps if c is 0";
    0x09e I32RemU "i32.rem_u" [DI32, I32, I32] Traps InLoop "a = b % c, unsigned; traps if c is 0";
    0x09f I32AddImm "i32.add_imm" [DI32, I32, S16] Pure InLoop "a = b + c";
    0x0a0 I32MulImm "i32.mul_imm" [DI32, I32, S16] Pure InLoop "a = b * c";
    0x0a1 I32AndImm "i32.and_imm" [DI32, I32, S16] Pure InLoop "a = b & c";
    0x0a2 I32OrImm "i32.or_imm" [DI32, I32, S16] Pure InLoop "a = b | c";
    0x0a3 I32XorImm "i32.xor_imm" [DI32, I32, S16] Pure InLoop "a = b ^ c";
    0x0a4 I32ShlImm "i32.shl_imm" [DI32, I32, S16] Pure InLoop "a = b << c";
    0x0a5 I32ShrSImm "i32.shr_s_imm" [DI32, I32, S16] Pure InLoop "a = b >> c, signed";
    0x0a6 I32ShrUImm "i32.shr_u_imm" [DI32, I32, S16] Pure InLoop "a = b >> c, unsigned";
    0x0a7 I32RotlImm "i32.rotl_imm" [DI32, I32, S16] Pure InLoop "a = b rotated left by c";
    0x0a8 I32Clz "i32.clz" [DI32, I32] Pure InLoop "a = leading zero bits of b";
    0x0a9 I32Ctz "i32.ctz" [DI32, I32] Pure InLoop "a = trailing zero bits of b";
    0x0aa I32Popcnt "i32.popcnt" [DI32, I32] Pure InLoop "a = one bits of b";
    0x0ab I32Eqz "i32.eqz" [DI32, I32] Pure InLoop "a = b == 0";
    0x0ac I32Extend8S "i32.extend8_s" [DI32, I32] Pure InLoop "a = low 8 bits of b, sign extended";
    0x0ad I32Extend16S "i32.extend16_s" [DI32, I32] Pure InLoop "a = low 16 bits of b, sign extended";
    0x0ae I32Eq "i32.eq" [DI32, I32, I32] Pure InLoop "a = b == c";
    0x0af I32Ne "i32.ne" [DI32, I32, I32] Pure InLoop "a = b != c";
    0x0b0 I32LtS "i32.lt_s" [DI32, I32, I32] Pure InLoop "a = b < c, signed";
    0x0b1 I32LtU "i32.lt_u" [DI32, I32, I32] Pure InLoop "a = b < c, unsigned";
    0x0b2 I32LeS "i32.le_s" [DI32, I32, I32] Pure InLoop "a = b <= c, signed";
    0x0b3 I32LeU "i32.le_u" [DI32, I32, I32] Pure InLoop "a = b <= c, unsigned";
    0x0b4 I32EqImm "i32.eq_imm" [DI32, I32, S16] Pure InLoop "a = b == c";
    0x0b5 I32NeImm "i32.ne_imm" [DI32, I32, S16] Pure InLoop "a = b != c";
    0x0b6 I32LtSImm "i32.lt_s_imm" [DI32, I32, S16] Pure InLoop "a = b < c, signed";
    0x0b7 I32LtUImm "i32.lt_u_imm" [DI32, I32, S16] Pure InLoop "a = b < c, unsigned";
    0x0b8 I32GtSImm "i32.gt_s_imm" [DI32, I32, S16] Pure InLoop "a = b > c, signed";
    0x0b9 I32GtUImm "i32.gt_u_imm" [DI32, I32, S16] Pure InLoop "a = b > c, unsigned";
    0x0ba I32Shl1Add "i32.shl1_add" [DI32, I32, I32] Pure InLoop "a = (b << 1) + c";
    0x0bb I32Shl2Add "i32.shl2_add" [DI32, I32, I32] Pure InLoop "a = (b << 2) + c";
    0x0bc I32Shl3Add "i32.shl3_add" [DI32, I32, I32] Pure InLoop "a = (b << 3) + c";
    0x0bd I32Shl4Add "i32.shl4_add" [DI32, I32, I32] Pure InLoop "a = (b << 4) + c";

    // i64 arithmetic
    0x0c0 I64Add "i64.add" [DI64, I64, I64] Pure InLoop "a = b + c";
    0x0c1 I64Sub "i64.sub" [DI64, I64, I64] Pure InLoop "a = b - c";
    0x0c2 I64Mul "i64.mul" [DI64, I64, I64] Pure InLoop "a = b * c";
    0x0c3 I64And "i64.and" [DI64, I64, I64] Pure InLoop "a = b & c";
    0x0c4 I64Or "i64.or" [DI64, I64, I64] Pure InLoop "a = b | c";
    0x0c5 I64Xor "i64.xor" [DI64, I64, I64] Pure InLoop "a = b ^ c";
    0x0c6 I64Shl "i64.shl" [DI64, I64, I64] Pure InLoop "a = b << c";
    0x0c7 I64ShrS "i64.shr_s" [DI64, I64, I64] Pure InLoop "a = b >> c, signed";
    0x0c8 I64ShrU "i64.shr_u" [DI64, I64, I64] Pure InLoop "a = b >> c, unsigned";
    0x0c9 I64Rotl "i64.rotl" [DI64, I64, I64] Pure InLoop "a = b rotated left by c";
    0x0ca I64Rotr "i64.rotr" [DI64, I64, I64] Pure InLoop "a = b rotated right by c";
    0x0cb I64DivS "i64.div_s" [DI64, I64, I64] Traps InLoop "a = b / c, signed; traps if c is 0 or on overflow";
    0x0cc I64DivU "i64.div_u" [DI64, I64, I64] Traps InLoop "a = b / c, unsigned; traps if c is 0";
    0x0cd I64RemS "i64.rem_s" [DI64, I64, I64] Traps InLoop "a = b % c, signed; traps if c is 0";
    0x0ce I64RemU "i64.rem_u" [DI64, I64, I64] Traps InLoop "a = b % c, unsigned; traps if c is 0";
    0x0cf I64AddImm "i64.add_imm" [DI64, I64, S16] Pure InLoop "a = b + c";
    0x0d0 I64MulImm "i64.mul_imm" [DI64, I64, S16] Pure InLoop "a = b * c";
    0x0d1 I64AndImm "i64.and_imm" [DI64, I64, S16] Pure InLoop "a = b & c";
    0x0d2 I64OrImm "i64.or_imm" [DI64, I64, S16] Pure InLoop "a = b | c";
    0x0d3 I64XorImm "i64.xor_imm" [DI64, I64, S16] Pure InLoop "a = b ^ c";
    0x0d4 I64ShlImm "i64.shl_imm" [DI64, I64, S16] Pure InLoop "a = b << c";
    0x0d5 I64ShrSImm "i64.shr_s_imm" [DI64, I64, S16] Pure InLoop "a = b >> c, signed";
    0x0d6 I64ShrUImm "i64.shr_u_imm" [DI64, I64, S16] Pure InLoop "a = b >> c, unsigned";
    0x0d7 I64RotlImm "i64.rotl_imm" [DI64, I64, S16] Pure InLoop "a = b rotated left by c";
    0x0d8 I64Clz "i64.clz" [DI64, I64] Pure InLoop "a = leading zero bits of b";
    0x0d9 I64Ctz "i64.ctz" [DI64, I64] Pure InLoop "a = trailing zero bits of b";
    0x0da I64Popcnt "i64.popcnt" [DI64, I64] Pure InLoop "a = one bits of b";
    0x0db I64Eqz "i64.eqz" [DI32, I64] Pure InLoop "a = b == 0";
    0x0dc I64Extend8S "i64.extend8_s" [DI64, I64] Pure InLoop "a = low 8 bits of b, sign extended";
    0x0dd I64Extend16S "i64.extend16_s" [DI64, I64] Pure InLoop "a = low 16 bits of b, sign extended";
    0x0de I64Extend32S "i64.extend32_s" [DI64, I64] Pure InLoop "a = low 32 bits of b, sign extended";
    0x0df I64Eq "i64.eq" [DI32, I64, I64] Pure InLoop "a = b == c";
    0x0e0 I64Ne "i64.ne" [DI32, I64, I64] Pure InLoop "a = b != c";
    0x0e1 I64LtS "i64.lt_s" [DI32, I64, I64] Pure InLoop "a = b < c, signed";
    0x0e2 I64LtU "i64.lt_u" [DI32, I64, I64] Pure InLoop "a = b < c, unsigned";
    0x0e3 I64LeS "i64.le_s" [DI32, I64, I64] Pure InLoop "a = b <= c, signed";
    0x0e4 I64LeU "i64.le_u" [DI32, I64, I64] Pure InLoop "a = b <= c, unsigned";
    0x0e5 I64EqImm "i64.eq_imm" [DI32, I64, S16] Pure InLoop "a = b == c";
    0x0e6 I64NeImm "i64.ne_imm" [DI32, I64, S16] Pure InLoop "a = b != c";
    0x0e7 I64LtSImm "i64.lt_s_imm" [DI32, I64, S16] Pure InLoop "a = b < c, signed";
    0x0e8 I64LtUImm "i64.lt_u_imm" [DI32, I64, S16] Pure InLoop "a = b < c, unsigned";
    0x0e9 I64GtSImm "i64.gt_s_imm" [DI32, I64, S16] Pure InLoop "a = b > c, signed";
    0x0ea I64GtUImm "i64.gt_u_imm" [DI32, I64, S16] Pure InLoop "a = b > c, unsigned";

    // f32 arithmetic: IEEE 754, round to nearest even, every NaN result canonical (neg, abs and copysign keep NaN bits)
    0x0f0 F32Add "f32.add" [DF32, F32, F32] Pure InLoop "a = b + c";
    0x0f1 F32Sub "f32.sub" [DF32, F32, F32] Pure InLoop "a = b - c";
    0x0f2 F32Mul "f32.mul" [DF32, F32, F32] Pure InLoop "a = b * c";
    0x0f3 F32Div "f32.div" [DF32, F32, F32] Pure InLoop "a = b / c";
    0x0f4 F32Min "f32.min" [DF32, F32, F32] Pure InLoop "a = minimum of b and c";
    0x0f5 F32Max "f32.max" [DF32, F32, F32] Pure InLoop "a = maximum of b and c";
    0x0f6 F32Copysign "f32.copysign" [DF32, F32, F32] Pure InLoop "a = b with the sign of c";
    0x0f7 F32Abs "f32.abs" [DF32, F32] Pure InLoop "a = b without its sign";
    0x0f8 F32Neg "f32.neg" [DF32, F32] Pure InLoop "a = b with its sign changed";
    0x0f9 F32Ceil "f32.ceil" [DF32, F32] Pure InLoop "a = b rounded up";
    0x0fa F32Floor "f32.floor" [DF32, F32] Pure InLoop "a = b rounded down";
    0x0fb F32Trunc "f32.trunc" [DF32, F32] Pure InLoop "a = b rounded to zero";
    0x0fc F32Nearest "f32.nearest" [DF32, F32] Pure InLoop "a = b rounded to nearest even";
    0x0fd F32Sqrt "f32.sqrt" [DF32, F32] Pure InLoop "a = square root of b";
    0x0fe F32Eq "f32.eq" [DI32, F32, F32] Pure InLoop "a = b == c";
    0x0ff F32Ne "f32.ne" [DI32, F32, F32] Pure InLoop "a = b != c";
    0x100 F32Lt "f32.lt" [DI32, F32, F32] Pure InLoop "a = b < c";
    0x101 F32Le "f32.le" [DI32, F32, F32] Pure InLoop "a = b <= c";

    // f64 arithmetic: IEEE 754, round to nearest even, every NaN result canonical (neg, abs and copysign keep NaN bits)
    0x108 F64Add "f64.add" [DF64, F64, F64] Pure InLoop "a = b + c";
    0x109 F64Sub "f64.sub" [DF64, F64, F64] Pure InLoop "a = b - c";
    0x10a F64Mul "f64.mul" [DF64, F64, F64] Pure InLoop "a = b * c";
    0x10b F64Div "f64.div" [DF64, F64, F64] Pure InLoop "a = b / c";
    0x10c F64Min "f64.min" [DF64, F64, F64] Pure InLoop "a = minimum of b and c";
    0x10d F64Max "f64.max" [DF64, F64, F64] Pure InLoop "a = maximum of b and c";
    0x10e F64Copysign "f64.copysign" [DF64, F64, F64] Pure InLoop "a = b with the sign of c";
    0x10f F64Abs "f64.abs" [DF64, F64] Pure InLoop "a = b without its sign";
    0x110 F64Neg "f64.neg" [DF64, F64] Pure InLoop "a = b with its sign changed";
    0x111 F64Ceil "f64.ceil" [DF64, F64] Pure InLoop "a = b rounded up";
    0x112 F64Floor "f64.floor" [DF64, F64] Pure InLoop "a = b rounded down";
    0x113 F64Trunc "f64.trunc" [DF64, F64] Pure InLoop "a = b rounded to zero";
    0x114 F64Nearest "f64.nearest" [DF64, F64] Pure InLoop "a = b rounded to nearest even";
    0x115 F64Sqrt "f64.sqrt" [DF64, F64] Pure InLoop "a = square root of b";
    0x116 F64Eq "f64.eq" [DI32, F64, F64] Pure InLoop "a = b == c";
    0x117 F64Ne "f64.ne" [DI32, F64, F64] Pure InLoop "a = b != c";
    0x118 F64Lt "f64.lt" [DI32, F64, F64] Pure InLoop "a = b < c";
    0x119 F64Le "f64.le" [DI32, F64, F64] Pure InLoop "a = b <= c";

    // Conversions
    0x120 I32WrapI64 "i32.wrap_i64" [DI32, I64] Pure InLoop "a = low 32 bits of b";
    0x121 I64ExtendI32S "i64.extend_i32_s" [DI64, I32] Pure InLoop "a = b, sign extended";
    0x122 I64ExtendI32U "i64.extend_i32_u" [DI64, I32] Pure InLoop "a = b, zero extended";
    0x123 I32TruncF32S "i32.trunc_f32_s" [DI32, F32] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x124 I32TruncF32U "i32.trunc_f32_u" [DI32, F32] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x125 I32TruncF64S "i32.trunc_f64_s" [DI32, F64] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x126 I32TruncF64U "i32.trunc_f64_u" [DI32, F64] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x127 I64TruncF32S "i64.trunc_f32_s" [DI64, F32] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x128 I64TruncF32U "i64.trunc_f32_u" [DI64, F32] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x129 I64TruncF64S "i64.trunc_f64_s" [DI64, F64] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x12a I64TruncF64U "i64.trunc_f64_u" [DI64, F64] Traps InLoop "a = b truncated; traps if NaN or out of range";
    0x12b I32TruncSatF32S "i32.trunc_sat_f32_s" [DI32, F32] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x12c I32TruncSatF32U "i32.trunc_sat_f32_u" [DI32, F32] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x12d I32TruncSatF64S "i32.trunc_sat_f64_s" [DI32, F64] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x12e I32TruncSatF64U "i32.trunc_sat_f64_u" [DI32, F64] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x12f I64TruncSatF32S "i64.trunc_sat_f32_s" [DI64, F32] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x130 I64TruncSatF32U "i64.trunc_sat_f32_u" [DI64, F32] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x131 I64TruncSatF64S "i64.trunc_sat_f64_s" [DI64, F64] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x132 I64TruncSatF64U "i64.trunc_sat_f64_u" [DI64, F64] Pure InLoop "a = b truncated and saturated; 0 if NaN";
    0x133 F32ConvertI32S "f32.convert_i32_s" [DF32, I32] Pure InLoop "a = b converted, signed";
    0x134 F32ConvertI32U "f32.convert_i32_u" [DF32, I32] Pure InLoop "a = b converted, unsigned";
    0x135 F32ConvertI64S "f32.convert_i64_s" [DF32, I64] Pure InLoop "a = b converted, signed";
    0x136 F32ConvertI64U "f32.convert_i64_u" [DF32, I64] Pure InLoop "a = b converted, unsigned";
    0x137 F64ConvertI32S "f64.convert_i32_s" [DF64, I32] Pure InLoop "a = b converted, signed";
    0x138 F64ConvertI32U "f64.convert_i32_u" [DF64, I32] Pure InLoop "a = b converted, unsigned";
    0x139 F64ConvertI64S "f64.convert_i64_s" [DF64, I64] Pure InLoop "a = b converted, signed";
    0x13a F64ConvertI64U "f64.convert_i64_u" [DF64, I64] Pure InLoop "a = b converted, unsigned";
    0x13b F32DemoteF64 "f32.demote_f64" [DF32, F64] Pure InLoop "a = b rounded to f32";
    0x13c F64PromoteF32 "f64.promote_f32" [DF64, F32] Pure InLoop "a = b as f64";

    // Loads and stores, memory 0, offset below 64 KiB
    0x140 Load32 "load32" [DB32, I32, U16] Load(u32) InLoop "a = 32-bit value at b + c";
    0x141 I32Load8S "i32.load8_s" [DI32, I32, U16] Load(i8) InLoop "a = 8-bit signed value at b + c";
    0x142 I32Load8U "i32.load8_u" [DI32, I32, U16] Load(u8) InLoop "a = 8-bit unsigned value at b + c";
    0x143 I32Load16S "i32.load16_s" [DI32, I32, U16] Load(i16) InLoop "a = 16-bit signed value at b + c";
    0x144 I32Load16U "i32.load16_u" [DI32, I32, U16] Load(u16) InLoop "a = 16-bit unsigned value at b + c";
    0x145 Load64 "load64" [DB64, I32, U16] Load(u64) InLoop "a = 64-bit value at b + c";
    0x146 I64Load8S "i64.load8_s" [DI64, I32, U16] Load(i8) InLoop "a = 8-bit signed value at b + c";
    0x147 I64Load8U "i64.load8_u" [DI64, I32, U16] Load(u8) InLoop "a = 8-bit unsigned value at b + c";
    0x148 I64Load16S "i64.load16_s" [DI64, I32, U16] Load(i16) InLoop "a = 16-bit signed value at b + c";
    0x149 I64Load16U "i64.load16_u" [DI64, I32, U16] Load(u16) InLoop "a = 16-bit unsigned value at b + c";
    0x14a I64Load32S "i64.load32_s" [DI64, I32, U16] Load(i32) InLoop "a = 32-bit signed value at b + c";
    0x14b I64Load32U "i64.load32_u" [DI64, I32, U16] Load(u32) InLoop "a = 32-bit value at b + c";
    0x14c Store32 "store32" [I32, B32, U16] Store(u32) InLoop "32-bit value at a + c = b";
    0x14d I32Store8 "i32.store8" [I32, I32, U16] Store(u8) InLoop "8-bit value at a + c = b";
    0x14e I32Store16 "i32.store16" [I32, I32, U16] Store(u16) InLoop "16-bit value at a + c = b";
    0x14f Store64 "store64" [I32, B64, U16] Store(u64) InLoop "64-bit value at a + c = b";
    0x150 I64Store8 "i64.store8" [I32, I64, U16] Store(u8) InLoop "8-bit value at a + c = b";
    0x151 I64Store16 "i64.store16" [I32, I64, U16] Store(u16) InLoop "16-bit value at a + c = b";
    0x152 I64Store32 "i64.store32" [I32, I64, U16] Store(u32) InLoop "32-bit value at a + c = b";

    // Loads and stores of any memory, any offset
    0x158 Load32Far "load32_far" [DB32, ADDR, MEMORY, FAR] LoadFar(u32) InLoop "a = 32-bit value at b + d in memory c";
    0x159 I32Load8SFar "i32.load8_s_far" [DI32, ADDR, MEMORY, FAR] LoadFar(i8) InLoop "a = 8-bit signed value at b + d in memory c";
    0x15a I32Load8UFar "i32.load8_u_far" [DI32, ADDR, MEMORY, FAR] LoadFar(u8) InLoop "a = 8-bit unsigned value at b + d in memory c";
    0x15b I32Load16SFar "i32.load16_s_far" [DI32, ADDR, MEMORY, FAR] LoadFar(i16) InLoop "a = 16-bit signed value at b + d in memory c";
    0x15c I32Load16UFar "i32.load16_u_far" [DI32, ADDR, MEMORY, FAR] LoadFar(u16) InLoop "a = 16-bit unsigned value at b + d in memory c";
    0x15d Load64Far "load64_far" [DB64, ADDR, MEMORY, FAR] LoadFar(u64) InLoop "a = 64-bit value at b + d in memory c";
    0x15e I64Load8SFar "i64.load8_s_far" [DI64, ADDR, MEMORY, FAR] LoadFar(i8) InLoop "a = 8-bit signed value at b + d in memory c";
    0x15f I64Load8UFar "i64.load8_u_far" [DI64, ADDR, MEMORY, FAR] LoadFar(u8) InLoop "a = 8-bit unsigned value at b + d in memory c";
    0x160 I64Load16SFar "i64.load16_s_far" [DI64, ADDR, MEMORY, FAR] LoadFar(i16) InLoop "a = 16-bit signed value at b + d in memory c";
    0x161 I64Load16UFar "i64.load16_u_far" [DI64, ADDR, MEMORY, FAR] LoadFar(u16) InLoop "a = 16-bit unsigned value at b + d in memory c";
    0x162 I64Load32SFar "i64.load32_s_far" [DI64, ADDR, MEMORY, FAR] LoadFar(i32) InLoop "a = 32-bit signed value at b + d in memory c";
    0x163 I64Load32UFar "i64.load32_u_far" [DI64, ADDR, MEMORY, FAR] LoadFar(u32) InLoop "a = 32-bit value at b + d in memory c";
    0x164 Store32Far "store32_far" [ADDR, B32, MEMORY, FAR] StoreFar(u32) InLoop "32-bit value at a + d in memory c = b";
    0x165 I32Store8Far "i32.store8_far" [ADDR, I32, MEMORY, FAR] StoreFar(u8) InLoop "8-bit value at a + d in memory c = b";
    0x166 I32Store16Far "i32.store16_far" [ADDR, I32, MEMORY, FAR] StoreFar(u16) InLoop "16-bit value at a + d in memory c = b";
    0x167 Store64Far "store64_far" [ADDR, B64, MEMORY, FAR] StoreFar(u64) InLoop "64-bit value at a + d in memory c = b";
    0x168 I64Store8Far "i64.store8_far" [ADDR, I64, MEMORY, FAR] StoreFar(u8) InLoop "8-bit value at a + d in memory c = b";
    0x169 I64Store16Far "i64.store16_far" [ADDR, I64, MEMORY, FAR] StoreFar(u16) InLoop "16-bit value at a + d in memory c = b";
    0x16a I64Store32Far "i64.store32_far" [ADDR, I64, MEMORY, FAR] StoreFar(u32) InLoop "32-bit value at a + d in memory c = b";

    // Compare and branch
    0x170 BrI32Eq "br_i32.eq" [I32, I32, R16] Branch InLoop "if a == b: pc += c";
    0x171 BrI32Ne "br_i32.ne" [I32, I32, R16] Branch InLoop "if a != b: pc += c";
    0x172 BrI32LtS "br_i32.lt_s" [I32, I32, R16] Branch InLoop "if a < b, signed: pc += c";
    0x173 BrI32LtU "br_i32.lt_u" [I32, I32, R16] Branch InLoop "if a < b, unsigned: pc += c";
    0x174 BrI32LeS "br_i32.le_s" [I32, I32, R16] Branch InLoop "if a <= b, signed: pc += c";
    0x175 BrI32LeU "br_i32.le_u" [I32, I32, R16] Branch InLoop "if a <= b, unsigned: pc += c";
    0x176 BrI32EqImm "br_i32.eq_imm" [I32, S16, R16] Branch InLoop "if a == b: pc += c";
    0x177 BrI32NeImm "br_i32.ne_imm" [I32, S16, R16] Branch InLoop "if a != b: pc += c";
    0x178 BrI32LtSImm "br_i32.lt_s_imm" [I32, S16, R16] Branch InLoop "if a < b, signed: pc += c";
    0x179 BrI32LtUImm "br_i32.lt_u_imm" [I32, S16, R16] Branch InLoop "if a < b, unsigned: pc += c";
    0x17a BrI32GtSImm "br_i32.gt_s_imm" [I32, S16, R16] Branch InLoop "if a > b, signed: pc += c";
    0x17b BrI32GtUImm "br_i32.gt_u_imm" [I32, S16, R16] Branch InLoop "if a > b, unsigned: pc += c";
    0x17c BrI64Eq "br_i64.eq" [I64, I64, R16] Branch InLoop "if a == b: pc += c";
    0x17d BrI64Ne "br_i64.ne" [I64, I64, R16] Branch InLoop "if a != b: pc += c";
    0x17e BrI64LtS "br_i64.lt_s" [I64, I64, R16] Branch InLoop "if a < b, signed: pc += c";
    0x17f BrI64LtU "br_i64.lt_u" [I64, I64, R16] Branch InLoop "if a < b, unsigned: pc += c";
    0x180 BrI64LeS "br_i64.le_s" [I64, I64, R16] Branch InLoop "if a <= b, signed: pc += c";
    0x181 BrI64LeU "br_i64.le_u" [I64, I64, R16] Branch InLoop "if a <= b, unsigned: pc += c";
    0x182 BrI64EqImm "br_i64.eq_imm" [I64, S16, R16] Branch InLoop "if a == b: pc += c";
    0x183 BrI64NeImm "br_i64.ne_imm" [I64, S16, R16] Branch InLoop "if a != b: pc += c";
    0x184 BrI64LtSImm "br_i64.lt_s_imm" [I64, S16, R16] Branch InLoop "if a < b, signed: pc += c";
    0x185 BrI64LtUImm "br_i64.lt_u_imm" [I64, S16, R16] Branch InLoop "if a < b, unsigned: pc += c";
    0x186 BrI64GtSImm "br_i64.gt_s_imm" [I64, S16, R16] Branch InLoop "if a > b, signed: pc += c";
    0x187 BrI64GtUImm "br_i64.gt_u_imm" [I64, S16, R16] Branch InLoop "if a > b, unsigned: pc += c";
    0x188 BrF32Eq "br_f32.eq" [F32, F32, R16] Branch InLoop "if a == b: pc += c";
    0x189 BrF32Ne "br_f32.ne" [F32, F32, R16] Branch InLoop "if a != b: pc += c";
    0x18a BrF32Lt "br_f32.lt" [F32, F32, R16] Branch InLoop "if a < b: pc += c";
    0x18b BrF32Le "br_f32.le" [F32, F32, R16] Branch InLoop "if a <= b: pc += c";
    0x18c BrNotF32Lt "br_not_f32.lt" [F32, F32, R16] Branch InLoop "unless a < b: pc += c";
    0x18d BrNotF32Le "br_not_f32.le" [F32, F32, R16] Branch InLoop "unless a <= b: pc += c";
    0x18e BrF64Eq "br_f64.eq" [F64, F64, R16] Branch InLoop "if a == b: pc += c";
    0x18f BrF64Ne "br_f64.ne" [F64, F64, R16] Branch InLoop "if a != b: pc += c";
    0x190 BrF64Lt "br_f64.lt" [F64, F64, R16] Branch InLoop "if a < b: pc += c";
    0x191 BrF64Le "br_f64.le" [F64, F64, R16] Branch InLoop "if a <= b: pc += c";
    0x192 BrNotF64Lt "br_not_f64.lt" [F64, F64, R16] Branch InLoop "unless a < b: pc += c";
    0x193 BrNotF64Le "br_not_f64.le" [F64, F64, R16] Branch InLoop "unless a <= b: pc += c";
    0x194 BrBits "br_bits" [I32, I32, R16] Branch InLoop "if a & b != 0: pc += c";
    0x195 BrNoBits "br_no_bits" [I32, I32, R16] Branch InLoop "if a & b == 0: pc += c";
    0x196 BrBitsImm "br_bits_imm" [I32, S16, R16] Branch InLoop "if a & b != 0: pc += c";
    0x197 BrNoBitsImm "br_no_bits_imm" [I32, S16, R16] Branch InLoop "if a & b == 0: pc += c";

    // Common pairs as one instruction, with a second word
    0x198 I32ShlXor "i32.shl_xor" [DI32, I32, S16, I32] Pure InLoop "a = (b << c) ^ d";
    0x199 I32ShrUXor "i32.shr_u_xor" [DI32, I32, S16, I32] Pure InLoop "a = (b >> c, unsigned) ^ d";
    0x19a I32ShlOr "i32.shl_or" [DI32, I32, S16, I32] Pure InLoop "a = (b << c) | d";
    0x19b I32RotlXor "i32.rotl_xor" [DI32, I32, S16, I32] Pure InLoop "a = (b rotated left by c) ^ d";
    0x19c I32ShrUAnd "i32.shr_u_and" [DI32, I32, S16, S16] Pure InLoop "a = (b >> c, unsigned) & d";
    0x19d I32MulAdd "i32.mul_add" [DI32, I32, I32, I32] Pure InLoop "a = b * c + d";
    0x19e I32AddAdd "i32.add_add" [DI32, I32, I32, I32] Pure InLoop "a = b + c + d";
    0x19f I32AndXor "i32.and_xor" [DI32, I32, I32, I32] Pure InLoop "a = (b & c) ^ d";
    0x1a0 I32XorXor "i32.xor_xor" [DI32, I32, I32, I32] Pure InLoop "a = b ^ c ^ d";
    0x1a1 I64ShlXor "i64.shl_xor" [DI64, I64, S16, I64] Pure InLoop "a = (b << c) ^ d";
    0x1a2 I64ShrUXor "i64.shr_u_xor" [DI64, I64, S16, I64] Pure InLoop "a = (b >> c, unsigned) ^ d";
    0x1a3 I64ShlOr "i64.shl_or" [DI64, I64, S16, I64] Pure InLoop "a = (b << c) | d";
    0x1a4 I64RotlXor "i64.rotl_xor" [DI64, I64, S16, I64] Pure InLoop "a = (b rotated left by c) ^ d";
    0x1a5 I64ShrUAnd "i64.shr_u_and" [DI64, I64, S16, S16] Pure InLoop "a = (b >> c, unsigned) & d";
    0x1a6 I64MulAdd "i64.mul_add" [DI64, I64, I64, I64] Pure InLoop "a = b * c + d";
    0x1a7 I64AddAdd "i64.add_add" [DI64, I64, I64, I64] Pure InLoop "a = b + c + d";
    0x1a8 I64AndXor "i64.and_xor" [DI64, I64, I64, I64] Pure InLoop "a = (b & c) ^ d";
    0x1a9 I64XorXor "i64.xor_xor" [DI64, I64, I64, I64] Pure InLoop "a = b ^ c ^ d";
    0x1aa F32MulAdd "f32.mul_add" [DF32, F32, F32, F32] Pure InLoop "a = b * c + d, rounded twice";
    0x1ab F32MulSub "f32.mul_sub" [DF32, F32, F32, F32] Pure InLoop "a = b * c - d, rounded twice";
    0x1ac F32SubMul "f32.sub_mul" [DF32, F32, F32, F32] Pure InLoop "a = d - b * c, rounded twice";
    0x1ad F64MulAdd "f64.mul_add" [DF64, F64, F64, F64] Pure InLoop "a = b * c + d, rounded twice";
    0x1ae F64MulSub "f64.mul_sub" [DF64, F64, F64, F64] Pure InLoop "a = b * c - d, rounded twice";
    0x1af F64SubMul "f64.sub_mul" [DF64, F64, F64, F64] Pure InLoop "a = d - b * c, rounded twice";
    0x1b0 BrI32AddNe "br_i32.add_ne" [DI32, I32, S16, I32, R16] Control InLoop "a = b + c; if a != d: pc += e";
    0x1b1 BrI32AddLtS "br_i32.add_lt_s" [DI32, I32, S16, I32, R16] Control InLoop "a = b + c; if a < d, signed: pc += e";
    0x1b2 BrI32AddLtU "br_i32.add_lt_u" [DI32, I32, S16, I32, R16] Control InLoop "a = b + c; if a < d, unsigned: pc += e";
    0x1b3 BrI32AddNeImm "br_i32.add_ne_imm" [DI32, I32, S16, S16, R16] Control InLoop "a = b + c; if a != d: pc += e";

    // For integers of 128 bits
    0x1b4 I64MulHiU "i64.mul_hi_u" [DI64, I64, I64] Pure InLoop "a = upper 64 bits of b * c, unsigned";

    // SIMD page: 128-bit values
    0x200 Copy128 "copy128" [DV128, V128] Pure Simd "a = b";
    0x201 Select128 "select128" [DV128, V128, V128, I32] Pure Simd "a = d != 0 ? b : c";
    0x202 V128Const "v128.const" [DV128, X64, X64] Control Simd "a = b as lower and c as upper half";
    0x203 GlobalGet128 "global_get128" [DV128, GLOBAL] Control Simd "a = global b";
    0x204 GlobalSet128 "global_set128" [V128, GLOBAL] Control Simd "global b = a";
    0x205 V128Load "v128.load" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 128-bit value at b + d in memory c";
    0x206 V128Store "v128.store" [ADDR, V128, MEMORY, FAR] Access Simd "128-bit value at a + d in memory c = b";

    // SIMD: other loads and stores
    0x207 V128Load8x8S "v128.load8x8_s" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 8 values of 8 bits at b + d in memory c, sign extended to lanes of 16 bits";
    0x208 V128Load8x8U "v128.load8x8_u" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 8 values of 8 bits at b + d in memory c, zero extended to lanes of 16 bits";
    0x209 V128Load16x4S "v128.load16x4_s" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 4 values of 16 bits at b + d in memory c, sign extended to lanes of 32 bits";
    0x20a V128Load16x4U "v128.load16x4_u" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 4 values of 16 bits at b + d in memory c, zero extended to lanes of 32 bits";
    0x20b V128Load32x2S "v128.load32x2_s" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 2 values of 32 bits at b + d in memory c, sign extended to lanes of 64 bits";
    0x20c V128Load32x2U "v128.load32x2_u" [DV128, ADDR, MEMORY, FAR] Access Simd "a = 2 values of 32 bits at b + d in memory c, zero extended to lanes of 64 bits";
    0x20d V128Load8Splat "v128.load8_splat" [DV128, ADDR, MEMORY, FAR] Access Simd "every lane of a = 8-bit value at b + d in memory c";
    0x20e V128Load16Splat "v128.load16_splat" [DV128, ADDR, MEMORY, FAR] Access Simd "every lane of a = 16-bit value at b + d in memory c";
    0x20f V128Load32Splat "v128.load32_splat" [DV128, ADDR, MEMORY, FAR] Access Simd "every lane of a = 32-bit value at b + d in memory c";
    0x210 V128Load64Splat "v128.load64_splat" [DV128, ADDR, MEMORY, FAR] Access Simd "every lane of a = 64-bit value at b + d in memory c";
    0x211 V128Load32Zero "v128.load32_zero" [DV128, ADDR, MEMORY, FAR] Access Simd "lane 0 of a = 32-bit value at b + d in memory c, the others are 0";
    0x212 V128Load64Zero "v128.load64_zero" [DV128, ADDR, MEMORY, FAR] Access Simd "lane 0 of a = 64-bit value at b + d in memory c, the others are 0";
    0x213 V128Load8Lane "v128.load8_lane" [DV128, ADDR, V128, FAR, MEMORY, LANE16] Access Simd "a = c with lane f = 8-bit value at b + d in memory e";
    0x214 V128Load16Lane "v128.load16_lane" [DV128, ADDR, V128, FAR, MEMORY, LANE8] Access Simd "a = c with lane f = 16-bit value at b + d in memory e";
    0x215 V128Load32Lane "v128.load32_lane" [DV128, ADDR, V128, FAR, MEMORY, LANE4] Access Simd "a = c with lane f = 32-bit value at b + d in memory e";
    0x216 V128Load64Lane "v128.load64_lane" [DV128, ADDR, V128, FAR, MEMORY, LANE2] Access Simd "a = c with lane f = 64-bit value at b + d in memory e";
    0x217 V128Store8Lane "v128.store8_lane" [ADDR, V128, MEMORY, FAR, LANE16] Access Simd "8-bit value at a + d in memory c = lane e of b";
    0x218 V128Store16Lane "v128.store16_lane" [ADDR, V128, MEMORY, FAR, LANE8] Access Simd "16-bit value at a + d in memory c = lane e of b";
    0x219 V128Store32Lane "v128.store32_lane" [ADDR, V128, MEMORY, FAR, LANE4] Access Simd "32-bit value at a + d in memory c = lane e of b";
    0x21a V128Store64Lane "v128.store64_lane" [ADDR, V128, MEMORY, FAR, LANE2] Access Simd "64-bit value at a + d in memory c = lane e of b";

    // SIMD: lanes. Floats travel as bits, so `f32x4` and `f64x2` share these opcodes with integers
    0x21b I8x16Shuffle "i8x16.shuffle" [DV128, V128, V128, X64, X64] Control Simd "a = for each byte of e:d, that byte of c:b";
    0x21c I8x16Swizzle "i8x16.swizzle" [DV128, V128, V128] Pure Simd "a = for each byte of c, that byte of b, or 0 from 16 on; also relaxed_swizzle";
    0x21d I8x16Splat "i8x16.splat" [DV128, I32] Pure Simd "every lane of a = b";
    0x21e I16x8Splat "i16x8.splat" [DV128, I32] Pure Simd "every lane of a = b";
    0x21f I32x4Splat "i32x4.splat" [DV128, B32] Pure Simd "every lane of a = b";
    0x220 I64x2Splat "i64x2.splat" [DV128, B64] Pure Simd "every lane of a = b";
    0x221 I8x16ExtractLaneS "i8x16.extract_lane_s" [DI32, V128, LANE16] Pure Simd "a = lane c of b, sign extended";
    0x222 I8x16ExtractLaneU "i8x16.extract_lane_u" [DI32, V128, LANE16] Pure Simd "a = lane c of b, zero extended";
    0x223 I16x8ExtractLaneS "i16x8.extract_lane_s" [DI32, V128, LANE8] Pure Simd "a = lane c of b, sign extended";
    0x224 I16x8ExtractLaneU "i16x8.extract_lane_u" [DI32, V128, LANE8] Pure Simd "a = lane c of b, zero extended";
    0x225 I32x4ExtractLane "i32x4.extract_lane" [DB32, V128, LANE4] Pure Simd "a = lane c of b";
    0x226 I64x2ExtractLane "i64x2.extract_lane" [DB64, V128, LANE2] Pure Simd "a = lane c of b";
    0x227 I8x16ReplaceLane "i8x16.replace_lane" [DV128, V128, I32, LANE16] Pure Simd "a = b with lane d = c";
    0x228 I16x8ReplaceLane "i16x8.replace_lane" [DV128, V128, I32, LANE8] Pure Simd "a = b with lane d = c";
    0x229 I32x4ReplaceLane "i32x4.replace_lane" [DV128, V128, B32, LANE4] Pure Simd "a = b with lane d = c";
    0x22a I64x2ReplaceLane "i64x2.replace_lane" [DV128, V128, B64, LANE2] Pure Simd "a = b with lane d = c";

    // SIMD: bits
    0x22b V128Not "v128.not" [DV128, V128] Pure Simd "a = ~b";
    0x22c V128And "v128.and" [DV128, V128, V128] Pure Simd "a = b & c";
    0x22d V128AndNot "v128.andnot" [DV128, V128, V128] Pure Simd "a = b & ~c";
    0x22e V128Or "v128.or" [DV128, V128, V128] Pure Simd "a = b | c";
    0x22f V128Xor "v128.xor" [DV128, V128, V128] Pure Simd "a = b ^ c";
    0x230 V128Bitselect "v128.bitselect" [DV128, V128, V128, V128] Pure Simd "a = bits of b where d has a 1, of c where it has a 0; also relaxed_laneselect";
    0x231 V128AnyTrue "v128.any_true" [DI32, V128] Pure Simd "a = b has a bit that is 1";

    // SIMD: i8x16, lane by lane; shift counts are taken modulo 8, and true is a lane of ones
    0x232 I8x16Eq "i8x16.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x233 I8x16Ne "i8x16.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x234 I8x16LtS "i8x16.lt_s" [DV128, V128, V128] Pure Simd "a = b < c, signed";
    0x235 I8x16LtU "i8x16.lt_u" [DV128, V128, V128] Pure Simd "a = b < c, unsigned";
    0x236 I8x16LeS "i8x16.le_s" [DV128, V128, V128] Pure Simd "a = b <= c, signed";
    0x237 I8x16LeU "i8x16.le_u" [DV128, V128, V128] Pure Simd "a = b <= c, unsigned";
    0x238 I8x16Abs "i8x16.abs" [DV128, V128] Pure Simd "a = |b|, wrapping";
    0x239 I8x16Neg "i8x16.neg" [DV128, V128] Pure Simd "a = -b";
    0x23a I8x16Popcnt "i8x16.popcnt" [DV128, V128] Pure Simd "a = number of ones in b";
    0x23b I8x16AllTrue "i8x16.all_true" [DI32, V128] Pure Simd "a = no lane of b is 0";
    0x23c I8x16Bitmask "i8x16.bitmask" [DI32, V128] Pure Simd "a = the sign bits of b's lanes, lane 0 lowest";
    0x23d I8x16Shl "i8x16.shl" [DV128, V128, I32] Pure Simd "a = b << c";
    0x23e I8x16ShrS "i8x16.shr_s" [DV128, V128, I32] Pure Simd "a = b >> c, signed";
    0x23f I8x16ShrU "i8x16.shr_u" [DV128, V128, I32] Pure Simd "a = b >> c, unsigned";
    0x240 I8x16Add "i8x16.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x241 I8x16AddSatS "i8x16.add_sat_s" [DV128, V128, V128] Pure Simd "a = b + c, signed and saturated";
    0x242 I8x16AddSatU "i8x16.add_sat_u" [DV128, V128, V128] Pure Simd "a = b + c, unsigned and saturated";
    0x243 I8x16Sub "i8x16.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x244 I8x16SubSatS "i8x16.sub_sat_s" [DV128, V128, V128] Pure Simd "a = b - c, signed and saturated";
    0x245 I8x16SubSatU "i8x16.sub_sat_u" [DV128, V128, V128] Pure Simd "a = b - c, unsigned and saturated";
    0x246 I8x16MinS "i8x16.min_s" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, signed";
    0x247 I8x16MinU "i8x16.min_u" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, unsigned";
    0x248 I8x16MaxS "i8x16.max_s" [DV128, V128, V128] Pure Simd "a = the greater of b and c, signed";
    0x249 I8x16MaxU "i8x16.max_u" [DV128, V128, V128] Pure Simd "a = the greater of b and c, unsigned";
    0x24a I8x16AvgrU "i8x16.avgr_u" [DV128, V128, V128] Pure Simd "a = (b + c + 1) / 2, unsigned";
    0x24b I8x16NarrowI16x8S "i8x16.narrow_i16x8_s" [DV128, V128, V128] Pure Simd "a = the signed lanes of b, then of c, saturated to 8 bits signed";
    0x24c I8x16NarrowI16x8U "i8x16.narrow_i16x8_u" [DV128, V128, V128] Pure Simd "a = the signed lanes of b, then of c, saturated to 8 bits unsigned";

    // SIMD: i16x8, lane by lane; shift counts are taken modulo 16, and true is a lane of ones
    0x24d I16x8Eq "i16x8.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x24e I16x8Ne "i16x8.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x24f I16x8LtS "i16x8.lt_s" [DV128, V128, V128] Pure Simd "a = b < c, signed";
    0x250 I16x8LtU "i16x8.lt_u" [DV128, V128, V128] Pure Simd "a = b < c, unsigned";
    0x251 I16x8LeS "i16x8.le_s" [DV128, V128, V128] Pure Simd "a = b <= c, signed";
    0x252 I16x8LeU "i16x8.le_u" [DV128, V128, V128] Pure Simd "a = b <= c, unsigned";
    0x253 I16x8Abs "i16x8.abs" [DV128, V128] Pure Simd "a = |b|, wrapping";
    0x254 I16x8Neg "i16x8.neg" [DV128, V128] Pure Simd "a = -b";
    0x255 I16x8AllTrue "i16x8.all_true" [DI32, V128] Pure Simd "a = no lane of b is 0";
    0x256 I16x8Bitmask "i16x8.bitmask" [DI32, V128] Pure Simd "a = the sign bits of b's lanes, lane 0 lowest";
    0x257 I16x8Shl "i16x8.shl" [DV128, V128, I32] Pure Simd "a = b << c";
    0x258 I16x8ShrS "i16x8.shr_s" [DV128, V128, I32] Pure Simd "a = b >> c, signed";
    0x259 I16x8ShrU "i16x8.shr_u" [DV128, V128, I32] Pure Simd "a = b >> c, unsigned";
    0x25a I16x8Add "i16x8.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x25b I16x8AddSatS "i16x8.add_sat_s" [DV128, V128, V128] Pure Simd "a = b + c, signed and saturated";
    0x25c I16x8AddSatU "i16x8.add_sat_u" [DV128, V128, V128] Pure Simd "a = b + c, unsigned and saturated";
    0x25d I16x8Sub "i16x8.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x25e I16x8SubSatS "i16x8.sub_sat_s" [DV128, V128, V128] Pure Simd "a = b - c, signed and saturated";
    0x25f I16x8SubSatU "i16x8.sub_sat_u" [DV128, V128, V128] Pure Simd "a = b - c, unsigned and saturated";
    0x260 I16x8Mul "i16x8.mul" [DV128, V128, V128] Pure Simd "a = b * c";
    0x261 I16x8MinS "i16x8.min_s" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, signed";
    0x262 I16x8MinU "i16x8.min_u" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, unsigned";
    0x263 I16x8MaxS "i16x8.max_s" [DV128, V128, V128] Pure Simd "a = the greater of b and c, signed";
    0x264 I16x8MaxU "i16x8.max_u" [DV128, V128, V128] Pure Simd "a = the greater of b and c, unsigned";
    0x265 I16x8AvgrU "i16x8.avgr_u" [DV128, V128, V128] Pure Simd "a = (b + c + 1) / 2, unsigned";
    0x266 I16x8Q15MulrSatS "i16x8.q15mulr_sat_s" [DV128, V128, V128] Pure Simd "a = (b * c + 2^14) >> 15, saturated: fractions of 15 bits; also relaxed_q15mulr_s";
    0x267 I16x8NarrowI32x4S "i16x8.narrow_i32x4_s" [DV128, V128, V128] Pure Simd "a = the signed lanes of b, then of c, saturated to 16 bits signed";
    0x268 I16x8NarrowI32x4U "i16x8.narrow_i32x4_u" [DV128, V128, V128] Pure Simd "a = the signed lanes of b, then of c, saturated to 16 bits unsigned";
    0x269 I16x8ExtendLowI8x16S "i16x8.extend_low_i8x16_s" [DV128, V128] Pure Simd "a = the lower half of b's lanes, sign extended";
    0x26a I16x8ExtendLowI8x16U "i16x8.extend_low_i8x16_u" [DV128, V128] Pure Simd "a = the lower half of b's lanes, zero extended";
    0x26b I16x8ExtendHighI8x16S "i16x8.extend_high_i8x16_s" [DV128, V128] Pure Simd "a = the upper half of b's lanes, sign extended";
    0x26c I16x8ExtendHighI8x16U "i16x8.extend_high_i8x16_u" [DV128, V128] Pure Simd "a = the upper half of b's lanes, zero extended";
    0x26d I16x8ExtMulLowI8x16S "i16x8.extmul_low_i8x16_s" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, sign extended first";
    0x26e I16x8ExtMulLowI8x16U "i16x8.extmul_low_i8x16_u" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, zero extended first";
    0x26f I16x8ExtMulHighI8x16S "i16x8.extmul_high_i8x16_s" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, sign extended first";
    0x270 I16x8ExtMulHighI8x16U "i16x8.extmul_high_i8x16_u" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, zero extended first";
    0x271 I16x8ExtAddPairwiseI8x16S "i16x8.extadd_pairwise_i8x16_s" [DV128, V128] Pure Simd "a = sums of neighbouring lanes of b, sign extended first";
    0x272 I16x8ExtAddPairwiseI8x16U "i16x8.extadd_pairwise_i8x16_u" [DV128, V128] Pure Simd "a = sums of neighbouring lanes of b, zero extended first";
    0x273 I16x8RelaxedDotI8x16I7x16S "i16x8.relaxed_dot_i8x16_i7x16_s" [DV128, V128, V128] Pure Simd "a = sums of neighbouring products of the 8-bit lanes of b and c, both signed, saturated";

    // SIMD: i32x4, lane by lane; shift counts are taken modulo 32, and true is a lane of ones
    0x274 I32x4Eq "i32x4.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x275 I32x4Ne "i32x4.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x276 I32x4LtS "i32x4.lt_s" [DV128, V128, V128] Pure Simd "a = b < c, signed";
    0x277 I32x4LtU "i32x4.lt_u" [DV128, V128, V128] Pure Simd "a = b < c, unsigned";
    0x278 I32x4LeS "i32x4.le_s" [DV128, V128, V128] Pure Simd "a = b <= c, signed";
    0x279 I32x4LeU "i32x4.le_u" [DV128, V128, V128] Pure Simd "a = b <= c, unsigned";
    0x27a I32x4Abs "i32x4.abs" [DV128, V128] Pure Simd "a = |b|, wrapping";
    0x27b I32x4Neg "i32x4.neg" [DV128, V128] Pure Simd "a = -b";
    0x27c I32x4AllTrue "i32x4.all_true" [DI32, V128] Pure Simd "a = no lane of b is 0";
    0x27d I32x4Bitmask "i32x4.bitmask" [DI32, V128] Pure Simd "a = the sign bits of b's lanes, lane 0 lowest";
    0x27e I32x4Shl "i32x4.shl" [DV128, V128, I32] Pure Simd "a = b << c";
    0x27f I32x4ShrS "i32x4.shr_s" [DV128, V128, I32] Pure Simd "a = b >> c, signed";
    0x280 I32x4ShrU "i32x4.shr_u" [DV128, V128, I32] Pure Simd "a = b >> c, unsigned";
    0x281 I32x4Add "i32x4.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x282 I32x4Sub "i32x4.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x283 I32x4Mul "i32x4.mul" [DV128, V128, V128] Pure Simd "a = b * c";
    0x284 I32x4MinS "i32x4.min_s" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, signed";
    0x285 I32x4MinU "i32x4.min_u" [DV128, V128, V128] Pure Simd "a = the lesser of b and c, unsigned";
    0x286 I32x4MaxS "i32x4.max_s" [DV128, V128, V128] Pure Simd "a = the greater of b and c, signed";
    0x287 I32x4MaxU "i32x4.max_u" [DV128, V128, V128] Pure Simd "a = the greater of b and c, unsigned";
    0x288 I32x4ExtendLowI16x8S "i32x4.extend_low_i16x8_s" [DV128, V128] Pure Simd "a = the lower half of b's lanes, sign extended";
    0x289 I32x4ExtendLowI16x8U "i32x4.extend_low_i16x8_u" [DV128, V128] Pure Simd "a = the lower half of b's lanes, zero extended";
    0x28a I32x4ExtendHighI16x8S "i32x4.extend_high_i16x8_s" [DV128, V128] Pure Simd "a = the upper half of b's lanes, sign extended";
    0x28b I32x4ExtendHighI16x8U "i32x4.extend_high_i16x8_u" [DV128, V128] Pure Simd "a = the upper half of b's lanes, zero extended";
    0x28c I32x4ExtMulLowI16x8S "i32x4.extmul_low_i16x8_s" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, sign extended first";
    0x28d I32x4ExtMulLowI16x8U "i32x4.extmul_low_i16x8_u" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, zero extended first";
    0x28e I32x4ExtMulHighI16x8S "i32x4.extmul_high_i16x8_s" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, sign extended first";
    0x28f I32x4ExtMulHighI16x8U "i32x4.extmul_high_i16x8_u" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, zero extended first";
    0x290 I32x4ExtAddPairwiseI16x8S "i32x4.extadd_pairwise_i16x8_s" [DV128, V128] Pure Simd "a = sums of neighbouring lanes of b, sign extended first";
    0x291 I32x4ExtAddPairwiseI16x8U "i32x4.extadd_pairwise_i16x8_u" [DV128, V128] Pure Simd "a = sums of neighbouring lanes of b, zero extended first";
    0x292 I32x4DotI16x8S "i32x4.dot_i16x8_s" [DV128, V128, V128] Pure Simd "a = sums of neighbouring products of the 16-bit lanes of b and c, signed";
    0x293 I32x4RelaxedDotI8x16I7x16AddS "i32x4.relaxed_dot_i8x16_i7x16_add_s" [DV128, V128, V128, V128] Pure Simd "a = sums of neighbouring lanes of i16x8.relaxed_dot_i8x16_i7x16_s of b and c, plus d";

    // SIMD: i64x2, lane by lane; shift counts are taken modulo 64, and true is a lane of ones
    0x294 I64x2Eq "i64x2.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x295 I64x2Ne "i64x2.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x296 I64x2LtS "i64x2.lt_s" [DV128, V128, V128] Pure Simd "a = b < c, signed";
    0x297 I64x2LeS "i64x2.le_s" [DV128, V128, V128] Pure Simd "a = b <= c, signed";
    0x298 I64x2Abs "i64x2.abs" [DV128, V128] Pure Simd "a = |b|, wrapping";
    0x299 I64x2Neg "i64x2.neg" [DV128, V128] Pure Simd "a = -b";
    0x29a I64x2AllTrue "i64x2.all_true" [DI32, V128] Pure Simd "a = no lane of b is 0";
    0x29b I64x2Bitmask "i64x2.bitmask" [DI32, V128] Pure Simd "a = the sign bits of b's lanes, lane 0 lowest";
    0x29c I64x2Shl "i64x2.shl" [DV128, V128, I32] Pure Simd "a = b << c";
    0x29d I64x2ShrS "i64x2.shr_s" [DV128, V128, I32] Pure Simd "a = b >> c, signed";
    0x29e I64x2ShrU "i64x2.shr_u" [DV128, V128, I32] Pure Simd "a = b >> c, unsigned";
    0x29f I64x2Add "i64x2.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x2a0 I64x2Sub "i64x2.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x2a1 I64x2Mul "i64x2.mul" [DV128, V128, V128] Pure Simd "a = b * c";
    0x2a2 I64x2ExtendLowI32x4S "i64x2.extend_low_i32x4_s" [DV128, V128] Pure Simd "a = the lower half of b's lanes, sign extended";
    0x2a3 I64x2ExtendLowI32x4U "i64x2.extend_low_i32x4_u" [DV128, V128] Pure Simd "a = the lower half of b's lanes, zero extended";
    0x2a4 I64x2ExtendHighI32x4S "i64x2.extend_high_i32x4_s" [DV128, V128] Pure Simd "a = the upper half of b's lanes, sign extended";
    0x2a5 I64x2ExtendHighI32x4U "i64x2.extend_high_i32x4_u" [DV128, V128] Pure Simd "a = the upper half of b's lanes, zero extended";
    0x2a6 I64x2ExtMulLowI32x4S "i64x2.extmul_low_i32x4_s" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, sign extended first";
    0x2a7 I64x2ExtMulLowI32x4U "i64x2.extmul_low_i32x4_u" [DV128, V128, V128] Pure Simd "a = products of the lower halves of b's and c's lanes, zero extended first";
    0x2a8 I64x2ExtMulHighI32x4S "i64x2.extmul_high_i32x4_s" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, sign extended first";
    0x2a9 I64x2ExtMulHighI32x4U "i64x2.extmul_high_i32x4_u" [DV128, V128, V128] Pure Simd "a = products of the upper halves of b's and c's lanes, zero extended first";

    // SIMD: f32x4, lane by lane; a NaN from arithmetic is the canonical one
    0x2aa F32x4Eq "f32x4.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x2ab F32x4Ne "f32x4.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x2ac F32x4Lt "f32x4.lt" [DV128, V128, V128] Pure Simd "a = b < c";
    0x2ad F32x4Le "f32x4.le" [DV128, V128, V128] Pure Simd "a = b <= c";
    0x2ae F32x4Ceil "f32x4.ceil" [DV128, V128] Pure Simd "a = b rounded up";
    0x2af F32x4Floor "f32x4.floor" [DV128, V128] Pure Simd "a = b rounded down";
    0x2b0 F32x4Trunc "f32x4.trunc" [DV128, V128] Pure Simd "a = b rounded to zero";
    0x2b1 F32x4Nearest "f32x4.nearest" [DV128, V128] Pure Simd "a = b rounded to nearest, ties to even";
    0x2b2 F32x4Abs "f32x4.abs" [DV128, V128] Pure Simd "a = |b|: the sign bit is cleared";
    0x2b3 F32x4Neg "f32x4.neg" [DV128, V128] Pure Simd "a = -b: the sign bit is flipped";
    0x2b4 F32x4Sqrt "f32x4.sqrt" [DV128, V128] Pure Simd "a = square root of b";
    0x2b5 F32x4Add "f32x4.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x2b6 F32x4Sub "f32x4.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x2b7 F32x4Mul "f32x4.mul" [DV128, V128, V128] Pure Simd "a = b * c";
    0x2b8 F32x4Div "f32x4.div" [DV128, V128, V128] Pure Simd "a = b / c";
    0x2b9 F32x4Min "f32x4.min" [DV128, V128, V128] Pure Simd "a = the lesser of b and c; NaN if one is; also relaxed_min";
    0x2ba F32x4Max "f32x4.max" [DV128, V128, V128] Pure Simd "a = the greater of b and c; NaN if one is; also relaxed_max";
    0x2bb F32x4PMin "f32x4.pmin" [DV128, V128, V128] Pure Simd "a = c < b ? c : b, bits unchanged";
    0x2bc F32x4PMax "f32x4.pmax" [DV128, V128, V128] Pure Simd "a = b < c ? c : b, bits unchanged";
    0x2bd F32x4RelaxedMadd "f32x4.relaxed_madd" [DV128, V128, V128, V128] Pure Simd "a = b * c + d, rounded twice";
    0x2be F32x4RelaxedNmadd "f32x4.relaxed_nmadd" [DV128, V128, V128, V128] Pure Simd "a = d - b * c, rounded twice";

    // SIMD: f64x2, lane by lane; a NaN from arithmetic is the canonical one
    0x2bf F64x2Eq "f64x2.eq" [DV128, V128, V128] Pure Simd "a = b == c";
    0x2c0 F64x2Ne "f64x2.ne" [DV128, V128, V128] Pure Simd "a = b != c";
    0x2c1 F64x2Lt "f64x2.lt" [DV128, V128, V128] Pure Simd "a = b < c";
    0x2c2 F64x2Le "f64x2.le" [DV128, V128, V128] Pure Simd "a = b <= c";
    0x2c3 F64x2Ceil "f64x2.ceil" [DV128, V128] Pure Simd "a = b rounded up";
    0x2c4 F64x2Floor "f64x2.floor" [DV128, V128] Pure Simd "a = b rounded down";
    0x2c5 F64x2Trunc "f64x2.trunc" [DV128, V128] Pure Simd "a = b rounded to zero";
    0x2c6 F64x2Nearest "f64x2.nearest" [DV128, V128] Pure Simd "a = b rounded to nearest, ties to even";
    0x2c7 F64x2Abs "f64x2.abs" [DV128, V128] Pure Simd "a = |b|: the sign bit is cleared";
    0x2c8 F64x2Neg "f64x2.neg" [DV128, V128] Pure Simd "a = -b: the sign bit is flipped";
    0x2c9 F64x2Sqrt "f64x2.sqrt" [DV128, V128] Pure Simd "a = square root of b";
    0x2ca F64x2Add "f64x2.add" [DV128, V128, V128] Pure Simd "a = b + c";
    0x2cb F64x2Sub "f64x2.sub" [DV128, V128, V128] Pure Simd "a = b - c";
    0x2cc F64x2Mul "f64x2.mul" [DV128, V128, V128] Pure Simd "a = b * c";
    0x2cd F64x2Div "f64x2.div" [DV128, V128, V128] Pure Simd "a = b / c";
    0x2ce F64x2Min "f64x2.min" [DV128, V128, V128] Pure Simd "a = the lesser of b and c; NaN if one is; also relaxed_min";
    0x2cf F64x2Max "f64x2.max" [DV128, V128, V128] Pure Simd "a = the greater of b and c; NaN if one is; also relaxed_max";
    0x2d0 F64x2PMin "f64x2.pmin" [DV128, V128, V128] Pure Simd "a = c < b ? c : b, bits unchanged";
    0x2d1 F64x2PMax "f64x2.pmax" [DV128, V128, V128] Pure Simd "a = b < c ? c : b, bits unchanged";
    0x2d2 F64x2RelaxedMadd "f64x2.relaxed_madd" [DV128, V128, V128, V128] Pure Simd "a = b * c + d, rounded twice";
    0x2d3 F64x2RelaxedNmadd "f64x2.relaxed_nmadd" [DV128, V128, V128, V128] Pure Simd "a = d - b * c, rounded twice";

    // SIMD: conversions
    0x2d4 I32x4TruncSatF32x4S "i32x4.trunc_sat_f32x4_s" [DV128, V128] Pure Simd "a = b truncated and saturated, signed; 0 if NaN; also relaxed_trunc_f32x4_s";
    0x2d5 I32x4TruncSatF32x4U "i32x4.trunc_sat_f32x4_u" [DV128, V128] Pure Simd "a = b truncated and saturated, unsigned; 0 if NaN; also relaxed_trunc_f32x4_u";
    0x2d6 I32x4TruncSatF64x2SZero "i32x4.trunc_sat_f64x2_s_zero" [DV128, V128] Pure Simd "a = b truncated and saturated, signed, then two lanes of 0; 0 if NaN; also relaxed_trunc_f64x2_s_zero";
    0x2d7 I32x4TruncSatF64x2UZero "i32x4.trunc_sat_f64x2_u_zero" [DV128, V128] Pure Simd "a = b truncated and saturated, unsigned, then two lanes of 0; 0 if NaN; also relaxed_trunc_f64x2_u_zero";
    0x2d8 F32x4ConvertI32x4S "f32x4.convert_i32x4_s" [DV128, V128] Pure Simd "a = b converted, signed";
    0x2d9 F32x4ConvertI32x4U "f32x4.convert_i32x4_u" [DV128, V128] Pure Simd "a = b converted, unsigned";
    0x2da F64x2ConvertLowI32x4S "f64x2.convert_low_i32x4_s" [DV128, V128] Pure Simd "a = the lower two lanes of b converted, signed";
    0x2db F64x2ConvertLowI32x4U "f64x2.convert_low_i32x4_u" [DV128, V128] Pure Simd "a = the lower two lanes of b converted, unsigned";
    0x2dc F32x4DemoteF64x2Zero "f32x4.demote_f64x2_zero" [DV128, V128] Pure Simd "a = b rounded to f32, then two lanes of 0";
    0x2dd F64x2PromoteLowF32x4 "f64x2.promote_low_f32x4" [DV128, V128] Pure Simd "a = the lower two lanes of b as f64";

    // No vectors, but large: here it costs the interpreter's own switch nothing
    0x2e0 I64DivWideU "i64.div_wide_u" [DI64, I64, I64, I64] Pure Simd "a = (b * 2^64 + c) / d, unsigned, or 2^64 - 1 unless b < d";

    // Page of atomics: sequentially consistent, and an address that is not aligned traps. The kernel takes
    // kind and width of an access out of its number: eight numbers a kind, widths in this order.
    0x340 MemoryAtomicNotify "memory.atomic.notify" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "wake at most c threads that wait at b + d in memory e; a = how many";
    0x341 MemoryAtomicWait32 "memory.atomic.wait32" [DI32, ADDR, I32, FAR, MEMORY, I64] Access Atomics "if the u32 at b + d in memory e is c, wait at most f ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out";
    0x342 MemoryAtomicWait64 "memory.atomic.wait64" [DI32, ADDR, I64, FAR, MEMORY, I64] Access Atomics "if the u64 at b + d in memory e is c, wait at most f ns (negative: for ever); a = 0 woken, 1 other value, 2 timed out";
    0x343 AtomicFence "atomic.fence" [] Control Atomics "order all accesses before it before all after it";
    0x348 I32AtomicLoad "i32.atomic.load" [DI32, ADDR, MEMORY, FAR] Access Atomics "a = u32 at b + d in memory c";
    0x349 I64AtomicLoad "i64.atomic.load" [DI64, ADDR, MEMORY, FAR] Access Atomics "a = u64 at b + d in memory c";
    0x34a I32AtomicLoad8U "i32.atomic.load8_u" [DI32, ADDR, MEMORY, FAR] Access Atomics "a = u8 at b + d in memory c";
    0x34b I32AtomicLoad16U "i32.atomic.load16_u" [DI32, ADDR, MEMORY, FAR] Access Atomics "a = u16 at b + d in memory c";
    0x34c I64AtomicLoad8U "i64.atomic.load8_u" [DI64, ADDR, MEMORY, FAR] Access Atomics "a = u8 at b + d in memory c";
    0x34d I64AtomicLoad16U "i64.atomic.load16_u" [DI64, ADDR, MEMORY, FAR] Access Atomics "a = u16 at b + d in memory c";
    0x34e I64AtomicLoad32U "i64.atomic.load32_u" [DI64, ADDR, MEMORY, FAR] Access Atomics "a = u32 at b + d in memory c";
    0x350 I32AtomicStore "i32.atomic.store" [ADDR, I32, MEMORY, FAR] Access Atomics "u32 at a + d in memory c = b";
    0x351 I64AtomicStore "i64.atomic.store" [ADDR, I64, MEMORY, FAR] Access Atomics "u64 at a + d in memory c = b";
    0x352 I32AtomicStore8 "i32.atomic.store8" [ADDR, I32, MEMORY, FAR] Access Atomics "u8 at a + d in memory c = b";
    0x353 I32AtomicStore16 "i32.atomic.store16" [ADDR, I32, MEMORY, FAR] Access Atomics "u16 at a + d in memory c = b";
    0x354 I64AtomicStore8 "i64.atomic.store8" [ADDR, I64, MEMORY, FAR] Access Atomics "u8 at a + d in memory c = b";
    0x355 I64AtomicStore16 "i64.atomic.store16" [ADDR, I64, MEMORY, FAR] Access Atomics "u16 at a + d in memory c = b";
    0x356 I64AtomicStore32 "i64.atomic.store32" [ADDR, I64, MEMORY, FAR] Access Atomics "u32 at a + d in memory c = b";
    0x358 I32AtomicRmwAdd "i32.atomic.rmw.add" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then add c to it";
    0x359 I64AtomicRmwAdd "i64.atomic.rmw.add" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then add c to it";
    0x35a I32AtomicRmw8AddU "i32.atomic.rmw8.add_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then add c to it";
    0x35b I32AtomicRmw16AddU "i32.atomic.rmw16.add_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then add c to it";
    0x35c I64AtomicRmw8AddU "i64.atomic.rmw8.add_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then add c to it";
    0x35d I64AtomicRmw16AddU "i64.atomic.rmw16.add_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then add c to it";
    0x35e I64AtomicRmw32AddU "i64.atomic.rmw32.add_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then add c to it";
    0x360 I32AtomicRmwSub "i32.atomic.rmw.sub" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then subtract c from it";
    0x361 I64AtomicRmwSub "i64.atomic.rmw.sub" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then subtract c from it";
    0x362 I32AtomicRmw8SubU "i32.atomic.rmw8.sub_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then subtract c from it";
    0x363 I32AtomicRmw16SubU "i32.atomic.rmw16.sub_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then subtract c from it";
    0x364 I64AtomicRmw8SubU "i64.atomic.rmw8.sub_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then subtract c from it";
    0x365 I64AtomicRmw16SubU "i64.atomic.rmw16.sub_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then subtract c from it";
    0x366 I64AtomicRmw32SubU "i64.atomic.rmw32.sub_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then subtract c from it";
    0x368 I32AtomicRmwAnd "i32.atomic.rmw.and" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it &= c";
    0x369 I64AtomicRmwAnd "i64.atomic.rmw.and" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then it &= c";
    0x36a I32AtomicRmw8AndU "i32.atomic.rmw8.and_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it &= c";
    0x36b I32AtomicRmw16AndU "i32.atomic.rmw16.and_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it &= c";
    0x36c I64AtomicRmw8AndU "i64.atomic.rmw8.and_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it &= c";
    0x36d I64AtomicRmw16AndU "i64.atomic.rmw16.and_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it &= c";
    0x36e I64AtomicRmw32AndU "i64.atomic.rmw32.and_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it &= c";
    0x370 I32AtomicRmwOr "i32.atomic.rmw.or" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it |= c";
    0x371 I64AtomicRmwOr "i64.atomic.rmw.or" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then it |= c";
    0x372 I32AtomicRmw8OrU "i32.atomic.rmw8.or_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it |= c";
    0x373 I32AtomicRmw16OrU "i32.atomic.rmw16.or_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it |= c";
    0x374 I64AtomicRmw8OrU "i64.atomic.rmw8.or_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it |= c";
    0x375 I64AtomicRmw16OrU "i64.atomic.rmw16.or_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it |= c";
    0x376 I64AtomicRmw32OrU "i64.atomic.rmw32.or_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it |= c";
    0x378 I32AtomicRmwXor "i32.atomic.rmw.xor" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it ^= c";
    0x379 I64AtomicRmwXor "i64.atomic.rmw.xor" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then it ^= c";
    0x37a I32AtomicRmw8XorU "i32.atomic.rmw8.xor_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it ^= c";
    0x37b I32AtomicRmw16XorU "i32.atomic.rmw16.xor_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it ^= c";
    0x37c I64AtomicRmw8XorU "i64.atomic.rmw8.xor_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it ^= c";
    0x37d I64AtomicRmw16XorU "i64.atomic.rmw16.xor_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it ^= c";
    0x37e I64AtomicRmw32XorU "i64.atomic.rmw32.xor_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it ^= c";
    0x380 I32AtomicRmwXchg "i32.atomic.rmw.xchg" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it becomes c";
    0x381 I64AtomicRmwXchg "i64.atomic.rmw.xchg" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u64 at b + d in memory e, then it becomes c";
    0x382 I32AtomicRmw8XchgU "i32.atomic.rmw8.xchg_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it becomes c";
    0x383 I32AtomicRmw16XchgU "i32.atomic.rmw16.xchg_u" [DI32, ADDR, I32, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it becomes c";
    0x384 I64AtomicRmw8XchgU "i64.atomic.rmw8.xchg_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u8 at b + d in memory e, then it becomes c";
    0x385 I64AtomicRmw16XchgU "i64.atomic.rmw16.xchg_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u16 at b + d in memory e, then it becomes c";
    0x386 I64AtomicRmw32XchgU "i64.atomic.rmw32.xchg_u" [DI64, ADDR, I64, FAR, MEMORY] Access Atomics "a = u32 at b + d in memory e, then it becomes c";
    0x388 I32AtomicRmwCmpxchg "i32.atomic.rmw.cmpxchg" [DI32, ADDR, I32, FAR, I32, MEMORY] Access Atomics "a = u32 at b + d in memory f; if it was c it becomes e";
    0x389 I64AtomicRmwCmpxchg "i64.atomic.rmw.cmpxchg" [DI64, ADDR, I64, FAR, I64, MEMORY] Access Atomics "a = u64 at b + d in memory f; if it was c it becomes e";
    0x38a I32AtomicRmw8CmpxchgU "i32.atomic.rmw8.cmpxchg_u" [DI32, ADDR, I32, FAR, I32, MEMORY] Access Atomics "a = u8 at b + d in memory f; if it was c it becomes e";
    0x38b I32AtomicRmw16CmpxchgU "i32.atomic.rmw16.cmpxchg_u" [DI32, ADDR, I32, FAR, I32, MEMORY] Access Atomics "a = u16 at b + d in memory f; if it was c it becomes e";
    0x38c I64AtomicRmw8CmpxchgU "i64.atomic.rmw8.cmpxchg_u" [DI64, ADDR, I64, FAR, I64, MEMORY] Access Atomics "a = u8 at b + d in memory f; if it was c it becomes e";
    0x38d I64AtomicRmw16CmpxchgU "i64.atomic.rmw16.cmpxchg_u" [DI64, ADDR, I64, FAR, I64, MEMORY] Access Atomics "a = u16 at b + d in memory f; if it was c it becomes e";
    0x38e I64AtomicRmw32CmpxchgU "i64.atomic.rmw32.cmpxchg_u" [DI64, ADDR, I64, FAR, I64, MEMORY] Access Atomics "a = u32 at b + d in memory f; if it was c it becomes e";
}

/// The numbers are kept close together, because the kernel has jump tables over them.
pub const MAX_NUMBER: usize = 0x39f;

/// For each number, 1 + the row that has it, or 0.
const ROW_OF_NUMBER: [u16; MAX_NUMBER + 1] = {
    let mut rows = [0; MAX_NUMBER + 1];
    let mut i = 0;
    while i < TABLE.len() {
        let number = TABLE[i].op as usize;
        assert!(rows[number] == 0, "an opcode number is used twice");
        rows[number] = i as u16 + 1;
        // Evaluated for its assertion: every row fits in three words.
        TABLE[i].words();
        i += 1;
    }
    rows
};

/// Per row: words that it takes. Kept apart because encoding and decoding ask for it all the time.
const WORDS: [u8; TABLE.len()] = {
    let mut words = [0; TABLE.len()];
    let mut i = 0;
    while i < TABLE.len() {
        words[i] = TABLE[i].words() as u8;
        i += 1;
    }
    words
};

impl Op {
    /// The opcode with this number.
    pub fn from_number(number: u16) -> Option<Op> {
        let row = *ROW_OF_NUMBER.get(number as usize)?;
        Some(TABLE.get((row as usize).checked_sub(1)?)?.op)
    }

    fn row(self) -> usize {
        ROW_OF_NUMBER[self as usize] as usize - 1
    }

    /// The opcode's row.
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self.row()]
    }

    /// Words that the instruction takes, without `br_table`'s offsets.
    pub fn words(self) -> usize {
        WORDS[self.row()] as usize
    }

    /// The part of the kernel that executes it.
    pub fn handler(self) -> Handler {
        self.info().handler
    }

    /// Whether it is one of the debug opcodes, which `--no-debug` leaves out.
    pub fn is_debug(self) -> bool {
        self.handler() == Handler::Debug
    }

    /// The opcode that modules import from `gpu_run_v1` under this name.
    pub fn gpu_op(name: &str) -> Option<&'static OpInfo> {
        TABLE.iter().find(|info| info.name == name && info.op.is_importable())
    }

    /// Whether modules may import the opcode. These are those of class [`Class::Gpu`], and those of
    /// WebAssembly's own instructions that a compiler may have no way to ask for. The latter are
    /// atomics, in builds without the feature, on memory 0 without an offset. Then there are the
    /// float functions that Rust's `core` lacks, and steps of calculation with 128 bits.
    pub fn is_importable(self) -> bool {
        let number = self as u16;
        let atomic = (Op::I32AtomicLoad as u16..=Op::I64AtomicRmw32CmpxchgU as u16).contains(&number);
        let float = matches!(
            self,
            Op::F32Sqrt
                | Op::F32Ceil
                | Op::F32Floor
                | Op::F32Trunc
                | Op::F32Nearest
                | Op::F64Sqrt
                | Op::F64Ceil
                | Op::F64Floor
                | Op::F64Trunc
                | Op::F64Nearest
        );
        let wide = matches!(self, Op::I64MulHiU | Op::I64DivWideU);
        self.info().class == Class::Gpu || atomic || float || wide
    }

    /// Whether an importable opcode works on memory 0, by addresses of 32 bits. One that does is sound only
    /// where there is a memory 0, and its addresses have 32 bits.
    pub fn needs_memory0(self) -> bool {
        let info = self.info();
        if info.class != Class::Gpu {
            return info.operands.contains(&Operand::Address);
        }
        let no_address = matches!(
            self,
            Op::Gid
                | Op::Time
                | Op::ThreadCount
                | Op::ThreadSpawn
                | Op::StackLimit
                | Op::WallTime
                | Op::Sleep
                | Op::Meet
                | Op::Exit
                | Op::PanicExit
                | Op::PrintEnd
                | Op::InSize
                | Op::OutSize
                | Op::FrameSize
                | Op::SetPixel
        ) || self.is_debug() && !matches!(self, Op::DbgStr | Op::DbgLevel);
        !no_address
    }
}

/// Why a module or a program stops without ending. The numbers are shared with the kernel.
macro_rules! traps {
    ($($number:literal $kind:ident $text:literal;)*) => {
        /// Why a thread stopped. The texts are those of the specification where it has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum TrapKind {
            $(#[doc = $text] $kind = $number,)*
        }

        impl TrapKind {
            /// Every kind, with its name.
            pub const ALL: &[(TrapKind, &str)] = &[$((TrapKind::$kind, stringify!($kind)),)*];

            /// The kind with this number.
            pub fn from_number(number: u16) -> Option<TrapKind> {
                match number { $($number => Some(TrapKind::$kind),)* _ => None }
            }

            /// Whether it is about a block of the heap.
            pub fn is_of_heap(self) -> bool {
                matches!(
                    self,
                    TrapKind::HeapForeignAddress
                        | TrapKind::HeapFreedTwice
                        | TrapKind::HeapWrongSize
                        | TrapKind::HeapWrongAlign
                        | TrapKind::HeapUnderrun
                        | TrapKind::HeapOverrun
                        | TrapKind::HeapWrittenAfterFree
                )
            }

            /// Message for the user.
            pub fn text(self) -> &'static str {
                match self { $(TrapKind::$kind => $text,)* }
            }
        }
    };
}

traps! {
    1 Unreachable "unreachable";
    2 MemoryOutOfBounds "out of bounds memory access";
    3 TableOutOfBounds "out of bounds table access";
    4 UndefinedElement "undefined element";
    5 UninitializedElement "uninitialized element";
    6 IndirectCallTypeMismatch "indirect call type mismatch";
    7 IntegerDivideByZero "integer divide by zero";
    8 IntegerOverflow "integer overflow";
    9 InvalidConversion "invalid conversion to integer";
    10 StackOverflow "call stack exhausted";
    11 ThreadStackOverflow "stack overflow: the thread's stack in linear memory is exhausted";
    12 HeapCorrupted "the heap's records contradict each other: threads freed what they do not own at the same time";
    13 BadOpcode "opcode unknown to this kernel";
    14 OutOfRegisterMemory "no device memory left for call frames";
    15 UnalignedAtomic "unaligned atomic";
    16 NotShared "expected shared memory";
    17 UnhandledException "unhandled exception";
    18 NullExceptionReference "null exception reference";
    19 TooManyExceptions "no device memory left for exceptions";
    20 UnalignedPointer "unaligned pointer";
    21 Deadlock "deadlock: every thread waits, and none is left to wake another";
    22 OutOfFuel "out of fuel";
    30 HeapForeignAddress "the heap was given an address at which it has no block";
    31 HeapFreedTwice "the heap was given a block that had been freed";
    32 HeapWrongSize "the heap was given a block with another size than it has";
    33 HeapOverrun "bytes behind a block of the heap were written";
    34 HeapWrittenAfterFree "a block of the heap was written after it had been freed";
    35 HeapUnderrun "bytes in front of a block of the heap were written";
    36 HeapWrongAlign "the heap was given a block with another alignment than it was asked for";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that may never mean anything else.
    #[test]
    fn fixed_numbers() {
        let fixed = [
            (0x50, "gid"),
            (0x51, "time"),
            (0x52, "st_out"),
            (0x53, "ld_in"),
            (0x54, "atomic_add"),
            (0x60, "alloc"),
            (0x61, "dealloc"),
            (0x62, "realloc"),
            (0x63, "alloc_zero"),
            (0x70, "dbg_i32"),
            (0x71, "dbg_f32"),
            (0x72, "dbg_str"),
            (0x73, "dbg_bool"),
            (0x74, "dbg_nl"),
            (0x75, "dbg_flush"),
            (0x80, "work_push"),
            (0x81, "work_pop"),
            (0x82, "barrier"),
            (0x83, "atomic_inc"),
            (0x84, "atomic_dec"),
            (0x85, "atomic_cas"),
            (0x86, "request_queue"),
            (0x87, "request_poll"),
            (0x88, "frame_wait"),
            (0x89, "spinlock"),
            (0x8a, "spinunlock"),
        ];
        for info in TABLE {
            let by_number = fixed.iter().find(|(number, _)| *number == info.op as u16);
            let by_name = fixed.iter().find(|(_, name)| *name == info.name);
            assert_eq!(by_number.map(|f| f.1), by_name.map(|f| f.1), "{info:?}");
        }
    }

    #[test]
    fn debug_opcodes_are_those_with_the_name() {
        for info in TABLE {
            assert_eq!(info.op.is_debug(), info.name.starts_with("dbg_"), "{}", info.name);
        }
    }

    #[test]
    fn rows_are_sorted_and_names_unique() {
        assert!(TABLE.windows(2).all(|pair| pair[0].op < pair[1].op));
        let mut names: Vec<_> = TABLE.iter().map(|info| info.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
