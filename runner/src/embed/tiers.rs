//! Code for what a run does often, made while the interpreter is at it.
//!
//! For a short time it is noted which basic blocks run. Those that have run often are compiled on threads of their own,
//! while the run goes on without being noted. When there is code, it is noted once more what runs. If most of that is
//! compiled, the run goes on in the code. Else the program does something else by now: that is compiled too, and so on.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::{Code, CompileRequest, Origin};
use gpu_run_vm::ptx::block_starts;
use gpu_run_vm::{DeviceResult, Next, Tier, Tiered};

use super::exit::Working;
use super::profile::{self, Counts, often};

/// How often is compiled for a run at most.
const ATTEMPTS: u32 = 6;

/// Of how many blocks that run often one may be missing in code that a run goes on in. A run that often leaves compiled code
/// is slower than an interpreted one.
const MISSING: usize = 50;

/// The first blocks of functions with these indices, imports first and none of them. A run that has begun enters its
/// function anew, and asks the interpreter where it is: so that one's must not be compiled.
pub(super) fn first_blocks(program: &Program, functions: &[u32]) -> Vec<u32> {
    let blocks = block_starts(program);
    let defined = functions
        .iter()
        .map(|index| (index - program.meta.imported_funcs()) as usize);
    defined
        .filter_map(|defined| blocks.get(defined)?.first().copied())
        .collect()
}

/// What makes the code.
pub(super) struct Later {
    /// The program, and how it is compiled; which blocks are not is still to be seen. `None`: there is code already.
    request: Option<CompileRequest>,
    cache: Option<Cache>,
    /// For how long it is noted what runs.
    after: Duration,
    /// For how long it is not, where nothing is being compiled.
    rest: Duration,
    state: State,
    attempts: u32,
    /// What is being compiled, and what was.
    work: Option<(Receiver<DeviceResult<Code>>, Set)>,
    made: Option<(Code, Set)>,
    /// What has run how often, in this run or one before. Once code was found: what it was made for.
    pub(super) counts: Counts,
    /// The code, once the run goes on in it.
    pub(super) found: Option<Code>,
}

/// What code is made for.
struct Set {
    counts: Counts,
    hot: BTreeSet<u32>,
    cold: BTreeSet<u32>,
}

enum State {
    /// The run has not begun.
    New,
    /// It is noted what runs, until then.
    Notes(Instant),
    /// It is not, until then or while something is being compiled.
    Rests(Instant),
    /// There is code, for the time from then on.
    Ready(Tiered, Option<Instant>),
    /// Code was taken, or there will be none.
    Over,
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Later")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

impl Later {
    /// `request` says how the program is compiled.
    pub(super) fn new(request: CompileRequest, cache: Option<Cache>, after: Duration) -> Later {
        let counts = cache.as_ref().map(|cache| profile::known(cache, &request.program));
        Later {
            counts: counts.unwrap_or_default(),
            request: Some(request),
            cache,
            after,
            rest: after,
            state: State::New,
            attempts: 0,
            work: None,
            made: None,
            found: None,
        }
    }

    /// For code that there is already, which leaves out `cold`; it is taken after a while.
    pub(super) fn ready(code: Code, cold: BTreeSet<u32>, after: Duration) -> Later {
        Later {
            counts: Counts::new(),
            request: None,
            cache: None,
            after,
            rest: after,
            state: State::Ready(Tiered { code, cold }, None),
            attempts: 0,
            work: None,
            made: None,
            found: None,
        }
    }

    /// Begins to compile what has run often; false if it cannot be.
    fn compile(&mut self) -> bool {
        let hot = often(&self.counts);
        let Some(request) = &self.request else { return false };
        let blocks = block_starts(&request.program).into_iter().flatten();
        let mut cold: BTreeSet<u32> = blocks.filter(|block| !hot.contains(block)).collect();
        cold.extend(first_blocks(&request.program, &request.entries));
        let request = CompileRequest {
            cold: cold.clone(),
            ..request.clone()
        };
        let (sender, result) = channel();
        let working = Working::begin();
        let cache = self.cache.clone();
        let work = move || {
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
            tracing::warn!("the run stays interpreted: no thread for the compiler: {error}");
            return false;
        }
        let counts = self.counts.clone();
        self.work = Some((result, Set { counts, hot, cold }));
        self.attempts += 1;
        true
    }

    /// Looks whether the compiler is done; false if it has failed.
    fn look(&mut self) -> bool {
        let Some((result, _)) = &self.work else { return true };
        let built = match result.try_recv() {
            Err(TryRecvError::Empty) => return true,
            Ok(built) => built.map_err(|error| error.to_string()),
            Err(TryRecvError::Disconnected) => Err("the compiler ended without a result".to_owned()),
        };
        let set = self.work.take().map(|(_, set)| set);
        match built {
            Ok(code) => self.made = set.map(|set| (code, set)),
            Err(error) => tracing::warn!("the run stays interpreted: {error}"),
        }
        self.made.is_some()
    }

    /// What has run often was noted: how to go on.
    fn decide(&mut self, noted: Counts) -> Next {
        let now = often(&noted);
        profile::merge(&mut self.counts, noted);
        if let Some((code, set)) = self.made.take()
            && now.difference(&set.hot).count() <= now.len() / MISSING
        {
            tell(&code, set.hot.len());
            self.counts = set.counts;
            self.found = Some(code.clone());
            self.state = State::Over;
            return Next::Code(Tiered { code, cold: set.cold });
        }
        self.state = State::Rests(Instant::now() + self.rest);
        self.rest *= 2;
        if self.work.is_none() && !now.is_empty() && (self.attempts >= ATTEMPTS || !self.compile()) {
            self.state = State::Over;
        }
        Next::Unnoted
    }
}

impl Tier for Later {
    fn enters(&self, index: u32) -> bool {
        match (&self.request, &self.state) {
            (Some(request), _) => request.entries.contains(&index),
            (None, State::Ready(tiered, _)) => tiered.code.entries.contains(&index),
            (None, _) => false,
        }
    }

    fn poll(&mut self, visited: &mut dyn FnMut() -> DeviceResult<Vec<(u32, u8)>>) -> DeviceResult<Next> {
        let now = Instant::now();
        match &mut self.state {
            State::New => self.state = State::Notes(now + self.after),
            State::Notes(until) if now >= *until => return Ok(self.decide(visited()?.into_iter().collect())),
            State::Rests(until) => {
                let rested = now >= *until;
                if !self.look() {
                    self.state = State::Over;
                } else if self.made.is_some() || rested && self.work.is_none() {
                    self.state = State::Notes(now + self.after);
                    return Ok(Next::Noted);
                }
            }
            State::Ready(tiered, from) => {
                if now < *from.get_or_insert(now + self.after) {
                    return Ok(Next::Same);
                }
                let tiered = tiered.clone();
                self.state = State::Over;
                self.found = Some(tiered.code.clone());
                return Ok(Next::Code(tiered));
            }
            State::Notes(_) | State::Over => {}
        }
        Ok(Next::Same)
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
