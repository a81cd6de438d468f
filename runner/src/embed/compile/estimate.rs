//! How long the compiler's work takes.

use std::time::Duration;

use gpu_run_vm::cuda::link::compiles_in_parts;

/// What compiling takes, as measured with driver 580: starting the driver's compiler, and a word of bytecode on one
/// processor. On 16 processors, a word took about an eighth of it. Some large functions take several times as long.
const START_TIME: Duration = Duration::from_millis(200);
const WORD_TIME: Duration = Duration::from_micros(600);
const MOST_SPEEDUP: usize = 8;
/// The same where the driver compiles a text as a whole.
const WHOLE_SPEEDUP: usize = 2;

/// The compiler's work for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiling {
    /// Words of bytecode.
    pub words: usize,
    /// How long the work has taken so far.
    pub elapsed: Duration,
    /// How long it is expected to take in all, on this machine. It may take longer.
    pub expected: Duration,
    /// Parts of it that are done, and all of about the same size. None if it is not done in parts, or none yet.
    pub parts: Option<(u32, u32)>,
}

impl Compiling {
    /// Work that begins now.
    pub(super) fn of(words: usize) -> Compiling {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Compiling {
            words,
            elapsed: Duration::ZERO,
            expected: estimate(words, processors, compiles_in_parts()),
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
fn estimate(words: usize, processors: usize, in_parts: bool) -> Duration {
    let most = if in_parts { MOST_SPEEDUP } else { WHOLE_SPEEDUP };
    START_TIME + WORD_TIME * words as u32 / (processors / 2).clamp(1, most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs of the fixtures as compiled on 16 processors, and one of them on one.
    #[test]
    fn the_estimate_is_near_what_was_measured() {
        for (words, processors, milliseconds) in [(17_861, 16, 1287), (270_944, 16, 19_173), (8414, 1, 3178)] {
            let estimate = estimate(words, processors, true).as_millis() as f64 / milliseconds as f64;
            assert!((0.8..1.7).contains(&estimate), "{words} words: {estimate}");
        }
    }
}
