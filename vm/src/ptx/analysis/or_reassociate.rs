//! Sums of values that have no bit in common.
//!
//! LLVM's back end for WebAssembly writes `(e & f) | (g & ~e)` as a sum, because neither has a bit of the other. Then
//! it sorts the sum's terms: `(x + (g & ~e)) + (e & f)`. The GPU computes any bitwise function of three words in one
//! instruction. So the two terms are put together again: `x + ((g & ~e) | (e & f))`. Such sums are found within a
//! block.

use std::collections::BTreeMap;

use gpu_run_bytecode::{Op, Operand};

use crate::ptx::analysis::cfg::Node;

/// What a sum does besides or instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The sum at this instruction is the `inner` one of another. Its operand `term` (an index in the
    /// instruction) and the sum of the others are kept for that one.
    Inner {
        /// See the variant.
        term: usize,
    },
    /// A sum of what the instruction at `inner` (a pc) kept, its operand `term`, and those that are neither this nor
    /// `sum`. The latter is the result of that instruction.
    Outer {
        /// See the variant.
        inner: u32,
        /// See the variant.
        term: usize,
        /// See the variant.
        sum: usize,
    },
}

/// How a value was made, from values by their numbers.
enum Made {
    /// Of one: its complement.
    Not(usize),
    /// The bits that both have.
    And(usize, usize),
    /// By the instruction at a pc: the values of its operands 1, 2, …
    Sum(u32, Vec<usize>),
    Otherwise,
}

#[derive(Default)]
struct Values {
    made: Vec<Made>,
    /// The value that each unit has.
    of: BTreeMap<i64, usize>,
}

impl Values {
    fn add(&mut self, made: Made) -> usize {
        self.made.push(made);
        self.made.len() - 1
    }

    fn of(&mut self, unit: i64) -> usize {
        if let Some(value) = self.of.get(&unit) {
            return *value;
        }
        let value = self.add(Made::Otherwise);
        self.of.insert(unit, value);
        value
    }

    /// Whether one is the complement of the other.
    fn opposite(&self, a: usize, b: usize) -> bool {
        matches!(self.made[a], Made::Not(of) if of == b) || matches!(self.made[b], Made::Not(of) if of == a)
    }

    /// Whether two values have no bit in common: each is inside of one of two complements.
    fn disjoint(&self, a: usize, b: usize) -> bool {
        match (&self.made[a], &self.made[b]) {
            (Made::And(a, c), Made::And(b, d)) => [(a, b), (a, d), (c, b), (c, d)]
                .iter()
                .any(|(a, b)| self.opposite(**a, **b)),
            _ => false,
        }
    }

    /// A sum of a term and of an inner sum, of which another term has no bit in common with that.
    fn find(&self, values: &[usize]) -> Option<(u32, usize, usize, usize)> {
        for (sum, inner) in values.iter().enumerate() {
            let Made::Sum(pc, terms) = &self.made[*inner] else {
                continue;
            };
            for (term, value) in values.iter().enumerate().filter(|(term, _)| *term != sum) {
                if let Some(other) = terms.iter().position(|other| self.disjoint(*value, *other)) {
                    return Some((*pc, other + 1, term + 1, sum + 1));
                }
            }
        }
        None
    }
}

/// The sums of a block that have a part in this, by pc.
pub fn find(nodes: &[Node]) -> BTreeMap<u32, Part> {
    let mut values = Values::default();
    let mut parts = BTreeMap::new();
    for node in nodes {
        let (op, args) = (node.inst.op, node.inst.args);
        let made = match op {
            Op::I32XorImm if args[2] == -1 => Made::Not(values.of(args[1])),
            Op::I32And => Made::And(values.of(args[1]), values.of(args[2])),
            Op::Copy32 => {
                let value = values.of(args[1]);
                values.of.insert(args[0], value);
                continue;
            }
            Op::I32Add | Op::I32AddAdd => {
                let count = op.info().operands.len();
                let terms: Vec<usize> = args[1..count].iter().map(|unit| values.of(*unit)).collect();
                if let Some((inner, kept, term, sum)) = values.find(&terms) {
                    // A sum can be a part of one only.
                    if !parts.contains_key(&inner) {
                        parts.insert(inner, Part::Inner { term: kept });
                        parts.insert(node.pc, Part::Outer { inner, term, sum });
                    }
                }
                Made::Sum(node.pc, terms)
            }
            _ => Made::Otherwise,
        };
        match op.info().operands.first() {
            Some(Operand::Def(ty)) => {
                for unit in args[0]..args[0] + i64::from(ty.units()) {
                    values.of.remove(&unit);
                }
                let value = values.add(made);
                values.of.insert(args[0], value);
            }
            Some(Operand::Src(_) | Operand::Address) | None => {}
            // Ranges, calls and whatever else.
            _ => values.of.clear(),
        }
    }
    parts
}
