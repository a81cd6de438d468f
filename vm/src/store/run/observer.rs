//! Looks where threads are in compiled code while a run goes on: each look is a sample of some of them.
//!
//! Code writes marks (`ptx/emit/samples.rs`). A mark is true at some time, but those of a thread's callers may be of another
//! time than that of its innermost function, because the thread goes on while they are read. A stack with a call that does not
//! lead to the function after it is such a mixture. Of that the innermost place alone is counted, and in the end it gets the
//! callers that it has in the other samples.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::super::Store;
use super::super::samples::{Programs, Stack};
use super::vitals::words;
use crate::device::{Device, DeviceResult};
use crate::layout::{self, MARK_CALLS, MARK_GROUP, MARK_PC, Ptr};

/// Bytes of a group's marks.
pub(in crate::store) const GROUP_BYTES: u64 = 4 * (MARK_GROUP * (1 + MARK_CALLS)) as u64;

/// Looks in a period if there are several groups, at most. Each sees one of them.
const LOOKS: u64 = 8;
/// The time between two looks, at least; and a look's share of the time, one part in so many at most.
const SHORTEST: Duration = Duration::from_micros(50);
const SHARE: u32 = 4;

/// Looks at the marks of a run.
pub(in crate::store) struct Observer {
    marks: Ptr,
    groups: u64,
    /// Whether device memory is the host's own, so that a copy would race with lanes.
    host_memory: bool,
    every: Duration,
    next: Instant,
    last: Instant,
    looks: u64,
    /// Rows of open calls that are read: as many as were needed so far.
    rows: usize,
    /// What was read, two marks in each word.
    read: Vec<u64>,
    calls: Calls,
    stack: Vec<u32>,
    /// Nanoseconds of threads' time: by stack, and by innermost place where the stack is a mixture. A stack is a word for its
    /// place, 1 if there are calls further out, and return addresses.
    found: HashMap<Box<[u32]>, u64>,
    mixed: BTreeMap<u32, u64>,
}

impl Observer {
    /// Whether it is time for a look.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Looks at a group of threads, which stands for all. What cannot be read is left out: the run itself finds out why.
    pub(super) fn look(&mut self, device: &mut dyn Device) {
        let begin = Instant::now();
        // One group after the other in an order without a period that a program could have too: by the golden ratio.
        let part = self.looks.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let group = ((u128::from(part) * u128::from(self.groups)) >> 64) as u64;
        self.looks += 1;
        if let Err(error) = self.read(device, group) {
            tracing::debug!("no sample can be taken: {error}");
        } else {
            let time = (begin - self.last).as_nanos() as u64 * self.groups;
            (0..MARK_GROUP).for_each(|thread| self.count(thread, time));
        }
        self.last = begin;
        self.next = Instant::now() + self.every.max(begin.elapsed() * SHARE);
    }

    /// Reads a group's marks, with as many rows as its threads' calls have.
    fn read(&mut self, device: &mut dyn Device, group: u64) -> DeviceResult<()> {
        loop {
            self.read.resize((1 + self.rows) * MARK_GROUP / 2, 0);
            words(
                device,
                self.host_memory,
                self.marks + group * GROUP_BYTES,
                &mut self.read,
            )?;
            let own = &bytemuck::cast_slice::<u64, u32>(&self.read)[..MARK_GROUP];
            let deepest = own.iter().map(|mark| (mark >> MARK_PC) as usize).max();
            let needed = deepest.unwrap_or_default().min(MARK_CALLS);
            if needed <= self.rows {
                return Ok(());
            }
            self.rows = needed;
        }
    }

    /// Counts so much time for a thread of the group that was read, if it is in compiled code.
    fn count(&mut self, thread: usize, time: u64) {
        let marks: &[u32] = bytemuck::cast_slice(&self.read);
        let (pc, depth) = parts(marks[thread]);
        if pc == 0 {
            return;
        }
        self.stack.clear();
        self.stack.extend([pc, 0]);
        let (mut inner, mut open) = (pc, depth);
        for _ in 0..MARK_CALLS {
            open = open.wrapping_sub(1) & DEPTHS;
            let row = MARK_GROUP * (1 + open as usize % MARK_CALLS);
            let (call, at) = parts(marks.get(row + thread).copied().unwrap_or_default());
            // Further out is no call, or an interpreted function.
            if at != open || call == 0 {
                open = 1;
                break;
            }
            if !self.calls.leads_to(call, inner) {
                *self.mixed.entry(pc).or_default() += time;
                return;
            }
            self.stack.push(call);
            inner = call - 1;
        }
        self.stack[1] = u32::from(open != 1);
        match self.found.get_mut(&self.stack[..]) {
            Some(all) => *all += time,
            None => _ = self.found.insert(self.stack.as_slice().into(), time),
        }
    }

    /// Nanoseconds so far by innermost place.
    pub(super) fn places(&self) -> BTreeMap<u32, u64> {
        let mut places = self.mixed.clone();
        for (stack, time) in &self.found {
            *places.entry(stack[0]).or_default() += time;
        }
        places
    }

    /// Adds the nanoseconds of all stacks to those of the runs before.
    pub(in crate::store) fn add_to(self, all: &mut BTreeMap<Stack, u64>) {
        let mut known: BTreeMap<u32, u64> = BTreeMap::new();
        for (stack, time) in &self.found {
            *known.entry(stack[0]).or_default() += time;
        }
        for (pc, time) in &self.mixed {
            if !known.contains_key(pc) {
                let alone = Stack {
                    pc: *pc,
                    calls: Vec::new(),
                    more: true,
                };
                *all.entry(alone).or_default() += time;
            }
        }
        for (stack, time) in self.found {
            let mixed = self.mixed.get(&stack[0]).copied().unwrap_or_default();
            let share = u128::from(mixed) * u128::from(time) / u128::from(known[&stack[0]].max(1));
            let stack = Stack {
                pc: stack[0],
                calls: stack[2..].to_vec(),
                more: stack[1] != 0,
            };
            *all.entry(stack).or_default() += time + share as u64;
        }
    }
}

/// What of a depth is in a mark.
const DEPTHS: u32 = u32::MAX >> MARK_PC;

/// A mark's place and depth.
fn parts(mark: u32) -> (u32, u32) {
    (mark & ((1 << MARK_PC) - 1), mark >> MARK_PC)
}

/// Where calls lead, by words of a store's code.
#[derive(Default)]
struct Calls {
    /// The functions that are called directly, by return addresses: their first and last words.
    targets: HashMap<u32, (u32, u32)>,
}

impl Calls {
    /// Adds those of a program whose code begins at word `start`. Of one with tail calls there are none: a function may stand
    /// in the place of the one that was called.
    fn add(&mut self, start: u32, program: &Program) {
        let all = || instructions(&program.code).filter_map(|(word, inst)| Some((word, inst.ok()?)));
        let is_tail = |op| matches!(op, Op::ReturnCall | Op::ReturnCallIndirect | Op::ReturnCallImport);
        if all().any(|(_, inst)| is_tail(inst.op)) {
            return;
        }
        for ((word, inst), (next, _)) in all().zip(all().skip(1)) {
            let callee = (inst.op == Op::Call).then(|| (word as i64 + inst.args[1]) as u32);
            let function = callee.and_then(|head| Some(&program.meta.functions[program.function_at(head)?]));
            if let Some(function) = function {
                let words = (start + function.start, start + function.end);
                self.targets.insert(start + next as u32, words);
            }
        }
    }

    /// Whether the call with a return address may lead to the function at a word, as far as that is known.
    fn leads_to(&self, call: u32, word: u32) -> bool {
        let target = self.targets.get(&call);
        target.is_none_or(|(start, end)| (*start..*end).contains(&word))
    }
}

impl Store {
    /// What looks at the compiled run that is about to begin, whose record of samples is at `record`; `None` if no samples
    /// are taken of it.
    pub(super) fn observer(&mut self, record: Ptr, period: Duration) -> DeviceResult<Option<Observer>> {
        if record == 0 {
            return Ok(None);
        }
        let (record, host_memory) = (self.fetch::<layout::Samples>(record)?, self.host_memory_meanwhile());
        let (false, Some(host_memory)) = (record.marks == 0, host_memory) else {
            return Ok(None);
        };
        if self.code.len / 8 > 1 << MARK_PC {
            tracing::warn!("the program is too large for samples of compiled code");
            return Ok(None);
        }
        let mut calls = Calls::default();
        for (start, program) in Programs::of(self).iter() {
            calls.add(start, program);
        }
        let groups = u64::from(record.mark_threads) / MARK_GROUP as u64;
        let every = (period / groups.clamp(1, LOOKS) as u32).max(SHORTEST);
        let begin = Instant::now();
        Ok(Some(Observer {
            marks: record.marks,
            groups,
            host_memory,
            every,
            next: begin,
            last: begin,
            looks: 0,
            rows: 1,
            read: Vec::new(),
            calls,
            stack: Vec::new(),
            found: HashMap::new(),
            mixed: BTreeMap::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observer(calls: Calls) -> Observer {
        let begin = Instant::now();
        Observer {
            marks: 0,
            groups: 1,
            host_memory: true,
            every: SHORTEST,
            next: begin,
            last: begin,
            looks: 0,
            rows: 1,
            read: Vec::new(),
            calls,
            stack: Vec::new(),
            found: HashMap::new(),
            mixed: BTreeMap::new(),
        }
    }

    fn mark(pc: u32, depth: u32) -> u32 {
        depth << MARK_PC | pc
    }

    /// The marks of a group whose thread 3 has these: its own, and those of its calls by their depths.
    fn group(own: u32, calls: &[(u32, u32)]) -> Vec<u64> {
        let mut words = vec![0; MARK_GROUP * (1 + MARK_CALLS) / 2];
        let marks: &mut [u32] = bytemuck::cast_slice_mut(&mut words);
        marks[3] = own;
        for (depth, call) in calls {
            marks[MARK_GROUP * (1 + *depth as usize % MARK_CALLS) + 3] = mark(*call, *depth);
        }
        words
    }

    #[test]
    fn a_stack_is_read_from_marks() {
        let mut observer = observer(Calls::default());
        observer.read = group(mark(70, 3), &[(1, 11), (2, 22), (3, 33)]);
        (0..MARK_GROUP).for_each(|thread| observer.count(thread, 5));
        assert_eq!(observer.found, HashMap::from([([70, 0, 22, 11].into(), 5)]));
        // The row of a call further in, which has been open before.
        observer.read = group(mark(70, 3), &[(34, 22), (1, 11)]);
        observer.count(3, 5);
        assert_eq!(observer.found[&[70, 0][..]], 5);
    }

    #[test]
    fn of_deep_recursion_the_innermost_calls_are_told() {
        let mut observer = observer(Calls::default());
        let calls: Vec<_> = (500..540).map(|depth| (depth & DEPTHS, 22)).collect();
        observer.read = group(mark(70, 540 & DEPTHS), &calls);
        observer.count(3, 5);
        let (stack, _) = observer.found.iter().next().expect("a stack");
        assert_eq!((stack.len(), stack[1]), (2 + MARK_CALLS, 1));
    }

    #[test]
    fn mixtures_get_the_callers_of_other_samples() {
        let mut observer = observer(Calls {
            targets: HashMap::from([(22, (60, 80)), (23, (90, 99))]),
        });
        for (call, time) in [(22, 30), (23, 10)] {
            observer.read = group(mark(70, 2), &[(1, call)]);
            observer.count(3, time);
        }
        assert_eq!(observer.places(), BTreeMap::from([(70, 40)]));
        let mut all = BTreeMap::new();
        observer.add_to(&mut all);
        let stack = Stack {
            pc: 70,
            calls: vec![22],
            more: false,
        };
        assert_eq!(all, BTreeMap::from([(stack, 40)]));
    }
}
