//! Powers and roots.

use super::dd::{Dd, dd, scale, two_prod};
use super::exp::exp_dd;
use super::log::ln_dd;

/// Whether a number is an integer, and whether an odd one.
fn parity(y: f64) -> (bool, bool) {
    let size = y.abs();
    // From 2^53 on all are even.
    if size >= 9_007_199_254_740_992.0 {
        return (true, false);
    }
    let whole = size as u64;
    (whole as f64 == size, whole as f64 == size && whole % 2 == 1)
}

/// e^(y ln x), the logarithm to 67 bits.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (integer, odd) = parity(y);
    let size = x.abs();
    if y.is_infinite() {
        return match (size == 1.0, (size > 1.0) == (y > 0.0)) {
            (true, _) => 1.0,
            (false, true) => f64::INFINITY,
            (false, false) => 0.0,
        };
    }
    if x < 0.0 && size != f64::INFINITY && !integer {
        return f64::NAN;
    }
    let negative = x.is_sign_negative() && odd;
    let value = if size == 0.0 || size == f64::INFINITY {
        if (size == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY }
    } else if size == 1.0 {
        1.0
    } else {
        power(size, y)
    };
    if negative { -value } else { value }
}

fn power(x: f64, y: f64) -> f64 {
    let log = ln_dd(x);
    let rough = log.hi * y;
    if rough.abs() > 746.0 {
        return if rough > 0.0 { f64::INFINITY } else { 0.0 };
    }
    // So near to 1 that the product's parts could be subnormal.
    if rough.abs() < 1e-20 {
        return 1.0 + rough;
    }
    // The logarithm is at least 2^-53, so y is below 2^63 and the product is exact.
    let product = two_prod(log.hi, y);
    exp_dd(dd(product.hi, product.lo + log.lo * y))
}

pub fn cbrt(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    let size = x.abs();
    if size == 0.0 || size == f64::INFINITY {
        return x;
    }
    // A subnormal number would have too few bits: 2^54 is a cube.
    let (size, down) = match size < f64::MIN_POSITIVE {
        true => (size * 18_014_398_509_481_984.0, -18),
        false => (size, 0),
    };
    let biased = (size.to_bits() >> 52) as i32;
    // size = m 2^(3 k) with m from 1 to 8.
    let k = (biased - 1023).div_euclid(3);
    let m = f64::from_bits(size.to_bits() - (((3 * k) as i64) << 52) as u64);
    // The bits of a third, to 5 of them, then Newton's steps, each of which doubles how many are right.
    let mut root = f64::from_bits(m.to_bits() / 3 + 0x2a9f_8a5a_0000_0000);
    for _ in 0..4 {
        root -= (root - m / (root * root)) * (1.0 / 3.0);
    }
    // The last one in twice the precision.
    let cube = two_prod(root, root).mul(dd(root, 0.0));
    let rest = (m - cube.hi) - cube.lo;
    scale(root + rest / (3.0 * root * root), k + down).copysign(x)
}

pub fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    if x == f64::INFINITY || y == f64::INFINITY {
        return f64::INFINITY;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (long, short) = if x > y { (x, y) } else { (y, x) };
    // The shorter side is below half a unit, or 0.
    if long * 1e-20 >= short {
        return long;
    }
    // Squares that neither overflow nor lose bits.
    let factor = match long {
        _ if long > 1e150 => scale(1.0, -600),
        _ if short < 1e-140 => scale(1.0, 600),
        _ => 1.0,
    };
    let (long, short) = (long * factor, short * factor);
    let sum: Dd = two_prod(long, long).add(two_prod(short, short));
    sum.sqrt().value() / factor
}
