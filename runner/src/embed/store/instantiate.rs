//! How a module becomes an instance of a store.

use std::collections::HashMap;
use std::sync::Arc;

use gpu_run_bytecode::{ExternKind, ExternType, Program};
use gpu_run_vm::{Environment, Extern as Item, StoreError};

use super::{Loaded, Store};
use crate::embed::compile::{self, Choice, CompileError, Policy};
use crate::embed::config::Strategy;
use crate::embed::error::{Error, Result};
use crate::embed::func::Extern;
use crate::embed::host::Table;
use crate::embed::instance::Instance;
use crate::embed::linker::{Definition, Linker};
use crate::embed::module::Module;
use crate::embed::outcome::{End, host_error};

/// The memory that a module may import instead of defining it, as linkers want it for threads.
pub const MEMORY_IMPORT: (&str, &str) = ("env", "memory");

/// Whether a memory that a module imports is made for it, if the linker has none: [`MEMORY_IMPORT`], and of a module that
/// spawns threads the one that they share, by whatever name, as WASI's threads have it.
pub fn makes_memory(module: &str, name: &str, for_spawned: bool) -> bool {
    for_spawned || (module, name) == MEMORY_IMPORT
}

/// What an instance will be called by. What else is called is interpreted.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// The exports that will be called; `None` is all.
    pub exports: Option<Vec<String>>,
    /// Most threads of a run; `None` is any number. Runs of more threads are interpreted. So is the whole program if so
    /// many are more than the device has lanes and may wait for each other, unless compiled code was asked for: see
    /// [`Choice::may_hang`](crate::compile::Choice::may_hang).
    pub threads: Option<u32>,
    /// Whether it is run as a [`Batch`](crate::Batch). Calls of another kind are interpreted.
    pub processes: bool,
    /// Whether these processes start others. Then they are interpreted.
    pub families: bool,
}

impl Usage {
    /// The functions of a program.
    pub(in crate::embed) fn entries(&self, program: &Program) -> Result<Vec<u32>> {
        let Some(names) = &self.exports else {
            return Ok(compile::entries(program));
        };
        let entry = |name: &String| {
            let export = program.meta.export(name);
            match export.filter(|export| export.kind == ExternKind::Func) {
                Some(export) => Ok(export.index),
                None => Err(Error::UnknownExport {
                    what: "function",
                    name: name.clone(),
                }),
            }
        };
        names.iter().map(entry).collect()
    }
}

/// The host of an instance.
pub(super) struct Host<T> {
    pub(super) table: Arc<Table<T>>,
    pub(super) wasi: Option<Environment>,
}

/// A module that is linked and, if that is how it is run, compiled: an instance but for the last step. See
/// [`Linker::instantiate_pre`].
pub struct InstancePre<'s, T> {
    store: &'s mut Store<T>,
    module: Module,
    host: Option<Host<T>>,
    items: HashMap<(String, String), Item>,
    choice: Choice,
    threads: u32,
}

impl<'s, T: Send> InstancePre<'s, T> {
    pub(in crate::embed) fn new(
        linker: &Linker<T>,
        store: &'s mut Store<T>,
        module: &Module,
        usage: &Usage,
    ) -> Result<InstancePre<'s, T>> {
        let host = store.host_of(linker, module)?;
        // Each process of a batch has services of its own.
        if host.is_some() && store.host.is_some() && !usage.processes {
            return Err(Error::SecondHost);
        }
        let entries = usage.entries(&module.program)?;
        let items = store.imports_of(linker, module)?;
        let config = &store.engine.0;
        let policy = Policy {
            strategy: match store.instances.is_empty() && !usage.families {
                true => config.strategy,
                // Compiled code of instances that were not linked together does not run.
                false => Strategy::Interpreter,
            },
            entries,
            threads: usage.threads,
            call_depth: store.limits.call_depth,
            tuning: config.tuning,
            // Samples are of code that stays the same, and so are counts.
            processes: usage.processes,
            functions: match store.vm.takes_samples() || store.vm.counts_blocks().is_some() || usage.processes {
                true => compile::Functions::All,
                false => config.functions,
            },
            native: &module.native,
            cache: config.cache(),
            timeout: config.compile_timeout,
            hot_after: config.hot_after,
            interrupt: &store.interrupt.0,
            told: &config.told,
        };
        let choice = match compile::choose(policy, &mut store.vm, &module.program) {
            Err(CompileError::Interrupted) => {
                store.settled(End::Interrupted);
                return Err(Error::Interrupted);
            }
            choice => choice?,
        };
        Ok(InstancePre {
            store,
            module: module.clone(),
            host,
            items,
            choice,
            threads: match usage.processes {
                // The code is for no thread that is no process.
                true => 0,
                false => usage.threads.unwrap_or(u32::MAX),
            },
        })
    }

    /// How it will be run, and why so.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Makes the instance, and runs its start function.
    ///
    /// # Errors
    ///
    /// A trap of an active segment, or how the start function ended; [`Error::into_end`] tells these from others. What
    /// the device has no room for.
    pub fn instantiate(self) -> Result<Instance> {
        let InstancePre {
            store,
            module,
            host,
            items,
            choice,
            threads,
        } = self;
        let asks = host.is_some();
        if asks {
            store.host = host;
        }
        let resolve = |module: &str, name: &str| items.get(&(module.to_owned(), name.to_owned())).copied();
        let program = module.program.clone();
        let (result, failure) = store.serve(1, false, |vm, options, sink| {
            vm.instantiate_compiled(program, choice.code(), resolve, options, sink)
        });
        let error = match result {
            Ok(id) => {
                store.instances.push(Loaded {
                    id,
                    choice,
                    module,
                    threads,
                });
                return Ok(Instance { store: store.id, id });
            }
            Err(error) => error,
        };
        if asks {
            store.host = None;
        }
        let end = match error {
            StoreError::Trap(fault) => End::Faulted(Box::new((*fault).into())),
            StoreError::Ended(end) => store.settled((*end).into()),
            error => return Err(error.into()),
        };
        let host_error = host_error(&end, failure);
        Err(Error::of(end, host_error))
    }
}

impl<T> Store<T> {
    /// What serves the requests of a module's instance, if it makes any.
    fn host_of(&self, linker: &Linker<T>, module: &Module) -> Result<Option<Host<T>>> {
        let meta = &module.program.meta;
        let wasi = match (module.wasi(), linker.wasi_context()) {
            (None, _) => None,
            (Some(_), Some(wasi)) => Some(wasi.bind(&self.events)),
            (Some(function), None) => {
                return Err(Error::UnknownImport {
                    module: function.info().module.into(),
                    name: function.info().name.into(),
                    why: ": the linker has no WASI",
                });
            }
        };
        let mut functions = Vec::new();
        for import in &meta.host_functions {
            let (module, name) = (import.module.clone(), import.name.clone());
            let differs = |found: String| Error::ImportType {
                module: module.clone(),
                name: name.clone(),
                wanted: import.ty.to_string(),
                found,
            };
            match linker.get(&module, &name) {
                Some(Definition::Func(ty, function)) if *ty == import.ty => {
                    functions.push((ty.clone(), function.clone()));
                }
                Some(Definition::Func(ty, _)) => return Err(differs(ty.to_string())),
                Some(Definition::Extern(_)) => return Err(differs("of no host function".into())),
                None => {
                    return Err(Error::UnknownImport { module, name, why: "" });
                }
            }
        }
        let asks = wasi.is_some() || !functions.is_empty();
        Ok(asks.then(|| Host {
            table: Arc::new(Table {
                functions,
                memory: !meta.memory_types().is_empty(),
            }),
            wasi,
        }))
    }

    /// What a module's other imports stand for.
    fn imports_of(&mut self, linker: &Linker<T>, module: &Module) -> Result<HashMap<(String, String), Item>> {
        let mut items = HashMap::new();
        let spawns = module.program.thread_start().is_some();
        for import in &module.program.meta.imports {
            let (module, name) = (import.module.clone(), import.name.clone());
            let item = match (linker.get(&module, &name), import.ty) {
                (Some(Definition::Extern(Extern::Func(func))), _) => Item::Func(func.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Memory(memory))), _) => Item::Memory(memory.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Global(global))), _) => Item::Global(global.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Table(table))), _) => Item::Table(table.0.in_store(self.id)?),
                (None, ExternType::Memory(ty)) if makes_memory(&module, &name, spawns && ty.shared) => {
                    self.vm.add_memory(ty)?
                }
                (_, ty) => {
                    let why = match ty {
                        ExternType::Func(_) => ": a host function has no references",
                        _ => "",
                    };
                    return Err(Error::UnknownImport { module, name, why });
                }
            };
            items.insert((module, name), item);
        }
        Ok(items)
    }
}
