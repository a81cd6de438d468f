//! `memory.fill` and `memory.copy` where the function has a frame in local or shared memory.
//!
//! A range that lies in the frame is filled there, and copied from there or to there. Copies between ranges that have no byte in
//! the frame leave it alone. Else, as where a range begins in the frame and ends after it, memory takes the frame meanwhile.

use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::frame_space::FramePlace;
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;

/// Bytes after which the runtime's copy looks whether the run was stopped (`kernel/runtime.cpp`).
const STOPS_AFTER: u32 = 4096;

/// A range of memory 0.
struct Range {
    /// Its address.
    start: String,
    /// That, less the frame's first one.
    at: String,
    /// A predicate: it lies in the frame.
    inside: String,
}

impl Compiler<'_> {
    /// The range of `len` bytes at the address in a unit. One of no bytes need not be inside, and is not in a frame of none.
    fn range(&mut self, unit: i64, len: &str) -> Range {
        let start = self.canonical_operand(unit, 1);
        let (at, left) = (self.w.word(), self.w.word());
        let (begins, inside) = (self.w.predicate(), self.w.predicate());
        ptx!(self, "sub.u32 {at}, {start}, %frame_low;");
        ptx!(self, "sub.u32 {left}, %frame_size, {at};");
        ptx!(self, "setp.lt.u32 {begins}, {at}, %frame_size;");
        ptx!(self, "setp.ge.and.u32 {inside}, {left}, {len}, {begins};");
        Range { start, at, inside }
    }

    /// A predicate: a range has no byte in the frame.
    fn is_apart(&mut self, range: &Range, len: &str) -> String {
        let (before, apart, after) = (self.w.word(), self.w.predicate(), self.w.predicate());
        // What lies before the frame does not come up to it, and what lies after it does not come around to it.
        ptx!(self, "neg.s32 {before}, {};", range.at);
        ptx!(self, "setp.ge.u32 {after}, {}, %frame_size;", range.at);
        ptx!(self, "setp.ge.and.u32 {apart}, {before}, {len}, {after};");
        apart
    }

    /// The length in a unit. What reads a constant need not be written to a register.
    fn length(&mut self, unit: i64) -> String {
        match self.fact(unit).constant_value() {
            Some(len) => len.to_string(),
            None => self.canonical_operand(unit, 1),
        }
    }

    /// A predicate: one of these is no multiple of 4.
    fn is_odd(&mut self, values: &[&str]) -> String {
        let (bits, odd) = (self.w.word(), self.w.predicate());
        ptx!(self, "mov.b32 {bits}, {};", values[0]);
        for value in &values[1..] {
            ptx!(self, "or.b32 {bits}, {bits}, {value};");
        }
        ptx!(self, "and.b32 {bits}, {bits}, 3;");
        ptx!(self, "setp.ne.u32 {odd}, {bits}, 0;");
        odd
    }

    /// Writes a fill of memory 0.
    pub fn fill_in_frame(&mut self, node: &Node, block: usize) {
        let args = node.inst.args;
        let len = self.length(args[2]);
        let to = self.range(args[0], &len);
        let (other, done) = (self.w.new_label("FILL_MEMORY"), self.w.new_label("FILLED"));
        ptx!(self, "@!{} bra {other};", to.inside);
        let (value, word) = (self.canonical_operand(args[1], 1), self.w.word());
        ptx!(self, "prmt.b32 {word}, {value}, {value}, 0;");
        // Words where the range begins and ends at a multiple of them, else bytes.
        let odd = self.is_odd(&[&to.at, &len]);
        let (at, end, last, bytes) = (
            self.w.word(),
            self.w.word(),
            self.w.predicate(),
            self.w.new_label("FILL_BYTES"),
        );
        ptx!(self, "mov.b32 {at}, {};", to.at);
        ptx!(self, "add.u32 {end}, {at}, {len};");
        ptx!(self, "@{odd} bra {bytes};");
        for width in [4, 1] {
            let next = self.w.new_label("FILL");
            if width == 1 {
                self.w.label(&bytes);
            }
            self.w.label(&next);
            ptx!(self, "setp.ge.u32 {last}, {at}, {end};");
            ptx!(self, "@{last} bra {done};");
            self.store_in_frame(&FramePlace::in_frame(&at), width, &word);
            ptx!(self, "add.u32 {at}, {at}, {width};");
            ptx!(self, "bra {next};");
        }
        self.w.label(&other);
        self.frame_to_memory();
        self.instruction(node, block);
        self.frame_from_memory();
        self.w.label(&done);
    }

    /// Writes a copy within memory 0.
    pub fn copy_in_frame(&mut self, node: &Node, block: usize) {
        let args = node.inst.args;
        let len = self.length(args[2]);
        let (to, from) = (self.range(args[0], &len), self.range(args[1], &len));
        let (memory, plain, done) = (
            self.w.new_label("COPY_MEMORY"),
            self.w.new_label("COPY_APART"),
            self.w.new_label("COPIED_RANGE"),
        );
        // What is not inside has to be apart, and in memory, and short: where a copy traps, or the thread is stopped after one,
        // memory has the frame. A size of 0 is 2^32.
        let (last, most, one_less, fits) = (self.w.word(), self.w.word(), self.w.word(), self.w.predicate());
        ptx!(self, "sub.u32 {last}, %size, {len};");
        ptx!(self, "sub.u32 {most}, %size, 1;");
        ptx!(self, "sub.u32 {one_less}, {len}, 1;");
        ptx!(self, "setp.le.u32 {fits}, {one_less}, {most};");
        ptx!(self, "setp.lt.and.u32 {fits}, {len}, {STOPS_AFTER}, {fits};");
        let both = self.w.predicate();
        ptx!(self, "mov.pred {both}, {fits};");
        for range in [&to, &from] {
            let (apart, known) = (self.is_apart(range, &len), self.w.predicate());
            ptx!(self, "setp.le.and.u32 {apart}, {}, {last}, {apart};", range.start);
            ptx!(self, "and.pred {apart}, {apart}, {fits};");
            ptx!(self, "or.pred {known}, {apart}, {};", range.inside);
            ptx!(self, "and.pred {both}, {both}, {apart};");
            ptx!(self, "@!{known} bra {memory};");
        }
        ptx!(self, "@{both} bra {plain};");
        self.copy_pieces(&to, &from, &len, &done);
        self.w.label(&memory);
        // Not both may have been looked at.
        ptx!(self, "setp.ne.u32 {both}, 0, 0;");
        self.frame_to_memory();
        self.w.label(&plain);
        self.instruction(node, block);
        ptx!(self, "@{both} bra {done};");
        self.frame_from_memory();
        self.w.label(&done);
    }

    /// Copies a range where at least one of the two is in the frame, by words or bytes, and goes on at `done`. From the end, if a
    /// byte could else be overwritten before it is read.
    fn copy_pieces(&mut self, to: &Range, from: &Range, len: &str, done: &str) {
        let odd = self.is_odd(&[&to.at, &from.at, len]);
        let (i, step, left) = (self.w.word(), self.w.word(), self.w.word());
        let (down, more) = (self.w.predicate(), self.w.predicate());
        let bytes = self.w.new_label("COPY_BYTES");
        ptx!(self, "setp.lt.u32 {down}, {}, {};", from.start, to.start);
        ptx!(self, "mov.b32 {left}, {len};");
        ptx!(self, "@{odd} bra {bytes};");
        for (width, ty) in [(4u32, "b32"), (1, "u8")] {
            if width == 1 {
                self.w.label(&bytes);
            }
            let next = self.w.new_label("COPY_PIECE");
            ptx!(self, "sub.u32 {i}, {len}, {width};");
            ptx!(self, "selp.b32 {i}, {i}, 0, {down};");
            ptx!(self, "selp.b32 {step}, -{width}, {width}, {down};");
            self.w.label(&next);
            ptx!(self, "setp.eq.u32 {more}, {left}, 0;");
            ptx!(self, "@{more} bra {done};");
            let value = self.w.word();
            for (range, loads) in [(from, true), (to, false)] {
                let (at, address) = (self.w.word(), self.w.pair());
                ptx!(self, "add.u32 {at}, {}, {i};", range.at);
                let (space, inside) = (self.frame_space(), &range.inside);
                let place = self.frame_address(&FramePlace::in_frame(&at), 0, width);
                ptx!(self, "add.u32 {at}, {}, {i};", range.start);
                self.address_in_memory(&address, &at);
                match loads {
                    true => {
                        ptx!(self, "@{inside} ld.{space}.{ty} {value}, [{place}];");
                        ptx!(self, "@!{inside} ld.global.{ty} {value}, [{address}];");
                    }
                    false => {
                        ptx!(self, "@{inside} st.{space}.b{} [{place}], {value};", 8 * width);
                        ptx!(self, "@!{inside} st.global.b{} [{address}], {value};", 8 * width);
                    }
                }
            }
            ptx!(self, "add.u32 {i}, {i}, {step};");
            ptx!(self, "sub.u32 {left}, {left}, {width};");
            ptx!(self, "bra {next};");
        }
    }
}
