//! Text that is made from the opcode table: the kernel's header, its generated cases, the ISA page.
//!
//! In: the table of [`crate::isa`], and that of [`crate::wasi`]. Out: [`files`], each with its path and contents:
//!
//! - this file: the kernel's header of opcodes, the cases of the interpreter's switches, and the ISA page;
//! - `handlers`: which part of the kernel executes an opcode;
//! - `pure`: wrappers of which clang makes the templates of the PTX compiler;
//! - `wasi`: what the kernel knows of WASI's functions.

mod handlers;
mod pure;
mod wasi;

use std::fmt::Write;

use crate::isa::{Class, Handler, MAX_NUMBER, Mem, Op, OpInfo, Operand, TABLE, TrapKind, Ty};

/// The files made from the table: path in the repository and contents.
pub fn files() -> Vec<(&'static str, String)> {
    vec![
        ("vm/kernel/generated/isa.h", header()),
        ("vm/kernel/generated/cases.inc", cases(Handler::InLoop, "interpreter.h")),
        ("vm/kernel/generated/simd.inc", cases(Handler::Simd, "simd.h")),
        ("vm/kernel/generated/templates.inc", pure::wrappers()),
        ("vm/kernel/generated/wasi.h", wasi::header()),
        ("docs/src/isa.md", page()),
    ]
}

const NOTE: &str = "Made from bytecode/src/isa.rs by `cargo run -p gpu-run-bytecode --bin isa-gen`.";

fn c_name(name: &str) -> String {
    name.replace('.', "_")
}

fn header() -> String {
    let mut out = format!("// {NOTE}\n#pragma once\n\nnamespace gpu_run {{\n\nenum Op : unsigned short {{\n");
    for info in TABLE {
        _ = writeln!(
            out,
            "  OP_{} = {:#05x},  // {}",
            c_name(info.name),
            info.op as u16,
            info.doc
        );
    }
    out += "};\n\n";
    out += &handlers::function();
    out += "\nenum TrapKind : unsigned short {\n  TRAP_None = 0,\n";
    for (kind, name) in TrapKind::ALL {
        _ = writeln!(out, "  TRAP_{name} = {},  // {}", *kind as u16, kind.text());
    }
    out += "};\n\n}  // namespace gpu_run\n";
    out
}

/// Kernel expression that reads operand `index`.
fn read(info: &OpInfo, index: usize) -> String {
    let slot = match info.slot(index) {
        slot @ 1..4 => format!("slot(w, {slot})"),
        slot @ 4..8 => format!("slot(x, {})", slot - 4),
        slot => format!("slot(third_word(), {})", slot - 8),
    };
    match info.operands[index] {
        Operand::Src(ty) if ty.units() == 4 => format!("get128({slot})"),
        Operand::Src(ty) if ty.units() == 2 => format!("get64({slot})"),
        Operand::Src(_) => format!("get32({slot})"),
        Operand::Imm16 if is_64(info) => format!("(u64)(i64)(i16){slot}"),
        Operand::Imm16 => format!("(u32)(i32)(i16){slot}"),
        _ => slot,
    }
}

/// Whether the values that an immediate stands beside have 64 bits.
fn is_64(info: &OpInfo) -> bool {
    info.operands
        .iter()
        .any(|operand| matches!(operand, Operand::Src(ty) if ty.units() == 2))
}

fn write_back(info: &OpInfo, value: &str) -> String {
    match info.operands[0] {
        // Written where all its page's cases meet.
        Operand::Def(Ty::V128) => format!("result = {value};"),
        Operand::Def(ty) if ty.units() == 2 => format!("set64(slot(w, 1), {value});"),
        _ => format!("set32(slot(w, 1), {value});"),
    }
}

fn mem_type(mem: Mem) -> &'static str {
    match mem {
        Mem::i8 => "i8",
        Mem::u8 => "u8",
        Mem::i16 => "i16",
        Mem::u16 => "u16",
        Mem::i32 => "i32",
        Mem::u32 => "u32",
        Mem::u64 => "u64",
    }
}

fn width(operand: Operand) -> &'static str {
    match operand {
        Operand::Def(ty) | Operand::Src(ty) if ty.units() == 2 => "64",
        _ => "32",
    }
}

fn cases(handler: Handler, file: &str) -> String {
    let mut out =
        format!("// {NOTE}\n// Included in the switch of {file}. `w` is the instruction's word, `x` its second one.\n");
    for info in TABLE.iter().filter(|info| info.handler == handler) {
        let name = c_name(info.name);
        let args = |from: usize, to: usize| (from..to).map(|i| read(info, i)).collect::<Vec<_>>().join(", ");
        let n = info.operands.len();
        let second = if info.words() >= 2 {
            "u64 x = second_word(); "
        } else {
            ""
        };
        let function = pure::function(info).unwrap_or_default();
        let body = match info.class {
            Class::Control | Class::Aside | Class::Gpu | Class::Access => continue,
            Class::Pure => {
                format!(
                    "{second}{}",
                    write_back(info, &format!("semantics::{function}({})", args(1, n)))
                )
            }
            Class::Traps => {
                format!(
                    "TrapKind trap = TRAP_None; auto value = semantics::{function}({}, trap); if (trap) TRAP(trap); {}",
                    args(1, n),
                    write_back(info, "value")
                )
            }
            Class::Branch => {
                let negate = if name.starts_with("br_not_") { "!" } else { "" };
                format!(
                    "BRANCH_IF({negate}semantics::{function}({}), (i16)slot(w, 3))",
                    args(0, n - 1)
                )
            }
            Class::Load(mem) => format!("LOAD({}, {})", mem_type(mem), width(info.operands[0])),
            Class::Store(mem) => format!("STORE({}, {})", mem_type(mem), width(info.operands[1])),
            Class::LoadFar(mem) => format!("LOAD_FAR({}, {})", mem_type(mem), width(info.operands[0])),
            Class::StoreFar(mem) => format!("STORE_FAR({}, {})", mem_type(mem), width(info.operands[1])),
        };
        let step = match info.operands.first() {
            _ if info.class == Class::Branch => String::new(),
            Some(Operand::Def(Ty::V128)) => format!(" WRITE({})", info.words()),
            _ => format!(" STEP({})", info.words()),
        };
        _ = writeln!(out, "CASE({name}) {{ {body}{step} }}");
    }
    if handler == Handler::InLoop {
        others(&mut out);
    }
    out
}

/// The numbers that the interpreter's switch sends elsewhere. With them it has a case for every number,
/// so that none has to be compared with the last.
fn others(out: &mut String) {
    let in_loop = |number: u16| {
        let op = Op::from_number(number);
        op.is_some_and(|op| op.handler() == Handler::InLoop)
    };
    let mut numbers = (0..=MAX_NUMBER as u16).filter(|number| !in_loop(*number)).peekable();
    while let Some(first) = numbers.next() {
        let mut last = first;
        while numbers.next_if_eq(&(last + 1)).is_some() {
            last += 1;
        }
        _ = match first == last {
            true => writeln!(out, "case {first:#05x}:"),
            false => writeln!(out, "case {first:#05x} ... {last:#05x}:"),
        };
    }
    *out += "  OTHERS\n";
}

fn page() -> String {
    let mut out = format!(
        "<!-- {NOTE} -->\n\n# Instruction set\n\nAn instruction is one 64-bit word: the opcode in the low 16 bits, then three 16-bit slots; an \
         opcode with more operands has a second and a third word with four. Registers are units of 4 bytes, numbered from the frame's start; a 64-bit value takes two, a 128-bit one four. \
         A branch distance counts words from the branch itself. In the descriptions, `a`, `b`, `c` … are the operands in order. \
         Where a block of the heap is made or resized, an alignment that is 0 or no power of two counts as 1.\n\n\
         | number | opcode | operands | what it does |\n|---|---|---|---|\n"
    );
    for info in TABLE {
        let operands: Vec<_> = info.operands.iter().map(|operand| operand_name(*operand)).collect();
        _ = writeln!(
            out,
            "| {:#05x} | `{}` | {} | {} |",
            info.op as u16,
            info.name,
            operands.join(", "),
            info.doc.replace('|', "\\|")
        );
    }
    out += "\n## Traps\n\n| number | kind | message |\n|---|---|---|\n";
    for (kind, name) in TrapKind::ALL {
        _ = writeln!(out, "| {} | {name} | {} |", *kind as u16, kind.text());
    }
    out
}

fn operand_name(operand: Operand) -> String {
    let ty = |ty: Ty| format!("{ty:?}").to_lowercase();
    match operand {
        Operand::Def(t) => format!("→{}", ty(t)),
        Operand::Src(t) => ty(t),
        Operand::Imm16 => "imm16".into(),
        Operand::Offset16 => "offset16".into(),
        Operand::Imm32 | Operand::ImmS32 => "imm32".into(),
        Operand::Address => "address".into(),
        Operand::Imm64 => "imm64".into(),
        Operand::Offset64 => "offset64".into(),
        Operand::Rel16 => "branch16".into(),
        Operand::Rel32 => "branch32".into(),
        Operand::Callee => "call32".into(),
        Operand::Lane(lanes) => format!("lane of {lanes}"),
        Operand::TableLen => "count, then offsets".into(),
        Operand::DefRange => "→range".into(),
        Operand::SrcRange => "range".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}
