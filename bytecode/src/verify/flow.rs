//! The data flow half of verification: what each unit holds on every path.

use super::effects::step;
use super::kept::Kept;
use super::regions::{Region, Regions};
use super::simple::SIMPLE;
use super::state::State;
use super::types::{Detail, Types};
use super::{FunctionVerifier, VerifyError, VerifyErrorKind, Words};
use crate::code::Inst;
use crate::isa::{Op, Operand};
use crate::program::Try;

/// Steps that the verification of a function may take: for each word of its code so many, ...
const STEPS_PER_WORD: u64 = 2048;
/// ... and so many more.
const STEPS: u64 = 1 << 24;
/// Parts of states that it may keep, for each word of its code and beyond that. A part takes 128 bytes.
const PARTS_PER_WORD: usize = 2;
const PARTS: usize = 1 << 22;

/// The points of a function's code that are reached from elsewhere. These are the instructions that branches lead to,
/// which are joins, and the regions of protected code. Points have numbers in the order of the code.
#[derive(Default)]
struct Points {
    /// For each join, the word of its instruction; in order.
    starts: Vec<u32>,
    /// For each 64 words, the number of joins before them.
    before: Vec<u32>,
    regions: Regions,
    /// What each point is. Empty if there are no regions: then points are the joins.
    order: Vec<Point>,
    /// The point of each join and of each region; empty likewise.
    of_join: Vec<u32>,
    of_region: Vec<u32>,
}

/// What a point is.
#[derive(Clone, Copy)]
enum Point {
    Join(u32),
    Region(u32),
}

impl Points {
    /// Begins anew, with joins at these words and the function's regions.
    fn find(&mut self, function: &FunctionVerifier<'_>, tries: &[Try]) -> Result<(), VerifyError> {
        let words = &*function.targets;
        self.starts.clear();
        self.before.clear();
        for (i, bits) in words.0.iter().enumerate() {
            self.before.push(self.starts.len() as u32);
            let mut bits = *bits;
            while bits != 0 {
                self.starts.push(i as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        self.regions.find(tries, most_steps(function));
        self.order.clear();
        self.of_join.clear();
        self.of_region.clear();
        if self.regions.work > most_steps(function) {
            return too_complex(function, "its protected ranges overlap too often");
        }
        if self.regions.all.is_empty() {
            return Ok(());
        }
        let mut regions: Vec<u32> = (0..self.regions.all.len() as u32).collect();
        regions.sort_by_key(|region| self.regions.order(*region, tries));
        let mut regions = regions.into_iter().peekable();
        self.of_region.resize(self.regions.all.len(), 0);
        for (join, start) in self.starts.iter().enumerate() {
            let start = (function.start + i64::from(*start)) as u32;
            while let Some(region) = regions.next_if(|region| self.regions.order(*region, tries).0 <= start) {
                self.of_region[region as usize] = self.order.len() as u32;
                self.order.push(Point::Region(region));
            }
            self.of_join.push(self.order.len() as u32);
            self.order.push(Point::Join(join as u32));
        }
        for region in regions {
            self.of_region[region as usize] = self.order.len() as u32;
            self.order.push(Point::Region(region));
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.starts.len() + self.regions.all.len()
    }

    fn what(&self, point: usize) -> Point {
        self.order.get(point).copied().unwrap_or(Point::Join(point as u32))
    }

    fn of_join(&self, join: usize) -> usize {
        self.of_join.get(join).map_or(join, |point| *point as usize)
    }

    /// The join at a word that is among `words`, of which these joins were found.
    fn at(&self, words: &Words, word: usize) -> usize {
        let lower = words.0[word / 64] & !(u64::MAX << (word % 64));
        self.of_join(self.before[word / 64] as usize + lower.count_ones() as usize)
    }
}

/// The memory of the analysis, used again for the next function.
#[derive(Default)]
pub(super) struct Flow {
    points: Points,
    kept: Kept,
    /// Points after which the code has not been walked with their present state.
    queued: Words,
    state: State,
    types: Types,
    detail: Detail,
    /// Steps that were taken for this function.
    steps: u64,
}

impl Flow {
    /// Verifies the flow of one function whose operands are already checked, and whose body begins at
    /// word `body`.
    ///
    /// What each unit holds on each path is followed exactly. Should that take many steps, it is tried
    /// with less detail: what is right then is right. Only where that fails all steps are taken.
    pub(super) fn verify(&mut self, function: &mut FunctionVerifier<'_>, body: usize) -> Result<(), VerifyError> {
        let tries = &function.spaces.program.meta.functions[function.index].tries;
        function.targets.insert(body);
        for clause in tries.iter().flat_map(|try_| &try_.clauses) {
            let handler = function.handler(clause).expect("checked with the exception table");
            function.targets.insert(handler);
        }
        let function = &*function;
        self.points.find(function, tries)?;
        let most = most_steps(function);
        match self.follow(function, body, tries, Detail::Full, most / 8) {
            Err(error) if error.kind == VerifyErrorKind::TooComplex => {}
            result => return result,
        }
        self.types.find(function, body, tries)?;
        for detail in [Detail::TypedOnly, Detail::Typed] {
            if self.follow(function, body, tries, detail, most).is_ok() {
                return Ok(());
            }
        }
        self.follow(function, body, tries, Detail::Full, most)
    }

    /// Follows what units hold in so much detail, in at most so many steps.
    ///
    /// A state is kept for each instruction that branches lead to, and one for each region of protected code. From
    /// there the code is walked until it runs into another such instruction or ends. Walks go in the order of the code,
    /// and from the beginning again while branches back have changed a state.
    ///
    /// What each unit holds only becomes less, and that at most three times (zero, any value of one unit, a number,
    /// nothing). So the analysis ends. Compiled code takes two or three passes: what is lost on a loop's back edge is
    /// lost in all loops at the same time. A step is a word that is walked, or a chunk of units that is compared,
    /// copied or filled. States have so many parts in common that a branch is few steps, and at most 1,024.
    fn follow(
        &mut self,
        function: &FunctionVerifier<'_>,
        body: usize,
        tries: &[Try],
        detail: Detail,
        most: u64,
    ) -> Result<(), VerifyError> {
        let frame = function.frame as usize;
        self.kept.clear(self.points.len(), frame);
        self.queued.clear(self.points.len());
        self.state.clear(frame);
        self.steps = 0;
        self.detail = detail;
        self.state.write_values(0, &function.ty.params);
        let mut point = self.points.at(function.targets, body);
        self.reach(point);
        while let Some(next) = self.queued.next(point).or_else(|| self.queued.next(0)) {
            self.queued.remove(next);
            self.kept.load(next, &mut self.state);
            match self.points.what(next) {
                Point::Join(join) => self.walk(function, join as usize)?,
                Point::Region(region) => self.leave_region(function, region, next, tries),
            }
            // Where the search for the next point went.
            self.steps += 1 + (next.abs_diff(point) / 64) as u64;
            if self.steps + self.kept.work + self.state.work > most {
                return too_complex(function, format!("it took more than {most} steps"));
            }
            if self.kept.parts() > PARTS + PARTS_PER_WORD * function.code.len() {
                return too_complex(function, "its registers differ in too many ways");
            }
            point = next;
        }
        Ok(())
    }

    /// Joins the state into that of a point.
    fn reach(&mut self, point: usize) {
        if self.detail != Detail::Full {
            let (types, detail) = (&self.types, self.detail);
            self.state.reduce(|start, units| types.reduce(start, units, detail));
        }
        if self.kept.reach(point, &mut self.state) {
            self.queued.insert(point);
        }
    }

    /// Takes the state to the instruction at a word that branches lead to.
    fn branch(&mut self, function: &FunctionVerifier<'_>, word: usize) {
        self.reach(self.points.at(function.targets, word));
    }

    /// Walks the code after a join, from the join's state.
    fn walk(&mut self, function: &FunctionVerifier<'_>, join: usize) -> Result<(), VerifyError> {
        let start = self.points.starts[join] as usize;
        let next = self.points.starts.get(join + 1);
        let next = next.map_or(function.code.len(), |next| *next as usize);
        let mut pc = start;
        while pc < next {
            let word = function.code[pc];
            if let Some(simple) = &SIMPLE[word as u16 as usize]
                && simple.step(word, &mut self.state)
            {
                if let Some(distance) = simple.branch {
                    let target = pc as i64 + distance.read(&function.code[pc..]);
                    self.branch(function, target as usize);
                    if simple.ends_block {
                        self.steps += (pc - start) as u64;
                        return Ok(());
                    }
                }
                pc += simple.words;
                continue;
            }
            let inst = Inst::read(&function.code[pc..]);
            step(function, pc, &inst, &mut self.state)?;
            if may_throw(inst.op) {
                self.throw(function, pc, &inst);
            }
            function.for_each_target(pc, &inst, |target| self.branch(function, target));
            if ends_block(inst.op) {
                self.steps += (pc - start) as u64;
                return Ok(());
            }
            pc += inst.words();
        }
        self.steps += (pc - start) as u64;
        // Code that does not end a block does not end the function, so there is a next join.
        self.reach(self.points.of_join(join + 1));
        Ok(())
    }

    /// Takes the state to where an exception goes that the instruction at `pc` throws, which was done just
    /// now. A callee's frame lay over the units from its base on.
    fn throw(&mut self, function: &FunctionVerifier<'_>, pc: usize, inst: &Inst) {
        let Some(region) = self.points.regions.at((function.start + pc as i64) as u32) else {
            return;
        };
        let point = self.points.of_region[region as usize] as usize;
        if let Some(Operand::Base) = inst.op.info().operands.first() {
            let base = inst.args[0] as u32;
            let callee = function.callee(pc, inst).expect("checked with the operands");
            self.state.forget(base);
            self.reach(point);
            self.state.write_values(base, &callee.results);
        } else {
            self.reach(point);
        }
    }

    /// Takes the state of a region to its handlers, and to the region around it.
    fn leave_region(&mut self, function: &FunctionVerifier<'_>, region: u32, point: usize, tries: &[Try]) {
        let Region { try_, next, .. } = self.points.regions.all[region as usize];
        if let Some(next) = next {
            self.reach(self.points.of_region[next as usize] as usize);
        }
        for clause in &tries[try_].clauses {
            let handler = function.handler(clause).expect("checked with the exception table");
            let types = function.clause_types(clause);
            self.steps += 1 + types.len() as u64;
            self.state.write_values(clause.unit, &types);
            self.branch(function, handler);
            self.kept.load(point, &mut self.state);
        }
    }
}

/// Steps that the verification of a function may take.
fn most_steps(function: &FunctionVerifier<'_>) -> u64 {
    STEPS + STEPS_PER_WORD * function.code.len() as u64
}

#[cold]
fn too_complex<T>(function: &FunctionVerifier<'_>, why: impl std::fmt::Display) -> Result<T, VerifyError> {
    let error = function.error(0, format!("the function is too complex to be verified: {why}"));
    error.map_err(|error| VerifyError {
        kind: VerifyErrorKind::TooComplex,
        ..error
    })
}

/// Whether the instruction that follows is reached by branches only.
pub(super) const fn ends_block(op: Op) -> bool {
    matches!(
        op,
        Op::Trap | Op::Jump | Op::Return | Op::BrTable | Op::Throw | Op::ThrowRef
    )
}

/// Whether an exception may be thrown where the instruction stands, in the frame of its function.
pub(super) const fn may_throw(op: Op) -> bool {
    matches!(
        op,
        Op::Throw | Op::ThrowRef | Op::Call | Op::CallIndirect | Op::CallImport
    ) || matches!(op, Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport)
}
