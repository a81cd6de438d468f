//! Loads and stores of linear memory.
//!
//! An access to memory 0 compares its address with `size - end`, where `end` is its offset plus its width. A program's
//! memory has at least `end` bytes from the start where this is done, so nothing wraps. The test is left out where the
//! address is known to be small enough, or where another access from the same value reached as far. What fails it traps
//! and never comes back, so the path that goes on stays straight.
//!
//! GPUs access naturally aligned addresses only. Where the alignment is not known, a load takes the
//! aligned words around its value and shifts, without a branch. A store branches to one byte by byte. There are two forms
//! of both. One has no branch and loads only what is needed, by predicates. The other has fewer instructions: larger
//! programs wait for these more than for memory. See [`Compiler::is_bound_by_loads`]; stores ask for a small kernel only,
//! for those that are not aligned are rare. Eight bytes at a multiple of 4 are stored as two words.
//!
//! Every other access (memory64, further memories, ends beyond the least size) reads the memory's record
//! and compares in 64 bits.

use std::mem::offset_of;

use gpu_run_bytecode::{Class, Mem, TrapKind};

use crate::layout::{Instance, Memory};
use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::flow::{note_reach, reach};
use crate::ptx::emit::frame_copy::FromFrame;
use crate::ptx::emit::function::{Compiler, Role};
use crate::ptx::emit::own::Own;
use crate::ptx::writer::ptx;

/// Words of bytecode of a kernel that is small: a multiprocessor keeps the code of its loops.
const SMALL_KERNEL: u32 = 512;

/// An address that was checked: `[register + offset]` lies in memory.
pub struct Place {
    /// A register of 64 bits.
    pub register: String,
    /// Bytes to add.
    pub offset: u64,
    /// The sum is a multiple of 2 to the power of this.
    pub align: u8,
}

impl Place {
    /// The same address `bytes` further.
    pub fn plus(&self, bytes: u64) -> Place {
        Place {
            register: self.register.clone(),
            offset: self.offset + bytes,
            align: self.align.min(bytes.trailing_zeros().min(32) as u8),
        }
    }

    fn text(&self) -> String {
        format!("[{}+{}]", self.register, self.offset)
    }
}

/// The type of a load into a register of `units` units.
pub fn load_type(mem: Mem, units: u32) -> &'static str {
    match mem {
        Mem::i8 => "s8",
        Mem::u8 => "u8",
        Mem::i16 => "s16",
        Mem::u16 => "u16",
        Mem::i32 | Mem::u32 if units == 1 => "b32",
        Mem::i32 => "s32",
        Mem::u32 => "u32",
        Mem::u64 => "u64",
    }
}

impl Compiler<'_> {
    /// Checks an access of `width` bytes at unit `address` plus `offset` in a memory.
    pub fn place(&mut self, node: &Node, address: i64, memory: i64, offset: u64, width: u64) -> Place {
        let end = offset.checked_add(width);
        let least = self.analysis.least_memory.filter(|_| memory == 0);
        match (least, end) {
            (Some(least), Some(end)) if end <= least => self.near_place(node, address, offset, end, least),
            _ => self.far_place(node, address, memory, offset, width),
        }
    }

    /// The address in unit `address` plus `offset` is a multiple of 2 to the power of this.
    pub fn access_align(&self, address: i64, offset: u64) -> u8 {
        self.fact(address).align_with(offset)
    }

    fn near_place(&mut self, node: &Node, address: i64, offset: u64, end: u64, least: u64) -> Place {
        let fact = self.fact(address);
        let align = self.access_align(address, offset);
        let width = end - offset;
        let index = self.canonical_operand(address, 1);
        let inside = u64::from(fact.max) + end <= least || u64::from(reach(&self.state, address as u32)) >= end;
        if !inside {
            let (last, p) = (self.w.word(), self.w.predicate());
            // Modulo 2^32, which is exact: memory has at least `end` bytes.
            ptx!(self, "sub.u32 {last}, %size, {};", end as u32);
            ptx!(self, "setp.gt.u32 {p}, {index}, {last};");
            if self.unit.options.growth_by_others {
                // Another thread may have made memory larger: what looks too large is compared with its size of
                // now. Without a branch, which would cut the code into pieces, and without a new %size, so
                // that loops compute what they compare with once.
                self.size_of_now(&last, &p);
                ptx!(self, "@{p} sub.u32 {last}, {last}, {};", end as u32);
                ptx!(self, "setp.gt.u32 {p}, {index}, {last};");
            }
            let label = self.trap_label(node, TrapKind::MemoryOutOfBounds);
            ptx!(self, "@{p} bra {label};");
            // The accesses that follow know it, also in the same instruction.
            note_reach(&mut self.state, address as u32, end as u32);
        }
        // From the value of which the address is a sum, so that one register serves many addresses.
        let (index, offset) = match fact.base.checked_sub(1) {
            Some(base) => (format!("%r{base}"), offset + u64::from(fact.delta)),
            None => (index, offset),
        };
        let register = self.w.pair();
        self.address_in_memory(&register, &index);
        // What an instruction adds is a signed number of 32 bits.
        let fits = i32::try_from(offset + width).is_ok();
        if !fits {
            ptx!(self, "add.s64 {register}, {register}, {offset};");
        }
        Place {
            register,
            offset: if fits { offset } else { 0 },
            align,
        }
    }

    /// Makes of an address in memory 0 one of the device.
    pub fn address_in_memory(&mut self, to: &str, at: &str) {
        if self.unit.options.aligned_memory {
            return ptx!(self, "mov.b64 {to}, {{{at}, %high}};");
        }
        ptx!(self, "cvt.u64.u32 {to}, {at};");
        ptx!(self, "add.s64 {to}, %base, {to};");
    }

    /// Loads memory 0's size of now into a word if a predicate holds.
    fn size_of_now(&mut self, to: &str, p: &str) {
        let (record, size) = (self.w.pair(), offset_of!(Memory, size));
        let (space, at) = Own::Memory.place(self.unit, self.layout, "%local");
        ptx!(self, "@{p} ld.{space}.b64 {record}, [{at}];");
        ptx!(self, "@{p} ld.relaxed.gpu.global.b32 {to}, [{record}+{size}];");
    }

    /// The record of a memory.
    pub fn memory_record(&mut self, memory: i64) -> String {
        if memory == 0 {
            return self.own(Own::Memory);
        }
        let record = self.own(Own::Record);
        let (memories, at) = (self.w.pair(), self.w.pair());
        ptx!(
            self,
            "ld.global.b64 {memories}, [{record}+{}];",
            offset_of!(Instance, memories)
        );
        ptx!(self, "ld.global.b64 {at}, [{memories}+{}];", 8 * memory);
        at
    }

    fn far_place(&mut self, node: &Node, address: i64, memory: i64, offset: u64, width: u64) -> Place {
        let wide = self.analysis.wide.get(memory as usize) == Some(&true);
        let index = match wide {
            true => self.canonical_operand(address, 2),
            false => {
                let (narrow, index) = (self.canonical_operand(address, 1), self.w.pair());
                ptx!(self, "cvt.u64.u32 {index}, {narrow};");
                index
            }
        };
        let record = self.memory_record(memory);
        let (base, size, left, at) = (self.w.pair(), self.w.pair(), self.w.pair(), self.w.pair());
        ptx!(self, "ld.global.b64 {base}, [{record}+{}];", offset_of!(Memory, base));
        ptx!(
            self,
            "ld.relaxed.gpu.global.b64 {size}, [{record}+{}];",
            offset_of!(Memory, size)
        );
        let (p, q) = (self.w.predicate(), self.w.predicate());
        // Each step compares with what is left, so that nothing wraps.
        ptx!(self, "mov.b64 {at}, {offset:#x};");
        ptx!(self, "sub.u64 {left}, {size}, {at};");
        ptx!(self, "setp.gt.u64 {p}, {at}, {size};");
        ptx!(self, "setp.gt.or.u64 {q}, {index}, {left}, {p};");
        ptx!(self, "sub.u64 {left}, {left}, {index};");
        ptx!(self, "setp.lt.or.u64 {p}, {left}, {width}, {q};");
        let label = self.trap_label(node, TrapKind::MemoryOutOfBounds);
        ptx!(self, "@{p} bra {label};");
        let register = self.w.pair();
        ptx!(self, "add.s64 {register}, {base}, {index};");
        ptx!(self, "add.s64 {register}, {register}, {at};");
        Place {
            register,
            offset: 0,
            align: 0,
        }
    }

    /// A scalar load or store.
    pub fn access(&mut self, node: &Node) {
        let args = node.inst.args;
        let (address, memory, offset) = match node.inst.op.info().class {
            Class::Load(_) => (args[1], 0, args[2] as u64),
            Class::Store(_) => (args[0], 0, args[2] as u64),
            Class::LoadFar(_) => (args[1], args[2], args[3] as u64),
            _ => (args[0], args[2], args[3] as u64),
        };
        let units = match node.inst.op.info().operands {
            [gpu_run_bytecode::Operand::Def(ty), ..] => ty.units(),
            [_, gpu_run_bytecode::Operand::Src(ty), ..] => ty.units(),
            _ => 1,
        };
        match node.inst.op.info().class {
            Class::Load(mem) | Class::LoadFar(mem) => {
                let prefix = if units == 2 { "%d" } else { "%r" };
                let to = format!("{prefix}{}", args[0]);
                if let Some(value) = self.early.get(&(node.pc, self.copy)) {
                    return ptx!(self, "mov.b{} {to}, {value};", 32 * units);
                }
                let from = self.load_from_frame(node, address, offset, mem, units, &to);
                if from != FromFrame::Always {
                    let place = self.place(node, address, memory, offset, u64::from(mem.size()));
                    self.load(&place, mem, units, &to);
                }
                self.end_frame_access(&from);
            }
            Class::Store(mem) | Class::StoreFar(mem) => {
                let value = self.canonical_operand(args[1], units);
                let from = self.store_to_frame(node, address, offset, mem, units, &value);
                if from != FromFrame::Always {
                    let place = self.place(node, address, memory, offset, u64::from(mem.size()));
                    self.store(&place, mem, units, &value);
                }
                self.end_frame_access(&from);
            }
            _ => {}
        }
    }

    /// Loads a value into a register of `units` units.
    pub fn load(&mut self, place: &Place, mem: Mem, units: u32, to: &str) {
        let aligned = 1 << place.align.min(3) >= mem.size();
        if aligned {
            return ptx!(self, "ld.global.{} {to}, {};", load_type(mem, units), place.text());
        }
        match mem {
            Mem::i8 | Mem::u8 => unreachable!("bytes are aligned"),
            Mem::i16 | Mem::u16 => {
                let (low, high) = (self.w.word(), self.w.word());
                let sign = if mem == Mem::i16 { "s8" } else { "u8" };
                ptx!(self, "ld.global.u8 {low}, {};", place.text());
                ptx!(self, "ld.global.{sign} {high}, {};", place.plus(1).text());
                ptx!(self, "shl.b32 {high}, {high}, 8;");
                let value = if units == 1 { to.to_owned() } else { self.w.word() };
                ptx!(self, "or.b32 {value}, {high}, {low};");
                self.extend(&value, units, sign == "s8", to);
            }
            Mem::i32 | Mem::u32 => {
                let words = self.words_around(place, 1);
                let value = if units == 1 { to.to_owned() } else { self.w.word() };
                ptx!(
                    self,
                    "shf.r.wrap.b32 {value}, {}, {}, {};",
                    words.1[0],
                    words.1[1],
                    words.0
                );
                self.extend(&value, units, mem == Mem::i32, to);
            }
            Mem::u64 => {
                let (shift, words) = self.words_around(place, 2);
                let (low, high) = (self.w.word(), self.w.word());
                ptx!(self, "shf.r.wrap.b32 {low}, {}, {}, {shift};", words[0], words[1]);
                ptx!(self, "shf.r.wrap.b32 {high}, {}, {}, {shift};", words[1], words[2]);
                ptx!(self, "mov.b64 {to}, {{{low}, {high}}};");
            }
        }
    }

    /// The address of a place in one register.
    fn exact_address(&mut self, place: &Place) -> String {
        let address = self.w.pair();
        ptx!(self, "add.s64 {address}, {}, {};", place.register, place.offset);
        address
    }

    /// A register of its own for a value of `units` units, and the bits that it has.
    fn copy(&mut self, value: &str, units: u32) -> (String, u32) {
        let (copy, bits) = match units {
            2 => (self.w.pair(), 64),
            _ => (self.w.word(), 32),
        };
        ptx!(self, "mov.b{bits} {copy}, {value};");
        (copy, bits)
    }

    /// A 32-bit value as one of `units` units.
    pub fn extend(&mut self, value: &str, units: u32, signed: bool, to: &str) {
        if units == 2 {
            let sign = if signed { "s" } else { "u" };
            ptx!(self, "cvt.{sign}64.{sign}32 {to}, {value};");
        }
    }

    /// The aligned words that hold `count` words at any address, one more than that, and by what the first is to be shifted,
    /// modulo 32 bits. Where the address is aligned, that shift by 0 takes nothing of the last.
    fn words_around(&mut self, place: &Place, count: usize) -> (String, Vec<String>) {
        match self.is_bound_by_loads() {
            true => self.needed_words_around(place, count),
            false => self.all_words_around(place, count),
        }
    }

    /// Whether the block that is written is bound by what it loads rather than by how many instructions it has, so that
    /// a load that may not be needed costs more than a predicate: in small kernels, which instruction caches hold, and in
    /// loops that calculate with numbers. A product of matrices takes 0.8 of the time so; code of other kinds 1.04 times.
    fn is_bound_by_loads(&self) -> bool {
        self.is_small_kernel() || self.numeric_blocks.contains(&self.block)
    }

    fn is_small_kernel(&self) -> bool {
        matches!(self.role, Role::Kernel) && self.function.end - self.function.start < SMALL_KERNEL
    }

    /// All of them, be they needed or not: the one after memory's end too, see `store::BEYOND_MEMORY`.
    fn all_words_around(&mut self, place: &Place, count: usize) -> (String, Vec<String>) {
        // Accesses from one value have the same bits to shift by.
        let (from, offset) = match place.offset % 4 {
            0 => (place.register.clone(), place.offset),
            _ => (self.exact_address(place), 0),
        };
        let (at, low, shift) = (self.w.pair(), self.w.word(), self.w.word());
        ptx!(self, "and.b64 {at}, {from}, -4;");
        // The shift takes the low five bits only.
        ptx!(self, "cvt.u32.u64 {low}, {from};");
        ptx!(self, "shl.b32 {shift}, {low}, 3;");
        let words: Vec<String> = (0..=count).map(|_| self.w.word()).collect();
        for (i, word) in words.iter().enumerate() {
            ptx!(self, "ld.global.b32 {word}, [{at}+{}];", offset + 4 * i as u64);
        }
        (shift, words)
    }

    /// Those that are needed.
    fn needed_words_around(&mut self, place: &Place, count: usize) -> (String, Vec<String>) {
        let address = self.exact_address(place);
        let (at, low, shift, p) = (self.w.pair(), self.w.word(), self.w.word(), self.w.predicate());
        ptx!(self, "and.b64 {at}, {address}, -4;");
        ptx!(self, "cvt.u32.u64 {low}, {address};");
        ptx!(self, "and.b32 {low}, {low}, 3;");
        ptx!(self, "setp.ne.u32 {p}, {low}, 0;");
        ptx!(self, "shl.b32 {shift}, {low}, 3;");
        let words: Vec<String> = (0..=count).map(|_| self.w.word()).collect();
        if count == 2 {
            // One access where the value is aligned.
            let (whole, odd, even) = (self.w.pair(), self.w.word(), self.w.predicate());
            ptx!(self, "cvt.u32.u64 {odd}, {address};");
            ptx!(self, "and.b32 {odd}, {odd}, 7;");
            ptx!(self, "setp.eq.u32 {even}, {odd}, 0;");
            ptx!(self, "mov.b64 {whole}, 0;");
            ptx!(self, "@{even} ld.global.b64 {whole}, [{address}];");
            ptx!(self, "mov.b64 {{{}, {}}}, {whole};", words[0], words[1]);
            ptx!(self, "@!{even} ld.global.b32 {}, [{at}];", words[0]);
            ptx!(self, "@!{even} ld.global.b32 {}, [{at}+4];", words[1]);
        } else {
            ptx!(self, "ld.global.b32 {}, [{at}];", words[0]);
        }
        ptx!(self, "mov.b32 {}, 0;", words[count]);
        ptx!(self, "@{p} ld.global.b32 {}, [{at}+{}];", words[count], 4 * count);
        (shift, words)
    }

    /// Stores the low bits of a register of `units` units.
    pub fn store(&mut self, place: &Place, mem: Mem, units: u32, value: &str) {
        let width = mem.size();
        let bits = 8 * width;
        if 1 << place.align.min(3) >= width {
            return ptx!(self, "st.global.b{bits} {}, {value};", place.text());
        }
        let (low, p) = (self.w.word(), self.w.predicate());
        let address = self.exact_address(place);
        ptx!(self, "cvt.u32.u64 {low}, {address};");
        ptx!(self, "and.b32 {low}, {low}, {};", width - 1);
        ptx!(self, "setp.ne.u32 {p}, {low}, 0;");
        let (bytes, done) = (self.w.new_label("BYTES"), self.w.new_label("STORED"));
        ptx!(self, "@{p} bra {bytes};");
        ptx!(self, "st.global.b{bits} {}, {value};", place.text());
        self.w.label(&done);
        let before = self.w.set_aside(true);
        self.w.label(&bytes);
        let words = place.align >= 2;
        if width == 8 && !words {
            // Compilers copy three words as a pair and one.
            let (odd, p) = (self.w.word(), self.w.predicate());
            let bytes = self.w.new_label("BYTES");
            ptx!(self, "and.b32 {odd}, {low}, 3;");
            ptx!(self, "setp.ne.u32 {p}, {odd}, 0;");
            ptx!(self, "@{p} bra {bytes};");
            self.store_parts(place, 4, width, units, value);
            ptx!(self, "bra {done};");
            self.w.label(&bytes);
        }
        match (words, self.is_small_kernel()) {
            (true, _) => self.store_parts(place, 4, width, units, value),
            (_, true) => self.store_parts(place, 1, width, units, value),
            _ => self.store_bytes(&address, width, units, value),
        }
        ptx!(self, "bra {done};");
        self.w.set_aside(before);
    }

    /// Stores the `width` low bytes of a register of `units` units, one by one. As a loop: stores without one ptxas would
    /// put into the way of lanes that store all at once, each with a predicate.
    fn store_bytes(&mut self, address: &str, width: u32, units: u32, value: &str) {
        let (rest, bits) = self.copy(value, units);
        let (at, left, more) = (self.w.pair(), self.w.word(), self.w.predicate());
        let next = self.w.new_label("NEXT_BYTE");
        ptx!(self, "mov.b64 {at}, {address};");
        ptx!(self, "mov.b32 {left}, {width};");
        self.w.label(&next);
        ptx!(self, ".pragma \"nounroll\";");
        ptx!(self, "st.global.b8 [{at}], {rest};");
        ptx!(self, "shr.u{bits} {rest}, {rest}, 8;");
        ptx!(self, "add.s64 {at}, {at}, 1;");
        ptx!(self, "sub.u32 {left}, {left}, 1;");
        ptx!(self, "setp.ne.u32 {more}, {left}, 0;");
        ptx!(self, "@{more} bra {next};");
    }

    /// Stores the `width` low bytes of a register of `units` units as parts of `part` bytes.
    fn store_parts(&mut self, place: &Place, part: u32, width: u32, units: u32, value: &str) {
        let (rest, bits) = self.copy(value, units);
        for at in (0..width).step_by(part as usize) {
            let place = place.plus(u64::from(at));
            ptx!(self, "st.global.b{} {}, {rest};", 8 * part, place.text());
            ptx!(self, "shr.u{bits} {rest}, {rest}, {};", 8 * part);
        }
    }

    /// Sets the stack pointer, above the thread's limit and inside memory.
    pub fn stack_pointer_set(&mut self, node: &Node) {
        use crate::layout::Context;
        let args = node.inst.args;
        let value = self.canonical_operand(args[0], 1);
        let limit = self.w.word();
        ptx!(
            self,
            "ld.local.b32 {limit}, [%local+{}];",
            offset_of!(Context, stack_limit)
        );
        let outside = match self.analysis.least_memory {
            Some(1..) => {
                let outside = self.beyond(&value, &limit, "%size");
                match self.unit.options.growth_by_others {
                    true => {
                        let size = self.w.word();
                        ptx!(self, "mov.b32 {size}, %size;");
                        self.size_of_now(&size, &outside);
                        self.beyond(&value, &limit, &size)
                    }
                    false => outside,
                }
            }
            _ => {
                let (below, outside) = (self.w.predicate(), self.w.predicate());
                let record = self.memory_record(0);
                let (size, wide) = (self.w.pair(), self.w.pair());
                ptx!(
                    self,
                    "ld.relaxed.gpu.global.b64 {size}, [{record}+{}];",
                    offset_of!(Memory, size)
                );
                ptx!(self, "cvt.u64.u32 {wide}, {value};");
                ptx!(self, "setp.lt.u32 {below}, {value}, {limit};");
                ptx!(self, "setp.gt.or.u64 {outside}, {wide}, {size}, {below};");
                outside
            }
        };
        let label = self.trap_label(node, TrapKind::ThreadStackOverflow);
        ptx!(self, "@{outside} bra {label};");
        let at = self.global_address(args[1]);
        ptx!(self, "st.global.b32 [{at}], {value};");
    }

    /// A predicate: a stack pointer is below its limit or beyond the end of memory 0. The memory has a byte at least,
    /// and its size is in the word `size`.
    fn beyond(&mut self, value: &str, limit: &str, size: &str) -> String {
        // Compiled code subtracts from the pointer without a test: below 0 it comes out beyond the memory's
        // end. A memory that is full holds every address.
        let (last, one_less) = (self.w.word(), self.w.word());
        let (zero, below, outside) = (self.w.predicate(), self.w.predicate(), self.w.predicate());
        ptx!(self, "sub.u32 {last}, {size}, 1;");
        ptx!(self, "sub.u32 {one_less}, {value}, 1;");
        // value <= size as value - 1 <= size - 1; 0 was compared with the limit.
        ptx!(self, "setp.ne.u32 {zero}, {value}, 0;");
        ptx!(self, "setp.gt.and.u32 {outside}, {one_less}, {last}, {zero};");
        ptx!(self, "setp.lt.or.u32 {below}, {value}, {limit}, {outside};");
        below
    }
}
