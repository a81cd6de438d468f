//! Scripts that run compiled.
//!
//! Compiling and linking each module alone would take half a second for each of thousands. Nor could
//! modules that were linked apart call each other. A kernel has the constants of its own module, and no more
//! registers than that needs. So a script is first interpreted on the CPU, with all its output
//! thrown away, which shows what it instantiates and which functions it calls. All that is linked together,
//! several scripts at the same time, and then the script runs on the GPU. An instance's numbers in its store
//! depend on what was instantiated before it, so they are the same both times.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use gpu_run::Tuning;
use gpu_run::compile::{self, Functions};
use gpu_run_bytecode::Program;
use gpu_run_vm::Target;
use gpu_run_vm::cuda::cache::Cache;
use gpu_run_vm::cuda::code::Code;
use gpu_run_vm::{Cpu, Instantiated, PersistentKernel, Store};

use super::{Checked, Failure, Script, read};
use crate::cli::WastArgs;
use crate::report::{self, Outcome, Report};
use crate::{cache, devices};

/// The code of all instances of a script, in their order.
pub struct Library {
    instances: Vec<Instantiated>,
    /// What came of compiling: an error for all.
    codes: Result<Vec<Code>, String>,
}

impl Library {
    /// Interprets a script, and compiles what it instantiates.
    fn of(args: &WastArgs, path: &Path, text: &str, target: &Target, cache: Option<&Cache>) -> Outcome<Library> {
        let server = PersistentKernel::new(Box::new(Cpu::new())).map_err(|error| report::device(&error))?;
        let mut script = Script::new(args, server.client())?;
        script.run(path, text, false)?;
        let instances = script.store.instances(&script.called);
        let tuning = Tuning {
            region_words: args.region_words,
            ..Tuning::default()
        };
        // A store has one program of which some is interpreted.
        let codes = match args.compile.filter(|functions| *functions != Functions::All) {
            Some(functions) if instances.len() == 1 => compile::apart(target, &instances, tuning, functions),
            _ => compile::linked(target, &instances, tuning, cache),
        };
        let codes = codes.map_err(|error| error.to_string());
        Ok(Library { instances, codes })
    }

    /// The code for the store's next instance, of a program. None if the program could not be instantiated
    /// when it was interpreted: then it cannot be now.
    pub fn code(&self, store: &Store, program: &Arc<Program>) -> Checked<Option<&Code>> {
        let number = store.instance_count();
        let Some(instance) = self.instances.get(number) else {
            return Ok(None);
        };
        if *instance.program != **program {
            return Ok(None);
        }
        if instance.code_start != store.next_code_start() {
            let what = "the module stands elsewhere in the store than when the script was interpreted";
            return Err(Failure::Failed(what.into()));
        }
        match &self.codes {
            Ok(codes) => Ok(codes.get(number)),
            Err(error) => Err(Failure::Failed(format!("it was not compiled: {error}"))),
        }
    }
}

/// Makes the scripts ready, on as many threads as there are processors, and runs each in its turn.
pub fn each(args: &WastArgs, mut run: impl FnMut(&Path, &mut Script, &str) -> Outcome<()>) -> Outcome<()> {
    // Each script has it again, for opening a device takes long. One kernel runs at a time.
    let device = devices::open(&args.device)?;
    let target = device
        .target()
        .ok_or_else(|| Report::new("the PTX engine needs a GPU"))?;
    let cache = cache::open()?;
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let next = AtomicUsize::new(0);
    // Relaxed: each number is taken once, and nothing else depends on it.
    let take = || args.files.get(next.fetch_add(1, Ordering::Relaxed));
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(processors);
        for _ in 0..processors.min(args.files.len()) {
            let sender = sender.clone();
            let (target, cache) = (&target, cache.as_ref());
            let work = move || {
                while let Some(path) = take() {
                    let made = read(path).and_then(|text| {
                        let library = Library::of(args, path, &text, target, cache)?;
                        Ok((text, library))
                    });
                    // It is not received after an error.
                    if sender.send((path, made)).is_err() {
                        break;
                    }
                }
            };
            std::thread::Builder::new()
                .spawn_scoped(scope, work)
                .map_err(|error| Report::new(format!("cannot start a thread for the compiler: {error}")))?;
        }
        drop(sender);
        for (path, made) in receiver {
            let (text, library) = made?;
            // A fault may have spoiled what they share.
            let again = device.again().or_else(|_| devices::open(&args.device))?;
            let mut script = Script::new(args, again)?;
            script.library = Some(library);
            run(path, &mut script, &text)?;
        }
        Ok(())
    })
}
