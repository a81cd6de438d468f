//! Code for what a run does often, made while the interpreter is at it.
//!
//! After a while it is looked which basic blocks have run often. These are compiled on threads of their own. If by then
//! many others have run often too, they are compiled once more with those. A run goes on in the code in the end.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use gpu_run_bytecode::Program;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::{Code, CompileRequest, Origin};
use gpu_run_vm::ptx::block_starts;
use gpu_run_vm::{DeviceResult, Tier, Tiered};

use super::exit::Working;
use super::profile::{self, Counts, often};

/// How often a run's code is compiled before it is taken as it is.
const ATTEMPTS: u32 = 3;

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
    /// Time that a run is interpreted before anything is compiled.
    after: Duration,
    state: State,
    /// What has run how often, in this run when the code was made, or in one before.
    pub(super) counts: Counts,
    /// The code, once the run goes on in it.
    pub(super) found: Option<Code>,
}

enum State {
    /// The run has not begun.
    New,
    /// Nothing is compiled before this time.
    Interprets(Instant),
    Compiles {
        result: Receiver<DeviceResult<Code>>,
        /// The blocks that are left out.
        cold: BTreeSet<u32>,
        hot: usize,
        attempt: u32,
    },
    /// There is code, for the time from then on.
    Ready(Tiered, Option<Instant>),
    /// It was taken, or there will be none.
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
            state: State::New,
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
            state: State::Ready(Tiered { code, cold }, None),
            found: None,
        }
    }

    /// Begins to compile what has run often; false if nothing has.
    fn compile(&mut self, counts: Counts, attempt: u32) -> bool {
        profile::merge(&mut self.counts, counts);
        let hot = often(&self.counts);
        if hot.is_empty() {
            return false;
        }
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
        self.state = match spawned {
            Ok(_) => State::Compiles {
                result,
                cold,
                hot: hot.len(),
                attempt,
            },
            Err(error) => {
                tracing::warn!("the run stays interpreted: no thread for the compiler: {error}");
                State::Over
            }
        };
        true
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

    fn poll(&mut self, visited: &mut dyn FnMut() -> DeviceResult<Vec<(u32, u8)>>) -> DeviceResult<Option<Tiered>> {
        match &mut self.state {
            State::New => self.state = State::Interprets(Instant::now() + self.after),
            State::Interprets(until) if Instant::now() >= *until => {
                if !self.compile(visited()?.into_iter().collect(), 1) {
                    self.state = State::Interprets(Instant::now() + self.after);
                }
            }
            State::Compiles {
                result,
                cold,
                hot,
                attempt,
            } => {
                let code = match result.try_recv() {
                    Err(TryRecvError::Empty) => return Ok(None),
                    Ok(Ok(code)) => Some(code),
                    Ok(Err(error)) => {
                        tracing::warn!("the run stays interpreted: {error}");
                        None
                    }
                    Err(TryRecvError::Disconnected) => {
                        tracing::warn!("the run stays interpreted: the compiler ended without a result");
                        None
                    }
                };
                let (cold, hot, attempt) = (std::mem::take(cold), *hot, *attempt);
                self.state = State::Over;
                let Some(code) = code else { return Ok(None) };
                let mut counts = self.counts.clone();
                profile::merge(&mut counts, visited()?.into_iter().collect());
                let grown = profile::is_grown(often(&counts).len(), hot);
                if attempt < ATTEMPTS && grown && self.compile(counts, attempt + 1) {
                    return Ok(None);
                }
                tell(&code, hot);
                self.found = Some(code.clone());
                return Ok(Some(Tiered { code, cold }));
            }
            State::Ready(tiered, from) => {
                let now = Instant::now();
                if now < *from.get_or_insert(now + self.after) {
                    return Ok(None);
                }
                let tiered = tiered.clone();
                self.state = State::Over;
                self.found = Some(tiered.code.clone());
                return Ok(Some(tiered));
            }
            State::Interprets(_) | State::Over => {}
        }
        Ok(None)
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
