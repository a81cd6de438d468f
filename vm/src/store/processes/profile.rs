//! Samples of the processes of a batch: which are of which. Interpreted processes tell the host of each, through the ring of
//! outputs; it looks at those that are compiled, as it does at threads (`run/observer.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::super::Store;
use super::super::run::{Observer, part_of};
use super::super::samples::{LongInstructions, Stack};
use super::ProcessOutcome;
use super::gather::{Book, Stacks};
use super::slots::Slots;
use crate::device::Device;
use crate::layout::{MARK_GROUP, ProcessSample, SAMPLE_CALLS};
use crate::stands::Doing;

/// The longest times of processes so far.
pub(super) struct Longest {
    wanted: usize,
    times: BinaryHeap<Reverse<Duration>>,
    /// What tells instructions apart that may take long. It is found once: a batch tells of many processes.
    long: Option<LongInstructions>,
    /// Where all processes so far were.
    all: Stacks,
    /// The nanoseconds of those that looks have seen, and those that they took.
    seen: u64,
    took: u64,
}

impl Longest {
    pub(super) fn new(wanted: usize) -> Longest {
        Longest {
            wanted,
            times: BinaryHeap::new(),
            long: None,
            all: Stacks::new(),
            seen: 0,
            took: 0,
        }
    }

    /// Adds a time, and returns whether it is one of the longest.
    fn note(&mut self, time: Duration) -> bool {
        let full = self.times.len() >= self.wanted;
        if full && self.times.peek().is_none_or(|Reverse(shortest)| time <= *shortest) {
            return false;
        }
        self.times.push(Reverse(time));
        if full {
            self.times.pop();
        }
        true
    }
}

/// How old the list of groups may be by which the host looks at processes.
const LISTED_AFTER: Duration = Duration::from_millis(5);

/// Looks where the processes of a round are whose code is compiled.
pub(super) struct Watched {
    observer: Observer,
    groups: Groups,
    listed: Option<Instant>,
    /// The numbers of processes by slot, two in each word.
    current: Vec<u64>,
}

impl Watched {
    pub(super) fn new(observer: Observer) -> Watched {
        Watched {
            observer,
            groups: Groups::default(),
            listed: None,
            current: Vec::new(),
        }
    }

    /// Finds out which groups have processes. Where that cannot be read the list stays as it is: the round itself finds out
    /// why.
    fn list(&mut self, device: &mut dyn Device, slots: &Slots, book: &mut Book, oldest: usize) {
        let is_old = |listed: Instant| listed.elapsed() >= LISTED_AFTER;
        if !self.groups.all.is_empty() && !self.listed.is_none_or(is_old) {
            return;
        }
        self.current
            .resize((slots.count as usize).div_ceil(MARK_GROUP) * MARK_GROUP / 2, 0);
        if self
            .observer
            .read_words(device, slots.batch.current, &mut self.current)
            .is_ok()
        {
            let current: &[u32] = bytemuck::cast_slice(&self.current);
            // The last one of a slot that has no other may have ended long ago.
            self.groups = Groups::of(current, oldest, |process| book.runs(process));
        }
        self.listed = Some(Instant::now());
    }
}

/// Groups of slots that have processes.
#[derive(Debug, Default, PartialEq)]
struct Groups {
    all: Vec<u64>,
    /// Those with the processes that have begun first: who looks at one group in a thousand sees little of a few that take
    /// long, so half of all looks go to these.
    oldest: Vec<u64>,
}

impl Groups {
    /// Of slots with processes of these numbers, from 1, some of which run. So many of these are the oldest.
    fn of(current: &[u32], oldest: usize, mut runs: impl FnMut(u32) -> bool) -> Groups {
        let mut all = Vec::new();
        // The first of them, the youngest on top.
        let mut first = BinaryHeap::new();
        for (group, current) in (0..).zip(current.chunks(MARK_GROUP)) {
            let running = current.iter().filter(|number| **number > 0 && runs(**number - 1));
            let mut has_one = false;
            for number in running {
                has_one = true;
                if first.len() < oldest || first.peek().is_some_and(|(youngest, _)| number < youngest) {
                    first.push((*number, group));
                }
                if first.len() > oldest {
                    first.pop();
                }
            }
            if has_one {
                all.push(group);
            }
        }
        let mut oldest: Vec<u64> = first.into_iter().map(|(_, group)| group).collect();
        oldest.sort_unstable();
        oldest.dedup();
        Groups { all, oldest }
    }

    /// Chooses a group by a part of 2^64, and tells for how many it stands: that many times the chance to be chosen is 1.
    fn choose(&self, part: u64) -> Option<(u64, f64)> {
        if self.all.is_empty() {
            return None;
        }
        let (all, oldest) = (self.all.len() as f64, self.oldest.len() as f64);
        if self.oldest.is_empty() || self.oldest.len() == self.all.len() {
            return Some((self.all[part_of(self.all.len() as u64, part) as usize], all));
        }
        let from = if part >> 63 == 0 { &self.all } else { &self.oldest };
        let group = from[part_of(from.len() as u64, part << 1) as usize];
        let is_old = self.oldest.binary_search(&group).is_ok();
        let chance = 0.5 / all + if is_old { 0.5 / oldest } else { 0.0 };
        Some((group, 1.0 / chance))
    }
}

/// Where a process was that has told of samples.
pub(super) fn stack_of(sample: &ProcessSample) -> Stack {
    let calls = &sample.calls[..(sample.frames as usize).min(SAMPLE_CALLS)];
    Stack {
        doing: Some(Doing::of(sample.state)),
        pc: sample.pc,
        calls: calls.to_vec(),
        more: sample.more != 0,
    }
}

impl Store {
    /// Looks where compiled processes are, if it is time. One that has ended meanwhile is left out.
    pub(super) fn look_at_processes(&mut self, watched: &mut Watched, slots: &Slots, book: &mut Book, slowest: usize) {
        if watched.observer.is_due() {
            watched.list(&mut *self.device, slots, book, slowest);
            let choose = |part| watched.groups.choose(part);
            let note = |number: u32, stack, time| book.sampled(number - 1, stack, time);
            let (device, current) = (&mut *self.device, slots.batch.current);
            watched.observer.look_at_processes(device, current, choose, note);
        }
    }

    /// Takes the samples of a process that is to be told of, at which the host has looked if they are `watched`.
    pub(super) fn take_stacks(
        &mut self,
        outcome: &mut ProcessOutcome,
        mut stacks: Stacks,
        longest: &mut Longest,
        watched: bool,
    ) {
        if !self.takes_samples() {
            return;
        }
        for (stack, time) in &stacks {
            *longest.all.entry(stack.clone()).or_default() += time;
        }
        if watched {
            let seen = stacks.values().sum();
            let took = outcome.time.as_nanos() as u64;
            scale(&mut stacks, seen, took);
            longest.seen += seen;
            longest.took += took;
        }
        if longest.note(outcome.time) {
            let long = longest.long.get_or_insert_with(|| self.long_instructions());
            outcome.samples = Some(self.samples_of(&stacks, long));
        }
    }

    /// Adds the samples of a batch that is over to those of the runs before it.
    pub(super) fn add_samples(&mut self, longest: Longest) {
        let Longest {
            mut all, seen, took, ..
        } = longest;
        if took > 0 {
            scale(&mut all, seen, took);
        }
        self.add_stacks(all);
    }
}

/// Makes nanoseconds that were seen those that processes took: the host looks when it has nothing else to do, and knows their
/// times.
fn scale(stacks: &mut Stacks, seen: u64, took: u64) {
    let times = took as f64 / seen.max(1) as f64;
    stacks
        .values_mut()
        .for_each(|time| *time = (*time as f64 * times) as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_those_so_far() {
        let noted = |wanted, times: &[u64]| {
            let mut longest = Longest::new(wanted);
            let times = times.iter().map(|time| longest.note(Duration::from_secs(*time)));
            times.collect::<Vec<bool>>()
        };
        assert_eq!(noted(2, &[3, 1, 2, 1, 2, 4]), [true, true, true, false, false, true]);
        assert_eq!(noted(0, &[3, 1]), [false, false]);
    }

    #[test]
    fn half_of_the_looks_go_to_the_oldest() {
        let mut current = vec![0; 4 * MARK_GROUP];
        // Three groups have processes; the oldest that runs is in the last.
        (current[0], current[1], current[MARK_GROUP], current[3 * MARK_GROUP + 7]) = (1, 9, 8, 5);
        let groups = Groups::of(&current, 1, |process| process != 0);
        let (all, oldest) = (vec![0, 1, 3], vec![3]);
        assert_eq!(groups, Groups { all, oldest });
        let mut sums = [0.0; 4];
        const LOOKS: u64 = 6000;
        for look in 0..LOOKS {
            let (group, of) = groups.choose(look * (u64::MAX / LOOKS)).unwrap();
            sums[group as usize] += of;
        }
        // Each stands for itself in all.
        for (group, wanted) in [1.0, 1.0, 0.0, 1.0].into_iter().enumerate() {
            assert!((sums[group] / LOOKS as f64 - wanted).abs() < 0.01, "{sums:?}");
        }
        assert_eq!(Groups::of(&[3; MARK_GROUP], 1, |_| false).choose(7), None);
    }
}
