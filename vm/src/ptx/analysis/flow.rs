//! What is known of the value in each unit of a frame, on every path: a forward data-flow analysis.
//!
//! - Its kind, for copies of whole ranges.
//! - Whether its NaN bits are still to be made canonical. Arithmetic leaves the GPU's own NaN; where a
//!   value's bits can be seen it is replaced. A unit in which arithmetic meets bits that must stay as
//!   they are (`eager`) gets canonical results at once.
//! - As an address: its alignment, its largest value, and how far past it memory is known to reach.
//!   These remove bounds checks that another one dominates, and tests of alignment.

use std::borrow::Cow;
use std::collections::BTreeSet;

use gpu_run_bytecode::{Class, FuncType, Function, Mem, Op, Operand, Ty, ValType};

use crate::ptx::analysis::cfg::{Cfg, Node, handlers, may_throw};
use crate::ptx::analysis::interprocedural::Analysis;

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// Nothing that may be read.
    #[default]
    Undefined,
    /// A 32-bit value or a quarter of a 128-bit one.
    Unit,
    /// The low half of a 64-bit value; the next unit is its `High`.
    Low,
    /// The high half of a 64-bit value.
    High,
    /// Zero of any width.
    Zero,
}

/// Whose NaN a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Nan {
    /// None: a number, or not a float.
    #[default]
    Never,
    /// Bits that must stay as they are.
    Kept,
    /// The GPU's, to be made canonical where it can be seen.
    Raw,
    /// Either; they met in this unit.
    Mixed(u32),
}

/// What is known of the value of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fact {
    /// See [`Kind`].
    pub kind: Kind,
    /// See [`Nan`]; of the low unit of a 64-bit value.
    pub nan: Nan,
    /// The value is a multiple of 2 to the power of this.
    pub align: u8,
    /// Largest value, unsigned.
    pub max: u32,
    /// It is that value.
    pub exact: bool,
    /// Memory 0 reaches at least this many bytes beyond the value, as an address.
    pub reach: u32,
    /// The value is that of unit `base - 1` plus `delta`, and the sum did not wrap; 0: of none.
    pub base: u32,
    /// See `base`.
    pub delta: u32,
    /// Whether another unit's `base` is this one.
    is_base: bool,
}

impl Fact {
    fn unit() -> Fact {
        Fact {
            kind: Kind::Unit,
            nan: Nan::Kept,
            align: 0,
            max: u32::MAX,
            exact: false,
            reach: 0,
            base: 0,
            delta: 0,
            is_base: false,
        }
    }

    /// The value, if it is known.
    pub fn constant_value(&self) -> Option<u32> {
        self.exact.then_some(self.max)
    }

    /// The value plus `offset` is a multiple of 2 to the power of this.
    pub fn align_with(&self, offset: u64) -> u8 {
        self.align.min(offset.trailing_zeros().min(32) as u8)
    }

    fn of_kind(kind: Kind) -> Fact {
        Fact { kind, ..Fact::unit() }
    }

    fn constant(value: u32) -> Fact {
        Fact {
            nan: Nan::Never,
            align: value.trailing_zeros() as u8,
            max: value,
            exact: true,
            ..Fact::unit()
        }
    }

    fn number(max: u32) -> Fact {
        Fact {
            nan: Nan::Never,
            max,
            ..Fact::unit()
        }
    }

    /// What is known where two paths meet, in unit `at`.
    fn join(self, other: Fact, at: u32, widen: bool) -> Fact {
        let kind = match (self.kind, other.kind) {
            (a, b) if a == b => a,
            (Kind::Zero, Kind::Undefined) | (Kind::Undefined, Kind::Zero) => Kind::Undefined,
            (Kind::Zero, kind) | (kind, Kind::Zero) => kind,
            _ => Kind::Undefined,
        };
        let nan = match (self.nan, other.nan) {
            (a, b) if a == b => a,
            (Nan::Never, nan) | (nan, Nan::Never) => nan,
            (Nan::Mixed(_), _) => self.nan,
            (_, Nan::Mixed(_)) => other.nan,
            _ => Nan::Mixed(at),
        };
        Fact {
            kind,
            nan,
            align: self.align.min(other.align),
            max: match widen && other.max > self.max {
                true => u32::MAX,
                false => self.max.max(other.max),
            },
            exact: self.exact && other.exact && self.max == other.max,
            reach: match widen && other.reach < self.reach {
                true => 0,
                false => self.reach.min(other.reach),
            },
            base: match (self.base, self.delta) == (other.base, other.delta) {
                true => self.base,
                false => 0,
            },
            delta: self.delta,
            is_base: self.is_base || other.is_base,
        }
    }
}

/// Facts of all units at one place.
pub type State = Vec<Fact>;

/// What the analysis of a function found.
pub struct Flow {
    /// State at the start of each block.
    pub at: Vec<State>,
    /// Units that are canonical at once.
    pub eager: BTreeSet<u32>,
    /// Whether every value given to the stack pointer is a multiple of 16.
    pub stack_aligned: bool,
}

/// The transfer function of a function's instructions.
pub struct TransferFn<'a> {
    /// The whole program.
    pub analysis: &'a Analysis<'a>,
    /// The function.
    pub function: &'a Function,
    /// Units that are canonical at once.
    pub eager: BTreeSet<u32>,
}

/// The value types that an instruction's [`Operand::SrcRange`] stands for, where they are known.
fn tag_types(analysis: &Analysis, tag: u32) -> Vec<ValType> {
    let tags = analysis.program.meta.tag_types();
    let ty = tags
        .get(tag as usize)
        .map(|ty| &analysis.program.meta.types[*ty as usize]);
    ty.map_or_else(Vec::new, |ty| ty.params.clone())
}

fn write(state: &mut State, at: u32, facts: &[Fact]) {
    let at = at as usize;
    for (i, fact) in facts.iter().enumerate() {
        let Some(unit) = state.get_mut(at + i) else { break };
        let was_base = std::mem::replace(unit, *fact).is_base;
        if was_base {
            let base = (at + i) as u32 + 1;
            state
                .iter_mut()
                .filter(|fact| fact.base == base)
                .for_each(|fact| fact.base = 0);
        }
    }
}

/// Notes that memory 0 reaches `bytes` beyond the address in a unit, and beyond what that is a sum of.
pub fn note_reach(state: &mut State, unit: u32, bytes: u32) {
    let Some(fact) = state.get_mut(unit as usize) else {
        return;
    };
    fact.reach = fact.reach.max(bytes);
    let (base, from_base) = (fact.base, fact.delta.checked_add(bytes));
    if let (Some(base), Some(bytes)) = (base.checked_sub(1), from_base) {
        state[base as usize].reach = state[base as usize].reach.max(bytes);
    }
}

/// How far memory 0 is known to reach beyond the address in a unit.
pub fn reach(state: &State, unit: u32) -> u32 {
    let fact = state[unit as usize];
    let of_base = fact.base.checked_sub(1).map(|base| state[base as usize].reach);
    fact.reach.max(of_base.unwrap_or(0).saturating_sub(fact.delta))
}

fn write_values(state: &mut State, mut at: u32, types: &[ValType]) {
    for ty in types {
        match ty.units() {
            2 => write(state, at, &[Fact::of_kind(Kind::Low), Fact::of_kind(Kind::High)]),
            units => write(state, at, &[Fact::unit(); 4][..units as usize]),
        }
        at += ty.units();
    }
}

/// Whether an operand's NaN bits do not show in what the instruction does: arithmetic and comparisons.
pub fn hides_nan(op: Op, operand: Operand) -> bool {
    use Op::*;
    let bits = matches!(op, F32Copysign | F32Abs | F32Neg | F64Copysign | F64Abs | F64Neg);
    matches!(operand, Operand::Src(Ty::F32 | Ty::F64)) && !bits
}

/// Whether the result of an opcode is a scalar float that arithmetic made.
pub fn is_arithmetic(op: Op) -> bool {
    let info = op.info();
    matches!(info.class, Class::Pure)
        && matches!(info.operands[0], Operand::Def(Ty::F32 | Ty::F64))
        && info.operands[1..].iter().all(|operand| hides_nan(op, *operand))
        && !matches!(
            op,
            Op::F32ConvertI32S
                | Op::F32ConvertI32U
                | Op::F32ConvertI64S
                | Op::F32ConvertI64U
                | Op::F64ConvertI32S
                | Op::F64ConvertI32U
                | Op::F64ConvertI64S
                | Op::F64ConvertI64U
        )
}

/// Whether an opcode hands on the bits of its operands: what is known of their NaNs holds for the result.
pub fn passes_nan(op: Op) -> bool {
    matches!(op, Op::Copy32 | Op::Copy64 | Op::Select32 | Op::Select64)
}

/// The units that made the mixtures in a frame, which the interpreter is to have.
fn mixtures(state: &State) -> impl Iterator<Item = u32> {
    state.iter().filter_map(|fact| match fact.nan {
        Nan::Mixed(origin) => Some(origin),
        _ => None,
    })
}

/// What is known where paths with these facts meet.
fn join(state: &State, others: impl Iterator<Item = Fact>) -> State {
    let pairs = (0..).zip(state.iter().zip(others));
    pairs
        .map(|(unit, (fact, other))| fact.join(other, unit, false))
        .collect()
}

impl TransferFn<'_> {
    /// Whether a global is the stack pointer.
    pub fn is_stack_pointer(&self, global: i64) -> bool {
        self.analysis.program.meta.stack_pointer == Some(global as u32)
    }

    /// What is known after an instruction.
    pub fn apply(&self, node: &Node, state: &mut State) {
        let (op, args) = (node.inst.op, node.inst.args);
        let info = op.info();
        let unit = |i: usize| args[i] as u32;
        match op {
            Op::Call | Op::CallIndirect | Op::CallImport => {
                let ty = self.callee_type(node);
                write_values(state, unit(0), &ty.results);
                return;
            }
            Op::CopyRange => {
                let (to, from, count) = (unit(0), unit(1), unit(2));
                for i in 0..count {
                    let mut fact = state[(from + i) as usize];
                    if self.eager.contains(&(to + i)) && fact.nan == Nan::Raw {
                        fact.nan = Nan::Kept;
                    }
                    write(state, to + i, &[fact]);
                }
                return;
            }
            Op::Zero => {
                let zero = Fact {
                    kind: Kind::Zero,
                    ..Fact::constant(0)
                };
                for i in 0..unit(1) {
                    write(state, unit(0) + i, &[zero]);
                }
                return;
            }
            _ => {}
        }
        if let Some((address, offset, width)) = self.checked(node) {
            note_reach(state, address, (offset + width) as u32);
        }
        let Some(Operand::Def(ty)) = info.operands.first() else {
            return;
        };
        let ty = *ty;
        let mut value = match ty.units() {
            // Also what is copied of a zero of any width is written in 32 bits.
            1 => Fact {
                kind: Kind::Unit,
                ..self.address_fact(node, state)
            },
            2 => Fact::of_kind(Kind::Low),
            _ => Fact::unit(),
        };
        value.nan = self.nan_of(node, state);
        if value.base == unit(0) + 1 {
            value.base = 0;
        }
        match ty.units() {
            2 => {
                value.kind = Kind::Low;
                write(state, unit(0), &[value, Fact::of_kind(Kind::High)]);
            }
            units => write(state, unit(0), &[value; 4][..units as usize]),
        }
        // Its own write may have ended what it was a sum of.
        let base = state[unit(0) as usize].base;
        if let Some(base) = base.checked_sub(1) {
            state[base as usize].is_base = true;
        }
    }

    /// The address unit, offset and width of an access to memory 0 that is checked with 32 bits.
    pub fn checked(&self, node: &Node) -> Option<(u32, u64, u64)> {
        let least = self.analysis.least_memory?;
        let (class, args) = (node.inst.op.info().class, node.inst.args);
        let (address, offset, mem) = match class {
            Class::Load(mem) => (args[1], args[2], mem),
            Class::Store(mem) => (args[0], args[2], mem),
            Class::LoadFar(mem) if args[2] == 0 => (args[1], args[3], mem),
            Class::StoreFar(mem) if args[2] == 0 => (args[0], args[3], mem),
            _ => return None,
        };
        let (offset, width) = (offset as u64, u64::from(mem.size()));
        let fits = offset.checked_add(width).is_some_and(|end| end <= least);
        fits.then_some((address as u32, offset, width))
    }

    fn nan_of(&self, node: &Node, state: &State) -> Nan {
        let (op, args) = (node.inst.op, node.inst.args);
        let eager = self.eager.contains(&(args[0] as u32));
        if is_arithmetic(op) {
            return match eager {
                true => Nan::Kept,
                false => Nan::Raw,
            };
        }
        if passes_nan(op) {
            let fact = |i: usize| {
                let mut fact = state[args[i] as usize];
                if eager && fact.nan == Nan::Raw {
                    fact.nan = Nan::Kept;
                }
                fact
            };
            return match op {
                Op::Copy32 | Op::Copy64 => fact(1).nan,
                // The origin of a mixture made here is the unit that is written.
                _ => fact(1).join(fact(2), args[0] as u32, false).nan,
            };
        }
        match op {
            Op::Const32 => match f32::from_bits(args[1] as u32).is_nan() {
                true => Nan::Kept,
                false => Nan::Never,
            },
            Op::Const64 => match f64::from_bits(args[1] as u64).is_nan() {
                true => Nan::Kept,
                false => Nan::Never,
            },
            Op::Const64S if args[1] >= 0 => Nan::Never,
            // No float, or bits that were loaded.
            _ => Nan::Kept,
        }
    }

    /// What is known of a 32-bit result as a number.
    fn address_fact(&self, node: &Node, state: &State) -> Fact {
        use Op::*;
        let (op, args) = (node.inst.op, node.inst.args);
        let fact = |i: usize| state[args[i] as usize];
        let (a, imm) = match node.inst.op.info().operands.get(1) {
            Some(Operand::Src(ty)) if ty.units() == 1 => (fact(1), args[2] as u32),
            _ => (Fact::unit(), 0),
        };
        let shifted = |fact: Fact, by: u32| Fact {
            align: (fact.align + by as u8).min(32),
            max: fact.max.saturating_mul(1 << by),
            ..Fact::number(0)
        };
        let sum = |a: Fact, b: Fact| Fact {
            align: a.align.min(b.align),
            ..Fact::number(a.max.saturating_add(b.max))
        };
        let product = |a: Fact, b: Fact| Fact {
            align: (a.align + b.align).min(32),
            ..Fact::number(a.max.saturating_mul(b.max))
        };
        let masked = |a: Fact, b: Fact| Fact {
            align: a.align.max(b.align),
            ..Fact::number(a.max.min(b.max))
        };
        // Or and exclusive or: no bit above the operands' highest.
        let bits = |a: Fact, b: Fact| Fact {
            align: a.align.min(b.align),
            ..Fact::number(u32::MAX.checked_shr((a.max | b.max).leading_zeros()).unwrap_or(0))
        };
        match op {
            Const32 => Fact::constant(args[1] as u32),
            Copy32 => a,
            Select32 => a.join(fact(2), args[0] as u32, false),
            I32Add => sum(a, fact(2)),
            I32AddImm => {
                let mut sum = sum(a, Fact::constant(imm));
                let reach = reach(state, args[1] as u32);
                let forward = args[2] >= 0 && (imm < reach || a.max.checked_add(imm).is_some());
                if forward {
                    sum.reach = reach.saturating_sub(imm);
                    (sum.base, sum.delta) = match (a.base, a.delta.checked_add(imm)) {
                        (1.., Some(delta)) => (a.base, delta),
                        // Not of a register whose NaN is still the GPU's: the check saw other bits.
                        _ if matches!(a.nan, Nan::Never | Nan::Kept) => (args[1] as u32 + 1, imm),
                        _ => (0, 0),
                    };
                }
                sum
            }
            I32Sub => Fact {
                align: a.align.min(fact(2).align),
                ..Fact::number(u32::MAX)
            },
            I32And => masked(a, fact(2)),
            I32AndImm => masked(a, Fact::constant(imm)),
            I32Or | I32Xor => bits(a, fact(2)),
            I32OrImm | I32XorImm => bits(a, Fact::constant(imm)),
            I32ShlImm => shifted(a, imm & 31),
            I32ShrUImm => Fact {
                align: a.align.saturating_sub((imm & 31) as u8),
                ..Fact::number(a.max >> (imm & 31))
            },
            I32MulImm => product(a, Fact::constant(imm)),
            I32Mul => product(a, fact(2)),
            I32ShlOr | I32ShlXor => bits(shifted(a, imm & 31), fact(3)),
            I32ShrUXor => bits(Fact::number(a.max >> (imm & 31)), fact(3)),
            I32AndXor => bits(masked(a, fact(2)), fact(3)),
            I32ShrUAnd => masked(Fact::number(a.max >> (imm & 31)), Fact::constant(args[3] as u32)),
            I32MulAdd => sum(product(a, fact(2)), fact(3)),
            I32AddAdd => sum(sum(a, fact(2)), fact(3)),
            I32Shl1Add => sum(shifted(a, 1), fact(2)),
            I32Shl2Add => sum(shifted(a, 2), fact(2)),
            I32Shl3Add => sum(shifted(a, 3), fact(2)),
            I32Shl4Add => sum(shifted(a, 4), fact(2)),
            // A count may wrap, which keeps its low bits.
            BrI32AddNe | BrI32AddNeImm | BrI32AddLtS | BrI32AddLtU => Fact {
                align: a.align.min(imm.trailing_zeros() as u8),
                ..Fact::number(u32::MAX)
            },
            I32RemU => Fact::number(fact(2).max.saturating_sub(1).min(a.max)),
            GlobalGet32 if self.is_stack_pointer(args[1]) && self.analysis.aligned_stack => Fact {
                align: 4,
                ..Fact::unit()
            },
            _ => match (node.inst.op.info().class, node.inst.op.info().operands[0]) {
                (Class::Load(Mem::u8) | Class::LoadFar(Mem::u8), _) => Fact::number(0xff),
                (Class::Load(Mem::u16) | Class::LoadFar(Mem::u16), _) => Fact::number(0xffff),
                (Class::Pure | Class::Traps, Operand::Def(Ty::I32)) => Fact {
                    nan: Nan::Never,
                    ..Fact::unit()
                },
                _ => Fact::unit(),
            },
        }
    }

    /// Type of the function that a call calls.
    pub fn callee_type(&self, node: &Node) -> FuncType {
        let meta = &self.analysis.program.meta;
        let ty = match node.inst.op {
            Op::Call | Op::ReturnCall => {
                let callee = self.analysis.callee(node.pc, &node.inst);
                self.analysis.func_types.get(callee as usize).copied()
            }
            Op::CallImport | Op::ReturnCallImport => self.analysis.func_types.get(node.inst.args[1] as usize).copied(),
            _ => Some(node.inst.args[3] as u32),
        };
        ty.and_then(|ty| meta.types.get(ty as usize))
            .cloned()
            .unwrap_or_default()
    }

    /// Units whose mixture of NaNs an instruction would show.
    fn shown(&self, node: &Node, state: &State, found: &mut BTreeSet<u32>) {
        let op = node.inst.op;
        let mut look = |unit: i64| {
            if let Some(Fact {
                nan: Nan::Mixed(origin),
                ..
            }) = state.get(unit as usize)
            {
                found.insert(*origin);
            }
        };
        if op == Op::CopyRange {
            return;
        }
        for (operand, arg) in op.info().operands.iter().zip(node.inst.args) {
            match operand {
                Operand::Src(_) | Operand::Address if !hides_nan(op, *operand) && !passes_nan(op) => look(arg),
                Operand::Base => {
                    let mut at = arg;
                    for ty in &self.callee_type(node).params {
                        look(at);
                        at += i64::from(ty.units());
                    }
                }
                Operand::SrcRange => {
                    let count = node.inst.args.iter().copied().max().unwrap_or(0);
                    for unit in arg..arg + count.min(65536) {
                        look(unit);
                    }
                }
                _ => {}
            }
        }
    }

    /// Analyses a function, whose values at each of the graph's entries are of these kinds.
    pub fn run(mut self, cfg: &Cfg, units: u32, ty: &FuncType, entries: &[Vec<Kind>]) -> Flow {
        loop {
            let at = self.fixpoint(cfg, units, ty, entries);
            let mut mixed = BTreeSet::new();
            let mut stack_aligned = true;
            for block in &cfg.order {
                let mut state = at[*block].clone();
                if cfg.blocks[*block].cold {
                    mixed.extend(mixtures(&state));
                    continue;
                }
                for node in cfg.block_nodes(*block) {
                    if node.inst.op == Op::BrTable && cfg.has_cold_entry(*block) {
                        mixed.extend(mixtures(&state));
                    }
                    self.shown(node, &state, &mut mixed);
                    let args = node.inst.args;
                    let sets = matches!(node.inst.op, Op::StackPointerSet | Op::GlobalSet32);
                    if sets && self.is_stack_pointer(args[1]) {
                        stack_aligned &= state[args[0] as usize].align >= 4;
                    }
                    self.apply(node, &mut state);
                }
            }
            let before = self.eager.len();
            self.eager.extend(mixed);
            if self.eager.len() == before {
                return Flow {
                    at,
                    eager: self.eager,
                    stack_aligned,
                };
            }
        }
    }

    fn fixpoint(&self, cfg: &Cfg, units: u32, ty: &FuncType, entries: &[Vec<Kind>]) -> Vec<State> {
        let mut at: Vec<State> = vec![Vec::new(); cfg.blocks.len()];
        let mut visits = vec![0u32; cfg.blocks.len()];
        let mut place = vec![0; cfg.blocks.len()];
        for (i, block) in cfg.order.iter().enumerate() {
            place[*block] = i;
        }
        if cfg.order.is_empty() {
            return at;
        }
        let mut entry = vec![Fact::default(); units as usize];
        write_values(&mut entry, 0, &ty.params);
        at[0] = entry;
        let mut work = BTreeSet::from([0usize]);
        for (block, kinds) in cfg.entries.iter().zip(entries) {
            let facts = kinds.iter().map(|kind| Fact::of_kind(*kind));
            at[*block] = match at[*block].is_empty() {
                true => facts.collect(),
                // The function begins with a loop.
                false => join(&at[*block], facts),
            };
            work.insert(place[*block]);
        }
        while let Some(position) = work.pop_first() {
            let block = cfg.order[position];
            if cfg.blocks[block].cold {
                continue;
            }
            let mut state = at[block].clone();
            for node in cfg.block_nodes(block) {
                self.apply(node, &mut state);
            }
            // An exception puts its values where the handler wants them, on the handler's edge alone.
            let last = cfg.last(block);
            let clauses = match may_throw(last.inst.op) {
                true => handlers(self.function, last.pc),
                false => Vec::new(),
            };
            let thrown = clauses.iter().filter_map(|clause| {
                let mut state = state.clone();
                let mut types = clause.tag.map_or_else(Vec::new, |tag| tag_types(self.analysis, tag));
                types.extend(clause.reference.then_some(ValType::ExnRef));
                write_values(&mut state, clause.unit, &types);
                Some((cfg.block_at(clause.target)?, Cow::Owned(state)))
            });
            // Entries of a jump table that lead to one place are one edge.
            let plain: BTreeSet<usize> = cfg.plain_successors(block).into_iter().collect();
            let plain = plain.into_iter().map(|to| (to, Cow::Borrowed(&state)));
            for (to, state) in plain.chain(thrown) {
                if at[to].is_empty() {
                    at[to] = state.into_owned();
                    work.insert(place[to]);
                    continue;
                }
                let widen = visits[to] > 1;
                let mut changed = false;
                for (unit, (old, new)) in at[to].iter_mut().zip(state.iter()).enumerate() {
                    let joined = old.join(*new, unit as u32, widen);
                    changed |= joined != *old;
                    *old = joined;
                }
                if changed {
                    visits[to] += 1;
                    work.insert(place[to]);
                }
            }
        }
        at
    }
}
