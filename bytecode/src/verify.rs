//! Proves that a program may run.
//!
//! The kernel trusts what it executes: it checks no register number, no branch target and no index.
//! So a program from anywhere is verified first. Proved are: every instruction is well formed;
//! registers lie in their frame and never on its header; branches lead to instructions of the same
//! function, calls to heads of functions with the right arguments in place; every index exists and
//! has the type that its user needs; every register that is read was written on every path, as a
//! value of that width.

mod declarations;
mod flow;
mod lines;

use crate::code::{CodeError, Inst, Layout, br_table_offset};
use crate::isa::{Class, Op, Operand, TrapKind};
use crate::program::{Clause, FuncType, GlobalType, HEADER_UNITS, MemoryType, Program, TableType, ValType, units};

use flow::Flow;
pub(crate) use lines::lines;

/// Why a program may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct VerifyError {
    /// Where: a word of code in a function, or a declaration.
    pub place: String,
    /// What is wrong.
    pub what: String,
}

fn error<T>(place: impl Into<String>, what: impl Into<String>) -> Result<T, VerifyError> {
    Err(VerifyError {
        place: place.into(),
        what: what.into(),
    })
}

/// Largest memory or table size and number that programs may declare.
const MAX_INDEX_SPACE: usize = 1 << 20;

/// Index spaces, imports first, gathered once.
struct Spaces<'p> {
    program: &'p Program,
    func_types: Vec<u32>,
    globals: Vec<GlobalType>,
    tables: Vec<TableType>,
    memories: Vec<MemoryType>,
    /// Type index of each tag.
    tags: Vec<u32>,
    /// Word at which each defined function begins.
    starts: Vec<u32>,
    /// Whether memory 0 exists and has 32-bit addresses.
    narrow_memory0: bool,
}

impl Spaces<'_> {
    fn func_type(&self, index: u32) -> &FuncType {
        &self.program.meta.types[self.func_types[index as usize] as usize]
    }

    fn tag_type(&self, index: u32) -> &FuncType {
        &self.program.meta.types[self.tags[index as usize] as usize]
    }
}

/// Verifies a program. What it accepts, every engine may run.
pub fn verify(program: &Program) -> Result<(), VerifyError> {
    let meta = &program.meta;
    let memories = meta.memory_types();
    let spaces = Spaces {
        program,
        func_types: meta.func_types(),
        globals: meta.global_types(),
        tables: meta.table_types(),
        narrow_memory0: memories.first().is_some_and(|memory| !memory.wide),
        memories,
        tags: meta.tag_types(),
        starts: meta.functions.iter().map(|function| function.start).collect(),
    };
    declarations::verify(&spaces)?;
    let mut memory = (Insts::default(), Flow::default());
    let mut after = 0;
    for index in 0..meta.functions.len() {
        let function = &meta.functions[index];
        if function.start < after || function.end <= function.start {
            return error(
                format!("function {index}"),
                "its code overlaps another function's or is empty",
            );
        }
        after = function.end;
        let (insts, flow) = &mut memory;
        FunctionVerifier::new(&spaces, index, insts)?.verify(flow)?;
    }
    Ok(())
}

/// One function under verification.
struct FunctionVerifier<'p> {
    spaces: &'p Spaces<'p>,
    index: usize,
    code: &'p [u64],
    /// Word index of the function's head in the program.
    start: i64,
    ty: &'p FuncType,
    frame: u32,
    header: u32,
    insts: &'p mut Insts,
}

/// A function's instructions. The memory is used again for the next function.
#[derive(Default)]
struct Insts {
    list: Vec<Decoded>,
    /// For each word, 1 + the instruction that begins there, or 0.
    at: Vec<u32>,
}

/// An instruction of a function.
struct Decoded {
    /// Its word, from the function's head.
    pc: u32,
    /// Of a branch (but `br_table`): the instruction that it leads to. Of a direct call: the function
    /// (among the defined ones) that it calls. Else, and where there is none, [`NOWHERE`].
    target: u32,
    inst: Inst,
}

const NOWHERE: u32 = u32::MAX;

impl<'p> FunctionVerifier<'p> {
    fn new(spaces: &'p Spaces<'p>, index: usize, insts: &'p mut Insts) -> Result<Self, VerifyError> {
        let program = spaces.program;
        let function = &program.meta.functions[index];
        let place = format!("function {index}");
        let Some(code) = program.code.get(function.start as usize..function.end as usize) else {
            return error(place, "its code lies outside of the program's");
        };
        let ty = &program.meta.types[function.ty as usize];
        insts.list.clear();
        insts.at.clear();
        insts.at.resize(code.len(), 0);
        let this = FunctionVerifier {
            spaces,
            index,
            code,
            start: function.start as i64,
            ty,
            frame: 0,
            header: ty.header(),
            insts,
        };
        let mut pc = 0;
        while pc < code.len() {
            let inst = match Inst::decode(&code[pc..]) {
                Ok(inst) => inst,
                Err(cause) => return this.code_error(pc, cause),
            };
            let words = inst.words();
            this.insts.list.push(Decoded {
                pc: pc as u32,
                target: NOWHERE,
                inst,
            });
            this.insts.at[pc] = this.insts.list.len() as u32;
            pc += words;
        }
        Ok(this)
    }

    fn code_error<T>(&self, pc: usize, cause: CodeError) -> Result<T, VerifyError> {
        self.error(pc as u32, cause.to_string())
    }

    fn error<T>(&self, pc: u32, what: impl Into<String>) -> Result<T, VerifyError> {
        let meta = &self.spaces.program.meta;
        let name = meta.func_name(meta.imported_funcs() + self.index as u32);
        error(format!("word {} in function `{name}`", self.start + pc as i64), what)
    }

    fn verify(mut self, flow: &mut Flow) -> Result<(), VerifyError> {
        let head = &self.insts.list[0].inst;
        let max_frame = self.spaces.program.meta.max_frame;
        if head.op != Op::Enter || head.args[1] != self.header as i64 {
            return self.error(0, "a function must begin with `enter` and its type's header unit");
        }
        self.frame = head.args[0] as u32;
        if self.frame < self.header + HEADER_UNITS || self.frame > max_frame {
            return self.error(
                0,
                format!(
                    "frame of {} units with its header at {} and at most {max_frame} units a frame",
                    self.frame, self.header
                ),
            );
        }
        for i in 1..self.insts.list.len() {
            self.insts.list[i].target = self.find_target(&self.insts.list[i]);
            let decoded = &self.insts.list[i];
            if !self.is_plain(decoded) {
                self.check_operands(decoded)?;
            }
        }
        let last = &self.insts.list[self.insts.list.len() - 1];
        if !flow::ends_block(last.inst.op) {
            return self.error(last.pc, "execution can run off the function's end");
        }
        self.check_tries()?;
        flow.verify(&self)
    }

    /// See [`Decoded::target`].
    fn find_target(&self, decoded: &Decoded) -> u32 {
        let inst = &decoded.inst;
        if let Some(distance) = Layout::of(inst.op).distance {
            let target = self.target(decoded.pc, inst.args[distance as usize]);
            target.map_or(NOWHERE, |target| target as u32)
        } else if matches!(inst.op, Op::Call | Op::ReturnCall) {
            self.called(decoded.pc, inst).unwrap_or(NOWHERE)
        } else {
            NOWHERE
        }
    }

    /// Whether the instruction is of the frequent kind whose registers and distance are all that could
    /// be wrong, and they are not.
    #[inline]
    fn is_plain(&self, decoded: &Decoded) -> bool {
        let layout = Layout::of(decoded.inst.op);
        let operands = layout.units().iter().zip(decoded.inst.args);
        let mut registers = operands.filter(|(units, _)| **units > 0);
        layout.plain
            && (!layout.memory0 || self.spaces.narrow_memory0)
            && (layout.distance.is_none() || decoded.target != NOWHERE)
            && registers.all(|(units, arg)| self.readable(arg as u32, u32::from(*units)))
    }

    /// Checks the exception table, whatever its handlers are given; see `flow` for that.
    fn check_tries(&self) -> Result<(), VerifyError> {
        let tries = &self.spaces.program.meta.functions[self.index].tries;
        for try_ in tries {
            // The kernel looks up the last word of a call, this verifier the first: a range must have both
            // or neither.
            let boundary = |pc: u32| {
                let at = usize::try_from(pc as i64 - self.start);
                at.is_ok_and(|at| at == self.code.len() || self.insts.at.get(at).is_some_and(|inst| *inst != 0))
            };
            if !boundary(try_.start) || !boundary(try_.end) || try_.start > try_.end {
                return self.error(
                    0,
                    "a protected range that does not begin and end at instructions of the function",
                );
            }
            for clause in &try_.clauses {
                if clause.tag.is_some_and(|tag| tag as usize >= self.spaces.tags.len()) {
                    return self.error(0, "a handler for a tag that does not exist");
                }
                let units = units(&self.clause_types(clause));
                if clause.unit.checked_add(units).is_none() || !self.readable(clause.unit, units) {
                    return self.error(0, "a handler's values lie outside of the frame");
                }
                if self.handler(clause).is_none() {
                    return self.error(0, "a handler that is no instruction of the function");
                }
            }
        }
        Ok(())
    }

    /// What a handler finds in its units.
    fn clause_types(&self, clause: &Clause) -> Vec<ValType> {
        let mut types = match clause.tag {
            Some(tag) => self.spaces.tag_type(tag).params.clone(),
            None => Vec::new(),
        };
        if clause.reference {
            types.push(ValType::ExnRef);
        }
        types
    }

    /// The instruction at which a handler begins.
    fn handler(&self, clause: &Clause) -> Option<usize> {
        self.target(0, clause.target as i64 - self.start)
    }

    /// The handlers that an exception thrown at `pc` may reach. A range without any hides those around it.
    fn handlers_at(&self, pc: u32) -> impl Iterator<Item = &Clause> {
        let pc = (self.start + pc as i64) as u32;
        let tries = &self.spaces.program.meta.functions[self.index].tries;
        let around = tries.iter().filter(move |try_| (try_.start..try_.end).contains(&pc));
        around
            .take_while(|try_| !try_.clauses.is_empty())
            .flat_map(|try_| &try_.clauses)
    }

    /// Checks what each operand may be, whatever the others are.
    fn check_operands(&self, decoded: &Decoded) -> Result<(), VerifyError> {
        let (pc, inst) = (decoded.pc, &decoded.inst);
        let meta = &self.spaces.program.meta;
        let info = inst.op.info();
        if matches!(inst.op, Op::Enter | Op::BridgeReturn | Op::ThreadEnd) {
            return self.error(pc, format!("`{}` cannot stand in a function's body", info.name));
        }
        for (i, (operand, arg)) in info.operands.iter().zip(inst.args).enumerate() {
            let count = || {
                inst.args[..]
                    .iter()
                    .zip(info.operands)
                    .skip(i)
                    .find(|(_, o)| **o == Operand::Count)
                    .map_or(0, |(c, _)| *c as u32)
            };
            let index_ok = |len: usize| (arg as u64) < len as u64;
            let ok = match operand {
                Operand::Def(ty) => self.writable(arg as u32, ty.units()),
                Operand::Src(ty) => self.readable(arg as u32, ty.units()),
                // Its width depends on the memory, whose index is checked below.
                Operand::Address => true,
                Operand::DefRange => self.writable(arg as u32, count()),
                Operand::SrcRange => self.readable(arg as u32, count()),
                Operand::Base => arg as u32 >= self.header + HEADER_UNITS && arg as u32 <= self.frame,
                Operand::Header => arg as u32 == self.header,
                Operand::Rel16 | Operand::Rel32 => self.target(pc, arg).is_some(),
                Operand::Memory => index_ok(self.spaces.memories.len()),
                Operand::Table => index_ok(self.spaces.tables.len()),
                Operand::Global => index_ok(self.spaces.globals.len()),
                Operand::Func => index_ok(self.spaces.func_types.len()),
                Operand::Type => index_ok(meta.types.len()),
                Operand::Tag => index_ok(self.spaces.tags.len()),
                Operand::DataSegment => index_ok(self.spaces.program.data.len()),
                Operand::ElemSegment => index_ok(meta.elements.len()),
                Operand::Trap => TrapKind::from_number(arg as u16).is_some(),
                Operand::TableLen => arg > 0,
                Operand::Lane(lanes) => index_ok(*lanes as usize),
                _ => true,
            };
            if !ok {
                return self.error(pc, format!("operand {} of `{}` cannot be {arg}", i + 1, info.name));
            }
        }
        self.check_whole(decoded)
    }

    /// Checks what operands say together.
    fn check_whole(&self, decoded: &Decoded) -> Result<(), VerifyError> {
        let (pc, inst) = (decoded.pc, &decoded.inst);
        let args = inst.args;
        let global = |index: i64| self.spaces.globals[index as usize];
        let ok = match inst.op {
            Op::GlobalGet32 => global(args[1]).ty.units() == 1,
            Op::GlobalGet64 => global(args[1]).ty.units() == 2,
            Op::GlobalSet32 => global(args[1]).ty.units() == 1 && global(args[1]).mutable,
            Op::GlobalSet64 => global(args[1]).ty.units() == 2 && global(args[1]).mutable,
            Op::GlobalGet128 => global(args[1]).ty.units() == 4,
            Op::GlobalSet128 => global(args[1]).ty.units() == 4 && global(args[1]).mutable,
            Op::StackPointerSet => {
                global(args[1])
                    == GlobalType {
                        ty: ValType::I32,
                        mutable: true,
                    }
            }
            Op::Return => args[2] as u32 == self.ty.result_units(),
            Op::CallIndirect | Op::ReturnCallIndirect
                if self.spaces.tables[args[2] as usize].element != ValType::FuncRef =>
            {
                false
            }
            Op::CallImport | Op::ReturnCallImport if args[1] as u32 >= self.spaces.program.meta.imported_funcs() => {
                false
            }
            Op::Call => self.callee(decoded).is_some(),
            // The callee returns to this function's caller.
            Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport => {
                self.callee(decoded).is_some_and(|ty| ty.results == self.ty.results)
            }
            Op::Throw => self.spaces.tag_type(args[2] as u32).param_units() == args[1] as u32,
            Op::TableCopy => {
                self.spaces.tables[args[3] as usize].element == self.spaces.tables[args[4] as usize].element
            }
            Op::TableInit => {
                self.spaces.tables[args[3] as usize].element == self.spaces.program.meta.elements[args[4] as usize].ty
            }
            Op::I8x16Shuffle => args[3..5]
                .iter()
                .flat_map(|half| half.to_le_bytes())
                .all(|lane| lane < 32),
            Op::BrTable => (0..args[1] as usize).all(|i| {
                self.target(pc, br_table_offset(&self.code[pc as usize..], i) as i64)
                    .is_some()
            }),
            _ if matches!(inst.op.info().class, Class::Load(_) | Class::Store(_)) => self.spaces.narrow_memory0,
            _ if inst.op.info().class == Class::Gpu => self.gpu_op_allowed(inst.op),
            _ => self.addresses_readable(inst),
        };
        if ok {
            Ok(())
        } else {
            self.error(pc, format!("`{}` does not fit what it refers to", inst.op.info().name))
        }
    }

    /// Whether an instruction's addresses are i64: those of its first memory operand.
    fn wide_address(&self, inst: &Inst) -> bool {
        let mut operands = inst.op.info().operands.iter().zip(inst.args);
        let memory = operands.find(|(operand, _)| **operand == Operand::Memory);
        memory.is_some_and(|(_, index)| self.spaces.memories[index as usize].wide)
    }

    /// Whether the registers of addresses lie in the frame.
    fn addresses_readable(&self, inst: &Inst) -> bool {
        let units = if self.wide_address(inst) { 2 } else { 1 };
        let mut operands = inst.op.info().operands.iter().zip(inst.args);
        operands.all(|(operand, arg)| *operand != Operand::Address || self.readable(arg as u32, units))
    }

    /// GPU opcodes that take addresses mean memory 0.
    fn gpu_op_allowed(&self, op: Op) -> bool {
        let no_memory = matches!(
            op,
            Op::Gid | Op::Time | Op::ThreadCount | Op::WallTime | Op::Sleep | Op::Exit | Op::PanicExit | Op::PrintEnd
        );
        no_memory || self.spaces.narrow_memory0
    }

    fn readable(&self, unit: u32, count: u32) -> bool {
        unit + count <= self.frame && (unit + count <= self.header || unit >= self.header + HEADER_UNITS)
    }

    fn writable(&self, unit: u32, count: u32) -> bool {
        self.readable(unit, count)
    }

    /// Instruction to which a branch at `pc` over `rel` words leads, if it is one of the body.
    fn target(&self, pc: u32, rel: i64) -> Option<usize> {
        let at = usize::try_from(pc as i64 + rel).ok()?;
        let inst = *self.insts.at.get(at)? as usize;
        (inst > 1).then(|| inst - 1)
    }

    /// The function (among the defined ones) whose head a `call` leads to.
    fn called(&self, pc: u32, inst: &Inst) -> Option<u32> {
        let start = u32::try_from(self.start + pc as i64 + inst.args[1]).ok()?;
        let index = self.spaces.starts.binary_search(&start).ok()?;
        Some(index as u32)
    }

    /// The type of the function that an instruction calls, if the target is one.
    fn callee(&self, decoded: &Decoded) -> Option<&FuncType> {
        let inst = &decoded.inst;
        let meta = &self.spaces.program.meta;
        match inst.op {
            Op::Call | Op::ReturnCall => {
                let function = meta.functions.get(decoded.target as usize)?;
                Some(&meta.types[function.ty as usize])
            }
            Op::CallImport | Op::ReturnCallImport => Some(self.spaces.func_type(inst.args[1] as u32)),
            Op::CallIndirect | Op::ReturnCallIndirect => Some(&meta.types[inst.args[3] as usize]),
            _ => None,
        }
    }

    /// Calls `each` with the instructions to which an instruction may branch, each once. Its
    /// operands must be checked.
    #[inline]
    fn for_each_target(&self, decoded: &Decoded, mut each: impl FnMut(usize)) {
        let (pc, inst) = (decoded.pc, &decoded.inst);
        let target = |rel: i64| self.target(pc, rel).expect("checked with the operands");
        if decoded.target != NOWHERE {
            if !matches!(inst.op, Op::Call | Op::ReturnCall) {
                each(decoded.target as usize);
            }
        } else if inst.op == Op::BrTable {
            let table = &self.code[pc as usize..];
            let mut all: Vec<_> = (0..inst.args[1] as usize)
                .map(|i| target(br_table_offset(table, i) as i64))
                .collect();
            all.sort_unstable();
            all.dedup();
            all.into_iter().for_each(each);
        }
    }
}

#[cfg(test)]
mod tests;
