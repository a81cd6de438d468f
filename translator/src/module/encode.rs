//! From a [`Module`] back to bytes: valid wasm after every pass.
//!
//! In: a [`Module`] after any pass. Out: the bytes of the sections, in the order of the specification.
//!
//! - this file: the sections and bodies;
//! - `origins`: the custom section that maps instructions to the user's file.

mod origins;

use std::collections::BTreeMap;

use wasm_encoder as enc;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasmparser::Operator;

use super::{Body, Const, ElementItems, Func, Module, SegmentMode};

pub use origins::ORIGINS_SECTION;

const VALID: &str = "the module was validated";

impl Module<'_> {
    /// Encodes the module.
    ///
    /// Names and producers are written anew; other custom sections are kept, but for DWARF once
    /// code has moved: its addresses would lie. The section [`ORIGINS_SECTION`] then tells where
    /// each instruction came from.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = enc::Module::new();
        self.encode_head(&mut out);
        if self.data_count || self.funcs.iter().any(uses_data_segments) {
            out.section(&enc::DataCountSection {
                count: self.data.len() as u32,
            });
        }
        let moved = self.encode_code(&mut out);
        self.encode_data(&mut out);
        for custom in &self.customs {
            if custom.name == ORIGINS_SECTION || (moved && custom.name.starts_with(".debug_")) {
                continue;
            }
            out.section(&enc::CustomSection {
                name: custom.name.into(),
                data: custom.bytes.into(),
            });
        }
        self.encode_names(&mut out);
        self.encode_producers(&mut out);
        if moved {
            let data = origins::encode(self);
            out.section(&enc::CustomSection {
                name: ORIGINS_SECTION.into(),
                data: data.into(),
            });
        }
        out.finish()
    }

    /// The sections before the code.
    fn encode_head(&self, out: &mut enc::Module) {
        let mut re = RoundtripReencoder;
        let mut types = enc::TypeSection::new();
        for ty in &self.types {
            types.ty().func_type(&re.func_type(ty.clone()).expect(VALID));
        }
        section(out, types.is_empty(), &types);

        let mut imports = enc::ImportSection::new();
        for import in &self.imports {
            let ty = re.entity_type(import.ty).expect(VALID);
            imports.import(import.module, import.name, ty);
        }
        section(out, imports.is_empty(), &imports);

        let mut functions = enc::FunctionSection::new();
        for func in &self.funcs {
            functions.function(func.ty);
        }
        section(out, functions.is_empty(), &functions);

        let mut tables = enc::TableSection::new();
        for table in &self.tables {
            let ty = re.table_type(table.ty).expect(VALID);
            match &table.init {
                None => tables.table(ty),
                Some(init) => tables.table_with_init(ty, &const_expr(init)),
            };
        }
        section(out, tables.is_empty(), &tables);

        let mut memories = enc::MemorySection::new();
        for ty in &self.memories {
            memories.memory(re.memory_type(*ty).expect(VALID));
        }
        section(out, memories.is_empty(), &memories);

        let mut tags = enc::TagSection::new();
        for ty in &self.tags {
            tags.tag(re.tag_type(*ty).expect(VALID));
        }
        section(out, tags.is_empty(), &tags);

        let mut globals = enc::GlobalSection::new();
        for global in &self.globals {
            let ty = re.global_type(global.ty).expect(VALID);
            globals.global(ty, &const_expr(&global.init));
        }
        section(out, globals.is_empty(), &globals);

        let mut exports = enc::ExportSection::new();
        for export in &self.exports {
            let kind = re.export_kind(export.kind).expect(VALID);
            exports.export(export.name, kind, export.index);
        }
        section(out, exports.is_empty(), &exports);

        if let Some(function_index) = self.start {
            out.section(&enc::StartSection { function_index });
        }
        self.encode_elements(out);
    }

    fn encode_elements(&self, out: &mut enc::Module) {
        let mut re = RoundtripReencoder;
        let mut elements = enc::ElementSection::new();
        for element in &self.elements {
            let items = match &element.items {
                ElementItems::Functions(functions) => enc::Elements::Functions(functions.into()),
                ElementItems::Expressions(ty, exprs) => {
                    enc::Elements::Expressions(re.ref_type(*ty).expect(VALID), exprs.iter().map(const_expr).collect())
                }
            };
            match &element.mode {
                SegmentMode::Passive => elements.passive(items),
                SegmentMode::Declared => elements.declared(items),
                SegmentMode::Active { index, offset } => {
                    let implicit = *index == 0 && matches!(items, enc::Elements::Functions(_));
                    let table = (!implicit).then_some(*index);
                    elements.active(table, &const_expr(offset), items)
                }
            };
        }
        section(out, elements.is_empty(), &elements);
    }

    fn encode_data(&self, out: &mut enc::Module) {
        let mut section_data = enc::DataSection::new();
        for data in &self.data {
            let bytes = data.bytes.iter().copied();
            match &data.mode {
                SegmentMode::Active { index, offset } => section_data.active(*index, &const_expr(offset), bytes),
                _ => section_data.passive(bytes),
            };
        }
        section(out, section_data.is_empty(), &section_data);
    }

    /// Encodes the code section; tells whether any instruction has moved in it.
    fn encode_code(&self, out: &mut enc::Module) -> bool {
        let mut code = enc::CodeSection::new();
        // Distance between a body's place in the file and its place in the new section. As long as
        // it is the same for all bodies, DWARF's section-relative addresses hold.
        let mut distance = None;
        let first = self.imported_funcs.len() as u32;
        let mut moved = (0..self.funcs.len() as u32)
            .any(|i| self.original_index.get((first + i) as usize) != Some(&Some(first + i)));
        for func in &self.funcs {
            match &func.body {
                Body::Raw(raw) if raw.renumber.is_none() => {
                    let bytes = raw.body.as_bytes();
                    code.raw(bytes);
                    let end = raw.body.range().end.wrapping_sub(code.byte_len() as u64);
                    moved |= *distance.get_or_insert(end) != end;
                }
                _ => {
                    moved = true;
                    code.function(&encode_body(func));
                }
            }
        }
        section(out, code.is_empty(), &code);
        moved
    }

    fn encode_names(&self, out: &mut enc::Module) {
        if self.name.is_none() && self.func_names.is_empty() && self.global_names.is_empty() {
            return;
        }
        let mut names = enc::NameSection::new();
        if let Some(name) = &self.name {
            names.module(name);
        }
        if !self.func_names.is_empty() {
            names.functions(&name_map(&self.func_names));
        }
        if !self.global_names.is_empty() {
            names.globals(&name_map(&self.global_names));
        }
        out.section(&names);
    }

    fn encode_producers(&self, out: &mut enc::Module) {
        let mut fields: BTreeMap<&str, enc::ProducersField> = BTreeMap::new();
        for (field, name, version) in &self.producers {
            fields.entry(field).or_default().value(name, version);
        }
        if fields.is_empty() {
            return;
        }
        let mut producers = enc::ProducersSection::new();
        for (name, field) in &fields {
            producers.field(name, field);
        }
        out.section(&producers);
    }
}

fn section(out: &mut enc::Module, empty: bool, section: &impl enc::Section) {
    if !empty {
        out.section(section);
    }
}

fn name_map(names: &BTreeMap<u32, String>) -> enc::NameMap {
    let mut map = enc::NameMap::new();
    for (index, name) in names {
        map.append(*index, name);
    }
    map
}

fn const_expr(expr: &Const<'_>) -> enc::ConstExpr {
    let mut re = RoundtripReencoder;
    enc::ConstExpr::extended(expr.ops.iter().map(|op| re.instruction(op.clone()).expect(VALID)))
}

fn encode_body(func: &Func<'_>) -> enc::Function {
    let mut re = RoundtripReencoder;
    let locals = func
        .locals()
        .into_iter()
        .map(|(n, ty)| (n, re.val_type(ty).expect(VALID)));
    let mut body = enc::Function::new(locals.collect::<Vec<_>>());
    for instr in func.instrs() {
        body.instruction(&re.instruction(instr.op).expect(VALID));
    }
    body
}

/// Only a body that a pass made can need a data count section which the file had not.
fn uses_data_segments(func: &Func<'_>) -> bool {
    match &func.body {
        Body::Raw(_) => false,
        _ => func
            .instrs()
            .any(|instr| matches!(instr.op, Operator::MemoryInit { .. } | Operator::DataDrop { .. })),
    }
}

#[cfg(test)]
mod tests;
