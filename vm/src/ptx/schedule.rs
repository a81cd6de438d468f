//! Instructions of a block in another order, where too many values would be live at once.
//!
//! LLVM's back end for WebAssembly has no registers to run out of. It may begin ten computations before it ends the
//! first, and ptxas mostly keeps to that. For what divides or takes a root is a piece of code with branches, across
//! which ptxas moves nothing. A kernel that needs twice the registers has half the warps.
//!
//! A piece of a block is ordered anew whose instructions are pure, load, store or trap. All others stay where they are.
//! Two that may trap or that touch memory keep their order. As frames use a unit for one value after another, values
//! get units of their own past the frame. Only the last one of each unit is written there, or copied there at the end
//! of the piece.
//!
//! In: the instructions of a block. Out: the same instructions in an order in which fewer values are live at once, with
//! places for the values. In the order in which to read them:
//!
//! - this file: which pieces of a block are ordered anew, and their instructions with new places;
//! - `order`: the order of the steps of one piece.

mod order;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::{Class, Op, Operand};

use self::order::{Graph, Step, Value};
use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::live::Units;
use crate::ptx::emit::function::Compiler;

/// Units that may be live at once: code for which that is enough stays as it is. A multiprocessor has registers
/// for its most warps if each thread has half as many, and for half of them with as many.
const ENOUGH: u32 = 64;
/// Units that another order must spare.
const LEAST_GAIN: u32 = 16;
/// Instructions that a piece must have.
const LEAST_STEPS: usize = 24;
/// Registers past a frame that ranges may touch.
pub const BEHIND_FRAME: u32 = 4;

/// The blocks whose instructions stand in another order.
#[derive(Default)]
pub struct Schedule {
    /// Instructions of such a block.
    pub blocks: BTreeMap<usize, Vec<Node>>,
}

/// Whether a node copies a value that another node has made, and stands for no instruction of the program.
pub fn is_copy(node: &Node) -> bool {
    node.next == node.pc
}

/// Whether an instruction may be moved. What it needs and does is in its operands.
fn is_movable(op: Op) -> bool {
    let info = op.info();
    let class = match info.class {
        Class::Pure | Class::Traps => true,
        Class::Load(_) | Class::Store(_) | Class::LoadFar(_) | Class::StoreFar(_) => true,
        _ => matches!(op, Op::Const32 | Op::Const64 | Op::Const64S),
    };
    let is_wide = |operand: &Operand| matches!(operand, Operand::Def(ty) | Operand::Src(ty) if ty.units() > 2);
    class && !info.operands.iter().any(is_wide)
}

/// Whether an instruction touches memory or may trap.
fn is_ordered(op: Op) -> bool {
    !matches!(op.info().class, Class::Pure | Class::Control)
}

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    unit: i64,
    units: u32,
}

impl Place {
    fn range(self) -> std::ops::Range<i64> {
        self.unit..self.unit + i64::from(self.units)
    }
}

/// Instructions that may be moved, one after another, and their values.
struct Piece<'a> {
    nodes: &'a [Node],
    graph: Graph,
    /// Where each value lies before anything is moved.
    places: Vec<Place>,
    /// The values of each instruction's operands: the operand's number and the value.
    operands: Vec<Vec<(usize, usize)>>,
    /// The value that each unit has at the end, of those that the piece makes.
    last: BTreeMap<i64, usize>,
    /// Units that are live from before the piece to after it, and not touched.
    through: u32,
}

impl<'a> Piece<'a> {
    /// `None` if a value is read in another width than it was made.
    fn new(nodes: &'a [Node], live: &Units, address_units: impl Fn(&Node) -> u32) -> Option<Piece<'a>> {
        let mut piece = Piece {
            nodes,
            graph: Graph::default(),
            places: Vec::new(),
            operands: Vec::new(),
            last: BTreeMap::new(),
            through: 0,
        };
        let mut there: BTreeMap<Place, usize> = BTreeMap::new();
        let mut made_by: BTreeMap<usize, usize> = BTreeMap::new();
        let mut ordered = None;
        for (i, node) in nodes.iter().enumerate() {
            let (info, args) = (node.inst.op.info(), node.inst.args);
            let (mut step, mut operands) = (Step::default(), Vec::new());
            for (k, operand) in info.operands.iter().enumerate() {
                let units = match operand {
                    Operand::Src(ty) => ty.units(),
                    Operand::Address => address_units(node),
                    _ => continue,
                };
                let place = Place { unit: args[k], units };
                let makers: Vec<Option<&usize>> = place.range().map(|unit| piece.last.get(&unit)).collect();
                let value = match makers[0] {
                    Some(value) if piece.places[*value] == place && makers.iter().all(|other| *other == makers[0]) => {
                        *value
                    }
                    None if makers.iter().all(Option::is_none) => {
                        *there.entry(place).or_insert_with(|| piece.add(place))
                    }
                    _ => return None,
                };
                operands.push((k, value));
                if !step.reads.contains(&value) {
                    step.reads.push(value);
                    step.after.extend(made_by.get(&value));
                }
            }
            // An address that is a sum is best made when it is known how far memory reaches.
            let is_ordered = is_ordered(node.inst.op);
            if is_ordered || node.inst.op == Op::I32AddImm {
                step.after.extend(ordered.filter(|before| !step.after.contains(before)));
            }
            if is_ordered {
                ordered = Some(i);
            }
            if let Some(Operand::Def(ty)) = info.operands.first() {
                let place = Place {
                    unit: args[0],
                    units: ty.units(),
                };
                let value = piece.add(place);
                piece.last.extend(place.range().map(|unit| (unit, value)));
                made_by.insert(value, i);
                step.makes = Some(value);
            }
            piece.graph.steps.push(step);
            piece.operands.push(operands);
        }
        for value in 0..piece.places.len() {
            let mut units = piece.places[value].range();
            let is_last = match made_by.contains_key(&value) {
                true => piece.is_last(value),
                false => units.clone().all(|unit| !piece.last.contains_key(&unit)),
            };
            piece.graph.values[value].lives_on = is_last && units.any(|unit| live.has(unit));
        }
        let touched = |unit: &i64| piece.places.iter().any(|place| place.range().contains(unit));
        piece.through = live.iter().filter(|unit| !touched(unit)).count() as u32;
        Some(piece)
    }

    fn add(&mut self, place: Place) -> usize {
        self.places.push(place);
        self.graph.values.push(Value {
            units: place.units,
            lives_on: false,
        });
        self.places.len() - 1
    }

    /// Whether all units of a value that the piece makes still have it at the end.
    fn is_last(&self, value: usize) -> bool {
        self.places[value]
            .range()
            .all(|unit| self.last.get(&unit) == Some(&value))
    }

    /// The instructions in another order. `fresh` returns a place for a value that cannot have its own.
    fn write(&self, order: &[usize], mut fresh: impl FnMut(Place) -> i64) -> Vec<Node> {
        // Where each unit is last read as it was before the piece.
        let made: BTreeSet<usize> = self.graph.steps.iter().filter_map(|step| step.makes).collect();
        let mut read = BTreeMap::new();
        for (at, step) in order.iter().enumerate() {
            let reads = self.graph.steps[*step].reads.iter();
            for value in reads.filter(|value| !made.contains(value)) {
                read.extend(self.places[*value].range().map(|unit| (unit, at)));
            }
        }
        let mut units: Vec<i64> = self.places.iter().map(|place| place.unit).collect();
        let mut copies = Vec::new();
        let mut nodes = Vec::new();
        for (at, step) in order.iter().enumerate() {
            let mut node = self.nodes[*step].clone();
            for (operand, value) in &self.operands[*step] {
                node.inst.args[*operand] = units[*value];
            }
            if let Some(value) = self.graph.steps[*step].makes {
                let place = self.places[value];
                let is_last = self.is_last(value);
                let is_free = place.range().all(|unit| read.get(&unit).is_none_or(|last| *last <= at));
                if !is_last || !is_free {
                    units[value] = fresh(place);
                    node.inst.args[0] = units[value];
                }
                if is_last && !is_free {
                    let op = if place.units == 2 { Op::Copy64 } else { Op::Copy32 };
                    copies.push(Node {
                        pc: node.pc,
                        next: node.pc,
                        inst: Inst::new(op, &[place.unit, units[value]]),
                        targets: Vec::new(),
                    });
                }
            }
            nodes.push(node);
        }
        nodes.extend(copies);
        nodes
    }
}

impl Compiler<'_> {
    /// Decides which blocks get another order.
    pub fn plan_schedule(&mut self) {
        let is_long = |block: &usize| self.cfg.blocks[*block].nodes.len() >= LEAST_STEPS;
        let blocks: Vec<usize> = self.cfg.order.iter().copied().filter(is_long).collect();
        if self.units <= ENOUGH || blocks.is_empty() {
            return;
        }
        let live_after = match self.region() {
            Some((regions, _)) => Cow::Borrowed(&regions.live_after),
            None => Cow::Owned(self.transfer.live_after(&self.cfg, self.units)),
        };
        for block in blocks {
            if let Some(nodes) = self.reorder(block, &live_after[block]) {
                self.schedule.blocks.insert(block, nodes);
            }
        }
    }

    /// The instructions of a block in another order, if that spares enough.
    fn reorder(&mut self, block: usize, after: &Units) -> Option<Vec<Node>> {
        let nodes = self.cfg.block_nodes(block).to_vec();
        let mut live = after.clone();
        // Pieces from the last to the first, as what is live is known from the end.
        let mut pieces = Vec::new();
        let mut changed = false;
        let mut rest = &nodes[..];
        while let Some((last, before)) = rest.split_last() {
            let movable = rest.iter().rev().take_while(|node| is_movable(node.inst.op)).count();
            if movable == 0 {
                pieces.push(vec![last.clone()]);
                self.transfer.access(last).apply(&mut live);
                rest = before;
                continue;
            }
            let (before, piece) = rest.split_at(rest.len() - movable);
            let better = self.reorder_piece(piece, &live);
            changed |= better.is_some();
            pieces.push(better.unwrap_or_else(|| piece.to_vec()));
            piece
                .iter()
                .rev()
                .for_each(|node| self.transfer.access(node).apply(&mut live));
            rest = before;
        }
        pieces.reverse();
        changed.then(|| pieces.concat())
    }

    fn reorder_piece(&mut self, nodes: &[Node], live: &Units) -> Option<Vec<Node>> {
        if nodes.len() < LEAST_STEPS {
            return None;
        }
        let piece = Piece::new(nodes, live, |node| self.transfer.address_units(node))?;
        let source: Vec<usize> = (0..nodes.len()).collect();
        let most = piece.graph.most_live(&source) + piece.through;
        if most <= ENOUGH {
            return None;
        }
        let order = piece.graph.order()?;
        if piece.graph.most_live(&order) + piece.through + LEAST_GAIN > most {
            return None;
        }
        let (registers, eager) = (&mut self.registers, &mut self.transfer.eager);
        Some(piece.write(&order, |place| {
            let unit = *registers;
            *registers += place.units;
            // As what it stands for.
            if eager.contains(&(place.unit as u32)) {
                eager.insert(unit);
            }
            i64::from(unit)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(pc: u32, op: Op, args: &[i64]) -> Node {
        Node {
            pc,
            next: pc + 1,
            inst: Inst::new(op, args),
            targets: Vec::new(),
        }
    }

    /// Opcodes and operands of a piece in an order, in which fresh values lie from unit 100 on.
    fn written(nodes: &[Node], order: &[usize]) -> Vec<(Op, Vec<i64>)> {
        let piece = Piece::new(nodes, &Units::new(64), |_| 1).unwrap();
        let mut next = 100;
        let nodes = piece.write(order, |place| {
            next += i64::from(place.units);
            next - i64::from(place.units)
        });
        let shown = |node: &Node| {
            (
                node.inst.op,
                node.inst.args[..node.inst.op.info().operands.len()].to_vec(),
            )
        };
        nodes.iter().map(shown).collect()
    }

    #[test]
    fn only_the_last_value_of_a_unit_is_written_there() {
        let nodes = [
            node(1, Op::I32AddImm, &[4, 0, 1]),
            node(2, Op::I32AddImm, &[4, 4, 2]),
            node(3, Op::I32Add, &[4, 4, 4]),
        ];
        let expected = vec![
            (Op::I32AddImm, vec![100, 0, 1]),
            (Op::I32AddImm, vec![101, 100, 2]),
            (Op::I32Add, vec![4, 101, 101]),
        ];
        assert_eq!(written(&nodes, &[0, 1, 2]), expected);
    }

    #[test]
    fn a_unit_that_is_still_read_gets_its_last_value_at_the_end() {
        let nodes = [
            node(1, Op::F64Sqrt, &[4, 0]),
            node(2, Op::Const64, &[0, 7]),
            node(3, Op::F64Sqrt, &[6, 0]),
        ];
        // Read before it is written, as in the code itself.
        assert_eq!(written(&nodes, &[0, 1, 2])[1], (Op::Const64, vec![0, 7]));
        let expected = vec![
            (Op::Const64, vec![100, 7]),
            (Op::F64Sqrt, vec![6, 100]),
            (Op::F64Sqrt, vec![4, 0]),
            (Op::Copy64, vec![0, 100]),
        ];
        assert_eq!(written(&nodes, &[1, 2, 0]), expected);
    }

    /// A value of which the other one covers a half.
    #[test]
    fn a_unit_that_is_half_of_a_wide_value_read_later_is_not_free() {
        let nodes = [node(1, Op::F64Sqrt, &[4, 0]), node(2, Op::Const32, &[1, 7])];
        assert_eq!(
            written(&nodes, &[1, 0])[2],
            (Op::Copy32, vec![1, 100]),
            "unit 1 is the upper half of the value in unit 0"
        );
    }

    #[test]
    fn what_is_read_in_another_width_than_it_was_made_stays() {
        let nodes = [node(1, Op::Const32, &[0, 7]), node(2, Op::F64Sqrt, &[4, 0])];
        assert!(Piece::new(&nodes, &Units::new(64), |_| 1).is_none());
    }

    #[test]
    fn what_touches_memory_or_traps_keeps_its_order() {
        let nodes = [
            node(1, Op::I32DivU, &[4, 0, 1]),
            node(2, Op::I32Xor, &[6, 0, 1]),
            node(3, Op::Store32, &[0, 1, 0]),
            node(4, Op::I32AddImm, &[7, 0, 8]),
            node(5, Op::Load32, &[8, 0, 4]),
        ];
        let piece = Piece::new(&nodes, &Units::new(64), |_| 1).unwrap();
        let after: Vec<&[usize]> = piece.graph.steps.iter().map(|step| &step.after[..]).collect();
        // The sum as well, after the store that tells how far memory reaches.
        assert_eq!(after, [&[][..], &[], &[0], &[2], &[2]]);
    }
}
