//! Many short runs one after another: prepared together, started together, waited for once. A script of
//! thousands of calls would otherwise spend its time in the driver.

use std::time::Instant;

use super::run::{Host, units_of, values_of};
use super::{End, Outcome, RunOptions, Sink, Store, StoreError, Value};
use crate::layout::{Arena, Control, Launch, Thread};

/// Most runs that are started together.
pub(super) const BATCH: u64 = 256;

/// A call of a function on one thread.
#[derive(Clone, Debug)]
pub struct Call {
    /// Store-wide number of the function.
    pub func: u32,
    /// Arguments of its parameters' types.
    pub args: Vec<Value>,
}

impl Store {
    /// Runs calls one after another, each as [`Store::run`] would on one thread, and gives an outcome
    /// for each. What one does to memories, tables and globals the next one finds. A call that traps
    /// ends alone. Time and interruption in `options` count for all calls together: what they stop ends
    /// every call of the batch that did not trap.
    ///
    /// # Errors
    ///
    /// As [`Store::run`]; no call of the batch that holds the wrong one has run then.
    pub fn run_all(
        &mut self,
        calls: &[Call],
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Outcome>, StoreError> {
        let mut outcomes = Vec::with_capacity(calls.len());
        for calls in calls.chunks(BATCH as usize) {
            outcomes.extend(self.run_batch(calls, options, sink)?);
        }
        Ok(outcomes)
    }

    fn run_batch(
        &mut self,
        calls: &[Call],
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Outcome>, StoreError> {
        let options = RunOptions {
            threads: 1,
            ..options.clone()
        };
        for call in calls {
            self.check_arguments(self.func_type(call.func), &call.args)?;
        }
        let real: Vec<&Call> = calls.iter().filter(|call| !self.does_nothing(call.func)).collect();
        let mut ran = match real.is_empty() {
            true => Vec::new(),
            false => self.launch_all(&real, &options, sink)?,
        }
        .into_iter();
        let outcome = |call: &Call| match self.does_nothing(call.func) {
            true => Outcome::nothing(1),
            false => ran.next().expect("one for each call that ran"),
        };
        Ok(calls.iter().map(outcome).collect())
    }

    fn launch_all(
        &mut self,
        calls: &[&Call],
        options: &RunOptions,
        sink: &mut dyn Sink,
    ) -> Result<Vec<Outcome>, StoreError> {
        let entries: Option<Vec<_>> = calls.iter().map(|call| self.compiled_entry(call.func)).collect();
        let compiled = entries.is_some();
        let plan = self.plan(entries.as_ref().map(|entries| entries[0]), 1)?;
        if compiled {
            self.prepare_compiled()?;
        }
        // Arguments and results lie side by side, in the order of the calls.
        let args: Vec<Vec<u32>> = calls.iter().map(|call| units_of(&call.args)).collect();
        let result_units: Vec<u64> = calls
            .iter()
            .map(|call| self.func_type(call.func).result_units() as u64)
            .collect();
        let thread = Thread {
            globals: self.globals.ptr,
            ..bytemuck::Zeroable::zeroed()
        };
        let register_arena = self.limits.register_arena;
        let device = &mut *self.device;
        let run = &mut self.run;
        // The runs use the same call frames, home registers and ring, one after the other. An arena
        // record each, because a run that traps leaves its own as it was.
        let arena: Arena = run.arena(device, register_arena)?;
        let home_bytes = plan.lanes_per_block as u64 * plan.home_units as u64 * 4;
        let home = run.home.at_least(device, home_bytes)?;
        let count = calls.len() as u64;
        let threads = run.threads.at_least(device, count * size_of::<Thread>() as u64)?;
        let args_at = run
            .args
            .at_least(device, args.iter().map(|args| args.len() as u64 * 4).sum())?;
        let results = run.results.at_least(device, result_units.iter().sum::<u64>() * 4)?;
        let mut launches = Vec::with_capacity(calls.len());
        let (mut arg, mut result) = (args_at, results);
        for (i, call) in calls.iter().enumerate() {
            let common = self.launch(options, plan);
            let number = i as u64;
            launches.push(Launch {
                threads: threads + number * size_of::<Thread>() as u64,
                control: common.control + number * size_of::<Control>() as u64,
                arena: common.arena + number * size_of::<Arena>() as u64,
                args: arg,
                results: result,
                home,
                func: call.func,
                arg_units: args[i].len() as u32,
                result_units: result_units[i] as u32,
                stack_pointer: self.stack_pointer_slot(call.func),
                ..common
            });
            arg += args[i].len() as u64 * 4;
            result += result_units[i] * 4;
        }
        let run = &self.run;
        let device = &mut *self.device;
        // SAFETY: the store's buffers, sized above or for a whole batch; no kernel runs.
        unsafe {
            device.write(threads, bytemuck::cast_slice(&vec![thread; calls.len()]))?;
            device.write(args_at, bytemuck::cast_slice(&args.concat()))?;
            device.write(run.arena_record, bytemuck::cast_slice(&vec![arena; calls.len()]))?;
            device.write(run.launch, bytemuck::cast_slice(&launches))?;
        }
        self.reset(calls.len())?;
        let records: Vec<u64> = (0..count)
            .map(|i| self.run.launch + i * size_of::<Launch>() as u64)
            .collect();
        let mut host = Host::new(&self.run, calls.len(), options, sink);
        let begin = Instant::now();
        // SAFETY: the records are complete; what they point to belongs to the store, which is borrowed
        // until the last kernel has ended. The programs were verified before instantiation.
        match (entries, self.device.as_cuda()) {
            // SAFETY: as above; the entries are of the store's own code.
            (Some(entries), Some(cuda)) => unsafe {
                for (entry, record) in entries.into_iter().zip(records) {
                    cuda.start_compiled(entry, record, plan)?;
                }
            },
            // SAFETY: as above.
            _ => unsafe { self.device.start_all(&records, plan)? },
        }
        let stopped = host.serve(&mut *self.device)?;
        let time = begin.elapsed();
        let mut units = self
            .result_units(result_units.iter().sum::<u64>() as usize)?
            .into_iter();
        let outcome = |(i, call): (usize, &&Call)| {
            let values = values_of(&self.func_type(call.func).results, &mut units);
            let end = self.end(i, stopped.clone());
            let returned = matches!(end, End::Returned);
            Outcome {
                end,
                results: returned.then_some(values).into_iter().collect(),
                time,
                lanes: plan.lanes,
                compiled,
            }
        };
        Ok(calls.iter().enumerate().map(outcome).collect())
    }
}
