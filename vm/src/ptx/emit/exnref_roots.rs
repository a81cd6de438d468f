//! References to exceptions that a function holds, where the runtime finds them when it looks which
//! exceptions are still needed.
//!
//! Registers cannot be looked through. So a function that may hold references writes its units to a frame in local
//! memory before it calls another, whatever they are. A number that looks like a reference keeps an exception, as it
//! does in the interpreter. The frames are a list that begins in the context; see `Roots` in `kernel/compiled.h`.

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::{FuncType, Function, Op, ValType};

use crate::layout::{Context, Roots};
use crate::ptx::analysis::cfg::{Cfg, is_call};
use crate::ptx::analysis::flow::TransferFn;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::writer::ptx;

/// Bytes of a frame before its units: the next frame, and how many units follow.
const HEAD: u32 = size_of::<Roots>() as u32;
const _: () = assert!(offset_of!(Roots, next) == 0, "the frame begins with it");

/// Whether a function may hold a reference to an exception.
pub fn are_held(transfer: &TransferFn, function: &Function, cfg: &Cfg, ty: &FuncType) -> bool {
    let meta = &transfer.analysis.program.meta;
    let among = |types: &[ValType]| types.contains(&ValType::ExnRef);
    let tags = meta.tag_types();
    let caught = |tag: &u32| among(&meta.types[tags[*tag as usize] as usize].params);
    let mut clauses = function.tries.iter().flat_map(|range| &range.clauses);
    if among(&ty.params) || clauses.any(|clause| clause.reference || clause.tag.iter().any(caught)) {
        return true;
    }
    let in_globals = meta.global_types().iter().any(|global| global.ty == ValType::ExnRef);
    let in_tables = meta.table_types().iter().any(|table| table.element == ValType::ExnRef);
    cfg.nodes.iter().any(|node| match node.inst.op {
        Op::TableGet => in_tables,
        Op::GlobalGet32 => in_globals,
        op if is_call(op) => among(&transfer.callee_type(node).results),
        _ => false,
    })
}

impl Compiler<'_> {
    /// Declares the function's frame of roots.
    pub fn declare_roots(&self, out: &mut String) {
        if self.roots {
            let bytes = HEAD + 4 * self.units;
            _ = writeln!(
                out,
                "\t.local .align 8 .b8 roots[{bytes}];\n\t.reg .b64 %roots;\n\t.reg .b32 %outer;"
            );
        }
    }

    /// The text of instructions that fill the frame's head.
    pub fn begin_roots(&self) -> String {
        if !self.roots {
            return String::new();
        }
        format!(
            "\tmov.u64 %roots, roots;\n\tld.local.b32 %outer, [%local+{}];\n\tst.local.b32 [%roots], %outer;\n\tst.local.b32 [%roots+{}], {};\n",
            offset_of!(Context, roots),
            offset_of!(Roots, count),
            self.units
        )
    }

    /// Shows what the function holds to what is called next.
    pub fn show_roots(&mut self) {
        if !self.roots {
            return;
        }
        for unit in 0..self.units {
            ptx!(self, "st.local.b32 [%roots+{}], %r{unit};", HEAD + 4 * unit);
        }
        let (distance, bytes) = (self.w.pair(), self.w.word());
        ptx!(self, "sub.u64 {distance}, %local, %roots;");
        ptx!(self, "cvt.u32.u64 {bytes}, {distance};");
        ptx!(self, "st.local.b32 [%local+{}], {bytes};", offset_of!(Context, roots));
    }

    /// Takes the function's frame from the list, as it is left.
    pub fn hide_roots(&mut self) {
        if self.roots && !matches!(self.role, Role::Kernel) {
            ptx!(self, "st.local.b32 [%local+{}], %outer;", offset_of!(Context, roots));
        }
    }
}
