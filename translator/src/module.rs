//! The owned module form that `rewrite` and `inline` edit and `lower` reads.
//!
//! It keeps what the file said, section by section, in wasmparser's own types. A function body
//! stays a slice of the file until a pass changes it. What inlining makes are bytes again, so that
//! a large module costs little memory. Every instruction knows its [`Origin`]: the offset in the
//! user's file and the chain of inlined calls that brought it where it is.
//!
//! In: the bytes of a file. Out: a [`Module`], and bytes of one again. In the order in which to read them:
//!
//! - this file: the sections of a module, and bodies in their forms;
//! - `parse`: from bytes to a validated module, with the errors that refuse one;
//! - `code`, `cursor`, `writer`: code as bytes, reading and writing it an instruction at a time;
//! - `summary`, `locals`: what the passes ask of every body, and how its locals are used;
//! - `renumber`: adding and dropping functions;
//! - `symbols`: readable names of symbols;
//! - `encode`: from a module back to bytes.

mod code;
mod cursor;
mod encode;
mod locals;
mod parse;
mod renumber;
mod summary;
pub(crate) mod symbols;
mod writer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use wasmparser::{
    Export, FuncType, FunctionBody, GlobalType, Import, MemoryType, Operator, TableType, TagType, ValType,
};

pub(crate) use code::{Code, opcode};
pub use code::{PackedBody, Steps};
pub(crate) use cursor::Cursor;
pub use encode::ORIGINS_SECTION;
pub(crate) use locals::Use;
pub use parse::{Location, ParseError};
pub use summary::{Call, Summary};
pub(crate) use writer::Writer;

/// Where an instruction came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Origin {
    /// Byte offset of the instruction in the user's file.
    /// [`Origin::SYNTHETIC`] for an instruction that a pass made up.
    pub offset: u32,
    /// The inlined call that brought it here: an index into [`Module::inline_sites`],
    /// or [`Origin::NOT_INLINED`].
    pub site: u32,
}

impl Origin {
    /// The offset of an instruction that stands in no file.
    pub const SYNTHETIC: u32 = u32::MAX;
    /// The `site` of an instruction in the function that it was written in.
    pub const NOT_INLINED: u32 = u32::MAX;

    /// The origin of an instruction at `offset`, not inlined.
    pub fn at(offset: u64) -> Origin {
        Origin {
            offset: offset as u32,
            site: Origin::NOT_INLINED,
        }
    }

    /// The origin of an instruction that a pass made up.
    pub const fn synthetic() -> Origin {
        Origin {
            offset: Origin::SYNTHETIC,
            site: Origin::NOT_INLINED,
        }
    }
}

/// One inlined call. Chains of them expand a backtrace. The innermost function is `callee`. It was
/// called at `call.offset` by the callee of `call.site` (or by the function that holds the body).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineSite {
    /// Index (in the user's module) of the function whose body was copied.
    pub callee: u32,
    /// Origin of the call instruction that it replaced.
    pub call: Origin,
}

/// An instruction with its origin.
#[derive(Clone, Debug)]
pub struct Instr<'a> {
    /// The instruction.
    pub op: Operator<'a>,
    /// Where it came from.
    pub origin: Origin,
}

impl<'a> Instr<'a> {
    /// An instruction that a pass made up.
    pub fn synthetic(op: Operator<'a>) -> Instr<'a> {
        Instr {
            op,
            origin: Origin::synthetic(),
        }
    }
}

/// A function body of the code section, as in the file but for function indices.
#[derive(Clone, Debug)]
pub struct RawBody<'a> {
    /// Locals, then instructions.
    pub body: FunctionBody<'a>,
    /// What the function indices of the file have become, once functions were added or dropped. It
    /// is one table for all bodies, applied while reading, so that bodies can stay slices.
    pub renumber: Option<Arc<[u32]>>,
    /// What it refers to, with the function indices of now.
    pub summary: Summary,
}

/// A defined function's locals and code.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// As in the file.
    Raw(RawBody<'a>),
    /// Changed or made by a pass other than inlining.
    Edited {
        /// Declared locals (parameters not included), in runs.
        locals: Vec<(u32, ValType)>,
        /// Instructions, with the closing `end`.
        instrs: Vec<Instr<'a>>,
        /// What it refers to, once a caller has asked.
        summary: OnceLock<Summary>,
    },
    /// Made by inlining, or packed for it.
    Packed(PackedBody),
}

/// A defined function.
#[derive(Clone, Debug)]
pub struct Func<'a> {
    /// Index into [`Module::types`].
    pub ty: u32,
    /// Locals and code.
    pub body: Body<'a>,
}

/// A constant expression: its instructions, without the closing `end`.
#[derive(Clone, Debug, Default)]
pub struct Const<'a> {
    /// The instructions.
    pub ops: Vec<Operator<'a>>,
}

impl Const<'_> {
    /// The expression `i32.const value`.
    pub fn i32(value: i32) -> Self {
        Const {
            ops: vec![Operator::I32Const { value }],
        }
    }

    /// The value, if the expression is a single `i32.const` or `i64.const`.
    pub fn as_integer(&self) -> Option<i64> {
        match self.ops.as_slice() {
            [Operator::I32Const { value }] => Some(i64::from(*value)),
            [Operator::I64Const { value }] => Some(*value),
            _ => None,
        }
    }
}

/// A table and how its elements start.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// Element type and limits.
    pub ty: TableType,
    /// The initial value of every element; `None` is null.
    pub init: Option<Const<'a>>,
}

/// A defined global.
#[derive(Clone, Debug)]
pub struct Global<'a> {
    /// Value type and mutability.
    pub ty: GlobalType,
    /// Initial value.
    pub init: Const<'a>,
}

/// How a data or element segment is used.
#[derive(Clone, Debug)]
pub enum SegmentMode<'a> {
    /// Copied at instantiation to `offset` of memory or table `index`.
    Active {
        /// Memory or table index.
        index: u32,
        /// Where it goes.
        offset: Const<'a>,
    },
    /// Copied by `memory.init` or `table.init`.
    Passive,
    /// Only declares functions for `ref.func` (element segments).
    Declared,
}

/// A data segment.
#[derive(Clone, Debug)]
pub struct Data<'a> {
    /// How it is used.
    pub mode: SegmentMode<'a>,
    /// Its bytes.
    pub bytes: Cow<'a, [u8]>,
}

/// The items of an element segment.
#[derive(Clone, Debug)]
pub enum ElementItems<'a> {
    /// Function indices.
    Functions(Vec<u32>),
    /// Constant expressions of one reference type.
    Expressions(wasmparser::RefType, Vec<Const<'a>>),
}

/// An element segment.
#[derive(Clone, Debug)]
pub struct Element<'a> {
    /// How it is used.
    pub mode: SegmentMode<'a>,
    /// Its items.
    pub items: ElementItems<'a>,
}

/// A custom section that is carried along unread.
#[derive(Clone, Debug)]
pub struct Custom<'a> {
    /// Section name.
    pub name: &'a str,
    /// Contents.
    pub bytes: &'a [u8],
    /// Offset of the contents in the user's file.
    pub offset: u64,
}

/// A module. Index spaces are those of the specification: imports first, then definitions.
#[derive(Clone, Debug, Default)]
pub struct Module<'a> {
    /// Function types.
    pub types: Vec<FuncType>,
    /// Imports of every kind, in file order.
    pub imports: Vec<Import<'a>>,
    /// Type index of each imported function.
    pub imported_funcs: Vec<u32>,
    /// Imported tables, memories, globals and tags, in the order of their index spaces.
    pub imported_tables: Vec<TableType>,
    /// Imported memories.
    pub imported_memories: Vec<MemoryType>,
    /// Imported globals.
    pub imported_globals: Vec<GlobalType>,
    /// Imported tags.
    pub imported_tags: Vec<TagType>,
    /// Defined functions.
    pub funcs: Vec<Func<'a>>,
    /// Defined tables.
    pub tables: Vec<Table<'a>>,
    /// Defined memories.
    pub memories: Vec<MemoryType>,
    /// Defined globals.
    pub globals: Vec<Global<'a>>,
    /// Defined tags.
    pub tags: Vec<TagType>,
    /// Exports.
    pub exports: Vec<Export<'a>>,
    /// Start function.
    pub start: Option<u32>,
    /// Element segments.
    pub elements: Vec<Element<'a>>,
    /// Whether the file had a data count section (`memory.init` and `data.drop` need one).
    pub data_count: bool,
    /// Data segments.
    pub data: Vec<Data<'a>>,
    /// Module name from the name section.
    pub name: Option<String>,
    /// Function names from the name section, as written there (mangled), by function index.
    pub func_names: BTreeMap<u32, String>,
    /// Global names from the name section, by global index.
    pub global_names: BTreeMap<u32, String>,
    /// Whether the file had a name section with function names.
    pub has_names: bool,
    /// Readable names of the functions of the user's file, by index there. Passes leave them, so
    /// that backtraces can name a function that was inlined everywhere and dropped.
    pub original_names: Arc<[String]>,
    /// Language and tool versions from the `producers` section: (field, name, version).
    pub producers: Vec<(String, String, String)>,
    /// Other custom sections (DWARF among them).
    pub customs: Vec<Custom<'a>>,
    /// Inlined calls, referred to by [`Origin::site`].
    pub inline_sites: Vec<InlineSite>,
    /// For each function index of this form, its index in the user's file (`None` for a function
    /// that a pass made). Passes that move functions keep it.
    pub original_index: Vec<Option<u32>>,
}

impl<'a> Module<'a> {
    /// Number of functions, imported ones included.
    pub fn func_count(&self) -> u32 {
        (self.imported_funcs.len() + self.funcs.len()) as u32
    }

    /// Type index of function `index`, or `None` if there is no such function.
    pub fn func_type_index(&self, index: u32) -> Option<u32> {
        let imported = self.imported_funcs.len();
        match self.imported_funcs.get(index as usize) {
            Some(ty) => Some(*ty),
            None => self.funcs.get(index as usize - imported).map(|f| f.ty),
        }
    }

    /// Type of function `index`.
    ///
    /// # Panics
    ///
    /// If there is no such function: the module is validated, so an index that it holds exists.
    pub fn func_type(&self, index: u32) -> &FuncType {
        let ty = self.func_type_index(index).expect("a function index of a valid module");
        &self.types[ty as usize]
    }

    /// Memory 0.
    pub fn memory0(&self) -> Option<&MemoryType> {
        self.imported_memories.first().or_else(|| self.memories.first())
    }

    /// Table 0.
    pub fn table0(&self) -> Option<&TableType> {
        let own = || self.tables.first().map(|table| &table.ty);
        self.imported_tables.first().or_else(own)
    }

    /// The global of this name, or exported under it.
    pub fn global_called(&self, name: &str) -> Option<u32> {
        self.called(&self.global_names, wasmparser::ExternalKind::Global, name)
    }

    /// The function of this symbol, or exported under it.
    pub fn func_called(&self, name: &str) -> Option<u32> {
        self.called(&self.func_names, wasmparser::ExternalKind::Func, name)
    }

    fn called(&self, names: &BTreeMap<u32, String>, kind: wasmparser::ExternalKind, name: &str) -> Option<u32> {
        let named = names.iter().find(|(_, found)| *found == name).map(|(index, _)| *index);
        let exported = |export: &&Export<'_>| export.kind == kind && export.name == name;
        named.or_else(|| self.exports.iter().find(exported).map(|export| export.index))
    }

    /// The defined function with function index `index`, if it is not an import.
    pub fn defined(&self, index: u32) -> Option<&Func<'a>> {
        self.funcs.get((index as usize).checked_sub(self.imported_funcs.len())?)
    }

    /// The readable name of function `index` of the user's file.
    pub fn original_name(&self, index: u32) -> Cow<'_, str> {
        match self.original_names.get(index as usize) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("func[{index}]")),
        }
    }

    /// The readable name of function `index`: demangled where the module names it, the export
    /// name next, else `func[index]`.
    pub fn func_display_name(&self, index: u32) -> String {
        // Demangling takes time, and was done for the functions of the file.
        let original = self.original_index.get(index as usize).copied().flatten();
        if let Some(name) = original.and_then(|original| self.original_names.get(original as usize)) {
            return name.clone();
        }
        if let Some(name) = self.func_names.get(&index) {
            return symbols::demangled(without_kernel_prefix(name));
        }
        let export = self
            .exports
            .iter()
            .find(|e| e.kind == wasmparser::ExternalKind::Func && e.index == index);
        match export {
            Some(export) => without_kernel_prefix(export.name).to_owned(),
            None => format!("func[{index}]"),
        }
    }
}

/// A kernel's name as the user wrote it, and any other name as it is.
fn without_kernel_prefix(name: &str) -> &str {
    name.strip_prefix(gpu_run_bytecode::KERNEL_PREFIX).unwrap_or(name)
}

/// Declared locals (parameters not included), in runs.
pub type Locals = [(u32, ValType)];

impl<'a> Body<'a> {
    /// A body that a pass made.
    pub fn edited(locals: Vec<(u32, ValType)>, instrs: Vec<Instr<'a>>) -> Body<'a> {
        Body::Edited {
            locals,
            instrs,
            summary: OnceLock::new(),
        }
    }

    /// Makes an edited body bytes.
    pub(crate) fn pack(&mut self) {
        if let Body::Edited { locals, instrs, .. } = self {
            *self = Body::Packed(PackedBody::new(locals, instrs));
        }
    }

    /// Locals and instructions as bytes: borrowed where they are bytes already.
    pub(crate) fn packed(&self) -> Packed<'_> {
        match self {
            Body::Raw(raw) => Packed::Borrowed(raw.locals(), raw.code()),
            Body::Packed(packed) => Packed::Borrowed(packed.locals.clone(), packed.code()),
            Body::Edited { locals, instrs, .. } => Packed::Made(PackedBody::new(locals, instrs)),
        }
    }
}

impl<'a> RawBody<'a> {
    /// See [`Func::locals`].
    pub fn locals(&self) -> Vec<(u32, ValType)> {
        self.body
            .get_locals_reader()
            .expect("the module was validated")
            .into_iter()
            .map(|local| local.expect("the module was validated"))
            .collect()
    }

    /// Its instructions, decoded.
    fn instrs(&self) -> Vec<Instr<'a>> {
        let reader = self.body.get_operators_reader().expect("the module was validated");
        let renumbered = |(mut op, offset): (Operator<'a>, u64)| {
            if let (Some(table), Some(index)) = (&self.renumber, function_index_mut(&mut op)) {
                *index = table[*index as usize];
            }
            let origin = Origin::at(offset);
            Instr { op, origin }
        };
        reader
            .into_iter_with_offsets()
            .map(|read| renumbered(read.expect("the module was validated")))
            .collect()
    }

    /// Its instructions as bytes.
    pub(crate) fn code(&self) -> Code<'_> {
        let reader = self
            .body
            .get_binary_reader_for_operators()
            .expect("the module was validated");
        let offset = reader.original_position();
        let start = (offset - self.body.range().start) as usize;
        Code::of_file(&self.body.as_bytes()[start..], offset, self.renumber.as_deref())
    }
}

/// Locals and code of a body, as bytes.
pub(crate) enum Packed<'f> {
    Borrowed(Vec<(u32, ValType)>, Code<'f>),
    Made(PackedBody),
}

impl Packed<'_> {
    /// Declared locals (parameters not included), in runs.
    pub(crate) fn locals(&self) -> &Locals {
        match self {
            Packed::Borrowed(locals, _) => locals,
            Packed::Made(body) => &body.locals,
        }
    }

    /// The instructions.
    pub(crate) fn code(&self) -> Code<'_> {
        match self {
            Packed::Borrowed(_, code) => *code,
            Packed::Made(body) => body.code(),
        }
    }
}

impl<'a> Func<'a> {
    /// Declared locals (parameters not included), in runs.
    pub fn locals(&self) -> Vec<(u32, ValType)> {
        match &self.body {
            Body::Edited { locals, .. } => locals.clone(),
            Body::Raw(raw) => raw.locals(),
            Body::Packed(packed) => packed.locals.clone(),
        }
    }

    /// The instructions in order, with the closing `end`.
    pub fn instrs(&self) -> Instrs<'_> {
        match &self.body {
            Body::Edited { instrs, .. } => Instrs::Edited(instrs.iter()),
            Body::Raw(raw) => Instrs::Packed(raw.code().steps()),
            Body::Packed(packed) => Instrs::Packed(packed.code().steps()),
        }
    }

    /// What the body refers to, and its size.
    pub fn summary(&self) -> &Summary {
        match &self.body {
            Body::Edited {
                locals,
                instrs,
                summary,
            } => summary.get_or_init(|| PackedBody::new(locals, instrs).summary),
            Body::Raw(raw) => &raw.summary,
            Body::Packed(packed) => &packed.summary,
        }
    }

    /// Turns the body into its edited form and lends it: locals, then instructions. Inlining is the
    /// last pass: what it made is not edited.
    pub(crate) fn edit(&mut self) -> (&mut Vec<(u32, ValType)>, &mut Vec<Instr<'a>>) {
        if let Body::Raw(raw) = &self.body {
            self.body = Body::edited(raw.locals(), raw.instrs());
        }
        match &mut self.body {
            Body::Edited {
                locals,
                instrs,
                summary,
            } => {
                summary.take();
                (locals, instrs)
            }
            Body::Raw(_) => unreachable!("made edited above"),
            Body::Packed(_) => unreachable!("no pass edits after inlining"),
        }
    }
}

/// Iterator over a function's instructions; see [`Func::instrs`].
pub enum Instrs<'f> {
    /// Decodes bytes.
    Packed(Steps<'f>),
    /// Walks the edited form.
    Edited(std::slice::Iter<'f, Instr<'f>>),
}

impl<'f> Iterator for Instrs<'f> {
    type Item = Instr<'f>;

    fn next(&mut self) -> Option<Instr<'f>> {
        match self {
            Instrs::Edited(iter) => iter.next().cloned(),
            Instrs::Packed(steps) => steps.next().map(|step| Instr {
                op: step.operator(),
                origin: step.origin,
            }),
        }
    }
}

/// The function index that `op` holds: of a direct call or `ref.func`.
pub fn function_index_mut<'o>(op: &'o mut Operator<'_>) -> Option<&'o mut u32> {
    match op {
        Operator::Call { function_index }
        | Operator::ReturnCall { function_index }
        | Operator::RefFunc { function_index } => Some(function_index),
        _ => None,
    }
}
