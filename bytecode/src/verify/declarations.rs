//! Verification of everything but code.

use super::{MAX_INDEX_SPACE, Spaces, VerifyError, error};
use crate::program::{ConstOp, ExternKind, ExternType, GlobalType, Limits, SegmentMode, ValType};

pub(super) fn verify(spaces: &Spaces<'_>) -> Result<(), VerifyError> {
    let program = spaces.program;
    let meta = &program.meta;
    let types = meta.types.len();
    for (i, import) in meta.imports.iter().enumerate() {
        if matches!(import.ty, ExternType::Func(ty) | ExternType::Tag(ty) if ty as usize >= types) {
            return error(format!("import {i}"), "no such type");
        }
    }
    if let Some(tag) = spaces
        .tags
        .iter()
        .position(|ty| *ty as usize >= types || !meta.types[*ty as usize].results.is_empty())
    {
        return error(format!("tag {tag}"), "its type is missing or has results");
    }
    if let Some(ty) = spaces.func_types.iter().find(|ty| **ty as usize >= types) {
        return error("functions", format!("no type {ty}"));
    }
    let spaces_len = [
        spaces.func_types.len(),
        spaces.globals.len(),
        spaces.tables.len(),
        spaces.memories.len(),
        program.data.len(),
        meta.elements.len(),
        spaces.tags.len(),
        types,
    ];
    if program.code.len() > i32::MAX as usize || spaces_len.into_iter().any(|len| len > MAX_INDEX_SPACE) {
        return error(
            "program",
            "more functions, globals, segments or code than any module has",
        );
    }
    if meta.max_frame > u16::MAX as u32 + 1 {
        return error("program", format!("frames of {} units", meta.max_frame));
    }
    for (i, memory) in spaces.memories.iter().enumerate() {
        let most = if memory.wide { 1 << 48 } else { 1 << 16 };
        limits(format!("memory {i}"), memory.limits, most)?;
        if memory.shared && memory.limits.max.is_none() {
            return error(format!("memory {i}"), "it is shared and has no maximum");
        }
    }
    for (i, table) in spaces.tables.iter().enumerate() {
        let most = if table.wide { u64::MAX } else { u32::MAX as u64 };
        limits(format!("table {i}"), table.limits, most)?;
        if !table.element.is_ref() {
            return error(format!("table {i}"), "its elements are no references");
        }
    }
    for (i, table) in meta.tables.iter().enumerate() {
        if !table.init.is_empty() {
            constant(spaces, &format!("table {i}"), &table.init, table.ty.element)?;
        }
    }
    for (i, global) in meta.globals.iter().enumerate() {
        let place = format!("global {i}");
        // A global's value may depend on those before it only.
        let known = (spaces.globals.len() - meta.globals.len() + i) as u32;
        if global
            .init
            .iter()
            .any(|op| matches!(op, ConstOp::GlobalGet(index) if *index >= known))
        {
            return error(place, "its value depends on a global that comes later");
        }
        constant(spaces, &place, &global.init, global.ty.ty)?;
    }
    for export in &meta.exports {
        let len = match export.kind {
            ExternKind::Func => spaces.func_types.len(),
            ExternKind::Table => spaces.tables.len(),
            ExternKind::Memory => spaces.memories.len(),
            ExternKind::Global => spaces.globals.len(),
            ExternKind::Tag => spaces.tags.len(),
        };
        if export.index as usize >= len {
            return error(format!("export `{}`", export.name), "nothing has its index");
        }
    }
    if let Some(start) = meta.start {
        let exists = (start as usize) < spaces.func_types.len();
        if !exists || *spaces.func_type(start) != Default::default() {
            return error("start function", "missing, or its type is not () -> ()");
        }
    }
    for (i, element) in meta.elements.iter().enumerate() {
        let place = format!("element segment {i}");
        if !element.ty.is_ref() {
            return error(place, "its items are no references");
        }
        for item in &element.items {
            constant(spaces, &place, item, element.ty)?;
        }
        if let SegmentMode::Active { index, offset } = &element.mode {
            let Some(table) = spaces
                .tables
                .get(*index as usize)
                .filter(|table| table.element == element.ty)
            else {
                return error(place, "its table is missing or of another type");
            };
            constant(spaces, &place, offset, address_type(table.wide))?;
        }
    }
    for (i, data) in program.data.iter().enumerate() {
        let place = format!("data segment {i}");
        if let SegmentMode::Active { index, offset } = &data.mode {
            let Some(memory) = spaces.memories.get(*index as usize) else {
                return error(place, "its memory is missing");
            };
            constant(spaces, &place, offset, address_type(memory.wide))?;
        }
    }
    let no_pointer = |index: u32| {
        let global = spaces.globals.get(index as usize);
        global.is_none_or(|g| g.ty != ValType::I32 || !g.mutable)
    };
    if meta.stack_pointer.is_some_and(no_pointer) {
        return error("stack pointer", "no mutable i32 global has its index");
    }
    let no_counter = |index: u32| {
        let global = meta.globals.get(index as usize);
        global.is_none_or(|global| global.ty != GlobalType::FUEL)
    };
    if meta.fuel.is_some_and(no_counter) {
        return error("fuel", "no mutable i64 global of the program's own has its index");
    }
    if let Some(locals) = meta.thread_locals {
        if no_pointer(locals.base) {
            return error("thread-local storage", "no mutable i32 global has its base's index");
        }
        if locals.block.is_some_and(|(_, align)| !align.is_power_of_two()) {
            return error("thread-local storage", "its alignment is no power of two");
        }
        if spaces.memories.first().is_none_or(|memory| memory.wide) {
            return error("thread-local storage", "there is no 32-bit memory to hold it");
        }
    }
    if !program.source_map.is_sorted_by_key(|place| place.pc) {
        return error("source map", "not in order of the code");
    }
    for (i, site) in meta.inline_sites.iter().enumerate() {
        // Parents come first, so that walking a chain ends.
        if site.parent != u32::MAX && site.parent as usize >= i {
            return error(format!("inline site {i}"), "its parent does not come before it");
        }
    }
    Ok(())
}

/// Type of addresses in a memory or table.
fn address_type(wide: bool) -> ValType {
    if wide { ValType::I64 } else { ValType::I32 }
}

fn limits(place: String, limits: Limits, most: u64) -> Result<(), VerifyError> {
    if limits.min > most || limits.max.is_some_and(|max| max > most || max < limits.min) {
        return error(place, "impossible limits");
    }
    Ok(())
}

fn constant(spaces: &Spaces<'_>, place: &str, expr: &[ConstOp], ty: ValType) -> Result<(), VerifyError> {
    let mut stack: Vec<Option<ValType>> = Vec::new();
    for op in expr {
        let push = match *op {
            ConstOp::I32(_) => Some(ValType::I32),
            ConstOp::I64(_) => Some(ValType::I64),
            ConstOp::F32(_) => Some(ValType::F32),
            ConstOp::F64(_) => Some(ValType::F64),
            ConstOp::V128(_) => Some(ValType::V128),
            ConstOp::GlobalGet(index) => match spaces.globals.get(index as usize) {
                Some(global) => Some(global.ty),
                None => return error(place, format!("no global {index}")),
            },
            // Null is of either reference type.
            ConstOp::RefNull => None,
            ConstOp::RefFunc(index) if (index as usize) < spaces.func_types.len() => Some(ValType::FuncRef),
            ConstOp::RefFunc(index) => return error(place, format!("no function {index}")),
            ConstOp::I32Add | ConstOp::I32Sub | ConstOp::I32Mul => binary(place, &mut stack, ValType::I32)?,
            ConstOp::I64Add | ConstOp::I64Sub | ConstOp::I64Mul => binary(place, &mut stack, ValType::I64)?,
        };
        stack.push(push);
    }
    let fits = match stack[..] {
        [Some(found)] => found == ty,
        [None] => ty.is_ref(),
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        error(place, format!("its constant is not one {ty}"))
    }
}

fn binary(place: &str, stack: &mut Vec<Option<ValType>>, ty: ValType) -> Result<Option<ValType>, VerifyError> {
    match (stack.pop(), stack.pop()) {
        (Some(Some(a)), Some(Some(b))) if a == ty && b == ty => Ok(Some(ty)),
        _ => error(place, "a constant's operands are missing or of another type"),
    }
}
