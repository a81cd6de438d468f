//! Where threads stand when a run is stopped from outside: what there is to see of a program that hangs.

use gpu_run_bytecode::code::{Inst, instructions};
use gpu_run_bytecode::{Function, Handler, Op, Program};

use crate::counts::Kind;
use crate::fault::Backtrace;
use crate::layout;
use crate::ptx::{distance, is_call};

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doing {
    /// It ran.
    Runs,
    /// It slept.
    Sleeps,
    /// It waited at an address of its memory for a notify.
    Waits,
    /// It waited for the host to answer a request.
    AwaitsHost,
    /// It waited until the host takes output.
    AwaitsOutput,
    /// It waited for another thread to leave the heap, a file or the output ring.
    AwaitsTurn,
}

/// Threads that did the same at the same place, by the same calls.
#[derive(Clone, Debug)]
pub struct Stand {
    /// How many they are.
    pub threads: u32,
    /// One of them.
    pub thread: u32,
    /// What they did.
    pub doing: Doing,
    /// Where, as far out as it was recorded; nothing where compiled code does not say it.
    pub backtrace: Backtrace,
}

/// All threads of a run that had not ended when it was stopped.
#[derive(Clone, Debug, Default)]
pub struct Stands {
    /// In groups, the largest first.
    pub groups: Vec<Stand>,
    /// Threads that had not begun.
    pub new_threads: u32,
    /// Threads at more places than are recorded.
    pub others: u32,
}

/// Samples of threads that were at the same place, by the same calls.
#[derive(Clone, Debug)]
pub struct SampleGroup {
    /// How many they are.
    pub samples: u64,
    /// What the thread did. While it runs, or waits for its turn on a lane, [`Doing::Runs`].
    pub doing: Doing,
    /// If it ran an instruction that may take long, of what kind that is: of the heap, say.
    pub kind: Option<Kind>,
    /// Of which instance its innermost function is: the number of those that were made in the store before it.
    pub instance: usize,
    /// Where, as far out as it was recorded.
    pub backtrace: Backtrace,
}

/// Where the time of threads went.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// The time of one thread for which each of them stands.
    pub period: std::time::Duration,
    /// In groups, the largest first.
    pub groups: Vec<SampleGroup>,
    /// Samples at more places than are told apart.
    pub lost: u64,
}

impl Doing {
    /// What a thread does that is in this state, as the kernel numbers them.
    pub(crate) fn of(state: u32) -> Doing {
        match state {
            layout::THREAD_SLEEPING => Doing::Sleeps,
            layout::THREAD_WAITING => Doing::Waits,
            layout::THREAD_REQUESTING => Doing::AwaitsHost,
            layout::THREAD_BUSY => Doing::AwaitsTurn,
            layout::STAND_OUTPUT => Doing::AwaitsOutput,
            _ => Doing::Runs,
        }
    }
}

/// The kind of an opcode that may take long by itself, so that its time is told apart from that of the code around it.
pub(crate) fn long_kind(op: Op) -> Option<Kind> {
    let waits = matches!(
        op,
        Op::Sleep | Op::Meet | Op::MemoryAtomicWait32 | Op::MemoryAtomicWait64
    );
    match Kind::of(op) {
        Kind::Atomic => (waits || op.handler() == Handler::Work).then_some(Kind::Atomic),
        kind @ (Kind::Heap | Kind::Bulk | Kind::Output) => Some(kind),
        _ => None,
    }
}

/// What a thread does that has been in an instruction of this opcode when the host looked: most of that time it waits, if
/// the instruction may.
pub(crate) fn doing_in(op: Op) -> Doing {
    match op {
        Op::Sleep => Doing::Sleeps,
        Op::MemoryAtomicWait32 | Op::MemoryAtomicWait64 | Op::FrameWait => Doing::Waits,
        Op::RequestPoll => Doing::AwaitsHost,
        _ => Doing::Runs,
    }
}

/// The word of a program at which a frame of its function is, as far as marks tell, as long as it has marked nothing.
pub(crate) fn place_of_unmarked(program: &Program, function: usize) -> u32 {
    wrapped(program, function).unwrap_or(program.meta.functions[function].start + 1)
}

/// The instruction of the heap that a function executes each time, if it does little else: its frame marks nothing.
pub(crate) fn wrapped(program: &Program, function: usize) -> Option<u32> {
    /// Words of such a function at most.
    const MOST: u32 = 32;
    let Function { start, end, .. } = program.meta.functions[function];
    if end - start > MOST {
        return None;
    }
    let insts: Option<Vec<_>> = instructions(&program.code[start as usize..end as usize])
        .map(|(word, inst)| Some((start + word as u32, inst.ok()?)))
        .collect();
    let insts = insts?;
    // What is called, or is in a loop, has time of its own. A branch before it may lead past it.
    let goes_back = |inst: &Inst| distance(inst).is_some_and(|words| words < 0);
    let plain = |inst: &Inst| !is_call(inst.op) && !goes_back(inst) && inst.op != Op::BrTable;
    let mut long = insts.iter().filter(|(_, inst)| long_kind(inst.op).is_some());
    match (long.next(), long.next()) {
        (Some((word, inst)), None) if long_kind(inst.op) == Some(Kind::Heap) => {
            let each_time = insts.iter().all(|(at, inst)| at >= word || distance(inst).is_none());
            (each_time && insts.iter().all(|(_, inst)| plain(inst))).then_some(*word)
        }
        _ => None,
    }
}

impl Stands {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.new_threads == 0 && self.others == 0
    }
}
