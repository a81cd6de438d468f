//! Lines of the user's sources in backtraces.

use std::collections::HashMap;

use gpu_run::{Backtrace, Module};
use gpu_run_bytecode::SourceFrame;
use gpu_run_translator::Dwarf;

/// A module, and what tells the lines of its program. Nothing is read before a fault is reported.
pub struct LineSource {
    /// The module, whose program may have a line table.
    pub module: Module,
    /// The bytes of the module, if it was translated just now.
    pub wasm: Option<Vec<u8>>,
}

impl LineSource {
    /// Adds what is known to a backtrace.
    pub fn add_to(&self, backtrace: &mut Backtrace) {
        self.add([backtrace], |frames_at, offset| frames_at(offset));
    }

    /// The same for a profile, of several backtraces. What compilers say to be of no line, such as a copy between two rounds of
    /// a loop, counts for the line beside it in the same function.
    pub fn add_near_to_all<'b>(&self, backtraces: impl IntoIterator<Item = &'b mut Backtrace>) {
        let mut known = HashMap::new();
        self.add(backtraces, |frames_at, offset| {
            let found = known.entry(offset);
            found.or_insert_with(|| frames_near(frames_at, offset)).clone()
        });
    }

    /// Adds lines of what tells them, which is read once.
    fn add<'b>(
        &self,
        backtraces: impl IntoIterator<Item = &'b mut Backtrace>,
        mut frames: impl FnMut(&dyn Fn(u32) -> Vec<SourceFrame>, u32) -> Vec<SourceFrame>,
    ) {
        let add = |frames_at: &dyn Fn(u32) -> Vec<SourceFrame>| {
            for backtrace in backtraces {
                backtrace.add_lines(|offset| frames(frames_at, offset));
            }
        };
        match &self.wasm {
            Some(wasm) => {
                if let Some(dwarf) = Dwarf::find(wasm) {
                    add(&|offset| dwarf.frames_at(offset));
                }
            }
            None => {
                if let Ok(table) = self.module.program().lines.read() {
                    add(&|offset| table.frames_at(offset));
                }
            }
        }
    }
}

/// Bytes of a module that are looked at to find a line: some instructions.
const NEAR: u32 = 64;

/// The frames at an offset. If the innermost one has no line, those of what stands before it in the same functions, or after
/// it.
fn frames_near(frames_at: &dyn Fn(u32) -> Vec<SourceFrame>, offset: u32) -> Vec<SourceFrame> {
    let has_line = |frame: &SourceFrame| frame.line.as_ref().is_some_and(|line| line.line > 0);
    let found = frames_at(offset);
    if found.first().is_none_or(has_line) {
        return found;
    }
    let functions = |frames: &[SourceFrame]| -> Vec<Option<String>> {
        let names = frames.iter().map(|frame| frame.function.clone());
        names.collect()
    };
    let same = functions(&found);
    let before = (offset.saturating_sub(NEAR)..offset).rev();
    let after = offset.saturating_add(1)..offset.saturating_add(NEAR);
    let near = before.chain(after).map(frames_at);
    let mut near = near.filter(|frames| frames.first().is_some_and(has_line) && functions(frames) == same);
    near.next().unwrap_or(found)
}

#[cfg(test)]
mod tests {
    use gpu_run_bytecode::SourceLine;

    use super::*;

    #[test]
    fn what_has_no_line_counts_for_the_one_beside_it() {
        let frame = |name: &str, line| SourceFrame {
            function: Some(name.into()),
            line: Some(SourceLine {
                file: "a.c".into(),
                line,
                column: 0,
            }),
        };
        let frames_at = |offset| match offset {
            10 => vec![frame("a", 1)],
            11..13 => vec![frame("b", 7), frame("a", 2)],
            13..15 => vec![frame("a", 0)],
            15 => vec![frame("b", 0), frame("a", 3)],
            20 => vec![frame("c", 0)],
            21 => vec![frame("c", 8)],
            _ => Vec::new(),
        };
        let line = |offset| frames_near(&frames_at, offset)[0].line.as_ref().map(|line| line.line);
        assert_eq!(line(10), Some(1));
        assert_eq!(line(14), Some(1));
        assert_eq!(line(15), Some(7));
        assert_eq!(line(20), Some(8));
        assert!(frames_near(&frames_at, 30).is_empty());
    }
}
