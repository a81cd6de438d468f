//! The units that are read later, after each block: live-variable analysis, a backward data-flow analysis.

use std::ops::Range;

use gpu_run_bytecode::{Operand, ValType};

use crate::ptx::analysis::cfg::{Cfg, Node};
use crate::ptx::analysis::flow::TransferFn;

/// A set of units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units(Vec<u64>);

impl Units {
    /// None of a frame of so many.
    pub fn new(units: u32) -> Units {
        Units(vec![0; units.div_ceil(64) as usize])
    }

    /// Adds or removes units; those beyond the frame are left out.
    pub fn set(&mut self, units: Range<i64>, on: bool) {
        for unit in units {
            if let Some(word) = self.0.get_mut(unit as usize / 64) {
                let bit = 1 << (unit % 64);
                *word = if on { *word | bit } else { *word & !bit };
            }
        }
    }

    /// Whether a unit is in it.
    pub fn has(&self, unit: i64) -> bool {
        self.0
            .get(unit as usize / 64)
            .is_some_and(|word| word >> (unit % 64) & 1 != 0)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0..64 * self.0.len() as i64).filter(|unit| self.has(*unit))
    }

    /// Adds all of another set. Whether there was one that was not in this.
    fn add(&mut self, other: &Units) -> bool {
        let before = self.clone();
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
        *self != before
    }
}

/// The units that an instruction writes: of a call all from its arguments on, of which it is not looked how many are results.
pub fn writes(node: &Node) -> impl Iterator<Item = Range<i64>> {
    let (operands, args) = (node.inst.op.info().operands, node.inst.args);
    let count = operands.iter().position(|operand| *operand == Operand::Count);
    let count = count.map_or(i64::MAX / 2, |at| args[at]);
    operands
        .iter()
        .zip(args)
        .filter_map(move |(operand, from)| match operand {
            Operand::Def(ty) => Some(from..from + i64::from(ty.units())),
            Operand::DefRange => Some(from..from + count),
            Operand::Base => Some(from..i64::MAX),
            _ => None,
        })
}

/// What an instruction reads and writes.
#[derive(Default)]
pub struct Access {
    /// Units read.
    pub reads: Vec<Range<i64>>,
    /// Units written.
    pub writes: Vec<Range<i64>>,
}

impl Access {
    /// What `node` reads and writes, of which an address takes `address` units and what it calls has this type.
    pub fn of(node: &Node, address: u32, params: &[ValType], results: &[ValType]) -> Access {
        let mut access = Access::default();
        let (operands, args) = (node.inst.op.info().operands, node.inst.args);
        let count = operands.iter().position(|operand| *operand == Operand::Count);
        let count = count.map_or(0, |i| args[i]);
        let units = |types: &[ValType]| types.iter().map(|ty| i64::from(ty.units())).sum::<i64>();
        for (operand, at) in operands.iter().zip(args) {
            match operand {
                Operand::Def(ty) => access.writes.push(at..at + i64::from(ty.units())),
                Operand::Src(ty) => access.reads.push(at..at + i64::from(ty.units())),
                Operand::Address => access.reads.push(at..at + i64::from(address)),
                Operand::DefRange => access.writes.push(at..at + count),
                Operand::SrcRange => access.reads.push(at..at + count),
                Operand::Base => {
                    access.reads.push(at..at + units(params));
                    access.writes.push(at..at + units(results));
                }
                _ => {}
            }
        }
        access
    }

    /// From what is live after the instruction to what is live before it.
    pub fn apply(&self, live: &mut Units) {
        self.writes.iter().for_each(|units| live.set(units.clone(), false));
        self.reads.iter().for_each(|units| live.set(units.clone(), true));
    }
}

impl TransferFn<'_> {
    /// What an instruction reads and writes.
    pub fn access(&self, node: &Node) -> Access {
        let ty = self.callee_type(node);
        Access::of(node, self.address_units(node), &ty.params, &ty.results)
    }

    /// Units of the address of an access.
    pub fn address_units(&self, node: &Node) -> u32 {
        let operands = node.inst.op.info().operands.iter().zip(node.inst.args);
        let memory = operands
            .filter(|(operand, _)| matches!(operand, Operand::Memory))
            .map(|(_, arg)| arg as usize)
            .next();
        match self.analysis.wide.get(memory.unwrap_or(0)) {
            Some(true) => 2,
            _ => 1,
        }
    }

    /// The units of a frame of `units` that are live after each block.
    pub fn live_after(&self, cfg: &Cfg, units: u32) -> Vec<Units> {
        let mut before = vec![Units::new(units); cfg.blocks.len()];
        let mut after = before.clone();
        let mut changed = true;
        while changed {
            changed = false;
            for block in cfg.order.iter().rev() {
                for next in &cfg.blocks[*block].successors {
                    after[*block].add(&before[*next]);
                }
                let live = self.live_before(cfg.block_nodes(*block), &after[*block]);
                changed |= before[*block].add(&live);
            }
        }
        after
    }

    /// The units that are live before instructions after which these are.
    pub fn live_before(&self, nodes: &[Node], after: &Units) -> Units {
        let mut live = after.clone();
        let nodes = nodes.iter().rev();
        nodes.for_each(|node| self.access(node).apply(&mut live));
        live
    }
}
