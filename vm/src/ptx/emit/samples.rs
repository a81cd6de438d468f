//! Code that looks at the time where functions and loops begin and calls have come back, for samples: see `kernel/samples.h`.

use std::mem::offset_of;

use crate::layout::{BACKTRACE, Context, RAW_CALLS, RawSample};
use crate::ptx::emit::function::Compiler;
use crate::ptx::writer::ptx;

/// Where it looks, as the kernel's enumeration of this name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SampleAt {
    /// At a function's begin.
    Called = 0,
    /// After a call.
    Returned = 1,
    /// In a loop.
    Here = 2,
    /// Before a loop.
    Entered = 3,
}

impl Compiler<'_> {
    /// Whether code looks at the time before this block, because a loop begins with it. What the translator has put into
    /// one function is told apart by its loops.
    pub fn looks_before(&self, block: usize) -> bool {
        let found = &self.cfg.blocks[block];
        self.unit.options.samples && found.loop_head && !found.cold
    }

    /// Counts a sample at word `pc` of the program if one is due.
    ///
    /// A single lane calls the runtime, which counts it among others of the same stack. Calls would part the lanes of a warp,
    /// and keep functions from being without any. So code of many lanes writes the sample, and the host counts.
    pub fn sample(&mut self, pc: u32, at: SampleAt) {
        let (now, due, p) = (self.w.word(), self.w.word(), self.w.predicate());
        let (label, sampled) = (self.w.new_label("SAMPLE"), self.w.new_label("SAMPLED"));
        ptx!(self, "mov.u32 {now}, %clock;");
        self.read_context(&due, offset_of!(Context, sample_due));
        ptx!(self, "sub.u32 {due}, {now}, {due};");
        ptx!(self, "setp.ge.s32 {p}, {due}, 0;");
        // What is aside already has it in line.
        let aside = self.w.set_aside(true);
        if aside {
            ptx!(self, "@!{p} bra {sampled};");
        } else {
            self.w.set_aside(false);
            ptx!(self, "@{p} bra {label};");
            self.w.label(&sampled);
            self.w.set_aside(true);
            self.w.label(&label);
        }
        if self.unit.options.single_lane {
            let (pc, at) = (self.position(pc), (at as u32).to_string());
            let arguments = [("b64", "%ctx"), ("b32", &pc), ("b32", "%depth"), ("b32", &at)];
            self.call_runtime("gpu_run_sample", &arguments, None);
        } else {
            self.write_sample(pc, at, &now);
        }
        if aside {
            self.w.label(&sampled);
        } else {
            ptx!(self, "bra {sampled};");
        }
        self.w.set_aside(aside);
    }

    /// Writes a sample into the thread's ring, with the innermost return addresses. The next is due a period later on
    /// average: at a time that no loop can have in common with it.
    ///
    /// A ring keeps some of all that were written, each with the same chance: algorithm R of Vitter (1985).
    fn write_sample(&mut self, pc: u32, at: SampleAt, now: &str) {
        let [period, chance, count, size, place, value, call, last] = std::array::from_fn(|_| self.w.word());
        let (ring, from, p) = (self.w.pair(), self.w.pair(), self.w.predicate());
        let (again, calls_end, done) = (
            self.w.new_label("CALL"),
            self.w.new_label("CALLS"),
            self.w.new_label("WRITTEN"),
        );
        self.read_context(&period, offset_of!(Context, sample_period));
        // Fibonacci hashing of the cycles and the thread's number: a number below the period. Threads that do the same would
        // else have their samples at the same places from the first common one on, for code looks at the time at few.
        self.read_context(&value, offset_of!(Context, id));
        ptx!(self, "mad.lo.u32 {chance}, {value}, 0xc2b2ae35, {now};");
        ptx!(self, "mul.lo.u32 {chance}, {chance}, 0x9e3779b9;");
        ptx!(self, "mul.hi.u32 {value}, {chance}, {period};");
        ptx!(self, "shr.u32 {period}, {period}, 1;");
        ptx!(self, "add.u32 {value}, {value}, {period};");
        ptx!(self, "add.u32 {value}, {value}, {now};");
        self.write_context(offset_of!(Context, sample_due), &value);
        let at_ring = offset_of!(Context, sample_ring);
        ptx!(self, "ld.local.b64 {ring}, [%local+{at_ring}];");
        ptx!(self, "setp.eq.u64 {p}, {ring}, 0;");
        ptx!(self, "@{p} bra {done};");
        self.read_context(&count, offset_of!(Context, sample_count));
        self.read_context(&size, offset_of!(Context, sample_size));
        ptx!(self, "mov.b32 {place}, {count};");
        ptx!(self, "add.u32 {count}, {count}, 1;");
        self.write_context(offset_of!(Context, sample_count), &count);
        ptx!(self, "setp.lt.u32 {p}, {place}, {size};");
        ptx!(self, "mul.lo.u32 {chance}, {chance}, 0x85ebca6b;");
        ptx!(self, "mul.hi.u32 {chance}, {chance}, {count};");
        ptx!(self, "selp.u32 {place}, {place}, {chance}, {p};");
        ptx!(self, "setp.ge.u32 {p}, {place}, {size};");
        ptx!(self, "@{p} bra {done};");
        ptx!(
            self,
            "mad.wide.u32 {ring}, {place}, {}, {ring};",
            size_of::<RawSample>()
        );
        let (mark, mark_depth) = (self.w.word(), self.w.word());
        self.read_context(&mark, offset_of!(Context, sample_mark));
        self.read_context(&mark_depth, offset_of!(Context, sample_mark_depth));
        let (pc, at) = (self.position(pc), (at as u32).to_string());
        for (field, content) in [
            (offset_of!(RawSample, pc), &*pc),
            (offset_of!(RawSample, at), &*at),
            (offset_of!(RawSample, depth), "%depth"),
            (offset_of!(RawSample, mark), &*mark),
            (offset_of!(RawSample, mark_depth), &*mark_depth),
            (offset_of!(RawSample, number), &*count),
        ] {
            ptx!(self, "mov.b32 {value}, {content};");
            ptx!(self, "st.global.b32 [{ring}+{field}], {value};");
        }
        // From the call at depth `%depth - 1` down to the outermost, as many as there is room for. A place is used again, so
        // a 0 ends them.
        ptx!(self, "sub.u32 {call}, %depth, 1;");
        ptx!(self, "max.u32 {last}, {call}, {};", RAW_CALLS - 1);
        ptx!(self, "sub.u32 {last}, {last}, {};", RAW_CALLS - 1);
        self.w.label(&again);
        ptx!(self, "setp.eq.u32 {p}, {call}, {last};");
        ptx!(self, "@{p} bra {calls_end};");
        ptx!(self, "and.b32 {value}, {call}, {};", BACKTRACE - 1);
        ptx!(self, "mad.wide.u32 {from}, {value}, 4, %local;");
        ptx!(self, "ld.local.b32 {value}, [{from}+{}];", offset_of!(Context, calls));
        ptx!(
            self,
            "st.global.b32 [{ring}+{}], {value};",
            offset_of!(RawSample, calls)
        );
        ptx!(self, "add.u64 {ring}, {ring}, 4;");
        ptx!(self, "sub.u32 {call}, {call}, 1;");
        ptx!(self, "bra {again};");
        self.w.label(&calls_end);
        ptx!(self, "mov.b32 {value}, 0;");
        ptx!(
            self,
            "st.global.b32 [{ring}+{}], {value};",
            offset_of!(RawSample, calls)
        );
        self.w.label(&done);
    }

    fn read_context(&mut self, to: &str, field: usize) {
        ptx!(self, "ld.local.b32 {to}, [%local+{field}];");
    }

    fn write_context(&mut self, field: usize, from: &str) {
        ptx!(self, "st.local.b32 [%local+{field}], {from};");
    }

    /// The same between two functions, and notes that it is in this one now.
    pub fn look_at_time(&mut self, pc: u32, at: SampleAt) {
        self.sample(pc, at);
        let mark = self.position(pc);
        self.write_context(offset_of!(Context, sample_mark), &mark);
        self.write_context(offset_of!(Context, sample_mark_depth), "%depth");
    }
}
