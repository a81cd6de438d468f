//! The opcodes that have no template but code of their own in [`crate::ptx::emit::instructions`]; the runtime's
//! `gpu_run_op` runs the others. That no opcode is forgotten is checked when this crate is compiled.

use gpu_run_bytecode::isa::TABLE;
use gpu_run_bytecode::{Class, Handler, Op};

use crate::ptx::emit::atomics::AtomicAccess;

/// Declares the enumeration, so that a match over it has an arm for each.
macro_rules! own {
    ($($name:ident)*) => {
        /// An opcode with code of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum HandwrittenOp { $($name,)* }

        impl HandwrittenOp {
            /// `None`: it has a template, is an [`AtomicAccess`], or the runtime runs it.
            pub const fn of(op: Op) -> Option<HandwrittenOp> {
                match op {
                    $(Op::$name => Some(HandwrittenOp::$name),)*
                    _ => None,
                }
            }
        }
    };
}

own! {
    Trap Jump BrIf BrUnless BrTable BrI32AddNe BrI32AddLtS BrI32AddLtU BrI32AddNeImm
    Return Call CallIndirect CallImport ReturnCall ReturnCallIndirect ReturnCallImport Throw ThrowRef
    Enter BridgeReturn ThreadEnd NativeReturn Visit
    CopyRange Zero Const32 Const64S Const64 V128Const I8x16Shuffle
    GlobalGet32 GlobalGet64 GlobalGet128 GlobalSet32 GlobalSet64 GlobalSet128 StackPointerSet StackLimit Fuel
    MemorySize MemorySize64 MemoryCopy MemoryCopy64 MemoryFill MemoryFill64 Memcmp
    TableGet TableSet TableSize RefFunc
    Gid ThreadCount Time Meet Exit PanicExit Print PrintEnd
    DbgI32 DbgF32 DbgBool DbgChar DbgU32 DbgI64 DbgF64 DbgU64 DbgNl DbgFlush
    Alloc AllocZero Dealloc Realloc
    RequestQueue RequestPoll
    AtomicRelaxed AtomicAcqRel AtomicFence AtomicAdd AtomicInc AtomicDec AtomicCas
    V128Load V128Store V128Load8x8S V128Load8x8U V128Load16x4S V128Load16x4U V128Load32x2S V128Load32x2U
    V128Load8Splat V128Load16Splat V128Load32Splat V128Load64Splat V128Load32Zero V128Load64Zero
    V128Load8Lane V128Load16Lane V128Load32Lane V128Load64Lane
    V128Store8Lane V128Store16Lane V128Store32Lane V128Store64Lane
}

/// Whether the runtime's `gpu_run_op` can run an opcode of this handler: `execute_aside` in `kernel/runtime.cpp`.
/// [`Handler::Frames`] is about the interpreter's frames, and requests have a function of their own.
const fn runtime_has(handler: Handler) -> bool {
    use Handler::*;
    matches!(handler, Debug | Allocation | Slow | Atomics | Work)
}

const _: () = {
    let mut i = 0;
    while i < TABLE.len() {
        let (op, class) = (TABLE[i].op, TABLE[i].class);
        let by_hand = matches!(class, Class::Control | Class::Aside | Class::Gpu | Class::Access);
        let own = HandwrittenOp::of(op).is_some();
        assert!(
            by_hand || !own,
            "an opcode of a class that `instruction` handles as a whole is named in `own!`"
        );
        assert!(
            !by_hand || own || AtomicAccess::of(op).is_some() || runtime_has(TABLE[i].handler),
            "an opcode has no PTX: name it in `own!` (vm/src/ptx/emit/handwritten.rs) and write its code in `Compiler::instruction` \
             (vm/src/ptx/emit/instructions.rs); or, if it needs neither frames nor the interpreter's loop, give it the handler \
             Slow and write it in vm/kernel/ops/slow.h, where the runtime's gpu_run_op finds it"
        );
        i += 1;
    }
};
