//! How the interpreter calls compiled functions: by code that takes arguments from the context's values, leaves results
//! there, and returns the function's status. A table says for which functions there is such code; see `call_native` in
//! `kernel/mixed.cpp`.

use std::fmt::Write;

use crate::ptx::Unit;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::emit::calls::{RETURNED, VALUES, call_with_values, results};
use crate::ptx::emit::entry::is_inlined;
use crate::ptx::image::ImageLayout;

/// Bytes of native stack that the code itself takes.
const FRAME: u32 = 256;

/// Whether the interpreter calls the defined function `defined` in place of interpreting it. One that makes tail calls
/// would ask its caller to go on with them.
fn is_called(unit: &Unit, analysis: &Analysis, defined: usize) -> bool {
    let facts = &analysis.facts[defined];
    facts.needed
        && !facts.interpreted
        && !analysis.makes_tail_calls(defined)
        && !is_inlined(unit, analysis, analysis.imported + defined as u32)
}

/// Appends the code and the table to `out`, if some of the program is interpreted.
pub fn compile(unit: &Unit, analysis: &Analysis, layout: &ImageLayout, out: &mut String) {
    if unit.cold.is_empty() {
        return;
    }
    let mut table = Vec::new();
    for (defined, facts) in analysis.facts.iter().enumerate() {
        if is_called(unit, analysis, defined) {
            let index = analysis.imported + defined as u32;
            thunk(unit, analysis, layout, index, out);
            table.push(format!(
                "{}n{index}, {}",
                unit.prefix,
                facts.stack.saturating_add(FRAME)
            ));
        } else {
            table.push("0, 0".to_owned());
        }
    }
    _ = writeln!(
        out,
        "\n.visible .global .align 8 .u64 {}natives[{}] = {{{}}};",
        unit.prefix,
        2 * table.len(),
        table.join(", ")
    );
}

fn thunk(unit: &Unit, analysis: &Analysis, layout: &ImageLayout, index: u32, out: &mut String) {
    let ty = &unit.program.meta.types[analysis.func_types[index as usize] as usize];
    let status = analysis.of(index).is_some_and(|facts| facts.status);
    let (offsets, _) = results(ty, status);
    let prefix = &unit.prefix;
    _ = writeln!(
        out,
        "\n.func (.param .b32 status) {prefix}n{index}(.param .b64 ctx, .param .b32 depth)\n{{"
    );
    out.push_str("\t.reg .b64 %ctx, %local, %l;\n\t.reg .b32 %context_at, %depth, %w;\n");
    out.push_str("\tld.param.b64 %ctx, [ctx];\n\tld.param.b32 %depth, [depth];\n\tcvta.to.local.u64 %local, %ctx;\n");
    out.push_str("\tcvt.u32.u64 %context_at, %local;\n");
    call_with_values(unit, analysis, layout, index, out);
    // What it throws is the context's, with its values: results are not there then.
    if status {
        out.push_str("\t.reg .pred %thrown;\n\tld.param.b32 %w, [q];\n\tst.param.b32 [status], %w;\n");
        _ = writeln!(out, "\tsetp.ne.u32 %thrown, %w, {RETURNED};\n\t@%thrown bra LEAVE;");
    } else {
        _ = writeln!(out, "\tmov.b32 %w, {RETURNED};\n\tst.param.b32 [status], %w;");
    }
    let mut at = VALUES as u32;
    for (from, ty) in offsets.iter().zip(&ty.results) {
        for k in 0..ty.units() {
            _ = writeln!(
                out,
                "\tld.param.b32 %w, [q+{}];\n\tst.local.b32 [%local+{at}], %w;",
                from + 4 * k
            );
            at += 4;
        }
    }
    if status {
        out.push_str("LEAVE:\n");
    }
    out.push_str("\tret;\n}\n");
}
