//! Sine, cosine and tangent.
//!
//! The argument is reduced to at most π / 4. Below 2^20 this is done by subtracting multiples of π / 2 in four parts
//! (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980). Above, it is done by the bits of
//! 2 / π that matter for its exponent (M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions",
//! SIGNUM Newsletter 18, 1983). Then come Taylor series.

use super::dd::{Dd, dd, fast_two_sum, polynomial, two_prod, two_sum};
use super::tables::{HALF_PI, HALF_PI_PARTS, TWO_OVER_PI};

/// A quarter q and a rest of at most about π / 4 with |x| = q π / 2 + rest, q modulo 4. For finite x.
fn reduce(x: f64) -> (u32, Dd) {
    let x = x.abs();
    if x <= core::f64::consts::FRAC_PI_4 {
        return (0, dd(x, 0.0));
    }
    if x >= 1_048_576.0 {
        return reduce_large(x);
    }
    let n = crate::platform::nearest64(x * core::f64::consts::FRAC_2_PI);
    let [first, second, third, fourth] = HALF_PI_PARTS;
    // The products with the first three parts are exact, and so is the first difference.
    let a = two_sum(x - n * first, -(n * second));
    let b = two_sum(a.hi, -(n * third));
    (n as u32, two_sum(b.hi, (a.lo + b.lo) - n * fourth))
}

/// The same for a large number m 2^e with an integer m. Only 192 of the bits of 2 / π make a difference to m 2^e 2 / π
/// modulo 4 that can be seen.
fn reduce_large(x: f64) -> (u32, Dd) {
    let m = x.to_bits() & ((1 << 52) - 1) | 1 << 52;
    let exponent = (x.to_bits() >> 52) as i32 - 1075;
    // The first bit after the binary point has the place 64; of those from `at` on, the first times 2^e is worth 2.
    let at = (exponent - 2 + 64) as usize;
    let word = |i: usize| {
        let (index, shift) = (at / 64 + i, at % 64);
        let low = if shift == 0 {
            0
        } else {
            TWO_OVER_PI[index + 1] >> (64 - shift)
        };
        TWO_OVER_PI[index] << shift | low
    };
    // The product modulo 2^192: two bits of quarters, 190 of their fraction.
    let low = m as u128 * word(2) as u128;
    let middle = m as u128 * word(1) as u128 + (low >> 64);
    let high = m.wrapping_mul(word(0)).wrapping_add((middle >> 64) as u64);
    let fraction = (high as u128) << 64 | (middle as u64) as u128;
    // The 190 bits and two zeros.
    let quarter = (high >> 62) as u32;
    let fraction = fraction << 2 | ((low as u64) >> 62) as u128;
    let lowest = (low as u64) << 2;
    // More than half a quarter: the next quarter, and a negative rest.
    let (quarter, negative) = (quarter + (fraction >> 127) as u32, fraction >> 127 == 1);
    let (fraction, lowest) = match negative {
        true if lowest == 0 => (fraction.wrapping_neg(), 0),
        true => (!fraction, lowest.wrapping_neg()),
        false => (fraction, lowest),
    };
    let rest = from_fixed(fraction, lowest);
    let rest = if negative { rest.neg() } else { rest };
    (quarter % 4, rest.mul(HALF_PI))
}

/// The value of 192 bits after the binary point, of which some are set.
fn from_fixed(upper: u128, lower: u64) -> Dd {
    let zeros = upper.leading_zeros();
    // At most 63 or so: no number is nearer to a multiple of π / 2.
    let bits = match zeros {
        0 => upper,
        1..64 => upper << zeros | (lower >> (64 - zeros)) as u128,
        _ => upper << 64 | lower as u128,
    };
    let zeros = zeros.min(64);
    // 53 bits, then 53 more: both conversions are exact.
    let high = (bits >> 75) as f64;
    let low = (bits >> 22 & ((1 << 53) - 1)) as f64;
    let unit = f64::from_bits((1023 - zeros as u64 - 53) << 52);
    // 2^-53.
    fast_two_sum(high * unit, low * unit * f64::from_bits((1023 - 53) << 52))
}

/// sin y, for |y| up to π / 4.
fn sin_series(y: Dd) -> Dd {
    // -1/3! + y²/5! - …
    const TAIL: [f64; 9] = [
        -1.0 / 6.0,
        1.0 / 120.0,
        -1.0 / 5040.0,
        1.0 / 362_880.0,
        -1.0 / 39_916_800.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 355_687_428_096_000.0,
        -1.0 / 121_645_100_408_832_000.0,
    ];
    let square = y.hi * y.hi;
    let rest = y.hi * square * polynomial(square, &TAIL);
    fast_two_sum(y.hi, rest + y.lo * (1.0 - 0.5 * square))
}

/// cos y, for |y| up to π / 4.
fn cos_series(y: Dd) -> Dd {
    // 1/4! - y²/6! + …
    const TAIL: [f64; 8] = [
        1.0 / 24.0,
        -1.0 / 720.0,
        1.0 / 40_320.0,
        -1.0 / 3_628_800.0,
        1.0 / 479_001_600.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 20_922_789_888_000.0,
        -1.0 / 6_402_373_705_728_000.0,
    ];
    let square = two_prod(y.hi, y.hi);
    let first = fast_two_sum(1.0, -0.5 * square.hi);
    let rest = square.hi * square.hi * polynomial(square.hi, &TAIL);
    fast_two_sum(first.hi, first.lo + (rest - 0.5 * square.lo - y.hi * y.lo))
}

/// Sine and cosine of a finite number.
fn both(x: f64) -> (Dd, Dd) {
    let (quarter, rest) = reduce(x);
    let (sin, cos) = (sin_series(rest), cos_series(rest));
    let (sin, cos) = match quarter % 4 {
        0 => (sin, cos),
        1 => (cos, sin.neg()),
        2 => (sin.neg(), cos.neg()),
        _ => (cos.neg(), sin),
    };
    (if x < 0.0 { sin.neg() } else { sin }, cos)
}

pub fn sin_cos(x: f64) -> (f64, f64) {
    if !x.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    // The series would lose the sign of 0.
    if x.abs() < 1e-9 {
        return (x, 1.0);
    }
    let (sin, cos) = both(x);
    (sin.value(), cos.value())
}

pub fn sin(x: f64) -> f64 {
    sin_cos(x).0
}

pub fn cos(x: f64) -> f64 {
    sin_cos(x).1
}

pub fn tan(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if x.abs() < 1e-9 {
        return x;
    }
    let (sin, cos) = both(x);
    sin.div(cos).value()
}
