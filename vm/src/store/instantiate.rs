//! Instantiation: a program becomes an instance of a store.

use std::sync::Arc;

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Clause, ConstOp, ExternType, GlobalType, Limits, Op, Program, SegmentMode, TrapKind};

use super::{Extern, InstanceId, InstanceInfo, RunOptions, Sink, Store, StoreError, Value};
use crate::cuda::code::Code;
use crate::device::DeviceResult;
use crate::layout::{self, Ptr};

impl Store {
    /// Instantiates a verified program. It links its imports, which `resolve` looks up by module
    /// and name. Then it lays out its parts, copies its active segments, and runs its start
    /// function on one thread.
    ///
    /// # Errors
    ///
    /// Besides the device's: missing or incompatible imports; a trap, after which the parts that
    /// were already written stay written, as the specification has it.
    pub fn instantiate(
        &mut self,
        program: Arc<Program>,
        resolve: impl FnMut(&str, &str) -> Option<Extern>,
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<InstanceId, StoreError> {
        self.instantiate_compiled(program, None, resolve, options, sink)
    }

    /// Instantiates a program as [`Store::instantiate`] does, with the code that was compiled from it for
    /// [`Store::next_code_start`], if any. A function that is one of its entries, or its start function, runs compiled
    /// on one condition. Every instance of the store must be compiled and have been linked together with it. Else it is
    /// interpreted.
    ///
    /// # Errors
    ///
    /// As [`Store::instantiate`].
    pub fn instantiate_compiled(
        &mut self,
        program: Arc<Program>,
        code: Option<&Code>,
        mut resolve: impl FnMut(&str, &str) -> Option<Extern>,
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<InstanceId, StoreError> {
        let meta = &program.meta;
        let mut info = InstanceInfo {
            program: program.clone(),
            code_start: 0,
            funcs: Vec::new(),
            tables: Vec::new(),
            memories: Vec::new(),
            globals: Vec::new(),
            tags: Vec::new(),
            thread_locals: Vec::new(),
            code: None,
            thread_start: None,
        };
        for import in &meta.imports {
            let unknown = || StoreError::UnknownImport {
                module: import.module.clone(),
                name: import.name.clone(),
            };
            let found = resolve(&import.module, &import.name).ok_or_else(unknown)?;
            let incompatible = |what| StoreError::IncompatibleImport {
                module: import.module.clone(),
                name: import.name.clone(),
                what,
            };
            self.check_import(&program, import.ty, found)?.map_err(incompatible)?;
            match found {
                Extern::Func(index) => info.funcs.push(index),
                Extern::Table(index) => info.tables.push(index),
                Extern::Memory(index) => info.memories.push(index),
                Extern::Global(index) => info.globals.push(index),
                Extern::Tag(index) => info.tags.push(index),
            }
        }
        let services = options.environment.as_ref().map(|environment| &environment.services);
        for (number, function) in (0..).zip(&meta.host_functions) {
            if !services.is_some_and(|services| services.has_host_function(number)) {
                return Err(StoreError::UnknownImport {
                    module: function.module.clone(),
                    name: function.name.clone(),
                });
            }
        }
        if code.is_none() {
            self.device.prepare_interpreter()?;
        }
        let number = self.instance_infos.len() as u32;
        info.code_start = self.push_program(&program, code.is_some_and(|code| code.mixed))?;
        let types: Vec<u32> = meta.types.iter().map(|ty| self.intern(ty)).collect();
        for function in &meta.functions {
            let func = layout::Func {
                kind: layout::FUNC_WASM,
                instance: number,
                pc: info.code_start + function.start,
                type_index: types[function.ty as usize],
            };
            let index = self.add_func(func, meta.types[function.ty as usize].clone())?;
            info.funcs.push(index);
        }
        for tag in &meta.tags {
            self.tags.push(meta.types[*tag as usize].clone());
            info.tags.push(self.tags.len() as u32 - 1);
        }
        self.place_handlers(&info)?;
        for memory in &meta.memories {
            let Extern::Memory(index) = self.add_memory(*memory)? else {
                unreachable!("a memory was added")
            };
            info.memories.push(index);
        }
        self.prepare_heap(&program, &info.memories)?;
        for global in &meta.globals {
            let bits = self.evaluate(&info, &global.init)?;
            info.globals.push(self.push_global(global.ty, bits)?);
        }
        for table in &meta.tables {
            let Extern::Table(index) = self.add_table(table.ty)? else {
                unreachable!("a table was added")
            };
            info.tables.push(index);
            let bits = self.evaluate(&info, &table.init)? as u32;
            if bits != 0 {
                self.write_table(index, 0, &vec![bits; table.ty.limits.min as usize])?;
            }
        }
        let elements = meta.elements.iter().map(|element| {
            element
                .items
                .iter()
                .map(|item| Ok(self.evaluate(&info, item)? as u32))
                .collect::<Result<Vec<u32>, StoreError>>()
        });
        let elements = elements.collect::<Result<Vec<_>, _>>()?;

        info.thread_start = program.thread_start().map(|index| info.funcs[index as usize]);
        self.place_instance(&program, &info, &types, &elements)?;
        self.max_frame = self.max_frame.max(meta.max_frame);
        for (_, inst) in instructions(&program.code) {
            let Ok(inst) = inst else { continue };
            self.sends_debug |= inst.op.is_debug();
            self.waits |= matches!(inst.op, Op::MemoryAtomicWait32 | Op::MemoryAtomicWait64);
            self.waits_unshared |= inst.op == Op::FrameWait;
        }
        if info.thread_start.is_some() {
            self.fresh_globals = vec![0; self.globals.len as usize];
            // SAFETY: as long as that; no kernel runs.
            unsafe { self.device.read(self.globals.ptr, &mut self.fresh_globals)? };
        }
        self.instance_infos.push(info);
        if let Some(code) = code {
            self.load_code(number, code)?;
        }
        let id = InstanceId(number);
        self.copy_segments(id, &program, &elements)?;
        if let Some(start) = meta.start {
            let func = self.instance_infos[number as usize].funcs[start as usize];
            self.run_start(func, options, sink)?;
        }
        self.instance_infos[number as usize].thread_locals = self.thread_locals(number)?;
        Ok(id)
    }

    /// Adds the program's exception tables to the store's, in the store's words and tags.
    fn place_handlers(&mut self, info: &InstanceInfo) -> DeviceResult<()> {
        let start = info.code_start;
        let (mut first_try, mut first_clause) = ((self.tries.len / 16) as u32, (self.clauses.len / 16) as u32);
        let (mut functions, mut tries, mut clauses) = (Vec::new(), Vec::new(), Vec::new());
        let units = |clause: &Clause| {
            clause
                .tag
                .map_or(0, |tag| self.tags[info.tags[tag as usize] as usize].param_units())
        };
        for function in info.program.meta.functions.iter().filter(|f| !f.tries.is_empty()) {
            functions.push(layout::TryFunction {
                start: start + function.start,
                end: start + function.end,
                first_try,
                try_count: function.tries.len() as u32,
            });
            first_try += function.tries.len() as u32;
            for range in &function.tries {
                tries.push(layout::Try {
                    start: start + range.start,
                    end: start + range.end,
                    first_clause,
                    clause_count: range.clauses.len() as u32,
                });
                first_clause += range.clauses.len() as u32;
                clauses.extend(range.clauses.iter().map(|clause| layout::Clause {
                    tag: clause.tag.map_or(u32::MAX, |tag| info.tags[tag as usize]),
                    reference: clause.reference as u32,
                    unit: clause.unit | units(clause) << 16,
                    target: start + clause.target,
                }));
            }
        }
        let device = &mut *self.device;
        self.try_functions.push(device, bytemuck::cast_slice(&functions))?;
        self.tries.push(device, bytemuck::cast_slice(&tries))?;
        self.clauses.push(device, bytemuck::cast_slice(&clauses))?;
        Ok(())
    }

    /// The contents of a new thread's thread-local storage. The start function that linkers make has
    /// set up the first thread's, which is still as it was made.
    fn thread_locals(&mut self, instance: u32) -> DeviceResult<Vec<u8>> {
        let info = &self.instance_infos[instance as usize];
        let Some((base, (size, _))) = info.program.meta.thread_locals.and_then(|l| Some((l.base, l.block?))) else {
            return Ok(Vec::new());
        };
        let (base, memory) = (info.globals[base as usize], info.memories[0]);
        let base = self.global(base)?.bits() as u64;
        let record = self.fetch::<layout::Memory>(self.memory_infos[memory as usize].record)?;
        if base + size as u64 > record.size {
            return Ok(Vec::new());
        }
        let mut image = vec![0; size as usize];
        // SAFETY: in bounds, and no kernel runs.
        unsafe { self.device.read(record.base + base, &mut image)? };
        Ok(image)
    }

    /// Writes the instance's record and the arrays that it points to.
    fn place_instance(
        &mut self,
        program: &Program,
        info: &InstanceInfo,
        types: &[u32],
        elements: &[Vec<u32>],
    ) -> Result<(), StoreError> {
        let mut memories: Vec<Ptr> = info
            .memories
            .iter()
            .map(|index| self.memory_infos[*index as usize].record)
            .collect();
        if memories.is_empty() {
            memories.push(self.no_memory);
        }
        let tables: Vec<Ptr> = info
            .tables
            .iter()
            .map(|index| self.table_infos[*index as usize].record)
            .collect();
        let slots = info.globals.iter().map(|index| self.global_infos[*index as usize].slot);
        let globals: Vec<u32> = slots.collect();
        let mut data = Vec::new();
        for segment in &program.data {
            // An active segment counts as dropped once it was copied.
            data.push(match segment.mode {
                SegmentMode::Passive => layout::DataSegment {
                    // Whole words, because the kernel reads it so.
                    bytes: self.place_all(&whole_words(&segment.bytes), "a data segment")?,
                    len: segment.bytes.len() as u64,
                },
                _ => layout::DataSegment { bytes: 0, len: 0 },
            });
        }
        let mut elems = Vec::new();
        for (segment, refs) in program.meta.elements.iter().zip(elements) {
            elems.push(match segment.mode {
                SegmentMode::Passive => layout::ElemSegment {
                    refs: self.place_all(refs, "an element segment")?,
                    len: refs.len() as u64,
                },
                _ => layout::ElemSegment { refs: 0, len: 0 },
            });
        }
        let record = layout::Instance {
            memories: self.place_all(&memories, "an instance")?,
            tables: self.place_all(&tables, "an instance")?,
            globals: self.place_all(&globals, "an instance")?,
            funcs: self.place_all(&info.funcs, "an instance")?,
            types: self.place_all(types, "an instance")?,
            data: self.place_all(&data, "an instance")?,
            elems: self.place_all(&elems, "an instance")?,
            tags: self.place_all(&info.tags, "an instance")?,
            memory_count: info.memories.len() as u32,
            thread_start: info.thread_start.map_or(0, |func| func + 1),
        };
        self.instances.push(&mut *self.device, bytemuck::bytes_of(&record))?;
        Ok(())
    }

    /// Copies active segments, in order; the first that does not fit is a trap.
    fn copy_segments(&mut self, id: InstanceId, program: &Program, elements: &[Vec<u32>]) -> Result<(), StoreError> {
        for (segment, refs) in program.meta.elements.iter().zip(elements) {
            let SegmentMode::Active { index, offset } = &segment.mode else {
                continue;
            };
            let info = &self.instance_infos[id.0 as usize];
            let (table, globals) = (info.tables[*index as usize], info.globals.clone());
            let offset = self.evaluate_with(&globals, &[], offset)? as u64;
            let size = self
                .fetch::<layout::Table>(self.table_infos[table as usize].record)?
                .size;
            if offset.saturating_add(refs.len() as u64) > size as u64 {
                return Err(Store::trap(TrapKind::TableOutOfBounds));
            }
            self.write_table(table, offset as u32, refs)?;
        }
        for segment in &program.data {
            let SegmentMode::Active { index, offset } = &segment.mode else {
                continue;
            };
            let info = &self.instance_infos[id.0 as usize];
            let (memory, globals) = (info.memories[*index as usize], info.globals.clone());
            let offset = self.evaluate_with(&globals, &[], offset)? as u64;
            let record = self.fetch::<layout::Memory>(self.memory_infos[memory as usize].record)?;
            if offset.saturating_add(segment.bytes.len() as u64) > record.size {
                return Err(Store::trap(TrapKind::MemoryOutOfBounds));
            }
            // SAFETY: in bounds, and no kernel runs.
            unsafe { self.device.write(record.base + offset, &segment.bytes)? };
        }
        Ok(())
    }

    /// What a table holds: 0 for null, else 1 more than a number.
    pub(super) fn table_elements(&mut self, record: &layout::Table) -> DeviceResult<Vec<u32>> {
        let mut elements = vec![0u32; record.size as usize];
        // SAFETY: the table's elements, and no kernel runs.
        unsafe {
            self.device
                .read(record.elements, bytemuck::cast_slice_mut(&mut elements))?
        };
        Ok(elements)
    }

    fn write_table(&mut self, table: u32, at: u32, refs: &[u32]) -> DeviceResult<()> {
        let record = self.fetch::<layout::Table>(self.table_infos[table as usize].record)?;
        // SAFETY: callers checked the bounds, and no kernel runs.
        unsafe {
            self.device
                .write(record.elements + at as u64 * 4, bytemuck::cast_slice(refs))
        }
    }

    /// Whether `found` may stand for an import of type `wanted`; says what differs.
    fn check_import(
        &mut self,
        program: &Program,
        wanted: ExternType,
        found: Extern,
    ) -> Result<Result<(), String>, StoreError> {
        let limits_fit = |size: u64, found: Limits, wanted: Limits| {
            let max_fits = match (found.max, wanted.max) {
                (_, None) => true,
                (Some(found), Some(wanted)) => found <= wanted,
                (None, Some(_)) => false,
            };
            size >= wanted.min && max_fits
        };
        Ok(match (wanted, found) {
            (ExternType::Func(ty), Extern::Func(index)) => {
                let (wanted, found) = (&program.meta.types[ty as usize], self.func_type(index));
                if wanted == found {
                    Ok(())
                } else {
                    Err(format!("expected a function {wanted}, found {found}"))
                }
            }
            (ExternType::Global(wanted), Extern::Global(index)) => {
                let found = self.global_infos[index as usize].ty;
                if wanted == found {
                    Ok(())
                } else {
                    Err(format!("expected a global {wanted:?}, found {found:?}"))
                }
            }
            (ExternType::Table(wanted), Extern::Table(index)) => {
                let (found, record) = (
                    self.table_infos[index as usize].ty,
                    self.table_infos[index as usize].record,
                );
                let size = self.fetch::<layout::Table>(record)?.size as u64;
                let fits = wanted.element == found.element
                    && wanted.wide == found.wide
                    && limits_fit(size, found.limits, wanted.limits);
                if fits {
                    Ok(())
                } else {
                    Err(format!("expected a table {wanted:?}, found {found:?}"))
                }
            }
            (ExternType::Memory(wanted), Extern::Memory(index)) => {
                let (found, record) = (
                    self.memory_infos[index as usize].ty,
                    self.memory_infos[index as usize].record,
                );
                let pages = self.fetch::<layout::Memory>(record)?.size / layout::PAGE;
                let fits = wanted.shared == found.shared
                    && wanted.wide == found.wide
                    && limits_fit(pages, found.limits, wanted.limits);
                if fits {
                    Ok(())
                } else {
                    Err(format!("expected a memory {wanted:?}, found {found:?}"))
                }
            }
            (ExternType::Tag(ty), Extern::Tag(index)) => {
                let (wanted, found) = (&program.meta.types[ty as usize], &self.tags[index as usize]);
                if wanted == found {
                    Ok(())
                } else {
                    Err(format!("expected a tag {wanted}, found {found}"))
                }
            }
            _ => Err("it is of another kind".into()),
        })
    }

    fn evaluate(&mut self, info: &InstanceInfo, expr: &[ConstOp]) -> Result<u128, StoreError> {
        self.evaluate_with(&info.globals, &info.funcs, expr)
    }

    /// Value bits of a constant expression; empty is null.
    fn evaluate_with(&mut self, globals: &[u32], funcs: &[u32], expr: &[ConstOp]) -> Result<u128, StoreError> {
        let mut stack: Vec<u128> = Vec::new();
        for op in expr {
            let value = match *op {
                ConstOp::I32(value) => value as u32 as u128,
                ConstOp::I64(value) => value as u64 as u128,
                ConstOp::F32(bits) => bits as u128,
                ConstOp::F64(bits) => bits as u128,
                ConstOp::V128(bits) => bits,
                ConstOp::GlobalGet(index) => self.global(globals[index as usize])?.bits(),
                ConstOp::RefNull => 0,
                ConstOp::RefFunc(index) => funcs[index as usize] as u128 + 1,
                op => {
                    let (b, a) = (stack.pop().unwrap_or(0) as u64, stack.pop().unwrap_or(0) as u64);
                    let value = match op {
                        ConstOp::I32Add | ConstOp::I64Add => a.wrapping_add(b),
                        ConstOp::I32Sub | ConstOp::I64Sub => a.wrapping_sub(b),
                        _ => a.wrapping_mul(b),
                    };
                    match op {
                        ConstOp::I32Add | ConstOp::I32Sub | ConstOp::I32Mul => value as u32 as u128,
                        _ => value as u128,
                    }
                }
            };
            stack.push(value);
        }
        Ok(stack.pop().unwrap_or(0))
    }

    /// Type of a global.
    pub fn global_type(&self, global: u32) -> GlobalType {
        self.global_infos[global as usize].ty
    }

    /// Sets the value of a global (its type's bits).
    pub fn set_global(&mut self, global: u32, value: Value) -> DeviceResult<()> {
        let info = &self.global_infos[global as usize];
        let (at, bytes) = (self.globals.ptr + info.slot as u64 * 8, info.bytes());
        // SAFETY: a global of the block, and no kernel runs.
        unsafe { self.device.write(at, &value.bits().to_le_bytes()[..bytes]) }
    }
}

/// Bytes filled up to a multiple of 8.
fn whole_words(bytes: &[u8]) -> Vec<u8> {
    let mut words = bytes.to_vec();
    words.resize(bytes.len().next_multiple_of(8), 0);
    words
}
