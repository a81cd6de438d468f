//! The functions beside those of std, whose own error is below a unit on the hosts that tests run on.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::dd::{Dd, dd, two_prod, two_sum};
use super::*;

/// Distance in units of the last place of two numbers of the same sign.
fn units(a: f64, b: f64) -> u64 {
    if a.is_nan() && b.is_nan() || a == b {
        return 0;
    }
    (a.to_bits() as i64).abs_diff(b.to_bits() as i64)
}

/// Numbers in an irregular order: a linear congruence, of which the upper bits are used.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    /// Evenly between two limits.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1u64 << 53) as f64)
    }

    /// Any finite number, all exponents alike.
    fn any(&mut self) -> f64 {
        loop {
            let x = f64::from_bits(self.next());
            if x.is_finite() {
                return x;
            }
        }
    }
}

type Function = fn(f64) -> f64;

const FUNCTIONS: &[(&str, Function, Function, f64, f64)] = &[
    ("sin", sin, f64::sin, -100.0, 100.0),
    ("cos", cos, f64::cos, -100.0, 100.0),
    ("tan", tan, f64::tan, -100.0, 100.0),
    ("asin", asin, f64::asin, -1.0, 1.0),
    ("acos", acos, f64::acos, -1.0, 1.0),
    ("atan", atan, f64::atan, -10.0, 10.0),
    ("exp", exp, f64::exp, -745.0, 710.0),
    ("exp2", exp2, f64::exp2, -1075.0, 1025.0),
    ("exp_m1", exp_m1, f64::exp_m1, -40.0, 40.0),
    ("ln", ln, f64::ln, 0.0, 10.0),
    ("ln_1p", ln_1p, f64::ln_1p, -1.0, 10.0),
    ("log2", log2, f64::log2, 0.0, 10.0),
    ("log10", log10, f64::log10, 0.0, 10.0),
    ("cbrt", cbrt, f64::cbrt, -1000.0, 1000.0),
    ("sinh", sinh, f64::sinh, -20.0, 20.0),
    ("cosh", cosh, f64::cosh, -20.0, 20.0),
    ("tanh", tanh, f64::tanh, -20.0, 20.0),
    ("round", round, f64::round, -10.0, 10.0),
];

/// What the C library may be wrong by, and ours.
const ALLOWED: u64 = 3;

#[test]
fn functions_agree_with_std() {
    let mut wrong = String::new();
    for (name, ours, std, low, high) in FUNCTIONS {
        let mut numbers = Numbers(1);
        let mut worst = (0, 0.0);
        let mut check = |x: f64| {
            worst = if units(ours(x), std(x)) > worst.0 {
                (units(ours(x), std(x)), x)
            } else {
                worst
            }
        };
        for _ in 0..200_000 {
            check(numbers.between(*low, *high));
            check(numbers.any());
        }
        for x in [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::MAX,
            5e-324,
            1e-9,
        ] {
            check(x);
            check(-x);
        }
        if worst.0 > ALLOWED {
            let x = worst.1;
            wrong += &format!("{name}({x:e}): {:e}, std {:e}, {} units\n", ours(x), std(x), worst.0);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn functions_of_two_agree_with_std() {
    let mut numbers = Numbers(2);
    let check = |x: f64, y: f64| {
        for (name, ours, std) in [
            ("pow", pow(x, y), x.powf(y)),
            ("atan2", atan2(x, y), x.atan2(y)),
            ("hypot", hypot(x, y), x.hypot(y)),
        ] {
            assert!(
                units(ours, std) <= ALLOWED,
                "{name}({x:e}, {y:e}): {ours:e}, std {std:e}"
            );
        }
    };
    for _ in 0..200_000 {
        check(numbers.between(0.0, 100.0), numbers.between(-150.0, 150.0));
        check(numbers.between(-2.0, 2.0), numbers.between(-2.0, 2.0));
        check(numbers.any(), numbers.any());
        check(numbers.any(), numbers.between(-1.0, 1.0));
        check(numbers.between(-9.0, 9.0), (numbers.next() % 9) as f64 - 4.0);
    }
    let edges = [
        0.0,
        1.0,
        0.5,
        2.0,
        3.0,
        1e300,
        1e-300,
        5e-324,
        f64::MAX,
        f64::INFINITY,
        1e15,
        9007199254740993.0,
    ];
    let edges: Vec<f64> = edges.iter().flat_map(|x| [*x, -x]).chain([f64::NAN]).collect();
    for x in &edges {
        for y in &edges {
            check(*x, *y);
            // The signs of zeros too.
            assert_eq!(
                pow(*x, *y).is_sign_negative(),
                x.powf(*y).is_sign_negative() && !x.powf(*y).is_nan()
            );
            let angle = x.atan2(*y);
            assert_eq!(
                atan2(*x, *y).is_sign_negative(),
                angle.is_sign_negative() && !angle.is_nan()
            );
        }
    }
}

#[test]
fn f32_is_correctly_rounded_but_for_ties_of_f64() {
    let mut numbers = Numbers(3);
    for _ in 0..200_000 {
        let x = numbers.between(-50.0, 50.0) as f32;
        assert_eq!(sin(x), (x as f64).sin() as f32, "sin({x})");
        assert_eq!(exp(x), (x as f64).exp() as f32, "exp({x})");
        assert_eq!(ln(x.abs()), (x.abs() as f64).ln() as f32, "ln({x})");
        assert_eq!(sqrt(x.abs()), x.abs().sqrt());
        assert_eq!(
            (floor(x), ceil(x), trunc(x), round(x), round_ties_even(x)),
            (x.floor(), x.ceil(), x.trunc(), x.round(), x.round_ties_even())
        );
    }
}

#[test]
fn what_is_no_number_has_the_canonical_bits() {
    let odd = f64::from_bits(0xfff0_0000_0000_1234);
    for (name, function, _, _, _) in FUNCTIONS {
        assert_eq!(function(odd).to_bits(), f64::NAN.to_bits(), "{name}");
    }
    assert_eq!(sqrt(-1.0_f64).to_bits(), f64::NAN.to_bits());
    assert_eq!(sqrt(-1.0f32).to_bits(), f32::NAN.to_bits());
    assert_eq!(sin(f32::INFINITY).to_bits(), f32::NAN.to_bits());
    assert_eq!(pow(-2.0_f64, 0.5).to_bits(), f64::NAN.to_bits());
}

#[test]
fn zeros_keep_their_sign() {
    for function in [sin, tan, asin, atan, exp_m1, ln_1p, cbrt, sinh, tanh, floor, round] as [Function; 11] {
        assert_eq!(function(-0.0).to_bits(), (-0.0_f64).to_bits());
        assert_eq!(function(0.0).to_bits(), 0);
    }
}

/// Whether two values agree to about `bits` bits.
fn near(a: Dd, b: Dd, bits: i32) -> bool {
    let difference = (a.hi - b.hi) + (a.lo - b.lo);
    difference.abs() <= a.hi.abs() * f64::powi(2.0, -bits)
}

#[test]
fn tables_hold_what_they_say() {
    use super::tables::*;
    for (j, power) in EXP2.iter().enumerate() {
        // Squared six times, it is 2^j.
        let value = (0..6).fold(*power, |x, _| x.mul(x));
        assert!(near(value, dd(f64::powi(2.0, j as i32), 0.0), 96), "2^({j}/64)");
    }
    for (i, (c, minus_ln_c)) in LN.iter().enumerate() {
        let z = if i < 80 {
            0.6875 + (i as f64 + 0.5) / 256.0
        } else {
            1.0 + (i as f64 - 79.5) / 128.0
        };
        assert!((c * z - 1.0).abs() < 1.0 / 128.0, "{c} is no inverse of {z}");
        let (value, exponent) = super::exp::exp_parts(*minus_ln_c);
        let value = value.scaled(f64::powi(2.0, exponent)).mul(dd(*c, 0.0));
        assert!(near(value, dd(1.0, 0.0), 66), "ln {c}");
    }
    for (j, angle) in ATAN.iter().enumerate() {
        assert_eq!(angle.hi, (j as f64 / 16.0).atan());
    }
    assert!(near(PI, HALF_PI.add(HALF_PI), 105) && near(LN_2.mul(LOG2_E), dd(1.0, 0.0), 103));
    let [a, b, c, d] = HALF_PI_PARTS;
    let sum = two_sum(a, b);
    assert!(near(dd(sum.hi, sum.lo).add(dd(c, 0.0)).add(dd(d, 0.0)), HALF_PI, 104));
    // The first bits of 2 / π, times π / 2.
    let first = (TWO_OVER_PI[1] >> 11) as f64 * f64::powi(2.0, -53);
    let second =
        (TWO_OVER_PI[1] & 0x7ff) as f64 * f64::powi(2.0, -64) + (TWO_OVER_PI[2] >> 11) as f64 * f64::powi(2.0, -117);
    assert!(near(dd(first, second).mul(HALF_PI), dd(1.0, 0.0), 103));
}

#[test]
fn sums_of_two_are_exact() {
    let mut numbers = Numbers(4);
    for _ in 0..10_000 {
        let (a, b) = (numbers.next() >> 11, numbers.next() >> 11);
        let product = two_prod(a as f64, b as f64);
        assert_eq!(
            product.hi as u128 as i128 + product.lo as i128,
            (a as u128 * b as u128) as i128
        );
        let sum = two_sum((a * 1024) as f64, b as f64);
        assert_eq!(sum.hi as i128 + sum.lo as i128, (a * 1024 + b) as i128);
    }
}
