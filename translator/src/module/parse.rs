//! From a file's bytes to a validated [`Module`].
//!
//! In: the bytes of a file. Out: a [`Module`] whose bodies are slices of them, or a [`ParseError`].
//!
//! - this file: reads and validates the sections, and with the bodies their summaries;
//! - `error`: why a file is refused, in words on which its author can act.

mod error;

use std::borrow::Cow;
use std::sync::Arc;

use wasmparser::{
    DataKind, ElementKind, ExternalKind, FuncValidatorAllocations, KnownCustom, Name, Parser, Payload, TableInit,
    TypeRef, ValidPayload, Validator, WasmFeatures,
};

use super::summary::Reader as SummaryReader;
use super::symbols::Demangler;
use super::{
    Body, Const, Custom, Data, Element, ElementItems, Func, Global, Module, RawBody, SegmentMode, Summary, Table,
};
use error::Context;
pub use error::{Location, ParseError};

/// What validation accepts. Lowering may still refuse what it cannot translate yet, and then it
/// names the instruction. What is not listed here is refused by the proposal's name.
const FEATURES: WasmFeatures = WasmFeatures::WASM2
    .union(WasmFeatures::RELAXED_SIMD)
    .union(WasmFeatures::THREADS)
    .union(WasmFeatures::TAIL_CALL)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::MULTI_MEMORY)
    .union(WasmFeatures::MEMORY64)
    .union(WasmFeatures::EXCEPTIONS)
    .union(WasmFeatures::LEGACY_EXCEPTIONS);

impl<'a> Module<'a> {
    /// Reads and validates a module.
    ///
    /// Never panics, whatever the bytes are. Malformed name, producers and other custom sections
    /// are no error: the specification wants them ignored, and so they are.
    pub fn parse(bytes: &'a [u8]) -> Result<Module<'a>, ParseError> {
        error::check_header(bytes)?;
        let mut module = Module::default();
        let context = Context::new(bytes);
        let mut validator = Validator::new_with_features(FEATURES);
        let mut parser = Parser::new(0);
        parser.set_features(FEATURES);
        let mut allocations = FuncValidatorAllocations::default();
        let mut reader = SummaryReader::default();
        let mut types = Vec::new();
        for payload in parser.parse_all(bytes) {
            let payload = payload.map_err(|e| context.malformed(e))?;
            let valid = validator.payload(&payload).map_err(|e| context.invalid(e))?;
            if let ValidPayload::Func(func, body) = valid {
                let index = func.index;
                let mut validator = func.into_validator(std::mem::take(&mut allocations));
                let summary = Summary::validate(&mut validator, &body, &mut reader);
                let summary = summary.map_err(|e| context.in_function(e, index))?;
                allocations = validator.into_allocations();
                let ty = types[module.funcs.len()];
                let body = Body::Raw(RawBody {
                    body,
                    renumber: None,
                    summary,
                });
                module.funcs.push(Func { ty, body });
                continue;
            }
            // The validator has read the section to its end, so reading it again cannot fail;
            // errors are passed on all the same.
            read_section(&mut module, &mut types, payload).map_err(|e| context.invalid(e))?;
        }
        let funcs = module.func_count();
        module.func_names.retain(|index, _| *index < funcs);
        module.original_names = display_names(&module);
        module.original_index = (0..funcs).map(Some).collect();
        Ok(module)
    }
}

/// Readable names of all functions: demangled where the module names them, the first export's name
/// next.
fn display_names(module: &Module<'_>) -> Arc<[String]> {
    let mut names = vec![String::new(); module.func_count() as usize];
    for export in &module.exports {
        if export.kind == ExternalKind::Func && names[export.index as usize].is_empty() {
            super::without_kernel_prefix(export.name).clone_into(&mut names[export.index as usize]);
        }
    }
    let mut demangler = Demangler::new(module.func_names.values().map(String::len).sum());
    for (index, name) in &module.func_names {
        if let Some(display) = names.get_mut(*index as usize) {
            *display = demangler.name(super::without_kernel_prefix(name));
        }
    }
    for (index, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
        *name = format!("func[{index}]");
    }
    names.into()
}

fn read_section<'a>(
    module: &mut Module<'a>,
    func_types: &mut Vec<u32>,
    payload: Payload<'a>,
) -> Result<(), wasmparser::Error> {
    match payload {
        Payload::TypeSection(section) => {
            for ty in section.into_iter_err_on_gc_types() {
                module.types.push(ty?);
            }
        }
        Payload::ImportSection(section) => {
            for import in section.into_imports() {
                let import = import?;
                match import.ty {
                    TypeRef::Func(ty) | TypeRef::FuncExact(ty) => module.imported_funcs.push(ty),
                    TypeRef::Table(ty) => module.imported_tables.push(ty),
                    TypeRef::Memory(ty) => module.imported_memories.push(ty),
                    TypeRef::Global(ty) => module.imported_globals.push(ty),
                    TypeRef::Tag(ty) => module.imported_tags.push(ty),
                }
                module.imports.push(import);
            }
        }
        Payload::FunctionSection(section) => {
            for ty in section {
                func_types.push(ty?);
            }
        }
        Payload::TableSection(section) => {
            for table in section {
                let table = table?;
                let init = match table.init {
                    TableInit::RefNull => None,
                    TableInit::Expr(expr) => Some(read_const(&expr)?),
                };
                module.tables.push(Table { ty: table.ty, init });
            }
        }
        Payload::MemorySection(section) => {
            for ty in section {
                module.memories.push(ty?);
            }
        }
        Payload::TagSection(section) => {
            for ty in section {
                module.tags.push(ty?);
            }
        }
        Payload::GlobalSection(section) => {
            for global in section {
                let global = global?;
                let init = read_const(&global.init_expr)?;
                module.globals.push(Global { ty: global.ty, init });
            }
        }
        Payload::ExportSection(section) => {
            for export in section {
                module.exports.push(export?);
            }
        }
        Payload::StartSection { func, .. } => module.start = Some(func),
        Payload::ElementSection(section) => {
            for element in section {
                module.elements.push(read_element(element?)?);
            }
        }
        Payload::DataCountSection { .. } => module.data_count = true,
        Payload::DataSection(section) => {
            for data in section {
                let data = data?;
                let mode = match data.kind {
                    DataKind::Passive => SegmentMode::Passive,
                    DataKind::Active {
                        memory_index,
                        offset_expr,
                    } => SegmentMode::Active {
                        index: memory_index,
                        offset: read_const(&offset_expr)?,
                    },
                };
                module.data.push(Data {
                    mode,
                    bytes: Cow::Borrowed(data.data),
                });
            }
        }
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Name(names) => read_names(module, names),
            KnownCustom::Producers(fields) => {
                // Partly read is better than refused: it is only a hint.
                let _ = read_producers(module, fields);
            }
            _ => module.customs.push(Custom {
                name: section.name(),
                bytes: section.data(),
                offset: section.data_offset(),
            }),
        },
        _ => {}
    }
    Ok(())
}

fn read_const<'a>(expr: &wasmparser::ConstExpr<'a>) -> Result<Const<'a>, wasmparser::Error> {
    let mut reader = expr.get_operators_reader();
    let mut ops = Vec::new();
    while !reader.is_end_then_eof() {
        ops.push(reader.read()?);
    }
    Ok(Const { ops })
}

fn read_element<'a>(element: wasmparser::Element<'a>) -> Result<Element<'a>, wasmparser::Error> {
    let mode = match element.kind {
        ElementKind::Passive => SegmentMode::Passive,
        ElementKind::Declared => SegmentMode::Declared,
        ElementKind::Active {
            table_index,
            offset_expr,
        } => SegmentMode::Active {
            index: table_index.unwrap_or(0),
            offset: read_const(&offset_expr)?,
        },
    };
    let items = match element.items {
        wasmparser::ElementItems::Functions(functions) => {
            ElementItems::Functions(functions.into_iter().collect::<Result<_, _>>()?)
        }
        wasmparser::ElementItems::Expressions(ty, exprs) => {
            let mut items = Vec::new();
            for expr in exprs {
                items.push(read_const(&expr?)?);
            }
            ElementItems::Expressions(ty, items)
        }
    };
    Ok(Element { mode, items })
}

/// Reads what can be read: a broken name section only costs names.
fn read_names(module: &mut Module<'_>, names: wasmparser::NameSectionReader<'_>) {
    for subsection in names {
        match subsection {
            Ok(Name::Module { name, .. }) => module.name = Some(name.to_owned()),
            Ok(Name::Function(map)) => {
                for naming in map.into_iter().map_while(Result::ok) {
                    module.func_names.insert(naming.index, naming.name.to_owned());
                }
                module.has_names |= !module.func_names.is_empty();
            }
            Ok(Name::Global(map)) => {
                for naming in map.into_iter().map_while(Result::ok) {
                    module.global_names.insert(naming.index, naming.name.to_owned());
                }
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
}

fn read_producers(
    module: &mut Module<'_>,
    fields: wasmparser::ProducersSectionReader<'_>,
) -> Result<(), wasmparser::Error> {
    for field in fields {
        let field = field?;
        for value in field.values {
            let value = value?;
            module
                .producers
                .push((field.name.to_owned(), value.name.to_owned(), value.version.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
