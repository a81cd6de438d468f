//! Looks where threads are in compiled code while a run goes on: each look is a sample of some of them.
//!
//! Code writes a mark for each frame (`ptx/emit/samples.rs`), and one for all of a function that calls itself. The frames of a
//! thread are those whose marks tell of a call, one after the other from the outermost, and the one that is called last. A
//! function that has written no mark since it was called is told by the call; what stands in the place of its mark is of a
//! frame before it. Marks are true at some time, but those of a thread's frames may be of different times, because the thread
//! goes on while they are read. So a call counts only if it leads to the function after it. Of frames that share the last row
//! but one that is not known.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::offset_of;
use std::time::{Duration, Instant};

use gpu_run_bytecode::code::instructions;
use gpu_run_bytecode::{Op, Program};

use super::super::Store;
use super::super::samples::{Programs, Stack};
use super::vitals::words;
use crate::device::{Device, DeviceResult, WARP};
use crate::layout::{MARK_FRAMES, MARK_GROUP, MARK_OWN, Ptr, Spawner};
use crate::stands::place_of_unmarked;

/// Bytes of a group's marks.
pub(in crate::store) const GROUP_BYTES: u64 = 4 * (MARK_GROUP * (1 + MARK_FRAMES)) as u64;

/// Looks in a period if there are several groups, at most. Each sees one of them.
const LOOKS: u64 = 8;
/// The time between two looks, at least; and a look's share of the time, one part in so many at most.
const SHORTEST: Duration = Duration::from_micros(50);
const SHARE: u32 = 4;
/// The same at processes: the host has much to do for them.
const SHARE_OF_PROCESSES: u32 = 16;
/// Times between looks at processes that one of these stands for, at most.
const LONGEST_LOOKS: u64 = 4;

/// Irrational parts of 2^64: the golden ratio's and the silver ratio's, by which groups and times between looks are chosen.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const SILVER: u64 = 0x6a09_e667_f3bc_c909;

/// Looks at the marks of a run.
pub(in crate::store) struct Observer {
    marks: Ptr,
    groups: u64,
    /// Of a program that spawns threads: its record, and how many warps there are.
    spawner: Option<(Ptr, u64)>,
    /// Whether device memory is the host's own, so that a copy would race with lanes.
    host_memory: bool,
    every: Duration,
    next: Instant,
    last: Instant,
    looks: u64,
    /// Rows of frames that are read: as many as were needed so far.
    rows: usize,
    /// What was read, two marks in each word.
    read: Vec<u64>,
    calls: Calls,
    /// What was found last: a word for its place, 1 if there are calls further out, and return addresses.
    stack: Vec<u32>,
    /// Nanoseconds of threads' time by stack.
    found: HashMap<Box<[u32]>, u64>,
}

impl Observer {
    /// Whether it is time for a look.
    pub(in crate::store) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Looks at a group of threads, which stands for all. What cannot be read is left out: the run itself finds out why.
    pub(super) fn look(&mut self, device: &mut dyn Device) {
        let mut found = std::mem::take(&mut self.found);
        self.look_with(device, SHARE, |observer, device, time| {
            let groups = observer.groups_in_use(device)?;
            observer.read(device, part_of(groups, observer.part(GOLDEN)))?;
            for thread in 0..MARK_GROUP {
                if observer.find_stack(thread) {
                    match found.get_mut(&observer.stack[..]) {
                        Some(all) => *all += time * groups,
                        None => _ = found.insert(observer.stack.as_slice().into(), time * groups),
                    }
                }
            }
            Ok(())
        });
        self.found = found;
    }

    /// The same where threads are processes of a batch. Their numbers, from 1, lie at `current` by slot, which is the thread's
    /// number. `choose` is passed a part of 2^64, and chooses a group and for how many it stands. `note` is passed the number,
    /// where the process was, and nanoseconds.
    pub(in crate::store) fn look_at_processes(
        &mut self,
        device: &mut dyn Device,
        current: Ptr,
        choose: impl FnOnce(u64) -> Option<(u64, f64)>,
        mut note: impl FnMut(u32, Stack, u64),
    ) {
        self.look_with(device, SHARE_OF_PROCESSES, |observer, device, time| {
            let Some((group, of)) = choose(observer.part(GOLDEN)) else {
                return Ok(());
            };
            let numbers = |observer: &Observer, device: &mut dyn Device| -> DeviceResult<_> {
                let mut read = [0u64; MARK_GROUP / 2];
                observer.read_words(device, current + group * 4 * MARK_GROUP as u64, &mut read)?;
                Ok(read)
            };
            let before = numbers(observer, device)?;
            observer.read(device, group)?;
            // A slot that has another process now may have had it then.
            let after = numbers(observer, device)?;
            let (before, after): (&[u32], &[u32]) = (bytemuck::cast_slice(&before), bytemuck::cast_slice(&after));
            for thread in (0..MARK_GROUP).filter(|thread| before[*thread] != 0 && before[*thread] == after[*thread]) {
                if observer.find_stack(thread) {
                    // The host may have done other things for long: that is no time of what it finds now alone.
                    let time = time.min(LONGEST_LOOKS * observer.every.as_nanos() as u64);
                    note(before[thread], Stack::of(&observer.stack), (time as f64 * of) as u64);
                }
            }
            Ok(())
        });
    }

    /// Reads words of the device's memory, two in each of these.
    pub(in crate::store) fn read_words(&self, device: &mut dyn Device, at: Ptr, to: &mut [u64]) -> DeviceResult<()> {
        words(device, self.host_memory, at, to)
    }

    /// Looks, and decides when to do so again: looks take one part in `share` of the time at most. `look` is passed nanoseconds
    /// since the last look.
    fn look_with(
        &mut self,
        device: &mut dyn Device,
        share: u32,
        look: impl FnOnce(&mut Observer, &mut dyn Device, u64) -> DeviceResult<()>,
    ) {
        let begin = Instant::now();
        if let Err(error) = look(self, device, (begin - self.last).as_nanos() as u64) {
            tracing::debug!("no sample can be taken: {error}");
        }
        self.looks += 1;
        self.last = begin;
        let every = self.every.max(begin.elapsed() * share);
        // Half of it to one and a half.
        self.next = Instant::now() + every / 2 + every * (self.part(SILVER) >> 48) as u32 / (1 << 16);
    }

    /// Groups with threads: of a program that spawns some, those whose slots were ever handed out. The first are in warps of
    /// their own, one after the other (`spawn::lane_at`).
    fn groups_in_use(&self, device: &mut dyn Device) -> DeviceResult<u64> {
        let Some((spawner, warps)) = self.spawner else {
            return Ok(self.groups);
        };
        // Both lie in one word.
        const { assert!(offset_of!(Spawner, used) == offset_of!(Spawner, capacity) + 4) };
        let mut word = [0];
        let at = spawner + offset_of!(Spawner, capacity) as u64;
        words(device, self.host_memory, at, &mut word)?;
        let used = (word[0] >> 32).max(1);
        Ok(match used <= warps {
            true => (used * u64::from(WARP)).div_ceil(MARK_GROUP as u64).min(self.groups),
            false => self.groups,
        })
    }

    /// The look's number in a sequence without a period that a program could have too: parts of 2^64, which lie all over it.
    fn part(&self, step: u64) -> u64 {
        self.looks.wrapping_mul(step)
    }

    /// Reads a group's marks, with as many rows as its threads have frames.
    fn read(&mut self, device: &mut dyn Device, group: u64) -> DeviceResult<()> {
        loop {
            self.read.resize((1 + self.rows) * MARK_GROUP / 2, 0);
            words(
                device,
                self.host_memory,
                self.marks + group * GROUP_BYTES,
                &mut self.read,
            )?;
            let last = &bytemuck::cast_slice::<u64, u32>(&self.read)[self.rows * MARK_GROUP..];
            if self.rows == MARK_FRAMES || last.iter().all(|mark| *mark == 0) {
                return Ok(());
            }
            self.rows = (2 * self.rows).min(MARK_FRAMES);
        }
    }

    /// Finds the stack of a thread of the group that was read. False if it is not in compiled code.
    fn find_stack(&mut self, thread: usize) -> bool {
        let marks: &[u32] = bytemuck::cast_slice(&self.read);
        if marks[thread] == 0 {
            return false;
        }
        let frame = |row: usize| marks.get(MARK_GROUP * row + thread).and_then(|mark| Mark::of(*mark));
        // Frames further out are in no row if the interpreter runs them.
        let Some(outermost) = (1..=MARK_FRAMES).find(|row| frame(*row).is_some()) else {
            return false;
        };
        self.stack.clear();
        self.stack.extend([0, u32::from(outermost > 1)]);
        let (mut place, mut callee) = (0, None);
        for row in outermost..=MARK_FRAMES {
            // Of the last row but one it is not known which frame calls.
            let fits = |mark: &Mark| row == MARK_FRAMES - 1 || self.calls.may_be_in(callee, mark.pc);
            let Some(mark) = frame(row).filter(fits) else { break };
            place = mark.pc;
            if !mark.calls {
                break;
            }
            self.stack.push(mark.pc);
            callee = self.calls.targets.get(&mark.pc).copied();
            // Where the callee is as long as it has marked nothing; of one that is not known, the call.
            place = callee.map_or(place - 1, |callee| callee.unmarked);
        }
        self.stack[0] = place;
        self.stack[2..].reverse();
        true
    }

    /// Nanoseconds so far by innermost place.
    pub(super) fn places(&self) -> BTreeMap<u32, u64> {
        let mut places = BTreeMap::new();
        for (stack, time) in &self.found {
            *places.entry(stack[0]).or_default() += time;
        }
        places
    }

    /// Adds the nanoseconds of all stacks to those of the runs before.
    pub(in crate::store) fn add_to(self, all: &mut BTreeMap<Stack, u64>) {
        for (stack, time) in self.found {
            *all.entry(Stack::of(&stack)).or_default() += time;
        }
    }
}

impl Stack {
    /// Of the words by which an observer keeps it.
    fn of(words: &[u32]) -> Stack {
        Stack {
            doing: None,
            pc: words[0],
            calls: words[2..].to_vec(),
            more: words[1] != 0,
        }
    }
}

/// A number below `of`, which lies there as a part lies in 2^64.
pub(in crate::store) fn part_of(of: u64, part: u64) -> u64 {
    ((u128::from(part) * u128::from(of)) >> 64) as u64
}

/// What a frame has marked.
#[derive(Clone, Copy)]
struct Mark {
    pc: u32,
    calls: bool,
}

impl Mark {
    fn of(mark: u32) -> Option<Mark> {
        (mark != 0).then_some(Mark {
            pc: mark & !MARK_OWN,
            calls: mark & MARK_OWN == 0,
        })
    }
}

/// A function that is called, by words of a store's code.
#[derive(Clone, Copy)]
struct Callee {
    start: u32,
    end: u32,
    /// Where a frame is that has marked nothing.
    unmarked: u32,
}

/// Where calls lead, by words of a store's code.
#[derive(Default)]
struct Calls {
    /// The functions that are called directly, by return addresses.
    targets: HashMap<u32, Callee>,
    /// The first words of functions that may stand in the place of the one that was called, after a tail call.
    tails: HashSet<u32>,
    /// Where functions begin, and end.
    functions: BTreeMap<u32, u32>,
}

impl Calls {
    /// Adds those of a program whose code begins at word `start`.
    fn add(&mut self, start: u32, program: &Program) {
        let functions = program.meta.functions.iter().enumerate();
        let callees: Vec<Callee> = functions
            .map(|(index, function)| Callee {
                start: start + function.start,
                end: start + function.end,
                unmarked: start + place_of_unmarked(program, index),
            })
            .collect();
        self.functions
            .extend(callees.iter().map(|callee| (callee.start, callee.end)));
        let mut any = false;
        let mut called = None;
        for (word, inst) in instructions(&program.code) {
            let Ok(inst) = inst else { continue };
            // The return address of a call is the word after it.
            if let Some(function) = called.take() {
                self.targets.insert(start + word as u32, function);
            }
            let callee = || {
                let head = (word as i64 + inst.args[1]) as u32;
                Some(callees[program.function_at(head)?])
            };
            match inst.op {
                Op::Call => called = callee(),
                Op::ReturnCall => self.tails.extend(callee().map(|callee| callee.start)),
                Op::ReturnCallIndirect | Op::ReturnCallImport => any = true,
                _ => {}
            }
        }
        if any {
            self.tails.extend(callees.iter().map(|callee| callee.start));
        }
    }

    /// Whether a word may be in the frame of the function that was called, as far as that is known.
    fn may_be_in(&self, callee: Option<Callee>, word: u32) -> bool {
        let Some(Callee { start, end, .. }) = callee else {
            return true;
        };
        let tail = || {
            let function = self.functions.range(..=word).next_back();
            function.is_some_and(|(start, end)| word < *end && self.tails.contains(start))
        };
        (start..end).contains(&word) || tail()
    }
}

impl Store {
    /// What looks at the compiled run that is about to begin, which has so many lanes; `None` if no samples are taken of it.
    pub(in crate::store) fn observer(&self, lanes: u32) -> Option<Observer> {
        let record = self.sampling.record_in_use().filter(|record| record.marks != 0)?;
        let host_memory = self.host_memory_meanwhile()?;
        let mut calls = Calls::default();
        for (start, program) in Programs::of(self).iter() {
            calls.add(start, program);
        }
        let groups = u64::from(record.mark_threads) / MARK_GROUP as u64;
        let every = (self.sampling.period() / groups.clamp(1, LOOKS) as u32).max(SHORTEST);
        let begin = Instant::now();
        Some(Observer {
            marks: record.marks,
            groups,
            spawner: self.run.spawn.in_use().map(|at| (at, u64::from(lanes / WARP))),
            host_memory,
            every,
            next: begin,
            last: begin,
            looks: 0,
            rows: 4,
            read: Vec::new(),
            calls,
            stack: Vec::new(),
            found: HashMap::new(),
        })
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
            spawner: None,
            host_memory: true,
            every: SHORTEST,
            next: begin,
            last: begin,
            looks: 0,
            rows: MARK_FRAMES,
            read: Vec::new(),
            calls,
            stack: Vec::new(),
            found: HashMap::new(),
        }
    }

    /// Of what the frames call that share the last row but one.
    const LAST: u32 = u32::MAX;

    /// The stack that is found of a thread with these marks, each a depth, a word and whether it is a call's.
    fn stack(calls: Calls, marks: &[(u32, u32, bool)]) -> Vec<u32> {
        let mut observer = observer(calls);
        observer.read = vec![0; MARK_GROUP * (1 + MARK_FRAMES) / 2];
        let read: &mut [u32] = bytemuck::cast_slice_mut(&mut observer.read);
        read[3] = 1;
        for (depth, pc, calls) in marks {
            let row = match *depth {
                LAST => MARK_FRAMES,
                depth => (depth as usize).min(MARK_FRAMES - 1),
            };
            read[MARK_GROUP * row + 3] = pc | if *calls { 0 } else { MARK_OWN };
        }
        let found: Vec<usize> = (0..MARK_GROUP).filter(|thread| observer.find_stack(*thread)).collect();
        assert_eq!(found, [3]);
        assert!(observer.find_stack(3));
        observer.stack
    }

    fn callee(start: u32, end: u32) -> Callee {
        Callee {
            start,
            end,
            unmarked: start + 1,
        }
    }

    fn calls() -> Calls {
        Calls {
            targets: HashMap::from([(11, callee(60, 80)), (66, callee(90, 99))]),
            tails: HashSet::new(),
            functions: BTreeMap::from([(10, 20), (60, 80), (90, 99)]),
        }
    }

    #[test]
    fn a_stack_is_read_from_marks() {
        let marks = [(1, 11, true), (2, 66, true), (3, 95, false)];
        assert_eq!(stack(calls(), &marks), [95, 0, 66, 11]);
        assert_eq!(
            stack(calls(), &marks[..1]),
            [61, 0, 11],
            "a callee that has marked nothing"
        );
        let before = [(1, 11, true), (2, 66, false), (3, 95, false)];
        assert_eq!(stack(calls(), &before), [66, 0, 11], "what has come back");
        let another = [(1, 11, true), (2, 95, true)];
        assert_eq!(
            stack(calls(), &another),
            [61, 0, 11],
            "the mark of a function that is not called"
        );
        assert_eq!(
            stack(Calls::default(), &[(1, 11, true)]),
            [10, 0, 11],
            "a call to nobody knows where"
        );
        let tails = Calls {
            tails: HashSet::from([90]),
            ..calls()
        };
        assert_eq!(
            stack(tails, &[(1, 11, true), (2, 95, false)]),
            [95, 0, 11],
            "after a tail call"
        );
    }

    #[test]
    fn of_deep_recursion_the_outermost_frames_and_one_are_told() {
        let mut marks: Vec<_> = (1..=300)
            .map(|depth| (depth, 11 + (depth == 300) as u32, true))
            .collect();
        marks.push((301, 70, false));
        let found = stack(Calls::default(), &marks);
        assert_eq!((found.len(), found[0], found[1]), (2 + MARK_FRAMES - 2, 70, 0));
        // The frame in the row that they share is not one that the frame before it calls.
        let marks: Vec<_> = (1..MARK_FRAMES as u32 - 1).map(|depth| (depth, 11, true)).collect();
        let elsewhere = [&marks[..], &[(40, 95, false)]].concat();
        assert_eq!(stack(calls(), &elsewhere[MARK_FRAMES - 3..])[..2], [95, 1]);
        // What one of them calls, if it may be that.
        let calls_one = |pc| [(40, 11, true), (LAST, pc, false)];
        assert_eq!(stack(calls(), &calls_one(62))[..3], [62, 1, 11]);
        assert_eq!(stack(calls(), &calls_one(95))[..3], [61, 1, 11]);
    }

    #[test]
    fn a_thread_that_is_elsewhere_is_not_counted() {
        let mut observer = observer(calls());
        observer.read = vec![0; MARK_GROUP * (1 + MARK_FRAMES) / 2];
        let read: &mut [u32] = bytemuck::cast_slice_mut(&mut observer.read);
        // Its frame at depth 1 was in compiled code.
        read[MARK_GROUP + 3] = 70;
        assert!(!(0..MARK_GROUP).any(|thread| observer.find_stack(thread)));
    }
}
