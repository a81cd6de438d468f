//! Computations for which WebAssembly needs several instructions and the GPU one. They are found within a block.
//!
//! - **Sums of values that have no bit in common.** LLVM's back end for WebAssembly writes `(e & f) | (g & ~e)` as a sum,
//!   because neither has a bit of the other. Then it sorts the sum's terms: `(x + (g & ~e)) + (e & f)`. The GPU computes
//!   any bitwise function of three words in one instruction. So the two terms are put together again:
//!   `x + ((g & ~e) | (e & f))`.
//! - **The smaller or larger of two integers.** WebAssembly compares them and selects one. The GPU has an instruction for
//!   that, which can also add to one of the two before.

use std::collections::BTreeMap;

use gpu_run_bytecode::{Op, Operand};

use crate::ptx::analysis::cfg::Node;

/// What an instruction does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idiom {
    /// The selection is the smaller or larger one of its operands 1 and 2.
    Extreme {
        /// Which.
        larger: bool,
        /// As signed numbers.
        signed: bool,
    },
    /// The sum has a part in another one, or another one in it.
    Sum(Part),
}

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
    /// Whether one is less than another. Of two equal ones it may say either: a selection of one of them is the same.
    Less {
        signed: bool,
        one: usize,
        other: usize,
    },
    Otherwise,
}

#[derive(Default)]
struct Values {
    made: Vec<Made>,
    /// The value that each unit has.
    of: BTreeMap<i64, usize>,
    /// The value of a constant.
    constants: BTreeMap<u32, usize>,
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

    fn constant(&mut self, constant: i64) -> usize {
        if let Some(value) = self.constants.get(&(constant as u32)) {
            return *value;
        }
        let value = self.add(Made::Otherwise);
        self.constants.insert(constant as u32, value);
        value
    }

    /// How a comparison is made, if `op` tells whether one value of 32 bits is less than another, or more.
    fn comparison(&mut self, op: Op, args: &[i64]) -> Option<Made> {
        use Op::*;
        let one = self.of(args[1]);
        let other = match op {
            I32LtSImm | I32LtUImm | I32GtSImm | I32GtUImm => self.constant(args[2]),
            I32LtS | I32LtU | I32LeS | I32LeU => self.of(args[2]),
            _ => return None,
        };
        let signed = matches!(op, I32LtS | I32LeS | I32LtSImm | I32GtSImm);
        Some(match op {
            I32GtSImm | I32GtUImm => Made::Less {
                signed,
                one: other,
                other: one,
            },
            _ => Made::Less { signed, one, other },
        })
    }

    /// What is selected from two values by a comparison of them.
    fn extreme(&self, selected: [usize; 2], condition: usize) -> Option<Idiom> {
        let Made::Less { signed, one, other } = self.made[condition] else {
            return None;
        };
        let larger = match selected {
            _ if selected == [one, other] => false,
            _ if selected == [other, one] => true,
            _ => return None,
        };
        Some(Idiom::Extreme { larger, signed })
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

/// The instructions of a block that have a part in this, by pc.
pub fn find(nodes: &[Node]) -> BTreeMap<u32, Idiom> {
    let mut values = Values::default();
    let mut idioms = BTreeMap::new();
    for node in nodes {
        let (op, args) = (node.inst.op, node.inst.args);
        let made = match op {
            Op::I32XorImm if args[2] == -1 => Made::Not(values.of(args[1])),
            Op::I32And => Made::And(values.of(args[1]), values.of(args[2])),
            Op::Copy32 | Op::Const32 => {
                let value = match op {
                    Op::Copy32 => values.of(args[1]),
                    _ => values.constant(args[1]),
                };
                values.of.insert(args[0], value);
                continue;
            }
            Op::Select32 => {
                let [one, other, condition] = [1, 2, 3].map(|i| values.of(args[i]));
                idioms.extend(values.extreme([one, other], condition).map(|idiom| (node.pc, idiom)));
                Made::Otherwise
            }
            Op::I32Add | Op::I32AddAdd => {
                let count = op.info().operands.len();
                let terms: Vec<usize> = args[1..count].iter().map(|unit| values.of(*unit)).collect();
                if let Some((inner, kept, term, sum)) = values.find(&terms) {
                    // A sum can be a part of one only.
                    if !idioms.contains_key(&inner) {
                        idioms.insert(inner, Idiom::Sum(Part::Inner { term: kept }));
                        idioms.insert(node.pc, Idiom::Sum(Part::Outer { inner, term, sum }));
                    }
                }
                Made::Sum(node.pc, terms)
            }
            _ => values.comparison(op, &args).unwrap_or(Made::Otherwise),
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
    idioms
}
