//! How the functions of a store are run.

use std::sync::Arc;

use gpu_run_vm::{Environment, RunOptions, Sink, Value};

use super::instantiate::Host;
use super::{Loaded, Store};
use crate::embed::compile;
use crate::embed::config::Strategy;
use crate::embed::error::{Error, Result};
use crate::embed::func::Func;
use crate::embed::host::{Calls, Failure};
use crate::embed::outcome::{End, Outcome};
use crate::embed::profile::{self, Counts};
use crate::embed::tiers::Later;
use crate::embed::values::Val;

impl<T: Send> Store<T> {
    /// See [`Func::run`].
    pub(in crate::embed) fn run(&mut self, func: Func, threads: u32, args: &[Val]) -> Result<Outcome> {
        let func = func.0.in_store(self.id)?;
        let id = self.id;
        let args: Option<Vec<Value>> = args.iter().map(|arg| arg.lower(id)).collect();
        let args = args.ok_or(Error::WrongStore)?;
        let interpret = self.must_interpret(threads);
        // Of several instances none can be compiled alone.
        let mut later = match &mut self.instances[..] {
            [loaded] => loaded.choice.later.take(),
            _ => None,
        };
        // Code may be for fewer threads.
        let fits = self.instances.iter().all(|loaded| threads <= loaded.threads);
        if let ([loaded], Some(later)) = (&self.instances[..], &mut later) {
            later.begin(loaded.choice.code.is_ok());
        }
        let (outcome, failure) = self.serve(threads, interpret, |vm, options, sink| {
            let tier = later.as_mut().filter(|_| fits).map(Later::tier);
            vm.run_in_tiers(func, &args, options, tier, sink)
        });
        let outcome = match outcome {
            Ok(outcome) => Outcome::new(outcome, failure, id),
            Err(error) => {
                if let [loaded] = &mut self.instances[..] {
                    loaded.choice.later = later;
                }
                return Err(error.into());
            }
        };
        let found = later.as_mut().and_then(Later::found).filter(|_| outcome.compiled);
        self.keep_profile(later.as_ref(), found.as_ref().map(|(_, counts)| counts))?;
        if let [loaded] = &mut self.instances[..] {
            if let Some((code, _)) = found {
                loaded.choice.code = Ok(code);
            }
            // What is being compiled is for the next run.
            loaded.choice.later = later;
        }
        Ok(Outcome {
            end: self.settled(outcome.end),
            ..outcome
        })
    }

    /// Notes which basic blocks have run, for the next time, if the engine goes by that. Where a run has gone on in code that
    /// was made for it, that is what the next run finds in the cache.
    fn keep_profile(&mut self, later: Option<&Later>, found: Option<&Counts>) -> Result<()> {
        let Some(cache) = self.engine.0.cache() else {
            return Ok(());
        };
        if self.vm.takes_samples() || self.vm.counts_blocks().is_some() {
            return Ok(());
        }
        let noted = self.vm.notes_visits();
        for loaded in &self.instances {
            let program = &loaded.module.program;
            let mixed = loaded.choice.code().is_some_and(|code| code.mixed);
            let kept = match found {
                Some(counts) => profile::add(&cache, program, counts.clone()),
                // The same program on a CPU: nothing is compiled for it.
                _ if noted && later.is_none() => {
                    profile::add(&cache, program, self.vm.visited(loaded.id)?.into_iter().collect())
                }
                // What is known is being compiled. The next run goes on with that.
                _ if noted && later.is_some_and(Later::is_compiling) && profile::load(&cache, program).is_some() => {
                    Ok(())
                }
                _ if noted || mixed && self.last_run && self.engine.0.goes_by_profile() => {
                    // What was noted before is not on the device any more.
                    let mut counts = later.map_or_else(Counts::new, Later::counts);
                    profile::merge(&mut counts, self.vm.visited(loaded.id)?.into_iter().collect());
                    profile::add_to_compiled(&cache, program, counts, later.and_then(Later::made))
                }
                _ => Ok(()),
            };
            if let Err(error) = kept {
                tracing::warn!("what has run is not kept: {error}");
            }
        }
        Ok(())
    }

    /// Whether the compiled code that there is, is not for so many threads.
    fn must_interpret(&self, threads: u32) -> bool {
        let Some(target) = self.vm.target() else { return false };
        let forced = self.engine.0.strategy == Strategy::Ptx;
        let unfit = |loaded: &Loaded| {
            loaded.choice.code.is_ok()
                && (threads > loaded.threads || !forced && compile::may_hang(&loaded.module.program, threads, &target))
        };
        self.instances.iter().any(unfit)
    }

    /// An end, after which an interruption that was its reason is over.
    pub(super) fn settled(&self, end: End) -> End {
        if let End::Interrupted = end {
            self.interrupt.settle();
        }
        end
    }

    /// Does what runs something, while host functions are served.
    pub(super) fn serve<R>(
        &mut self,
        threads: u32,
        interpret: bool,
        work: impl FnOnce(&mut gpu_run_vm::Store, &RunOptions, &mut dyn Sink) -> R,
    ) -> (R, Option<Failure>) {
        let last = self.last_run;
        let Store { vm, data, host, .. } = self;
        let mut options = RunOptions {
            threads,
            thread_stack: self.limits.thread_stack,
            least_thread_stack: self.limits.least_thread_stack,
            timeout: self.timeout,
            interrupt: Some(self.interrupt.0.clone()),
            environment: None,
            debug: self.debug.clone(),
            interpret,
            most_threads: self.limits.spawned_threads,
        };
        let mut sink = self.events.clone();
        let wasi = |wasi: &Environment| Environment { last, ..wasi.clone() };
        let outcome = match host {
            None => (work(vm, &options, &mut sink), None),
            Some(Host { table, wasi: Some(own) }) if table.functions.is_empty() => {
                options.environment = Some(wasi(own));
                (work(vm, &options, &mut sink), None)
            }
            Some(Host { table, wasi: own }) => {
                let services = own.as_ref().map(|wasi| wasi.services.clone());
                let (calls, jobs) = Calls::new(table, services);
                let calls = Arc::new(calls);
                options.environment = Some(match own {
                    Some(own) => Environment {
                        services: calls.clone(),
                        ..wasi(own)
                    },
                    None => Environment::new(calls.clone()),
                });
                let result = std::thread::scope(|scope| {
                    // Also where the work panics: the scope waits for the thread.
                    let _close = Close(&calls);
                    if table.has_callers() {
                        let calls = &calls;
                        scope.spawn(move || calls.execute(jobs, table, data));
                    }
                    work(vm, &options, &mut sink)
                });
                (result, calls.failure())
            }
        };
        match outcome {
            (_, Some(Failure::Panic(panic))) => std::panic::resume_unwind(panic),
            outcome => outcome,
        }
    }
}

/// Closes calls when it goes.
struct Close<'c>(&'c Calls);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}
