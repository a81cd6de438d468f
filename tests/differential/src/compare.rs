//! Runs a case in all engines, step by step.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::{Call, Care, Case};
use crate::engine::{Engine, Failure, Instance, Outcome, Trap, Value};
use crate::instrument::FUEL;
use crate::shape::Shape;

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Seeds from which a module was to be made.
    pub cases: u64,
    /// Modules that all engines instantiated, or that trapped in all of them on the way.
    pub modules: u64,
    /// Calls that ended in all engines and were compared: the executions.
    pub calls: u64,
    /// Calls of these that returned.
    pub returned: u64,
    /// Calls of these that trapped because the fuel was used up.
    pub out_of_fuel: u64,
    /// Cases of which some or all was not compared, by reason.
    pub dropped: BTreeMap<String, u64>,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: &Counts) {
        self.cases += other.cases;
        self.modules += other.modules;
        self.calls += other.calls;
        self.returned += other.returned;
        self.out_of_fuel += other.out_of_fuel;
        for (reason, count) in &other.dropped {
            *self.dropped.entry(reason.clone()).or_default() += count;
        }
    }

    /// Counts a dropped case.
    pub fn drop(&mut self, reason: String) {
        *self.dropped.entry(reason).or_default() += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trapped = self.calls - self.returned - self.out_of_fuel;
        writeln!(f, "{} executions of functions of {} modules", self.calls, self.modules)?;
        writeln!(
            f,
            "  {} returned, {trapped} trapped, {} ran out of fuel",
            self.returned, self.out_of_fuel
        )?;
        for (reason, count) in &self.dropped {
            writeln!(f, "  dropped {count}: {reason}")?;
        }
        Ok(())
    }
}

/// Two engines that do not agree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Index of the call; nothing is instantiation.
    pub call: Option<usize>,
    /// What was seen, and in which engine.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            Some(call) => write!(f, "in call {call}: {}", self.what),
            None => write!(f, "when instantiated: {}", self.what),
        }
    }
}

/// What came of a case.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// All that was compared is the same.
    Same,
    /// Not all of it could be compared.
    Dropped(String),
    /// A bug, of one engine or another.
    Different(Difference),
}

/// Runs a case. The first engine is the oracle.
pub fn run(case: &Case, engines: &mut [Box<dyn Engine>], counts: &mut Counts) -> Verdict {
    let names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
    let shape = match Shape::of(&case.wasm) {
        Ok(shape) => shape,
        Err(error) => return Verdict::Dropped(format!("no module: {error}")),
    };
    let mut instances = Vec::new();
    let mut outcomes = Vec::new();
    for engine in engines.iter_mut() {
        match engine.instantiate(&case.wasm) {
            Ok(instance) => {
                instances.push(instance);
                outcomes.push(Ok(Vec::new()));
            }
            Err(failure) => outcomes.push(Err(failure)),
        }
    }
    let mut run = Run {
        names,
        instances,
        shape,
        call: None,
    };
    if let Some(verdict) = run.differ("ended", &outcomes) {
        return verdict;
    }
    counts.modules += 1;
    if outcomes[0].is_err() {
        return Verdict::Same;
    }
    if let Some(verdict) = run.compare_state(true) {
        return verdict;
    }
    for (index, call) in case.calls.iter().enumerate() {
        run.call = Some(index);
        let memories = index + 1 == case.calls.len() || (index + 1).is_multiple_of(case.memory_every);
        if let Some(verdict) = run.call(case, call, memories, counts) {
            return verdict;
        }
    }
    Verdict::Same
}

struct Run<'e> {
    names: Vec<&'e str>,
    instances: Vec<Box<dyn Instance>>,
    shape: Shape,
    call: Option<usize>,
}

impl Run<'_> {
    fn call(&mut self, case: &Case, call: &Call, memories: bool, counts: &mut Counts) -> Option<Verdict> {
        let mut outcomes = Vec::new();
        for instance in &mut self.instances {
            if self.shape.fuel {
                instance.set_global(FUEL, case.fuel);
            }
            outcomes.push(instance.call(&call.name, &call.args));
        }
        let verdict = self.differ("ended", &outcomes);
        if verdict.is_some() {
            return verdict;
        }
        counts.calls += 1;
        match &outcomes[0] {
            Ok(_) => counts.returned += 1,
            Err(Failure::Trap(Trap::Unreachable)) if self.shape.fuel => {
                if self.instances[0].global(FUEL) == Value::I32(0) {
                    counts.out_of_fuel += 1;
                }
            }
            Err(_) => {}
        }
        self.compare_state(memories)
    }

    /// A verdict if not all outcomes are the same, or if they are none to compare.
    fn differ(&self, what: &str, outcomes: &[Outcome]) -> Option<Verdict> {
        if outcomes
            .iter()
            .any(|outcome| matches!(outcome, Err(Failure::Broken(_))))
        {
            return Some(self.different(what, outcomes));
        }
        for (name, outcome) in self.names.iter().zip(outcomes) {
            match outcome {
                Err(Failure::Limit(text)) => return Some(Verdict::Dropped(format!("limit of {name}: {text}"))),
                Err(Failure::Unsupported(text)) => {
                    return Some(Verdict::Dropped(format!("{name} does not take the module: {text}")));
                }
                _ => {}
            }
        }
        let same = outcomes.iter().all(|outcome| alike(outcome, &outcomes[0]));
        (!same).then(|| self.different(what, outcomes))
    }

    fn different<T: fmt::Debug>(&self, what: &str, seen: &[T]) -> Verdict {
        let seen: Vec<String> = self
            .names
            .iter()
            .zip(seen)
            .map(|(name, seen)| format!("\n  {name}: {seen:x?}"))
            .collect();
        Verdict::Different(Difference {
            call: self.call,
            what: format!("{what}{}", seen.concat()),
        })
    }

    fn compare_state(&mut self, memories: bool) -> Option<Verdict> {
        for at in 0..self.shape.globals.len() {
            let name = self.shape.globals[at].clone();
            let values: Vec<_> = self.instances.iter_mut().map(|i| i.global(&name)).collect();
            if values.iter().any(|value| *value != values[0]) {
                return Some(self.different(&format!("global `{name}`"), &values));
            }
        }
        if self.shape.fuel {
            let values: Vec<_> = self.instances.iter_mut().map(|i| i.global(FUEL)).collect();
            if values.iter().any(|value| *value != values[0]) {
                return Some(self.different("fuel", &values));
            }
        }
        for at in 0..self.shape.tables.len() {
            let name = self.shape.tables[at].clone();
            let values: Vec<_> = self.instances.iter_mut().map(|i| i.call(&name, &[])).collect();
            let verdict = self.differ(&format!("table `{name}`"), &values);
            if verdict.is_some() {
                return verdict;
            }
        }
        for at in 0..if memories { self.shape.memories.len() } else { 0 } {
            let name = self.shape.memories[at].clone();
            let hashes: Vec<_> = self.instances.iter_mut().map(|i| i.memory_hash(&name)).collect();
            if hashes.iter().any(|hash| *hash != hashes[0]) {
                return Some(self.different(&format!("hash of memory `{name}`"), &hashes));
            }
        }
        None
    }
}

/// Whether two engines did the same. Of an atomic access that is both unaligned and out of bounds,
/// one may say this and the other that.
fn alike(one: &Outcome, other: &Outcome) -> bool {
    let atomic = |outcome: &Outcome| *outcome == Err(Failure::Trap(Trap::UnalignedAtomic));
    let bounds = |outcome: &Outcome| *outcome == Err(Failure::Trap(Trap::MemoryOutOfBounds));
    one == other || atomic(one) && bounds(other) || bounds(one) && atomic(other)
}

/// What came of a seed.
pub enum Finding {
    /// No difference.
    Nothing,
    /// A difference that goes away with care, so it is no bug of gpu-run; and why.
    Excused(Difference, &'static str),
    /// A difference that remains.
    Bug(Box<Case>, Difference),
}

/// Runs the case that `build` makes, and if it differs, makes and runs it again with ever more care.
/// A difference that goes away is counted as dropped.
pub fn run_with_care(
    build: impl Fn(Care) -> Result<Case, String>,
    care: Care,
    engines: &mut [Box<dyn Engine>],
    counts: &mut Counts,
) -> Finding {
    counts.cases += 1;
    let case = match build(Care::default()) {
        Ok(case) => case,
        Err(error) => {
            counts.drop(format!("no module made: {error}"));
            return Finding::Nothing;
        }
    };
    let difference = match run(&case, engines, counts) {
        Verdict::Same => return Finding::Nothing,
        Verdict::Dropped(reason) => {
            counts.drop(reason);
            return Finding::Nothing;
        }
        Verdict::Different(difference) => difference,
    };
    let mut found = (case, difference.clone());
    let wasmi = Care { nans: false, ..care };
    let cares = [
        (wasmi, "a difference by wasmi's `select`"),
        (care, "a difference in the bits of a NaN"),
    ];
    for (care, excuse) in cares {
        let Ok(case) = build(care) else { continue };
        match run(&case, engines, &mut Counts::default()) {
            Verdict::Different(difference) => found = (case, difference),
            _ => {
                counts.drop(excuse.into());
                return Finding::Excused(difference, excuse);
            }
        }
    }
    Finding::Bug(Box::new(found.0), found.1)
}
