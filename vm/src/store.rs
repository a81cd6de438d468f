//! A store: what the instances of programs share on one device, as the specification has it.
//!
//! Functions, tables, memories and globals have store-wide numbers, the addresses of the
//! WebAssembly specification. An instance's record on the device translates its own indices into
//! them, so that modules link by numbers alone.
//!
//! In: verified programs and a device. Out: instances, and an outcome of each run. In the order in which to read them:
//!
//! - `instantiate`: a program becomes an instance; `compiled`: the same with compiled code;
//! - `run`: runs one function on many threads; `batch`: many short calls one after another; `processes`: one program again
//!   and again, each time as a process of its own;
//! - `io`: input, output and frame of a run;
//! - `requests`: what a run needs so that guests can call the host; `tmpfs`: device memory for files;
//! - `debug`: debug messages of a run; `waits`: whether threads may wait for each other; `tasks`: counters of their tasks;
//! - `heap`: what the heap needs beside linear memory; `damage`, `leaks`: what its checks find after a run.

mod batch;
mod compiled;
mod counts;
mod damage;
mod debug;
mod heap;
mod instantiate;
mod io;
mod leaks;
mod memory;
mod processes;
mod requests;
mod run;
mod samples;
mod snapshot;
mod tasks;
mod tmpfs;
mod visits;
mod waits;

use gpu_run_bytecode::{FuncType, GlobalType, MemoryType, Program, TableType, TrapKind, ValType};
use indexmap::IndexSet;

use crate::device::Target;
use crate::device::{CODE_LINE, Device, DeviceError, DeviceResult};
use crate::fault::Fault;
use crate::layout::{self, Ptr};
use crate::stands::Stands;

pub use batch::Call;
pub use compiled::Instantiated;
pub use heap::{ClassStats, HeapChecks, HeapStats, MemoryUse, allocates, grows_by_heap};
pub use io::FrameSize;
pub use leaks::Leak;
pub use processes::{
    BatchCounts, BatchOptions, BatchProgram, BatchRefused, MakeServices, NextInput, ProcessInput, ProcessOutcome,
};
pub use requests::makes_requests;
pub use run::{
    End, MOST_SPAWNED, MemoryVitals, Next, Outcome, RunOptions, Running, Shares, Sink, Spawned, Stream, ThreadStates,
    Tier, Tiered, Vitals,
};
pub use snapshot::SnapshotError;
pub use tasks::TaskStats;
pub(crate) use waits::{has_meetings, is_atomic};
pub use waits::{may_meet, threads_may_wait};

/// A WebAssembly value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64.
    F64(u64),
    /// Bits of a v128, lane 0 lowest.
    V128(u128),
    /// A reference to a function of the store, or null.
    FuncRef(Option<u32>),
    /// A number of the host's, or null.
    ExternRef(Option<u32>),
    /// A reference to an exception of the store, or null.
    ExnRef(Option<u32>),
}

impl Value {
    /// Its type.
    pub fn ty(self) -> ValType {
        match self {
            Value::I32(_) => ValType::I32,
            Value::I64(_) => ValType::I64,
            Value::F32(_) => ValType::F32,
            Value::F64(_) => ValType::F64,
            Value::V128(_) => ValType::V128,
            Value::FuncRef(_) => ValType::FuncRef,
            Value::ExternRef(_) => ValType::ExternRef,
            Value::ExnRef(_) => ValType::ExnRef,
        }
    }

    /// Its bits; a reference to n is n + 1 and null is 0.
    pub fn bits(self) -> u128 {
        match self {
            Value::I32(value) => value as u32 as u128,
            Value::I64(value) => value as u64 as u128,
            Value::F32(bits) => bits as u128,
            Value::F64(bits) => bits as u128,
            Value::V128(bits) => bits,
            Value::FuncRef(index) | Value::ExternRef(index) | Value::ExnRef(index) => {
                index.map_or(0, |index| index as u128 + 1)
            }
        }
    }

    /// The value of a type with these bits.
    pub fn from_bits(ty: ValType, bits: u128) -> Value {
        match ty {
            ValType::I32 => Value::I32(bits as i32),
            ValType::I64 => Value::I64(bits as i64),
            ValType::F32 => Value::F32(bits as u32),
            ValType::F64 => Value::F64(bits as u64),
            ValType::V128 => Value::V128(bits),
            ValType::FuncRef => Value::FuncRef((bits as u32).checked_sub(1)),
            ValType::ExternRef => Value::ExternRef((bits as u32).checked_sub(1)),
            ValType::ExnRef => Value::ExnRef((bits as u32).checked_sub(1)),
        }
    }
}

/// Something of the store that instances import and export, by store-wide number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Extern {
    Func(u32),
    Table(u32),
    Memory(u32),
    Global(u32),
    Tag(u32),
}

/// An instance's number in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InstanceId(u32);

/// Why a program was not instantiated or a function not run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Nothing was given for an import.
    #[error("unknown import `{module}.{name}`")]
    UnknownImport {
        /// Module name.
        module: String,
        /// Field name.
        name: String,
    },
    /// What was given for an import has another type.
    #[error("incompatible import type for `{module}.{name}`: {what}")]
    IncompatibleImport {
        /// Module name.
        module: String,
        /// Field name.
        name: String,
        /// What differs.
        what: String,
    },
    /// An active segment does not fit, or the start function trapped.
    #[error("{}", .0.kind.text())]
    Trap(Box<Fault>),
    /// A memory declares more than the limit allows.
    #[error("the module declares a memory of {declared} bytes, more than the limit of {limit}")]
    MemoryTooLarge {
        /// Bytes declared.
        declared: u64,
        /// The limit.
        limit: u64,
    },
    /// A table declares more than the limit allows.
    #[error("the module declares a table of {declared} elements, more than the limit of {limit}")]
    TableTooLarge {
        /// Elements declared.
        declared: u64,
        /// The limit.
        limit: u32,
    },
    /// The memory cannot grow enough for the threads' stacks.
    #[error("the threads' stacks need {needed} bytes of linear memory, but it has {size} and can grow to {limit}")]
    NoRoomForStacks {
        /// Bytes of all stacks.
        needed: u64,
        /// Size of the memory.
        size: u64,
        /// The size that it cannot exceed.
        limit: u64,
    },
    /// Several threads for a module that does not say how large their thread-local storage is.
    #[error("the module has thread-local storage, but does not tell the size that each thread needs")]
    UnknownThreadLocals,
    /// Arguments that do not fit the function's type.
    #[error("arguments of types {found} for a function of type {wanted}")]
    Arguments {
        /// The function's type.
        wanted: FuncType,
        /// The arguments' types, with the function's results.
        found: FuncType,
    },
    /// The program cannot be run as a batch.
    #[error(transparent)]
    Batch(#[from] BatchRefused),
    /// The start function ended the process.
    #[error("the start function ended the process")]
    Ended(Box<End>),
}

/// Bytes that a memory without a declared maximum may have, if no limit is set.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

/// Bytes after a memory's last one that are allocated too: compiled code may load the word that follows a value.
const BEYOND_MEMORY: u64 = 8;

/// Exceptions (and further pieces of large ones) to which references may exist at once in a store.
const EXCEPTIONS: u32 = 65536;

/// Limits of a store.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes that a memory may have; `None` is what it declares.
    pub memory: Option<u64>,
    /// Bytes that a memory may have that declares no maximum, if `memory` sets none.
    pub undeclared_memory: u64,
    /// Elements that a table may grow to.
    pub table: u32,
    /// Calls that may be open at once in a thread.
    pub call_depth: u32,
    /// Bytes of register segments beyond the lanes' own.
    pub register_arena: u64,
    /// What heaps look at.
    pub heap: HeapChecks,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: None,
            undeclared_memory: DEFAULT_MEMORY,
            table: 10_000_000,
            call_depth: 100_000,
            register_arena: 256 << 20,
            heap: HeapChecks::NONE,
        }
    }
}

/// What the array of code is called.
const CODE: &str = "code";

/// An array on the device that grows.
struct Array {
    ptr: Ptr,
    len: u64,
    capacity: u64,
    what: &'static str,
}

impl Array {
    fn new(what: &'static str) -> Array {
        Array {
            ptr: 0,
            len: 0,
            capacity: 0,
            what,
        }
    }

    /// Appends bytes and returns their offset. The array may move: only between launches.
    fn push(&mut self, device: &mut dyn Device, bytes: &[u8]) -> DeviceResult<u64> {
        let end = self.len + bytes.len() as u64;
        if bytes.is_empty() {
            return Ok(end);
        }
        if end > self.capacity {
            let capacity = (end * 2).max(4096);
            let ptr = match self.what {
                CODE => device.allocate_code(capacity)?,
                what => device.allocate(capacity, what)?,
            };
            let mut old = vec![0; self.len as usize];
            // SAFETY: both are this array's, and no kernel runs while the store is borrowed.
            unsafe {
                if self.ptr != 0 {
                    device.read(self.ptr, &mut old)?;
                    device.write(ptr, &old)?;
                    device.release(self.ptr);
                }
            }
            (self.ptr, self.capacity) = (ptr, capacity);
        }
        // SAFETY: the range lies in the array's allocation.
        unsafe { device.write(self.ptr + self.len, bytes)? };
        Ok(std::mem::replace(&mut self.len, end))
    }
}

/// Memory for records, which live as long as the store. It is cut from large pieces, because a
/// store has many small ones and the device takes long for each allocation.
struct Records {
    next: Ptr,
    left: u64,
}

impl Records {
    const PIECE: u64 = 1 << 20;

    fn allocate(&mut self, device: &mut dyn Device, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        // Aligned for every record; never empty, so that each has an address of its own.
        let bytes = bytes.max(1).next_multiple_of(16);
        if bytes > Records::PIECE / 4 {
            return device.allocate(bytes, what);
        }
        if bytes > self.left {
            self.next = device.allocate(Records::PIECE, "records")?;
            self.left = Records::PIECE;
        }
        self.left -= bytes;
        let at = self.next;
        self.next += bytes;
        Ok(at)
    }
}

struct FuncInfo {
    ty: FuncType,
    /// What stands in the function table on the device.
    func: layout::Func,
}

/// Where the slabs of lanes are recorded; all 0 if they have none. See `kernel/heap/lane_heap.h`.
#[derive(Clone, Copy, Default)]
struct LaneHeaps {
    lists: Ptr,
    slabs: Ptr,
    lanes: u32,
    records: u32,
}

struct MemoryInfo {
    ty: MemoryType,
    record: Ptr,
    /// What lanes have of its heap.
    lanes: LaneHeaps,
    /// The pages in which the threads of its last run have what is theirs, if there were several.
    places: std::ops::Range<u64>,
}

struct TableInfo {
    ty: TableType,
    record: Ptr,
}

struct GlobalInfo {
    ty: GlobalType,
    /// Its slot of 8 bytes in the block of globals; a v128 has two.
    slot: u32,
}

impl GlobalInfo {
    /// Bytes of its value in the block.
    fn bytes(&self) -> usize {
        if self.ty.ty == ValType::V128 { 16 } else { 8 }
    }
}

struct InstanceInfo {
    program: std::sync::Arc<Program>,
    /// Word of the program's first instruction in the store's code.
    code_start: u32,
    funcs: Vec<u32>,
    tables: Vec<u32>,
    memories: Vec<u32>,
    globals: Vec<u32>,
    tags: Vec<u32>,
    /// What a new thread's thread-local storage holds.
    thread_locals: Vec<u8>,
    /// Its compiled code, if it has any.
    code: Option<compiled::CompiledCode>,
    /// The store's number of the function that new threads begin with, if the program spawns threads.
    thread_start: Option<u32>,
}

/// See the module's documentation.
pub struct Store {
    device: Box<dyn Device>,
    limits: Limits,
    code: Array,
    funcs: Array,
    instances: Array,
    globals: Array,
    try_functions: Array,
    tries: Array,
    clauses: Array,
    /// Record of the pool of exceptions.
    exceptions: Ptr,
    types: IndexSet<FuncType>,
    func_infos: Vec<FuncInfo>,
    memory_infos: Vec<MemoryInfo>,
    table_infos: Vec<TableInfo>,
    global_infos: Vec<GlobalInfo>,
    /// Types of the tags.
    tags: Vec<FuncType>,
    instance_infos: Vec<InstanceInfo>,
    max_frame: u32,
    /// Whether a program sends debug messages.
    sends_debug: bool,
    /// Whether a program has an instruction that waits at an address of a memory that is shared.
    waits: bool,
    /// Whether one has an instruction that waits at an address of any memory.
    waits_unshared: bool,
    /// The globals of all instances as the last one that spawns threads found them, before its start function ran.
    fresh_globals: Vec<u8>,
    records: Records,
    /// A memory of no pages, for instances without one.
    no_memory: Ptr,
    /// What compiled instances share.
    visits: visits::Visits,
    counting: counts::Counting,
    /// Whether heaps are looked at while they are used, and what has been seen.
    watches_heap: bool,
    heap_watch: Option<run::HeapWatch>,
    sampling: samples::Sampling,
    pointers: compiled::Pointers,
    run: run::Buffers,
    /// Of the last run, if the host has stopped it.
    stands: Stands,
    io: io::Bound,
}

impl Store {
    /// An empty store on a device.
    pub fn new(mut device: Box<dyn Device>, limits: Limits) -> DeviceResult<Store> {
        let run = run::Buffers::new(&mut *device, limits)?;
        let io = io::Bound::new(&mut *device)?;
        let no_memory = device.allocate(size_of::<layout::Memory>() as u64, "an empty memory")?;
        let mut store = Store {
            device,
            limits,
            code: Array::new(CODE),
            funcs: Array::new("the function table"),
            instances: Array::new("instances"),
            globals: Array::new("globals"),
            try_functions: Array::new("exception tables"),
            tries: Array::new("exception tables"),
            clauses: Array::new("exception tables"),
            exceptions: 0,
            types: IndexSet::new(),
            func_infos: Vec::new(),
            memory_infos: Vec::new(),
            table_infos: Vec::new(),
            global_infos: Vec::new(),
            tags: Vec::new(),
            instance_infos: Vec::new(),
            max_frame: 0,
            sends_debug: false,
            waits: false,
            waits_unshared: false,
            fresh_globals: Vec::new(),
            records: Records { next: 0, left: 0 },
            no_memory,
            pointers: compiled::Pointers::default(),
            visits: visits::Visits::default(),
            counting: counts::Counting::default(),
            watches_heap: false,
            heap_watch: None,
            sampling: samples::Sampling::default(),
            run,
            stands: Stands::default(),
            io,
        };
        // The words to which the outermost frames return.
        let mut words = [0u64; 3];
        words[layout::PC_BRIDGE_RETURN as usize] = gpu_run_bytecode::Op::BridgeReturn as u64;
        words[layout::PC_THREAD_END as usize] = gpu_run_bytecode::Op::ThreadEnd as u64;
        words[layout::PC_NATIVE_RETURN as usize] = gpu_run_bytecode::Op::NativeReturn as u64;
        store.push_code(&words)?;
        let pool = layout::Exceptions {
            chunks: store
                .device
                .allocate(EXCEPTIONS as u64 * size_of::<layout::Chunk>() as u64, "exceptions")?,
            free: 0,
            used: 0,
            capacity: EXCEPTIONS,
        };
        store.exceptions = store.place(&pool)?;
        Ok(store)
    }

    /// Whether heaps look for mistakes or leaks.
    pub fn checks_heap(&self) -> bool {
        self.limits.heap != HeapChecks::NONE
    }

    /// What programs are compiled for to run in this store; `None` where only the interpreter runs.
    pub fn target(&self) -> Option<Target> {
        self.device.target()
    }

    /// Adds code, in whole lines and with a word after it that the kernel may fetch; returns its first word.
    fn push_code(&mut self, code: &[u64]) -> DeviceResult<u32> {
        let line = CODE_LINE as usize / 8;
        let mut words = code.to_vec();
        words.resize((code.len() + 1).next_multiple_of(line), 0);
        let at = self.code.push(&mut *self.device, bytemuck::cast_slice(&words))?;
        Ok((at / 8) as u32)
    }

    /// The device's name.
    pub fn device_name(&self) -> String {
        self.device.name()
    }

    /// Adds a function that does nothing and has no results, of a type with the given parameters.
    pub fn add_no_op(&mut self, params: &[ValType]) -> DeviceResult<Extern> {
        let ty = FuncType {
            params: params.to_vec(),
            results: vec![],
        };
        let func = layout::Func {
            kind: layout::FUNC_NOTHING,
            instance: 0,
            pc: 0,
            type_index: self.intern(&ty),
        };
        self.add_func(func, ty).map(Extern::Func)
    }

    /// Adds a global.
    pub fn add_global(&mut self, ty: GlobalType, value: Value) -> DeviceResult<Extern> {
        self.push_global(ty, value.bits()).map(Extern::Global)
    }

    fn push_global(&mut self, ty: GlobalType, bits: u128) -> DeviceResult<u32> {
        let info = GlobalInfo {
            ty,
            slot: (self.globals.len / 8) as u32,
        };
        self.globals
            .push(&mut *self.device, &bits.to_le_bytes()[..info.bytes()])?;
        self.global_infos.push(info);
        Ok(self.global_infos.len() as u32 - 1)
    }

    /// Adds a table filled with null.
    pub fn add_table(&mut self, ty: TableType) -> Result<Extern, StoreError> {
        if ty.limits.min > self.limits.table as u64 {
            let (declared, limit) = (ty.limits.min, self.limits.table);
            return Err(StoreError::TableTooLarge { declared, limit });
        }
        let limit = ty.limits.max.unwrap_or(u64::MAX).min(self.limits.table as u64);
        let elements = self.device.allocate(limit * 4, "a table")?;
        let record = layout::Table {
            elements,
            size: ty.limits.min as u32,
            limit: limit as u32,
        };
        let record = self.place(&record)?;
        self.table_infos.push(TableInfo { ty, record });
        Ok(Extern::Table(self.table_infos.len() as u32 - 1))
    }

    /// Adds a memory of zeros.
    pub fn add_memory(&mut self, ty: MemoryType) -> Result<Extern, StoreError> {
        // 2^48 pages of a 64-bit memory are more bytes than 64 bits count.
        let size = ty.limits.min.saturating_mul(layout::PAGE);
        let declared = ty.limits.max.map(|max| max.saturating_mul(layout::PAGE));
        let limit = match (self.limits.memory, declared) {
            (Some(limit), declared) => declared.map_or(limit, |declared| declared.min(limit)),
            // A 64-bit memory may declare more than any machine has: that is no wish to have it.
            (None, Some(declared)) if ty.wide => declared.min(self.limits.undeclared_memory.max(size)),
            (None, Some(declared)) => declared,
            (None, None) => self.limits.undeclared_memory.max(size),
        };
        let limit = if ty.wide { limit } else { limit.min(1 << 32) };
        if size > limit {
            return Err(StoreError::MemoryTooLarge { declared: size, limit });
        }
        let device = &mut self.device;
        let mut allocate = |limit: u64| device.allocate_memory(limit.saturating_add(BEYOND_MEMORY), "linear memory");
        let (base, limit) = match allocate(limit) {
            Ok(base) => (base, limit),
            // The caller did not ask for that much.
            Err(_) if self.limits.memory.is_none() && declared.is_none() && limit > DEFAULT_MEMORY.max(size) => {
                let limit = DEFAULT_MEMORY.max(size);
                (allocate(limit)?, limit)
            }
            Err(error) => return Err(error.into()),
        };
        let record = layout::Memory {
            base,
            size,
            limit,
            wide: ty.wide as u32,
            shared: ty.shared as u32,
            heap: bytemuck::Zeroable::zeroed(),
            refused: 0,
        };
        let record = self.place(&record)?;
        let lanes = LaneHeaps::default();
        self.memory_infos.push(MemoryInfo {
            ty,
            record,
            lanes,
            places: 0..0,
        });
        Ok(Extern::Memory(self.memory_infos.len() as u32 - 1))
    }

    fn add_func(&mut self, func: layout::Func, ty: FuncType) -> DeviceResult<u32> {
        self.funcs.push(&mut *self.device, bytemuck::bytes_of(&func))?;
        self.func_infos.push(FuncInfo { ty, func });
        Ok(self.func_infos.len() as u32 - 1)
    }

    fn intern(&mut self, ty: &FuncType) -> u32 {
        match self.types.get_index_of(ty) {
            Some(index) => index as u32,
            None => self.types.insert_full(ty.clone()).0 as u32,
        }
    }

    /// A record in device memory of its own.
    fn place<T: bytemuck::Pod>(&mut self, record: &T) -> DeviceResult<Ptr> {
        self.place_all(std::slice::from_ref(record), "records")
    }

    fn place_all<T: bytemuck::Pod>(&mut self, items: &[T], what: &'static str) -> DeviceResult<Ptr> {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        let ptr = self.records.allocate(&mut *self.device, bytes.len() as u64, what)?;
        // SAFETY: just allocated with this size.
        unsafe { self.device.write(ptr, bytes)? };
        Ok(ptr)
    }

    fn fetch<T: bytemuck::Pod>(&mut self, at: Ptr) -> DeviceResult<T> {
        let mut value = T::zeroed();
        // SAFETY: callers pass records of the store, and no kernel runs while it is borrowed.
        unsafe { self.device.read(at, bytemuck::bytes_of_mut(&mut value))? };
        Ok(value)
    }

    /// Where the threads of the last run stood when its time was over or it was interrupted; empty after any other end.
    pub fn stands(&self) -> &Stands {
        &self.stands
    }

    /// What an instance exports under a name.
    pub fn export(&self, instance: InstanceId, name: &str) -> Option<Extern> {
        let info = &self.instance_infos[instance.0 as usize];
        let export = info.program.meta.export(name)?;
        Some(info.external(export.kind, export.index))
    }

    /// The program of an instance.
    pub fn program(&self, instance: InstanceId) -> &Program {
        &self.instance_infos[instance.0 as usize].program
    }

    /// Type of a function.
    pub fn func_type(&self, func: u32) -> &FuncType {
        &self.func_infos[func as usize].ty
    }

    /// Value of a global.
    pub fn global(&mut self, global: u32) -> DeviceResult<Value> {
        let info = &self.global_infos[global as usize];
        let (ty, at) = (info.ty.ty, self.globals.ptr + info.slot as u64 * 8);
        let mut bits = [0; 16];
        // SAFETY: a global of the block, and no kernel runs.
        unsafe { self.device.read(at, &mut bits[..info.bytes()])? };
        Ok(Value::from_bits(ty, u128::from_le_bytes(bits)))
    }

    fn trap(kind: TrapKind) -> StoreError {
        StoreError::Trap(Box::new(Fault::at_start(kind)))
    }
}

impl InstanceInfo {
    fn external(&self, kind: gpu_run_bytecode::ExternKind, index: u32) -> Extern {
        use gpu_run_bytecode::ExternKind;
        let index = index as usize;
        match kind {
            ExternKind::Func => Extern::Func(self.funcs[index]),
            ExternKind::Table => Extern::Table(self.tables[index]),
            ExternKind::Memory => Extern::Memory(self.memories[index]),
            ExternKind::Global => Extern::Global(self.globals[index]),
            ExternKind::Tag => Extern::Tag(self.tags[index]),
        }
    }
}
