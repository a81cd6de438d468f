//! Code that counts how often basic blocks run: see `kernel/counts.h`.
//!
//! A block adds 1 to its counter in shared memory, which lanes of a warp do together. Blocks that have none add to the count
//! in memory.

use std::fmt::Write;

use crate::layout::{BLOCK_FIRST, BLOCK_LANES, BLOCK_POLLS, BLOCK_SIZE, BLOCK_WORDS, COUNT_PASSES, COUNT_POLLS};
use crate::ptx::Unit;
use crate::ptx::analysis::counters::{Counters, MOST_CALLS};
use crate::ptx::emit::function::Compiler;
use crate::ptx::image::ImageLayout;
use crate::ptx::writer::ptx;

/// The name of the hardware block's shared memory, and the bytes in it where what is there begins.
const BLOCK: &str = "gpu_run_block_counts";
const POLLS: u32 = 4 * BLOCK_POLLS;
const WORDS: u32 = 4 * BLOCK_WORDS;
const SIZE: u32 = 4 * BLOCK_SIZE;
const FIRST: u32 = 4 * BLOCK_FIRST;

// A counter is emptied before it is full. Until its next look a lane makes so many passes at most that cost budget, and once
// as many that a brief loop takes at once. Each of these may stand for a loop's copies, which cost no more than one; and each
// makes so many calls that are not counted.
const _: () = {
    assert!(super::function::PASSES <= COUNT_PASSES);
    let passes = 2 * COUNT_PASSES as u64 * super::loops::MOST_COPIES as u64 * MOST_CALLS;
    // Between two times each lane of the block may be that far from its next look.
    assert!(passes * ((COUNT_POLLS + BLOCK_LANES) as u64) < 1 << 32);
};

/// Bytes of shared memory for so many counters in a hardware block of so many lanes, which clear whole rows. `None`: of code
/// that does not count.
pub fn shared_bytes(counters: Option<u32>, lanes: u32) -> u32 {
    counters.map_or(0, |counters| bytes(counters, lanes))
}

/// Bytes up to the end of so many counters, and of so many words more.
const fn bytes(counters: u32, more: u32) -> u32 {
    FIRST + 4 * (counters + more)
}

/// The name of the array of the counters' words.
pub fn array(prefix: &str) -> String {
    format!("{prefix}counters")
}

/// The name of the array of the addresses of the counts in memory, by [`What`].
pub fn places(prefix: &str) -> String {
    format!("{prefix}counts")
}

/// PTX that begins a function with the address of the counters in a register. ptxas would make it anew for each counter, by four
/// instructions of which one waits. So part of it is a number that ptxas does not know: grids have one dimension, and this is 0.
pub fn find_counters() -> String {
    format!(
        "\tmov.u32 %counters, {BLOCK};\n\tmov.u32 %counters_row, %ctaid.y;\n\tadd.u32 %counters, %counters, %counters_row;\n"
    )
}

/// What is counted of a block.
#[derive(Clone, Copy)]
enum What {
    Lanes,
    Warps,
}

/// What a module declares that counts.
pub fn declarations(unit: &Unit, layout: &ImageLayout, counters: &Counters, out: &mut String) {
    let words: Vec<String> = counters
        .words
        .iter()
        .map(|word| (unit.code_start + word).to_string())
        .collect();
    _ = writeln!(out, ".extern .shared .align 8 .b8 {BLOCK}[];");
    _ = writeln!(
        out,
        ".visible .{} .align 8 .b64 {}[2];",
        layout.space(),
        places(&unit.prefix)
    );
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
        let (number, warps, first) = (counters.number(word), counters.warps, counters.words.len() as u32);
        self.add_to_count(word, number, What::Lanes, "");
        if !warps {
            return;
        }
        // One of the lanes that are together counts for their warp: the lowest.
        let (lanes, below, p) = (self.w.word(), self.w.word(), self.w.predicate());
        ptx!(self, "activemask.b32 {lanes};");
        ptx!(self, "mov.u32 {below}, %lanemask_lt;");
        ptx!(self, "and.b32 {lanes}, {lanes}, {below};");
        ptx!(self, "setp.eq.u32 {p}, {lanes}, 0;");
        let number = number.map(|number| first + number);
        self.add_to_count(word, number, What::Warps, &format!("@{p} "));
    }

    /// Adds 1 to a counter, or without one to the count of a word in memory; `if_` is the guard.
    fn add_to_count(&mut self, word: u32, counter: Option<u32>, what: What, if_: &str) {
        if let Some(number) = counter {
            return ptx!(self, "{if_}red.shared.add.u32 [%counters+{}], 1;", FIRST + 4 * number);
        }
        let (counts, one) = (self.counts_in_memory(what), self.w.pair());
        ptx!(
            self,
            "add.s64 {counts}, {counts}, {};",
            8 * u64::from(self.unit.code_start + word)
        );
        ptx!(self, "mov.b64 {one}, 1;");
        ptx!(self, "{if_}red.relaxed.gpu.global.add.u64 [{counts}], {one};");
    }

    /// The address of the counts in memory.
    fn counts_in_memory(&mut self, what: What) -> String {
        let (counts, space) = (self.w.pair(), self.layout.space());
        let places = places(&self.unit.prefix);
        ptx!(self, "ld.{space}.b64 {counts}, [{places}+{}];", 8 * what as u32);
        counts
    }

    /// Makes the hardware block's counters ready, before its lanes do anything else.
    pub fn begin_counts(&mut self) {
        let Some(counters) = &self.analysis.counters else {
            return;
        };
        let words = FIRST / 4 + counters.count();
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
        // Lanes read it after the barrier below.
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
        let (warps, first_of_warps) = (counters.warps, bytes(counters.words.len() as u32, 0));
        let (polls, p) = (self.w.word(), self.w.predicate());
        let done = self.w.new_label("FLUSHED");
        ptx!(self, "atom.shared.add.u32 {polls}, [{BLOCK}+{POLLS}], 1;");
        ptx!(self, "and.b32 {polls}, {polls}, {};", COUNT_POLLS - 1);
        ptx!(self, "setp.ne.u32 {p}, {polls}, {};", COUNT_POLLS - 1);
        ptx!(self, "@{p} bra {done};");
        self.flush_to(FIRST, What::Lanes);
        if warps {
            self.flush_to(first_of_warps, What::Warps);
        }
        self.w.label(&done);
    }

    /// Empties the counters from this byte of shared memory on into the counts in memory.
    fn flush_to(&mut self, from: u32, what: What) {
        let Some(counters) = &self.analysis.counters else {
            return;
        };
        let (next, empty, p) = (self.w.new_label("FLUSH"), self.w.new_label("EMPTY"), self.w.predicate());
        let [table, at, word_at] = std::array::from_fn(|_| self.w.pair());
        let (number, count, word, wide) = (self.w.word(), self.w.word(), self.w.word(), self.w.pair());
        let counts = self.counts_in_memory(what);
        ptx!(self, "mov.b32 {number}, 0;");
        self.w.label(&next);
        ptx!(self, "mov.u64 {at}, {BLOCK};");
        ptx!(self, "mad.wide.u32 {at}, {number}, 4, {at};");
        ptx!(self, "ld.volatile.shared.b32 {count}, [{at}+{from}];");
        ptx!(self, "setp.eq.u32 {p}, {count}, 0;");
        ptx!(self, "@{p} bra {empty};");
        // At once: other lanes add to it.
        ptx!(self, "atom.shared.exch.b32 {count}, [{at}+{from}], 0;");
        ptx!(self, "mov.u64 {table}, {};", array(&self.unit.prefix));
        ptx!(self, "mad.wide.u32 {word_at}, {number}, 4, {table};");
        ptx!(self, "ld.global.b32 {word}, [{word_at}];");
        ptx!(self, "mad.wide.u32 {word_at}, {word}, 8, {counts};");
        ptx!(self, "cvt.u64.u32 {wide}, {count};");
        ptx!(self, "red.relaxed.gpu.global.add.u64 [{word_at}], {wide};");
        self.w.label(&empty);
        ptx!(self, "add.u32 {number}, {number}, 1;");
        ptx!(self, "setp.lt.u32 {p}, {number}, {};", counters.words.len());
        ptx!(self, "@{p} bra {next};");
    }

    /// Before the kernel returns.
    pub fn end_counts(&mut self) {
        if self.analysis.counters.is_some() {
            self.call_runtime("gpu_run_end_lane", &[("b64", "%launch")], None);
        }
    }
}
