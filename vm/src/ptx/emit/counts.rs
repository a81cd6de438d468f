//! Code that counts how often basic blocks run: see `kernel/counts.h`.
//!
//! A block adds 1 to its counter in shared memory, which lanes of a warp do together. Blocks that have none add to the count
//! in memory.

use std::fmt::Write;
use std::mem::offset_of;

use crate::layout::{Counts, Launch};
use crate::ptx::Unit;
use crate::ptx::analysis::counters::{Counters, MOST_CALLS};
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;

/// The name of the hardware block's shared memory, and the bytes in it where the kernel's `BlockCounts` are.
const BLOCK: &str = "gpu_run_block_counts";
const POLLS: u32 = 4;
const WORDS: u32 = 8;
const SIZE: u32 = 16;
const FIRST: u32 = 24;

/// Lanes' looks at the stop flag after which one of them empties the counters. Until its next look a lane counts a block so
/// often at most as it makes passes, each with [`MOST_CALLS`] that are not counted: 2^13 * 2^12 * 2^6 < 2^32.
const POLLS_TO_FLUSH: u32 = 1 << 13;

const _: () = assert!(POLLS_TO_FLUSH as u64 * super::function::PASSES as u64 * MOST_CALLS < 1 << 32);

/// Lanes of a hardware block at most.
const MOST_LANES: u32 = 128;

/// Bytes of shared memory that code with so many counters needs. Lanes clear whole rows of it.
pub fn bytes(counters: u32) -> u32 {
    FIRST + 4 * (counters + MOST_LANES)
}

/// The name of the array of the counters' words.
pub fn array(prefix: &str) -> String {
    format!("{prefix}counters")
}

/// What a module declares that counts.
pub fn declarations(unit: &Unit, counters: &Counters, out: &mut String) {
    let words: Vec<String> = counters
        .words
        .iter()
        .map(|word| (unit.code_start + word).to_string())
        .collect();
    _ = writeln!(out, ".extern .shared .align 8 .b8 {BLOCK}[];");
    _ = writeln!(
        out,
        ".visible .global .align 4 .b32 {}[{}] = {{{}}};",
        array(&unit.prefix),
        words.len().max(1),
        if words.is_empty() {
            "0".to_owned()
        } else {
            words.join(", ")
        }
    );
}

impl Compiler<'_> {
    /// Counts the block that is written.
    pub fn count_block(&mut self, block: usize) {
        let Some(counters) = &self.analysis.counters else {
            return;
        };
        let word = self.first_word(block);
        if let Some(number) = counters.number(word) {
            return ptx!(self, "red.shared.add.u32 [{BLOCK}+{}], 1;", FIRST + 4 * number);
        }
        let (counts, at) = (self.w.pair(), self.w.pair());
        let launch = self.launch();
        let position = self.position(word);
        ptx!(
            self,
            "ld.global.b64 {counts}, [{launch}+{}];",
            offset_of!(Launch, counts)
        );
        ptx!(
            self,
            "ld.global.b64 {counts}, [{counts}+{}];",
            offset_of!(Counts, by_word)
        );
        ptx!(self, "mad.wide.u32 {at}, {position}, 8, {counts};");
        let one = self.w.pair();
        ptx!(self, "mov.b64 {one}, 1;");
        ptx!(self, "red.relaxed.gpu.global.add.u64 [{at}], {one};");
    }

    /// Makes the hardware block's counters ready, before its lanes do anything else.
    pub fn begin_counts(&mut self) {
        let Some(counters) = &self.analysis.counters else {
            return;
        };
        let words = FIRST / 4 + counters.words.len() as u32;
        let [lane, lanes, row, at] = std::array::from_fn(|_| self.w.word());
        let (base, word, p) = (self.w.pair(), self.w.pair(), self.w.predicate());
        let next = self.w.new_label("COUNTERS");
        ptx!(self, "mov.u32 {lane}, %tid.x;");
        ptx!(self, "mov.u32 {lanes}, %ntid.x;");
        ptx!(self, "mov.b32 {row}, 0;");
        // All lanes make the same passes: at the barrier a warp must be together, and code for one lane may have none of
        // ptxas's barriers that would bring it there.
        self.w.label(&next);
        ptx!(self, "mov.u64 {base}, {BLOCK};");
        ptx!(self, "add.u32 {at}, {row}, {lane};");
        ptx!(self, "mad.wide.u32 {word}, {at}, 4, {base};");
        ptx!(self, "st.shared.b32 [{word}], 0;");
        ptx!(self, "add.u32 {row}, {row}, {lanes};");
        ptx!(self, "setp.lt.u32 {p}, {row}, {words};");
        ptx!(self, "@{p} bra {next};");
        ptx!(self, "bar.sync 0;");
        // Those who read it come after the barrier below.
        let (table, size) = (self.w.pair(), self.w.word());
        ptx!(self, "mov.u64 {table}, {};", array(&self.unit.prefix));
        ptx!(self, "st.shared.b64 [{BLOCK}+{WORDS}], {table};");
        ptx!(self, "mov.b32 {size}, {};", counters.words.len());
        ptx!(self, "st.shared.b32 [{BLOCK}+{SIZE}], {size};");
        ptx!(self, "bar.sync 0;");
    }

    /// Where the lane looks at the stop flag: empties the counters, if it is time. Written here rather than called, as a call
    /// would keep lanes apart and take registers.
    pub fn flush_counts(&mut self) {
        let Some(counters) = &self.analysis.counters else {
            return;
        };
        let (polls, p) = (self.w.word(), self.w.predicate());
        let (done, next) = (self.w.new_label("FLUSHED"), self.w.new_label("FLUSH"));
        ptx!(self, "atom.shared.add.u32 {polls}, [{BLOCK}+{POLLS}], 1;");
        ptx!(self, "and.b32 {polls}, {polls}, {};", POLLS_TO_FLUSH - 1);
        ptx!(self, "setp.ne.u32 {p}, {polls}, {};", POLLS_TO_FLUSH - 1);
        ptx!(self, "@{p} bra {done};");
        let [counts, table, at, word_at] = std::array::from_fn(|_| self.w.pair());
        let (number, count, word, wide) = (self.w.word(), self.w.word(), self.w.word(), self.w.pair());
        let launch = self.launch();
        ptx!(
            self,
            "ld.global.b64 {counts}, [{launch}+{}];",
            offset_of!(Launch, counts)
        );
        ptx!(
            self,
            "ld.global.b64 {counts}, [{counts}+{}];",
            offset_of!(Counts, by_word)
        );
        ptx!(self, "mov.b32 {number}, 0;");
        self.w.label(&next);
        ptx!(self, "mov.u64 {at}, {BLOCK};");
        ptx!(self, "mad.wide.u32 {at}, {number}, 4, {at};");
        // At once: other lanes add to it.
        ptx!(self, "atom.shared.exch.b32 {count}, [{at}+{FIRST}], 0;");
        ptx!(self, "mov.u64 {table}, {};", array(&self.unit.prefix));
        ptx!(self, "mad.wide.u32 {word_at}, {number}, 4, {table};");
        ptx!(self, "ld.global.b32 {word}, [{word_at}];");
        ptx!(self, "mad.wide.u32 {word_at}, {word}, 8, {counts};");
        ptx!(self, "cvt.u64.u32 {wide}, {count};");
        ptx!(self, "red.relaxed.gpu.global.add.u64 [{word_at}], {wide};");
        ptx!(self, "add.u32 {number}, {number}, 1;");
        ptx!(self, "setp.lt.u32 {p}, {number}, {};", counters.words.len());
        ptx!(self, "@{p} bra {next};");
        self.w.label(&done);
    }

    /// Before the kernel returns.
    pub fn end_counts(&mut self) {
        if self.analysis.counters.is_some() {
            self.call_runtime("gpu_run_end_lane", &[("b64", "%launch")], None);
        }
    }
}
