//! A program that begins where an instance stands, as Wizer makes one of a module.
//!
//! Memories, globals and tables become the program's initial ones. Segments that were copied or dropped are empty; those that
//! the program may still copy stay. Code is the same, and so are all indices.

use gpu_run_bytecode::{ConstExpr, ConstOp, Data, Element, ExternType, Program, SegmentMode, ValType};

use super::processes::parts_at_most;
use super::{InstanceId, Store, Value, allocates};
use crate::device::{DeviceError, DeviceResult};
use crate::layout;

/// Segments that a memory becomes at most.
const MOST_PARTS: usize = 1 << 14;

/// Why an instance has no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It imports a memory, a table or a global.
    #[error("the module imports a memory, a table or a global, which a snapshot does not hold")]
    Imports,
    /// It is built for threads.
    #[error("the module is built for threads, whose stacks and states are not part of a snapshot")]
    Threads,
    /// It uses the device's heap.
    #[error("the program uses the device's heap, whose records are not part of a snapshot")]
    Heap,
    /// It holds a reference that a module cannot begin with.
    #[error("a {0} holds a reference that no module can begin with")]
    Reference(&'static str),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// An initial value.
fn constant(value: Value, function: impl Fn(u32) -> Option<u32>) -> Option<ConstExpr> {
    let op = match value {
        Value::I32(value) => ConstOp::I32(value),
        Value::I64(value) => ConstOp::I64(value),
        Value::F32(bits) => ConstOp::F32(bits),
        Value::F64(bits) => ConstOp::F64(bits),
        Value::V128(bits) => ConstOp::V128(bits),
        Value::FuncRef(None) | Value::ExternRef(None) | Value::ExnRef(None) => ConstOp::RefNull,
        Value::FuncRef(Some(number)) => ConstOp::RefFunc(function(number)?),
        Value::ExternRef(Some(_)) | Value::ExnRef(Some(_)) => return None,
    };
    Some(vec![op])
}

/// An offset of a segment, in a memory or table with addresses of 64 bits or not.
fn offset(at: u64, wide: bool) -> ConstExpr {
    vec![match wide {
        true => ConstOp::I64(at as i64),
        false => ConstOp::I32(at as i32),
    }]
}

impl Store {
    /// The program of an instance as it is now: one whose instances begin with what its memories, globals and tables hold,
    /// and start nothing. Requests under way, open files and connections are not part of it. No kernel runs.
    ///
    /// # Errors
    ///
    /// Something that the instance holds cannot be part of a program; the driver's.
    pub fn snapshot(&mut self, instance: InstanceId) -> Result<Program, SnapshotError> {
        let info = &self.instance_infos[instance.0 as usize];
        let mut program = Program::clone(&info.program);
        let (memories, tables) = (info.memories.clone(), info.tables.clone());
        let (globals, functions) = (info.globals.clone(), info.funcs.clone());
        let meta = &program.meta;
        if meta.is_threaded() || program.thread_start().is_some() {
            return Err(SnapshotError::Threads);
        }
        let holds =
            |ty: &ExternType| matches!(ty, ExternType::Memory(_) | ExternType::Table(_) | ExternType::Global(_));
        if meta.imports.iter().any(|import| holds(&import.ty)) {
            return Err(SnapshotError::Imports);
        }
        if allocates(&program) {
            return Err(SnapshotError::Heap);
        }
        self.empty_segments(instance, &mut program)?;
        for (index, memory) in memories.into_iter().enumerate() {
            let bytes = self.memory(memory)?;
            let ty = &mut program.meta.memories[index];
            ty.limits.min = bytes.len() as u64 / 65536;
            let wide = ty.wide;
            program
                .data
                .extend(parts_at_most(MOST_PARTS, &bytes).into_iter().map(|part| Data {
                    mode: SegmentMode::Active {
                        index: index as u32,
                        offset: offset(part.start as u64, wide),
                    },
                    bytes: bytes[part].to_vec(),
                }));
        }
        let number = |function: u32| functions.iter().position(|other| *other == function);
        let function = |function: u32| number(function).map(|index| index as u32);
        for (index, global) in globals.into_iter().enumerate() {
            let init = constant(self.global(global)?, function);
            program.meta.globals[index].init = init.ok_or(SnapshotError::Reference("global"))?;
        }
        for (index, table) in tables.into_iter().enumerate() {
            let record = self.fetch(self.table_infos[table as usize].record)?;
            let elements = self.table_elements(&record)?;
            let table = &mut program.meta.tables[index];
            (table.init, table.ty.limits.min) = (Vec::new(), elements.len() as u64);
            let len = elements
                .iter()
                .rposition(|element| *element != 0)
                .map_or(0, |last| last + 1);
            // An element is 1 more than the number of what it refers to.
            let value = |element: &u32| match (table.ty.element, element.checked_sub(1)) {
                (ValType::FuncRef, number) => Value::FuncRef(number),
                (_, number) => Value::ExternRef(number),
            };
            let items = elements[..len].iter().map(|element| constant(value(element), function));
            let items: Option<Vec<ConstExpr>> = items.collect();
            program.meta.elements.push(Element {
                mode: SegmentMode::Active {
                    index: index as u32,
                    offset: offset(0, table.ty.wide),
                },
                ty: table.ty.element,
                items: items.ok_or(SnapshotError::Reference("table"))?,
            });
        }
        program.meta.start = None;
        Ok(program)
    }

    /// Empties the segments that were copied at the beginning, and those that the instance has dropped.
    fn empty_segments(&mut self, instance: InstanceId, program: &mut Program) -> DeviceResult<()> {
        let at = self.instances.ptr + u64::from(instance.0) * size_of::<layout::Instance>() as u64;
        let record = self.fetch::<layout::Instance>(at)?;
        let (memories, tables) = (program.meta.memory_types(), program.meta.table_types());
        for (number, segment) in (0u64..).zip(&mut program.data) {
            let at = record.data + number * size_of::<layout::DataSegment>() as u64;
            let dropped = self.fetch::<layout::DataSegment>(at)?.len == 0;
            if let SegmentMode::Active { index, offset: at } = &mut segment.mode {
                *at = offset(0, memories[*index as usize].wide);
                segment.bytes.clear();
            } else if dropped {
                segment.bytes.clear();
            }
        }
        for (number, segment) in (0u64..).zip(&mut program.meta.elements) {
            let at = record.elems + number * size_of::<layout::ElemSegment>() as u64;
            let dropped = self.fetch::<layout::ElemSegment>(at)?.len == 0;
            match &mut segment.mode {
                SegmentMode::Active { index, offset: at } => {
                    *at = offset(0, tables[*index as usize].wide);
                    segment.items.clear();
                }
                SegmentMode::Passive if dropped => segment.items.clear(),
                // What it declares, code refers to.
                SegmentMode::Passive | SegmentMode::Declared => {}
            }
        }
        Ok(())
    }
}
