//! From offsets in the wasm file to lines of the user's sources.
//!
//! The table is read only when a fault is reported, so a [`Program`](crate::Program) carries it as
//! bytes, and it is checked when it is read.

use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::verify::{self, VerifyError};

/// A call that was open at an instruction, as the user's compiler describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFrame {
    /// Readable name of the function, where it is known.
    pub function: Option<String>,
    /// Where in it.
    pub line: Option<SourceLine>,
}

/// A place in the user's sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Path, as the compiler wrote it.
    pub file: String,
    /// Line from 1, or 0 where it is not known.
    pub line: u32,
    /// Column from 1, or 0 where it is not known.
    pub column: u32,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceLine { file, line: 0, .. } => f.write_str(file),
            SourceLine { file, line, column: 0 } => write!(f, "{file}:{line}"),
            SourceLine { file, line, column } => write!(f, "{file}:{line}:{column}"),
        }
    }
}

/// Lines of a module's instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTable {
    /// Paths, each once.
    pub files: Vec<String>,
    /// Names of functions, each once.
    pub functions: Vec<String>,
    /// Frames, each once; a caller comes before what was inlined into it.
    pub frames: Vec<LineFrame>,
    /// What stands at which offset, sorted.
    pub ranges: Vec<LineRange>,
}

/// A [`SourceFrame`] in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LineFrame {
    /// Index into [`LineTable::functions`].
    pub function: Option<u32>,
    /// Index into [`LineTable::files`]; without it line and column mean nothing.
    pub file: Option<u32>,
    /// Line from 1, or 0.
    pub line: u32,
    /// Column from 1, or 0.
    pub column: u32,
    /// Index of the frame into which the compiler inlined this one.
    pub caller: Option<u32>,
}

/// Offsets from `offset` up to the next range's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    /// Offset in the wasm file.
    pub offset: u32,
    /// Index into [`LineTable::frames`] of the innermost frame; `None` where nothing is known.
    pub frame: Option<u32>,
}

impl LineTable {
    /// A table of offsets, in rising order, with the frames at each, innermost first.
    pub fn new(places: impl IntoIterator<Item = (u32, Vec<SourceFrame>)>) -> LineTable {
        let mut table = LineTable::default();
        let (mut files, mut functions, mut frames) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (offset, chain) in places {
            let mut caller = None;
            for frame in chain.into_iter().rev() {
                let (line, column) = frame.line.as_ref().map_or((0, 0), |line| (line.line, line.column));
                let frame = LineFrame {
                    function: frame
                        .function
                        .map(|name| intern(&mut functions, &mut table.functions, name)),
                    file: frame.line.map(|line| intern(&mut files, &mut table.files, line.file)),
                    line,
                    column,
                    caller,
                };
                caller = Some(intern(&mut frames, &mut table.frames, frame));
            }
            if table.ranges.last().and_then(|range| range.frame) != caller {
                table.ranges.push(LineRange { offset, frame: caller });
            }
        }
        table
    }

    /// The frames at an offset of the wasm file, innermost first; none where nothing is known.
    pub fn frames_at(&self, offset: u32) -> Vec<SourceFrame> {
        let after = self.ranges.partition_point(|range| range.offset <= offset);
        let mut next = after.checked_sub(1).and_then(|i| self.ranges[i].frame);
        let mut chain = Vec::new();
        while let Some(frame) = next.and_then(|index| self.frames.get(index as usize)) {
            let file = frame.file.and_then(|file| self.files.get(file as usize));
            let function = frame.function.and_then(|name| self.functions.get(name as usize));
            chain.push(SourceFrame {
                function: function.cloned(),
                line: file.map(|file| SourceLine {
                    file: file.clone(),
                    line: frame.line,
                    column: frame.column,
                }),
            });
            next = frame.caller;
        }
        chain
    }
}

/// The index of `item`, which is added if it is new.
fn intern<T: Clone + Eq + Hash>(known: &mut HashMap<T, u32>, all: &mut Vec<T>, item: T) -> u32 {
    *known.entry(item).or_insert_with_key(|item| {
        all.push(item.clone());
        all.len() as u32 - 1
    })
}

/// A [`LineTable`] as bytes, which nothing has looked at yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(pub(crate) Vec<u8>);

/// Why a line table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinesError {
    /// The bytes mean nothing.
    #[error("the line table cannot be read: {0}")]
    Unreadable(String),
    /// It refers to what is not there.
    #[error("the line table is not sound: {0}")]
    Unsound(#[from] VerifyError),
}

impl Lines {
    /// The bytes of a table. An empty table takes none.
    pub fn new(table: &LineTable) -> Lines {
        if table.ranges.is_empty() {
            return Lines::default();
        }
        Lines(postcard::to_stdvec(table).expect("plain data in memory can be written"))
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads and checks the table.
    pub fn read(&self) -> Result<LineTable, LinesError> {
        if self.is_empty() {
            return Ok(LineTable::default());
        }
        let table = match postcard::take_from_bytes(&self.0) {
            Ok((table, [])) => table,
            Ok((_, rest)) => return Err(LinesError::Unreadable(format!("{} bytes are left over", rest.len()))),
            Err(error) => return Err(LinesError::Unreadable(error.to_string())),
        };
        verify::lines(&table)?;
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
