//! Jumps, and loops.
//!
//! A branch that closes a cycle counts down a budget of passes that the thread has until it must look at
//! the stop flag. Small innermost loops are written out several times in a row, and only the last copy
//! counts: so looking costs little, and the flag is still seen in time.
//!
//! A loop that ends in `i += step; if i != limit` (or `<`) knows how many passes are left. Before its
//! copies it makes sure that all of them will be passed, so that only the last one compares; a copy that
//! does all (number 0) makes the passes that remain.

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Class, Op, Operand};

use super::calls;
use super::cfg::{Node, may_throw};
use super::flow::Nan;
use super::function::Compiler;
use super::writer::ptx;

/// Instructions that a loop should have for each time that it counts.
const LOOP_SIZE: usize = 96;
/// The same of a loop that knows its passes: more copies spare more comparisons.
const COUNTED_SIZE: usize = 160;
/// Copies that a loop gets at most.
const MOST_COPIES: usize = 16;

/// A loop that is written out several times.
pub struct Loop {
    /// Its blocks in the order of the code.
    blocks: Vec<usize>,
    copies: usize,
    counted: Option<Counted>,
}

/// How a loop counts its passes.
#[derive(Clone, Debug)]
struct Counted {
    /// The block at whose end it does.
    latch: usize,
    /// The unit that is counted, and what is added to it.
    unit: i64,
    step: i64,
    /// The limit, as an operand of PTX.
    limit: String,
    compare: Compare,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Compare {
    Unequal,
    LessSigned,
    LessUnsigned,
}

impl Compare {
    fn ptx(self) -> &'static str {
        match self {
            Compare::Unequal => "ne.u32",
            Compare::LessSigned => "lt.s32",
            Compare::LessUnsigned => "lt.u32",
        }
    }
}

/// About how many machine instructions an instruction becomes.
fn size(node: &Node) -> usize {
    match node.inst.op.info().class {
        Class::Traps => 10,
        Class::Load(_) | Class::Store(_) | Class::LoadFar(_) | Class::StoreFar(_) => 4,
        Class::Rare | Class::Gpu | Class::Access => LOOP_SIZE,
        Class::Control | Class::Pure | Class::Branch => 1,
    }
}

/// The units that an instruction writes, as far as it says so: not those of a call.
fn writes(inst: &Inst, unit: i64) -> bool {
    let operands = inst.op.info().operands;
    match operands.first() {
        Some(Operand::Def(ty)) => (inst.args[0]..inst.args[0] + i64::from(ty.units())).contains(&unit),
        Some(Operand::DefRange) => {
            let count = operands.iter().position(|operand| *operand == Operand::Count);
            let count = count.map_or(i64::MAX / 2, |i| inst.args[i]);
            (inst.args[0]..inst.args[0] + count).contains(&unit)
        }
        _ => false,
    }
}

impl Compiler<'_> {
    /// Decides which loops are written out several times.
    pub fn plan_loops(&mut self) {
        for (head, blocks) in self.cfg.innermost_loops() {
            let nodes = || blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            if nodes().any(|node| calls::is_call(node.inst.op)) {
                continue;
            }
            let size: usize = nodes().map(size).sum::<usize>().max(1);
            let counted = self.counted(head, &blocks);
            let copies = match counted {
                Some(_) => (COUNTED_SIZE / size).min(MOST_COPIES),
                None => (LOOP_SIZE / size).min(MOST_COPIES),
            };
            if copies > 1 {
                self.head_of.extend(blocks.iter().map(|block| (*block, head)));
                let planned = Loop {
                    blocks,
                    copies,
                    counted,
                };
                self.loops.insert(head, planned);
            }
        }
    }

    /// How the loop counts its passes, if it does in one place and nothing else touches what it counts.
    fn counted(&self, head: usize, blocks: &[usize]) -> Option<Counted> {
        let mut latches = self.cfg.back_edges.iter().filter(|(_, to)| *to == head);
        let (latch, _) = latches.next()?;
        let node = self.cfg.block_nodes(*latch).last()?;
        let args = node.inst.args;
        let compare = match node.inst.op {
            Op::BrI32AddNe | Op::BrI32AddNeImm => Compare::Unequal,
            Op::BrI32AddLtS => Compare::LessSigned,
            Op::BrI32AddLtU => Compare::LessUnsigned,
            _ => return None,
        };
        let others = || {
            let nodes = blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            nodes.filter(|other| other.pc != node.pc)
        };
        // A handler's values may lie in the unit that is counted, or in the limit's.
        if others().any(|other| may_throw(other.inst.op)) {
            return None;
        }
        let step_fits = args[2] > 0 || (args[2] < 0 && compare == Compare::Unequal);
        let alone = latches.next().is_none() && self.cfg.block_at(node.targets[0]) == Some(head);
        if !alone || !step_fits || args[0] != args[1] || others().any(|other| writes(&other.inst, args[0])) {
            return None;
        }
        let limit = match node.inst.op {
            Op::BrI32AddNeImm => args[3].to_string(),
            _ if args[3] == args[0] || others().any(|other| writes(&other.inst, args[3])) => return None,
            // Its register must be what the comparison sees.
            _ if !matches!(self.flow.at[head][args[3] as usize].nan, Nan::Never | Nan::Kept) => return None,
            _ => format!("%r{}", args[3]),
        };
        Some(Counted {
            latch: *latch,
            unit: args[0],
            step: args[2],
            limit,
            compare,
        })
    }

    /// The blocks and copies in the order in which they are written.
    pub fn emission_order(&self) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        for block in (0..self.cfg.blocks.len()).filter(|block| self.cfg.blocks[*block].reachable) {
            let Some(head) = self.head_of.get(&block) else {
                order.push((block, 0));
                continue;
            };
            let planned = &self.loops[head];
            // All of a loop where its first block stands.
            if planned.blocks[0] == block {
                let copies: Vec<usize> = match planned.counted {
                    Some(_) => (1..=planned.copies).chain([0]).collect(),
                    None => (0..planned.copies).collect(),
                };
                order.extend(
                    copies
                        .iter()
                        .flat_map(|copy| planned.blocks.iter().map(|block| (*block, *copy))),
                );
            }
        }
        order
    }

    /// The label of a block in one of its copies.
    pub fn label(&self, block: usize, copy: usize) -> String {
        match copy {
            0 => format!("B{block}"),
            _ => format!("B{block}_{copy}"),
        }
    }

    /// The label by which a block is entered from elsewhere.
    pub fn entry_label(&self, block: usize) -> String {
        match self.loops.get(&block) {
            Some(Loop { counted: Some(_), .. }) => format!("LOOP{block}"),
            _ => self.label(block, 0),
        }
    }

    /// Writes what stands before the first copy of a loop that knows its passes.
    pub fn guard(&mut self, block: usize, copy: usize) {
        let Some((head, counted, copies)) = self.counted_around(block) else {
            return;
        };
        if copy != 1 || self.loops[&head].blocks[0] != block {
            return;
        }
        let label = self.entry_label(head);
        self.w.label(&label);
        let enough = self.enough(&counted, copies);
        ptx!(self, "@!{enough} bra {};", self.label(head, 0));
        if block != head {
            ptx!(self, "bra {};", self.label(head, 1));
        }
    }

    /// The head, the counting and the copies of the loop around a block that knows its passes.
    fn counted_around(&self, block: usize) -> Option<(usize, Counted, usize)> {
        let head = *self.head_of.get(&block)?;
        let around = &self.loops[&head];
        Some((head, around.counted.clone()?, around.copies))
    }

    /// A predicate: the loop has so many passes left that all copies will be passed. Those are left
    /// modulo 2^32, which is exact: a loop that would wrap makes its passes by the copy that does all.
    fn enough(&mut self, counted: &Counted, copies: usize) -> String {
        let (left, enough) = (self.w.word(), self.w.predicate());
        let (from, to) = match counted.step > 0 {
            true => (format!("%r{}", counted.unit), counted.limit.clone()),
            false => (counted.limit.clone(), format!("%r{}", counted.unit)),
        };
        let passes = copies as i64 * counted.step.abs();
        ptx!(self, "sub.u32 {left}, {to}, {from};");
        match counted.compare {
            Compare::Unequal => ptx!(self, "setp.ge.u32 {enough}, {left}, {passes};"),
            compare => {
                // What is left is that only where there is something.
                let less = self.w.predicate();
                ptx!(self, "setp.{} {less}, {from}, {to};", compare.ptx());
                ptx!(self, "setp.ge.and.u32 {enough}, {left}, {passes}, {less};");
            }
        }
        enough
    }

    /// The instruction that counts a loop's passes, in a copy behind which another one will be passed or
    /// that is the last. False in any other place.
    pub fn count_pass(&mut self, block: usize) -> bool {
        let Some((head, counted, copies)) = self.counted_around(block) else {
            return false;
        };
        if counted.latch != block || self.copy == 0 {
            return false;
        }
        let unit = counted.unit;
        ptx!(self, "add.u32 %r{unit}, %r{unit}, {};", counted.step);
        if self.copy < copies {
            ptx!(self, "bra {};", self.label(head, self.copy + 1));
            self.left = true;
            return true;
        }
        let enough = self.enough(&counted, copies);
        let more = self.w.predicate();
        self.count();
        ptx!(self, "@{enough} bra {};", self.label(head, 1));
        ptx!(
            self,
            "setp.{} {more}, %r{unit}, {};",
            counted.compare.ptx(),
            counted.limit
        );
        ptx!(self, "@{more} bra {};", self.entry_label(head));
        true
    }

    /// Counts a pass, and looks at the stop flag when the budget is spent. Lanes of a warp may have
    /// different budgets: one that looks comes back to the others here, before they branch. If it went on by
    /// another way, they would not meet again before the loop's end.
    pub fn count(&mut self) {
        let (spent, poll, counted) = (
            self.w.predicate(),
            self.w.new_label("POLL"),
            self.w.new_label("COUNTED"),
        );
        ptx!(self, "sub.u32 %budget, %budget, 1;");
        ptx!(self, "setp.eq.u32 {spent}, %budget, 0;");
        ptx!(self, "@{spent} bra {poll};");
        self.w.label(&counted);
        let before = self.w.set_aside(true);
        if before {
            // Among what seldom runs already, where it does not matter that it stands in the way.
            let over = self.w.new_label("OVER");
            ptx!(self, "bra {over};");
            self.poll_and_go(&poll, &counted);
            self.w.label(&over);
        } else {
            self.poll_and_go(&poll, &counted);
        }
        self.w.set_aside(before);
    }

    fn poll_and_go(&mut self, label: &str, to: &str) {
        self.w.label(label);
        self.poll();
        ptx!(self, "bra {to};");
    }

    /// Where a branch from `from`, in the copy that is written, to `to` leads. `None`: it must count.
    fn target(&self, from: usize, to: usize) -> Option<String> {
        let same = self.head_of.contains_key(&to) && self.head_of.get(&to) == self.head_of.get(&from);
        let back = self.cfg.back_edges.contains(&(from, to));
        match self.loops.get(&to) {
            Some(around) if same && back => {
                let next = self.copy + 1;
                (around.counted.is_none() && next < around.copies).then(|| self.label(to, next))
            }
            _ if same => Some(self.label(to, self.copy)),
            _ if back => None,
            _ => Some(self.entry_label(to)),
        }
    }

    /// Where a branch that counted leads: in a loop that knows its passes it is of the copy that does all.
    fn again(&self, from: usize, to: usize) -> String {
        let same = self.head_of.contains_key(&to) && self.head_of.get(&to) == self.head_of.get(&from);
        match same {
            true => self.label(to, 0),
            false => self.entry_label(to),
        }
    }

    /// A jump. `next` is the label that follows.
    pub fn go(&mut self, from: usize, to: usize, next: Option<&str>) {
        match self.target(from, to) {
            Some(label) if Some(label.as_str()) == next => {}
            Some(label) => ptx!(self, "bra {label};"),
            None => {
                let again = self.again(from, to);
                self.count();
                ptx!(self, "bra {again};");
            }
        }
    }

    /// A jump to `to` if `predicate` holds (or does not); else control goes on behind it.
    pub fn go_if(&mut self, from: usize, to: usize, predicate: &str, negated: bool) {
        let not = if negated { "!" } else { "" };
        if let Some(label) = self.target(from, to) {
            ptx!(self, "@{not}{predicate} bra {label};");
            return;
        }
        let again = self.again(from, to);
        self.count();
        ptx!(self, "@{not}{predicate} bra {again};");
    }

    /// The label to which a jump table may lead for this jump: a stub that counts where it must.
    pub fn table_target(&mut self, from: usize, to: usize) -> String {
        if let Some(label) = self.target(from, to) {
            return label;
        }
        let stub = self.w.new_label("BACK");
        let before = self.w.set_aside(true);
        self.w.label(&stub);
        self.go(from, to, None);
        self.w.set_aside(before);
        stub
    }
}
