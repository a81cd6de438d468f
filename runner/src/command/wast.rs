//! `gpu-run wast`: runs WebAssembly script tests.
//!
//! A script's modules live in one store, and the stores of all scripts on one device, whose kernel stays. A
//! script that is to run compiled is interpreted first, which shows what has to be compiled: see [`compiled`].
//! A call is started when it has been read, and waited for only where what follows is no call. A directive
//! passes, fails, or is skipped, with the reason, because it needs a feature that gpu-run does not have yet.
//!
//! Scripts use the runtime's store and not the library's, which is for embedders. That one links neither functions of
//! other instances nor tags, compiles no more than one instance, and waits for each call.

mod calls;
mod compiled;
mod expected;
mod spectest;
mod tally;
mod values;

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use gpu_run_bytecode::{Program, TrapKind};
use gpu_run_translator::inline::InlineOptions;
use gpu_run_translator::{Error, LowerErrorKind, Options, ParseError};
use gpu_run_vm::{Device, Extern, InstanceId, Limits, PersistentKernel, RunOptions, Store, StoreError, Stream, Value};
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::{QuoteWat, Wast, WastDirective, WastExecute};

use calls::{Modules, Name, call, invocation, module};
use compiled::Library;
use expected::{expectation, trap_matches};
use spectest::spectest;
use tally::{Counts, Tally};

use crate::cli::{Engine, WastArgs};
use crate::devices;
use crate::report::{self, Outcome, Report};

/// Runs script files and prints a line for each, and for all.
pub fn wast(args: &WastArgs) -> Outcome<ExitCode> {
    let mut all = Counts::default();
    let mut run = |path: &Path, script: &mut Script, text: &str| -> Outcome<()> {
        let counts = script.run(path, text, true)?;
        say!("{}: {counts}", path.display());
        all.add(&counts);
        Ok(())
    };
    match args.device.engine {
        Engine::Ptx => compiled::each(args, run)?,
        _ => {
            let server = PersistentKernel::new(devices::open(&args.device)?).map_err(|error| report::device(&error))?;
            for path in &args.files {
                run(path, &mut Script::new(args, server.client())?, &read(path)?)?;
            }
        }
    }
    if args.files.len() > 1 {
        say!("all: {all}");
    }
    Ok(if all.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The text of a script.
fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Report::new(format!("cannot read the script: {error}")).at(path.display().to_string()))
}

/// Why a directive did not pass.
enum Failure {
    /// It is wrong.
    Failed(String),
    /// It needs something that gpu-run does not have.
    Skipped(String),
}

impl From<String> for Failure {
    fn from(what: String) -> Failure {
        Failure::Failed(what)
    }
}

type Checked<T> = Result<T, Failure>;

/// How an action ended.
enum Ended {
    Values(Vec<Value>),
    Trap(TrapKind),
}

struct Script {
    store: Store,
    options: Options,
    /// Functions that the script called, by number in the store.
    called: BTreeSet<u32>,
    /// The code of the instances that the script makes, if it runs compiled.
    library: Option<Library>,
    modules: Modules,
    /// Modules that were defined, not instantiated, by name; "" is the last one.
    definitions: HashMap<String, Vec<u8>>,
    /// Exports of registered modules, and of `spectest`.
    registered: HashMap<String, Registered>,
}

enum Registered {
    Instance(InstanceId),
    /// Its module was not instantiated, for this reason.
    Skipped(String),
    Host(HashMap<&'static str, Extern>),
}

impl Script {
    fn new(args: &WastArgs, device: Box<dyn Device>) -> Outcome<Script> {
        // Scripts make thousands of small modules, and a device takes long to reserve much memory.
        let limits = Limits {
            undeclared_memory: 128 << 20,
            table: 1 << 20,
            ..Limits::default()
        };
        let mut store = Store::new(device, limits).map_err(|error| report::device(&error))?;
        let spectest = spectest(&mut store).map_err(|error| report::store(Path::new("spectest"), &error))?;
        let inline = (!args.no_inline).then(InlineOptions::default);
        let registered = HashMap::from([("spectest".to_owned(), Registered::Host(spectest))]);
        Ok(Script {
            store,
            options: Options {
                rewrite: None,
                inline,
                ..Options::default()
            },
            called: BTreeSet::new(),
            library: None,
            modules: HashMap::new(),
            definitions: HashMap::new(),
            registered,
        })
    }

    /// Runs a script. What fails or is skipped is printed if `told`.
    fn run(&mut self, path: &Path, text: &str, told: bool) -> Outcome<Counts> {
        let explain = |mut error: wast::Error| {
            error.set_path(path);
            error.set_text(text);
            Report::new(error.to_string())
        };
        let mut lexer = Lexer::new(text);
        lexer.allow_confusing_unicode(true);
        let buffer = ParseBuffer::new_with_lexer(lexer).map_err(explain)?;
        let script: Wast<'_> = parser::parse(&buffer).map_err(explain)?;
        let mut tally = Tally::new(path, told);
        let mut directives = script.directives.into_iter().peekable();
        loop {
            self.run_calls(&mut directives, text, &mut tally)?;
            let Some(directive) = directives.next() else { break };
            let place = directive.span().linecol_in(text);
            let result = self.directive(directive);
            tally.add(place, result);
        }
        let Tally { counts, reasons, .. } = tally;
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort();
        for (why, count) in reasons.iter().filter(|_| told) {
            say!("{}: {count} skipped: {why}", path.display());
        }
        Ok(counts)
    }

    /// Runs the calls that come next, in the script's order, and checks what came of them.
    fn run_calls<'s>(
        &mut self,
        directives: &mut Peekable<impl Iterator<Item = WastDirective<'s>>>,
        text: &str,
        tally: &mut Tally<'_>,
    ) -> Outcome<()> {
        let compiled = self.library.is_some();
        let Script {
            store, modules, called, ..
        } = self;
        let mut expected = Vec::new();
        let next = |store: &Store| loop {
            let directive = directives.next_if(|directive| invocation(directive).is_some())?;
            let place = directive.span().linecol_in(text);
            match call(modules, store, invocation(&directive)?) {
                Ok(call) => {
                    called.insert(call.func);
                    expected.push((place, Ok(expectation(directive))));
                    return Some(call);
                }
                Err(failure) => expected.push((place, Err(failure))),
            }
        };
        let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
        let outcomes = store.run_all(next, &RunOptions::default(), sink);
        let mut outcomes = outcomes.map_err(|error| report::store(tally.path, &error))?.into_iter();
        for (place, expected) in expected {
            let result = match expected.map(|expected| (expected, outcomes.next())) {
                Err(failure) => Err(failure),
                // A function of the host's takes no lane.
                Ok((_, Some(Ok(outcome)))) if compiled && !outcome.compiled && outcome.lanes > 0 => {
                    Err(Failure::Failed("it was interpreted, not compiled".into()))
                }
                Ok((expected, Some(Ok(outcome)))) => expected.check(outcome.end, outcome.results),
                Ok((_, Some(Err(error @ StoreError::Arguments { .. })))) => Err(Failure::Failed(error.to_string())),
                Ok((_, Some(Err(error)))) => return Err(report::store(tally.path, &error)),
                Ok((_, None)) => Err(Failure::Failed("the call was not run".into())),
            };
            tally.add(place, result);
        }
        Ok(())
    }

    fn directive(&mut self, directive: WastDirective<'_>) -> Checked<()> {
        match directive {
            WastDirective::Module(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                let result = self.define(&mut module);
                self.name_module(name, result)
            }
            WastDirective::Register { name, module, .. } => {
                let instance = self.module(module.map(|id| id.name()));
                let registered = match &instance {
                    Ok(instance) => Registered::Instance(*instance),
                    Err(Failure::Skipped(why) | Failure::Failed(why)) => Registered::Skipped(why.clone()),
                };
                self.registered.insert(name.to_owned(), registered);
                instance.map(drop)
            }
            // What is not a call: a global's value, or a module that is instantiated.
            WastDirective::AssertReturn { exec, results, .. } => match self.execute(exec)? {
                Ended::Trap(kind) => Err(format!("trapped: {}", kind.text()).into()),
                Ended::Values(values) => Ok(values::check(&values, &results)?),
            },
            WastDirective::AssertTrap { exec, message, .. } => match self.execute(exec)? {
                Ended::Values(values) => Err(format!("expected the trap \"{message}\", got {values:?}").into()),
                Ended::Trap(kind) if trap_matches(kind, message) => Ok(()),
                Ended::Trap(kind) => Err(format!("expected the trap \"{message}\", got \"{}\"", kind.text()).into()),
            },
            WastDirective::AssertMalformed {
                mut module, message, ..
            } => self.refused(&mut module, message),
            WastDirective::AssertInvalid {
                mut module, message, ..
            } => self.refused(&mut module, message),
            WastDirective::AssertUnlinkable {
                mut module, message, ..
            } => {
                let bytes = module.encode().map_err(|error| error.to_string())?;
                match self.instantiate(&bytes) {
                    Err(Instantiation::Store(
                        StoreError::UnknownImport { .. } | StoreError::IncompatibleImport { .. },
                    )) => Ok(()),
                    Err(Instantiation::Failure(failure)) => Err(failure),
                    Err(Instantiation::Store(error)) => Err(format!("expected \"{message}\", got \"{error}\"").into()),
                    Ok(_) => Err(format!("expected \"{message}\", but it was linked").into()),
                }
            }
            WastDirective::Thread(_) | WastDirective::Wait { .. } => Err(Failure::Skipped(
                "a script's threads may wait for each other, and gpu-run runs a script on one".into(),
            )),
            WastDirective::ModuleDefinition(mut module) => {
                let name = module.name().map(|id| id.name().to_owned());
                let bytes = module.encode().map_err(|error| error.to_string())?;
                // Whether it can be run shows here, once.
                let translated = self.translate(&bytes);
                for name in name.into_iter().chain([String::new()]) {
                    self.definitions.insert(name, bytes.clone());
                }
                translated.map(drop)
            }
            WastDirective::ModuleInstance { instance, module, .. } => {
                let definition = module.map(|id| id.name()).unwrap_or_default();
                let Some(bytes) = self.definitions.get(definition).cloned() else {
                    return Err(format!("no module definition `{definition}`").into());
                };
                let result = self.instantiate(&bytes).map_err(Failure::from);
                self.name_module(instance.map(|id| id.name().to_owned()), result)
            }
            _ => Err(Failure::Skipped("a directive that gpu-run does not know".into())),
        }
    }

    fn module(&self, name: Name<'_>) -> Checked<InstanceId> {
        module(&self.modules, name)
    }

    fn define(&mut self, module: &mut QuoteWat<'_>) -> Checked<InstanceId> {
        let bytes = module.encode().map_err(|error| error.to_string())?;
        self.instantiate(&bytes).map_err(Failure::from)
    }

    /// Makes an instance the last one, and known by its name, if it has one.
    fn name_module(&mut self, name: Option<String>, result: Checked<InstanceId>) -> Checked<()> {
        let entry = match &result {
            Ok(instance) => Ok(*instance),
            Err(Failure::Failed(why) | Failure::Skipped(why)) => Err(why.clone()),
        };
        for name in name.into_iter().chain([String::new()]) {
            self.modules.insert(name, entry.clone());
        }
        result.map(drop)
    }

    fn translate(&self, bytes: &[u8]) -> Checked<Program> {
        let translation = gpu_run_translator::translate(bytes, &self.options);
        let translation = translation.map_err(|error| match unsupported(&error) {
            Some(what) => Failure::Skipped(what),
            None => Failure::Failed(error.to_string()),
        })?;
        Ok(translation.program)
    }

    fn instantiate(&mut self, bytes: &[u8]) -> Result<InstanceId, Instantiation> {
        let program = Arc::new(self.translate(bytes).map_err(Instantiation::Failure)?);
        for import in &program.meta.imports {
            if let Some(Registered::Skipped(why)) = self.registered.get(&import.module) {
                return Err(Instantiation::Failure(Failure::Skipped(why.clone())));
            }
        }
        let found: Vec<Option<Extern>> = program
            .meta
            .imports
            .iter()
            .map(|import| self.resolve(&import.module, &import.name))
            .collect();
        let mut found = found.into_iter();
        let code = match &self.library {
            Some(library) => library.code(&self.store, &program).map_err(Instantiation::Failure)?,
            None => None,
        };
        self.store
            .instantiate_compiled(
                program,
                code,
                |_, _| found.next().flatten(),
                &RunOptions::default(),
                &mut |_: Stream, _: u32, _: &[u8]| {},
            )
            .map_err(Instantiation::Store)
    }

    fn resolve(&self, module: &str, name: &str) -> Option<Extern> {
        match self.registered.get(module)? {
            Registered::Skipped(_) => None,
            Registered::Instance(instance) => self.store.export(*instance, name),
            Registered::Host(exports) => exports.get(name).copied(),
        }
    }

    /// Checks that a module is refused. A text that does not parse counts.
    fn refused(&mut self, module: &mut QuoteWat<'_>, message: &str) -> Checked<()> {
        let Ok(bytes) = module.encode() else { return Ok(()) };
        match gpu_run_translator::translate(&bytes, &self.options) {
            Err(Error::Parse(_)) => Ok(()),
            Err(error) => Err(format!("expected \"{message}\", got \"{error}\"").into()),
            Ok(_) => Err(format!("expected \"{message}\", but it was accepted").into()),
        }
    }

    fn execute(&mut self, execute: WastExecute<'_>) -> Checked<Ended> {
        match execute {
            WastExecute::Invoke(_) => Err(Failure::Failed("calls are run elsewhere".into())),
            WastExecute::Wat(mut module) => {
                let bytes = module.encode().map_err(|error| error.to_string())?;
                match self.instantiate(&bytes) {
                    Ok(_) => Ok(Ended::Values(Vec::new())),
                    Err(Instantiation::Store(StoreError::Trap(fault))) => Ok(Ended::Trap(fault.kind)),
                    Err(Instantiation::Store(error)) => Err(error.to_string().into()),
                    Err(Instantiation::Failure(failure)) => Err(failure),
                }
            }
            WastExecute::Get { module, global, .. } => {
                let instance = self.module(module.map(|id| id.name()))?;
                match self.store.export(instance, global) {
                    Some(Extern::Global(index)) => Ok(Ended::Values(vec![
                        self.store.global(index).map_err(|error| error.to_string())?,
                    ])),
                    _ => Err(format!("no global `{global}` is exported").into()),
                }
            }
        }
    }
}

enum Instantiation {
    Failure(Failure),
    Store(StoreError),
}

impl From<Instantiation> for Failure {
    fn from(error: Instantiation) -> Failure {
        match error {
            Instantiation::Failure(failure) => failure,
            Instantiation::Store(error) => Failure::Failed(error.to_string()),
        }
    }
}

/// What a module needs that gpu-run does not have, if that is why it was not translated.
fn unsupported(error: &Error) -> Option<String> {
    match error {
        Error::Lower(error) => match &error.kind {
            LowerErrorKind::Unsupported { what } => Some(format!("{what} is not supported yet")),
            _ => None,
        },
        Error::Parse(ParseError::UnsupportedProposal { proposal, .. }) => Some(format!("{proposal} is not supported")),
        _ => None,
    }
}
