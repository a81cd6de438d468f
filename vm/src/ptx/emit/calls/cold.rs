//! Blocks that are not compiled: the interpreter goes on there, with the function's frame, until the function is left.
//!
//! A jump to such a block leads to code that puts the values of the units which are read later into the context, and tells
//! which units they are. All such code of a function goes to one place, `COLD`, that calls the interpreter and returns
//! what it has returned; see `kernel/mixed.cpp`. A jump table of which many entries are not compiled has one way out: the
//! interpreter runs the table's instruction again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::mem::offset_of;

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::flow::{Fact, Kind, State};
use crate::ptx::analysis::live::{self, Units};
use crate::ptx::emit::calls::{RETURNED, VALUES};
use crate::ptx::emit::function::Compiler;
use crate::ptx::image::Image;
use crate::ptx::writer::ptx;

/// A way from compiled code into the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// At the begin of this block.
    Block(usize),
    /// At the jump table that ends this block.
    Table(usize),
}

/// The ways out of a function.
#[derive(Default)]
pub struct Exits {
    /// The units whose values the interpreter takes.
    units: BTreeMap<Exit, Vec<u32>>,
    /// The blocks to which something leads by itself.
    reached: BTreeSet<usize>,
    /// The labels of those at jump tables that are written.
    tables: BTreeMap<usize, String>,
    /// The lists of units that the interpreter reads: how many there are, then which.
    lists: Vec<u16>,
}

impl Exits {
    /// Something leads to this block.
    pub fn note(&mut self, block: usize) {
        self.reached.insert(block);
    }

    /// Units of values that an exit takes at most.
    pub fn most(&self) -> u32 {
        self.units.values().map(Vec::len).max().unwrap_or(0) as u32
    }
}

/// The units of a frame that have values which are read later.
fn taken(live: &Units, state: &State) -> Vec<u32> {
    let mut units = Vec::new();
    for unit in live.iter() {
        let unit = unit as u32;
        match state.get(unit as usize).map(|fact| fact.kind) {
            Some(Kind::Unit | Kind::Zero) => units.push(unit),
            Some(Kind::Low) => units.extend([unit, unit + 1]),
            // It comes with its low half.
            Some(Kind::High | Kind::Undefined) | None => {}
        }
    }
    units
}

impl Compiler<'_> {
    /// Finds the ways out of the function, which is as a whole in `full`.
    pub fn plan_exits(&mut self, full: &Cfg) {
        let leads_out = |block: &usize| self.cfg.blocks[*block].cold || self.cfg.has_cold_entry(*block);
        let blocks: Vec<usize> = self.cfg.order.iter().copied().filter(leads_out).collect();
        if blocks.is_empty() {
            return;
        }
        let behind = live::behind(full, self.units, |node| self.access_of(node));
        for block in blocks {
            let exit = match self.cfg.blocks[block].cold {
                true => Exit::Block(block),
                false => Exit::Table(block),
            };
            let mut live = behind[block].clone();
            let nodes = match exit {
                Exit::Block(_) => full.block_nodes(block),
                Exit::Table(_) => std::slice::from_ref(full.last(block)),
            };
            let nodes = nodes.iter().rev();
            nodes.for_each(|node| self.access_of(node).apply(&mut live));
            let units = taken(&live, &self.state_at(exit));
            self.exits.units.insert(exit, units);
        }
    }

    /// What is known of the frame at an exit.
    fn state_at(&self, exit: Exit) -> State {
        match exit {
            Exit::Block(block) => self.flow.at[block].clone(),
            Exit::Table(block) => {
                let mut state = self.flow.at[block].clone();
                let nodes = self.cfg.block_nodes(block);
                let before = &nodes[..nodes.len() - 1];
                before.iter().for_each(|node| self.transfer.apply(node, &mut state));
                state
            }
        }
    }

    /// Writes the ways out into blocks.
    pub fn write_exits(&mut self) {
        let before = self.w.set_aside(true);
        for block in std::mem::take(&mut self.exits.reached) {
            let label = self.label(block, 0);
            self.exit(Exit::Block(block), &label);
        }
        self.w.set_aside(before);
    }

    /// The label of the way out at the jump table that ends a block.
    pub fn table_exit(&mut self, block: usize) -> String {
        if let Some(label) = self.exits.tables.get(&block) {
            return label.clone();
        }
        let label = self.w.new_label("COLD");
        self.exits.tables.insert(block, label.clone());
        let before = self.w.set_aside(true);
        self.exit(Exit::Table(block), &label);
        self.w.set_aside(before);
        label
    }

    fn exit(&mut self, exit: Exit, label: &str) {
        let pc = match exit {
            Exit::Block(block) => self.first_word(block),
            Exit::Table(block) => self.cfg.last(block).pc,
        };
        let units = self.exits.units[&exit].clone();
        let state = self.state_at(exit);
        let before = std::mem::replace(&mut self.state, state);
        self.w.label(label);
        for (i, unit) in units.iter().enumerate() {
            let at = VALUES + 4 * i;
            match self.fact(i64::from(*unit)).kind {
                Kind::Low => {
                    let value = self.canonical_operand(i64::from(*unit), 2);
                    let (low, high) = (self.w.word(), self.w.word());
                    ptx!(self, "mov.b64 {{{low}, {high}}}, {value};");
                    ptx!(self, "st.local.b32 [%local+{at}], {low};");
                    ptx!(self, "st.local.b32 [%local+{}], {high};", at + 4);
                }
                Kind::Zero => {
                    let zero = self.w.word();
                    ptx!(self, "mov.b32 {zero}, 0;");
                    ptx!(self, "st.local.b32 [%local+{at}], {zero};");
                }
                Kind::Unit => {
                    let value = self.canonical_operand(i64::from(*unit), 1);
                    ptx!(self, "st.local.b32 [%local+{at}], {value};");
                }
                // Its low half has brought it.
                Kind::High | Kind::Undefined => {}
            }
        }
        self.state = before;
        let list = 2 * self.exits.lists.len();
        self.exits.lists.push(units.len() as u16);
        self.exits.lists.extend(units.iter().map(|unit| *unit as u16));
        ptx!(self, "mov.b32 %trap_pc, {};", self.unit.code_start + pc);
        ptx!(self, "mov.b32 %cold_units, {list};");
        ptx!(self, "bra COLD;");
    }

    /// Writes what all ways out lead to, at the function's end.
    pub fn finish_exits(&mut self, out: &mut String) {
        if self.exits.lists.is_empty() {
            return;
        }
        out.push_str("\t.reg .b32 %cold_units;\n");
        let name = format!("{}units{}", self.unit.prefix, self.index);
        let lists: Vec<String> = self.exits.lists.iter().map(u16::to_string).collect();
        _ = writeln!(
            self.words,
            ".global .align 2 .b16 {name}[{}] = {{{}}};",
            lists.len(),
            lists.join(", ")
        );
        let before = self.w.set_aside(true);
        self.w.label("COLD");
        self.frame_to_memory();
        let instance = self.image_word(offset_of!(Image, instance));
        let (units, at, answer) = (self.w.pair(), self.w.pair(), self.w.word());
        ptx!(self, "mov.u64 {units}, {name};");
        ptx!(self, "cvt.u64.u32 {at}, %cold_units;");
        ptx!(self, "add.s64 {units}, {units}, {at};");
        let head = (self.unit.code_start + self.function.start).to_string();
        let arguments = [
            ("b64", "%ctx"),
            ("b32", "%depth"),
            ("b32", &instance),
            ("b32", &head),
            ("b32", "%trap_pc"),
            ("b64", &units),
        ];
        self.call_runtime("gpu_run_interpret", &arguments, Some(("b32", &answer)));
        if self.facts.status {
            let (thrown, p) = (self.w.new_label("THROWN"), self.w.predicate());
            ptx!(self, "setp.ne.u32 {p}, {answer}, {RETURNED};");
            ptx!(self, "@{p} bra {thrown};");
            self.return_interpreted();
            self.w.label(&thrown);
            self.leave_thrown();
        } else {
            self.return_interpreted();
        }
        self.w.set_aside(before);
    }

    /// Returns what the interpreter has left in the context.
    fn return_interpreted(&mut self) {
        let results = self.ty.results.clone();
        self.take_values(0, &results);
        self.state = vec![Fact::default(); self.registers as usize];
        self.return_values(0);
    }
}
