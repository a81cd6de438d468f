//! Sums of two numbers: about 106 bits, out of f64 arithmetic alone.
//!
//! The algorithms are Knuth's two-sum and Dekker's product ("A floating-point technique for extending the available
//! precision", Numerische Mathematik 18, 1971). There is no fused multiply-add here, because WebAssembly has none and
//! every engine must compute the same bits.

/// The value `hi + lo`, where `hi` is the nearest number to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// `hi + lo`, of which nothing is computed.
pub const fn dd(hi: f64, lo: f64) -> Dd {
    Dd { hi, lo }
}

/// The exact sum.
pub fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let part = hi - a;
    dd(hi, (a - (hi - part)) + (b - part))
}

/// The exact sum of numbers of which the first has the larger exponent, or is 0.
pub fn fast_two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    dd(hi, b - (hi - a))
}

/// A number as a sum of two with 26 bits each.
pub fn split(a: f64) -> (f64, f64) {
    let high = f64::from_bits((a.to_bits() + 0x400_0000) & !0x7ff_ffff);
    (high, a - high)
}

/// The exact product, if nothing of it overflows or is subnormal.
pub fn two_prod(a: f64, b: f64) -> Dd {
    let hi = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    dd(hi, ((ah * bh - hi) + ah * bl + al * bh) + al * bl)
}

impl Dd {
    pub fn value(self) -> f64 {
        self.hi + self.lo
    }

    pub fn neg(self) -> Dd {
        dd(-self.hi, -self.lo)
    }

    pub fn add(self, other: Dd) -> Dd {
        let sum = two_sum(self.hi, other.hi);
        fast_two_sum(sum.hi, sum.lo + (self.lo + other.lo))
    }

    pub fn sub(self, other: Dd) -> Dd {
        self.add(other.neg())
    }

    pub fn mul(self, other: Dd) -> Dd {
        let product = two_prod(self.hi, other.hi);
        fast_two_sum(product.hi, product.lo + (self.hi * other.lo + self.lo * other.hi))
    }

    pub fn div(self, other: Dd) -> Dd {
        let first = self.hi / other.hi;
        let product = two_prod(first, other.hi);
        let rest = ((self.hi - product.hi) - product.lo) + (self.lo - first * other.lo);
        fast_two_sum(first, rest / other.hi)
    }

    /// The square root of a positive value.
    pub fn sqrt(self) -> Dd {
        let first = crate::platform::sqrt64(self.hi);
        if first == 0.0 {
            return dd(first, 0.0);
        }
        let square = two_prod(first, first);
        let rest = ((self.hi - square.hi) - square.lo) + self.lo;
        fast_two_sum(first, rest / (2.0 * first))
    }

    /// Times a power of two, exactly.
    pub fn scaled(self, factor: f64) -> Dd {
        dd(self.hi * factor, self.lo * factor)
    }
}

/// The value of c[0] + c[1] x + c[2] x² + …
pub fn polynomial<const N: usize>(x: f64, c: &[f64; N]) -> f64 {
    c[..N - 1].iter().rev().fold(c[N - 1], |sum, c| sum * x + c)
}

/// x times 2^n, rounded once, for x near 1 and any n.
pub fn scale(x: f64, n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52);
    let half = n / 2;
    x * power(half) * power(n - half)
}
