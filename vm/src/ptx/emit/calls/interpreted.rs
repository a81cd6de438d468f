//! Functions that are not compiled: what stands in their place has the same head, and calls the interpreter. It passes
//! arguments and results in the context's values; see `kernel/mixed.cpp`.

use std::fmt::Write;
use std::mem::offset_of;

use crate::ptx::Unit;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::emit::calls::{self, RETURNED, THROWN, VALUES};
use crate::ptx::emit::function::ascii;
use crate::ptx::image::{Image, ImageLayout};

// The interpreter's answer is the function's status.
const _: () = assert!(RETURNED == 0 && THROWN == 1);

/// Appends what stands in the place of the defined function `defined` to `out`.
pub fn compile(unit: &Unit, analysis: &Analysis, layout: &ImageLayout, defined: usize, out: &mut String) {
    let index = analysis.imported + defined as u32;
    let function = &unit.program.meta.functions[defined];
    let ty = &unit.program.meta.types[function.ty as usize];
    let status = analysis.facts[defined].status;
    let name = unit.program.meta.func_name(index);
    _ = writeln!(
        out,
        "\n// {}: interpreted\n{}\n{{",
        ascii(&name),
        calls::head(unit, analysis, index)
    );
    out.push_str(calls::CONTEXT_REGISTERS);
    out.push_str("\t.reg .b64 %ctx;\n\t.reg .b32 %depth, %instance, %answer, %w;\n");
    out.push_str(calls::READ_CONTEXT);
    out.push_str("\tcvta.local.u64 %ctx, %local;\n");
    let mut at = VALUES as u32;
    for (i, ty) in ty.params.iter().enumerate() {
        for k in 0..ty.units() {
            _ = writeln!(
                out,
                "\tld.param.b32 %w, [a{i}+{}];\n\tst.local.b32 [%local+{at}], %w;",
                4 * k
            );
            at += 4;
        }
    }
    let (space, prefix) = (layout.space(), &unit.prefix);
    let instance = offset_of!(Image, instance);
    _ = writeln!(out, "\tld.{space}.b32 %instance, [{prefix}instance+{instance}];");
    out.push_str("\t.param .b64 q0;\n\t.param .b32 q1;\n\t.param .b32 q2;\n\t.param .b32 q3;\n");
    out.push_str("\t.param .b32 q4;\n\t.param .b64 q5;\n\t.param .b64 q6;\n\t.param .b64 q7;\n\t.param .b32 q;\n");
    out.push_str("\tst.param.b64 [q0], %ctx;\n\tst.param.b32 [q1], %depth;\n\tst.param.b32 [q2], %instance;\n");
    let head = layout.load_start(prefix, "%w", defined as u32);
    _ = writeln!(
        out,
        "\t{head}\n\tst.param.b32 [q3], %w;\n\tadd.u32 %w, %w, 1;\n\tst.param.b32 [q4], %w;"
    );
    out.push_str("\tst.param.b64 [q5], 0;\n\tst.param.b64 [q6], 0;\n\tst.param.b64 [q7], 0;\n");
    out.push_str("\tcall (q), gpu_run_interpret, (q0, q1, q2, q3, q4, q5, q6, q7);\n\tld.param.b32 %answer, [q];\n");
    if status {
        out.push_str("\tst.param.b32 [ret], %answer;\n");
    }
    calls::return_values_of_context(ty, status, out);
    out.push_str("}\n");
}
