//! What a pure opcode computes, as lines of PTX to put in its place.
//!
//! clang compiles a function of `kernel/ops/semantics.h` for each such opcode to `generated/templates.ptx`. Here one is
//! taken apart once. Loads of parameters become operands. Stores of results become moves, or vanish where the
//! instruction before can write the result itself. What is left is copied with the registers and labels renamed. So the
//! semantics stand in one place.
//!
//! Names that an instance takes: registers `%x…`, declared in a scope of its own, and labels `$x…`.
//!
//! In: clang's text of a function, and for each use the operands. Out: lines of PTX.
//!
//! - this file: templates, and their use in place of an instruction;
//! - `parse`: from clang's text to a template.

mod parse;

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{LazyLock, OnceLock};

/// Compiled by `kernel/build-ptx.sh`.
const PURE: &str = include_str!("../../kernel/generated/templates.ptx");

/// Width of an operand: a register of type `.b32` or `.b64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Width {
    B32,
    B64,
}

impl Width {
    /// The PTX type.
    pub const fn ptx(self) -> &'static str {
        match self {
            Width::B32 => "b32",
            Width::B64 => "b64",
        }
    }

    fn parse(text: &str) -> Option<Width> {
        match text {
            "b32" => Some(Width::B32),
            "b64" => Some(Width::B64),
            _ => None,
        }
    }
}

/// An opcode's PTX.
#[derive(Debug)]
pub struct Template {
    /// Operands in order; one of 128 bits is four of 32.
    pub params: Vec<Width>,
    /// Results in order. Of an opcode that may trap the last one is the trap's kind, or 0.
    pub results: Vec<Width>,
    lines: Vec<Line>,
    /// As `lines`, but with the one result in a predicate.
    predicate: Option<Vec<Line>>,
    /// Registers of each of [`CLASSES`] that the lines use.
    locals: [usize; CLASSES.len()],
    /// Whether a line has a label or branches.
    branches: bool,
    /// Parameters that some line wants in a register, because it takes no number there.
    registers: Vec<bool>,
    /// Results that may be written before the last parameter is read.
    early: Vec<bool>,
}

/// Classes of registers: clang's prefix and type.
const CLASSES: [(&str, &str); 4] = [("p", "pred"), ("rs", "b16"), ("r", "b32"), ("rd", "b64")];

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Param(usize),
    Result(usize),
    Predicate,
    /// Class and number of a register.
    Local(usize, usize),
    Label(usize),
    /// The label after the last line.
    End,
}
type Line = Vec<Token>;

struct Function {
    text: &'static str,
    template: OnceLock<Option<Template>>,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let functions = PURE.split(".visible .func").skip(1);
    let entry = |text: &'static str| {
        let name = text.split_once(") ")?.1.split_once('(')?.0;
        let template = OnceLock::new();
        Some((name, Function { text, template }))
    };
    functions.filter_map(entry).collect()
});

/// The template of the opcode `name`, as the table of opcodes or `semantics.h` spells it (`i32.add`,
/// `i32_add`, `i32.add_imm`; for a branch the comparison, `i32.lt_s`). With `lazy_` before it, of
/// arithmetic with scalar floats, it leaves NaNs as the hardware makes them. None if there is no such.
pub fn template(name: &str) -> Option<&'static Template> {
    let function = match FUNCTIONS.get(name) {
        Some(function) => function,
        None => FUNCTIONS.get(name.trim_end_matches("_imm").replace('.', "_").as_str())?,
    };
    function.template.get_or_init(|| parse::parse(function.text)).as_ref()
}

impl Template {
    /// Appends the code that computes `results` from `args`. These are registers of the right widths,
    /// or for an argument a number (signed); a result may be an argument's register. `unique` is a number that no
    /// other instance in the function has.
    pub fn emit(&self, out: &mut String, unique: usize, args: &[&str], results: &[&str]) {
        debug_assert_eq!((args.len(), results.len()), (self.params.len(), self.results.len()));
        self.write(out, &self.lines, unique, args, results);
    }

    /// Whether the result can be had as a predicate: it is 1 or 0, as a comparison's.
    pub fn predicate(&self) -> bool {
        self.predicate.is_some()
    }

    /// As [`Template::emit`], with the result in the predicate register `predicate`. Writes nothing and
    /// returns false if it cannot be had there.
    pub fn emit_predicate(&self, out: &mut String, unique: usize, args: &[&str], predicate: &str) -> bool {
        let Some(lines) = &self.predicate else { return false };
        debug_assert_eq!(args.len(), self.params.len());
        self.write(out, lines, unique, args, &[predicate]);
        true
    }

    fn write(&self, out: &mut String, lines: &[Line], unique: usize, args: &[&str], results: &[&str]) {
        // A result that is written early must not be the register of an argument still to be read.
        let overlap = (self.early.iter().zip(results)).any(|(early, result)| *early && args.contains(result));
        let copied = |j: usize| overlap || (self.registers[j] && !args[j].starts_with('%'));
        let copies = (0..args.len()).any(copied);
        let used = |class: usize| {
            let tokens = || lines.iter().flatten();
            self.locals[class] > 0 && tokens().any(|token| matches!(token, Token::Local(of, _) if *of == class))
        };
        let scope = copies || self.branches || (0..CLASSES.len()).any(used);
        if scope {
            out.push_str("\t{\n");
            for (class, (prefix, ty)) in CLASSES.iter().enumerate().filter(|(class, _)| used(*class)) {
                _ = writeln!(out, "\t.reg .{ty} %x{prefix}<{}>;", self.locals[class]);
            }
        }
        for (j, width) in self.params.iter().enumerate().filter(|(j, _)| copied(*j)) {
            let ty = width.ptx();
            _ = writeln!(out, "\t.reg .{ty} %xa{j}; mov.{ty} %xa{j}, {};", args[j]);
        }
        for line in lines {
            // Labels stand at the margin.
            if !matches!(line.first(), Some(Token::Label(_) | Token::End)) {
                out.push('\t');
            }
            for token in line {
                _ = match token {
                    Token::Text(text) => write!(out, "{text}"),
                    Token::Param(j) if copied(*j) => write!(out, "%xa{j}"),
                    Token::Param(j) => write!(out, "{}", args[*j]),
                    Token::Result(i) => write!(out, "{}", results[*i]),
                    Token::Predicate => write!(out, "{}", results[0]),
                    Token::Local(class, n) => write!(out, "%x{}{n}", CLASSES[*class].0),
                    Token::Label(n) => write!(out, "$x{unique}_{n}"),
                    Token::End => write!(out, "$x{unique}_end"),
                };
            }
            out.push('\n');
        }
        if self.branches {
            _ = writeln!(out, "$x{unique}_end:");
        }
        if scope {
            out.push_str("\t}\n");
        }
    }
}

#[cfg(test)]
mod tests;
