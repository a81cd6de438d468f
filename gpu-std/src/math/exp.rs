//! Exponential functions.
//!
//! After P. T. P. Tang, "Table-driven implementation of the exponential function in IEEE floating-point arithmetic",
//! ACM TOMS 15 (1989). There x = n ln 2 / 64 + r with |r| < 0.0055, and e^x = 2^(n / 64) e^r. Here 2^(j / 64) is in a
//! table and e^r a Taylor series. Both are sums of two numbers here.

use super::dd::{Dd, dd, fast_two_sum, polynomial, scale, two_prod, two_sum};
use super::tables::{EXP2, LN_2, LN_2_64};

/// Beyond these, every function of e^x overflows or is 0; within, n has 17 bits.
const LARGE: f64 = 746.0;

/// n, and e^r - 1 to 2^-70, of a value between -750 and 750.
fn reduce(x: Dd) -> (i32, Dd) {
    let n = crate::platform::nearest64(x.hi * (64.0 * core::f64::consts::LOG2_E));
    // Exact: the product by the choice of the parts, the difference because the two are near.
    let high = x.hi - n * LN_2_64.hi;
    let r = two_sum(high, x.lo - n * LN_2_64.lo);
    let square = two_prod(r.hi, r.hi);
    // 1/3! + r/4! + …: a term more would be below 2^-70.
    const TAIL: [f64; 5] = [1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0];
    let tail = square.hi * r.hi * polynomial(r.hi, &TAIL);
    let sum = fast_two_sum(r.hi, 0.5 * square.hi);
    let rest = sum.lo + (r.lo + (0.5 * square.lo + r.hi * r.lo + tail));
    (n as i32, fast_two_sum(sum.hi, rest))
}

/// e^x as a value near 1 and the power of two that it is to be multiplied by. For -750 < x < 750.
pub fn exp_parts(x: Dd) -> (Dd, i32) {
    let (n, rest) = reduce(x);
    let power = EXP2[(n & 63) as usize];
    (power.add(power.mul(rest)), n >> 6)
}

/// e^x, where `x` may be of any size.
pub fn exp_dd(x: Dd) -> f64 {
    if x.hi > LARGE {
        return f64::INFINITY;
    }
    if x.hi < -LARGE {
        return 0.0;
    }
    let (value, exponent) = exp_parts(x);
    scale(value.value(), exponent)
}

pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    exp_dd(dd(x, 0.0))
}

pub fn exp2(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x.abs() > 1100.0 {
        return if x > 0.0 { f64::INFINITY } else { 0.0 };
    }
    if x.abs() < 1e-300 {
        // The product below would be subnormal.
        return 1.0;
    }
    exp_dd(dd(x, 0.0).mul(LN_2))
}

pub fn exp_m1(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    // The second term of the series is below half a unit.
    if x.abs() < 1e-17 {
        return x;
    }
    if x > LARGE {
        return f64::INFINITY;
    }
    if x < -40.0 {
        return -1.0;
    }
    let (n, rest) = reduce(dd(x, 0.0));
    if n == 0 {
        return rest.value();
    }
    let (value, exponent) = exp_parts(dd(x, 0.0));
    if exponent > 100 {
        return scale(value.value(), exponent);
    }
    let factor = scale(1.0, exponent);
    value.scaled(factor).add(dd(-1.0, 0.0)).value()
}

/// e^x and e^-x, both divided by 2^(exponent of e^x).
fn both(x: f64) -> (Dd, Dd, i32) {
    let (up, exponent) = exp_parts(dd(x, 0.0));
    let (down, negative) = exp_parts(dd(-x, 0.0));
    (up, down.scaled(scale(1.0, negative - exponent)), exponent)
}

/// Below it, series of few terms are exact to half a unit, and the difference of e^x and e^-x is not.
const SMALL: f64 = 0.0001220703125;

pub fn sinh(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() {
        return f64::NAN;
    }
    if size < 1e-9 {
        return x;
    }
    let value = if size < SMALL {
        let square = x * x;
        size + size * square * (1.0 / 6.0 + square / 120.0)
    } else if size > LARGE {
        f64::INFINITY
    } else {
        let (up, down, exponent) = both(size);
        scale(up.sub(down).value(), exponent - 1)
    };
    value.copysign(x)
}

pub fn cosh(x: f64) -> f64 {
    if x.is_nan() {
        return f64::NAN;
    }
    if x.abs() > LARGE {
        return f64::INFINITY;
    }
    let (up, down, exponent) = both(x.abs());
    scale(up.add(down).value(), exponent - 1)
}

pub fn tanh(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() {
        return f64::NAN;
    }
    if size < 1e-9 {
        return x;
    }
    let value = if size < SMALL {
        let square = x * x;
        size - size * square * (1.0 / 3.0 - square * (2.0 / 15.0))
    } else if size > 22.0 {
        1.0
    } else {
        let (up, down, _) = both(size);
        up.sub(down).div(up.add(down)).value()
    };
    value.copysign(x)
}
