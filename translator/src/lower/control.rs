//! Structured control flow: blocks, branches and their values.

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Op, ValType, units};
use wasmparser::{BlockType, BrTable};

use super::LowerErrorKind;
use super::emit::Label;
use super::function::Lowering;
use super::stack::Value;
use crate::module::opcode;

/// Kind of a construct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Function,
    Block,
    Loop,
    /// An `if` whose `else` was not seen yet.
    If,
    /// A `try_table`.
    Try,
}

/// An open construct.
pub(super) struct Frame<'c> {
    kind: Kind,
    /// Where branches to it lead: a loop's start, any other's end.
    label: Label,
    /// Of an `if`: where its `else` begins.
    else_label: Option<Label>,
    /// Entries below its parameters.
    height: usize,
    /// Unit at which its parameters' and results' places begin.
    unit: u32,
    params: &'c [ValType],
    results: &'c [ValType],
    /// Whether a branch leads to its end.
    end_used: bool,
}

impl<'c> Frame<'c> {
    pub(super) fn function(label: Label, results: &'c [ValType]) -> Frame<'c> {
        Frame {
            kind: Kind::Function,
            label,
            else_label: None,
            height: 0,
            unit: 0,
            params: &[],
            results,
            end_used: false,
        }
    }

    /// Where a handler that branches to it begins and finds its values; `None` for the function.
    pub(super) fn handler_place(&mut self) -> Option<(Label, u32)> {
        self.end_used = true;
        (self.kind != Kind::Function).then_some((self.label, self.unit))
    }

    /// Types of the values that a branch to it carries.
    fn branch_types(&self) -> &'c [ValType] {
        if self.kind == Kind::Loop {
            self.params
        } else {
            self.results
        }
    }
}

impl Lowering<'_> {
    pub(super) fn set_unreachable(&mut self) {
        self.emitter.seal();
        self.unreachable = Some(0);
    }

    /// Passes over unreachable code, watching for the end of the construct that it is in.
    pub(super) fn skip(&mut self, opcode: u8) {
        let depth = self.unreachable.as_mut().expect("only called then");
        match opcode {
            opcode::BLOCK | opcode::LOOP | opcode::IF | opcode::TRY_TABLE | opcode::TRY => *depth += 1,
            opcode::ELSE if *depth == 0 => self.else_(),
            opcode::END | opcode::DELEGATE if *depth > 0 => *depth -= 1,
            opcode::END => self.end(),
            _ => {}
        }
    }

    pub(super) fn open(&mut self, kind: Kind, ty: BlockType) -> Result<(), LowerErrorKind> {
        let (params, results) = self.block_type(ty)?;
        // The loop's parameters come from its start and from branches: both use their places.
        self.settle_top(params.len());
        self.settle_locals();
        let height = self.stack.len() - params.len();
        let unit = self.stack.top_unit() - units(params);
        self.stack.reserve(unit + units(results));
        let label = self.emitter.new_label();
        if kind == Kind::Loop {
            self.emitter.bind(label);
            self.begin_meter();
        }
        self.frames.push(Frame {
            kind,
            label,
            else_label: None,
            height,
            unit,
            params,
            results,
            end_used: false,
        });
        Ok(())
    }

    pub(super) fn open_if(&mut self, ty: BlockType) -> Result<(), LowerErrorKind> {
        let condition = self.pop_condition();
        // Settling may move what the condition reads: locals stay, temporaries lie above.
        self.open(Kind::If, ty)?;
        let else_label = self.emitter.new_label();
        self.branch_on(condition, true, else_label);
        self.frames.last_mut().expect("just pushed").else_label = Some(else_label);
        Ok(())
    }

    pub(super) fn else_(&mut self) {
        if self.unreachable.is_none() {
            self.settle_results();
            let frame = self.frames.last_mut().expect("a valid module");
            frame.end_used = true;
            let label = frame.label;
            self.emitter.branch(Inst::new(Op::Jump, &[0]), label);
        }
        self.unreachable = None;
        let frame = self.frames.last_mut().expect("a valid module");
        let else_label = frame.else_label.take().expect("`else` follows `if`");
        let (height, params) = (frame.height, frame.params);
        frame.kind = Kind::Block;
        self.emitter.bind(else_label);
        self.stack.truncate(height);
        for ty in params {
            self.stack.push(*ty, Value::Temp);
        }
    }

    /// Brings the results of the innermost construct to their places, where they already belong.
    fn settle_results(&mut self) {
        let count = self.frames.last().expect("a valid module").results.len();
        self.settle_top(count);
    }

    pub(super) fn end(&mut self) {
        if self.frames.len() == 1 {
            if self.unreachable.is_none() {
                self.return_();
            }
            self.end_meter();
            let frame = self.frames.pop().expect("just looked at");
            // Nothing branches to the function's own label: such branches return.
            self.emitter.bind(frame.label);
            return;
        }
        let reachable = self.unreachable.is_none();
        if reachable {
            self.settle_results();
        }
        let frame = self.frames.pop().expect("a valid module");
        if frame.kind == Kind::Try {
            self.emitter.end_try();
        }
        let mut joined = frame.end_used;
        if let Some(else_label) = frame.else_label {
            // No `else`: the parameters are the results, and lie in the same places.
            self.emitter.bind(else_label);
            joined = true;
        }
        if frame.kind != Kind::Loop {
            self.emitter.bind(frame.label);
        } else {
            self.end_meter();
            self.emitter.seal();
            joined = false;
        }
        self.stack.truncate(frame.height);
        for ty in frame.results {
            self.stack.push(*ty, Value::Temp);
        }
        self.unreachable = if reachable || joined { None } else { Some(0) };
    }

    pub(super) fn frame_index(&self, depth: u32) -> usize {
        self.frames.len() - 1 - depth as usize
    }

    pub(super) fn br(&mut self, depth: u32) {
        self.jump(depth);
        self.set_unreachable();
    }

    /// Carries the branch's values to their places and jumps, leaving the stack as it is.
    fn jump(&mut self, depth: u32) {
        let index = self.frame_index(depth);
        if self.frames[index].kind == Kind::Function {
            return self.emit_return();
        }
        self.carry(index);
        self.frames[index].end_used = true;
        let label = self.frames[index].label;
        self.emitter.branch(Inst::new(Op::Jump, &[0]), label);
    }

    /// Copies the values of a branch to frame `index` to where it wants them. They move down or
    /// stay, so in ascending order none is overwritten before it is read.
    fn carry(&mut self, index: usize) {
        let frame = &self.frames[index];
        let (count, mut to) = (frame.branch_types().len(), frame.unit);
        for i in self.stack.len() - count..self.stack.len() {
            let entry = self.stack.get(i);
            self.move_to(entry, to);
            to += entry.ty.units();
        }
    }

    /// Whether the values of a branch to frame `index` are in their places already.
    fn in_place(&self, index: usize) -> bool {
        let frame = &self.frames[index];
        let count = frame.branch_types().len();
        let mut to = frame.unit;
        (self.stack.len() - count..self.stack.len()).all(|i| {
            let entry = self.stack.get(i);
            let there = entry.value == Value::Temp && entry.unit == to;
            to += entry.ty.units();
            there
        })
    }

    pub(super) fn br_if(&mut self, depth: u32) {
        let condition = self.pop_condition();
        let index = self.frame_index(depth);
        let returns = self.frames[index].kind == Kind::Function;
        if !returns && self.in_place(index) {
            self.frames[index].end_used = true;
            let label = self.frames[index].label;
            return self.branch_on(condition, false, label);
        }
        let over = self.emitter.new_label();
        self.branch_on(condition, true, over);
        self.jump(depth);
        self.emitter.bind(over);
    }

    pub(super) fn br_table(&mut self, targets: &BrTable<'_>) {
        let entry = self.stack.pop();
        let index = self.register(entry);
        let mut depths: Vec<u32> = targets
            .targets()
            .map(|depth| depth.expect("the module was validated"))
            .collect();
        depths.push(targets.default());
        // Each target that needs values carried, or is a return, gets a stub after the table.
        let mut stubs: Vec<(u32, Label)> = Vec::new();
        let mut labels = Vec::with_capacity(depths.len());
        for depth in depths {
            let frame = self.frame_index(depth);
            if self.frames[frame].kind != Kind::Function && self.in_place(frame) {
                self.frames[frame].end_used = true;
                labels.push(self.frames[frame].label);
            } else if let Some((_, label)) = stubs.iter().find(|(known, _)| *known == depth) {
                labels.push(*label);
            } else {
                let label = self.emitter.new_label();
                stubs.push((depth, label));
                labels.push(label);
            }
        }
        self.emitter.br_table(index, &labels);
        for (depth, label) in stubs {
            self.emitter.bind(label);
            self.jump(depth);
        }
        self.set_unreachable();
    }

    pub(super) fn return_(&mut self) {
        self.emit_return();
        self.set_unreachable();
    }

    /// Emits `return` with the topmost entries as results, leaving the stack as it is.
    fn emit_return(&mut self) {
        let header = self.ty.header() as i64;
        let (count, total) = (self.ty.results.len(), self.ty.result_units() as i64);
        let from = match count {
            0 => 0,
            1 => {
                let entry = *self.stack.peek();
                self.register(entry)
            }
            _ => {
                // Side by side, in their places.
                for i in self.stack.len() - count..self.stack.len() {
                    let entry = self.stack.get(i);
                    self.move_to(entry, entry.unit);
                }
                self.stack.get(self.stack.len() - count).unit
            }
        };
        self.emitter.emit(Op::Return, &[header, from as i64, total]);
        self.emitter.seal();
    }
}
