//! Inspecting a WebAssembly module.

use std::path::Path;

use gpu_run::makes_memory;
use gpu_run_bytecode::KERNEL_PREFIX;
use gpu_run_translator::rewrite::{LACKS_PLATFORM, RewriteOptions, Status, rewrite};
use gpu_run_translator::{Error, Module, Options, WASI_SPAWN, check_recursion, shared_std};
use wasmparser::{ExternalKind, FuncType, GlobalType, MemoryType, TableType, TypeRef, ValType};

use super::{Compiled, Export, Functions, Import, Inspection, Memory, Pattern, Unproven, calls, served};
use crate::json::SCHEMA;
use crate::names::shown;
use crate::report::{self, Outcome};

/// What a module holds, and what is said of its recursion if that is denied.
pub fn inspect(path: &Path, bytes: &[u8], deny_recursion: bool) -> Outcome<(Inspection, Outcome<()>)> {
    let module = Module::parse(bytes).map_err(|error| report::translation(path, &Error::from(error)))?;
    let mut inspection = declarations(&module);
    inspection.calls = Some(calls::graph(&module));
    inspection.frames = calls::frames(bytes);
    let options = RewriteOptions {
        refuse_folded: false,
        ..RewriteOptions::default()
    };
    let mut rewritten = module.clone();
    match rewrite(&mut rewritten, &options) {
        Ok(rewrites) => {
            inspection.patterns = (rewrites.patterns.iter())
                .map(|pattern| {
                    let (status, reason) = match &pattern.status {
                        Status::Found => ("found", None),
                        Status::Absent => ("absent", None),
                        Status::RolledBack(reason) => ("left alone", Some(reason.clone())),
                    };
                    Pattern {
                        pattern: pattern.pattern,
                        status,
                        found: pattern.found.clone(),
                        reason,
                        unproven: (pattern.left.iter())
                            .map(|(function, reason)| Unproven {
                                function: function.clone(),
                                reason: reason.clone(),
                            })
                            .collect(),
                    }
                })
                .collect();
            // With a shared memory they are made for threads.
            let mut memories = module.imported_memories.iter().chain(&module.memories);
            inspection.shared_std = (!memories.any(|memory| memory.shared)).then(|| shared_std(&rewritten, &[]));
            inspection.warnings = rewrites.warnings;
            inspection.std_lacks = rewrites.lacks_platform.then_some(LACKS_PLATFORM);
        }
        Err(error) => inspection.not_rewritten = Some(error.to_string()),
    }
    match gpu_run_translator::translate(bytes, &Options::full()) {
        Ok(translation) => {
            inspection.words = Some(translation.program.code.len());
            inspection.compiled = Some(Compiled::of(&translation.program));
        }
        Err(error) => inspection.refused = Some(error.to_string()),
    }
    if inspection.refused.is_none() {
        let spawns = module
            .imports
            .iter()
            .any(|import| (import.module, import.name) == WASI_SPAWN);
        let unknown = module.imports.iter().find(|import| !is_provided(import, spawns));
        inspection.refused = unknown.map(|import| format!("unknown import `{}.{}`", import.module, import.name));
    }
    let recursion = match deny_recursion {
        true => check_recursion(&rewritten).map_err(|error| report::recursion(path, &error)),
        false => Ok(()),
    };
    Ok((inspection, recursion))
}

/// Whether a run has what an import asks for, of a module that spawns threads or not.
fn is_provided(import: &wasmparser::Import<'_>, spawns: bool) -> bool {
    match import.ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => served(import.module, import.name).is_some(),
        TypeRef::Memory(ty) => makes_memory(import.module, import.name, spawns && ty.shared),
        _ => false,
    }
}

fn declarations(module: &Module<'_>) -> Inspection {
    let made_by = module.producers.iter();
    let made_by = made_by.map(|(_, name, version)| format!("{name} {version}").trim_end().to_owned());
    let imports = module.imports.iter().map(|import| Import {
        module: import.module.to_owned(),
        name: import.name.to_owned(),
        r#type: import_type(module, &import.ty),
        served: served(import.module, import.name),
    });
    let names = || {
        let functions = module.exports.iter().filter(|export| export.kind == ExternalKind::Func);
        functions.map(|export| export.name)
    };
    let exports = module.exports.iter().map(|export| {
        let name = shown(export.name, names());
        Export {
            name: name.to_owned(),
            kind: match export.kind {
                ExternalKind::Func | ExternalKind::FuncExact if export.name.starts_with(KERNEL_PREFIX) => "kernel",
                ExternalKind::Func | ExternalKind::FuncExact => "function",
                ExternalKind::Memory => "memory",
                ExternalKind::Table => "table",
                ExternalKind::Global => "global",
                ExternalKind::Tag => "tag",
            },
            r#type: export_type(module, export.kind, export.index).unwrap_or_default(),
            export: (name != export.name).then(|| export.name.to_owned()),
        }
    });
    let memories = module.imported_memories.iter().chain(&module.memories);
    Inspection {
        schema: SCHEMA,
        kind: "module",
        made_by: made_by.collect(),
        functions: Functions {
            defined: module.funcs.len(),
            imported: module.imported_funcs.len(),
            named: module.has_names,
        },
        imports: imports.collect(),
        exports: exports.collect(),
        memories: memories
            .map(|memory| Memory {
                pages: memory.initial,
                max_pages: memory.maximum,
                shared: memory.shared,
            })
            .collect(),
        ..Inspection::default()
    }
}

/// The type of what is exported, as text.
fn export_type(module: &Module<'_>, kind: ExternalKind, index: u32) -> Option<String> {
    /// The item of an index space: imports come first.
    fn item<T: Copy>(imported: &[T], defined: impl Iterator<Item = T>, index: u32) -> Option<T> {
        imported.iter().copied().chain(defined).nth(index as usize)
    }
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => Some(function(module.func_type(index))),
        ExternalKind::Memory => {
            item(&module.imported_memories, module.memories.iter().copied(), index).map(|ty| memory(&ty))
        }
        ExternalKind::Table => {
            let defined = module.tables.iter().map(|table| table.ty);
            item(&module.imported_tables, defined, index).map(|ty| table(&ty))
        }
        ExternalKind::Global => {
            let defined = module.globals.iter().map(|global| global.ty);
            item(&module.imported_globals, defined, index).map(|ty| global(&ty))
        }
        ExternalKind::Tag => {
            let tag = item(&module.imported_tags, module.tags.iter().copied(), index)?;
            module.types.get(tag.func_type_idx as usize).map(function)
        }
    }
}

/// The type of what is imported, as text.
fn import_type(module: &Module<'_>, ty: &TypeRef) -> Option<String> {
    match ty {
        TypeRef::Func(index) | TypeRef::FuncExact(index) => module.types.get(*index as usize).map(function),
        TypeRef::Memory(ty) => Some(memory(ty)),
        TypeRef::Table(ty) => Some(table(ty)),
        TypeRef::Global(ty) => Some(global(ty)),
        TypeRef::Tag(ty) => module.types.get(ty.func_type_idx as usize).map(function),
    }
}

fn function(ty: &FuncType) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(ty.params()), list(ty.results()))
}

fn memory(ty: &MemoryType) -> String {
    let shared = if ty.shared { "shared " } else { "" };
    let wide = if ty.memory64 { "i64 " } else { "" };
    format!("{shared}{wide}{}", limits(ty.initial, ty.maximum, "pages"))
}

fn table(ty: &TableType) -> String {
    format!("{} {}", ty.element_type, limits(ty.initial, ty.maximum, "elements"))
}

fn global(ty: &GlobalType) -> String {
    let mutable = if ty.mutable { "mut " } else { "" };
    format!("{mutable}{}", ty.content_type)
}

fn limits(least: u64, most: Option<u64>, of: &str) -> String {
    match most {
        Some(most) => format!("{least} to {most} {of}"),
        None => format!("{least} {of}"),
    }
}
