//! Stores, and the runs of their functions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gpu_run_bytecode::ExternType;
use gpu_run_vm::{
    End, Environment, Extern as Item, FrameSize, Limits, Outcome, RunOptions, Sink, StoreError, Value, threads_may_wait,
};

use super::compile::{self, Policy};
use super::config::Strategy;
use super::device;
use super::engine::Engine;
use super::error::{Error, Fault, FaultKind, Result};
use super::events::{Captured, Event, Events};
use super::exit::HeldStore;
use super::func::{Extern, Func, Launch};
use super::host::{Calls, Failure, Table};
use super::instance::Instance;
use super::linker::{Definition, Linker};
use super::module::Module;
use super::values::Val;

/// Which store a handle belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoreId(u64);

impl StoreId {
    fn new() -> StoreId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Relaxed: each is another one, and nothing else depends on it.
        StoreId(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn handle(self, index: u32) -> Handle {
        Handle { store: self, index }
    }
}

/// The number of something in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    store: StoreId,
    index: u32,
}

impl Handle {
    /// The number, for its own store.
    pub(super) fn in_store(self, store: StoreId) -> Result<u32> {
        match self.store == store {
            true => Ok(self.index),
            false => Err(Error::WrongStore),
        }
    }
}

/// Limits of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreLimits {
    /// Bytes that a memory may have; `None` is what it declares, or 1 GiB.
    pub memory: Option<u64>,
    /// Elements that a table may have.
    pub table_elements: u32,
    /// Calls that may be open at once in a thread.
    pub call_depth: u32,
    /// Bytes of memory that each thread of a kernel has as its stack. Where memory has no room for so large stacks, they
    /// are smaller, down to 4 KiB.
    pub thread_stack: u32,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        let limits = Limits::default();
        StoreLimits {
            memory: limits.memory,
            table_elements: limits.table,
            call_depth: limits.call_depth,
            thread_stack: RunOptions::default().thread_stack,
        }
    }
}

/// Ends the runs of a store, from any thread.
#[derive(Clone, Debug)]
pub struct InterruptHandle(Arc<AtomicBool>);

impl InterruptHandle {
    /// Ends the run that is under way, or else the next one: its result is [`Error::Interrupted`].
    pub fn interrupt(&self) {
        // Relaxed: the flag is all there is to see.
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Instances on a device of their own, with data of the embedder that host functions see.
///
/// A store runs its functions compiled as long as it has one instance. With several, which may call each other, all are
/// interpreted.
pub struct Store<T> {
    pub(super) id: StoreId,
    pub(super) vm: HeldStore,
    data: T,
    engine: Engine,
    limits: StoreLimits,
    events: Events,
    timeout: Option<Duration>,
    interrupt: Arc<AtomicBool>,
    /// What the instance that asks the host is served by.
    host: Option<Host<T>>,
    instances: Vec<Module>,
}

/// The host of an instance.
struct Host<T> {
    table: Arc<Table<T>>,
    wasi: Option<Environment>,
}

impl<T> Store<T> {
    /// An empty store: opens the engine's device.
    ///
    /// # Errors
    ///
    /// The device cannot be opened.
    pub fn new(engine: &Engine, data: T) -> Result<Store<T>> {
        Store::with_limits(engine, data, StoreLimits::default())
    }

    /// An empty store with limits of its own.
    ///
    /// # Errors
    ///
    /// As [`Store::new`].
    pub fn with_limits(engine: &Engine, data: T, limits: StoreLimits) -> Result<Store<T>> {
        let opened = device::open(engine.0.device, engine.0.strategy)?;
        if let Some(error) = &opened.no_gpu {
            tracing::info!("running on the CPU: {error}");
        }
        let vm = gpu_run_vm::Store::new(
            opened.device,
            Limits {
                memory: limits.memory,
                table: limits.table_elements,
                call_depth: limits.call_depth,
                ..Limits::default()
            },
        )?;
        Ok(Store {
            id: StoreId::new(),
            vm: HeldStore::new(vm),
            data,
            engine: engine.clone(),
            limits,
            events: Events::inherit(),
            timeout: None,
            interrupt: Arc::default(),
            host: None,
            instances: Vec::new(),
        })
    }

    /// The embedder's data.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The embedder's data, to be changed.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// The embedder's data, without the store.
    pub fn into_data(self) -> T {
        self.data
    }

    /// The device's name.
    pub fn device_name(&self) -> String {
        self.vm.device_name()
    }

    /// Sets who takes what programs say. Left alone, it goes to this process's standard output and error.
    pub fn on_event(&mut self, handler: impl FnMut(Event<'_>) + Send + 'static) {
        self.events.set(Box::new(handler));
    }

    /// Keeps what programs say from here on.
    pub fn capture(&mut self) -> Captured {
        let captured = Captured::default();
        let kept = captured.clone();
        self.on_event(move |event| kept.add(event));
        captured
    }

    /// Sets how long a run may take.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// A handle that ends runs.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle(self.interrupt.clone())
    }

    /// Gives the runs an input, which `gpu_std::io::input` reads, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_input(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.vm.bind_input(bytes)?)
    }

    /// Gives the runs an output of at most `size` bytes, all 0, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_output(&mut self, size: u64) -> Result<()> {
        Ok(self.vm.bind_output(size)?)
    }

    /// What runs have written to the output, up to the highest byte.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn output(&mut self) -> Result<Vec<u8>> {
        Ok(self.vm.output()?)
    }

    /// Gives the runs a frame of pixels, all 0, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_frame(&mut self, size: FrameSize) -> Result<()> {
        Ok(self.vm.bind_frame(size, false)?)
    }

    /// The frame, row by row; each pixel is red, green, blue, alpha.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn frame(&mut self) -> Result<Vec<u8>> {
        Ok(self.vm.frame()?)
    }
}

impl<T: Send> Store<T> {
    /// See [`Linker::instantiate`].
    pub(super) fn instantiate(&mut self, linker: &Linker<T>, module: &Module) -> Result<Instance> {
        let host = self.host_of(linker, module)?;
        if host.is_some() && self.host.is_some() {
            return Err(Error::SecondHost);
        }
        let items = self.imports_of(linker, module)?;
        let policy = Policy {
            strategy: match self.instances.is_empty() {
                true => self.engine.0.strategy,
                // Compiled code of instances that were not linked together does not run.
                false => Strategy::Interpreter,
            },
            entries: compile::entries(&module.program),
            // Kernels are launched on any number.
            threads: 2,
            call_depth: self.limits.call_depth,
            cache: self.engine.0.cache(),
            timeout: self.engine.0.compile_timeout,
            interrupt: Some(&self.interrupt),
        };
        let choice = compile::choose(policy, &mut self.vm, &module.program)?;
        let asks = host.is_some();
        if asks {
            self.host = host;
        }
        let resolve = |module: &str, name: &str| items.get(&(module.to_owned(), name.to_owned())).copied();
        let program = module.program.clone();
        let (result, failure) = self.serve(1, false, |vm, options, sink| {
            vm.instantiate_compiled(program, choice.code(), resolve, options, sink)
        });
        match result {
            Ok(id) => {
                self.instances.push(module.clone());
                Ok(Instance { store: self.id, id })
            }
            Err(error) => {
                if asks {
                    self.host = None;
                }
                Err(match error {
                    StoreError::Trap(fault) => ended(End::Trapped(fault), failure),
                    StoreError::Ended(end) => ended(*end, failure),
                    error => error.into(),
                })
            }
        }
    }

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
        for import in &module.program.meta.imports {
            let (module, name) = (import.module.clone(), import.name.clone());
            let item = match (linker.get(&module, &name), import.ty) {
                (Some(Definition::Extern(Extern::Func(func))), _) => Item::Func(func.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Memory(memory))), _) => Item::Memory(memory.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Global(global))), _) => Item::Global(global.0.in_store(self.id)?),
                (Some(Definition::Extern(Extern::Table(table))), _) => Item::Table(table.0.in_store(self.id)?),
                (None, ExternType::Memory(ty)) if (&*module, &*name) == MEMORY_IMPORT => self.vm.add_memory(ty)?,
                (_, ty) => {
                    let why = match ty {
                        ExternType::Func(_) => ": a host function has no vectors or references",
                        _ => "",
                    };
                    return Err(Error::UnknownImport { module, name, why });
                }
            };
            items.insert((module, name), item);
        }
        Ok(items)
    }

    /// Runs a function on so many threads.
    pub(super) fn launch(&mut self, func: Func, threads: u32, args: &[Val]) -> Result<Launch> {
        let func = func.0.in_store(self.id)?;
        let id = self.id;
        let args: Option<Vec<Value>> = args.iter().map(|arg| arg.lower(id)).collect();
        let args = args.ok_or(Error::WrongStore)?;
        // Compiled threads keep their lanes: one that waits for another may keep it from ever running.
        let lanes = self.vm.target().map_or(0, |target| target.lanes_at_least());
        let may_hang = threads > lanes && self.instances.iter().any(|module| threads_may_wait(&module.program));
        let interpret = may_hang && self.engine.0.strategy != Strategy::Ptx;
        let (outcome, failure) = self.serve(threads, interpret, |vm, options, sink| {
            vm.run(func, &args, options, sink)
        });
        let Outcome {
            end,
            results,
            time,
            lanes,
            compiled,
            ..
        } = outcome?;
        if !matches!(end, End::Returned) {
            return Err(ended(end, failure));
        }
        let lift = |vals: Vec<Value>| vals.into_iter().map(|val| Val::lift(val, id)).collect();
        Ok(Launch {
            results: results.into_iter().map(lift).collect(),
            time,
            lanes,
            compiled,
        })
    }

    /// Does what runs something, while host functions are served.
    fn serve<R>(
        &mut self,
        threads: u32,
        interpret: bool,
        work: impl FnOnce(&mut gpu_run_vm::Store, &RunOptions, &mut dyn Sink) -> R,
    ) -> (R, Option<Failure>) {
        let Store { vm, data, host, .. } = self;
        let mut options = RunOptions {
            threads,
            thread_stack: self.limits.thread_stack & !15,
            timeout: self.timeout,
            interrupt: Some(self.interrupt.clone()),
            interpret,
            ..RunOptions::default()
        };
        let mut sink = self.events.clone();
        let outcome = match host {
            None => (work(vm, &options, &mut sink), None),
            Some(Host { table, wasi }) => {
                let services = wasi.as_ref().map(|wasi| wasi.services.clone());
                let (calls, jobs) = Calls::new(table, services);
                let calls = Arc::new(calls);
                options.environment = Some(match wasi {
                    Some(wasi) => Environment {
                        services: calls.clone(),
                        ..wasi.clone()
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
        // Relaxed: who interrupts sees the run end.
        self.interrupt.store(false, Ordering::Relaxed);
        match outcome {
            (_, Some(Failure::Panic(panic))) => std::panic::resume_unwind(panic),
            outcome => outcome,
        }
    }
}

/// The memory that a module may import instead of defining it, as linkers want it for threads.
pub const MEMORY_IMPORT: (&str, &str) = ("env", "memory");

/// Closes calls when it goes.
struct Close<'c>(&'c Calls);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The error of a run that ended before its threads had returned.
fn ended(end: End, failure: Option<Failure>) -> Error {
    let fault = match end {
        End::Trapped(fault) => Fault::from(*fault),
        End::Panicked { thread, backtrace } => Fault {
            kind: FaultKind::Panic,
            thread,
            backtrace,
        },
        End::Exited(code) => return Error::Exit(code),
        End::TimedOut => return Error::TimedOut,
        _ => return Error::Interrupted,
    };
    match failure {
        // Another thread may have trapped before.
        Some(Failure::Error(thread, source)) if thread == fault.thread => Error::Host {
            source,
            fault: Box::new(fault),
        },
        _ => Error::Fault(Box::new(fault)),
    }
}
