//! Counting and reporting what became of a script's directives.

use std::collections::HashMap;
use std::path::Path;

use super::{Checked, Failure};

/// Directives by what became of them.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

impl Counts {
    /// Adds another file's.
    pub fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// What became of a script's directives.
pub struct Tally<'p> {
    pub path: &'p Path,
    pub counts: Counts,
    /// Why directives were skipped, and how many for each reason.
    pub reasons: HashMap<String, u32>,
    /// What failed is printed.
    told: bool,
}

impl<'p> Tally<'p> {
    /// Nothing yet, of a script.
    pub fn new(path: &'p Path, told: bool) -> Tally<'p> {
        Tally {
            path,
            counts: Counts::default(),
            reasons: HashMap::new(),
            told,
        }
    }

    /// Counts the directive at a line and column (from 0), and prints what failed.
    pub fn add(&mut self, (line, column): (usize, usize), result: Checked<()>) {
        match result {
            Ok(()) => self.counts.passed += 1,
            Err(Failure::Failed(what)) => {
                self.counts.failed += 1;
                if self.told {
                    say!("{}:{}:{}: {what}", self.path.display(), line + 1, column + 1);
                }
            }
            Err(Failure::Skipped(why)) => {
                self.counts.skipped += 1;
                *self.reasons.entry(why).or_default() += 1;
            }
        }
    }
}
