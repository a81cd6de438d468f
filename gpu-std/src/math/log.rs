//! Logarithms.
//!
//! After P. T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", ACM
//! TOMS 16 (1990). There x = 2^k z with z from 0.6875 to 1.375. A table has for each 128th of that range a short number
//! c near 1 / z. Then r = z c - 1 is exact in two numbers, |r| < 2^-7, and ln x = k ln 2 - ln c + ln(1 + r). Around 1,
//! c is 1, so that nothing cancels.

use super::dd::{Dd, dd, fast_two_sum, polynomial, split, two_prod, two_sum};
use super::tables::{LN, LN_2_PARTS, LOG2_E, LOG10_E};

/// 0.6875.
const START: u64 = 0x3fe6_0000_0000_0000;
const EXPONENT: u64 = 0xfff << 52;

/// ln x to about 67 bits, for a positive finite x.
pub fn ln_dd(x: f64) -> Dd {
    let (bits, shift) = match x < f64::MIN_POSITIVE {
        // 2^54 makes a subnormal number a normal one.
        true => ((x * 18_014_398_509_481_984.0).to_bits(), 54),
        false => (x.to_bits(), 0),
    };
    let from_start = bits.wrapping_sub(START);
    let k = ((from_start as i64 >> 52) - shift) as f64;
    let z = f64::from_bits(bits.wrapping_sub(from_start & EXPONENT));
    let (c, minus_ln_c) = LN[(from_start >> 45) as usize % 128];
    let (high, low) = split(z);
    let r = two_sum(high * c - 1.0, low * c);
    // Exact: both are multiples of 2^-42 below 2^10.
    let whole = k * LN_2_PARTS.hi + minus_ln_c.hi;
    // 1/3 - r/4 + r²/5 - …
    const TAIL: [f64; 9] = [
        1.0 / 3.0,
        -1.0 / 4.0,
        1.0 / 5.0,
        -1.0 / 6.0,
        1.0 / 7.0,
        -1.0 / 8.0,
        1.0 / 9.0,
        -1.0 / 10.0,
        1.0 / 11.0,
    ];
    let square = two_prod(r.hi, r.hi);
    let tail = square.hi * r.hi * polynomial(r.hi, &TAIL);
    let first = two_sum(whole, r.hi);
    let second = two_sum(first.hi, -0.5 * square.hi);
    let small = k * LN_2_PARTS.lo + minus_ln_c.lo;
    let rest = (first.lo + second.lo) + (small + (r.lo + (tail - 0.5 * square.lo - r.hi * r.lo)));
    fast_two_sum(second.hi, rest)
}

/// The results that need no computation.
fn special(x: f64) -> Option<f64> {
    if x == 0.0 {
        Some(f64::NEG_INFINITY)
    } else if x.is_nan() || x < 0.0 {
        Some(f64::NAN)
    } else if x == f64::INFINITY {
        Some(x)
    } else {
        None
    }
}

pub fn ln(x: f64) -> f64 {
    special(x).unwrap_or_else(|| ln_dd(x).value())
}

pub fn log2(x: f64) -> f64 {
    special(x).unwrap_or_else(|| times(x, LOG2_E))
}

pub fn log10(x: f64) -> f64 {
    special(x).unwrap_or_else(|| times(x, LOG10_E))
}

fn times(x: f64, factor: Dd) -> f64 {
    // Products of 0 are exact; of numbers next to 1 the logarithm is far from subnormal.
    ln_dd(x).mul(factor).value()
}

pub fn ln_1p(x: f64) -> f64 {
    if x == -1.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_nan() || x < -1.0 {
        return f64::NAN;
    }
    if x == f64::INFINITY || x.abs() < 1e-17 {
        return x;
    }
    let sum = two_sum(1.0, x);
    // ln(s + e) = ln s + q - q² / 2 + …, where q = e / s
    let q = sum.lo / sum.hi;
    ln_dd(sum.hi).add(dd(q, -0.5 * q * q)).value()
}
