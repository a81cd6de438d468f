//! Where a program's time went: samples as stacks of names, for the table of `gpu-run profile` and for files.

mod batch;
mod compare;
mod formats;
mod massif;
mod show;
mod table;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use gpu_run::{Backtrace, BacktraceFrame, Counts, Doing, HeapProfile, HeapSnapshot, Kind, SampleGroup, Samples};

pub use batch::BatchProfile;
pub use compare::differences;
pub use formats::{read, write};
pub use show::{open, show};
pub use table::table;

use crate::lines::LineSource;

/// A call in a stack, or what a thread did that did not run.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Readable name of the function.
    pub name: String,
    /// File and line in it, where they are known.
    pub place: Option<(String, u32)>,
}

impl Frame {
    fn of(place: &BacktraceFrame) -> Frame {
        let line = place.line.as_ref().filter(|line| line.line > 0);
        Frame {
            name: place.function.clone(),
            place: line.map(|line| (line.file.clone(), line.line)),
        }
    }

    /// A frame that is no function.
    fn label(name: impl Into<String>) -> Frame {
        Frame {
            name: name.into(),
            place: None,
        }
    }
}

/// What tells the lines of the programs that ran, by the numbers of their instances.
pub struct Sources<'s> {
    /// Those after the first have names, by which processes start them.
    programs: Vec<(Option<&'s str>, &'s LineSource)>,
}

impl<'s> Sources<'s> {
    /// Of one program.
    pub fn of(lines: &'s LineSource) -> Sources<'s> {
        Sources {
            programs: vec![(None, lines)],
        }
    }

    /// Adds a program that processes start by this name.
    pub fn push(&mut self, name: &'s str, lines: &'s LineSource) {
        self.programs.push((Some(name), lines));
    }

    /// Adds lines to samples. Those of a program are read once.
    fn add_lines<'g>(&self, groups: impl Iterator<Item = &'g mut SampleGroup>) {
        let mut backtraces: Vec<Vec<&mut Backtrace>> = self.programs.iter().map(|_| Vec::new()).collect();
        for group in groups {
            if let Some(of_program) = backtraces.get_mut(group.instance) {
                of_program.push(&mut group.backtrace);
            }
        }
        for ((_, lines), of_program) in self.programs.iter().zip(backtraces) {
            lines.add_near_to_all(of_program);
        }
    }

    /// The frame around those of an instance, if it is of a program with a name.
    fn frame(&self, instance: usize) -> Option<Frame> {
        let (name, _) = self.programs.get(instance)?;
        name.map(|name| Frame::label(format!("[program {name}]")))
    }
}

/// What the numbers of a profile are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Samples, each of which stands for so much of a thread's time; zero where it is not known.
    Time(Duration),
    /// Operations.
    Operations,
    /// Bytes of the heap.
    Bytes,
}

impl Default for Unit {
    fn default() -> Unit {
        Unit::Time(Duration::ZERO)
    }
}

impl Unit {
    /// Whether both are known, and numbers of different things.
    pub fn differs(self, other: Unit) -> bool {
        let known = |unit| unit != Unit::default();
        known(self) && known(other) && self.name() != other.name()
    }

    /// What one is called.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Time(_) => "samples",
            Unit::Operations => "operations",
            Unit::Bytes => "bytes",
        }
    }
}

/// What the operations of a profile were.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// By kind, the most first.
    pub kinds: Vec<(Kind, u64)>,
    /// Bytes of linear memory that were loaded and stored.
    pub traffic: (u64, u64),
}

/// A heap over time.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// The most bytes that there were at once.
    pub peak: u64,
    /// Calls that allocated.
    pub stacks: Vec<Vec<Frame>>,
    /// In the order of their times. The groups' stacks are those.
    pub snapshots: Vec<HeapSnapshot>,
}

/// Samples, operations or bytes by their stacks, the outermost call first.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What ran.
    pub title: String,
    /// What the numbers are.
    pub unit: Unit,
    /// Samples, operations or bytes.
    pub stacks: BTreeMap<Vec<Frame>, u64>,
    /// Of operations, how many of warps they were, if that is known.
    pub warps: BTreeMap<Vec<Frame>, u64>,
    /// Samples of which the stack is not known.
    pub lost: u64,
    /// Of counted operations, what they were.
    pub operations: Operations,
    /// Of a heap, all of it.
    pub heap: Heap,
}

impl Profile {
    /// What samples of programs tell.
    pub fn of_samples(title: String, mut samples: Samples, sources: &Sources<'_>) -> Profile {
        sources.add_lines(samples.groups.iter_mut());
        Profile::of_told(title, samples, sources)
    }

    /// The same, of samples that have their lines.
    fn of_told(title: String, samples: Samples, sources: &Sources<'_>) -> Profile {
        let mut profile = Profile {
            title,
            unit: Unit::Time(samples.period),
            lost: samples.lost,
            ..Profile::default()
        };
        for group in samples.groups {
            let mut stack = stack(&group.backtrace, group.doing);
            if let Some(frame) = sources.frame(group.instance) {
                stack.insert(0, frame);
            }
            stack.extend(group.kind.map(|kind| Frame::label(format!("[{kind}]"))));
            profile.add(stack, group.samples);
        }
        profile
    }

    /// What counts tell: of each device, of each program. Stacks are those of functions that were inlined, without callers.
    pub fn of_counts(title: String, devices: Vec<Vec<Counts>>, sources: &Sources<'_>) -> Profile {
        let mut profile = Profile {
            title,
            unit: Unit::Operations,
            ..Profile::default()
        };
        let counts = devices
            .into_iter()
            .flat_map(|programs| programs.into_iter().enumerate());
        for (instance, counts) in counts {
            profile.add_counts(counts, instance, sources);
        }
        profile
            .operations
            .kinds
            .sort_by_key(|(kind, count)| (Reverse(*count), *kind));
        profile
    }

    /// Adds the counts of one program.
    fn add_counts(&mut self, mut counts: Counts, instance: usize, sources: &Sources<'_>) {
        let all = &mut self.operations;
        all.traffic.0 += counts.traffic.0;
        all.traffic.1 += counts.traffic.1;
        for (kind, count) in counts.kinds {
            match all.kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, all)) => *all += count,
                None => all.kinds.push((kind, count)),
            }
        }
        if let Some((_, lines)) = sources.programs.get(instance) {
            lines.add_near_to_all(counts.places.iter_mut().map(|place| &mut place.backtrace));
        }
        for place in counts.places {
            let mut stack = stack(&place.backtrace, Doing::Runs);
            if let Some(frame) = sources.frame(instance) {
                stack.insert(0, frame);
            }
            if place.warps > 0 {
                *self.warps.entry(stack.clone()).or_default() += place.warps;
            }
            self.add(stack, place.operations);
        }
    }

    /// What a heap held when it held most, as far as that was seen.
    pub fn of_heap(title: String, mut heap: HeapProfile, lines: &LineSource) -> Profile {
        lines.add_near_to_all(&mut heap.stacks);
        let mut profile = Profile {
            title,
            unit: Unit::Bytes,
            ..Profile::default()
        };
        let stack_of = |calls: &Backtrace| match calls.places.is_empty() {
            true => vec![Frame::label("[being allocated]")],
            false => stack(calls, Doing::Runs),
        };
        let stacks: Vec<_> = heap.stacks.iter().map(stack_of).collect();
        if let Some(largest) = HeapSnapshot::largest(&heap.snapshots) {
            for group in &heap.snapshots[largest].groups {
                profile.add(stacks[group.stack].clone(), group.bytes);
            }
        }
        profile.heap = Heap {
            peak: heap.peak,
            stacks,
            snapshots: heap.snapshots,
        };
        profile
    }

    /// Adds samples of a stack. A file may have any numbers.
    fn add(&mut self, stack: Vec<Frame>, samples: u64) {
        let all = self.stacks.entry(stack).or_default();
        *all = all.saturating_add(samples);
    }

    /// Samples whose stacks are known; or operations, or bytes.
    pub fn samples(&self) -> u64 {
        self.stacks
            .values()
            .fold(0, |all, samples| all.saturating_add(*samples))
    }
}

/// Calls with the outermost first, and at their end what the thread did if it did not run.
fn stack(backtrace: &Backtrace, doing: Doing) -> Vec<Frame> {
    let omitted = (backtrace.omitted > 0).then(|| Frame::label("[further out]"));
    let calls = backtrace.places.iter().rev().map(Frame::of);
    let waits = match doing {
        Doing::Runs => None,
        Doing::Sleeps => Some("[sleeps]"),
        Doing::Waits => Some("[waits for a notify]"),
        Doing::AwaitsHost => Some("[waits for the host]"),
        Doing::AwaitsOutput => Some("[waits until output is read]"),
        Doing::AwaitsTurn => Some("[waits for another thread's turn]"),
    };
    let waits = waits.map(Frame::label);
    omitted.into_iter().chain(calls).chain(waits).collect()
}

/// Profiles for tests: stacks as `a;b` with their samples.
#[cfg(test)]
fn of_stacks(stacks: &[(&str, u64)]) -> Profile {
    let frames = |stack: &str| stack.split(';').map(Frame::label).collect();
    Profile {
        title: "app.wasm".into(),
        unit: Unit::Time(Duration::from_millis(1)),
        stacks: stacks
            .iter()
            .map(|(stack, samples)| (frames(stack), *samples))
            .collect(),
        ..Profile::default()
    }
}
