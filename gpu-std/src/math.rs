//! Functions of real numbers that return the same bits on every engine and device, and on the host.
//!
//! The functions of std do not: on a host they are those of its C library, on WebAssembly others. These are
//! computed by the same code everywhere, out of operations that IEEE 754 defines to the last bit. A result that
//! is not a number is always the canonical one, [`f64::NAN`] or [`f32::NAN`].
//!
//! Each function takes [`f32`] or [`f64`], and needs no std. Angles are radians. For f64 the stated error is the
//! greatest that was found among 100,000 arguments spread over the function's range, compared with 150-bit arithmetic.
//! A *unit* is the distance of two neighbouring numbers there, so 0.5 is the best there can be. For f32 the result is
//! computed as f64 and rounded, with an error of at most 0.5000001 units. Results that are subnormal may be rounded
//! twice: their error is at most 1 unit.
//!
//! `abs`, `copysign`, `min`, `max`, `clamp` and `signum` are methods of f32 and f64 in `core`, and exact already.
//!
//! ```
//! use gpu_std::math;
//!
//! let angle = math::atan2(3.0_f32, 4.0);
//! assert_eq!(math::hypot(3.0_f32, 4.0), 5.0);
//! assert_eq!(math::sin(angle), 0.6);
//! ```
//!
//! In the order in which to read the modules:
//!
//! - `dd`: sums of two numbers, with which the others compute; `tables`: their constants;
//! - `exp`, `log`, `power`: exponential functions, logarithms, powers and roots;
//! - `trig`, `arc`: trigonometric functions and their inverses.

mod arc;
mod dd;
mod exp;
mod log;
mod power;
#[allow(clippy::approx_constant)] // That is what they are.
mod tables;
mod trig;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

use crate::platform;

mod sealed {
    pub trait Sealed: Copy {
        fn wide(self) -> f64;
        fn narrow(value: f64) -> Self;
        fn sqrt(self) -> Self;
        fn floor(self) -> Self;
        fn ceil(self) -> Self;
        fn trunc(self) -> Self;
        fn nearest(self) -> Self;
    }
}

/// Replaces what is not a number by the canonical one.
///
/// By its bits, not by a comparison: an optimizer takes one NaN to be as good as another.
pub(crate) mod canonical {
    pub fn f32(x: f32) -> f32 {
        let bits = x.to_bits();
        f32::from_bits(if bits & !(1 << 31) > 0x7f80_0000 {
            0x7fc0_0000
        } else {
            bits
        })
    }

    pub fn f64(x: f64) -> f64 {
        let bits = x.to_bits();
        let nan = bits & !(1 << 63) > 0x7ff0_0000_0000_0000;
        f64::from_bits(if nan { 0x7ff8_0000_0000_0000 } else { bits })
    }
}

/// A number that the functions of this module take: [`f32`] or [`f64`]. The trait is sealed.
///
/// ```
/// fn area<T: gpu_std::math::Real + std::ops::Mul<Output = T>>(radius: T, pi: T) -> T {
///     radius * radius * pi
/// }
/// assert_eq!(area(2.0_f32, 3.0), 12.0);
/// ```
pub trait Real: sealed::Sealed {}

macro_rules! real {
    ($ty:ident, $sqrt:ident, $floor:ident, $ceil:ident, $trunc:ident, $nearest:ident) => {
        impl sealed::Sealed for $ty {
            #[inline]
            fn wide(self) -> f64 {
                self as f64
            }
            #[inline]
            fn narrow(value: f64) -> $ty {
                canonical::$ty(value as $ty)
            }
            #[inline]
            fn sqrt(self) -> $ty {
                platform::$sqrt(self)
            }
            #[inline]
            fn floor(self) -> $ty {
                platform::$floor(self)
            }
            #[inline]
            fn ceil(self) -> $ty {
                platform::$ceil(self)
            }
            #[inline]
            fn trunc(self) -> $ty {
                platform::$trunc(self)
            }
            #[inline]
            fn nearest(self) -> $ty {
                platform::$nearest(self)
            }
        }
        impl Real for $ty {}
    };
}

real!(f32, sqrt32, floor32, ceil32, trunc32, nearest32);
real!(f64, sqrt64, floor64, ceil64, trunc64, nearest64);

/// Functions that one instruction computes.
macro_rules! exact {
    ($($(#[$doc:meta])* $name:ident = $method:ident;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name<T: Real>(x: T) -> T {
                x.$method()
            }
        )*
    };
}

exact! {
    /// The square root, correctly rounded; NaN below 0.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::sqrt(2.25), 1.5);
    /// assert!(gpu_std::math::sqrt(-1.0_f64).is_nan());
    /// ```
    sqrt = sqrt;
    /// The largest integer that is at most x.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::floor(-1.5), -2.0);
    /// ```
    floor = floor;
    /// The least integer that is at least x.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::ceil(-1.5), -1.0);
    /// ```
    ceil = ceil;
    /// The integer part of x.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::trunc(-1.5), -1.0);
    /// ```
    trunc = trunc;
    /// The nearest integer; the even one of two that are as near.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::round_ties_even(2.5), 2.0);
    /// assert_eq!(gpu_std::math::round_ties_even(3.5), 4.0);
    /// ```
    round_ties_even = nearest;
}

/// The nearest integer; of two that are as near, the one farther from 0.
///
/// ```
/// assert_eq!(gpu_std::math::round(2.5), 3.0);
/// assert_eq!(gpu_std::math::round(-2.5), -3.0);
/// ```
#[inline]
pub fn round<T: Real>(x: T) -> T {
    let value = x.wide();
    let whole = platform::trunc64(value);
    let rounded = match (value - whole).abs() >= 0.5 {
        true => whole + 1.0_f64.copysign(value),
        false => whole,
    };
    T::narrow(rounded)
}

/// Functions that are computed as f64.
macro_rules! computed {
    ($($(#[$doc:meta])* $name:ident($($x:ident),*) = $function:path;)*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name<T: Real>($($x: T),*) -> T {
                T::narrow($function($($x.wide()),*))
            }
        )*
    };
}

computed! {
    /// The sine. Any argument is reduced exactly, also a large one; NaN for infinities. Error: 0.72 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::sin(0.5), 0.479425538604203);
    /// ```
    sin(x) = trig::sin;
    /// The cosine, as [`sin`]. Error: 0.75 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::cos(0.0), 1.0);
    /// ```
    cos(x) = trig::cos;
    /// The tangent, as [`sin`]. Error: 0.81 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::tan(1.0), 1.5574077246549023);
    /// ```
    tan(x) = trig::tan;
    /// The angle from -π/2 to π/2 with this sine; NaN unless -1 <= x <= 1. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::asin(1.0), std::f64::consts::FRAC_PI_2);
    /// ```
    asin(x) = arc::asin;
    /// The angle from 0 to π with this cosine; NaN unless -1 <= x <= 1. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::acos(-1.0), std::f64::consts::PI);
    /// ```
    acos(x) = arc::acos;
    /// The angle from -π/2 to π/2 with this tangent. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::atan(1.0), std::f64::consts::FRAC_PI_4);
    /// ```
    atan(x) = arc::atan;
    /// The angle from -π to π of the point (x, y), as std's: `y` comes first, and the signs of zeros and
    /// infinities count. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::atan2(1.0, -1.0), 0.75 * std::f64::consts::PI);
    /// ```
    atan2(y, x) = arc::atan2;
    /// e to the power of x. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::exp(1.0), std::f64::consts::E);
    /// assert_eq!(gpu_std::math::exp(-1000.0), 0.0);
    /// ```
    exp(x) = exp::exp;
    /// 2 to the power of x; exact for integers. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::exp2(-3.0), 0.125);
    /// ```
    exp2(x) = exp::exp2;
    /// e to the power of x, less 1: precise also near 0. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::exp_m1(1e-20), 1e-20);
    /// ```
    exp_m1(x) = exp::exp_m1;
    /// The natural logarithm; -infinity for 0, NaN below. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::ln(10.0), std::f64::consts::LN_10);
    /// ```
    ln(x) = log::ln;
    /// The natural logarithm of 1 + x: precise also near 0. Error: 0.55 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::ln_1p(1e-20), 1e-20);
    /// ```
    ln_1p(x) = log::ln_1p;
    /// The logarithm to the base 2; exact for powers of 2. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::log2(0.125), -3.0);
    /// ```
    log2(x) = log::log2;
    /// The logarithm to the base 10; exact for powers of 10. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::log10(1000.0), 3.0);
    /// ```
    log10(x) = log::log10;
    /// x to the power of y, with the special cases of IEEE 754 (as C's `pow`). It is 1 if y is 0 or x is 1, and NaN for
    /// a negative x unless y is an integer. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::pow(2.0, 0.5), std::f64::consts::SQRT_2);
    /// assert_eq!(gpu_std::math::pow(-2.0, 3.0), -8.0);
    /// ```
    pow(x, y) = power::pow;
    /// The cube root. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::cbrt(-27.0), -3.0);
    /// ```
    cbrt(x) = power::cbrt;
    /// The square root of x² + y², without overflow on the way. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::hypot(f64::MAX, 1.0), f64::MAX);
    /// ```
    hypot(x, y) = power::hypot;
    /// The hyperbolic sine. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::sinh(1.0), 1.1752011936438014);
    /// ```
    sinh(x) = exp::sinh;
    /// The hyperbolic cosine. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::cosh(1.0), 1.5430806348152437);
    /// ```
    cosh(x) = exp::cosh;
    /// The hyperbolic tangent. Error: 0.51 units.
    ///
    /// ```
    /// assert_eq!(gpu_std::math::tanh(100.0), 1.0);
    /// ```
    tanh(x) = exp::tanh;
}

/// [`sin`] and [`cos`] of the same angle, for the price of one.
///
/// ```
/// use gpu_std::math;
/// assert_eq!(math::sin_cos(0.5), (math::sin(0.5), math::cos(0.5)));
/// ```
#[inline]
pub fn sin_cos<T: Real>(x: T) -> (T, T) {
    let (sin, cos) = trig::sin_cos(x.wide());
    (T::narrow(sin), T::narrow(cos))
}
