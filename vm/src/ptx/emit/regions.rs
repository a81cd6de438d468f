//! Large functions as several: one for each region of [`Regions`], and one with the function's own name that runs them.
//!
//! A region takes the thread's context, the number of frames on the stack, at which place it is entered, and where the frame
//! marks, if the function takes that. It takes values from the context's and leaves them there. It returns what comes next: the
//! function's end, with results among the values, or an exception, or the place where another region goes on. An interpreted
//! block comes back in the same way: what the interpreter answers is what the region returns. All of them together are one frame
//! of the stack.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::ptx::Unit;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::analysis::regions::Regions;
use crate::ptx::emit::calls::cold::{ENTERED, Exit};
use crate::ptx::emit::calls::{
    self, CONTEXT, CONTEXT_REGISTERS, READ_CONTEXT, READ_ROW, RETURNED, TAIL_CALL, THROWN, VALUES,
};
use crate::ptx::emit::function::{Compiler, Role, ascii};
use crate::ptx::emit::samples::takes_row;
use crate::ptx::image::ImageLayout;
use crate::ptx::writer::{constant, ptx};

/// What a region returns where its function's caller has to make a tail call. It is no place's number.
pub const REGION_TAIL_CALL: u32 = u32::MAX;

// A region's answer is the function's status.
const _: () = assert!(RETURNED == 0 && THROWN == 1);

/// What of a region is written apart from its blocks.
#[derive(Default)]
pub struct Leaving {
    /// The labels of ways out at the jump tables that end blocks.
    tables: BTreeMap<usize, String>,
    /// Whether something goes to the end that all ways out have in common.
    used: bool,
}

/// The name of a region's function.
fn name(unit: &Unit, index: u32, region: usize) -> String {
    format!("{}f{index}_{region}", unit.prefix)
}

/// The names of what the interpreter reads: where it may hand the function back, and the units that are taken there.
pub fn tables(unit: &Unit, index: u32) -> (String, String) {
    (
        format!("{}places{index}", unit.prefix),
        format!("{}units{index}", unit.prefix),
    )
}

/// Compiles the defined function `defined` in regions of at most [`Options::region_words`](crate::ptx::Options::region_words)
/// words, as [`compile`](super::function::compile) does it as a whole.
pub fn compile(
    unit: &Unit,
    analysis: &Analysis,
    layout: &ImageLayout,
    defined: usize,
    out: &mut String,
    words: &mut String,
) -> u32 {
    let function = &unit.program.meta.functions[defined];
    let regions = Regions::of(analysis, function, &unit.cold);
    let index = analysis.imported + defined as u32;
    let comment = ascii(&unit.program.meta.func_name(index));
    let mut values = regions.units.len() as u32;
    let has_row = takes_row(unit, &analysis.facts[defined]);
    for number in 0..regions.blocks.len() {
        let role = Role::Region(&regions, number);
        let mut compiler = Compiler::new(unit, analysis, layout, defined, role);
        compiler.thread_state();
        compiler.body();
        let head = format!(
            ".func (.param .b32 ret) {}({CONTEXT}, .param .b32 place{})",
            name(unit, index, number),
            if has_row { ", .param .b64 row" } else { "" }
        );
        _ = write!(
            out,
            "\n// {comment}: region {number}\n{head}\n{{\n\t.reg .b32 %place;\n"
        );
        let mut prologue = format!("{READ_CONTEXT}\tld.param.b32 %place, [place];\n");
        if has_row {
            prologue += READ_ROW;
        }
        compiler.finish(&prologue, out);
        out.push_str("}\n");
        words.push_str(&compiler.words);
        values = values.max(compiler.exits.most());
    }
    if !unit.cold.is_empty() {
        write_tables(unit, analysis, &regions, defined, words);
    }
    _ = write!(out, "\n// {comment}\n{}\n{{\n", calls::head(unit, analysis, index));
    write_driver(unit, analysis, &regions, defined, out);
    out.push_str("}\n");
    values
}

/// A constant with words of the store. It is visible, so that it is not in the part of its function, which is else the same
/// when a function before it has changed.
pub fn visible(constant: &str) -> String {
    format!(".visible {constant}")
}

/// Writes what the interpreter reads, as `enter_loop` in `kernel/mixed.cpp` does. All places take the same units.
fn write_tables(unit: &Unit, analysis: &Analysis, regions: &Regions, defined: usize, words: &mut String) {
    let (places, units) = tables(unit, analysis.imported + defined as u32);
    let list = [regions.units.len() as u32]
        .into_iter()
        .chain(regions.units.iter().copied());
    let list: Vec<String> = list.map(|unit| unit.to_string()).collect();
    *words += &constant(16, &units, &list);
    let entries = regions.places.iter();
    let entries = entries.flat_map(|place| [unit.code_start + place.word, 0]);
    let table: Vec<String> = [regions.places.len() as u32]
        .into_iter()
        .chain(entries)
        .map(|word| word.to_string())
        .collect();
    *words += &visible(&constant(32, &places, &table));
}

/// Writes the body of the function that runs the regions: from one to the next, until one of them has ended it.
fn write_driver(unit: &Unit, analysis: &Analysis, regions: &Regions, defined: usize, out: &mut String) {
    let index = analysis.imported + defined as u32;
    let ty = &unit.program.meta.types[unit.program.meta.functions[defined].ty as usize];
    let status = analysis.facts[defined].status;
    out.push_str(CONTEXT_REGISTERS);
    out.push_str("\t.reg .b32 %depth, %next, %w;\n\t.reg .pred %p;\n");
    out.push_str(READ_CONTEXT);
    let has_row = takes_row(unit, &analysis.facts[defined]);
    if has_row {
        _ = write!(out, "\t.reg .b64 %row;\n{READ_ROW}");
    }
    let mut at = 0;
    for (i, ty) in ty.params.iter().enumerate() {
        for k in 0..ty.units() {
            if let Some(slot) = regions.slot(at + k) {
                let to = VALUES + 4 * slot;
                _ = writeln!(
                    out,
                    "\tld.param.b32 %w, [a{i}+{}];\n\tst.local.b32 [%local+{to}], %w;",
                    4 * k
                );
            }
        }
        at += ty.units();
    }
    _ = writeln!(out, "\tmov.b32 %next, {ENTERED};\nGO:");
    let last = regions.blocks.len() - 1;
    for region in 0..last {
        let end = ENTERED + regions.places_of(region).end as u32;
        _ = writeln!(out, "\tsetp.lt.u32 %p, %next, {end};\n\t@%p bra REGION_{region};");
    }
    for region in (0..=last).rev() {
        _ = writeln!(out, "REGION_{region}:\n\t{{");
        out.push_str(
            "\t.param .b32 q0; st.param.b32 [q0], %context_at;\n\t.param .b32 q1; st.param.b32 [q1], %depth;\n",
        );
        out.push_str("\t.param .b32 q2; st.param.b32 [q2], %next;\n\t.param .b32 q;\n");
        let mut list = String::from("q0, q1, q2");
        if has_row {
            out.push_str("\t.param .b64 q3; st.param.b64 [q3], %row;\n");
            list += ", q3";
        }
        _ = writeln!(out, "\tcall (q), {}, ({list});", name(unit, index, region));
        out.push_str("\tld.param.b32 %next, [q];\n\t}\n\tbra NEXT;\n");
    }
    out.push_str("NEXT:\n");
    let tails = analysis.makes_tail_calls(defined);
    if tails {
        _ = writeln!(out, "\tsetp.eq.u32 %p, %next, {REGION_TAIL_CALL};\n\t@%p bra TAIL;");
    }
    _ = writeln!(out, "\tsetp.ge.u32 %p, %next, {ENTERED};\n\t@%p bra GO;");
    if status {
        out.push_str("\tst.param.b32 [ret], %next;\n");
        _ = writeln!(out, "\tsetp.ne.u32 %p, %next, {RETURNED};\n\t@%p ret;");
    }
    calls::return_values_of_context(ty, status, out);
    if tails {
        _ = writeln!(out, "TAIL:\n\tst.param.b32 [ret], {TAIL_CALL};\n\tret;");
    }
}

impl<'a> Compiler<'a> {
    /// The region that is written.
    pub fn region(&self) -> Option<(&'a Regions, usize)> {
        match self.role {
            Role::Region(regions, number) => Some((regions, number)),
            Role::Function | Role::Kernel => None,
        }
    }

    /// The number of the place at which a block is entered that is in another region.
    pub fn place_outside(&self, block: usize) -> Option<usize> {
        let (regions, number) = self.region()?;
        match regions.blocks[number].contains(&block) {
            true => None,
            false => regions.place_at(block),
        }
    }

    /// Whether another region goes on at a block.
    pub fn is_outside(&self, block: usize) -> bool {
        self.place_outside(block).is_some()
    }

    /// Goes to the place at which the region is entered.
    pub fn enter_places(&mut self) {
        let Some((regions, number)) = self.region() else { return };
        let numbers = regions.places_of(number);
        let places = &regions.places[numbers.clone()];
        // Loops may lead through several regions. A thread that is stopped here is told to stand at the region's first place.
        if let Some(first) = places.first() {
            self.count(self.first_word(first.block));
        }
        self.forget_others();
        let labels: Vec<String> = places.iter().map(|_| self.w.new_label("ENTER")).collect();
        if labels.len() > 1 {
            let (at, table) = (self.w.word(), self.w.new_label("TABLE"));
            ptx!(self, "sub.u32 {at}, %place, {};", ENTERED + numbers.start as u32);
            _ = writeln!(self.w.out(), "{table}: .branchtargets {};", labels.join(", "));
            ptx!(self, "brx.idx {at}, {table};");
        }
        for (place, label) in places.iter().zip(labels) {
            self.w.label(&label);
            let slots = place.units.iter().copied();
            self.take_units(slots.filter_map(|unit| Some((regions.slot(unit.0)?, unit))));
            match place.block {
                0 => self.mark_begin(),
                // Another region has marked where it was.
                block => self.mark(self.first_word(block)),
            }
            if self.cfg.blocks[place.block].cold {
                self.exits.note(place.block);
            }
            ptx!(self, "bra {};", self.entry_label(place.block));
        }
    }

    /// Writes the way to a block of another region, which is entered at this place.
    pub fn leave_to(&mut self, block: usize, place: usize, label: &str) {
        let Some((regions, _)) = self.region() else { return };
        let state = self.state_at(Exit::Block(block));
        let before = std::mem::replace(&mut self.state, state);
        self.w.label(label);
        let units = regions.places[place].units.iter();
        self.put_units(units.filter_map(|(unit, _)| Some((regions.slot(*unit)?, *unit))));
        self.state = before;
        ptx!(self, "mov.b32 %place, {};", ENTERED + place as u32);
        self.leave_region();
    }

    /// The label of the way out at the jump table that ends a block: of all its entries that lead to other regions.
    pub fn table_leave(&mut self, block: usize) -> String {
        if let Some(label) = self.leaving.tables.get(&block) {
            return label.clone();
        }
        let label = self.w.new_label("LEAVE");
        self.leaving.tables.insert(block, label.clone());
        let Some((regions, _)) = self.region() else {
            return label;
        };
        let node = self.cfg.last(block).clone();
        let place = |pc: &u32| self.place_outside(self.cfg.block_at(*pc)?);
        let targets: Vec<Option<usize>> = node.targets.iter().map(place).collect();
        let outside: BTreeSet<usize> = targets.iter().flatten().copied().collect();
        // The others have labels of their own.
        let number = |place: &Option<usize>| place.map_or(0, |place| ENTERED + place as u32).to_string();
        let places: Vec<String> = targets.iter().map(number).collect();
        let name = self.name_at("leaves", &node);
        self.constant(constant(32, &name, &places));
        let before = self.w.set_aside(true);
        self.w.label(&label);
        let state = self.state_at(Exit::Table(block));
        let before_state = std::mem::replace(&mut self.state, state);
        // What one of these places takes. Others may take less of a value: there is no room for all of it then.
        let taken = outside.iter().flat_map(|place| &regions.places[*place].units);
        let taken: BTreeSet<u32> = taken.map(|(unit, _)| *unit).collect();
        self.put_units(taken.iter().filter_map(|unit| Some((regions.slot(*unit)?, *unit))));
        let index = self.canonical_operand(node.inst.args[0], 1);
        let (clamped, at) = (self.w.word(), self.w.pair());
        ptx!(self, "min.u32 {clamped}, {index}, {};", places.len() - 1);
        ptx!(self, "mov.u64 {at}, {name};");
        ptx!(self, "mad.wide.u32 {at}, {clamped}, 4, {at};");
        ptx!(self, "ld.global.b32 %place, [{at}];");
        self.leave_region();
        self.state = before_state;
        self.w.set_aside(before);
        label
    }

    /// Returns to the function that runs the regions, with what `%place` says.
    pub fn leave_region(&mut self) {
        self.leaving.used = true;
        ptx!(self, "bra LEAVE;");
    }

    /// Writes the end that all ways out have in common, at the region's end.
    pub fn finish_region(&mut self) {
        if !self.leaving.used {
            return;
        }
        let before = self.w.set_aside(true);
        self.w.label("LEAVE");
        self.keep_budget();
        self.hide_roots();
        ptx!(self, "st.param.b32 [ret], %place;");
        ptx!(self, "ret;");
        self.w.set_aside(before);
    }

    /// Returns the function's results from unit `from` on.
    pub fn return_from_region(&mut self, from: i64) {
        let results = self.ty.results.clone();
        self.put_values(from, &results);
        ptx!(self, "mov.b32 %place, {RETURNED};");
        self.leave_region();
    }

    /// Returns what the interpreter has answered, which has left the values where they are to be.
    pub fn return_answer(&mut self, answer: &str) {
        ptx!(self, "mov.b32 %place, {answer};");
        self.leave_region();
    }
}
