//! Wrappers that make a function in PTX of each pure opcode: templates for the PTX compiler.
//!
//! A wrapper's parameters and results are plain integers: a value of 128 bits is four of 32. It passes
//! each parameter through `plain`, so that the compiler reads it exactly once.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{NOTE, c_name, is_64};
use crate::isa::{Class, OpInfo, Operand, TABLE, Ty};

/// The function of `semantics.h` that computes a row's result (a branch's condition), if it has one.
/// A row with an immediate shares the function of the row without.
pub(super) fn function(info: &OpInfo) -> Option<String> {
    let name = c_name(info.name);
    let name = match info.class {
        Class::Pure | Class::Traps => &name,
        Class::Branch => name.strip_prefix("br_not_").unwrap_or(name.trim_start_matches("br_")),
        _ => return None,
    };
    Some(name.trim_end_matches("_imm").to_owned())
}

/// Whether a row computes with scalar floats and makes every NaN the canonical one.
fn canonicalizes(info: &OpInfo) -> bool {
    let float = |operand: &Operand| {
        matches!(
            operand,
            Operand::Def(Ty::F32 | Ty::F64) | Operand::Src(Ty::F32 | Ty::F64)
        )
    };
    let passes_bits = ["copysign", "abs", "neg"].iter().any(|op| info.name.ends_with(op));
    matches!(info.operands, [Operand::Def(_), Operand::Src(_), ..])
        && float(&info.operands[0])
        && float(&info.operands[1])
        && !passes_bits
}

/// One wrapper, named `prefix` and the function's name.
fn wrapper(info: &OpInfo, prefix: &str, function: &str) -> String {
    let operands = match info.class {
        Class::Branch => &info.operands[..info.operands.len() - 1],
        _ => &info.operands[1..],
    };
    let (mut params, mut args) = (Vec::new(), Vec::new());
    for (operand, letter) in operands.iter().zip('a'..) {
        match operand {
            Operand::Src(Ty::V128) => {
                let units: Vec<_> = (0..4).map(|unit| format!("{letter}{unit}")).collect();
                params.extend(units.iter().map(|unit| format!("u32 {unit}")));
                let units: Vec<_> = units.iter().map(|unit| format!("plain({unit})")).collect();
                args.push(format!("V128{{{{{}}}}}", units.join(", ")));
            }
            operand => {
                let wide = match operand {
                    Operand::Src(ty) => ty.units() == 2,
                    Operand::Imm16 => is_64(info),
                    _ => false,
                };
                params.push(format!("{} {letter}", if wide { "u64" } else { "u32" }));
                args.push(format!("plain({letter})"));
            }
        }
    }
    let result = match (info.class, info.operands[0]) {
        (Class::Branch, _) => "u32",
        (_, Operand::Def(Ty::V128)) => "V128",
        (_, Operand::Def(ty)) if ty.units() == 2 => "u64",
        _ => "u32",
    };
    let (params, args) = (params.join(", "), args.join(", "));
    match info.class {
        Class::Traps => format!(
            "OrTrap<{result}> {prefix}{function}({params}) {{ TrapKind trap = TRAP_None; {result} value = \
             semantics::{function}({args}, trap); return {{value, trap}}; }}\n"
        ),
        _ => format!("{result} {prefix}{function}({params}) {{ return semantics::{function}({args}); }}\n"),
    }
}

/// All wrappers, each function's once. Those whose names begin with `lazy_` leave NaNs as they come.
pub(super) fn wrappers() -> String {
    let mut out = format!("// {NOTE}\n// Included in templates.cpp.\n#if !defined(GPU_RUN_LAZY_NAN)\n");
    let mut done = BTreeSet::new();
    let rows = || TABLE.iter().filter_map(|info| Some((info, function(info)?)));
    for (info, function) in rows() {
        if !done.contains(&function) {
            out += &wrapper(info, "", &function);
            done.insert(function);
        }
    }
    out += "#else\n";
    for (info, function) in rows().filter(|(info, _)| info.class == Class::Pure && canonicalizes(info)) {
        out += &wrapper(info, "lazy_", &function);
    }
    _ = writeln!(out, "#endif");
    out
}
