//! Sums of multiples, which is what addresses are: of the values that units have where a block begins.

use std::collections::BTreeMap;

use gpu_run_bytecode::Op;

use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::live::writes;

/// Units of which a sum may have multiples. One of more is not worth computing a second time.
const MOST_TERMS: usize = 3;

/// What sums and products are made of, as far as they are known.
pub trait Term: Clone {
    /// A constant.
    fn number(value: i64) -> Option<Self>;
    /// A sum.
    fn plus(&self, other: &Self) -> Option<Self>;
    /// A difference.
    fn minus(&self, other: &Self) -> Option<Self>;
    /// A product with a constant.
    fn times(&self, factor: i64) -> Option<Self>;
}

/// The result of an instruction of 32 bits that makes a sum or a multiple of what `unit` knows of its operands, or copies one.
/// All numbers are modulo 2^32.
pub fn sum<T: Term>(node: &Node, unit: impl Fn(i64) -> Option<T>) -> Option<T> {
    use Op::*;
    let args = node.inst.args;
    let unit = |i: usize| unit(args[i]);
    let imm = |i: usize| i64::from(args[i] as i32);
    let shifted = |i: usize, by: i64| unit(i)?.times(1 << (by & 31));
    match node.inst.op {
        Const32 => T::number(imm(1)),
        Copy32 => unit(1),
        I32Add => unit(1)?.plus(&unit(2)?),
        I32AddImm | BrI32AddNe | BrI32AddNeImm | BrI32AddLtS | BrI32AddLtU => unit(1)?.plus(&T::number(imm(2))?),
        I32Sub => unit(1)?.minus(&unit(2)?),
        I32MulImm => unit(1)?.times(imm(2)),
        I32ShlImm => shifted(1, args[2]),
        I32Shl1Add => shifted(1, 1)?.plus(&unit(2)?),
        I32Shl2Add => shifted(1, 2)?.plus(&unit(2)?),
        I32Shl3Add => shifted(1, 3)?.plus(&unit(2)?),
        I32Shl4Add => shifted(1, 4)?.plus(&unit(2)?),
        I32AddAdd => unit(1)?.plus(&unit(2)?)?.plus(&unit(3)?),
        _ => None,
    }
}

/// A sum of multiples of the values that units have where the block begins, and of a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// By what each is multiplied. No factor is 0.
    pub factors: BTreeMap<i64, u32>,
    /// The constant.
    pub constant: u32,
}

impl Linear {
    fn of(unit: i64) -> Linear {
        Linear {
            factors: BTreeMap::from([(unit, 1)]),
            constant: 0,
        }
    }

    /// By how much it changes where each unit changes by its step. None if one's step is not known.
    pub fn change(&self, step: impl Fn(i64) -> Option<u32>) -> Option<u32> {
        let mut changes = self
            .factors
            .iter()
            .map(|(unit, factor)| Some(factor.wrapping_mul(step(*unit)?)));
        changes.try_fold(0u32, |sum, change| Some(sum.wrapping_add(change?)))
    }
}

impl Term for Linear {
    fn number(value: i64) -> Option<Linear> {
        Some(Linear {
            factors: BTreeMap::new(),
            constant: value as u32,
        })
    }

    fn plus(&self, other: &Linear) -> Option<Linear> {
        let mut sum = self.clone();
        sum.constant = sum.constant.wrapping_add(other.constant);
        for (unit, factor) in &other.factors {
            let both = sum.factors.entry(*unit).or_default();
            *both = both.wrapping_add(*factor);
        }
        sum.factors.retain(|_, factor| *factor != 0);
        (sum.factors.len() <= MOST_TERMS).then_some(sum)
    }

    fn minus(&self, other: &Linear) -> Option<Linear> {
        self.plus(&other.times(-1)?)
    }

    fn times(&self, factor: i64) -> Option<Linear> {
        let by = factor as u32;
        let mut product = self.clone();
        product.constant = product.constant.wrapping_mul(by);
        product
            .factors
            .values_mut()
            .for_each(|factor| *factor = factor.wrapping_mul(by));
        product.factors.retain(|_, factor| *factor != 0);
        Some(product)
    }
}

/// What is known of units somewhere in a block.
#[derive(Default)]
pub struct Sums {
    /// Of those that were written since the block began. A unit that is not here still has its value.
    written: BTreeMap<i64, Option<Linear>>,
}

impl Sums {
    /// A unit's value.
    pub fn of(&self, unit: i64) -> Option<Linear> {
        self.written
            .get(&unit)
            .cloned()
            .unwrap_or_else(|| Some(Linear::of(unit)))
    }

    /// Goes on after an instruction. What it writes from unit `units` on does not count.
    pub fn apply(&mut self, node: &Node, units: i64) {
        let value = sum(node, |unit| self.of(unit));
        for unit in writes(node).flat_map(|range| range.start..range.end.min(units)) {
            self.written.insert(unit, None);
        }
        if value.is_some() {
            self.written.insert(node.inst.args[0], value);
        }
    }

    /// How much was added to a unit since the block began, if nothing else was done to it.
    pub fn step(&self, unit: i64) -> Option<u32> {
        let value = self.of(unit)?;
        let before = value.minus(&Linear::of(unit))?;
        before.factors.is_empty().then_some(before.constant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_wrap_as_addresses_do() {
        let (i, p) = (Linear::of(1), Linear::of(2));
        let address = i.times(4).and_then(|i| i.plus(&p)).expect("a sum");
        assert_eq!(address.factors, BTreeMap::from([(1, 4), (2, 1)]));
        let step = |unit: i64| [None, Some(u32::MAX), Some(0)][unit as usize];
        assert_eq!(address.change(step), Some(-4i32 as u32));
        assert_eq!(Linear::of(0).change(step), None);
        assert_eq!(address.minus(&p), i.times(4));
        assert_eq!(i.times(1 << 31).and_then(|half| half.times(2)), Linear::number(0));
        let all = (3..6).try_fold(address, |sum, unit| sum.plus(&Linear::of(unit)));
        assert_eq!(all, None);
    }
}
