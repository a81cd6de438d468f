//! Lines of the user's sources in PTX, for tools that show them beside machine code.

use std::collections::HashMap;
use std::fmt::Write;

use gpu_run_bytecode::Program;

/// A place in a source: number of the file from 1, line, column.
type Place = (u32, u32, u32);

/// What stands at which word of a program.
pub struct Lines {
    /// Paths, each once.
    files: Vec<String>,
    /// By first word, in order.
    places: Vec<(u32, Place)>,
}

impl Lines {
    /// The lines that a program has with it.
    pub fn of(program: &Program) -> Option<Lines> {
        let table = program.lines.read().ok()?;
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut files = Vec::new();
        let mut places = Vec::new();
        for mapped in &program.source_map {
            // The innermost call that the user's compiler has inlined there and whose line it knows.
            let frames = table.frames_at(mapped.offset);
            let Some(line) = frames
                .into_iter()
                .filter_map(|frame| frame.line)
                .find(|line| line.line > 0)
            else {
                continue;
            };
            let file = *numbers.entry(line.file).or_insert_with_key(|file| {
                files.push(file.clone());
                files.len() as u32
            });
            places.push((mapped.pc, (file, line.line, line.column)));
        }
        (!places.is_empty()).then_some(Lines { files, places })
    }

    /// Names the files, for the begin of a module.
    pub fn files(&self) -> String {
        let mut out = String::new();
        for (number, file) in (1..).zip(&self.files) {
            // What ptxas has no form for is left out.
            let path: String = file.chars().filter(|c| *c != '"' && matches!(c, ' '..='~')).collect();
            _ = writeln!(out, ".file {number} \"{}\"", path.replace('\\', "/"));
        }
        out
    }

    /// The directive for a word, if its line is known.
    pub fn at(&self, pc: u32) -> Option<String> {
        let after = self.places.partition_point(|(word, _)| *word <= pc);
        let (_, (file, line, column)) = self.places.get(after.checked_sub(1)?)?;
        Some(format!(".loc {file} {line} {column}"))
    }
}
