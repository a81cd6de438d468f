//! Blocks that are not compiled: the interpreter goes on there, with the function's frame, until the function is left or a
//! loop begins that is compiled.
//!
//! A jump to such a block leads to code that puts the values of the units which are read later into the context, and tells
//! which units they are. All such code of a function goes to one place, `COLD`, that calls the interpreter and returns
//! what it has returned; see `kernel/mixed.cpp`. A jump table of which many entries are not compiled has one way out: the
//! interpreter runs the table's instruction again.
//!
//! Where the interpreter comes to the head of a loop that is compiled, it hands the function back: `COLD` takes the values
//! of the units that are read later from the context, and goes to the loop. So nothing is known of them there but their
//! kinds. In a region of a large function `COLD` returns the interpreter's answer instead: see [`regions`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::mem::offset_of;

use crate::ptx::analysis::cfg::Cfg;
use crate::ptx::analysis::flow::{Fact, Kind, State};
use crate::ptx::analysis::regions::taken;
use crate::ptx::emit::calls::{RETURNED, VALUES};
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::instructions::CONTEXT_ADDRESS;
use crate::ptx::emit::regions;
use crate::ptx::image::Image;
use crate::ptx::writer::{constant, ptx};

/// The interpreter's answer, or a region's, where the function goes on at a place; and how many after this one, whose number it
/// is.
pub const ENTERED: u32 = 2;

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
    /// The ways back in: heads of loops, with their units and the kinds of these.
    entries: Vec<(usize, Vec<(u32, Kind)>)>,
    /// The lists of units that the interpreter reads: how many there are, then which.
    lists: Vec<u16>,
}

impl Exits {
    /// Something leads to this block.
    pub fn note(&mut self, block: usize) {
        self.reached.insert(block);
    }

    /// Units of values that a way out or back in takes at most.
    pub fn most(&self) -> u32 {
        let entries = self.entries.iter().map(|(_, units)| units.len());
        self.units.values().map(Vec::len).chain(entries).max().unwrap_or(0) as u32
    }

    /// Adds a list of units; returns its place among the lists.
    fn list(&mut self, units: &[u32]) -> usize {
        let place = self.lists.len();
        self.lists.push(units.len() as u16);
        self.lists.extend(units.iter().map(|unit| *unit as u16));
        place
    }
}

impl Compiler<'_> {
    /// Finds the ways out of the function, which is as a whole in `full`, and back in, where the units have the kinds in
    /// `entries`.
    pub fn plan_exits(&mut self, full: &Cfg, entries: &[Vec<Kind>]) {
        let is_cold = |block: usize| self.cfg.blocks[block].cold && !self.is_outside(block);
        let leads_out = |block: &usize| is_cold(*block) || self.cfg.has_cold_entry(*block);
        let blocks: Vec<usize> = self.cfg.order.iter().copied().filter(leads_out).collect();
        if blocks.is_empty() {
            return;
        }
        let live_after = match self.region() {
            Some((regions, _)) => Cow::Borrowed(&regions.live_after),
            None => Cow::Owned(self.transfer.live_after(full, self.units)),
        };
        for block in blocks {
            let exit = match self.cfg.blocks[block].cold {
                true => Exit::Block(block),
                false => Exit::Table(block),
            };
            let nodes = match exit {
                Exit::Block(_) => full.block_nodes(block),
                Exit::Table(_) => std::slice::from_ref(full.last(block)),
            };
            let live = self.transfer.live_before(nodes, &live_after[block]);
            let state = self.state_at(exit);
            let units = taken(&live, |unit| Some(state.get(unit as usize)?.kind));
            self.exits.units.insert(exit, units);
        }
        if self.region().is_some() {
            // Its ways in are the places.
            return;
        }
        for (block, kinds) in self.cfg.entries.clone().into_iter().zip(entries) {
            let live = self.transfer.live_before(full.block_nodes(block), &live_after[block]);
            let units = taken(&live, |unit| kinds.get(unit as usize).copied());
            let units = units.into_iter().map(|unit| (unit, kinds[unit as usize]));
            self.exits.entries.push((block, units.collect()));
        }
    }

    /// What is known of the frame at an exit.
    pub fn state_at(&self, exit: Exit) -> State {
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
            match self.place_outside(block) {
                Some(place) => self.leave_to(block, place, &label),
                None => self.exit(Exit::Block(block), &label),
            }
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
        self.put_units(units.iter().copied().enumerate());
        self.state = before;
        let list = 2 * self.exits.list(&units);
        ptx!(self, "mov.b32 %trap_pc, {};", pc - self.function.start);
        ptx!(self, "mov.b32 %cold_units, {list};");
        ptx!(self, "bra COLD;");
    }

    /// Writes values of units into the context's, each at its place there. A value of 64 bits has two places side by side.
    pub fn put_units(&mut self, units: impl Iterator<Item = (usize, u32)>) {
        for (place, unit) in units {
            let (at, unit) = (VALUES + 4 * place, i64::from(unit));
            match self.fact(unit).kind {
                Kind::Low => {
                    let (value, low, high) = (self.canonical_operand(unit, 2), self.w.word(), self.w.word());
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
                    let value = self.canonical_operand(unit, 1);
                    ptx!(self, "st.local.b32 [%local+{at}], {value};");
                }
                // Its low half has brought it.
                Kind::High | Kind::Undefined => {}
            }
        }
    }

    /// Reads what [`Self::put_units`] has written.
    pub fn take_units(&mut self, units: impl Iterator<Item = (usize, (u32, Kind))>) {
        for (place, (unit, kind)) in units {
            let at = VALUES + 4 * place;
            match kind {
                Kind::Low => {
                    let (low, high) = (self.w.word(), self.w.word());
                    ptx!(self, "ld.local.b32 {low}, [%local+{at}];");
                    ptx!(self, "ld.local.b32 {high}, [%local+{}];", at + 4);
                    ptx!(self, "mov.b64 %d{unit}, {{{low}, {high}}};");
                }
                Kind::Unit => ptx!(self, "ld.local.b32 %r{unit}, [%local+{at}];"),
                Kind::Zero => {
                    ptx!(self, "mov.b32 %r{unit}, 0;");
                    ptx!(self, "mov.b64 %d{unit}, 0;");
                }
                // Its low half has brought it.
                Kind::High | Kind::Undefined => {}
            }
        }
    }

    /// Writes what all ways out lead to, at the function's end.
    pub fn finish_exits(&mut self, out: &mut String) {
        if self.exits.lists.is_empty() {
            return;
        }
        out.push_str("\t.reg .b32 %cold_units;\n");
        let places = self.places();
        let name = match self.region() {
            Some((_, number)) => format!("{}units{}_{number}", self.unit.prefix, self.index),
            None => format!("{}units{}", self.unit.prefix, self.index),
        };
        let lists: Vec<String> = self.exits.lists.iter().map(u16::to_string).collect();
        self.words += &constant(16, &name, &lists);
        let before = self.w.set_aside(true);
        self.w.label("COLD");
        self.frame_to_memory();
        let instance = self.image_word(offset_of!(Image, instance));
        let (lists, units, answer) = (self.w.pair(), self.w.pair(), self.w.word());
        ptx!(self, "mov.u64 {lists}, {name};");
        ptx!(self, "cvt.u64.u32 {units}, %cold_units;");
        ptx!(self, "add.s64 {units}, {lists}, {units};");
        let at = self.w.pair();
        ptx!(self, "mov.u64 {at}, {};", places.as_deref().unwrap_or("0"));
        if self.region().is_some() {
            // The places' units are those of the whole function.
            ptx!(self, "mov.u64 {lists}, {};", regions::tables(self.unit, self.index).1);
        }
        let head = self.w.word();
        self.load_start(&head, (self.index - self.analysis.imported) as usize);
        ptx!(self, "add.u32 %trap_pc, %trap_pc, {head};");
        let arguments = [
            CONTEXT_ADDRESS,
            ("b32", "%depth"),
            ("b32", &instance),
            ("b32", &head),
            ("b32", "%trap_pc"),
            ("b64", &units),
            ("b64", &lists),
            ("b64", &at),
        ];
        self.call_runtime("gpu_run_interpret", &arguments, Some(("b32", &answer)));
        if self.region().is_some() {
            self.return_answer(&answer);
            self.w.set_aside(before);
            return;
        }
        let enter = places.map(|_| {
            let (enter, p) = (self.w.new_label("ENTER"), self.w.predicate());
            ptx!(self, "setp.ge.u32 {p}, {answer}, {ENTERED};");
            ptx!(self, "@{p} bra {enter};");
            enter
        });
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
        if let Some(enter) = enter {
            self.w.label(&enter);
            self.enter_loops(&answer);
        }
        self.w.set_aside(before);
    }

    /// Writes the table of the places at which the function goes on compiled; returns its name. As `enter_loop` in
    /// `kernel/mixed.cpp` reads it.
    fn places(&mut self) -> Option<String> {
        if self.region().is_some() {
            return Some(regions::tables(self.unit, self.index).0);
        }
        if self.exits.entries.is_empty() {
            return None;
        }
        let mut table = vec![self.exits.entries.len().to_string()];
        for (block, units) in self.exits.entries.clone() {
            let units: Vec<u32> = units.iter().map(|(unit, _)| *unit).collect();
            let list = self.exits.list(&units);
            table.extend([
                (self.unit.code_start + self.first_word(block)).to_string(),
                list.to_string(),
            ]);
        }
        let name = regions::tables(self.unit, self.index).0;
        self.words += &regions::visible(&constant(32, &name, &table));
        Some(name)
    }

    /// Goes to the loop that the interpreter's answer says, with the values that it has left in the context.
    fn enter_loops(&mut self, answer: &str) {
        self.frame_from_memory();
        // The interpreter may have made memory larger.
        self.reload_size();
        self.forget_others();
        let entries = std::mem::take(&mut self.exits.entries);
        let labels: Vec<String> = entries.iter().map(|_| self.w.new_label("ENTER")).collect();
        let (index, table) = (self.w.word(), self.w.new_label("TABLE"));
        ptx!(self, "sub.u32 {index}, {answer}, {ENTERED};");
        _ = writeln!(self.w.out(), "{table}: .branchtargets {};", labels.join(", "));
        ptx!(self, "brx.idx {index}, {table};");
        for ((block, units), label) in entries.into_iter().zip(labels) {
            self.w.label(&label);
            self.take_units(units.into_iter().enumerate());
            ptx!(self, "bra {};", self.entry_label(block));
        }
    }

    /// Returns what the interpreter has left in the context.
    fn return_interpreted(&mut self) {
        let results = self.ty.results.clone();
        self.take_values(0, &results);
        self.state = vec![Fact::default(); self.registers as usize];
        self.return_values(0);
    }
}
