//! Frames of the shadow stack in local memory, where [`stack_frame`](crate::ptx::analysis::stack_frame) finds that they can
//! be there.
//!
//! The function copies its frame into the array `frame` at its head. It accesses memory 0 there if the address lies in
//! the frame, whatever it was computed from, and without a look if it is known to (see
//! [`frame_ranges`](crate::ptx::analysis::frame_ranges)). It copies the frame back before whatever else reads memory: a call,
//! a range of memory, a trap, its end. After what comes back it copies it again. So whatever else reads memory finds what it
//! would find, but for other threads, and those do not know an address in the frame.
//!
//! `%frame_low` is the frame's first address in memory, `%frame_size` its bytes. An address in it plus `%frame_less_low` is that
//! in local memory. The size is 0 where local memory holds no frame. Then the stack pointer was no address to begin with, or
//! an access was neither inside nor outside.
//!
//! Addresses in local memory have 32 bits. Where one is another plus a constant, ptxas then adds that in the access itself, and
//! knows that two accesses of such addresses do not overlap.

use std::mem::offset_of;

use gpu_run_bytecode::{Class, Mem, Operand};

use crate::layout::Context;
use crate::ptx::analysis::cfg::{Node, ends_path};
use crate::ptx::analysis::frame_ranges::EarlyLoad;
use crate::ptx::analysis::linear::Linear;
use crate::ptx::analysis::stack_frame::{Effect, GRANULE, NEAR, PIECE, StackFrame, effect};
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::memory::{Place, load_type};
use crate::ptx::writer::ptx;

const _: () = assert!(GRANULE == 2 * PIECE, "a pass of the copy moves two pieces");

/// An access of the frame, which is about to be written.
struct FrameAccess {
    /// Its address in local memory.
    address: String,
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
            *out += &format!(
                "\t.local .align {GRANULE} .b8 frame[{}];\n\t.reg .b64 %frame_at;\n\t.reg .b32 %frame_less_low, %frame, %frame_low, %frame_size;\n",
                self.facts.frame.bytes
            );
        }
    }

    /// Copies the frame to local memory at the function's head.
    pub fn begin_frame(&mut self) {
        let (frame, Some(global)) = (self.facts.frame, self.unit.program.meta.stack_pointer) else {
            return;
        };
        let StackFrame { bytes, below } = frame;
        if bytes == 0 {
            return;
        }
        let at = self.global_address(i64::from(global));
        let (top, low, last, limit) = (self.w.word(), self.w.word(), self.w.word(), self.w.word());
        let holds: Vec<String> = (0..4).map(|_| self.w.predicate()).collect();
        let whole = self.w.pair();
        ptx!(self, "mov.u64 {whole}, frame;");
        ptx!(self, "cvt.u32.u64 %frame, {whole};");
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
        ptx!(self, "cvt.u64.u32 %frame_at, %frame_low;");
        ptx!(self, "sub.u32 %frame_less_low, %frame, %frame_low;");
        ptx!(self, "add.s64 %frame_at, %base, %frame_at;");
        self.frame_from_memory();
    }

    /// Copies the frame from local memory to memory, or back.
    fn copy_frame(&mut self, to_memory: bool) {
        let (i, wide, p) = (self.w.word(), self.w.pair(), self.w.predicate());
        let (local, memory) = (self.w.word(), self.w.pair());
        let (first, second) = (self.w.pair(), self.w.pair());
        let (next, done) = (self.w.new_label("COPY"), self.w.new_label("COPIED"));
        ptx!(self, "mov.b32 {i}, 0;");
        self.w.label(&next);
        ptx!(self, "setp.ge.u32 {p}, {i}, %frame_size;");
        ptx!(self, "@{p} bra {done};");
        ptx!(self, "cvt.u64.u32 {wide}, {i};");
        ptx!(self, "add.u32 {local}, %frame, {i};");
        ptx!(self, "add.s64 {memory}, %frame_at, {wide};");
        let (from, to) = match to_memory {
            true => (("local", local), ("global", memory)),
            false => (("global", memory), ("local", local)),
        };
        ptx!(self, "ld.{}.b64 {first}, [{}];", from.0, from.1);
        ptx!(self, "ld.{}.b64 {second}, [{}+{PIECE}];", from.0, from.1);
        ptx!(self, "st.{}.b64 [{}], {first};", to.0, to.1);
        ptx!(self, "st.{}.b64 [{}+{PIECE}], {second};", to.0, to.1);
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
        let other = self.facts.frame.bytes > 0 && effect(node) == Effect::Other;
        if other {
            self.frame_to_memory();
        }
        self.instruction(node, block);
        if other && !ends_path(node.inst.op) {
            self.frame_from_memory();
        }
    }

    /// Branches over what is written next unless an access of memory 0, which need not have been checked, is one of the
    /// frame. `None`: nothing is to be found out, because the function has no frame in local memory, or `node` is no access of
    /// this kind.
    fn frame_access(&mut self, node: &Node, index: i64, offset: u64, mem: Mem) -> Option<FrameAccess> {
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
            let address = self.w.word();
            ptx!(self, "add.u32 {address}, %frame_less_low, {value};");
            return Some(FrameAccess {
                address: format!("{address}+{offset}"),
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
            self.frame_to_memory();
            ptx!(self, "mov.b32 %frame_size, 0;");
            ptx!(self, "bra {back};");
            self.w.set_aside(before);
        }
        let address = self.w.word();
        ptx!(self, "setp.lt.u32 {inside}, {at}, %frame_size;");
        ptx!(self, "add.u32 {address}, %frame, {at};");
        let (done, outside) = (self.w.new_label("ACCESSED"), self.w.new_label("MEMORY"));
        ptx!(self, "@!{inside} bra {outside};");
        Some(FrameAccess {
            address,
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
        let Some(FrameAccess { address, part, ways }) = self.frame_access(node, index, offset, mem) else {
            return FromFrame::Never;
        };
        if part == mem.size() {
            ptx!(self, "ld.local.{} {to}, [{address}];", load_type(mem, units));
        } else {
            let words: Vec<String> = (0..mem.size().div_ceil(4)).map(|_| self.w.word()).collect();
            for (i, word) in words.iter().enumerate() {
                match part {
                    4 => ptx!(self, "ld.local.b32 {word}, [{address}+{}];", 4 * i),
                    _ => {
                        let high = self.w.word();
                        ptx!(self, "ld.local.u16 {word}, [{address}+{}];", 4 * i);
                        ptx!(self, "ld.local.u16 {high}, [{address}+{}];", 4 * i + 2);
                        ptx!(self, "shl.b32 {high}, {high}, 16;");
                        ptx!(self, "or.b32 {word}, {word}, {high};");
                    }
                }
            }
            match &words[..] {
                [low, high] => ptx!(self, "mov.b64 {to}, {{{low}, {high}}};"),
                [word] if units == 2 => self.extend(word, units, mem == Mem::i32, to),
                words => ptx!(self, "mov.b32 {to}, {};", words[0]),
            }
        }
        self.leave_frame(ways)
    }

    /// The address in local memory of one that lies in the frame, in a register.
    fn frame_address(&mut self, address: &Linear) -> String {
        let at = self.w.word();
        ptx!(self, "add.u32 {at}, %frame_less_low, {};", address.constant);
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
        let address = self.frame_address(&load.address);
        let at = |compiler: &mut Self, distance: i32| {
            let at = compiler.w.word();
            ptx!(compiler, "add.u32 {at}, {address}, {distance};");
            at
        };
        // In pieces of which each has several passes.
        let side_by_side = units == 1 && load.stride == width as i32;
        let fits = |piece: &u32| {
            let aligned = load.first.is_some_and(|first| first % i64::from(*piece) == 0);
            width < *piece && aligned && (passes as u32 * width).is_multiple_of(*piece)
        };
        if let Some(piece) = [8, 4].into_iter().find(fits).filter(|_| side_by_side) {
            let distances = (0..passes as u32 * width).step_by(piece as usize);
            let values = distances.flat_map(|distance| {
                let at = at(self, distance as i32);
                self.load_side_by_side(&at, offset, mem, piece)
            });
            return values.collect();
        }
        let load = (0..passes).map(|pass| {
            let at = at(self, load.stride.wrapping_mul(pass as i32));
            let value = if units == 2 { self.w.pair() } else { self.w.word() };
            ptx!(self, "ld.local.{} {value}, [{at}+{offset}];", load_type(mem, units));
            value
        });
        load.collect()
    }

    /// The values, made 32 bits wide, that lie side by side in a piece of four or eight bytes at an address of local memory.
    fn load_side_by_side(&mut self, at: &str, offset: i64, mem: Mem, piece: u32) -> Vec<String> {
        let words: Vec<String> = (0..piece / 4).map(|_| self.w.word()).collect();
        match &words[..] {
            [low, high] => {
                let both = self.w.pair();
                ptx!(self, "ld.local.b64 {both}, [{at}+{offset}];");
                ptx!(self, "mov.b64 {{{low}, {high}}}, {both};");
            }
            words => ptx!(self, "ld.local.b32 {}, [{at}+{offset}];", words[0]),
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
        let Some(FrameAccess { address, part, ways }) = self.frame_access(node, index, offset, mem) else {
            return FromFrame::Never;
        };
        if part == mem.size() {
            ptx!(self, "st.local.b{} [{address}], {value};", 8 * part);
        } else {
            let place = Place {
                register: address,
                offset: 0,
                align: 0,
            };
            self.store_parts("local", &place, part, mem.size(), units, value);
        }
        self.leave_frame(ways)
    }

    /// After the access of memory.
    pub fn end_frame_access(&mut self, from: &FromFrame) {
        if let FromFrame::Until(done) = from {
            self.w.label(done);
        }
    }
}
