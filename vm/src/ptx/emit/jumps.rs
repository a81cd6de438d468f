//! Jumps.
//!
//! A branch that closes a cycle counts down a budget of passes that the thread has until it must look at
//! the stop flag. Small innermost loops are unrolled: written out several times in a row, of which only
//! the last copy counts. So looking costs little, and the flag is still seen in time.

use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::loops::Loop;
use crate::ptx::writer::ptx;

impl Compiler<'_> {
    /// The label of a block in one of its copies.
    pub fn label(&self, block: usize, copy: usize) -> String {
        match copy {
            0 => format!("B{block}"),
            _ => format!("B{block}_{copy}"),
        }
    }

    /// The label by which a block is entered from elsewhere, or once more: see [`Compiler::way_in`].
    pub fn entry_label(&self, block: usize) -> String {
        match self.loops.get(&block) {
            Some(Loop { counted: Some(_), .. }) => format!("LOOP{block}"),
            _ => self.label(block, 0),
        }
    }

    /// The label of a jump that leaves a loop, where something is due.
    fn leave(&mut self, from: usize, to: usize, (unit, due): (i64, i32)) -> String {
        let label = self.w.new_label("LEAVE");
        let before = self.w.set_aside(true);
        self.w.label(&label);
        ptx!(self, "add.u32 %r{unit}, %r{unit}, {due};");
        self.go_now(None, from, to, None);
        self.w.set_aside(before);
        label
    }

    /// The first word of a block.
    pub fn first_word(&self, block: usize) -> u32 {
        self.cfg.first_word(block)
    }

    /// Counts a pass of the loop or function that begins at word `pc`, and looks at the stop flag when the budget
    /// is spent. Lanes of a warp may have different budgets: one that looks comes back to the others here, before
    /// they branch. If it went on by another way, they would not meet again before the loop's end.
    pub fn count(&mut self, pc: u32) {
        let (spent, poll, counted) = (
            self.w.predicate(),
            self.w.new_label("POLL"),
            self.w.new_label("COUNTED"),
        );
        ptx!(self, "sub.u32 %budget, %budget, 1;");
        // Signed: a loop of few passes takes all of them at once.
        ptx!(self, "setp.le.s32 {spent}, %budget, 0;");
        ptx!(self, "@{spent} bra {poll};");
        self.w.label(&counted);
        let before = self.w.set_aside(true);
        if before {
            // This code seldom runs, so a jump around the poll costs little.
            let over = self.w.new_label("OVER");
            ptx!(self, "bra {over};");
            self.poll_and_go(pc, &poll, &counted);
            self.w.label(&over);
        } else {
            self.poll_and_go(pc, &poll, &counted);
        }
        self.w.set_aside(before);
    }

    /// The label of the one place from which a loop goes on that several branches close: there lanes meet that
    /// went different ways. If each had a way back of its own, they would be parted until the loop's end.
    fn latch(&mut self, head: usize) -> Option<String> {
        if self.cfg.back_edges.iter().filter(|(_, to)| *to == head).count() < 2 {
            return None;
        }
        if let Some(label) = self.latches.get(&head) {
            return Some(label.clone());
        }
        let label = self.w.new_label("LATCH");
        self.latches.insert(head, label.clone());
        let before = self.w.set_aside(true);
        self.w.label(&label);
        self.count(self.first_word(head));
        ptx!(self, "bra {};", self.entry_label(head));
        self.w.set_aside(before);
        Some(label)
    }

    fn poll_and_go(&mut self, pc: u32, label: &str, to: &str) {
        self.w.label(label);
        self.mark_busy_loop(pc);
        self.poll(pc);
        ptx!(self, "bra {to};");
    }

    /// Where a branch from `from`, in the copy that is written, to `to` leads: from the meeting of the loop with head
    /// `met`, if it comes from there. `None`: it must count.
    fn target(&mut self, met: Option<usize>, from: usize, to: usize) -> Option<String> {
        let meeting = self.way_to_meeting(from, to, met);
        if meeting.is_none() && self.cfg.blocks[to].cold {
            self.exits.note(to);
        }
        meeting
            .or_else(|| self.skip_of_shared_call(from, to))
            .or_else(|| self.uncounted(from, to))
            .or_else(|| self.latch(to))
    }

    /// The same where nothing is to be counted.
    fn uncounted(&self, from: usize, to: usize) -> Option<String> {
        let same = self.head_of.contains_key(&to) && self.head_of.get(&to) == self.head_of.get(&from);
        let back = self.cfg.back_edges.contains(&(from, to));
        match self.loops.get(&to) {
            Some(around) if same && back => {
                let next = self.copy + 1;
                (around.counted.is_none() && next < around.copies).then(|| self.label(to, next))
            }
            _ if same => Some(self.label(to, self.copy)),
            _ if back => None,
            _ => Some(self.way_in(to)),
        }
    }

    /// A jump. `next` is the label that follows.
    pub fn go(&mut self, from: usize, to: usize, next: Option<&str>) {
        if let Some((unit, due)) = self.due(from, to) {
            ptx!(self, "add.u32 %r{unit}, %r{unit}, {due};");
        }
        self.go_now(None, from, to, next);
    }

    /// A jump with nothing due, by a lane that has met the others at a call that it skips.
    pub fn go_past(&mut self, from: usize, to: usize) {
        let label = self.uncounted(from, to).or_else(|| self.latch(to));
        self.go_to(label, to, None);
    }

    /// A jump with nothing due, from the meeting of the loop with head `met` or from `from` itself.
    pub fn go_now(&mut self, met: Option<usize>, from: usize, to: usize, next: Option<&str>) {
        let label = self.target(met, from, to);
        self.go_to(label, to, next);
    }

    /// A jump to a label, or to the block `to` by a way that counts.
    fn go_to(&mut self, label: Option<String>, to: usize, next: Option<&str>) {
        match label {
            Some(label) if Some(label.as_str()) == next => {}
            Some(label) => ptx!(self, "bra {label};"),
            None => {
                self.count(self.first_word(to));
                ptx!(self, "bra {};", self.entry_label(to));
            }
        }
    }

    /// A jump to `to` if `predicate` holds (or does not); else control goes on after it.
    pub fn go_if(&mut self, from: usize, to: usize, predicate: &str, negated: bool) {
        let not = if negated { "!" } else { "" };
        if let Some(due) = self.due(from, to) {
            let label = self.leave(from, to, due);
            return ptx!(self, "@{not}{predicate} bra {label};");
        }
        if let Some(label) = self.target(None, from, to) {
            ptx!(self, "@{not}{predicate} bra {label};");
            return;
        }
        self.count(self.first_word(to));
        ptx!(self, "@{not}{predicate} bra {};", self.entry_label(to));
    }

    /// The label to which a jump table may lead for this jump: a stub that counts where it must.
    pub fn table_target(&mut self, from: usize, to: usize) -> String {
        if let Some(due) = self.due(from, to) {
            return self.leave(from, to, due);
        }
        if self.cfg.blocks[to].cold {
            let meeting = self.way_to_meeting(from, to, None);
            return meeting.unwrap_or_else(|| match self.is_outside(to) {
                true => self.table_leave(from),
                false => self.table_exit(from),
            });
        }
        if let Some(label) = self.target(None, from, to) {
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
