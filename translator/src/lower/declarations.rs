//! Everything but code: types, imports, tables, memories, globals, segments, names.

use gpu_run_bytecode::{
    ConstOp, Data, Element, Export, ExternKind, ExternType, FuncType, Global, GlobalType, Import, Limits, MemoryType,
    Meta, Op, Operand, Program, SegmentMode, THREAD_START, Table, TableType, ThreadLocals, ValType, wasi,
};
use wasmparser::{ExternalKind, Operator, TypeRef};

use super::wasi_calls::{signature as wasi_signature, used_as_value};
use super::{LowerErrorKind, Target, func_index, val_type};
use crate::module::{self, Const, ElementItems, Module};

/// Module name of the imports that are GPU opcodes.
pub const GPU_MODULE: &str = "gpu_run_v1";
/// Module name of the imports of the WASI before preview 1.
pub const OLD_WASI: &str = "wasi_unstable";
/// Module and name of the import by which programs for WASI's threads spawn one.
pub const WASI_SPAWN: (&str, &str) = ("wasi", "thread-spawn");

/// Fills in `program` but for its code; returns what each function index of the module means.
pub(super) fn lower(module: &Module<'_>, program: &mut Program) -> Result<Vec<Target>, LowerErrorKind> {
    let meta = &mut program.meta;
    for ty in &module.types {
        let list = |types: &[wasmparser::ValType]| types.iter().map(|ty| val_type(*ty)).collect::<Result<_, _>>();
        meta.types.push(FuncType {
            params: list(ty.params())?,
            results: list(ty.results())?,
        });
    }
    meta.tags = module.tags.iter().map(|tag| tag.func_type_idx).collect();
    let targets = functions(module, meta)?;
    for table in &module.tables {
        let init = match &table.init {
            Some(init) => constant(init, &targets)?,
            None => Vec::new(),
        };
        meta.tables.push(Table {
            ty: table_type(&table.ty)?,
            init,
        });
    }
    for memory in &module.memories {
        meta.memories.push(memory_type(memory)?);
    }
    for global in &module.globals {
        meta.globals.push(Global {
            ty: global_type(&global.ty)?,
            init: constant(&global.init, &targets)?,
        });
    }
    for export in &module.exports {
        let kind = match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => ExternKind::Func,
            ExternalKind::Table => ExternKind::Table,
            ExternalKind::Memory => ExternKind::Memory,
            ExternalKind::Global => ExternKind::Global,
            ExternalKind::Tag => ExternKind::Tag,
        };
        let index = if kind == ExternKind::Func {
            func_index(&targets, export.index)?
        } else {
            export.index
        };
        meta.exports.push(Export {
            name: export.name.to_owned(),
            kind,
            index,
        });
    }
    meta.start = module.start.map(|start| func_index(&targets, start)).transpose()?;
    for element in &module.elements {
        let (ty, items) = match &element.items {
            ElementItems::Functions(funcs) => {
                let items = funcs
                    .iter()
                    .map(|func| Ok(vec![ConstOp::RefFunc(func_index(&targets, *func)?)]));
                (ValType::FuncRef, items.collect::<Result<_, _>>()?)
            }
            ElementItems::Expressions(ty, exprs) => {
                let items = exprs.iter().map(|expr| constant(expr, &targets));
                (
                    val_type(wasmparser::ValType::Ref(*ty))?,
                    items.collect::<Result<_, _>>()?,
                )
            }
        };
        meta.elements.push(Element {
            mode: mode(&element.mode, &targets)?,
            ty,
            items,
        });
    }
    for data in &module.data {
        program.data.push(Data {
            mode: mode(&data.mode, &targets)?,
            bytes: data.bytes.to_vec(),
        });
    }
    meta.stack_pointer = stack_pointer(module, meta);
    meta.thread_locals = thread_locals(module, meta);
    Ok(targets)
}

fn unsupported(what: &str) -> LowerErrorKind {
    LowerErrorKind::Unsupported { what: what.to_owned() }
}

/// Imports, and the meaning of every function index.
fn functions(module: &Module<'_>, meta: &mut Meta) -> Result<Vec<Target>, LowerErrorKind> {
    let mut targets = Vec::with_capacity(module.func_count() as usize);
    let mut imported = 0;
    // The functions of WASI that are used as values.
    let mut wrapped = Vec::new();
    for import in &module.imports {
        let ty = match import.ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                let func_type = meta.types[ty as usize].clone();
                if import.module == GPU_MODULE || (import.module, import.name) == WASI_SPAWN {
                    let op = match import.module {
                        GPU_MODULE => gpu_op(import.name, &func_type)?,
                        _ => wasi_spawn(&func_type)?,
                    };
                    if op == Op::ThreadSpawn {
                        check_thread_start(module)?;
                    }
                    if import.module != GPU_MODULE {
                        check_shared_memory(module)?;
                    }
                    targets.push(Target::Gpu(op));
                    continue;
                }
                if import.module == OLD_WASI {
                    let name = import.name.to_owned();
                    return Err(LowerErrorKind::OldWasi { name });
                }
                if wasi::MODULES.contains(&import.module) {
                    let index = targets.len() as u32;
                    let function = wasi_function(import.module, import.name, &func_type)?;
                    if used_as_value(module, index) {
                        wrapped.push(index);
                    }
                    targets.push(Target::Wasi {
                        function,
                        wrapper: None,
                    });
                    continue;
                }
                meta.names.push(format!("{}.{}", import.module, import.name));
                targets.push(Target::Import {
                    index: imported,
                    ty: func_type,
                });
                imported += 1;
                ExternType::Func(ty)
            }
            TypeRef::Table(ty) => ExternType::Table(table_type(&ty)?),
            TypeRef::Memory(ty) => ExternType::Memory(memory_type(&ty)?),
            TypeRef::Global(ty) => ExternType::Global(global_type(&ty)?),
            TypeRef::Tag(ty) => ExternType::Tag(ty.func_type_idx),
        };
        meta.imports.push(Import {
            module: import.module.to_owned(),
            name: import.name.to_owned(),
            ty,
        });
    }
    for (i, func) in module.funcs.iter().enumerate() {
        meta.names
            .push(module.func_display_name((module.imported_funcs.len() + i) as u32));
        let ty = meta.types[func.ty as usize].clone();
        targets.push(Target::Defined {
            index: imported + i as u32,
            ty,
        });
    }
    for index in wrapped {
        let next = meta.names.len() as u32;
        if let Target::Wasi { function, wrapper } = &mut targets[index as usize] {
            let info = function.info();
            meta.names.push(format!("{}.{}", info.module, info.name));
            *wrapper = Some(next);
        }
    }
    Ok(targets)
}

/// The function of WASI or of the network that an import means.
fn wasi_function(module: &str, name: &str, found: &FuncType) -> Result<wasi::Function, LowerErrorKind> {
    let error = |what: String| LowerErrorKind::HostImport {
        import: format!("{module}.{name}"),
        found: found.to_string(),
        what,
    };
    let function = wasi::Function::by_import(module, name).ok_or_else(|| {
        error(match module {
            wasi::MODULE => "WASI preview 1 has no such function".into(),
            _ => "this version of gpu-run has no such function".into(),
        })
    })?;
    let wanted = wasi_signature(function);
    if *found != wanted {
        return Err(error(format!("its type must be {wanted}")));
    }
    Ok(function)
}

/// The opcode of WASI's function that spawns a thread.
fn wasi_spawn(found: &FuncType) -> Result<Op, LowerErrorKind> {
    let wanted = gpu_signature(Op::ThreadSpawn.info());
    if *found == wanted {
        return Ok(Op::ThreadSpawn);
    }
    Err(LowerErrorKind::HostImport {
        import: format!("{}.{}", WASI_SPAWN.0, WASI_SPAWN.1),
        found: found.to_string(),
        what: format!("its type must be {wanted}"),
    })
}

/// A module that spawns threads exports what they begin with.
fn check_thread_start(module: &Module<'_>) -> Result<(), LowerErrorKind> {
    let export = module.exports.iter().find(|export| export.name == THREAD_START);
    let is_function = |kind| matches!(kind, ExternalKind::Func | ExternalKind::FuncExact);
    let imported = module.imported_funcs.len() as u32;
    let ty = export
        .filter(|export| is_function(export.kind) && export.index >= imported)
        .map(|export| module.func_type(export.index));
    let i32s = [wasmparser::ValType::I32; 2];
    if !ty.is_some_and(|ty| *ty.params() == i32s && ty.results().is_empty()) {
        return Err(LowerErrorKind::NoThreadStart);
    }
    Ok(())
}

/// Programs for WASI's threads have a memory that these share.
fn check_shared_memory(module: &Module<'_>) -> Result<(), LowerErrorKind> {
    match module.memory0().is_some_and(|memory| memory.shared) {
        true => Ok(()),
        false => Err(LowerErrorKind::NoSharedMemory),
    }
}

/// The opcode that an import from `gpu_run_v1` means.
fn gpu_op(name: &str, found: &FuncType) -> Result<Op, LowerErrorKind> {
    let error = |what: String| LowerErrorKind::GpuImport {
        name: name.to_owned(),
        found: found.to_string(),
        what,
    };
    let info = Op::gpu_op(name).ok_or_else(|| error("this version of gpu-run has no such instruction".into()))?;
    let wanted = gpu_signature(info);
    if *found != wanted {
        return Err(error(format!("its type must be {wanted}")));
    }
    Ok(info.op)
}

/// The type with which modules import an opcode. A memory is memory 0 and an offset 0, so neither is there.
pub fn gpu_signature(info: &gpu_run_bytecode::OpInfo) -> FuncType {
    debug_assert!(info.op.is_importable());
    let mut ty = FuncType::default();
    for operand in info.operands {
        match operand {
            Operand::Def(result) => ty.results.push(gpu_value(*result)),
            Operand::Src(param) => ty.params.push(gpu_value(*param)),
            Operand::Address => ty.params.push(ValType::I32),
            _ => {}
        }
    }
    ty
}

/// Whether a call of an opcode from `gpu_run_v1` can reach the memory that it works on.
pub(super) fn check_memory(op: Op, memories: &[MemoryType]) -> Result<(), LowerErrorKind> {
    let found = match memories.first() {
        Some(memory) if memory.wide => "this module's has 64-bit addresses",
        None => "this module has no memory",
        Some(_) => return Ok(()),
    };
    if !op.needs_memory0() {
        return Ok(());
    }
    Err(LowerErrorKind::GpuMemory {
        name: op.info().name.to_owned(),
        found,
    })
}

/// The type of a value of an opcode that modules import.
pub fn gpu_value(ty: gpu_run_bytecode::Ty) -> ValType {
    use gpu_run_bytecode::Ty;
    match ty {
        Ty::F32 => ValType::F32,
        Ty::F64 => ValType::F64,
        _ if ty.units() == 1 => ValType::I32,
        _ => ValType::I64,
    }
}

fn limits(initial: u64, maximum: Option<u64>) -> Limits {
    Limits {
        min: initial,
        max: maximum,
    }
}

fn memory_type(ty: &wasmparser::MemoryType) -> Result<MemoryType, LowerErrorKind> {
    if ty.page_size_log2.is_some_and(|log| log != 16) {
        return Err(unsupported("a custom page size"));
    }
    Ok(MemoryType {
        limits: limits(ty.initial, ty.maximum),
        shared: ty.shared,
        wide: ty.memory64,
    })
}

fn table_type(ty: &wasmparser::TableType) -> Result<TableType, LowerErrorKind> {
    let element = val_type(wasmparser::ValType::Ref(ty.element_type))?;
    Ok(TableType {
        element,
        limits: limits(ty.initial, ty.maximum),
        wide: ty.table64,
    })
}

fn global_type(ty: &wasmparser::GlobalType) -> Result<GlobalType, LowerErrorKind> {
    Ok(GlobalType {
        ty: val_type(ty.content_type)?,
        mutable: ty.mutable,
    })
}

fn mode(mode: &module::SegmentMode<'_>, targets: &[Target]) -> Result<SegmentMode, LowerErrorKind> {
    Ok(match mode {
        module::SegmentMode::Active { index, offset } => SegmentMode::Active {
            index: *index,
            offset: constant(offset, targets)?,
        },
        module::SegmentMode::Passive => SegmentMode::Passive,
        module::SegmentMode::Declared => SegmentMode::Declared,
    })
}

fn constant(expr: &Const<'_>, targets: &[Target]) -> Result<Vec<ConstOp>, LowerErrorKind> {
    let ops = expr.ops.iter().map(|op| {
        Ok(match *op {
            Operator::I32Const { value } => ConstOp::I32(value),
            Operator::I64Const { value } => ConstOp::I64(value),
            Operator::F32Const { value } => ConstOp::F32(value.bits()),
            Operator::F64Const { value } => ConstOp::F64(value.bits()),
            Operator::V128Const { value } => ConstOp::V128(value.i128() as u128),
            Operator::GlobalGet { global_index } => ConstOp::GlobalGet(global_index),
            Operator::RefNull { .. } => ConstOp::RefNull,
            Operator::RefFunc { function_index } => ConstOp::RefFunc(func_index(targets, function_index)?),
            Operator::I32Add => ConstOp::I32Add,
            Operator::I32Sub => ConstOp::I32Sub,
            Operator::I32Mul => ConstOp::I32Mul,
            Operator::I64Add => ConstOp::I64Add,
            Operator::I64Sub => ConstOp::I64Sub,
            Operator::I64Mul => ConstOp::I64Mul,
            _ => return Err(unsupported(&format!("{op:?} in a constant expression"))),
        })
    });
    ops.collect()
}

/// Immutable defined globals whose value stands in the module: type and bits.
pub(super) fn constant_globals(meta: &Meta) -> Vec<Option<(ValType, u128)>> {
    let imported = meta.global_types().len() - meta.globals.len();
    let mut all = vec![None; imported];
    all.extend(meta.globals.iter().map(|global| {
        let bits = match global.init[..] {
            [ConstOp::I32(value)] => value as u32 as u128,
            [ConstOp::I64(value)] => value as u64 as u128,
            [ConstOp::F32(bits)] => bits as u128,
            [ConstOp::F64(bits)] => bits as u128,
            [ConstOp::V128(bits)] => bits,
            _ => return None,
        };
        (!global.ty.mutable).then_some((global.ty.ty, bits))
    }));
    all
}

/// Adds a global that begins with so much fuel. Each thread has its own, as of all mutable ones. Nothing in the module names it.
pub(super) fn add_fuel(meta: &mut Meta, units: u64) -> u32 {
    meta.fuel = Some(meta.globals.len() as u32);
    meta.globals.push(Global {
        ty: GlobalType::FUEL,
        init: vec![ConstOp::I64(units as i64)],
    });
    meta.global_types().len() as u32 - 1
}

/// The global that C and Rust compilers use as stack pointer: the one of that name. In a module
/// without names it is a first global that looks like theirs: mutable, i32, not exported, starting
/// above 1 KiB.
fn stack_pointer(module: &Module<'_>, meta: &Meta) -> Option<u32> {
    let globals = meta.global_types();
    let fits = |index: u32| {
        globals.get(index as usize)
            == Some(&GlobalType {
                ty: ValType::I32,
                mutable: true,
            })
    };
    if let Some(index) = module.global_called("__stack_pointer") {
        return fits(index).then_some(index);
    }
    let exports_first = module
        .exports
        .iter()
        .any(|e| e.kind == ExternalKind::Global && e.index == 0);
    let high = meta.globals.len() == globals.len()
        && matches!(meta.globals.first()?.init[..], [ConstOp::I32(start)] if start >= 1024);
    (!module.has_names && fits(0) && high && !exports_first).then_some(0)
}

/// The thread-local storage of a module for threads: linkers name its globals.
fn thread_locals(module: &Module<'_>, meta: &Meta) -> Option<ThreadLocals> {
    let base = module.global_called("__tls_base").filter(|_| meta.is_threaded())?;
    let global = *meta.global_types().get(base as usize)?;
    // Without thread-locals a linker may leave an immutable 0 there.
    if global.ty != ValType::I32 || !global.mutable {
        return None;
    }
    let constants = constant_globals(meta);
    let constant = |name| match constants.get(module.global_called(name)? as usize)? {
        Some((ValType::I32, bits)) => Some(*bits as u32),
        _ => None,
    };
    let block = constant("__tls_size").zip(constant("__tls_align").filter(|align| align.is_power_of_two()));
    Some(ThreadLocals { base, block })
}
