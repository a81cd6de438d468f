//! Where the lanes of a warp meet that took different ways.
//!
//! Each instruction is fetched and issued once for all lanes that stand at it, so lanes should stand together. ptxas has
//! convergence barriers for that. But a function that is called saves and clears the barriers of its callers, and that
//! parts their lanes for good. So compiled code has meetings of its own:
//!
//! - at the end of each pass of a loop that calls. The head notes in a mask the lanes that begin the pass together. All
//!   ways to a next pass and all ways out lead to one place, where these lanes wait for each other. From there each goes
//!   where its way leads. That it is one place matters: ptxas may hold lanes where ways join, and there they join at the
//!   meeting and not after it;
//! - after such a loop: those that came into it together, which the way in has noted. They have met those of their last
//!   pass before;
//! - after an innermost loop without calls that has several ways out. ptxas has lanes meet where these ways join, which may
//!   be far: a search that ends by "found" and by "greater" has lanes that find "greater" in different passes go on alone;
//! - after a call, of the runtime's heap and copies too: those that made it together;
//! - where the ways of a branch join, if there are calls on them or loops after which lanes meet: those that branched
//!   together (see [`analysis::dominance`](crate::ptx::analysis::dominance));
//! - where the ways out of a loop join after which lanes meet: those that came into it together;
//! - before a call that ways of a branch have in common: those that branched together (see [`shared`](super::calls::shared)).
//!
//! Why no lane waits for ever: the lanes of a mask are those that noted it by one instruction at the same time, so
//! each is in the masks of all the others. Each of them gets to the meeting, or ends, and those that have ended are not
//! waited for. For before it gets there it waits for no other thread (`Options::reconverge` promises that), and otherwise
//! only at meetings further inside, the innermost of which have none inside; or at a call that ways have in common, by the
//! mask of a branch further out. All lanes of that come to the call, and each meeting is before it for all of them, or after
//! it. So a lane that is about to trap goes to no meeting of a loop: those that it would wait for may wait for it at a join,
//! until it ends. `vm/tests/meetings.rs` follows
//! masks through what the compiler writes.
//!
//! That holds only without ptxas's barriers around calls. One that a callee cleared may let go of a lane, which then waits
//! at a meeting for another one. When that comes back from its call, it waits at ptxas's barrier for the first. So
//! `cuda::barriers` takes these out of the machine code. With them, and with meetings of loops alone, `tree` of
//! `bench/ordinary` did not end (5 of 5 times); without them it does.
//!
//! Lanes that went into different regions of a large function (`emit::regions`) meet when it has come back.
//!
//! A warp takes a lane that waits at an instruction for one that waits there with another mask. Measured on an H200, with votes:
//! of 2,205 million passes of a loop in a recursive function 30 million went on too early, of 658 million in other functions
//! none. So in a function that recurses lanes meet only if nothing between the mask and the meeting may lead to the function
//! anew. Then a lane is at the meeting with the mask that it has just noted, and no other. Nor does a mask wait while a
//! cycle of calls goes round: of all functions of a cycle that a lane is in, only the innermost has any. So meetings lie within
//! each other as elsewhere.
//!
//! A meeting alone does not make lanes one group again; `cuda::barriers` mends that in the machine code.
//!
//! A lane's own bit is part of its mask already. It is set once more because ptxas else takes the mask for one that all
//! lanes of the warp share.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gpu_run_bytecode::{Class, Op};

use crate::ptx::analysis::cfg::{Node, is_call};
use crate::ptx::analysis::dominance::{Dominance, Hammock, LoopEnd};
use crate::ptx::analysis::live::writes;
use crate::ptx::emit::calls::shared::SharedCall;
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;

/// Instructions between a call and a join at most, so that lanes meet at the join alone.
const SOON: usize = 8;

/// Words that a loop carries from pass to pass, from which on it is most likely all that a lane does. `puzzle` of
/// `bench/native` carries 11; of the loops in `bench/ordinary` that gain by waiting none more than 7.
const MUCH: usize = 8;

/// A loop at whose end lanes meet.
pub struct Meeting {
    blocks: BTreeSet<usize>,
    /// The lanes that came into the loop together.
    entered: String,
    /// The lanes that make this pass together. None in a loop without calls: there lanes meet after the loop only.
    pass: Option<String>,
    /// The way by which a lane got to the meeting: 0 for the next pass, 1 and on for `exits`.
    way: String,
    /// The ways out, but for those that end the thread: a block from which each leads, and one to which it does, from which
    /// none leads back.
    exits: Vec<(usize, usize)>,
}

impl Meeting {
    /// The loop's blocks.
    pub fn blocks(&self) -> &BTreeSet<usize> {
        &self.blocks
    }

    /// Whether lanes meet after each pass.
    pub fn has_passes(&self) -> bool {
        self.pass.is_some()
    }
}

/// Where lanes meet that branched, or came into a loop, together; and where one meets itself.
#[derive(Default)]
pub struct Joins {
    /// By the block of a branch, the lanes that branch together.
    pub branching: BTreeMap<usize, String>,
    /// By the block of a join, those that meet there: of a branch, or those that came into a loop.
    joining: BTreeMap<usize, String>,
    /// The calls that they make together on the way.
    pub shared: Vec<SharedCall>,
    /// Heads of loops that may wait for what another thread writes.
    watches: BTreeSet<usize>,
    /// The first words of loops that carry much from pass to pass.
    busy: BTreeSet<u32>,
}

/// Whether an instruction calls, be it a function of the runtime.
pub fn calls(node: &Node) -> bool {
    let class = node.inst.op.info().class;
    is_call(node.inst.op) || matches!(class, Class::Aside | Class::Gpu | Class::Access)
}

impl Compiler<'_> {
    /// Decides at which loops' ends lanes meet.
    pub fn plan_meetings(&mut self) {
        if self.unit.options.reconverge {
            self.plan_loops_without_calls();
        }
        // A function that handles or passes on exceptions leaves its loops in other ways too.
        let other_ways = self.facts.status || !self.function.tries.is_empty();
        if !self.may_meet() || other_ways {
            return;
        }
        self.dead_ends = match self.region() {
            Some((regions, _)) => regions.dead_ends.clone(),
            None => self.cfg.dead_ends(),
        };
        // What a lane does that is about to trap belongs to no loop and to no way to a join. Others wait for it meanwhile.
        let mut ends = self.dead_ends.iter().flat_map(|block| self.cfg.block_nodes(*block));
        if ends.any(|node| self.leads_back(node)) {
            return;
        }
        for (head, blocks) in self.cfg.reducible_loops() {
            let nodes = || blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            if nodes().any(|node| self.leads_back(node)) {
                continue;
            }
            let calls = nodes().any(|node| self.parts(node));
            let meets = match calls {
                true => !self.loops.contains_key(&head),
                false => !self.facts.recursive && self.has_several_ends(&blocks),
            };
            if !meets {
                continue;
            }
            let meeting = Meeting {
                blocks,
                entered: self.w.word(),
                pass: calls.then(|| self.w.word()),
                way: self.w.word(),
                exits: Vec::new(),
            };
            self.meetings.insert(head, meeting);
        }
        if let Some(dominance) = Dominance::of(&self.cfg, &self.dead_ends) {
            let hammocks = dominance.hammocks();
            let left = |(head, meeting): (&usize, &Meeting)| {
                let end = dominance.loop_end(*head, &meeting.blocks)?;
                Some((meeting.entered.clone(), end))
            };
            let ends = self.meetings.iter().filter_map(left).collect();
            self.steps = self.steps_of(&dominance);
            self.plan_joins(&hammocks);
            self.plan_loop_joins(ends);
            self.plan_shared_calls(&hammocks);
        }
    }

    /// Finds loops without calls in which `cuda::barriers` is to leave that by which lanes get their turn:
    ///
    /// - Loops that may wait for what another thread writes, by accesses that are not atomic: they load, write to no memory or
    ///   global, and leave nothing for the next pass to read. At the head of each a lane meets itself.
    /// - Loops that carry much from pass to pass: most likely all that a lane does, in passes by the thousand, and not equally
    ///   many. A lane that has left one gains little by waiting for the others. These get a mark.
    fn plan_loops_without_calls(&mut self) {
        let loads = |node: &Node| matches!(node.inst.op.info().class, Class::Load(_) | Class::LoadFar(_));
        let stores = |node: &Node| match node.inst.op.info().class {
            Class::Store(_) | Class::StoreFar(_) => true,
            _ => matches!(
                node.inst.op,
                Op::GlobalSet32 | Op::GlobalSet64 | Op::GlobalSet128 | Op::StackPointerSet
            ),
        };
        let mut loops = self.cfg.reducible_loops();
        loops.retain(|(_, blocks)| {
            let nodes = || blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            nodes().any(|node| loads(node) || stores(node)) && !nodes().any(calls)
        });
        if loops.is_empty() {
            return;
        }
        let after = self.transfer.live_after(&self.cfg, self.units);
        for (head, blocks) in loops {
            let live = self.transfer.live_before(self.cfg.block_nodes(head), &after[head]);
            let nodes = || blocks.iter().flat_map(|block| self.cfg.block_nodes(*block));
            let written: HashSet<i64> = nodes().flat_map(writes).flatten().collect();
            match live.iter().filter(|unit| written.contains(unit)).count() {
                0 if nodes().any(loads) && !nodes().any(stores) => _ = self.joins.watches.insert(head),
                MUCH.. => _ = self.joins.busy.insert(self.first_word(head)),
                _ => {}
            }
        }
    }

    /// Where the lanes of the loop that begins at word `pc` look at the stop flag: marks it, if `cuda::barriers` is to leave in
    /// it that by which lanes get their turn. The mark is taken out there.
    pub fn mark_busy_loop(&mut self, pc: u32) {
        if self.joins.busy.contains(&pc) {
            ptx!(self, "pmevent 0;");
        }
    }

    /// Whether lanes meet in the function at all. What is interpreted may call anything, a function that recurses too.
    fn may_meet(&self) -> bool {
        self.unit.options.reconverge && (!self.facts.recursive || self.unit.cold.is_empty())
    }

    /// Whether lanes that execute an instruction together are to meet after it. In a function that recurses few are together,
    /// and a meeting after the heap or a copy costs more than it brings.
    fn parts(&self, node: &Node) -> bool {
        match self.facts.recursive {
            true => is_call(node.inst.op),
            false => calls(node),
        }
    }

    /// Whether an instruction may lead to the function anew.
    fn leads_back(&self, node: &Node) -> bool {
        self.analysis.leads_back(&self.facts, node.pc, &node.inst)
    }

    /// Whether a loop has no other in it and several ways out, but for those that end the thread.
    fn has_several_ends(&self, blocks: &BTreeSet<usize>) -> bool {
        let heads = blocks.iter().filter(|block| self.cfg.blocks[**block].loop_head);
        let next = blocks.iter().flat_map(|block| &self.cfg.blocks[*block].successors);
        let out: BTreeSet<&usize> = next
            .filter(|block| !blocks.contains(block) && !self.dead_ends.contains(block))
            .collect();
        heads.count() == 1 && out.len() > 1
    }

    /// Decides at which joins lanes meet that branched together.
    fn plan_joins(&mut self, hammocks: &[Hammock]) {
        for hammock in hammocks {
            let nodes = || hammock.between.iter().flat_map(|block| self.cfg.block_nodes(*block));
            let in_copies = |block| self.head_of.contains_key(block);
            // A search that lanes have left by several ends, and after which they have met, may be on one way only.
            let has_meeting = || self.meetings.keys().any(|head| hammock.between.contains(head));
            let parts = nodes().any(|node| self.parts(node)) || has_meeting();
            let meets = parts && !nodes().any(|node| self.leads_back(node));
            if in_copies(&hammock.branch) || in_copies(&hammock.join) || !meets {
                continue;
            }
            let mask = self.w.word();
            self.joins.branching.insert(hammock.branch, mask.clone());
            self.joins.joining.insert(hammock.join, mask);
        }
    }

    /// Decides where lanes meet that have left a loop by several ends, each with the lanes that came into the loop. After it they
    /// have met, but its ends part them anew.
    fn plan_loop_joins(&mut self, ends: Vec<(String, LoopEnd)>) {
        for (mask, end) in ends {
            let mut nodes = end.between.iter().flat_map(|block| self.cfg.block_nodes(*block));
            if self.head_of.contains_key(&end.join) || nodes.any(|node| self.leads_back(node)) {
                continue;
            }
            // No branch joins here too: it would lie on all ways from the loop to the join.
            self.joins.joining.insert(end.join, mask);
        }
    }

    /// Before the last instruction of a block: if it is a branch whose lanes meet again, those that are here do.
    pub fn note_branching(&mut self, block: usize) {
        if let Some(mask) = self.joins.branching.get(&block).cloned() {
            self.note_lanes(&mask);
        }
    }

    /// At the head of a block in which ways join.
    pub fn join_lanes(&mut self, block: usize) {
        if let Some(mask) = self.joins.joining.get(&block).cloned() {
            self.meet(&mask);
        }
    }

    /// Whether something is done before the loop that a block begins.
    fn has_way_in(&self, block: usize) -> bool {
        self.meetings.contains_key(&block) || self.marks_before(block)
    }

    /// The label by which a block is entered from elsewhere than the loop that it begins.
    pub fn way_in(&self, block: usize) -> String {
        match self.has_way_in(block) {
            true => format!("IN{block}"),
            false => self.entry_label(block),
        }
    }

    /// Before a block that may be the head of a loop: notes the lanes that come into it together, if they meet in it.
    pub fn begin_loop(&mut self, block: usize) {
        if !self.has_way_in(block) || !self.begun_loops.insert(block) {
            return;
        }
        self.w.label(&format!("IN{block}"));
        if self.marks_before(block) {
            self.mark(self.first_word(block));
        }
        if let Some(meeting) = self.meetings.get(&block) {
            let mask = meeting.entered.clone();
            self.note_lanes(&mask);
        }
        // The code of a loop may begin with another block than its head.
        if self.loops.get(&block).is_some_and(|around| around.first() != block) {
            ptx!(self, "bra {};", self.entry_label(block));
        }
    }

    /// What calls the runtime, for lanes that meet after it.
    pub fn together(&mut self, node: &Node, what: impl FnOnce(&mut Self)) {
        let callers = self.note_callers(node);
        what(self);
        self.meet_callers(callers);
    }

    /// Before a call: notes the lanes that make it together.
    pub fn note_callers(&mut self, node: &Node) -> Option<String> {
        if !self.may_meet() || self.leads_back(node) || !self.parts(node) || self.joins_soon(node) {
            return None;
        }
        let mask = self.w.word();
        self.note_lanes(&mask);
        Some(mask)
    }

    /// Whether the lanes that execute an instruction come to a join soon after it, where they meet anyway.
    fn joins_soon(&self, node: &Node) -> bool {
        let [next] = self.cfg.blocks[self.block].successors[..] else {
            return false;
        };
        let nodes = self.cfg.block_nodes(self.block).iter();
        let mut after = nodes.skip_while(|other| other.pc <= node.pc).take(SOON + 1);
        self.joins.joining.contains_key(&next)
            && after.by_ref().take(SOON).all(|node| !calls(node))
            && after.next().is_none()
    }

    /// After it: they meet.
    pub fn meet_callers(&mut self, mask: Option<String>) {
        if let Some(mask) = mask {
            self.meet(&mask);
        }
    }

    /// At the head of a block: if it begins a loop whose lanes meet, those that are here make this pass together.
    pub fn begin_pass(&mut self, block: usize) {
        if let Some(mask) = self.meetings.get(&block).and_then(|meeting| meeting.pass.clone()) {
            self.note_lanes(&mask);
        }
        if self.joins.watches.contains(&block) {
            let own = self.w.word();
            ptx!(self, "mov.u32 {own}, %lanemask_eq;");
            self.meet(&own);
        }
    }

    /// Where a lane comes back from the interpreter into loops that it has left: it waits for none but itself.
    pub fn forget_others(&mut self) {
        let of_loop = |meeting: &Meeting| [Some(meeting.entered.clone()), meeting.pass.clone()];
        // Where it comes to a branch's join it has branched here.
        let masks: Vec<String> = self.meetings.values().flat_map(of_loop).flatten().collect();
        for mask in masks {
            ptx!(self, "mov.u32 {mask}, %lanemask_eq;");
        }
    }

    pub fn note_lanes(&mut self, mask: &str) {
        let own = self.w.word();
        ptx!(self, "activemask.b32 {mask};");
        ptx!(self, "mov.u32 {own}, %lanemask_eq;");
        ptx!(self, "or.b32 {mask}, {mask}, {own};");
    }

    /// Waits for the lanes of a mask, which are all on their way here.
    pub fn meet(&mut self, mask: &str) {
        ptx!(self, "bar.warp.sync {mask};");
    }

    /// The same, where mostly all of them come at once: that is seen for less.
    fn meet_unless_all(&mut self, mask: &str) {
        let (here, p, met) = (self.w.word(), self.w.predicate(), self.w.new_label("MET"));
        ptx!(self, "activemask.b32 {here};");
        ptx!(self, "setp.eq.u32 {p}, {here}, {mask};");
        ptx!(self, "@{p} bra {met};");
        self.meet(mask);
        self.w.label(&met);
    }

    /// The innermost loop around a block whose lanes meet, among those around the loop `inside`.
    fn meeting_around(&self, block: usize, inside: Option<usize>) -> Option<usize> {
        let inner = inside.map_or(0, |head| self.meetings[&head].blocks.len());
        let around = self.meetings.iter();
        let around = around.filter(|(_, meeting)| meeting.blocks.contains(&block) && meeting.blocks.len() > inner);
        around
            .min_by_key(|(_, meeting)| meeting.blocks.len())
            .map(|(head, _)| *head)
    }

    /// The label that leads a branch from `from` to `to` to where lanes meet, if it ends a pass of such a loop: of one
    /// around the loop `inside`, whose lanes have met.
    pub fn way_to_meeting(&mut self, from: usize, to: usize, inside: Option<usize>) -> Option<String> {
        // Lanes that wait for this one at a join or after an inner loop do so until it ends: it must wait for none of them.
        if self.dead_ends.contains(&to) {
            return None;
        }
        let head = self.meeting_around(from, inside)?;
        if head == to && self.meetings[&head].pass.is_none() {
            return None;
        }
        if head == to {
            return Some(format!("PASS{head}"));
        }
        if self.meetings[&head].blocks.contains(&to) {
            return None;
        }
        // Whether the branch closes an outer cycle is part of the way.
        let closes = |from| self.cfg.back_edges.contains(&(from, to));
        let exits = &mut self.meetings.get_mut(&head).expect("a loop whose lanes meet").exits;
        let known = exits
            .iter()
            .position(|other| other.1 == to && closes(other.0) == closes(from));
        let number = known.unwrap_or(exits.len()) + 1;
        if known.is_none() {
            exits.push((from, to));
        }
        Some(format!("OUT{head}_{number}"))
    }

    /// Writes where lanes meet. Ways out of inner loops may be ways out of outer ones, so these come later.
    pub fn write_meetings(&mut self) {
        let mut heads: Vec<usize> = self.meetings.keys().copied().collect();
        heads.sort_by_key(|head| self.meetings[head].blocks.len());
        let before = self.w.set_aside(true);
        self.copy = 0;
        self.write_shared_calls();
        for head in heads {
            self.write_meeting(head);
        }
        self.w.set_aside(before);
    }

    fn write_meeting(&mut self, head: usize) {
        let meeting = &self.meetings[&head];
        let (entered, pass, way) = (meeting.entered.clone(), meeting.pass.clone(), meeting.way.clone());
        let exits = meeting.exits.clone();
        let first = if pass.is_some() { "MEET" } else { "LEFT" };
        for number in 1..=exits.len() {
            self.w.label(&format!("OUT{head}_{number}"));
            ptx!(self, "mov.b32 {way}, {number};");
            ptx!(self, "bra {first}{head};");
        }
        if let Some(pass) = &pass {
            self.w.label(&format!("PASS{head}"));
            ptx!(self, "mov.b32 {way}, 0;");
            self.w.label(&format!("MEET{head}"));
            self.meet(pass);
            if !exits.is_empty() {
                let p = self.w.predicate();
                ptx!(self, "setp.ne.u32 {p}, {way}, 0;");
                ptx!(self, "@{p} bra LEFT{head};");
            }
            self.step_to_pass(head);
            self.count(self.first_word(head));
            ptx!(self, "bra {};", self.label(head, 0));
        }
        if exits.is_empty() {
            return;
        }
        self.w.label(&format!("LEFT{head}"));
        match pass {
            Some(_) => self.meet(&entered),
            None => self.meet_unless_all(&entered),
        }
        let labels: Vec<String> = (1..=exits.len()).map(|number| format!("EXIT{head}_{number}")).collect();
        self.go_by_way(&way, 1, &labels);
        for ((from, to), label) in exits.into_iter().zip(labels) {
            self.w.label(&label);
            self.go_now(Some(head), from, to, None);
        }
    }

    /// Branches to one of these labels, by the way by which a lane has come: `first` for the first of them, and on.
    pub fn go_by_way(&mut self, way: &str, first: usize, labels: &[String]) {
        let Some((last, others)) = labels.split_last() else {
            return;
        };
        for (i, label) in others.iter().enumerate() {
            let p = self.w.predicate();
            ptx!(self, "setp.eq.u32 {p}, {way}, {};", first + i);
            ptx!(self, "@{p} bra {label};");
        }
        ptx!(self, "bra {last};");
    }
}
