//! From the module form to bytecode: stack code becomes register code.
//!
//! In: a module. Out: a program. In the order in which to read them:
//!
//! - `declarations`: what the module declares beside code;
//! - `function`: walks a function's instructions with an emulated operand `stack`. Its entries may still be locals or
//!   constants, so that only computing instructions are emitted. `registers` says where its values are;
//! - `ops`: which opcode an instruction becomes; `pairs` which two become one;
//! - `control`: blocks and branches; `branch` fuses comparisons with them; `fuel` is what passes of loops cost;
//! - `calls`, `wasi_calls`: calls of functions and of the host;
//! - `memory`, `atomics`, `simd`: what works on memories and tables, atomic instructions, 128-bit values;
//! - `exceptions`: the exception table;
//! - `emit`: writes words and fixes branch distances.

mod atomics;
mod branch;
mod calls;
mod control;
mod declarations;
mod emit;
mod exceptions;
mod fuel;
mod function;
mod memory;
mod ops;
mod pairs;
mod registers;
mod simd;
mod stack;
mod wasi_calls;

use std::borrow::Cow;

pub use declarations::{GPU_MODULE, OLD_WASI, WASI_SPAWN, gpu_signature};
use emit::Emitter;
use function::Lowering;
use gpu_run_bytecode::{
    FuncType, Function, InlineSite, MemoryType, Meta, Op, Program, THREAD_START, TableType, ValType, wasi,
};
use rustc_hash::FxHashMap;
use wasmparser::{AbstractHeapType, HeapType};

use crate::module::{Module, Origin};

/// Why a valid module cannot become a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerErrorKind {
    /// Something that this version does not run.
    #[error("{what} is not supported yet")]
    Unsupported {
        /// What it is.
        what: String,
    },
    /// A function with more values at once than instructions can name.
    #[error("the function needs {units} register units, more than the 65535 that instructions can name")]
    TooManyRegisters {
        /// Units of 4 bytes.
        units: u32,
    },
    /// An import from `gpu_run_v1` that is no opcode, or has another type.
    #[error("import `gpu_run_v1.{name}` with type {found}: {what}")]
    GpuImport {
        /// Import name.
        name: String,
        /// Its type in the module.
        found: String,
        /// What is wrong.
        what: String,
    },
    /// An import of WASI or of the network that is no function of it, or has another type.
    #[error("import `{import}` with type {found}: {what}")]
    HostImport {
        /// Module and name.
        import: String,
        /// Its type in the module.
        found: String,
        /// What is wrong.
        what: String,
    },
    /// An import of a WASI before preview 1.
    #[error("import `{OLD_WASI}.{name}`: this WASI is older than the one that gpu-run provides")]
    OldWasi {
        /// Import name.
        name: String,
    },
    /// Threads are spawned, but the function that they begin with is not exported.
    #[error(
        "the module spawns threads, but exports no function `{THREAD_START}` of type (i32, i32) -> () for them to begin with"
    )]
    NoThreadStart,
    /// Threads are spawned, but have no memory that they could share.
    #[error("the module spawns threads, but its memory 0 is not a shared one")]
    NoSharedMemory,
    /// A GPU opcode used as a value or export.
    #[error("`gpu_run_v1.{name}` is an instruction: it can be called, but not exported or referred to")]
    GpuReference {
        /// Import name.
        name: String,
    },
    /// A call of a GPU opcode that works on a memory which the module does not have.
    #[error("`gpu_run_v1.{name}` needs a memory 0 with 32-bit addresses, and {found}")]
    GpuMemory {
        /// Import name.
        name: String,
        /// What the module has instead.
        found: &'static str,
    },
    /// A function too long for 32-bit distances, or a program with too much code.
    #[error("the module's code is too large")]
    TooLarge,
}

/// An error of lowering, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct LowerError {
    /// What is wrong.
    pub kind: LowerErrorKind,
    /// Readable name of the function, where it is in one.
    pub function: Option<String>,
    /// Offset in the user's file, where it has one.
    pub offset: Option<u32>,
}

impl LowerError {
    fn new(kind: LowerErrorKind) -> LowerError {
        LowerError {
            kind,
            function: None,
            offset: None,
        }
    }
}

/// What a call of a function index means.
enum Target {
    /// A GPU opcode.
    Gpu(Op),
    /// A function of WASI: two instructions. Where it is used as a value, function `wrapper` (imports first)
    /// of the program has them.
    Wasi {
        function: wasi::Function,
        wrapper: Option<u32>,
    },
    /// Import number `index` of the program.
    Import { index: u32, ty: FuncType },
    /// Function `index` (imports first) of the program.
    Defined { index: u32, ty: FuncType },
}

/// What lowering a function needs to know of the module.
struct Context<'c> {
    types: &'c [FuncType],
    targets: &'c [Target],
    /// Value type of each global.
    globals: &'c [ValType],
    /// For an immutable global whose value is known: type and bits.
    constant_globals: &'c [Option<(ValType, u128)>],
    tables: &'c [TableType],
    memories: &'c [MemoryType],
    /// Type of each tag.
    tags: &'c [FuncType],
    stack_pointer: Option<u32>,
    /// The global that counts fuel down.
    fuel: Option<u32>,
}

impl Context<'_> {
    /// Program index of a function that is used as a value.
    fn func(&self, index: u32) -> Result<u32, LowerErrorKind> {
        func_index(self.targets, index)
    }
}

fn func_index(targets: &[Target], index: u32) -> Result<u32, LowerErrorKind> {
    match &targets[index as usize] {
        Target::Gpu(op) => Err(LowerErrorKind::GpuReference {
            name: op.info().name.to_owned(),
        }),
        Target::Wasi { wrapper, .. } => Ok(wrapper.expect("declared as a value, as validation wants it")),
        Target::Import { index, .. } | Target::Defined { index, .. } => Ok(*index),
    }
}

/// The bytecode's value type, if it has it.
fn val_type(ty: wasmparser::ValType) -> Result<ValType, LowerErrorKind> {
    Ok(match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        wasmparser::ValType::F64 => ValType::F64,
        wasmparser::ValType::V128 => ValType::V128,
        wasmparser::ValType::Ref(ty) => {
            return ref_type(ty.heap_type()).ok_or_else(|| LowerErrorKind::Unsupported {
                what: format!("value type `{ty}`"),
            });
        }
    })
}

/// The reference type of a heap type, if the bytecode has it.
fn ref_type(ty: HeapType) -> Option<ValType> {
    let HeapType::Abstract { shared: false, ty } = ty else {
        return None;
    };
    match ty {
        AbstractHeapType::Func | AbstractHeapType::NoFunc => Some(ValType::FuncRef),
        AbstractHeapType::Extern | AbstractHeapType::NoExtern => Some(ValType::ExternRef),
        AbstractHeapType::Exn | AbstractHeapType::NoExn => Some(ValType::ExnRef),
        _ => None,
    }
}

/// Lowers a module; with `fuel`, threads have so much: see [`Options::fuel`](crate::Options::fuel).
pub fn lower(module: &Module<'_>, fuel: Option<u64>) -> Result<Program, LowerError> {
    let mut program = Program::default();
    let targets = declarations::lower(module, &mut program).map_err(LowerError::new)?;
    let fuel = fuel.map(|units| declarations::add_fuel(&mut program.meta, units));
    let meta = &program.meta;
    let globals: Vec<ValType> = meta.global_types().iter().map(|global| global.ty).collect();
    let (tables, memories) = (meta.table_types(), meta.memory_types());
    let tags: Vec<FuncType> = meta
        .tag_types()
        .iter()
        .map(|ty| meta.types[*ty as usize].clone())
        .collect();
    let constant_globals = declarations::constant_globals(meta);
    let context = Context {
        types: &meta.types,
        targets: &targets,
        globals: &globals,
        constant_globals: &constant_globals,
        tables: &tables,
        memories: &memories,
        tags: &tags,
        stack_pointer: meta.stack_pointer,
        fuel,
    };
    let imported = meta.imported_funcs();
    let cost: usize = module.funcs.iter().map(|func| func.summary().cost as usize).sum();
    let mut functions: Vec<Function> = Vec::with_capacity(module.funcs.len());
    let mut max_frame = 0;
    let mut lowering = Lowering::new(&context, Emitter::new(cost * 3 / 2, cost));
    for (i, func) in module.funcs.iter().enumerate() {
        let start = lowering.emitter.code.len() as u32;
        let lowered = lowering.lower(func).map_err(|(kind, origin)| LowerError {
            kind,
            function: Some(module.func_display_name((module.imported_funcs.len() + i) as u32)),
            offset: (origin.offset != Origin::SYNTHETIC).then_some(origin.offset),
        })?;
        let mut callees: Vec<u32> = lowered.calls.iter().map(|(_, callee)| *callee).collect();
        callees.sort_unstable();
        callees.dedup();
        max_frame = max_frame.max(lowered.frame);
        let tries = lowered.tries;
        let end = lowering.emitter.code.len();
        if end > i32::MAX as usize {
            return Err(LowerError::new(LowerErrorKind::TooLarge));
        }
        functions.push(Function {
            ty: func.ty,
            start,
            end: end as u32,
            calls: callees,
            tries,
        });
    }
    wasi_calls::wrappers(
        &targets,
        &context,
        &mut lowering.emitter,
        &mut functions,
        &mut max_frame,
    );
    let Lowering { emitter, calls, .. } = lowering;
    let Emitter { mut code, places, .. } = emitter;
    for (at, callee) in calls {
        let distance = functions[(callee - imported) as usize].start as i64 - at as i64;
        code[at as usize] |= (distance as u32 as u64) << 32;
    }
    program.meta.functions = functions;
    program.meta.max_frame = max_frame;
    program.code = code;
    program.source_map = places;
    inline_sites(module, &mut program.meta);
    Ok(program)
}

/// Carries the chains of inlined calls over; names of functions that are gone are added.
fn inline_sites(module: &Module<'_>, meta: &mut Meta) {
    let mut names = std::mem::take(&mut meta.names);
    let mut indices: FxHashMap<Cow<'_, str>, u32> = FxHashMap::default();
    for (index, name) in names.iter().enumerate() {
        indices.entry(Cow::Borrowed(name)).or_insert(index as u32);
    }
    let mut added: Vec<String> = Vec::new();
    // Found once for each callee: there are far more calls.
    let mut callee_names: FxHashMap<u32, u32> = FxHashMap::default();
    for site in &module.inline_sites {
        let callee_name = *callee_names.entry(site.callee).or_insert_with(|| {
            let next = (names.len() + added.len()) as u32;
            *indices
                .entry(module.original_name(site.callee))
                .or_insert_with_key(|name| {
                    added.push(name.clone().into_owned());
                    next
                })
        });
        meta.inline_sites.push(InlineSite {
            callee_name,
            call_offset: site.call.offset,
            parent: site.call.site,
        });
    }
    drop(indices);
    names.append(&mut added);
    meta.names = names;
}
