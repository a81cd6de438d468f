//! Proves that a program may run.
//!
//! The kernel trusts what it executes: it checks no register number, no branch target and no index.
//! So a program from anywhere is verified first. Proved are: Every instruction is well formed.
//! Registers lie in their frame and never on its header. Branches lead to instructions of the same
//! function, calls to heads of functions with the right arguments in place. Every index exists and
//! has the type that its user needs. Every register that is read was written on every path, as a
//! value of that width.
//!
//! In: a [`Program`]. Out: nothing, or a [`VerifyError`]. In the order in which to read the modules:
//!
//! - `spaces`: what code may refer to; `declarations`: everything but code;
//! - this file: walks each function, and checks its head and its exception table;
//! - `operands`: an instruction by itself, whatever the registers hold;
//! - `flow`: data-flow analysis, what each unit holds on every path, on `state` (one point) and `kept` (all points);
//! - `effects`, `simple`: what an instruction reads and leaves in the frame, in general and for most opcodes;
//! - `types`: what each unit holds wherever it holds anything, which spares `flow` passes; `regions`: where exceptions
//!   go;
//! - `lines`: line tables, which are checked when they are read.

mod declarations;
mod effects;
mod flow;
mod kept;
mod lines;
mod operands;
mod regions;
mod simple;
mod spaces;
mod state;
mod types;

use crate::code::{CodeError, Inst, Layout, br_table_offset};
use crate::isa::Op;
use crate::program::{Clause, FuncType, HEADER_UNITS, Program, ValType, units};

use flow::Flow;
pub(crate) use lines::lines;
use operands::Room;
use spaces::Spaces;

/// Why a program may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct VerifyError {
    /// Where: a word of code in a function, or a declaration.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// Whether it is wrong at all.
    pub kind: VerifyErrorKind,
}

/// Whether a program is wrong, or beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyErrorKind {
    /// The program breaks a rule.
    Unsound,
    /// To find out would take too long or too much memory.
    TooComplex,
}

fn error<T>(place: impl Into<String>, what: impl Into<String>) -> Result<T, VerifyError> {
    Err(VerifyError {
        place: place.into(),
        what: what.into(),
        kind: VerifyErrorKind::Unsound,
    })
}

/// Largest memory or table size and number that programs may declare.
const MAX_INDEX_SPACE: usize = 1 << 20;

/// Verifies a program. What it accepts, every engine may run.
pub fn verify(program: &Program) -> Result<(), VerifyError> {
    let mut spaces = Spaces::new(program);
    declarations::verify(&spaces)?;
    spaces.find_heads()?;
    let (mut memory, mut flow) = (Memory::default(), Flow::default());
    for index in 0..program.meta.functions.len() {
        FunctionVerifier::new(&spaces, index, &mut memory).verify(&mut flow)?;
    }
    Ok(())
}

/// A set of words of a function, counted from its head.
#[derive(Default)]
struct Words(Vec<u64>);

impl Words {
    /// Begins anew, for so many words.
    fn clear(&mut self, words: usize) {
        self.0.clear();
        self.0.resize(words.div_ceil(64), 0);
    }

    #[inline]
    fn insert(&mut self, word: usize) {
        self.0[word / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, word: usize) {
        self.0[word / 64] &= !(1 << (word % 64));
    }

    /// The first from `word` on.
    fn next(&self, word: usize) -> Option<usize> {
        let mut at = word / 64;
        let mut bits = self.0.get(at)? & u64::MAX << (word % 64);
        while bits == 0 {
            at += 1;
            bits = *self.0.get(at)?;
        }
        Some(at * 64 + bits.trailing_zeros() as usize)
    }

    #[inline]
    fn contains(&self, word: usize) -> bool {
        self.0.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 != 0)
    }
}

/// What is known of a function's code. It is kept for the next function because it is large.
#[derive(Default)]
struct Memory {
    /// Where instructions begin.
    insts: Words,
    /// Those that branches lead to.
    targets: Words,
    room: Room,
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
    insts: &'p mut Words,
    targets: &'p mut Words,
    room: &'p mut Room,
}

impl<'p> FunctionVerifier<'p> {
    fn new(spaces: &'p Spaces<'p>, index: usize, memory: &'p mut Memory) -> Self {
        let program = spaces.program;
        let function = &program.meta.functions[index];
        let ty = &program.meta.types[function.ty as usize];
        FunctionVerifier {
            spaces,
            index,
            code: &program.code[function.start as usize..function.end as usize],
            start: function.start as i64,
            ty,
            frame: 0,
            header: ty.header(),
            insts: &mut memory.insts,
            targets: &mut memory.targets,
            room: &mut memory.room,
        }
    }

    fn error<T>(&self, pc: usize, what: impl Into<String>) -> Result<T, VerifyError> {
        let meta = &self.spaces.program.meta;
        let name = meta.func_name(meta.imported_funcs() + self.index as u32);
        error(format!("word {} in function `{name}`", self.start + pc as i64), what)
    }

    fn verify(mut self, flow: &mut Flow) -> Result<(), VerifyError> {
        self.find_instructions()?;
        let head = Inst::read(self.code);
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
        self.room.set(self.frame, self.header);
        self.targets.clear(self.code.len());
        let (mut last, mut pc) = (0, head.words());
        while pc < self.code.len() {
            last = pc;
            pc += self.check_operands(pc)?;
        }
        if !flow::ends_block(Layout::of_word(self.code[last]).op) {
            return self.error(last, "execution can run off the function's end");
        }
        self.check_tries()?;
        flow.verify(&mut self, head.words())
    }

    /// Finds where instructions begin, and checks that they are well formed.
    fn find_instructions(&mut self) -> Result<(), VerifyError> {
        self.insts.clear(self.code.len());
        // Those among the 64 words around `pc`, until it has left them.
        let (mut pc, mut found) = (0, 0);
        while pc < self.code.len() {
            found |= 1 << (pc % 64);
            let next = match Inst::measure(&self.code[pc..]) {
                Ok(words) => pc + words,
                Err(cause) => return self.code_error(pc, cause),
            };
            if next / 64 != pc / 64 || next == self.code.len() {
                self.insts.0[pc / 64] = found;
                found = 0;
            }
            pc = next;
        }
        Ok(())
    }

    #[cold]
    fn code_error<T>(&self, pc: usize, cause: CodeError) -> Result<T, VerifyError> {
        self.error(pc, cause.to_string())
    }

    /// Checks the exception table, whatever its handlers are given; see `flow` for that.
    fn check_tries(&self) -> Result<(), VerifyError> {
        let tries = &self.spaces.program.meta.functions[self.index].tries;
        for try_ in tries {
            // The kernel looks up the last word of a call, this verifier the first: a range must have both
            // or neither.
            let boundary = |pc: u32| {
                let at = usize::try_from(pc as i64 - self.start);
                at.is_ok_and(|at| at == self.code.len() || self.insts.contains(at))
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

    /// The word of the instruction at which a handler begins.
    fn handler(&self, clause: &Clause) -> Option<usize> {
        self.target(0, clause.target as i64 - self.start)
    }

    fn readable(&self, unit: u32, count: u32) -> bool {
        unit + count <= self.frame && (unit + count <= self.header || unit >= self.header + HEADER_UNITS)
    }

    fn writable(&self, unit: u32, count: u32) -> bool {
        self.readable(unit, count)
    }

    /// Instruction to which a branch at `pc` over `rel` words leads, if it is one of the body: the head
    /// is not.
    #[inline]
    fn target(&self, pc: usize, rel: i64) -> Option<usize> {
        let at = usize::try_from(pc as i64 + rel).ok()?;
        (at > 0 && self.insts.contains(at)).then_some(at)
    }

    /// The function (among the defined ones) whose head a `call` leads to.
    #[inline]
    fn called(&self, pc: usize, inst: &Inst) -> Option<u32> {
        let start = u32::try_from(self.start + pc as i64 + inst.args[1]).ok()?;
        self.spaces.heads.find(start)
    }

    /// The type of the function that an instruction calls, if the target is one.
    fn callee(&self, pc: usize, inst: &Inst) -> Option<&'p FuncType> {
        let meta = &self.spaces.program.meta;
        match inst.op {
            Op::Call | Op::ReturnCall => {
                let function = meta.functions.get(self.called(pc, inst)? as usize)?;
                Some(&meta.types[function.ty as usize])
            }
            Op::CallImport | Op::ReturnCallImport => Some(self.spaces.func_type(inst.args[1] as u32)),
            Op::CallIndirect | Op::ReturnCallIndirect => Some(&meta.types[inst.args[3] as usize]),
            _ => None,
        }
    }

    /// Calls `each` with the instructions to which an instruction may branch, each once. Its
    /// operands must be checked.
    fn for_each_target(&self, pc: usize, inst: &Inst, mut each: impl FnMut(usize)) {
        let target = |rel: i64| self.target(pc, rel).expect("checked with the operands");
        if let Some(distance) = Layout::of(inst.op).distance {
            each(target(inst.args[usize::from(distance)]));
        } else if inst.op == Op::BrTable {
            let table = &self.code[pc..];
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
