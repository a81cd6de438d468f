//! Makes a module comparable: it ends in each engine after the same steps, shows its state, and has
//! one NaN.
//!
//! - A global `fuel` counts down at each function's entry and each loop's head; at 0 the code is
//!   `unreachable`.
//! - Functions, globals and memories are exported as `f:0`, `g:0`, `m:0` and so on. Each table has
//!   an exported function `t:0` that returns a number made of its size and of which elements are null.
//! - A NaN that an instruction made can be replaced by the canonical one, as engines may choose its
//!   bits.
//! - A wait for another thread has no time, as there is no other thread.

use std::collections::HashSet;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Encode, ExportKind,
    ExportSection, Function, FunctionSection, GlobalSection, GlobalType, Instruction, MemorySection, StartSection,
    TableSection, TagSection, TypeSection, ValType,
};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

use crate::nan::{canonical, split};

/// Export of the fuel global.
pub const FUEL: &str = "fuel";

/// Changes instructions on their way.
pub trait Rewrite {
    /// Writes what stands for one instruction. `bytes` is its encoding, `locals` are the types of the
    /// function's parameters and locals.
    fn instruction(&mut self, op: &Operator<'_>, bytes: &[u8], locals: &[wasmparser::ValType], out: &mut Vec<u8>);
}

/// How to instrument.
pub struct Options<'o> {
    /// Fuel of the start function.
    pub fuel: i32,
    /// Whether NaNs become canonical where instructions make them.
    pub canonicalize_nans: bool,
    /// Whether a comparison is kept apart from the `select` that it decides. wasmi 2.0.0 makes one
    /// instruction of `i32.eqz` and `select`, which reads its condition from the wrong place.
    pub apart: bool,
    /// Functions that keep their bodies, and are exported; the others become `unreachable`.
    pub keep: Option<&'o HashSet<u32>>,
    /// Pages by which a memory without a maximum may grow.
    pub growth: u64,
    /// Changes to instructions.
    pub rewrite: &'o mut dyn Rewrite,
}

#[derive(Default)]
struct Sections {
    types: TypeSection,
    functions: FunctionSection,
    tables: TableSection,
    memories: MemorySection,
    tags: TagSection,
    globals: GlobalSection,
    exports: ExportSection,
    start: Option<StartSection>,
    elements: ElementSection,
    data_count: Option<DataCountSection>,
    code: CodeSection,
    data: DataSection,
    /// Parameter types of each type that is a function's.
    params: Vec<Vec<wasmparser::ValType>>,
    func_types: Vec<u32>,
    tables_64: Vec<bool>,
    bodies: u32,
}

/// Instruments a module without imports.
///
/// # Errors
///
/// The module is not valid, or it has imports.
pub fn instrument(wasm: &[u8], mut options: Options<'_>) -> Result<Vec<u8>, String> {
    let mut sections = Sections::default();
    let mut snippets = None;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(|error| error.to_string())?;
        match payload {
            Payload::ImportSection(section) if section.count() > 0 => return Err("the module has imports".into()),
            Payload::CodeSectionEntry(body) => {
                let snippets = snippets.get_or_insert_with(|| Snippets::new(sections.globals.len()));
                sections.body(wasm, &body, &mut options, snippets)?;
            }
            payload => sections.read(payload, &options).map_err(|error| error.to_string())?,
        }
    }
    sections.add_exports(&options);
    Ok(sections.finish())
}

type Read = Result<(), wasm_encoder::reencode::Error>;

impl Sections {
    fn read(&mut self, payload: Payload<'_>, options: &Options<'_>) -> Read {
        let same = &mut RoundtripReencoder;
        match payload {
            Payload::TypeSection(section) => {
                for group in section.clone() {
                    for ty in group?.into_types() {
                        self.params.push(match &ty.composite_type.inner {
                            wasmparser::CompositeInnerType::Func(ty) => ty.params().to_vec(),
                            _ => Vec::new(),
                        });
                    }
                }
                same.parse_type_section(&mut self.types, section)?;
            }
            Payload::FunctionSection(section) => {
                for ty in section.clone() {
                    self.func_types.push(ty?);
                }
                same.parse_function_section(&mut self.functions, section)?;
            }
            Payload::TableSection(section) => {
                for table in section.clone() {
                    self.tables_64.push(table?.ty.table64);
                }
                same.parse_table_section(&mut self.tables, section)?;
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    let mut memory = memory?;
                    memory.maximum = memory.maximum.or(Some(memory.initial + options.growth));
                    self.memories.memory(same.memory_type(memory)?);
                }
            }
            Payload::TagSection(section) => same.parse_tag_section(&mut self.tags, section)?,
            Payload::GlobalSection(section) => same.parse_global_section(&mut self.globals, section)?,
            Payload::ExportSection(section) => same.parse_export_section(&mut self.exports, section)?,
            Payload::StartSection { func, .. } => self.start = Some(StartSection { function_index: func }),
            Payload::ElementSection(section) => same.parse_element_section(&mut self.elements, section)?,
            Payload::DataCountSection { count, .. } => self.data_count = Some(DataCountSection { count }),
            Payload::DataSection(section) => same.parse_data_section(&mut self.data, section)?,
            _ => {}
        }
        Ok(())
    }

    fn body(
        &mut self,
        wasm: &[u8],
        body: &FunctionBody<'_>,
        options: &mut Options<'_>,
        snippets: &Snippets,
    ) -> Result<(), String> {
        let index = self.bodies;
        self.bodies += 1;
        if options.keep.is_some_and(|keep| !keep.contains(&index)) {
            let mut function = Function::new([]);
            function.instruction(&Instruction::Unreachable);
            function.instruction(&Instruction::End);
            self.code.function(&function);
            return Ok(());
        }
        self.kept_body(wasm, body, index, options, snippets)
            .map_err(|error| error.to_string())
    }

    fn kept_body(
        &mut self,
        wasm: &[u8],
        body: &FunctionBody<'_>,
        index: u32,
        options: &mut Options<'_>,
        snippets: &Snippets,
    ) -> Read {
        let mut types = self.params[self.func_types[index as usize] as usize].clone();
        let mut groups = Vec::new();
        for group in body.get_locals_reader()? {
            let (count, ty) = group?;
            types.extend(std::iter::repeat_n(ty, count as usize));
            groups.push((count, RoundtripReencoder.val_type(ty)?));
        }
        let temporary = types.len() as u32;
        let mut code = snippets.fuel.clone();
        let mut operators = body.get_operators_reader()?;
        let mut compared = false;
        let mut vectors = false;
        while !operators.eof() {
            let (op, start) = operators.read_with_offset()?;
            let bytes = &wasm[start as usize..operators.original_position() as usize];
            if options.apart && compared && matches!(op, Operator::Select | Operator::TypedSelect { .. }) {
                code.extend_from_slice(&snippets.as_bool);
            }
            if matches!(
                op,
                Operator::MemoryAtomicWait32 { .. } | Operator::MemoryAtomicWait64 { .. }
            ) {
                code.extend_from_slice(&snippets.no_time);
            }
            compared = matches!(op, Operator::I32Eqz | Operator::I32Eq | Operator::I32Ne);
            let made = code.len();
            options.rewrite.instruction(&op, bytes, &types, &mut code);
            if matches!(op, Operator::Loop { .. }) {
                code.extend_from_slice(&snippets.fuel);
            }
            if options.canonicalize_nans {
                let unchanged = code[made..] == *bytes;
                let written = code.split_off(made);
                vectors |= match unchanged {
                    true => canonical(&[&written], temporary, &mut code),
                    false => canonical(&split(&written)?, temporary, &mut code),
                };
            }
        }
        if options.canonicalize_nans {
            groups.extend([(1, ValType::F32), (1, ValType::F64)]);
        }
        if vectors {
            groups.push((1, ValType::V128));
        }
        let mut function = Function::new(groups);
        function.raw(code);
        self.code.function(&function);
        Ok(())
    }

    fn add_exports(&mut self, options: &Options<'_>) {
        for index in 0..self.globals.len() {
            self.exports.export(&format!("g:{index}"), ExportKind::Global, index);
        }
        self.exports.export(FUEL, ExportKind::Global, self.globals.len());
        let ty = GlobalType {
            val_type: ValType::I32,
            mutable: true,
            shared: false,
        };
        self.globals.global(ty, &ConstExpr::i32_const(options.fuel));
        for index in 0..self.memories.len() {
            self.exports.export(&format!("m:{index}"), ExportKind::Memory, index);
        }
        for index in 0..self.functions.len() {
            if options.keep.is_none_or(|keep| keep.contains(&index)) {
                self.exports.export(&format!("f:{index}"), ExportKind::Func, index);
            }
        }
        let ty = self.types.len();
        let tables = (0..self.tables.len()).filter(|table| !self.tables_64[*table as usize]);
        let tables: Vec<u32> = tables.collect();
        if !tables.is_empty() {
            self.types.ty().function([], [ValType::I32]);
        }
        for table in tables {
            self.exports
                .export(&format!("t:{table}"), ExportKind::Func, self.functions.len());
            self.functions.function(ty);
            self.code.function(&observer(table));
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut module = wasm_encoder::Module::new();
        module.section(&self.types).section(&self.functions);
        module.section(&self.tables).section(&self.memories);
        if !self.tags.is_empty() {
            module.section(&self.tags);
        }
        module.section(&self.globals).section(&self.exports);
        if let Some(start) = &self.start {
            module.section(start);
        }
        module.section(&self.elements);
        if let Some(count) = &self.data_count {
            module.section(count);
        }
        module.section(&self.code).section(&self.data);
        module.finish()
    }
}

/// Code that is inserted again and again.
struct Snippets {
    fuel: Vec<u8>,
    /// Changes nothing about a 0 or 1.
    as_bool: Vec<u8>,
    /// Replaces a timeout by 0.
    no_time: Vec<u8>,
}

impl Snippets {
    fn new(fuel: u32) -> Snippets {
        let code = [
            Instruction::GlobalGet(fuel),
            Instruction::I32Eqz,
            Instruction::If(BlockType::Empty),
            Instruction::Unreachable,
            Instruction::End,
            Instruction::GlobalGet(fuel),
            Instruction::I32Const(1),
            Instruction::I32Sub,
            Instruction::GlobalSet(fuel),
        ];
        Snippets {
            fuel: encode(&code),
            as_bool: encode(&[Instruction::I32Const(1), Instruction::I32And]),
            no_time: encode(&[Instruction::Drop, Instruction::I64Const(0)]),
        }
    }
}

fn encode(code: &[Instruction<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for instruction in code {
        instruction.encode(&mut bytes);
    }
    bytes
}

/// A function that returns `size`, multiplied by 31 and increased by 1 for each null, along the table.
fn observer(table: u32) -> Function {
    const AT: u32 = 0;
    const SUM: u32 = 1;
    let mut function = Function::new([(2, ValType::I32)]);
    let code = [
        Instruction::TableSize(table),
        Instruction::LocalSet(SUM),
        Instruction::Block(BlockType::Empty),
        Instruction::Loop(BlockType::Empty),
        Instruction::LocalGet(AT),
        Instruction::TableSize(table),
        Instruction::I32GeU,
        Instruction::BrIf(1),
        Instruction::LocalGet(SUM),
        Instruction::I32Const(31),
        Instruction::I32Mul,
        Instruction::LocalGet(AT),
        Instruction::TableGet(table),
        Instruction::RefIsNull,
        Instruction::I32Add,
        Instruction::LocalSet(SUM),
        Instruction::LocalGet(AT),
        Instruction::I32Const(1),
        Instruction::I32Add,
        Instruction::LocalSet(AT),
        Instruction::Br(0),
        Instruction::End,
        Instruction::End,
        Instruction::LocalGet(SUM),
        Instruction::End,
    ];
    function.raw(encode(&code));
    function
}
