//! Writes the code of one function: instructions, labels and their late fixing, source places.

use std::rc::Rc;

use gpu_run_bytecode::code::{Inst, fits};
use gpu_run_bytecode::{Clause, Op, Operand, SourcePlace, Try};

use crate::module::Origin;

/// A place in the code that branches lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

/// A branch whose distance is filled in at the end.
struct Fixup {
    /// Word of the instruction, from which the distance counts.
    at: usize,
    label: Label,
    place: FixupPlace,
}

enum FixupPlace {
    /// In the 16-bit slot `.0` of the instruction at `at`.
    Near(usize),
    /// In the upper half of the word at `at`.
    Far,
    /// Offset number `.0` of the `br_table` at `at`.
    Table(usize),
}

/// A handler of a protected range.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) tag: Option<u32>,
    pub(super) reference: bool,
    pub(super) unit: u32,
    pub(super) label: Label,
}

/// A protected range; while it is open, `end` is not known.
#[derive(Clone)]
struct Range {
    start: u32,
    end: u32,
    handlers: Rc<[Handler]>,
}

/// A 16-bit branch distance did not suffice: the function is lowered again without such branches.
pub(super) struct TooFar;

/// An instruction that was emitted.
#[derive(Clone, Copy)]
struct Emitted {
    at: usize,
    inst: Inst,
    /// Its result has other uses than the next instruction: it may be merged with that one, but its
    /// result must still be written.
    pinned: bool,
}

impl Emitted {
    /// Stands where nothing was emitted yet.
    const NONE: Emitted = Emitted {
        at: 0,
        inst: Inst {
            op: Op::Trap,
            args: [0; 6],
        },
        pinned: false,
    };
}

/// The code under construction, one function after the other. Words count from the start of it all.
pub(super) struct Emitter {
    pub(super) code: Vec<u64>,
    /// Where the function begins in `code` and in `places`.
    start: (usize, usize),
    labels: Vec<Option<u32>>,
    fixups: Vec<Fixup>,
    /// The two instructions emitted last.
    emitted: [Emitted; 2],
    /// Which of them is the last.
    newest: usize,
    /// How many of them may be changed or taken back: no label lies after those.
    known: u8,
    /// Where the jump leads that was emitted last, and the word after it; none once anything else depends on that word.
    jump: Option<(Label, usize)>,
    /// Open protected ranges, outer ones first.
    open: Vec<Range>,
    /// Those that ended, inner ones first.
    ranges: Vec<Range>,
    origin: Origin,
    /// That of the last place, once the function has one.
    placed: Option<Origin>,
    pub(super) places: Vec<SourcePlace>,
}

impl Emitter {
    /// Begins with room for about so many words and places. Growing would copy all again and again;
    /// what is not used is address space only.
    pub(super) fn new(words: usize, places: usize) -> Emitter {
        Emitter {
            code: Vec::with_capacity(words),
            start: (0, 0),
            labels: Vec::new(),
            fixups: Vec::new(),
            emitted: [Emitted::NONE; 2],
            newest: 0,
            known: 0,
            jump: None,
            open: Vec::new(),
            ranges: Vec::new(),
            origin: Origin::synthetic(),
            placed: None,
            places: Vec::with_capacity(places),
        }
    }

    /// Begins a function.
    pub(super) fn begin(&mut self) {
        self.start = (self.code.len(), self.places.len());
        self.take_back();
    }

    /// Begins the function anew.
    pub(super) fn take_back(&mut self) {
        self.code.truncate(self.start.0);
        self.places.truncate(self.start.1);
        self.labels.clear();
        self.fixups.clear();
        self.jump = None;
        self.seal();
        self.open.clear();
        self.ranges.clear();
        self.origin = Origin::synthetic();
        self.placed = None;
    }

    /// Says where the instructions that follow came from.
    pub(super) fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, op: Op, args: &[i64]) {
        self.push(Inst::new(op, args));
    }

    /// Emits an instruction.
    // Inlined, so that it is written where it is kept: copying it would wait for its writing.
    #[inline(always)]
    pub(super) fn push(&mut self, inst: Inst) {
        self.newest ^= 1;
        self.emitted[self.newest].inst = inst;
        self.encode_newest();
    }

    fn encode_newest(&mut self) {
        let at = self.code.len();
        if self.placed != Some(self.origin) {
            self.placed = Some(self.origin);
            self.places.push(SourcePlace {
                pc: at as u32,
                offset: self.origin.offset,
                site: self.origin.site,
            });
        }
        let newest = &mut self.emitted[self.newest];
        newest.at = at;
        newest.pinned = false;
        newest.inst.encode(&mut self.code);
        self.known = (self.known + 1).min(2);
    }

    /// The instruction emitted last, if it may be changed or taken back.
    pub(super) fn last(&self) -> Option<&Inst> {
        let last = &self.emitted[self.newest];
        (self.known > 0 && !last.pinned).then_some(&last.inst)
    }

    /// The instruction emitted last, also if its result has other uses.
    pub(super) fn last_or_pinned(&self) -> Option<&Inst> {
        (self.known > 0).then_some(&self.emitted[self.newest].inst)
    }

    /// Takes back the instruction emitted last.
    pub(super) fn unpush(&mut self) {
        let at = self.emitted[self.newest].at;
        // The caller has looked at it.
        self.known -= 1;
        self.newest ^= 1;
        self.cut(at);
    }

    /// Takes back the instruction at word `at`, the last one.
    fn cut(&mut self, at: usize) {
        self.code.truncate(at);
        if self.places.last().is_some_and(|place| place.pc as usize >= at) {
            self.places.pop();
            self.placed = self.places[self.start.1..].last().map(|place| Origin {
                offset: place.offset,
                site: place.site,
            });
        }
    }

    /// Lets the instruction emitted last write its result to unit `to` instead, for others to use.
    pub(super) fn redirect_last(&mut self, to: u32) {
        // The caller has looked at it.
        let last = &mut self.emitted[self.newest];
        last.inst.args[0] = to as i64;
        last.pinned = true;
        self.code.truncate(last.at);
        last.inst.encode(&mut self.code);
    }

    /// Forgets the last instructions: something outside depends on them.
    pub(super) fn seal(&mut self) {
        self.known = 0;
    }

    pub(super) fn new_label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label here. A jump to it that was emitted last is removed.
    pub(super) fn bind(&mut self, label: Label) {
        if self.jump == Some((label, self.code.len()))
            && let Some(fixup) = self.fixups.pop()
        {
            self.cut(fixup.at);
        }
        self.labels[label.0 as usize] = Some(self.code.len() as u32);
        self.jump = None;
        self.seal();
    }

    /// Emits a branch to `label`; its distance must be the last operand of `inst`.
    pub(super) fn branch(&mut self, inst: Inst, label: Label) {
        let info = inst.op.info();
        let distance = info.operands.len() - 1;
        let place = match info.operands[distance] {
            Operand::Rel16 => FixupPlace::Near(info.slot(distance)),
            _ => FixupPlace::Far,
        };
        self.fixups.push(Fixup {
            at: self.code.len(),
            label,
            place,
        });
        let jumps = inst.op == Op::Jump;
        self.push(inst);
        self.seal();
        self.jump = jumps.then_some((label, self.code.len()));
    }

    /// Emits a `br_table` on unit `index`.
    pub(super) fn br_table(&mut self, index: u32, labels: &[Label]) {
        let at = self.code.len();
        self.emit(Op::BrTable, &[index as i64, labels.len() as i64]);
        self.code.resize(at + 1 + labels.len().div_ceil(2), 0);
        for (i, label) in labels.iter().enumerate() {
            self.fixups.push(Fixup {
                at,
                label: *label,
                place: FixupPlace::Table(i),
            });
        }
        self.seal();
    }

    /// Begins a range in which exceptions are caught.
    pub(super) fn begin_try(&mut self, handlers: Vec<Handler>) {
        self.jump = None;
        let start = self.code.len() as u32;
        self.open.push(Range {
            start,
            end: start,
            handlers: handlers.into(),
        });
        self.seal();
    }

    /// Ends the innermost such range.
    pub(super) fn end_try(&mut self) {
        self.jump = None;
        let range = self.open.pop().expect("a range was begun");
        let end = self.code.len() as u32;
        // A range without handlers would mean what `no_handlers` says.
        if range.start < end && !range.handlers.is_empty() {
            self.ranges.push(Range { end, ..range });
        }
        self.seal();
    }

    /// Says that what the code from word `start` on throws is caught by none of the open ranges.
    pub(super) fn no_handlers(&mut self, start: u32) {
        self.jump = None;
        if !self.open.is_empty() {
            let end = self.code.len() as u32;
            let handlers = Rc::new([]);
            self.ranges.push(Range { start, end, handlers });
        }
        self.seal();
    }

    /// Fills in the branch distances; returns the exception table.
    pub(super) fn finish(&mut self) -> Result<Vec<Try>, TooFar> {
        for fixup in &self.fixups {
            let to = self.labels[fixup.label.0 as usize].expect("every label is bound when its block ends");
            let distance = to as i64 - fixup.at as i64;
            let (word, shift) = match fixup.place {
                FixupPlace::Near(_) if !fits(Operand::Rel16, distance) => return Err(TooFar),
                FixupPlace::Near(slot) => {
                    self.code[fixup.at + slot / 4] |= (distance as u16 as u64) << (slot % 4 * 16);
                    continue;
                }
                FixupPlace::Far => (fixup.at, 32),
                FixupPlace::Table(i) => (fixup.at + 1 + i / 2, i % 2 * 32),
            };
            self.code[word] |= (distance as u32 as u64) << shift;
        }
        let clause = |handler: &Handler| Clause {
            tag: handler.tag,
            reference: handler.reference,
            unit: handler.unit,
            target: self.labels[handler.label.0 as usize].expect("bound as all labels are"),
        };
        let tries = self.ranges.iter().map(|range| Try {
            start: range.start,
            end: range.end,
            clauses: range.handlers.iter().map(clause).collect(),
        });
        Ok(tries.collect())
    }
}
