//! What the code of a program may refer to.

use super::{VerifyError, error};
use crate::program::{FuncType, GlobalType, MemoryType, Program, TableType};

/// Index spaces, imports first, gathered once.
pub(super) struct Spaces<'p> {
    pub(super) program: &'p Program,
    pub(super) func_types: Vec<u32>,
    pub(super) globals: Vec<GlobalType>,
    pub(super) tables: Vec<TableType>,
    pub(super) memories: Vec<MemoryType>,
    /// Type index of each tag.
    pub(super) tags: Vec<u32>,
    pub(super) heads: Heads,
    /// Whether memory 0 exists and has 32-bit addresses.
    pub(super) narrow_memory0: bool,
}

impl<'p> Spaces<'p> {
    /// Gathers them. The functions' code is known only once [`Spaces::find_heads`] has looked.
    pub(super) fn new(program: &'p Program) -> Spaces<'p> {
        let meta = &program.meta;
        let memories = meta.memory_types();
        Spaces {
            program,
            func_types: meta.func_types(),
            globals: meta.global_types(),
            tables: meta.table_types(),
            narrow_memory0: memories.first().is_some_and(|memory| !memory.wide),
            memories,
            tags: meta.tag_types(),
            heads: Heads::default(),
        }
    }

    /// Checks that the functions have code of their own, in order, and notes where it begins.
    pub(super) fn find_heads(&mut self) -> Result<(), VerifyError> {
        let functions = &self.program.meta.functions;
        let words = self.program.code.len() as u32;
        let mut after = 0;
        for (index, function) in functions.iter().enumerate() {
            let place = || format!("function {index}");
            if function.start < after || function.end <= function.start {
                return error(place(), "its code overlaps another function's or is empty");
            }
            if function.end > words {
                return error(place(), "its code lies outside of the program's");
            }
            after = function.end;
        }
        self.heads = Heads::new(functions.iter().map(|function| function.start).collect());
        Ok(())
    }

    pub(super) fn func_type(&self, index: u32) -> &FuncType {
        &self.program.meta.types[self.func_types[index as usize] as usize]
    }

    pub(super) fn tag_type(&self, index: u32) -> &FuncType {
        &self.program.meta.types[self.tags[index as usize] as usize]
    }
}

/// Where the defined functions begin, in order, to be looked up for each call.
#[derive(Default)]
pub(super) struct Heads {
    starts: Vec<u32>,
    /// For each [`Heads::STRETCH`] words of code, the first function that begins there or later.
    first: Vec<u32>,
}

impl Heads {
    /// No more functions than this begin in a stretch, so that looking through them is quick.
    const STRETCH: u32 = 64;

    fn new(starts: Vec<u32>) -> Heads {
        let mut first = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            let stretches = (start / Heads::STRETCH) as usize + 1;
            if stretches > first.len() {
                first.resize(stretches, index as u32);
            }
        }
        Heads { starts, first }
    }

    /// The function that begins at a word.
    #[inline]
    pub(super) fn find(&self, word: u32) -> Option<u32> {
        let first = *self.first.get((word / Heads::STRETCH) as usize)?;
        let from = self.starts.get(first as usize..)?;
        let index = from.iter().position(|start| *start >= word)?;
        (from[index] == word).then_some(first + index as u32)
    }
}
