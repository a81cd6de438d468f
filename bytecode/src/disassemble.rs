//! Programs as text.

use std::fmt::{self, Write};

use crate::code::{Inst, br_table_offset, instructions};
use crate::isa::{Op, Operand, TrapKind};
use crate::program::{Clause, Program, Try};
use crate::wasi;

/// The program's functions as text, one instruction a line:
/// `word index: opcode operands ; offset in the wasm file`.
pub fn disassemble(program: &Program) -> String {
    let mut text = String::new();
    write_program(&mut text, program).expect("a String takes all");
    text
}

/// One defined function as text; empty if there is no function of this index (imports first).
pub fn disassemble_function(program: &Program, index: u32) -> String {
    let mut text = String::new();
    let function = index.checked_sub(program.meta.imported_funcs());
    if let Some(function) = function.filter(|function| program.meta.functions.len() > *function as usize) {
        write_function(&mut text, program, function as usize).expect("a String takes all");
    }
    text
}

/// The instruction at word `at` as text, without its place; empty if there is none.
pub fn disassemble_instruction(program: &Program, at: u32) -> String {
    let code = program.code.get(at as usize..).unwrap_or_default();
    match instructions(code).next() {
        Some((_, Ok(inst))) => line(program, &inst, code, at),
        _ => String::new(),
    }
}

fn write_program(out: &mut String, program: &Program) -> fmt::Result {
    for index in 0..program.meta.functions.len() {
        if index > 0 {
            out.push('\n');
        }
        write_function(out, program, index)?;
    }
    Ok(())
}

/// Writes the defined function `index`.
fn write_function(out: &mut String, program: &Program, index: usize) -> fmt::Result {
    let meta = &program.meta;
    let function = &meta.functions[index];
    let index = meta.imported_funcs() + index as u32;
    let ty = meta.types.get(function.ty as usize).cloned().unwrap_or_default();
    writeln!(out, "func {index} {} {ty}", meta.func_name(index))?;
    let (start, end) = (function.start as usize, function.end as usize);
    let Some(code) = program.code.get(start..end) else {
        return writeln!(out, "  words {start}..{end} are outside of the code");
    };
    let mut last_offset = None;
    for try_ in &function.tries {
        writeln!(out, "        try @{}..@{}{}", try_.start, try_.end, clauses(try_))?;
    }
    for (pc, inst) in instructions(code) {
        let at = (start + pc) as u32;
        match inst {
            Ok(inst) => write!(out, "{at:6}: {}", line(program, &inst, &code[pc..], at))?,
            Err(error) => write!(out, "{at:6}: {error}")?,
        }
        let after = program.source_map.partition_point(|place| place.pc <= at);
        let offset = after.checked_sub(1).map(|i| program.source_map[i].offset);
        if let Some(offset) = offset.filter(|offset| *offset != u32::MAX && last_offset != Some(*offset)) {
            write!(out, " ; {offset:#x}")?;
            last_offset = Some(offset);
        }
        writeln!(out)?;
    }
    Ok(())
}

/// One instruction as text. `code` begins at it, `at` is its word index.
fn line(program: &Program, inst: &Inst, code: &[u64], at: u32) -> String {
    let info = inst.op.info();
    let mut text = format!("{:<16} ", info.name);
    let target = |rel: i64| format!("@{}", at as i64 + rel);
    let mut operands = Vec::new();
    for (operand, arg) in info.operands.iter().zip(inst.args) {
        operands.push(match operand {
            Operand::Def(_)
            | Operand::Src(_)
            | Operand::Address
            | Operand::DefRange
            | Operand::SrcRange
            | Operand::Base => {
                format!("r{arg}")
            }
            Operand::Callee => callee(program, at as i64 + arg),
            Operand::Rel16 | Operand::Rel32 => target(arg),
            Operand::Count => format!("x{arg}"),
            Operand::Offset16 | Operand::Offset64 => format!("+{}", arg as u64),
            Operand::Func => program.meta.func_name(arg as u32),
            Operand::Memory => format!("memory{arg}"),
            Operand::Table => format!("table{arg}"),
            Operand::Global => format!("global{arg}"),
            Operand::Type => format!("type{arg}"),
            Operand::Tag => format!("tag{arg}"),
            Operand::DataSegment => format!("data{arg}"),
            Operand::ElemSegment => format!("elem{arg}"),
            Operand::Wasi => match wasi::Function::from_number(arg as u16) {
                Some(function) => function.info().name.to_owned(),
                None => format!("function {arg}"),
            },
            Operand::Trap => match TrapKind::from_number(arg as u16) {
                Some(kind) => format!("\"{}\"", kind.text()),
                None => format!("kind {arg}"),
            },
            Operand::Imm64 => format!("{:#x}", arg as u64),
            Operand::Imm32 if inst.op == Op::Const32 => format!("{}", arg as i32),
            Operand::Frame => format!("frame {arg}"),
            Operand::Header => format!("header {arg}"),
            Operand::Zero => continue,
            _ => arg.to_string(),
        });
    }
    text += &operands.join(", ");
    if inst.op == Op::BrTable {
        let targets = (0..inst.args[1] as usize).map(|i| target(br_table_offset(code, i) as i64));
        text += &format!(" [{}]", targets.collect::<Vec<_>>().join(", "));
    }
    if matches!(inst.op, Op::CallIndirect | Op::ReturnCallIndirect) {
        let ty = program.meta.types.get(inst.args[3] as usize);
        text += &format!(" {}", ty.cloned().unwrap_or_default());
    }
    text.truncate(text.trim_end().len());
    text
}

/// Handlers of a protected range: what they catch and where they are.
fn clauses(try_: &Try) -> String {
    let clause = |clause: &Clause| {
        let tag = clause.tag.map_or("all".into(), |tag| format!("tag{tag}"));
        let reference = if clause.reference { " with reference" } else { "" };
        format!(", catch {tag}{reference} in r{} @{}", clause.unit, clause.target)
    };
    try_.clauses.iter().map(clause).collect()
}

fn callee(program: &Program, start: i64) -> String {
    let functions = &program.meta.functions;
    match functions.iter().position(|function| function.start as i64 == start) {
        Some(index) => program.meta.func_name(program.meta.imported_funcs() + index as u32),
        None => format!("@{start}"),
    }
}
