//! A translated module.

use serde::{Deserialize, Serialize};

use crate::code::instructions;
use crate::isa::Op;
use crate::lines::{Lines, SourceFrame, SourceLine};

/// A WebAssembly value type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ValType {
    I32,
    I64,
    F32,
    F64,
    V128,
    FuncRef,
    ExternRef,
    ExnRef,
}

impl ValType {
    /// Units of 4 bytes that a value takes in a frame.
    pub fn units(self) -> u32 {
        match self {
            ValType::I32 | ValType::F32 | ValType::FuncRef | ValType::ExternRef | ValType::ExnRef => 1,
            ValType::I64 | ValType::F64 => 2,
            ValType::V128 => 4,
        }
    }

    /// Whether it is a reference type.
    pub fn is_ref(self) -> bool {
        matches!(self, ValType::FuncRef | ValType::ExternRef | ValType::ExnRef)
    }
}

impl std::fmt::Display for ValType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ValType::I32 => "i32",
            ValType::I64 => "i64",
            ValType::F32 => "f32",
            ValType::F64 => "f64",
            ValType::V128 => "v128",
            ValType::FuncRef => "funcref",
            ValType::ExternRef => "externref",
            ValType::ExnRef => "exnref",
        })
    }
}

/// A function type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct FuncType {
    /// Parameter types.
    pub params: Vec<ValType>,
    /// Result types.
    pub results: Vec<ValType>,
}

/// Units that values of these types take side by side.
pub fn units(types: &[ValType]) -> u32 {
    types.iter().map(|ty| ty.units()).sum()
}

impl FuncType {
    /// Units of the parameters.
    pub fn param_units(&self) -> u32 {
        units(&self.params)
    }

    /// Units of the results.
    pub fn result_units(&self) -> u32 {
        units(&self.results)
    }

    /// Unit of the frame header: parameters and results share the units below it.
    pub fn header(&self) -> u32 {
        self.param_units().max(self.result_units())
    }
}

impl std::fmt::Display for FuncType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |types: &[ValType]| types.iter().map(|ty| ty.to_string()).collect::<Vec<_>>().join(", ");
        write!(f, "({}) -> ({})", list(&self.params), list(&self.results))
    }
}

/// Units that a frame's header takes.
pub const HEADER_UNITS: u32 = 2;

/// Limits of a memory (in pages) or table (in elements).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Size at the start.
    pub min: u64,
    /// Largest size, if declared.
    pub max: Option<u64>,
}

/// Type of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// Limits in pages of 64 KiB.
    pub limits: Limits,
    /// Whether the memory is shared.
    pub shared: bool,
    /// Whether its addresses are i64 (memory64).
    pub wide: bool,
}

/// Type of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableType {
    /// Element type, a reference type.
    pub element: ValType,
    /// Limits in elements.
    pub limits: Limits,
    /// Whether its indices are i64 (memory64).
    pub wide: bool,
}

/// Type of a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalType {
    /// Value type.
    pub ty: ValType,
    /// Whether it can be set.
    pub mutable: bool,
}

impl GlobalType {
    /// Of a global that counts fuel.
    pub const FUEL: GlobalType = GlobalType {
        ty: ValType::I64,
        mutable: true,
    };
}

/// What an import or export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExternType {
    /// Function of type `types[.0]`.
    Func(u32),
    /// Table.
    Table(TableType),
    /// Memory.
    Memory(MemoryType),
    /// Global.
    Global(GlobalType),
    /// Tag whose values are the parameters of type `types[.0]`.
    Tag(u32),
}

/// Kind of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ExternKind {
    Func,
    Table,
    Memory,
    Global,
    Tag,
}

/// An import that is not a GPU opcode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Import {
    /// Module name.
    pub module: String,
    /// Field name.
    pub name: String,
    /// What it must be.
    pub ty: ExternType,
}

/// A function of the host's that a program calls by requests; see [`crate::wasi::host`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFunction {
    /// Module name of its import.
    pub module: String,
    /// Field name.
    pub name: String,
    /// Its type.
    pub ty: FuncType,
}

/// Prefix of the exports that are kernels: entries for many threads.
pub const KERNEL_PREFIX: &str = "gpu_run_v1.kernel.";

/// An export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: ExternKind,
    /// Index in that kind's index space.
    pub index: u32,
}

/// An instruction of a constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ConstOp {
    I32(i32),
    I64(i64),
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f64.
    F64(u64),
    V128(u128),
    GlobalGet(u32),
    RefNull,
    RefFunc(u32),
    I32Add,
    I32Sub,
    I32Mul,
    I64Add,
    I64Sub,
    I64Mul,
}

/// A constant expression.
pub type ConstExpr = Vec<ConstOp>;

/// A defined global.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Global {
    /// Type.
    pub ty: GlobalType,
    /// Initial value.
    pub init: ConstExpr,
}

/// A defined table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Type.
    pub ty: TableType,
    /// Initial value of every element; empty is null.
    pub init: ConstExpr,
}

/// How a segment is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SegmentMode {
    /// Copied at instantiation.
    Active {
        /// Memory or table.
        index: u32,
        /// Where to.
        offset: ConstExpr,
    },
    /// Copied by `memory.init` or `table.init`.
    Passive,
    /// Only declares functions.
    Declared,
}

/// A data segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// How it is used.
    pub mode: SegmentMode,
    /// Bytes.
    pub bytes: Vec<u8>,
}

/// An element segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// How it is used.
    pub mode: SegmentMode,
    /// Element type.
    pub ty: ValType,
    /// Items.
    pub items: Vec<ConstExpr>,
}

/// A defined function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Index into [`Meta::types`].
    pub ty: u32,
    /// Word index of its `enter`.
    pub start: u32,
    /// Word index after its last instruction.
    pub end: u32,
    /// Functions of the program that it calls directly, sorted (indices with imports first).
    pub calls: Vec<u32>,
    /// Its exception table: where exceptions are caught, inner ranges before outer ones.
    pub tries: Vec<Try>,
}

/// A range of code in which exceptions are caught.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Try {
    /// Word index of its first instruction.
    pub start: u32,
    /// Word index after its last instruction.
    pub end: u32,
    /// Its handlers: the first that fits catches. With none, what is thrown here leaves the function:
    /// a tail call, which runs outside of the handlers around it.
    pub clauses: Vec<Clause>,
}

/// A handler of exceptions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clause {
    /// The tag that it catches; `None` catches all.
    pub tag: Option<u32>,
    /// Whether a reference to the exception follows the values.
    pub reference: bool,
    /// Unit at which the exception's values and the reference go. With no tag there are no values.
    pub unit: u32,
    /// Word index of the instruction to go on with.
    pub target: u32,
}

/// Where the instructions from word `pc` on came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePlace {
    /// Word index of the first instruction.
    pub pc: u32,
    /// Offset in the wasm file, or `u32::MAX` for code that a pass made.
    pub offset: u32,
    /// Index into [`Meta::inline_sites`], or `u32::MAX`.
    pub site: u32,
}

/// An inlined call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineSite {
    /// Index into [`Meta::names`] of the function that was inlined.
    pub callee_name: u32,
    /// Offset of the replaced call in the wasm file.
    pub call_offset: u32,
    /// Site of the function in which the call stood, or `u32::MAX`.
    pub parent: u32,
}

/// A translated module: everything that an engine needs.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Code of all functions.
    pub code: Vec<u64>,
    /// The rest.
    pub meta: Meta,
    /// From code to the wasm file, sorted by `pc`. Read only when a fault is reported.
    pub source_map: Vec<SourcePlace>,
    /// Data segments.
    pub data: Vec<Data>,
    /// Lines of the user's sources, where the translator was asked for them. Read only when a
    /// fault is reported.
    pub lines: Lines,
}

/// Thread-local storage of compiled C and Rust, as the linker lays it out in modules for threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLocals {
    /// The global that holds the address of a thread's block.
    pub base: u32,
    /// Size of a block in bytes and its alignment, where the module tells them.
    pub block: Option<(u32, u32)>,
}

/// What a program declares.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Meta {
    /// Function types.
    pub types: Vec<FuncType>,
    /// Imports, GPU opcodes left out.
    pub imports: Vec<Import>,
    /// Imported functions that have become calls of the host, by the number that such a call has.
    pub host_functions: Vec<HostFunction>,
    /// Defined functions, in order of their code.
    pub functions: Vec<Function>,
    /// Defined tables.
    pub tables: Vec<Table>,
    /// Defined memories.
    pub memories: Vec<MemoryType>,
    /// Defined globals.
    pub globals: Vec<Global>,
    /// Type of each defined tag: its parameters are the exception's values.
    pub tags: Vec<u32>,
    /// Exports.
    pub exports: Vec<Export>,
    /// Start function.
    pub start: Option<u32>,
    /// Element segments.
    pub elements: Vec<Element>,
    /// Global that holds the stack pointer of compiled C and Rust, where it is known.
    pub stack_pointer: Option<u32>,
    /// Its thread-local storage, if it has any and is made for threads.
    pub thread_locals: Option<ThreadLocals>,
    /// Defined global that counts fuel down, if the program does: see `fuel`.
    pub fuel: Option<u32>,
    /// Readable names of functions, by function index.
    pub names: Vec<String>,
    /// Inlined calls.
    pub inline_sites: Vec<InlineSite>,
    /// Units of data that the largest frame needs.
    pub max_frame: u32,
}

impl Meta {
    /// Types of the imports of one kind, in order.
    fn imported<T>(&self, pick: impl Fn(&ExternType) -> Option<T>) -> Vec<T> {
        self.imports.iter().filter_map(|import| pick(&import.ty)).collect()
    }

    /// Units of fuel with which threads begin, if the program counts them.
    pub fn fuel_units(&self) -> Option<u64> {
        match self.globals.get(self.fuel? as usize)?.init[..] {
            [ConstOp::I64(units)] => Some(units as u64),
            _ => None,
        }
    }

    /// Has threads begin with so many. Returns whether the program counts them.
    pub fn set_fuel(&mut self, units: u64) -> bool {
        let Some(global) = self.fuel.and_then(|index| self.globals.get_mut(index as usize)) else {
            return false;
        };
        global.init = vec![ConstOp::I64(units as i64)];
        true
    }

    /// Type index of every function: imports first.
    pub fn func_types(&self) -> Vec<u32> {
        let mut all = self.imported(|ty| match ty {
            ExternType::Func(ty) => Some(*ty),
            _ => None,
        });
        all.extend(self.functions.iter().map(|f| f.ty));
        all
    }

    /// Functions (imports first) of which segments and initial values of globals and tables have references. Some come more
    /// than once.
    pub fn referenced_functions(&self) -> impl Iterator<Item = u32> + '_ {
        let constants = self.elements.iter().flat_map(|segment| segment.items.iter());
        let constants = constants.chain(self.globals.iter().map(|global| &global.init));
        let constants = constants.chain(self.tables.iter().map(|table| &table.init));
        constants.flatten().filter_map(|op| match op {
            ConstOp::RefFunc(index) => Some(*index),
            _ => None,
        })
    }

    /// Type of every global: imports first.
    pub fn global_types(&self) -> Vec<GlobalType> {
        let mut all = self.imported(|ty| match ty {
            ExternType::Global(ty) => Some(*ty),
            _ => None,
        });
        all.extend(self.globals.iter().map(|g| g.ty));
        all
    }

    /// Type of every table: imports first.
    pub fn table_types(&self) -> Vec<TableType> {
        let mut all = self.imported(|ty| match ty {
            ExternType::Table(ty) => Some(*ty),
            _ => None,
        });
        all.extend(self.tables.iter().map(|t| t.ty));
        all
    }

    /// Type of every memory: imports first.
    pub fn memory_types(&self) -> Vec<MemoryType> {
        let mut all = self.imported(|ty| match ty {
            ExternType::Memory(ty) => Some(*ty),
            _ => None,
        });
        all.extend(self.memories.iter().copied());
        all
    }

    /// Type of every tag: imports first.
    pub fn tag_types(&self) -> Vec<u32> {
        let mut all = self.imported(|ty| match ty {
            ExternType::Tag(ty) => Some(*ty),
            _ => None,
        });
        all.extend(&self.tags);
        all
    }

    /// Whether memory 0 is shared: the module is made for threads.
    pub fn is_threaded(&self) -> bool {
        self.memory_types().first().is_some_and(|memory| memory.shared)
    }

    /// Number of imported functions.
    pub fn imported_funcs(&self) -> u32 {
        self.func_types().len() as u32 - self.functions.len() as u32
    }

    /// The export of this name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }

    /// Name of function `index` for people.
    pub fn func_name(&self, index: u32) -> String {
        match self.names.get(index as usize) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("func[{index}]"),
        }
    }
}

/// A place in the user's module, innermost inlined function first when listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BacktraceFrame {
    /// Readable function name.
    pub function: String,
    /// Offset in the wasm file, if the code stands in it.
    pub offset: Option<u32>,
    /// Place in the user's sources, where it is known.
    pub line: Option<SourceLine>,
}

impl BacktraceFrame {
    /// This place with what `frames` tells of its offset, innermost first. Several frames are
    /// calls that the user's compiler inlined: a place for each of them.
    pub fn with_lines(self, frames: Vec<SourceFrame>) -> Vec<BacktraceFrame> {
        let own = frames.len().saturating_sub(1);
        if frames.is_empty() {
            return vec![self];
        }
        let places = frames.into_iter().enumerate().map(|(i, frame)| BacktraceFrame {
            // The outermost is the wasm function itself: its name there is the better one.
            function: match frame.function {
                Some(name) if i < own || self.function.starts_with("func[") => name,
                None if i < own => "(inlined)".to_owned(),
                _ => self.function.clone(),
            },
            offset: self.offset,
            line: frame.line,
        });
        places.collect()
    }
}

/// Name of the export that new threads begin with, as WASI's threads have it.
pub const THREAD_START: &str = "wasi_thread_start";

impl Program {
    /// The function (imports first) that new threads call, if the program spawns threads.
    pub fn thread_start(&self) -> Option<u32> {
        let export = self.meta.export(THREAD_START)?;
        let index = export.index;
        let is_defined = export.kind == ExternKind::Func && index >= self.meta.imported_funcs();
        let ty = is_defined.then(|| &self.meta.types[self.meta.func_types()[index as usize] as usize])?;
        let is_start = ty.params == [ValType::I32; 2] && ty.results.is_empty();
        let mut decoded = instructions(&self.code).filter_map(|(_, inst)| inst.ok());
        (is_start && decoded.any(|inst| inst.op == Op::ThreadSpawn)).then_some(index)
    }

    /// Units of the frame of function `function` (index among the defined ones).
    pub fn frame_units(&self, function: usize) -> u32 {
        let head = self.meta.functions.get(function).and_then(|function| {
            let code = self.code.get(function.start as usize..)?;
            instructions(code).next()?.1.ok()
        });
        match head {
            Some(head) if head.op == Op::Enter => head.args[0] as u32,
            _ => 0,
        }
    }

    /// The function (index among the defined ones) whose code holds word `pc`.
    pub fn function_at(&self, pc: u32) -> Option<usize> {
        let after = self.meta.functions.partition_point(|f| f.start <= pc);
        let index = after.checked_sub(1)?;
        (pc < self.meta.functions[index].end).then_some(index)
    }

    /// Where word `pc` came from. First comes the function that it was written in, then the callers
    /// into which that was inlined, and last the function that holds the code.
    pub fn places(&self, pc: u32) -> Vec<BacktraceFrame> {
        let offset = |offset: u32| (offset != u32::MAX).then_some(offset);
        let Some(function) = self.function_at(pc) else {
            return Vec::new();
        };
        let holder = self.meta.func_name(self.meta.imported_funcs() + function as u32);
        let after = self.source_map.partition_point(|place| place.pc <= pc);
        let Some(place) = after.checked_sub(1).map(|i| self.source_map[i]) else {
            return vec![BacktraceFrame {
                function: holder,
                offset: None,
                line: None,
            }];
        };
        let mut places = Vec::new();
        let (mut at, mut site) = (place.offset, place.site);
        while let Some(inlined) = self.meta.inline_sites.get(site as usize) {
            let function = self.meta.func_name(inlined.callee_name);
            places.push(BacktraceFrame {
                function,
                offset: offset(at),
                line: None,
            });
            (at, site) = (inlined.call_offset, inlined.parent);
        }
        places.push(BacktraceFrame {
            function: holder,
            offset: offset(at),
            line: None,
        });
        places
    }
}
