//! A small builder for the bodies that rewriting makes.

use wasmparser::{BlockType, MemArg, MemArgTarget, Operator, ValType};

use crate::module::{Body, Instr};

/// Instructions in the making. Methods are named after what they append.
#[derive(Default)]
pub(crate) struct Code {
    locals: Vec<(u32, ValType)>,
    ops: Vec<Operator<'static>>,
}

impl Code {
    pub(crate) fn new() -> Code {
        Code::default()
    }

    /// Declares `count` locals of type `ty`, after those that are declared.
    pub(crate) fn locals(&mut self, count: u32, ty: ValType) -> &mut Code {
        self.locals.push((count, ty));
        self
    }

    pub(crate) fn op(&mut self, op: Operator<'static>) -> &mut Code {
        self.ops.push(op);
        self
    }

    pub(crate) fn ops(&mut self, ops: impl IntoIterator<Item = Operator<'static>>) -> &mut Code {
        self.ops.extend(ops);
        self
    }

    pub(crate) fn get(&mut self, local_index: u32) -> &mut Code {
        self.op(Operator::LocalGet { local_index })
    }

    pub(crate) fn set(&mut self, local_index: u32) -> &mut Code {
        self.op(Operator::LocalSet { local_index })
    }

    pub(crate) fn tee(&mut self, local_index: u32) -> &mut Code {
        self.op(Operator::LocalTee { local_index })
    }

    pub(crate) fn i32(&mut self, value: i32) -> &mut Code {
        self.op(Operator::I32Const { value })
    }

    pub(crate) fn i64(&mut self, value: i64) -> &mut Code {
        self.op(Operator::I64Const { value })
    }

    pub(crate) fn call(&mut self, function_index: u32) -> &mut Code {
        self.op(Operator::Call { function_index })
    }

    pub(crate) fn call_indirect(&mut self, type_index: u32) -> &mut Code {
        self.op(Operator::CallIndirect {
            type_index,
            table_index: 0,
        })
    }

    pub(crate) fn global_get(&mut self, global_index: u32) -> &mut Code {
        self.op(Operator::GlobalGet { global_index })
    }

    pub(crate) fn global_set(&mut self, global_index: u32) -> &mut Code {
        self.op(Operator::GlobalSet { global_index })
    }

    pub(crate) fn load32(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I32Load {
            memarg: memarg(offset, 2),
        })
    }

    pub(crate) fn load8(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I32Load8U {
            memarg: memarg(offset, 0),
        })
    }

    pub(crate) fn load64(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I64Load {
            memarg: memarg(offset, 3),
        })
    }

    pub(crate) fn store32(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I32Store {
            memarg: memarg(offset, 2),
        })
    }

    pub(crate) fn store8(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I32Store8 {
            memarg: memarg(offset, 0),
        })
    }

    pub(crate) fn store64(&mut self, offset: u64) -> &mut Code {
        self.op(Operator::I64Store {
            memarg: memarg(offset, 3),
        })
    }

    /// `if` without results.
    pub(crate) fn if_(&mut self) -> &mut Code {
        self.op(Operator::If {
            blockty: BlockType::Empty,
        })
    }

    pub(crate) fn loop_(&mut self) -> &mut Code {
        self.op(Operator::Loop {
            blockty: BlockType::Empty,
        })
    }

    pub(crate) fn br_if(&mut self, relative_depth: u32) -> &mut Code {
        self.op(Operator::BrIf { relative_depth })
    }

    pub(crate) fn end(&mut self) -> &mut Code {
        self.op(Operator::End)
    }

    /// The instructions alone, to be put into another body.
    pub(crate) fn into_instrs<'a>(self) -> Vec<Instr<'a>> {
        self.ops.into_iter().map(Instr::synthetic).collect()
    }

    /// The whole body; the closing `end` is added here.
    pub(crate) fn into_body<'a>(self) -> Body<'a> {
        let locals = self.locals.clone();
        let mut instrs = self.into_instrs();
        instrs.push(Instr::synthetic(Operator::End));
        Body::edited(locals, instrs)
    }
}

pub(crate) fn memarg(offset: u64, align: u8) -> MemArg {
    MemArg {
        align,
        max_align: align,
        offset,
        target: MemArgTarget::Memory(0),
        ordering: None,
    }
}
