//! Calls of one function on several ways of a branch, which all lanes that make one make together.
//!
//! The ways of a `match` often call the same: each formats an error of its own, or inserts what it has found. Lanes that
//! went different ways would run the callee one after the other, way by way. So its calls become one. A way puts the
//! arguments into the call's registers, notes which call it is, and goes to that one place, `SHARED`. There the lanes wait
//! that branched together (see [`reconvergence`](crate::ptx::emit::reconvergence)). Those that call do it at once, and each
//! goes on where its way does.
//!
//! A lane whose way calls nothing waits there too. For that, each way from the branch to the join comes to the place once:
//! by a call, or by a jump to a block that ways with a call come to. Such a jump is a skip: it leads to the place first.
//!
//! `bank` of `bench/ordinary` formats by one of three calls.

use std::collections::{BTreeMap, BTreeSet};

use gpu_run_bytecode::{FuncType, Op};

use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::dominance::Hammock;
use crate::ptx::emit::calls::Callee;
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;

/// How many levels of callees may lie between a call and one through a table. What formats makes such calls. It runs much code of
/// different kinds, in which lanes part once more. Other functions may be called by the seldom ways only: with the
/// allocator's, searches and errors `lz4` took 1.06 times as long.
const LEVELS: u32 = 2;
/// The most ways by which a lane may come: each adds a comparison for all of them.
const MOST_WAYS: usize = 16;

/// Calls of a function that are one.
pub struct SharedCall {
    callee: u32,
    ty: FuncType,
    /// The lanes that branched together.
    mask: String,
    /// The way by which a lane has come: by one of the calls, or after these by one of the skips.
    way: String,
    arguments: Vec<Vec<String>>,
    /// As many as the results have units, or half as many of 64 bits.
    results: Vec<(String, u32)>,
    /// The words of the calls, and the labels of where they go on.
    sites: Vec<(u32, String)>,
    /// The blocks to which ways skip the calls, with one from which such a way comes.
    skips: Vec<(usize, usize)>,
    /// The jumps that do, and to which of these.
    jumps: BTreeMap<(usize, usize), usize>,
}

/// The blocks on the ways from some blocks to a join, and the join.
fn after(compiler: &Compiler, from: &BTreeSet<usize>, hammock: &Hammock) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut work: Vec<usize> = from.iter().copied().collect();
    while let Some(block) = work.pop() {
        for next in &compiler.cfg.blocks[block].successors {
            let on_the_way = *next == hammock.join || hammock.between.contains(next);
            if on_the_way && found.insert(*next) && *next != hammock.join {
                work.push(*next);
            }
        }
    }
    found
}

impl Compiler<'_> {
    /// Decides which calls become one, at most once for each way.
    pub fn plan_shared_calls(&mut self, hammocks: &[Hammock]) {
        let options = &self.unit.options;
        if self.facts.recursive || self.facts.deep || self.roots || options.check_depth || self.region().is_some() {
            return;
        }
        let mut larger: Vec<&Hammock> = hammocks.iter().collect();
        larger.sort_by_key(|hammock| std::cmp::Reverse(hammock.between.len()));
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for hammock in larger {
            let Some(mask) = self.joins.branching.get(&hammock.branch).cloned() else {
                continue;
            };
            if !taken.is_disjoint(&hammock.between) {
                continue;
            }
            if let Some(shared) = self.shared_call(hammock, mask) {
                taken.extend(&hammock.between);
                self.joins.shared.push(shared);
            }
        }
    }

    /// The calls between a branch and its join that become one: of the function with the most.
    fn shared_call(&mut self, hammock: &Hammock, mask: String) -> Option<SharedCall> {
        let cold = |block: &usize| self.cfg.blocks[*block].cold || self.cfg.has_cold_entry(*block);
        if hammock.between.iter().chain([&hammock.join, &hammock.branch]).any(cold) {
            return None;
        }
        let mut calls: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
        for block in &hammock.between {
            let nodes = self.cfg.block_nodes(*block).iter();
            for node in nodes.filter(|node| node.inst.op == Op::Call) {
                let callee = self.analysis.callee(node.pc, &node.inst);
                calls.entry(callee).or_default().push((*block, node.pc));
            }
        }
        calls.retain(|callee, calls| {
            let facts = self.analysis.of(*callee);
            calls.len() > 1
                && facts.is_some_and(|facts| !facts.status)
                && self.are_apart(hammock, calls)
                && self.analysis.calls_through_table(*callee, LEVELS)
        });
        let (callee, calls) = calls.iter().max_by_key(|(_, calls)| calls.len())?;
        let blocks: BTreeSet<usize> = calls.iter().map(|(block, _)| *block).collect();
        let after = after(self, &blocks, hammock);
        let before = hammock.between.iter().chain([&hammock.branch]);
        let before = before.filter(|block| !after.contains(block) && !blocks.contains(block));
        let jumps = before.flat_map(|from| self.cfg.blocks[*from].successors.iter().map(move |to| (*from, *to)));
        let jumps: Vec<(usize, usize)> = jumps.filter(|(_, to)| after.contains(to)).collect();
        let froms: BTreeMap<usize, usize> = jumps.iter().map(|(from, to)| (*to, *from)).collect();
        if calls.len() + froms.len() > MOST_WAYS {
            return None;
        }
        let places: BTreeMap<usize, usize> = froms.keys().enumerate().map(|(place, to)| (*to, place)).collect();
        let (callee, sites) = (*callee, calls.iter().map(|(_, pc)| *pc).collect::<Vec<_>>());
        let meta = &self.analysis.program.meta;
        let ty = meta.types[self.analysis.func_types[callee as usize] as usize].clone();
        let arguments = ty.params.iter().map(|ty| match ty.units() {
            4 => (0..4).map(|_| self.w.word()).collect(),
            2 => vec![self.w.pair()],
            _ => vec![self.w.word()],
        });
        let arguments = arguments.collect();
        let results = ty.results.iter().flat_map(|ty| match ty.units() {
            2 => vec![(self.w.pair(), 2)],
            units => (0..units).map(|_| (self.w.word(), 1)).collect(),
        });
        let results = results.collect();
        Some(SharedCall {
            callee,
            ty,
            mask,
            way: self.w.word(),
            arguments,
            results,
            sites: sites
                .into_iter()
                .map(|pc| (pc, self.w.new_label("SHARED_BACK")))
                .collect(),
            skips: froms.into_iter().map(|(to, from)| (from, to)).collect(),
            jumps: jumps.into_iter().map(|jump| (jump, places[&jump.1])).collect(),
        })
    }

    /// Whether no lane comes to two of these calls on its way from a branch to its join, nor to one of them twice.
    fn are_apart(&self, hammock: &Hammock, calls: &[(usize, u32)]) -> bool {
        let blocks: BTreeSet<usize> = calls.iter().map(|(block, _)| *block).collect();
        blocks.len() == calls.len() && after(self, &blocks, hammock).is_disjoint(&blocks)
    }

    /// If the call at `node` is one of several that are one: goes there, and on when it has come back, with its results
    /// from unit `base` on. `arguments` are the registers of its own.
    pub fn go_to_shared_call(&mut self, node: &Node, arguments: &[Vec<String>], base: i64) -> bool {
        let of = |shared: &SharedCall| shared.sites.iter().position(|(pc, _)| *pc == node.pc);
        let mut all = self.joins.shared.iter().enumerate();
        let Some((number, site)) = all.find_map(|(number, shared)| Some((number, of(shared)?))) else {
            return false;
        };
        let shared = &self.joins.shared[number];
        let to: Vec<(String, u32)> = shared
            .ty
            .params
            .iter()
            .zip(&shared.arguments)
            .flat_map(|(ty, registers)| {
                registers
                    .iter()
                    .map(|register| (register.clone(), 32 * ty.units() / registers.len() as u32))
            })
            .collect();
        let (way, back, results) = (shared.way.clone(), shared.sites[site].1.clone(), shared.results.clone());
        for ((to, bits), from) in to.iter().zip(arguments.iter().flatten()) {
            ptx!(self, "mov.b{bits} {to}, {from};");
        }
        ptx!(self, "mov.b32 {way}, {site};");
        ptx!(self, "bra SHARED{number};");
        self.w.label(&back);
        let mut unit = base;
        for (register, units) in results {
            match units {
                2 => ptx!(self, "mov.b64 %d{unit}, {register};"),
                _ => ptx!(self, "mov.b32 %r{unit}, {register};"),
            }
            unit += i64::from(units);
        }
        true
    }

    /// The label to which a jump leads that skips calls which are one.
    pub fn skip_of_shared_call(&self, from: usize, to: usize) -> Option<String> {
        let mut all = self.joins.shared.iter().enumerate();
        all.find_map(|(number, shared)| Some(format!("SKIP{number}_{}", shared.jumps.get(&(from, to))?)))
    }

    /// Writes where the calls are made, and where those go that skip them.
    pub fn write_shared_calls(&mut self) {
        for number in 0..self.joins.shared.len() {
            self.write_shared_call(number);
        }
    }

    fn write_shared_call(&mut self, number: usize) {
        let shared = &self.joins.shared[number];
        let (callee, ty, mask, way) = (
            shared.callee,
            shared.ty.clone(),
            shared.mask.clone(),
            shared.way.clone(),
        );
        let (arguments, results) = (shared.arguments.clone(), shared.results.clone());
        let (sites, skips) = (shared.sites.clone(), shared.skips.clone());
        for i in 0..skips.len() {
            self.w.label(&format!("SKIP{number}_{i}"));
            ptx!(self, "mov.b32 {way}, {};", sites.len() + i);
            ptx!(self, "bra SHARED{number};");
        }
        self.w.label(&format!("SHARED{number}"));
        self.meet(&mask);
        if !skips.is_empty() {
            let p = self.w.predicate();
            ptx!(self, "setp.ge.u32 {p}, {way}, {};", sites.len());
            ptx!(self, "@{p} bra SKIPPED{number};");
        }
        let callers = self.w.word();
        self.note_lanes(&callers);
        let told = self.tell_row(Some(callee));
        self.w.out().push_str("\t{\n");
        let list = self.pass(&ty, &arguments, "%deeper", told.parameter.as_deref());
        self.call_into(&Callee::Direct(callee), &ty, false, &list, &results, "");
        self.w.out().push_str("\t}\n");
        self.restore_row(&told);
        self.meet(&callers);
        let back: Vec<String> = sites.into_iter().map(|(_, label)| label).collect();
        self.go_by_way(&way, 0, &back);
        if skips.is_empty() {
            return;
        }
        self.w.label(&format!("SKIPPED{number}"));
        let labels: Vec<String> = (0..skips.len()).map(|i| format!("SKIPPED{number}_{i}")).collect();
        self.go_by_way(&way, back.len(), &labels);
        for ((from, to), label) in skips.into_iter().zip(labels) {
            self.w.label(&label);
            self.go_past(from, to);
        }
    }
}
