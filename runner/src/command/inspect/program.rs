//! Inspecting a translated program.

use std::path::Path;

use gpu_run::Engine;
use gpu_run_bytecode::{ExternKind, ExternType, GlobalType, KERNEL_PREFIX, Limits, Program, TableType};

use super::{Compiled, Export, Functions, Import, Inspection, Memory, served};
use crate::json::SCHEMA;
use crate::load;
use crate::names::shown;
use crate::report::Outcome;
use crate::requests::Called;

/// What a program holds.
pub fn inspect(path: &Path, bytes: &[u8], deny_recursion: bool) -> Outcome<Inspection> {
    if deny_recursion {
        return Err(load::needs_module_of_program("--deny-recursion", path));
    }
    let module = load::translated(&Engine::default(), path, bytes)?;
    let program = module.program();
    let meta = &program.meta;
    let called = Called::by(program);
    let services = called.functions().map(|function| {
        let info = function.info();
        Import {
            module: info.module.to_owned(),
            name: info.name.to_owned(),
            r#type: None,
            served: served(info.module, info.name),
        }
    });
    let others = meta.imports.iter().map(|import| Import {
        module: import.module.clone(),
        name: import.name.clone(),
        r#type: import_type(program, import.ty),
        served: None,
    });
    let names = || {
        let functions = meta.exports.iter().filter(|export| export.kind == ExternKind::Func);
        functions.map(|export| export.name.as_str())
    };
    let exports = meta.exports.iter().map(|export| {
        let name = shown(&export.name, names());
        Export {
            name: name.to_owned(),
            kind: match export.kind {
                ExternKind::Func if export.name.starts_with(KERNEL_PREFIX) => "kernel",
                ExternKind::Func => "function",
                ExternKind::Table => "table",
                ExternKind::Memory => "memory",
                ExternKind::Global => "global",
                ExternKind::Tag => "tag",
            },
            r#type: export_type(program, export.kind, export.index as usize).unwrap_or_default(),
            export: (name != export.name).then(|| export.name.clone()),
        }
    });
    Ok(Inspection {
        schema: SCHEMA,
        kind: "program",
        made_by: Vec::new(),
        functions: Functions {
            defined: meta.functions.len(),
            imported: meta.imported_funcs() as usize,
            named: !meta.names.is_empty(),
        },
        imports: services.chain(others).collect(),
        exports: exports.collect(),
        memories: (meta.memory_types().iter())
            .map(|memory| Memory {
                pages: memory.limits.min,
                max_pages: memory.limits.max,
                shared: memory.shared,
            })
            .collect(),
        words: Some(program.code.len()),
        fuel: meta.fuel_units(),
        compiled: Some(Compiled::of(program)),
        refused: refused(program),
        ..Inspection::default()
    })
}

/// The first import that a run would not find.
fn refused(program: &Program) -> Option<String> {
    let spawns = program.thread_start().is_some();
    let unknown = program.meta.imports.iter().find(|import| match import.ty {
        ExternType::Memory(ty) => !gpu_run::makes_memory(&import.module, &import.name, spawns && ty.shared),
        _ => true,
    });
    unknown.map(|import| format!("unknown import `{}.{}`", import.module, import.name))
}

fn function(program: &Program, ty: u32) -> Option<String> {
    program.meta.types.get(ty as usize).map(ToString::to_string)
}

fn import_type(program: &Program, ty: ExternType) -> Option<String> {
    match ty {
        ExternType::Func(ty) | ExternType::Tag(ty) => function(program, ty),
        ExternType::Table(ty) => Some(table(&ty)),
        ExternType::Memory(ty) => Some(limits(ty.limits, "pages")),
        ExternType::Global(ty) => Some(global(&ty)),
    }
}

fn export_type(program: &Program, kind: ExternKind, index: usize) -> Option<String> {
    let meta = &program.meta;
    match kind {
        ExternKind::Func => function(program, *meta.func_types().get(index)?),
        ExternKind::Table => meta.table_types().get(index).map(table),
        ExternKind::Memory => meta.memory_types().get(index).map(|ty| limits(ty.limits, "pages")),
        ExternKind::Global => meta.global_types().get(index).map(global),
        ExternKind::Tag => function(program, *meta.tag_types().get(index)?),
    }
}

fn table(ty: &TableType) -> String {
    format!("{} {}", ty.element, limits(ty.limits, "elements"))
}

fn global(ty: &GlobalType) -> String {
    let mutable = if ty.mutable { "mut " } else { "" };
    format!("{mutable}{}", ty.ty)
}

fn limits(limits: Limits, of: &str) -> String {
    match limits.max {
        Some(most) => format!("{} to {most} {of}", limits.min),
        None => format!("{} {of}", limits.min),
    }
}
