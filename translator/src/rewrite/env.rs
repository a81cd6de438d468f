//! What the new bodies share: imported operations, formatting to a stream, constant data, globals.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use wasmparser::{FuncType, GlobalType, Operator, RefType, TypeRef, ValType};

use super::code::Code;
use super::names::Names;
use super::{GPU_OPS, IMPORT_MODULE};
use crate::module::{Const, Data, Element, ElementItems, Func, Global, Module, SegmentMode};

const I32: ValType = ValType::I32;
const PAGE: u64 = 65_536;

/// How this module's `core::fmt::write` takes its `Arguments`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// As two words, template and arguments (rustc 1.93 and newer).
    Pair,
    /// By a pointer to the old structure of slices.
    Pointer,
}

/// `core::fmt::write`, which formats whatever the new bodies print.
#[derive(Clone, Copy)]
pub(super) struct FmtWrite {
    func: usize,
    pub(super) arguments: Arguments,
}

impl FmtWrite {
    pub(super) fn find(module: &Module<'_>, names: &Names) -> Option<FmtWrite> {
        let typed = |n: usize| names.typed(module, "core::fmt::write", &[I32; 4][..n], &[I32]);
        let pair = typed(4).first().map(|&func| FmtWrite {
            func,
            arguments: Arguments::Pair,
        });
        let old = || {
            Some(FmtWrite {
                func: *typed(3).first()?,
                arguments: Arguments::Pointer,
            })
        };
        pair.or_else(old)
    }
}

/// See the module's documentation. Made once all patterns are found, so that functions are
/// renumbered only once; positions of defined functions hold throughout.
pub(super) struct Env {
    ops: HashMap<&'static str, u32>,
    imported: u32,
    /// The global that holds the guest's shadow stack pointer.
    pub(super) stack_pointer: Option<u32>,
    /// A vtable of `core::fmt::Write`; the data pointer that goes with it is the stream's number,
    /// and it is never dereferenced.
    pub(super) vtable: i32,
    fmt: Option<FmtWrite>,
    /// Constant data, put into a page of its own after the module's memory.
    page: Vec<u8>,
    page_base: u64,
}

impl Env {
    /// Imports `ops` (those the module has already are used) and, with `fmt`, makes the vtable.
    pub(super) fn install(module: &mut Module<'_>, ops: &BTreeSet<&'static str>, fmt: Option<FmtWrite>) -> Env {
        let mut known = existing_imports(module);
        let missing: Vec<_> = GPU_OPS
            .iter()
            .filter(|(n, ..)| ops.contains(n) && !known.contains_key(n))
            .collect();
        let imports: Vec<_> = missing
            .iter()
            .map(|(name, params, results)| (IMPORT_MODULE, *name, module.intern_type(params, results)))
            .collect();
        if !imports.is_empty() {
            let first = module.append_func_imports(imports);
            known.extend(missing.iter().zip(first..).map(|((name, ..), index)| (*name, index)));
        }
        let mut env = Env {
            ops: known,
            imported: module.imported_funcs.len() as u32,
            stack_pointer: stack_pointer(module),
            vtable: 0,
            fmt,
            page: Vec::new(),
            page_base: memory_pages(module).unwrap_or(0) * PAGE,
        };
        if let Some(fmt) = fmt {
            env.make_vtable(module, fmt);
        }
        env
    }

    /// Function index of operation `name`.
    pub(super) fn gpu(&self, name: &str) -> u32 {
        self.ops[name]
    }

    /// Function index of the defined function at position `func`.
    pub(super) fn index(&self, func: usize) -> u32 {
        self.imported + func as u32
    }

    /// Adds a function; returns its index.
    pub(super) fn add_func(
        &self,
        module: &mut Module<'_>,
        name: &str,
        params: &[ValType],
        results: &[ValType],
        code: Code,
    ) -> u32 {
        let index = module.func_count();
        let ty = module.intern_type(params, results);
        module.funcs.push(Func {
            ty,
            body: code.into_body(),
        });
        module.original_index.push(None);
        module.func_names.insert(index, name.to_owned());
        index
    }

    /// Adds a mutable `i32` global that starts at 0; returns its index.
    pub(super) fn add_global(&self, module: &mut Module<'_>, name: &str) -> u32 {
        let index = (module.imported_globals.len() + module.globals.len()) as u32;
        let ty = GlobalType {
            content_type: I32,
            mutable: true,
            shared: false,
        };
        module.globals.push(Global {
            ty,
            init: Const::i32(0),
        });
        module.global_names.insert(index, name.to_owned());
        index
    }

    /// Address of a copy of `bytes`, aligned to 4.
    pub(super) fn constant(&mut self, bytes: &[u8]) -> i32 {
        self.page.resize(self.page.len().next_multiple_of(4), 0);
        let address = self.page_base + self.page.len() as u64;
        self.page.extend_from_slice(bytes);
        address as u32 as i32
    }

    /// Prints a constant text.
    pub(super) fn print_text(&mut self, code: &mut Code, stream: i32, text: &str) {
        let address = self.constant(text.as_bytes());
        code.i32(stream)
            .i32(address)
            .i32(text.len() as i32)
            .call(self.gpu("print"));
    }

    /// Formats onto `stream`; `arguments` pushes what [`Arguments`] says.
    pub(super) fn format(&self, code: &mut Code, stream: i32, arguments: impl IntoIterator<Item = Operator<'static>>) {
        let fmt = self.fmt.expect("asked for when the environment was made");
        code.i32(stream).i32(self.vtable).ops(arguments);
        code.call(self.index(fmt.func)).op(Operator::Drop);
    }

    /// Formats the one `Argument` (value, function) at the address in local `argument` onto
    /// `stream`, with the format `{}`.
    pub(super) fn format_one(&mut self, code: &mut Code, stream: i32, argument: u32) {
        let fmt = self.fmt.expect("asked for when the environment was made");
        let address = Operator::LocalGet { local_index: argument };
        match fmt.arguments {
            Arguments::Pair => {
                // One placeholder with default options, then the end.
                let template = self.constant(&[0xc0, 0]);
                self.format(code, stream, [Operator::I32Const { value: template }, address]);
            }
            Arguments::Pointer => {
                // The old structure: pieces, arguments, no options; a thread's own, so on its stack.
                // After the argument there are eight bytes left, and it needs six words.
                let global_index = self.stack_pointer.expect("checked before");
                let empty = self.constant(&[0; 8]);
                code.global_get(global_index)
                    .i32(32)
                    .op(Operator::I32Sub)
                    .global_set(global_index);
                for (at, value) in [(0, empty), (4, 1), (12, 1), (16, 0)] {
                    code.global_get(global_index).i32(value).store32(at);
                }
                code.global_get(global_index).op(address).store32(8);
                self.format(code, stream, [Operator::GlobalGet { global_index }]);
                code.global_get(global_index)
                    .i32(32)
                    .op(Operator::I32Add)
                    .global_set(global_index);
            }
        }
    }

    /// `write_str`, `write_char` and `write_fmt` onto the stream that the data pointer names.
    fn make_vtable(&mut self, module: &mut Module<'_>, fmt: FmtWrite) {
        let write_str = write_str(self, None);
        let write_str = self.add_func(module, "gpu_run::fmt::write_str", &[I32; 3], &[I32], write_str);
        let write_char = write_char(self, None);
        let write_char = self.add_func(module, "gpu_run::fmt::write_char", &[I32; 2], &[I32], write_char);
        // The vtable's address must be known before `write_fmt` is made, its contents after.
        self.vtable = self.constant(&[0; 24]);
        let write_fmt = write_fmt(self, None);
        let params = &[I32; 3][..1 + fmt.arguments.words()];
        let write_fmt = self.add_func(module, "gpu_run::fmt::write_fmt", params, &[I32], write_fmt);
        let first = extend_table(module, &[write_str, write_char, write_fmt]);
        let words = [0, 0, 1, first, first + 1, first + 2];
        let at = (self.vtable as u32 as u64 - self.page_base) as usize;
        for (i, word) in words.iter().enumerate() {
            self.page[at + i * 4..][..4].copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Writes the constant data into the module.
    pub(super) fn finish(self, module: &mut Module<'_>) {
        if self.page.is_empty() {
            return;
        }
        let pages = (self.page.len() as u64).div_ceil(PAGE);
        grow_memory(module, pages);
        let offset = Const::i32(self.page_base as u32 as i32);
        let mode = SegmentMode::Active { index: 0, offset };
        module.data.push(Data {
            mode,
            bytes: Cow::Owned(self.page),
        });
    }
}

impl Arguments {
    fn words(self) -> usize {
        match self {
            Arguments::Pair => 2,
            Arguments::Pointer => 1,
        }
    }
}

/// Whether the module has what a vtable in memory needs. That is a 32-bit memory with room for a
/// page, a function table of known size, and a shadow stack.
pub(super) fn can_format(module: &Module<'_>) -> bool {
    let table = module
        .table0()
        .is_some_and(|ty| ty.element_type == RefType::FUNCREF && !ty.table64);
    table && memory_pages(module).is_some() && stack_pointer(module).is_some()
}

/// Body of `write_str(self, ptr, len)`; without `stream` the data pointer says it. A stream of its
/// own ends its record each time: there is no later call that would.
pub(super) fn write_str(env: &Env, stream: Option<i32>) -> Code {
    let mut code = Code::new();
    push_stream(&mut code, stream);
    code.get(1).get(2).call(env.gpu("print"));
    if let Some(stream) = stream {
        code.i32(stream).call(env.gpu("print_end"));
    }
    code.i32(0);
    code
}

/// Body of `write_char(self, char)`: UTF-8 onto the shadow stack, which each thread has its own of.
pub(super) fn write_char(env: &Env, stream: Option<i32>) -> Code {
    use Operator::{GlobalGet, I32And, I32LtU, I32Or, I32ShrU, I32Sub};
    let global_index = env.stack_pointer.expect("checked before");
    let mut code = Code::new();
    code.locals(2, I32); // 2: where the text ends, 3: the lead byte's mark
    // The bytes are written backwards, below the stack pointer; no call happens in between.
    code.op(GlobalGet { global_index }).set(2);
    code.get(1).i32(0x80).op(I32LtU).if_();
    code.get(2).i32(1).op(I32Sub).tee(2).get(1).store8(0);
    code.op(Operator::Else);
    // Each round: write six bits; `mark` gains one leading one bit per byte.
    code.i32(0x80).set(3).loop_();
    code.get(2).i32(1).op(I32Sub).tee(2);
    code.get(1).i32(0x3f).op(I32And).i32(0x80).op(I32Or).store8(0);
    code.get(1).i32(6).op(I32ShrU).set(1);
    code.get(3).i32(1).op(I32ShrU).i32(0x80).op(I32Or).set(3);
    // Below the mark and the zero bit after it, the lead byte has room for the rest.
    code.get(1).get(3).i32(0xff).op(Operator::I32Xor).i32(1).op(I32ShrU);
    code.op(Operator::I32GtU).br_if(0).end();
    code.get(2).i32(1).op(I32Sub).tee(2).get(1).get(3).op(I32Or).store8(0);
    code.end();
    push_stream(&mut code, stream);
    code.get(2)
        .op(GlobalGet { global_index })
        .get(2)
        .op(I32Sub)
        .call(env.gpu("print"));
    if let Some(stream) = stream {
        code.i32(stream).call(env.gpu("print_end"));
    }
    code.i32(0);
    code
}

/// Body of `write_fmt(self, arguments)`.
pub(super) fn write_fmt(env: &Env, stream: Option<i32>) -> Code {
    let fmt = env.fmt.expect("asked for when the environment was made");
    let mut code = Code::new();
    push_stream(&mut code, stream);
    code.i32(env.vtable).get(1);
    if fmt.arguments == Arguments::Pair {
        code.get(2);
    }
    code.call(env.index(fmt.func));
    if let Some(stream) = stream {
        code.i32(stream).call(env.gpu("print_end"));
    }
    code
}

fn push_stream(code: &mut Code, stream: Option<i32>) {
    match stream {
        Some(stream) => code.i32(stream),
        None => code.get(0),
    };
}

/// Operations that the module imports already, with the right type.
fn existing_imports(module: &Module<'_>) -> HashMap<&'static str, u32> {
    let mut found = HashMap::new();
    let funcs = module.imports.iter().filter_map(|import| match import.ty {
        TypeRef::Func(ty) | TypeRef::FuncExact(ty) => Some((import, ty)),
        _ => None,
    });
    for (index, (import, ty)) in funcs.enumerate() {
        let has_type =
            |ty: &FuncType, params: &[ValType], results: &[ValType]| ty.params() == params && ty.results() == results;
        let op = GPU_OPS.iter().find(|(name, params, results)| {
            import.module == IMPORT_MODULE
                && import.name == *name
                && has_type(&module.types[ty as usize], params, results)
        });
        if let Some((name, ..)) = op {
            found.entry(*name).or_insert(index as u32);
        }
    }
    found
}

/// The linker's name for it; it is the first global that it makes.
pub(crate) fn stack_pointer(module: &Module<'_>) -> Option<u32> {
    let named = module.global_names.iter().find(|(_, name)| *name == "__stack_pointer");
    let index = named.map_or(0, |(index, _)| *index);
    let imported = module.imported_globals.len();
    let ty = match module.imported_globals.get(index as usize) {
        Some(ty) => ty,
        None => &module.globals.get(index as usize - imported)?.ty,
    };
    (ty.content_type == I32 && ty.mutable).then_some(index)
}

/// Whether the module has a 32-bit memory: every std that we know needs one.
pub(super) fn has_memory(module: &Module<'_>) -> bool {
    memory_pages(module).is_some()
}

/// Initial pages of memory 0, if it is one that can take another.
fn memory_pages(module: &Module<'_>) -> Option<u64> {
    let ty = module.memory0()?;
    let usable = !ty.memory64 && ty.page_size_log2.is_none() && ty.initial < PAGE - 1;
    usable.then_some(ty.initial)
}

/// Lets a memory that has a maximum grow by as much more as it has at first, and by `pages`.
pub(super) fn raise_maximum(module: &mut Module<'_>, pages: u64) {
    change_memory(module, |ty| {
        ty.maximum = ty.maximum.map(|max| (max + ty.initial + pages).min(PAGE));
    });
}

fn grow_memory(module: &mut Module<'_>, pages: u64) {
    change_memory(module, |ty| {
        ty.initial += pages;
        ty.maximum = ty.maximum.map(|max| (max + pages).min(PAGE));
    });
}

/// Changes the type of memory 0.
fn change_memory(module: &mut Module<'_>, change: impl Fn(&mut wasmparser::MemoryType)) {
    if let Some(ty) = module.imported_memories.first_mut() {
        change(ty);
        let import = module.imports.iter_mut().find_map(|import| match &mut import.ty {
            TypeRef::Memory(ty) => Some(ty),
            _ => None,
        });
        import.into_iter().for_each(change);
    } else if let Some(ty) = module.memories.first_mut() {
        change(ty);
    }
}

/// Appends `funcs` to table 0; returns the first one's element index.
fn extend_table(module: &mut Module<'_>, funcs: &[u32]) -> u32 {
    let count = funcs.len() as u64;
    let mut first = 0;
    let mut grow = |ty: &mut wasmparser::TableType| {
        first = ty.initial as u32;
        ty.initial += count;
        ty.maximum = ty.maximum.map(|max| max + count);
    };
    if let Some(ty) = module.imported_tables.first_mut() {
        grow(ty);
        let import = module.imports.iter_mut().find_map(|import| match &mut import.ty {
            TypeRef::Table(ty) => Some(ty),
            _ => None,
        });
        import.into_iter().for_each(grow);
    } else if let Some(table) = module.tables.first_mut() {
        grow(&mut table.ty);
    }
    let mode = SegmentMode::Active {
        index: 0,
        offset: Const::i32(first as i32),
    };
    module.elements.push(Element {
        mode,
        items: ElementItems::Functions(funcs.to_vec()),
    });
    first
}
