//! The sun and four planets; each thread has a system of its own. The bodies are five variables and
//! not an array, so that they are locals and not memory.

use crate::finish::finish;
use gpu_std::thread_id;

const SOLAR_MASS: f64 = 39.478_417_604_357_43;
const YEAR: f64 = 365.24;
/// A step, in years.
const STEP: f64 = 0.01;

struct Body {
    at: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

/// A position in astronomical units, a speed per day, a mass in those of the sun.
const fn body(at: [f64; 3], per_day: [f64; 3], mass: f64) -> Body {
    let speed = [per_day[0] * YEAR, per_day[1] * YEAR, per_day[2] * YEAR];
    Body {
        at,
        speed,
        mass: mass * SOLAR_MASS,
    }
}

unsafe extern "C" {
    /// One instruction of wasm, which `core` has no stable name for.
    safe fn sqrt(x: f64) -> f64;
}

/// Changes the speeds of two bodies by what they attract each other.
#[inline(always)]
fn attract(a: &mut Body, b: &mut Body) {
    let d: [f64; 3] = core::array::from_fn(|k| a.at[k] - b.at[k]);
    let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    let pull = STEP / (square * sqrt(square));
    for k in 0..3 {
        a.speed[k] -= d[k] * (b.mass * pull);
        b.speed[k] += d[k] * (a.mass * pull);
    }
}

#[inline(always)]
fn advance(body: &mut Body) {
    for k in 0..3 {
        body.at[k] += STEP * body.speed[k];
    }
}

/// Adds the bits of a position to a checksum.
#[inline(always)]
fn add_bits(sum: u32, body: &Body) -> u32 {
    body.at.iter().fold(sum, |sum, at| {
        let bits = at.to_bits();
        sum.rotate_left(5) ^ bits as u32 ^ (bits >> 32) as u32
    })
}

/// The bits of all positions after `n` steps.
#[unsafe(no_mangle)]
extern "C" fn nbody(n: u32, expect: i64) -> u32 {
    let mut a = body([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 1.0);
    let mut b = body([4.84, -1.16, -0.1], [0.00166, 0.00770, -0.00007], 0.000955);
    let mut c = body([8.34, 4.12, -0.4], [-0.00277, 0.00500, 0.00002], 0.000286);
    let mut d = body([12.89, -15.11, -0.22], [0.00296, 0.00238, -0.00003], 0.0000437);
    let mut e = body([15.38, -25.92, 0.18], [0.00268, 0.00163, -0.00010], 0.0000515);
    b.at[2] += thread_id() as f64 * 1e-6;
    for _ in 0..n {
        attract(&mut a, &mut b);
        attract(&mut a, &mut c);
        attract(&mut a, &mut d);
        attract(&mut a, &mut e);
        attract(&mut b, &mut c);
        attract(&mut b, &mut d);
        attract(&mut b, &mut e);
        attract(&mut c, &mut d);
        attract(&mut c, &mut e);
        attract(&mut d, &mut e);
        for body in [&mut a, &mut b, &mut c, &mut d, &mut e] {
            advance(body);
        }
    }
    finish([a, b, c, d, e].iter().fold(0, add_bits), expect)
}
