//! How long the compiler's work takes.

use std::time::Duration;

use gpu_run_vm::cuda::link::compiles_in_parts;
use gpu_run_vm::ptx::Reachable;

/// What compiling takes, as measured with driver 580: starting the driver's compiler, and a word of bytecode on one
/// processor. On 16 processors, a word took about an eighth of it.
const START_TIME: Duration = Duration::from_millis(200);
const WORD_TIME: Duration = Duration::from_micros(600);
const MOST_SPEEDUP: usize = 8;
/// The same where the driver compiles a text as a whole.
const WHOLE_SPEEDUP: usize = 2;
/// Words from which on a unit takes time by their square. It is compiled on one processor.
const LARGE: u32 = 1500;

/// The compiler's work for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiling {
    /// Words of bytecode.
    pub words: usize,
    /// Units of the assembler's work: functions, and regions of large ones.
    pub units: usize,
    /// How long the work has taken so far.
    pub elapsed: Duration,
    /// How long it is expected to take in all, on this machine. It may take longer.
    pub expected: Duration,
    /// Parts of it that are done, and all of about the same size. None if it is not done in parts, or none yet.
    pub parts: Option<(u32, u32)>,
}

impl Compiling {
    /// Work that begins now.
    pub(super) fn of(work: Reachable) -> Compiling {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Compiling {
            words: work.words as usize,
            units: work.units as usize,
            elapsed: Duration::ZERO,
            expected: estimate(work, processors, compiles_in_parts()),
            parts: None,
        }
    }

    /// How long it will still take: as the parts did that are done, or what is expected.
    pub fn left(&self) -> Duration {
        match self.parts {
            Some((done, all)) if done > 0 => self.elapsed * (all - done) / done,
            _ => self.expected.saturating_sub(self.elapsed),
        }
    }
}

/// The time that compiling a program is expected to take.
fn estimate(work: Reachable, processors: usize, in_parts: bool) -> Duration {
    let most = if in_parts { MOST_SPEEDUP } else { WHOLE_SPEEDUP };
    let all = WORD_TIME * work.words / (processors / 2).clamp(1, most) as u32;
    let longest = WORD_TIME.mul_f64(f64::from(work.longest) * (f64::from(work.longest) / f64::from(LARGE)).max(1.0));
    START_TIME + all.max(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs of the fixtures and one of `bench/compile` as compiled on 16 processors, and one of them on one.
    #[test]
    fn the_estimate_is_near_what_was_measured() {
        for (words, longest, processors, milliseconds) in [
            (17_861, 827, 16, 1287),
            (270_944, 4000, 16, 12_988),
            (160_671, 4000, 16, 9560),
            (200_560, 4000, 16, 17_755),
            (228_235, 4000, 16, 14_563),
            (8414, 1439, 1, 3178),
        ] {
            let work = Reachable {
                words,
                longest,
                units: 1,
            };
            let estimate = estimate(work, processors, true);
            let ratio = estimate.as_millis() as f64 / f64::from(milliseconds);
            assert!((0.8..1.7).contains(&ratio), "{words} words: {ratio}");
        }
    }

    #[test]
    fn no_program_is_too_large_to_be_estimated() {
        let words = u32::MAX / 1000;
        let work = Reachable {
            words,
            longest: words,
            units: 1,
        };
        assert!(estimate(work, 1, true) > Duration::from_secs(1000));
    }
}
