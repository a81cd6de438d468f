//! Code for what a run does often, made while the interpreter is at it.
//!
//! For a short time it is noted which basic blocks run. Those that have run often are compiled on threads of their own,
//! while the run goes on. From then on only the others are noted, which takes next to no time. What of them runs often is
//! compiled too. When there is code that has nearly all of what was noted, the run goes on in it. If much is missing, it is
//! noted for a moment what runs just then: if nearly all of that is compiled, the run goes on in the code. Else the program
//! does something else by now.
//!
//! In the code the interpreter's share of the time tells whether it still is the right one. If that is large it is noted
//! again what runs, and the code grows by it. Where hardly anything is left to the code, the run is interpreted until then.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::{Code, CompileRequest, Origin};
use gpu_run_vm::ptx::{Blocks, first_block};
use gpu_run_vm::{DeviceResult, Next, Running, Shares, Tier, Tiered};

use super::exit::Working;
use super::profile::{self, Counts, OFTEN, is_grown, often};

/// How often is compiled for the runs of a store at most, and how often at once. A program has often gone on to something
/// else when the compiler is done with how it began.
const ATTEMPTS: u32 = 6;
const AT_ONCE: usize = 2;

/// The longest time for which nothing is noted.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// Of how many blocks that run often one may be missing in code that a run goes on in. A run that often leaves compiled code
/// is slower than an interpreted one.
const MISSING: usize = 50;

/// The interpreter's share of a run in code, in percent, from which on it is worth to note again what runs; and that from
/// which on all of it is interpreted. Beside compiled code the interpreter takes up to 1.8 times as long as alone, and
/// compiled code is several times as fast as that.
const MUCH: u64 = 50;
const NEARLY_ALL: u64 = 90;

/// The first blocks of functions with these indices, imports first and none of them. A run that has begun enters its
/// function anew, and asks the interpreter where it is: so that one's must not be compiled.
pub(super) fn first_blocks(program: &Program, functions: &[u32]) -> Vec<u32> {
    let defined = functions
        .iter()
        .map(|index| (index - program.meta.imported_funcs()) as usize);
    defined.filter_map(|defined| first_block(program, defined)).collect()
}

/// How the runs of a store go over to compiled code, and leave it.
#[derive(Debug)]
pub(super) enum Later {
    Learns(Box<Learner>),
    TakesTurns(Box<Turns>),
}

/// Makes code for what runs.
pub(super) struct Learner {
    /// The program, and how it is compiled; which blocks are not is still to be seen.
    request: CompileRequest,
    cache: Option<Cache>,
    blocks: Arc<Blocks>,
    /// For how long it is noted what runs, and how long the interpreter's share is measured.
    after: Duration,
    /// Of that, what is left for a run that begins now.
    left: Duration,
    /// When it was asked last.
    asked: Instant,
    marks: Marks,
    /// For how long nothing is asked, unless there is new code.
    rest: Duration,
    phase: Phase,
    attempts: u32,
    /// Much more is known to run often than the code from before has. That is compiled beside the run, for the next one.
    is_outdated: bool,
    /// What is being compiled, the newest last.
    work: Vec<(Receiver<DeviceResult<Code>>, Set)>,
    /// The newest code, whether nothing was asked since there is that, and whether no run has gone on in it yet.
    code: Option<(Code, Set)>,
    is_new: bool,
    enters: bool,
    /// The run is in the code. When and what was last seen of the interpreter's share there, and how large it was.
    in_code: bool,
    looked: Instant,
    shares: Shares,
    percent: u64,
    /// How the run was to go on last.
    wanted: Wanted,
    /// What has run how often, in this run or one before.
    counts: Counts,
    /// The newest code in which a run has gone on, and what it was made for.
    found: Option<(Code, Counts)>,
}

/// What code is made for.
struct Set {
    counts: Counts,
    hot: BTreeSet<u32>,
    cold: BTreeSet<u32>,
}

/// Of which blocks the bytecode is marked, so that they are noted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    /// Those of which it was not known that they run often.
    Others,
    All,
}

#[derive(Clone, Copy)]
enum Phase {
    /// It will be noted what runs, from when on the run goes on so.
    WillNote,
    /// It is noted, until then.
    Notes(Instant),
    /// Nothing is asked, until then at least.
    Rests(Instant),
    /// There is nothing to learn any more.
    Over,
}

/// How a run is to go on: as [`Next`].
#[derive(Clone, Copy)]
enum Wanted {
    Marks(Marks),
    Code,
}

impl fmt::Debug for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learner")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl Later {
    /// `request` says how the program is compiled. It is noted for so long what runs.
    pub(super) fn learns(request: CompileRequest, blocks: Arc<Blocks>, cache: Option<Cache>, after: Duration) -> Later {
        let counts = cache.as_ref().map(|cache| profile::known(cache, &request.program));
        // In no time nothing runs often.
        let after = after.max(Duration::from_millis(1));
        Later::Learns(Box::new(Learner {
            counts: counts.unwrap_or_default(),
            request,
            cache,
            blocks,
            after,
            left: after,
            asked: Instant::now(),
            marks: Marks::All,
            rest: after,
            phase: Phase::WillNote,
            attempts: 0,
            is_outdated: false,
            work: Vec::new(),
            code: None,
            is_new: false,
            enters: false,
            in_code: false,
            looked: Instant::now(),
            shares: Shares::default(),
            percent: 0,
            wanted: Wanted::Marks(Marks::None),
            found: None,
        }))
    }

    /// The same where there is code of before, for `request`, which leaves out the first blocks of all that runs begin with.
    pub(super) fn improves(
        code: &Code,
        request: CompileRequest,
        blocks: Arc<Blocks>,
        cache: Option<Cache>,
        after: Duration,
    ) -> Later {
        let cold = request.cold.clone();
        // Those are never compiled, however often they run.
        let firsts = first_blocks(&request.program, &request.entries);
        let mut hot: BTreeSet<u32> = blocks.but(&cold);
        hot.extend(firsts);
        let counts = hot.iter().map(|block| (*block, OFTEN)).collect();
        let mut later = Later::learns(request, blocks, cache, after);
        if let Later::Learns(learner) = &mut later {
            let set = Set { counts, hot, cold };
            let often = often(&learner.counts);
            learner.is_outdated = is_grown(often.len(), often.len() - missing(&often, &set));
            learner.code = Some((code.clone(), set));
        }
        later
    }

    /// Goes over to `code`, which leaves out `cold`, and back, after a time that doubles.
    pub(super) fn takes_turns(code: Code, cold: BTreeSet<u32>, after: Duration) -> Later {
        Later::TakesTurns(Box::new(Turns {
            tiered: Tiered { code, cold },
            turn: Next::Unnoted,
            until: None,
            after,
            goes_on: false,
        }))
    }

    /// A run begins, in the code that there is or not.
    pub(super) fn begin(&mut self, in_code: bool) {
        match self {
            Later::Learns(learner) => learner.begin(in_code),
            Later::TakesTurns(turns) => turns.until = None,
        }
    }

    /// As [`Tier`].
    pub(super) fn tier(&mut self) -> &mut dyn Tier {
        match self {
            Later::Learns(learner) => &mut **learner,
            Later::TakesTurns(turns) => &mut **turns,
        }
    }

    /// What has run how often, in this run or one before.
    pub(super) fn counts(&self) -> Counts {
        match self {
            Later::Learns(learner) => learner.counts.clone(),
            Later::TakesTurns(_) => Counts::new(),
        }
    }

    /// Whether a compiler still works.
    pub(super) fn is_compiling(&self) -> bool {
        match self {
            Later::Learns(learner) => !learner.work.is_empty(),
            Later::TakesTurns(_) => false,
        }
    }

    /// What the newest code was made for.
    pub(super) fn made(&self) -> Option<&Counts> {
        match self {
            Later::Learns(learner) => learner.code.as_ref().map(|(_, set)| &set.counts),
            Later::TakesTurns(_) => None,
        }
    }

    /// The newest code in which a run has gone on, and what has run how often before it was made.
    pub(super) fn found(&mut self) -> Option<(Code, Counts)> {
        match self {
            Later::Learns(learner) => learner.found.take(),
            Later::TakesTurns(turns) if turns.goes_on => Some((turns.tiered.code.clone(), Counts::new())),
            Later::TakesTurns(_) => None,
        }
    }
}

impl Learner {
    fn begin(&mut self, in_code: bool) {
        let now = Instant::now();
        // Code that was refused is not there.
        let in_code = in_code && self.code.is_some();
        // The times of short runs add up.
        let left = |until: Instant| until.saturating_duration_since(self.asked).min(self.after);
        let rests = match self.phase {
            Phase::Rests(until) => left(until),
            _ => self.after,
        };
        if let Phase::Notes(until) = self.phase {
            self.left = left(until);
        }
        self.phase = match self.phase {
            Phase::Over if self.attempts >= ATTEMPTS && !in_code => Phase::Over,
            _ if in_code => Phase::Rests(now),
            _ if self.marks == Marks::All => Phase::WillNote,
            _ => Phase::Rests(now + rests),
        };
        self.asked = now;
        self.rest = self.after;
        self.is_in_code(in_code, now);
    }

    /// Whether what runs often is known of runs before, and nothing else was found yet.
    fn knows_before(&self) -> bool {
        self.attempts == 0 && self.code.is_none() && !often(&self.counts).is_empty()
    }

    /// The run is in the code that there is, or not, from now on.
    fn is_in_code(&mut self, in_code: bool, now: Instant) {
        self.in_code = in_code;
        if in_code {
            // Those are others.
            self.marks = Marks::None;
        }
        self.looked = now;
        self.shares = Shares::default();
        self.percent = 0;
    }

    /// Begins to compile what has run often; false if it cannot be.
    fn compile(&mut self) -> bool {
        if self.attempts >= ATTEMPTS {
            return false;
        }
        let hot = often(&self.counts);
        let program = &self.request.program;
        let mut cold: BTreeSet<u32> = self.blocks.but(&hot);
        cold.extend(first_blocks(program, &self.request.entries));
        let request = CompileRequest {
            cold: cold.clone(),
            ..self.request.clone()
        };
        let (sender, result) = channel();
        let working = Working::begin();
        let (cache, blocks) = (self.cache.clone(), self.blocks.clone());
        let work = move || {
            // When the run goes on in the code they are asked for.
            blocks.loops(&request.program);
            let key = request.key();
            let cached = cache.as_ref().and_then(|cache| request.cached(cache, key));
            let built = match cached {
                Some(code) => Ok(code),
                None => request.build(cache.as_ref().map(|cache| (cache, key))),
            };
            // It is not received where the run is over.
            _ = sender.send(built);
            drop(working);
        };
        let spawned = std::thread::Builder::new().name("compiler".into()).spawn(work);
        if let Err(error) = spawned {
            tracing::warn!("the run goes on as it is: no thread for the compiler: {error}");
            return false;
        }
        let counts = self.counts.clone();
        self.work.push((result, Set { counts, hot, cold }));
        self.attempts += 1;
        true
    }

    /// Looks whether a compiler is done. Where it fails, there is no other attempt.
    fn look(&mut self) {
        let mut at = 0;
        while let Some((result, _)) = self.work.get(at) {
            let built = match result.try_recv() {
                Err(TryRecvError::Empty) => {
                    at += 1;
                    continue;
                }
                Ok(built) => built.map_err(|error| error.to_string()),
                Err(TryRecvError::Disconnected) => Err("the compiler ended without a result".to_owned()),
            };
            match built {
                Ok(code) => {
                    // What began before that, and is not done, is not wanted any more.
                    let set = self.work.drain(..=at).next_back().map(|(_, set)| set);
                    at = 0;
                    self.code = set.map(|set| (code, set));
                    (self.is_new, self.enters) = (true, true);
                }
                Err(error) => {
                    tracing::warn!("not compiled, so it stays interpreted: {error}");
                    self.work.remove(at);
                    self.attempts = ATTEMPTS;
                }
            }
        }
    }

    /// Measures the interpreter's share of a run in code, now and then. It is a percentage of the time since it was last
    /// measured. The first time it also begins to compile outdated code anew.
    fn measure(&mut self, run: &mut Running<'_>, now: Instant) -> DeviceResult<()> {
        if now < self.looked + self.after {
            return Ok(());
        }
        self.looked = now;
        if std::mem::take(&mut self.is_outdated) {
            self.compile();
        }
        let before = std::mem::replace(&mut self.shares, run.shares()?);
        let seen = self.shares.seen.wrapping_sub(before.seen);
        let interpreted = self.shares.interpreted.wrapping_sub(before.interpreted);
        // The clock was not 0 when the run began.
        self.percent = match seen {
            seen if seen > 0 && before.seen > 0 => interpreted.saturating_mul(100) / seen,
            _ => 0,
        };
        Ok(())
    }

    /// Nothing is asked for a time that doubles.
    fn rests(&mut self, now: Instant) {
        self.phase = Phase::Rests(now + self.rest);
        self.rest = (self.rest * 2).min(LONGEST_REST);
    }

    /// From now on all is noted that runs, for a moment.
    fn note(&mut self) -> Next {
        self.phase = Phase::WillNote;
        self.left = self.after / 2;
        Next::Noted(Arc::default())
    }

    /// From now on only that is noted which has not run often so far. Nothing is if there is nothing to learn.
    fn note_others(&self) -> Next {
        match self.phase {
            Phase::Over => Next::Unnoted,
            _ => Next::Noted(Arc::new(often(&self.counts))),
        }
    }

    /// The run is interpreted, and some time is over: how to go on. This has run since then, if that was noted.
    fn go_on(&mut self, noted: Option<Counts>, now: Instant) -> Next {
        let known = often(&self.counts).len();
        // What is known of runs before is compiled as it is, so that the next run finds the code.
        if let Some(noted) = noted.filter(|_| !self.knows_before()) {
            profile::merge(&mut self.counts, noted);
        }
        let often = often(&self.counts);
        let grown = often.len() > known;
        tracing::debug!(known, often = often.len(), "asked what runs");
        if let Some((code, set)) = &self.code
            && (self.is_new || self.work.len() < AT_ONCE)
        {
            // All that runs often was noted. What has run long ago may be missing.
            let fits = self.is_new && self.marks == Marks::Others && is_little(missing(&often, set), &often);
            let Some(next) = fits.then(|| in_code(code, set)) else {
                return self.note();
            };
            self.rests(now);
            return next;
        }
        let will_know = self.will_know(&often);
        self.rests(now);
        let learns = !often.is_empty() && !will_know && self.work.len() < AT_ONCE;
        if learns && !self.compile() && self.work.is_empty() {
            self.phase = Phase::Over;
        }
        match grown || matches!(self.phase, Phase::Over) {
            true => self.note_others(),
            false => Next::Same,
        }
    }

    /// Whether nearly all of what runs often is being compiled.
    fn will_know(&self, often: &BTreeSet<u32>) -> bool {
        let newest = self.work.last();
        newest.is_some_and(|(_, set)| is_little(missing(often, set), often))
    }

    /// What has run often was noted: how to go on.
    fn decide(&mut self, noted: Counts, now: Instant) -> Next {
        let often = often(&noted);
        profile::merge(&mut self.counts, noted);
        self.rests(now);
        let is_new = std::mem::take(&mut self.is_new);
        // Before it was noted. Newer code has what older has.
        let was_in_code = self.in_code;
        let missing = self.code.as_ref().map(|(_, set)| missing(&often, set));
        let has_most = missing.is_some_and(|missing| is_little(missing, &often));
        let bearable = was_in_code && self.percent < NEARLY_ALL;
        let fits = missing.is_some() && (bearable || has_most && (is_new || !was_in_code));
        let knows = missing == Some(0) || has_most && (is_new || !was_in_code);
        let will_know = self.will_know(&often);
        let learns = !knows && !will_know && !often.is_empty() && self.work.len() < AT_ONCE;
        let stays = !fits && missing == Some(0) && self.work.is_empty();
        if stays || learns && !self.compile() && self.work.is_empty() {
            self.phase = Phase::Over;
        }
        match self.code.as_ref().filter(|_| fits) {
            Some((code, set)) => in_code(code, set),
            None => self.note_others(),
        }
    }
}

/// How many blocks that run often are missing in code for others.
fn missing(often: &BTreeSet<u32>, set: &Set) -> usize {
    often.difference(&set.hot).count()
}

fn is_little(missing: usize, often: &BTreeSet<u32>) -> bool {
    missing <= often.len() / MISSING
}

fn in_code(code: &Code, set: &Set) -> Next {
    Next::Code(Tiered {
        code: code.clone(),
        cold: set.cold.clone(),
    })
}

impl Tier for Learner {
    fn enters(&self, index: u32) -> bool {
        self.request.entries.contains(&index)
    }

    fn poll(&mut self, run: &mut Running<'_>) -> DeviceResult<Next> {
        let now = Instant::now();
        self.asked = now;
        let next = match self.phase {
            // What runs often is known of runs before.
            Phase::WillNote if self.knows_before() => {
                self.phase = Phase::Rests(now + self.after);
                self.note_others()
            }
            Phase::WillNote => {
                self.phase = Phase::Notes(now + self.left);
                Next::Same
            }
            Phase::Notes(until) if now >= until => {
                self.left = self.after;
                self.decide(run.visited()?.into_iter().collect(), now)
            }
            Phase::Rests(until) => {
                if self.in_code {
                    self.measure(run, now)?;
                }
                self.look();
                let may_leave = self.is_new || self.work.is_empty() || self.percent >= NEARLY_ALL;
                match self.in_code {
                    // A run does not leave code that is good enough for newer code.
                    true if now >= until && self.percent >= MUCH && may_leave => self.note(),
                    false if self.is_new || now >= until => {
                        let noted = match self.marks {
                            Marks::Others => Some(run.visited()?.into_iter().collect()),
                            _ => None,
                        };
                        self.go_on(noted, now)
                    }
                    _ => Next::Same,
                }
            }
            Phase::Notes(_) | Phase::Over => Next::Same,
        };
        self.wanted = match next {
            Next::Same => self.wanted,
            Next::Noted(_) if matches!(self.phase, Phase::WillNote) => Wanted::Marks(Marks::All),
            Next::Noted(_) => Wanted::Marks(Marks::Others),
            Next::Unnoted => Wanted::Marks(Marks::None),
            Next::Code(_) => Wanted::Code,
        };
        Ok(next)
    }

    fn went_on(&mut self, compiled: bool) {
        let now = Instant::now();
        match self.wanted {
            Wanted::Code if compiled => {
                self.is_new = false;
                if let Some((code, set)) = self.code.as_ref().filter(|_| std::mem::take(&mut self.enters)) {
                    tell(code, set.hot.len());
                    self.rest = self.after;
                    self.found = Some((code.clone(), set.counts.clone()));
                }
                self.is_in_code(true, now);
            }
            // It was refused, and would be again.
            Wanted::Code => {
                self.phase = Phase::Over;
                (self.code, self.attempts) = (None, ATTEMPTS);
                self.marks = Marks::None;
                self.is_in_code(false, now);
            }
            // It stays in its code.
            Wanted::Marks(_) if compiled => self.rests(now),
            // It had been refused, and left at that moment: nothing is noted.
            Wanted::Marks(Marks::All) if matches!(self.phase, Phase::Rests(_)) => {
                self.marks = Marks::None;
                self.is_in_code(false, now);
            }
            // The share of before is still to be looked at.
            Wanted::Marks(Marks::All) => self.marks = Marks::All,
            Wanted::Marks(marks) => {
                self.marks = marks;
                self.is_in_code(false, now);
            }
        }
    }
}

/// Says what a run goes on in.
fn tell(code: &Code, blocks: usize) {
    let took = match &code.origin {
        Origin::Compiler { generate, link, .. } => {
            format!("compiled in {:.1} ms", (*generate + *link).as_secs_f64() * 1e3)
        }
        _ => "from the cache".to_owned(),
    };
    tracing::info!(
        "engine: PTX from here on, {blocks} basic blocks that have run often, {took}; cold code is interpreted"
    );
}

/// Goes over to compiled code and back, for tests.
#[derive(Debug)]
pub(super) struct Turns {
    tiered: Tiered,
    /// How the run goes on now.
    turn: Next,
    /// Until when; `None`: it has not gone on so yet.
    until: Option<Instant>,
    /// For how long, the next time.
    after: Duration,
    goes_on: bool,
}

impl Tier for Turns {
    fn enters(&self, index: u32) -> bool {
        self.tiered.code.entries.contains(&index)
    }

    fn poll(&mut self, _: &mut Running<'_>) -> DeviceResult<Next> {
        let now = Instant::now();
        if now < *self.until.get_or_insert(now + self.after) {
            return Ok(Next::Same);
        }
        self.turn = match self.turn {
            Next::Same | Next::Unnoted => Next::Code(self.tiered.clone()),
            Next::Code(_) => Next::Noted(Arc::default()),
            Next::Noted(_) => Next::Unnoted,
        };
        self.after *= 2;
        self.until = None;
        Ok(self.turn.clone())
    }

    fn went_on(&mut self, compiled: bool) {
        match (&self.turn, compiled) {
            // It stays in its code.
            (Next::Noted(_), true) => self.turn = Next::Code(self.tiered.clone()),
            (_, true) => self.goes_on = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
