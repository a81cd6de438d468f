//! Modules in which nearly every instruction runs: nested expressions of all instructions that
//! compute, few traps and no dead code. wasm-smith's modules are wild; these are dense.

use fastrand::Rng;
use wasm_encoder::{
    BlockType, Catch, CodeSection, ConstExpr, ElementSection, Elements, Encode, Function, FunctionSection,
    GlobalSection, GlobalType, Instruction, MemorySection, MemoryType, Module, RefType, TableSection, TableType,
    TagKind, TagSection, TagType, TypeSection, ValType,
};

use crate::mutate::EDGES;
use crate::operations::{Immediate, Operation, operations};
use crate::proposals::Proposal;

/// Bits that addresses have, besides constant offsets; a memory has one page of 16 bits.
const ADDRESS: i32 = 0xff8;
/// The tag's value.
const THROWN: ValType = ValType::I64;

struct Signature {
    params: Vec<ValType>,
    results: Vec<ValType>,
}

struct Dense<'r> {
    rng: &'r mut Rng,
    operations: Vec<Operation>,
    types: Vec<ValType>,
    memories: Vec<MemoryType>,
    functions: Vec<Signature>,
    tail_calls: bool,
    exceptions: bool,
    /// Of the function that is made: its number, and types of its locals.
    current: u32,
    locals: Vec<ValType>,
    code: Vec<u8>,
    /// What may still be written of the function.
    budget: u32,
}

/// A random module without imports.
pub fn generate(rng: &mut Rng, proposals: &[Proposal]) -> Vec<u8> {
    let has = |proposal| proposals.contains(&proposal);
    let mut types = vec![ValType::I32, ValType::I64, ValType::F32, ValType::F64];
    if has(Proposal::Simd) {
        types.extend([ValType::V128; 3]);
    }
    let shared = has(Proposal::Threads) && rng.bool();
    let memories = 1 + (has(Proposal::MultiMemory) && rng.bool()) as usize;
    let memories = (0..memories).map(|_| MemoryType {
        minimum: 1,
        maximum: Some(2),
        memory64: has(Proposal::Memory64) && rng.u32(..3) == 0,
        shared,
        page_size_log2: None,
    });
    let memories: Vec<MemoryType> = memories.collect();
    let functions = (0..rng.usize(2..8)).map(|_| Signature {
        params: (0..rng.usize(..5)).map(|_| types[rng.usize(..types.len())]).collect(),
        results: (0..rng.usize(1..4)).map(|_| types[rng.usize(..types.len())]).collect(),
    });
    let functions: Vec<Signature> = functions.collect();
    let dense = Dense {
        operations: operations(has(Proposal::Simd), has(Proposal::Threads)),
        types,
        memories,
        functions,
        tail_calls: has(Proposal::TailCall),
        exceptions: has(Proposal::Exceptions),
        current: 0,
        locals: Vec::new(),
        code: Vec::new(),
        budget: 0,
        rng,
    };
    dense.module()
}

impl Dense<'_> {
    fn module(mut self) -> Vec<u8> {
        let mut types = TypeSection::new();
        let mut functions = FunctionSection::new();
        for (index, function) in (0..).zip(&self.functions) {
            types
                .ty()
                .function(function.params.iter().copied(), function.results.iter().copied());
            functions.function(index);
        }
        types.ty().function([THROWN], []);
        let mut memories = MemorySection::new();
        for memory in &self.memories {
            memories.memory(*memory);
        }
        let count = self.functions.len() as u32;
        let mut tables = TableSection::new();
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: count as u64 + 1,
            maximum: None,
            shared: false,
        });
        let mut tags = TagSection::new();
        tags.tag(TagType {
            kind: TagKind::Exception,
            func_type_idx: count,
        });
        let mut globals = GlobalSection::new();
        for ty in &self.types {
            let ty = GlobalType {
                val_type: *ty,
                mutable: true,
                shared: false,
            };
            globals.global(ty, &zero(ty.val_type));
        }
        let mut elements = ElementSection::new();
        let indices: Vec<u32> = (0..count).collect();
        elements.active(None, &ConstExpr::i32_const(0), Elements::Functions(indices.into()));
        let mut code = CodeSection::new();
        for index in 0..count {
            code.function(&self.function(index));
        }
        let mut module = Module::new();
        module
            .section(&types)
            .section(&functions)
            .section(&tables)
            .section(&memories);
        if self.exceptions {
            module.section(&tags);
        }
        module.section(&globals).section(&elements).section(&code);
        module.finish()
    }

    fn function(&mut self, index: u32) -> Function {
        self.current = index;
        let params = self.functions[index as usize].params.clone();
        let results = self.functions[index as usize].results.clone();
        // The first one counts rounds of loops.
        let mut locals = vec![ValType::I32];
        locals.extend((0..self.rng.usize(..5)).map(|_| self.types[self.rng.usize(..self.types.len())]));
        let counter = params.len() as u32;
        self.locals = params.into_iter().chain(locals.iter().copied()).collect();
        self.code.clear();
        self.budget = self.rng.u32(20..200);
        for _ in 0..self.rng.usize(..6) {
            self.statement();
        }
        if self.rng.u32(..3) == 0 {
            self.looped(counter);
        }
        let same = |callee: &u32| self.functions[*callee as usize].results == results;
        match (0..index).rev().find(same) {
            Some(callee) if self.tail_calls && self.rng.bool() => {
                for ty in self.functions[callee as usize].params.clone() {
                    self.expression(ty, 2);
                }
                match self.rng.bool() {
                    true => self.put(Instruction::ReturnCall(callee)),
                    false => {
                        self.put(Instruction::I32Const(callee as i32));
                        self.put(Instruction::ReturnCallIndirect {
                            type_index: callee,
                            table_index: 0,
                        });
                    }
                }
            }
            _ => results.iter().for_each(|ty| self.expression(*ty, 4)),
        }
        self.put(Instruction::End);
        let mut function = Function::new_with_locals_types(locals);
        function.raw(self.code.iter().copied());
        function
    }

    fn put(&mut self, instruction: Instruction<'_>) {
        instruction.encode(&mut self.code);
    }

    fn looped(&mut self, counter: u32) {
        let rounds = self.rng.i32(1..6);
        self.put(Instruction::I32Const(rounds));
        self.put(Instruction::LocalSet(counter));
        self.put(Instruction::Loop(BlockType::Empty));
        for _ in 0..self.rng.usize(1..4) {
            self.statement();
        }
        // A statement may have set the counter: fuel ends the loop then.
        self.put(Instruction::LocalGet(counter));
        self.put(Instruction::I32Const(1));
        self.put(Instruction::I32Sub);
        self.put(Instruction::LocalTee(counter));
        self.put(Instruction::BrIf(0));
        self.put(Instruction::End);
    }

    fn statement(&mut self) {
        match self.rng.u32(..8) {
            0 | 1 => {
                let local = self.rng.u32(..self.locals.len() as u32);
                self.expression(self.locals[local as usize], 4);
                self.put(Instruction::LocalSet(local));
            }
            2 | 3 => {
                let global = self.rng.usize(..self.types.len());
                self.expression(self.types[global], 4);
                self.put(Instruction::GlobalSet(global as u32));
            }
            4 | 5 => {
                let stores: Vec<Operation> = self.operations.iter().filter(|o| o.result.is_none()).copied().collect();
                let store = stores[self.rng.usize(..stores.len())];
                self.operation(&store, 3);
            }
            6 => {
                self.expression(ValType::I32, 3);
                self.put(Instruction::If(BlockType::Empty));
                match self.exceptions && self.rng.u32(..3) == 0 {
                    true => {
                        self.expression(THROWN, 2);
                        self.put(Instruction::Throw(0));
                    }
                    false => self.statement(),
                }
                self.put(Instruction::End);
            }
            _ => self.bulk(),
        }
    }

    fn bulk(&mut self) {
        let memory = self.rng.u32(..self.memories.len() as u32);
        let from = self.rng.u32(..self.memories.len() as u32);
        let fill = self.rng.bool();
        self.address(memory, false);
        match fill {
            true => self.expression(ValType::I32, 1),
            false => self.address(from, false),
        }
        let len = self.rng.i32(0..200);
        let wide = |memory: u32| self.memories[memory as usize].memory64;
        match wide(memory) && (fill || wide(from)) {
            true => self.put(Instruction::I64Const(len as i64)),
            false => self.put(Instruction::I32Const(len)),
        }
        match fill {
            true => self.put(Instruction::MemoryFill(memory)),
            false => self.put(Instruction::MemoryCopy {
                src_mem: from,
                dst_mem: memory,
            }),
        }
    }

    fn address(&mut self, memory: u32, aligned: bool) {
        let mask = if aligned || self.rng.bool() {
            ADDRESS
        } else {
            ADDRESS | 7
        };
        match self.rng.bool() {
            true => {
                let address = self.rng.i32(..) & mask;
                self.put(Instruction::I32Const(address));
            }
            false => {
                self.expression(ValType::I32, 2);
                self.put(Instruction::I32Const(mask));
                self.put(Instruction::I32And);
            }
        }
        if self.memories[memory as usize].memory64 {
            self.put(Instruction::I64ExtendI32U);
        }
    }

    /// An instruction with its operands.
    fn operation(&mut self, operation: &Operation, depth: u32) {
        let memory = self.rng.u32(..self.memories.len() as u32);
        if let Immediate::Access(_, aligned) = operation.immediate {
            self.address(memory, aligned);
        }
        if let Immediate::AccessLane(..) = operation.immediate {
            self.address(memory, false);
        }
        for ty in operation.params {
            self.expression(*ty, depth);
        }
        if operation.prefix == 0 {
            self.code.push(operation.number as u8);
        } else {
            self.code.push(operation.prefix);
            operation.number.encode(&mut self.code);
        }
        match operation.immediate {
            Immediate::None => {}
            Immediate::Lane(lanes) => self.code.push(self.rng.u8(..lanes)),
            Immediate::Shuffle => (0..16).for_each(|_| self.code.push(self.rng.u8(..32))),
            Immediate::Access(align, aligned) => self.memarg(memory, align, aligned),
            Immediate::AccessLane(align, lanes) => {
                self.memarg(memory, align, false);
                self.code.push(self.rng.u8(..lanes));
            }
        }
    }

    fn memarg(&mut self, memory: u32, align: u8, aligned: bool) {
        let align = if aligned { align } else { self.rng.u8(..=align) };
        let offset = match self.rng.u32(..500) {
            0 => self.rng.u32(0xf000..=0xffff),
            1 => self.rng.u32(..),
            _ if aligned => self.rng.u32(..16) * 8,
            _ => self.rng.u32(..64),
        };
        // Bit 6 says that a memory's number follows.
        self.code.push(align | if memory > 0 { 0x40 } else { 0 });
        if memory > 0 {
            memory.encode(&mut self.code);
        }
        offset.encode(&mut self.code);
    }

    /// Code that leaves a value.
    fn expression(&mut self, ty: ValType, depth: u32) {
        if depth == 0 || self.budget == 0 {
            return self.leaf(ty);
        }
        self.budget -= 1;
        match self.rng.u32(..24) {
            0..2 => self.leaf(ty),
            2 => {
                self.expression(ty, depth - 1);
                self.expression(ty, depth - 1);
                self.expression(ValType::I32, depth - 1);
                self.put(Instruction::Select);
            }
            3 => {
                self.expression(ValType::I32, depth - 1);
                self.put(Instruction::If(BlockType::Result(ty)));
                self.expression(ty, depth - 1);
                self.put(Instruction::Else);
                self.expression(ty, depth - 1);
                self.put(Instruction::End);
            }
            4 => {
                self.put(Instruction::Block(BlockType::Result(ty)));
                self.expression(ty, depth - 1);
                self.expression(ValType::I32, depth - 1);
                self.put(Instruction::BrIf(0));
                self.put(Instruction::End);
            }
            5 => self.branches(ty, depth),
            6 => match (0..self.locals.len()).find(|local| self.locals[*local] == ty) {
                Some(local) => {
                    self.expression(ty, depth - 1);
                    self.put(Instruction::LocalTee(local as u32));
                }
                None => self.leaf(ty),
            },
            7 | 8 => self.call(ty, depth),
            9 if self.exceptions => self.attempt(ty, depth),
            _ => {
                // The proposal of a type may be off.
                let fitting = |operation: &&Operation| operation.result == Some(ty);
                let fitting: Vec<Operation> = self.operations.iter().filter(fitting).copied().collect();
                let operation = fitting[self.rng.usize(..fitting.len())];
                match operation.traps && self.rng.u32(..30) != 0 {
                    true => self.leaf(ty),
                    false => self.operation(&operation, depth - 1),
                }
            }
        }
    }

    /// A table of branches, each with its own value.
    fn branches(&mut self, ty: ValType, depth: u32) {
        for _ in 0..3 {
            self.put(Instruction::Block(BlockType::Result(ty)));
        }
        self.expression(ty, depth - 1);
        self.expression(ValType::I32, depth - 1);
        let targets = [self.rng.u32(..3), self.rng.u32(..3), self.rng.u32(..3)];
        let default = self.rng.u32(..3);
        self.put(Instruction::I32Const(3));
        self.put(Instruction::I32And);
        self.put(Instruction::BrTable(targets[..].into(), default));
        for _ in 0..2 {
            self.put(Instruction::End);
            self.put(Instruction::Drop);
            self.expression(ty, depth - 1);
        }
        self.put(Instruction::End);
    }

    /// Calls an earlier function, whose first result has the type.
    fn call(&mut self, ty: ValType, depth: u32) {
        let gives = |callee: &u32| self.functions[*callee as usize].results[0] == ty;
        let callees: Vec<u32> = (0..self.current).filter(gives).collect();
        if callees.is_empty() {
            return self.leaf(ty);
        }
        let callee = callees[self.rng.usize(..callees.len())];
        for ty in self.functions[callee as usize].params.clone() {
            self.expression(ty, depth - 1);
        }
        match self.rng.u32(..3) {
            0 => {
                let wrong = self.rng.u32(..100) == 0;
                let index = if wrong { self.rng.u32(..callee + 4) } else { callee };
                self.put(Instruction::I32Const(index as i32));
                self.put(Instruction::CallIndirect {
                    type_index: callee,
                    table_index: 0,
                });
            }
            _ => self.put(Instruction::Call(callee)),
        }
        for _ in 1..self.functions[callee as usize].results.len() {
            self.put(Instruction::Drop);
        }
    }

    /// A value, or another one if making it throws.
    fn attempt(&mut self, ty: ValType, depth: u32) {
        self.put(Instruction::Block(BlockType::Result(ty)));
        self.put(Instruction::Block(BlockType::Result(THROWN)));
        let catch = [Catch::One { tag: 0, label: 0 }];
        self.put(Instruction::TryTable(BlockType::Result(ty), catch[..].into()));
        self.expression(ValType::I32, depth - 1);
        self.put(Instruction::If(BlockType::Empty));
        self.expression(THROWN, depth - 1);
        self.put(Instruction::Throw(0));
        self.put(Instruction::End);
        self.expression(ty, depth - 1);
        self.put(Instruction::End);
        self.put(Instruction::Br(1));
        self.put(Instruction::End);
        match THROWN == ty {
            true => {}
            false => {
                self.put(Instruction::Drop);
                self.expression(ty, depth - 1);
            }
        }
        self.put(Instruction::End);
    }

    /// A constant, a local or a global.
    fn leaf(&mut self, ty: ValType) {
        let locals: Vec<usize> = (0..self.locals.len()).filter(|i| self.locals[*i] == ty).collect();
        match self.rng.u32(..5) {
            0..3 if !locals.is_empty() => {
                let local = locals[self.rng.usize(..locals.len())];
                return self.put(Instruction::LocalGet(local as u32));
            }
            3 => {
                if let Some(global) = self.types.iter().position(|global| *global == ty) {
                    return self.put(Instruction::GlobalGet(global as u32));
                }
            }
            _ => {}
        }
        let edge = EDGES[self.rng.usize(..EDGES.len())];
        let integer = if self.rng.bool() { edge } else { self.rng.i64(..) };
        let float = match self.rng.u32(..4) {
            0 => f64::from_bits(self.rng.u64(..)),
            1 => f64::from(self.rng.i32(-100..100)) / 4.0,
            2 => edge as f64,
            _ => self.rng.f64(),
        };
        // A signalling NaN would do no harm, but one that the host quiets would.
        let float = if float.is_nan() { f64::NAN } else { float };
        let low = self.rng.u64(..);
        self.put(match ty {
            ValType::I32 => Instruction::I32Const(integer as i32),
            ValType::I64 => Instruction::I64Const(integer),
            ValType::F32 => Instruction::F32Const((float as f32).into()),
            ValType::F64 => Instruction::F64Const(float.into()),
            _ => Instruction::V128Const((integer as i128) << 64 | low as i128),
        });
    }
}

fn zero(ty: ValType) -> ConstExpr {
    match ty {
        ValType::I32 => ConstExpr::i32_const(0),
        ValType::I64 => ConstExpr::i64_const(0),
        ValType::F32 => ConstExpr::f32_const(0.0.into()),
        ValType::F64 => ConstExpr::f64_const(0.0.into()),
        _ => ConstExpr::v128_const(0),
    }
}
