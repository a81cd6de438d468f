//! Frames of the shadow stack in local memory, where [`stack_frame`](crate::ptx::analysis::stack_frame) finds that they can
//! be there. Of a kernel, shared memory may take the place of local memory: see [`frame_space`](super::frame_space), which says
//! what an address there is.
//!
//! The function copies its frame into the array `frame` at its head. It accesses memory 0 there if the address lies in
//! the frame, whatever it was computed from, and without a look if it is known to (see
//! [`frame_ranges`](crate::ptx::analysis::frame_ranges)). It copies the frame back before whatever else reads memory: a call,
//! a trap, its end; a range of memory, unless it is [in the frame or apart from it](super::frame_bulk). After what comes back it
//! copies it again. So whatever else reads memory finds what it would find, but for other threads, and those do not know an
//! address in the frame.
//!
//! `%frame_low` is the frame's first address in memory, `%frame_size` its bytes. An address in it plus `%frame_less_low` is that
//! in local memory. The size is 0 where local memory holds no frame. Then the stack pointer was no address to begin with, an
//! access was neither inside nor outside, or an address has escaped.
//!
//! Addresses in local memory have 32 bits. Where one is another plus a constant, ptxas then adds that in the access itself, and
//! knows that two accesses of such addresses do not overlap.

use std::mem::offset_of;

use gpu_run_bytecode::{Class, Mem, Operand};

use crate::layout::Context;
use crate::ptx::analysis::cfg::{Cfg, Node, ends_path};
use crate::ptx::analysis::frame_ranges::EarlyLoad;
use crate::ptx::analysis::linear::Linear;
use crate::ptx::analysis::stack_frame::{self, Effect, GRANULE, NEAR, PIECE, StackFrame, effect};
use crate::ptx::emit::frame_space::{FramePlace, Origin};
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::memory::load_type;
use crate::ptx::writer::ptx;

const _: () = assert!(GRANULE == 2 * PIECE, "a pass of the copy moves two pieces");

/// An access of the frame, which is about to be written.
struct FrameAccess {
    /// Where it is.
    place: FramePlace,
    /// Bytes of each of its parts, which are aligned.
    part: u32,
    /// The labels of an access of memory, which stands after this one, and where code goes on after either. None if the
    /// address lies in the frame whatever it is.
    ways: Option<(String, String)>,
}

/// Whether an access is one of the frame.
#[derive(PartialEq, Eq)]
pub enum FromFrame {
    /// It is not: an access of memory has to be written.
    Never,
    /// It may be. An access of memory has to be written up to this label.
    Until(String),
    /// It is.
    Always,
}

impl Compiler<'_> {
    /// Declarations for a function with a frame in local memory.
    pub fn declare_frame(&self, out: &mut String) {
        if self.facts.frame.bytes > 0 {
            *out += &self.frame_declaration(GRANULE);
            *out += "\t.reg .b64 %frame_at;\n\t.reg .b32 %frame_less_low, %frame, %frame_low, %frame_size;\n";
        }
    }

    /// Finds out where memory takes the frame, if it has to because addresses escape.
    pub fn plan_escapes(&mut self, full: &Cfg) {
        let Some(pointer) = self
            .unit
            .program
            .meta
            .stack_pointer
            .filter(|_| self.facts.frame.until_escape)
        else {
            return;
        };
        if !full.entries.is_empty() || !self.cfg.entries.is_empty() {
            // The interpreter may let an address escape, and then this code goes on.
            self.facts.frame = StackFrame::default();
            return;
        }
        self.escapes = stack_frame::escapes(full, pointer, self.units, &self.transfer);
    }

    /// Copies the frame to local memory at the function's head.
    pub fn begin_frame(&mut self) {
        let (frame, Some(global)) = (self.facts.frame, self.unit.program.meta.stack_pointer) else {
            return;
        };
        let StackFrame { bytes, below, .. } = frame;
        if bytes == 0 {
            return;
        }
        let at = self.global_address(i64::from(global));
        let (top, low, last, limit) = (self.w.word(), self.w.word(), self.w.word(), self.w.word());
        let holds: Vec<String> = (0..4).map(|_| self.w.predicate()).collect();
        ptx!(self, "ld.global.b32 {top}, [{at}];");
        ptx!(self, "sub.u32 %frame_low, {top}, {below};");
        // A multiple of the granule,
        ptx!(self, "and.b32 {low}, {top}, {};", GRANULE - 1);
        ptx!(self, "setp.eq.u32 {}, {low}, 0;", holds[0]);
        // not below 0 or what `NEAR` says,
        let least = u64::from(below) + NEAR;
        ptx!(self, "setp.ge.and.u32 {}, {top}, {least}, {};", holds[1], holds[0]);
        // in memory, whose size is 0 for 2^32,
        ptx!(self, "sub.u32 {last}, %size, 1;");
        ptx!(self, "sub.u32 {low}, {top}, 1;");
        ptx!(self, "setp.le.and.u32 {}, {low}, {last}, {};", holds[2], holds[1]);
        // and this thread's: below the limit lies another one's stack.
        let stack_limit = offset_of!(Context, stack_limit);
        ptx!(self, "ld.local.b32 {limit}, [%local+{stack_limit}];");
        ptx!(self, "setp.ge.and.u32 {}, %frame_low, {limit}, {};", holds[3], holds[2]);
        ptx!(self, "selp.b32 %frame_size, {bytes}, 0, {};", holds[3]);
        self.address_in_memory("%frame_at", "%frame_low");
        self.find_frame();
        self.frame_from_memory();
    }

    /// Copies the frame from local memory to memory, or back.
    fn copy_frame(&mut self, to_memory: bool) {
        let (i, wide, p) = (self.w.word(), self.w.pair(), self.w.predicate());
        let memory = self.w.pair();
        let (first, second) = (self.w.pair(), self.w.pair());
        let (next, done) = (self.w.new_label("COPY"), self.w.new_label("COPIED"));
        ptx!(self, "mov.b32 {i}, 0;");
        self.w.label(&next);
        ptx!(self, "setp.ge.u32 {p}, {i}, %frame_size;");
        ptx!(self, "@{p} bra {done};");
        ptx!(self, "cvt.u64.u32 {wide}, {i};");
        ptx!(self, "add.s64 {memory}, %frame_at, {wide};");
        let place = FramePlace::in_frame(&i);
        if to_memory {
            self.load_in_frame(&place, 0, "b64", PIECE, &first);
            self.load_in_frame(&place.plus(PIECE.into()), 0, "b64", PIECE, &second);
            ptx!(self, "st.global.b64 [{memory}], {first};");
            ptx!(self, "st.global.b64 [{memory}+{PIECE}], {second};");
        } else {
            ptx!(self, "ld.global.b64 {first}, [{memory}];");
            ptx!(self, "ld.global.b64 {second}, [{memory}+{PIECE}];");
            self.store_in_frame(&place, PIECE, &first);
            self.store_in_frame(&place.plus(PIECE.into()), PIECE, &second);
        }
        ptx!(self, "add.u32 {i}, {i}, {GRANULE};");
        ptx!(self, "bra {next};");
        self.w.label(&done);
    }

    /// Copies the frame to memory, if the function has one in local memory.
    pub fn frame_to_memory(&mut self) {
        if self.facts.frame.bytes > 0 {
            self.copy_frame(true);
        }
    }

    /// Copies it back.
    pub fn frame_from_memory(&mut self) {
        if self.facts.frame.bytes > 0 {
            self.copy_frame(false);
        }
    }

    /// Writes an instruction of `block`, with memory as the instruction has to find it.
    pub fn instruction_in_frame(&mut self, node: &Node, block: usize) {
        if self.facts.frame.bytes == 0 {
            return self.instruction(node, block);
        }
        if self.escapes.contains(&node.pc) {
            self.lose_frame();
            return self.instruction(node, block);
        }
        match effect(node) {
            Effect::None | Effect::Access(_) => self.instruction(node, block),
            Effect::Fill(_) => self.fill_in_frame(node, block),
            Effect::Copy(..) => self.copy_in_frame(node, block),
            Effect::Other => {
                self.frame_to_memory();
                self.instruction(node, block);
                if !ends_path(node.inst.op) {
                    self.frame_from_memory();
                }
            }
        }
    }

    /// From here on memory has the frame.
    fn lose_frame(&mut self) {
        self.frame_to_memory();
        ptx!(self, "mov.b32 %frame_size, 0;");
    }

    /// Branches over what is written next unless an access of memory 0, which need not have been checked, is one of the
    /// frame. `None`: nothing is to be found out, because the function has no frame in local memory, or `node` is no access of
    /// this kind. `by_bytes` writes the access for an address that is not aligned.
    fn frame_access(
        &mut self,
        node: &Node,
        index: i64,
        offset: u64,
        mem: Mem,
        by_bytes: impl FnOnce(&mut Self, &FramePlace),
    ) -> Option<FrameAccess> {
        if self.facts.frame.bytes == 0 || !matches!(effect(node), Effect::Access(_)) {
            return None;
        }
        let width = mem.size();
        // A part that is aligned lies in the frame or not, for the frame begins and ends at a multiple of more.
        let in_frame = self.known_in_frame().map(|accesses| accesses.contains(&node.pc));
        let known = match in_frame {
            // All accesses of such a loop are aligned.
            Some(_) => width,
            None => 1u32 << self.access_align(index, offset).min(3),
        };
        let part = if known == 1 { width } else { known.min(width) };
        let value = self.canonical_operand(index, 1);
        if in_frame == Some(true) {
            return Some(FrameAccess {
                place: FramePlace {
                    address: value,
                    origin: Origin::Memory,
                    offset,
                },
                part: width,
                ways: None,
            });
        }
        let (at, inside) = (self.w.word(), self.w.predicate());
        ptx!(self, "sub.u32 {at}, {value}, %frame_low;");
        ptx!(self, "add.u32 {at}, {at}, {};", offset as u32);
        if offset > NEAR {
            // The sum of both may be beyond 2^32. It is not where the check of it passes.
            self.place(node, index, 0, offset, u64::from(width));
        }
        let place = FramePlace::in_frame(&at);
        let (done, outside) = (self.w.new_label("ACCESSED"), self.w.new_label("MEMORY"));
        if known < width {
            let (last, p, q) = (self.w.word(), self.w.predicate(), self.w.predicate());
            ptx!(self, "add.u32 {last}, {at}, {};", width - known);
            ptx!(self, "setp.lt.u32 {p}, {at}, %frame_size;");
            match known {
                // Not aligned, and its first or last byte is in the frame.
                1 => {
                    let low = self.w.word();
                    let apart = self.w.predicate();
                    ptx!(self, "and.b32 {low}, {at}, {};", width - 1);
                    ptx!(self, "setp.ne.u32 {apart}, {low}, 0;");
                    ptx!(self, "setp.lt.or.u32 {q}, {last}, %frame_size, {p};");
                    ptx!(self, "and.pred {q}, {q}, {apart};");
                }
                // Its first part is, or its last, but not both.
                _ => ptx!(self, "setp.lt.xor.u32 {q}, {last}, %frame_size, {p};"),
            }
            let (apart, back) = (self.w.new_label("APART"), self.w.new_label("ACCESS"));
            ptx!(self, "@{q} bra {apart};");
            self.w.label(&back);
            let before = self.w.set_aside(true);
            self.w.label(&apart);
            if known == 1 {
                let (lost, both) = (self.w.new_label("LOST"), self.w.predicate());
                ptx!(self, "setp.lt.and.u32 {both}, {last}, %frame_size, {p};");
                ptx!(self, "@!{both} bra {lost};");
                by_bytes(self, &place);
                ptx!(self, "bra {done};");
                self.w.label(&lost);
            }
            self.lose_frame();
            ptx!(self, "bra {back};");
            self.w.set_aside(before);
        }
        ptx!(self, "setp.lt.u32 {inside}, {at}, %frame_size;");
        ptx!(self, "@!{inside} bra {outside};");
        Some(FrameAccess {
            place,
            part,
            ways: Some((outside, done)),
        })
    }

    /// Ends an access of the frame. What is written next is that of memory.
    fn leave_frame(&mut self, ways: Option<(String, String)>) -> FromFrame {
        let Some((outside, done)) = ways else {
            return FromFrame::Always;
        };
        ptx!(self, "bra {done};");
        self.w.label(&outside);
        FromFrame::Until(done)
    }

    /// Loads a value from the frame, if the address lies there.
    pub fn load_from_frame(
        &mut self,
        node: &Node,
        index: i64,
        offset: u64,
        mem: Mem,
        units: u32,
        to: &str,
    ) -> FromFrame {
        let by_bytes = |this: &mut Self, place: &FramePlace| this.load_parts(place, 1, mem, units, to);
        let Some(FrameAccess { place, part, ways }) = self.frame_access(node, index, offset, mem, by_bytes) else {
            return FromFrame::Never;
        };
        match part == mem.size() {
            true => self.load_in_frame(&place, 0, load_type(mem, units), part, to),
            false => self.load_parts(&place, part, mem, units, to),
        }
        self.leave_frame(ways)
    }

    /// Loads a value as parts of `part` bytes, which are aligned.
    fn load_parts(&mut self, place: &FramePlace, part: u32, mem: Mem, units: u32, to: &str) {
        let ty = ["u8", "u16", "b32"][part.ilog2() as usize];
        let mut words = Vec::new();
        for from in (0..mem.size()).step_by(4) {
            let mut word = None;
            for at in (from..mem.size().min(from + 4)).step_by(part as usize) {
                let value = self.w.word();
                self.load_in_frame(&place.plus(at.into()), 0, ty, part, &value);
                if let Some(word) = &word {
                    ptx!(self, "shl.b32 {value}, {value}, {};", 8 * (at - from));
                    ptx!(self, "or.b32 {word}, {word}, {value};");
                }
                word.get_or_insert(value);
            }
            words.extend(word);
        }
        if mem == Mem::i16 {
            ptx!(self, "cvt.s32.s16 {}, {};", words[0], words[0]);
        }
        match &words[..] {
            [low, high] => ptx!(self, "mov.b64 {to}, {{{low}, {high}}};"),
            [word] if units == 2 => self.extend(word, units, matches!(mem, Mem::i16 | Mem::i32), to),
            words => ptx!(self, "mov.b32 {to}, {};", words[0]),
        }
    }

    /// Stores the low bytes of a register of `units` units as parts of `part` bytes, which are aligned.
    fn store_parts_in_frame(&mut self, place: &FramePlace, part: u32, mem: Mem, units: u32, value: &str) {
        let (mut rest, bits) = (value.to_owned(), 32 * units);
        for at in (0..mem.size()).step_by(part as usize) {
            if at > 0 {
                let shifted = if units == 2 { self.w.pair() } else { self.w.word() };
                ptx!(self, "shr.u{bits} {shifted}, {rest}, {};", 8 * part);
                rest = shifted;
            }
            self.store_in_frame(&place.plus(at.into()), part, &rest);
        }
    }

    /// The value of an address of memory, in a register.
    fn linear(&mut self, address: &Linear) -> String {
        let at = self.w.word();
        ptx!(self, "mov.b32 {at}, {};", address.constant);
        for (unit, factor) in &address.factors {
            let value = self.canonical_operand(*unit, 1);
            match factor {
                1 => ptx!(self, "add.u32 {at}, {at}, {value};"),
                _ => ptx!(self, "mad.lo.u32 {at}, {value}, {factor}, {at};"),
            }
        }
        at
    }

    /// What a load of an aligned value finds in so many passes. Where these load what lies side by side, an access of local
    /// memory loads for several of them: a multiprocessor makes few accesses in a cycle, however wide they are.
    pub fn loads_of_passes(&mut self, load: &EarlyLoad, passes: usize) -> Vec<String> {
        let (info, offset) = (load.node.inst.op.info(), load.node.inst.args[2]);
        let (Class::Load(mem), [Operand::Def(ty), ..]) = (info.class, info.operands) else {
            unreachable!("it is a load");
        };
        let (units, width) = (ty.units(), mem.size());
        let place = FramePlace {
            address: self.linear(&load.address),
            origin: Origin::Memory,
            offset: offset as u64,
        };
        // In pieces of which each has several passes.
        let side_by_side = units == 1 && load.stride == width as i32;
        let fits = |piece: &u32| {
            let aligned = load.first.is_some_and(|first| first % i64::from(*piece) == 0);
            width < *piece && aligned && (passes as u32 * width).is_multiple_of(*piece)
        };
        if let Some(piece) = [8, 4].into_iter().find(fits).filter(|_| side_by_side) {
            let distances = (0..passes as u32 * width).step_by(piece as usize);
            let values = distances.flat_map(|distance| self.load_side_by_side(&place, distance, mem, piece));
            return values.collect();
        }
        let load = (0..passes).map(|pass| {
            let distance = load.stride.wrapping_mul(pass as i32) as u32;
            let value = if units == 2 { self.w.pair() } else { self.w.word() };
            self.load_in_frame(&place, distance, load_type(mem, units), width, &value);
            value
        });
        load.collect()
    }

    /// The values, made 32 bits wide, that lie side by side in a piece of four or eight bytes so many bytes after a place.
    fn load_side_by_side(&mut self, place: &FramePlace, distance: u32, mem: Mem, piece: u32) -> Vec<String> {
        let words: Vec<String> = (0..piece / 4).map(|_| self.w.word()).collect();
        match &words[..] {
            [low, high] => {
                let both = self.w.pair();
                self.load_in_frame(place, distance, "b64", piece, &both);
                ptx!(self, "mov.b64 {{{low}, {high}}}, {both};");
            }
            words => self.load_in_frame(place, distance, "b32", piece, &words[0]),
        }
        let bits = 8 * mem.size();
        if bits == 32 {
            return words;
        }
        let sign = if matches!(mem, Mem::i8 | Mem::i16) {
            "s32"
        } else {
            "u32"
        };
        let parts = words
            .iter()
            .flat_map(|word| (0..32).step_by(bits as usize).map(move |from| (word, from)));
        let parts = parts.map(|(word, from)| {
            let value = self.w.word();
            ptx!(self, "bfe.{sign} {value}, {word}, {from}, {bits};");
            value
        });
        parts.collect()
    }

    /// Stores a value to the frame, if the address lies there.
    pub fn store_to_frame(
        &mut self,
        node: &Node,
        index: i64,
        offset: u64,
        mem: Mem,
        units: u32,
        value: &str,
    ) -> FromFrame {
        let by_bytes = |this: &mut Self, place: &FramePlace| this.store_parts_in_frame(place, 1, mem, units, value);
        let Some(FrameAccess { place, part, ways }) = self.frame_access(node, index, offset, mem, by_bytes) else {
            return FromFrame::Never;
        };
        self.store_parts_in_frame(&place, part, mem, units, value);
        self.leave_frame(ways)
    }

    /// After the access of memory.
    pub fn end_frame_access(&mut self, from: &FromFrame) {
        if let FromFrame::Until(done) = from {
            self.w.label(done);
        }
    }
}
