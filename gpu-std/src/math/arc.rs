//! Inverse trigonometric functions.
//!
//! All are the angle of a point (x, y). It is taken between the axis and the diagonal, and turned back by atan(j / 16)
//! for the j for which least is left. A Taylor series has the rest.

use super::dd::{Dd, dd, fast_two_sum, polynomial, scale, two_prod};
use super::tables::{ATAN, HALF_PI, PI};

/// The angle, from 0 to π / 2, of a point with coordinates from 0 to 2^500 of which one is at least 2^-500.
fn angle(x: Dd, y: Dd) -> Dd {
    let steep = y.hi > x.hi;
    let (long, short) = if steep { (y, x) } else { (x, y) };
    // tan(a - b) = (tan a - tan b) / (1 + tan a tan b)
    let j = crate::platform::nearest64(short.hi / long.hi * 16.0);
    let c = dd(j / 16.0, 0.0);
    let r = short.sub(long.mul(c)).div(long.add(short.mul(c)));
    // -1/3 + r²/5 - …
    const TAIL: [f64; 7] = [
        -1.0 / 3.0,
        1.0 / 5.0,
        -1.0 / 7.0,
        1.0 / 9.0,
        -1.0 / 11.0,
        1.0 / 13.0,
        -1.0 / 15.0,
    ];
    let square = r.hi * r.hi;
    let rest = fast_two_sum(r.hi, r.lo + r.hi * square * polynomial(square, &TAIL));
    let sum = ATAN[j as usize].add(rest);
    if steep { HALF_PI.sub(sum) } else { sum }
}

/// The exponent of a finite number that is not 0.
fn exponent(x: f64) -> i32 {
    // 2^54 makes subnormal numbers normal.
    match x.to_bits() >> 52 & 0x7ff {
        0 => ((x * 18_014_398_509_481_984.0).to_bits() >> 52 & 0x7ff) as i32 - 1023 - 54,
        biased => biased as i32 - 1023,
    }
}

pub fn atan2(y: f64, x: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let left = x.is_sign_negative();
    let (width, height) = (x.abs(), y.abs());
    let value = if height == 0.0 {
        if left { PI.hi } else { 0.0 }
    } else if width == height && width == f64::INFINITY {
        // A quarter or three of π.
        if left { 0.75 * PI.hi } else { 0.25 * PI.hi }
    } else if width == 0.0 || height == f64::INFINITY {
        HALF_PI.hi
    } else if width == f64::INFINITY {
        if left { PI.hi } else { 0.0 }
    } else {
        finite(width, height, left)
    };
    value.copysign(y)
}

/// The angle of a point whose coordinates have these sizes.
fn finite(width: f64, height: f64, left: bool) -> f64 {
    let (a, b) = (exponent(width), exponent(height));
    if b - a > 60 {
        return HALF_PI.hi;
    }
    if a - b > 60 {
        return if left { PI.hi } else { height / width };
    }
    let most = a.max(b);
    let sum = angle(dd(scale(width, -most), 0.0), dd(scale(height, -most), 0.0));
    if left { PI.sub(sum).value() } else { sum.value() }
}

pub fn atan(x: f64) -> f64 {
    // As every angle near the axis; 0 keeps its sign.
    if x.abs() < 1e-9 { x } else { atan2(x, 1.0) }
}

/// The square root of 1 - x².
fn other_side(x: f64) -> Dd {
    let square = two_prod(x, x);
    dd(1.0, 0.0).sub(square).sqrt()
}

pub fn asin(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size < 1e-9 {
        return x;
    }
    angle(other_side(size), dd(size, 0.0)).value().copysign(x)
}

pub fn acos(x: f64) -> f64 {
    let size = x.abs();
    if x.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size < 1e-17 {
        return HALF_PI.hi;
    }
    let value = angle(dd(size, 0.0), other_side(size));
    if x < 0.0 { PI.sub(value).value() } else { value.value() }
}
