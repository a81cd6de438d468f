//! Writes a body anew, without legacy instructions.

use wasm_encoder::{Encode, Instruction};
use wasmparser::{BlockType, BrTable, Catch, Operator, TryTable, ValType};

use super::Types;
use super::analysis::{Analysis, Form};
use crate::module::{Instr, Origin};

/// A body that was written anew.
pub(super) struct Code<'a> {
    pub(super) instrs: Vec<Instr<'a>>,
    /// How many locals of type `exnref` it uses, from the first free one.
    pub(super) exn_locals: u32,
    /// Branch tables to be put in place: number of the instruction, offset of the encoding.
    pub(super) br_tables: Vec<(usize, usize)>,
}

/// The level of the block around a whole body, past whose end exceptions leave the function.
const FUNCTION_LANDING: u32 = 1;

/// An open block of the old body.
struct Frame {
    /// The level, in the new body, of the block that its label names.
    level: u32,
    kind: Kind,
}

enum Kind {
    /// Ends with one `end`.
    Plain,
    /// A `try` with handlers.
    Try {
        /// Its number.
        own: usize,
        /// How many of its handlers have begun.
        begun: usize,
        /// The local that holds the exception of the handler that is open.
        exn: Option<u32>,
    },
    /// A `try_table` with a landing.
    Landed,
}

struct Emitter<'e, 'a> {
    analysis: &'e Analysis,
    types: &'e mut Types,
    code: Code<'a>,
    /// Encoded branch tables.
    tables: &'e mut Vec<u8>,
    frames: Vec<Frame>,
    /// How many blocks of the new body are open, the function's own not counted: the innermost
    /// one's level.
    level: u32,
    /// Level of each landing, by the number of its `try`.
    landings: Vec<u32>,
    /// Number of the `try` that opens next.
    next_try: usize,
    first_free: u32,
    /// How many handlers that keep their exception are open: each level has its local.
    kept: u32,
    /// Origin of the instruction that is being replaced.
    origin: Origin,
}

pub(super) fn emit<'a>(
    instrs: &[Instr<'a>],
    analysis: &Analysis,
    types: &mut Types,
    first_free: u32,
    tables: &mut Vec<u8>,
) -> Code<'a> {
    let function = Frame {
        level: 0,
        kind: Kind::Plain,
    };
    let mut emitter = Emitter {
        analysis,
        types,
        code: Code {
            instrs: Vec::with_capacity(instrs.len() + instrs.len() / 4),
            exn_locals: 0,
            br_tables: Vec::new(),
        },
        tables,
        frames: vec![function],
        level: 0,
        landings: vec![0; analysis.tries.len()],
        next_try: 0,
        first_free,
        kept: 0,
        origin: instrs.first().map_or(Origin::synthetic(), |instr| instr.origin),
    };
    if analysis.leaves {
        emitter.open(Operator::Block {
            blockty: BlockType::Type(ValType::EXNREF),
        });
    }
    for instr in instrs {
        emitter.origin = instr.origin;
        emitter.instr(&instr.op);
    }
    emitter.code
}

impl<'a> Emitter<'_, 'a> {
    fn instr(&mut self, op: &Operator<'a>) {
        match op {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.open(op.clone());
                self.enter(self.level, Kind::Plain);
            }
            Operator::Try { blockty } => self.begin_try(*blockty),
            Operator::TryTable { try_table } => self.begin_try_table(try_table),
            Operator::Catch { .. } | Operator::CatchAll => self.begin_handler(),
            Operator::Rethrow { relative_depth } => self.rethrow(*relative_depth),
            Operator::End | Operator::Delegate { .. } => self.end(),
            Operator::Br { relative_depth } => {
                let relative_depth = self.depth(*relative_depth);
                self.push(Operator::Br { relative_depth });
            }
            Operator::BrIf { relative_depth } => {
                let relative_depth = self.depth(*relative_depth);
                self.push(Operator::BrIf { relative_depth });
            }
            Operator::BrTable { targets } => self.br_table(targets),
            // Parsing refuses the proposals whose instructions hold other labels.
            op => self.push(op.clone()),
        }
    }

    fn push(&mut self, op: Operator<'a>) {
        let origin = self.origin;
        self.code.instrs.push(Instr { op, origin });
    }

    fn open(&mut self, op: Operator<'a>) {
        self.push(op);
        self.level += 1;
    }

    fn close(&mut self) {
        self.push(Operator::End);
        self.level -= 1;
    }

    fn enter(&mut self, level: u32, kind: Kind) {
        self.frames.push(Frame { level, kind });
    }

    /// The relative depth of the block at `level`.
    fn depth_of(&self, level: u32) -> u32 {
        self.level - level
    }

    /// What a relative depth of the old body is in the new one.
    fn depth(&self, old: u32) -> u32 {
        self.depth_of(self.frames[self.frames.len() - 1 - old as usize].level)
    }

    fn br(&mut self, level: u32) {
        let relative_depth = self.depth_of(level);
        self.push(Operator::Br { relative_depth });
    }

    fn begin_try(&mut self, blockty: BlockType) {
        let own = self.next_try;
        self.next_try += 1;
        match &self.analysis.tries[own].form {
            Form::Handlers(_) => self.begin_handled(own, blockty),
            Form::Delegate(target) => {
                let landing = target.map_or(FUNCTION_LANDING, |target| self.landings[target]);
                let label = self.depth_of(landing);
                self.open_try_table(blockty, vec![Catch::AllRef { label }]);
                self.enter(self.level, Kind::Plain);
            }
            Form::Block | Form::Standard => {
                self.open(Operator::Block { blockty });
                self.enter(self.level, Kind::Plain);
            }
        }
    }

    fn begin_handled(&mut self, own: usize, blockty: BlockType) {
        let analysis = self.analysis;
        let Form::Handlers(handlers) = &analysis.tries[own].form else {
            unreachable!("the caller has looked")
        };
        let params = self.types.params(blockty);
        self.open(Operator::Block { blockty });
        let kind = Kind::Try {
            own,
            begun: 0,
            exn: None,
        };
        self.enter(self.level, kind);
        // The first handler comes first, so its block is the innermost.
        for handler in handlers.iter().rev() {
            let mut results = handler.tag.map_or(Vec::new(), |tag| self.types.payload(tag));
            if handler.rethrown {
                results.push(ValType::EXNREF);
            }
            let blockty = self.types.block(&params, &results);
            self.open(Operator::Block { blockty });
        }
        let catch = |(label, handler): (u32, &super::analysis::Handler)| match (handler.tag, handler.rethrown) {
            (Some(tag), false) => Catch::One { tag, label },
            (Some(tag), true) => Catch::OneRef { tag, label },
            (None, false) => Catch::All { label },
            (None, true) => Catch::AllRef { label },
        };
        self.open_try_table(blockty, (0..).zip(handlers).map(catch).collect());
        if analysis.tries[own].lands {
            self.open_landing(own, &params);
        }
    }

    fn begin_try_table(&mut self, try_table: &TryTable) {
        let own = self.next_try;
        self.next_try += 1;
        let mut catches = try_table.catches.clone();
        for catch in &mut catches {
            let (Catch::One { label, .. }
            | Catch::OneRef { label, .. }
            | Catch::All { label }
            | Catch::AllRef { label }) = catch;
            *label = self.depth(*label);
        }
        self.open_try_table(try_table.ty, catches);
        if self.analysis.tries[own].lands {
            self.enter(self.level, Kind::Landed);
            let params = self.types.params(try_table.ty);
            self.open_landing(own, &params);
        } else {
            self.enter(self.level, Kind::Plain);
        }
    }

    fn open_try_table(&mut self, ty: BlockType, catches: Vec<Catch>) {
        let try_table = TryTable { ty, catches };
        self.open(Operator::TryTable { try_table });
    }

    /// The block around the body of `own`, which delegated exceptions leave with themselves as the
    /// result.
    fn open_landing(&mut self, own: usize, params: &[ValType]) {
        let blockty = self.types.block(params, &[ValType::EXNREF]);
        self.open(Operator::Block { blockty });
        self.landings[own] = self.level;
    }

    /// Ends a body in a landing: its results go to `level`, what lands is thrown.
    fn close_landing(&mut self, level: u32) {
        self.br(level);
        self.close();
        self.push(Operator::ThrowRef);
    }

    fn begin_handler(&mut self) {
        let analysis = self.analysis;
        let Some(Frame {
            level,
            kind: Kind::Try { own, begun, exn },
        }) = self.frames.last_mut()
        else {
            unreachable!("validated: a handler belongs to a try")
        };
        let (done, own, handler) = (*level, *own, *begun);
        *begun += 1;
        let left = exn.take();
        if handler > 0 {
            self.kept -= u32::from(left.is_some());
        } else {
            if analysis.tries[own].lands {
                self.close_landing(done);
            }
            self.close();
        }
        self.br(done);
        self.close();
        let Form::Handlers(handlers) = &analysis.tries[own].form else {
            unreachable!("it has a handler")
        };
        if handlers[handler].rethrown {
            self.keep_exception();
        }
    }

    /// Moves the exception on the stack to a local for the handler that begins.
    fn keep_exception(&mut self) {
        let local_index = self.first_free + self.kept;
        self.kept += 1;
        self.code.exn_locals = self.code.exn_locals.max(self.kept);
        if let Some(Frame {
            kind: Kind::Try { exn, .. },
            ..
        }) = self.frames.last_mut()
        {
            *exn = Some(local_index);
        }
        self.push(Operator::LocalSet { local_index });
    }

    fn rethrow(&mut self, depth: u32) {
        let frame = &self.frames[self.frames.len() - 1 - depth as usize];
        let Kind::Try { exn: Some(local), .. } = frame.kind else {
            unreachable!("analysis has marked the handler")
        };
        self.push(Operator::LocalGet { local_index: local });
        self.push(Operator::ThrowRef);
    }

    fn end(&mut self) {
        let frame = self.frames.pop().expect("validated: blocks are balanced");
        if self.frames.is_empty() {
            if self.analysis.leaves {
                self.push(Operator::Return);
                self.close();
                self.push(Operator::ThrowRef);
            }
            self.push(Operator::End);
            return;
        }
        match frame.kind {
            Kind::Plain => {}
            Kind::Try { exn, .. } => self.kept -= u32::from(exn.is_some()),
            Kind::Landed => self.close_landing(frame.level),
        }
        self.close();
    }

    fn br_table(&mut self, targets: &BrTable<'a>) {
        let old: Vec<u32> = targets.targets().map(|target| target.expect("validated")).collect();
        let new: Vec<u32> = old.iter().map(|target| self.depth(*target)).collect();
        let default = self.depth(targets.default());
        if new != old || default != targets.default() {
            // Put in place of the old one once all are encoded.
            self.code.br_tables.push((self.code.instrs.len(), self.tables.len()));
            Instruction::BrTable(new.into(), default).encode(self.tables);
        }
        let targets = targets.clone();
        self.push(Operator::BrTable { targets });
    }
}
