//! Stores. `limits` are theirs; `instantiate` makes instances of modules, and `run` runs their functions.

mod instantiate;
mod limits;
mod run;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run_vm::{Counted, DebugOptions, Device, FrameSize, InstanceId, Samples, Sink, Stands};

use super::compile::{Choice, Functions};
use super::device;
use super::engine::Engine;
use super::error::{Error, Result};
use super::events::{Captured, Event, Events};
use super::exit::HeldStore;
use super::module::Module;
use instantiate::Host;

pub use instantiate::{InstancePre, MEMORY_IMPORT, Usage, makes_memory};
pub use limits::StoreLimits;

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
    /// The number, for people.
    pub(super) fn index(self) -> u32 {
        self.index
    }

    /// The number, for its own store.
    pub(super) fn in_store(self, store: StoreId) -> Result<u32> {
        match self.store == store {
            true => Ok(self.index),
            false => Err(Error::WrongStore),
        }
    }
}

/// Ends the runs of a store, from any thread. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct InterruptHandle(Arc<AtomicBool>);

impl InterruptHandle {
    /// A handle for a store that is still to be made; see [`Store::interrupt_by`].
    pub fn new() -> InterruptHandle {
        InterruptHandle::default()
    }

    /// Ends the run that is under way, or else the next one: its result is [`Error::Interrupted`], and of `Func::run` an
    /// outcome with that end. Of stores that share the handle, one run ends.
    pub fn interrupt(&self) {
        // Relaxed: the flag is all there is to see.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a run was asked to end, and none has ended by that yet.
    pub fn is_pending(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// A run has ended by it.
    fn settle(&self) {
        self.0.store(false, Ordering::Relaxed);
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
    debug: DebugOptions,
    timeout: Option<Duration>,
    interrupt: InterruptHandle,
    last_run: bool,
    /// What the instance that asks the host is served by.
    host: Option<Host<T>>,
    pub(super) instances: Vec<Loaded>,
}

/// An instance, and how it is run.
pub(super) struct Loaded {
    pub(super) id: InstanceId,
    pub(super) choice: Choice,
    module: Module,
    /// Most threads that its compiled code is for.
    threads: u32,
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
        Store::with_device(engine, data, limits, opened.device)
    }

    /// An empty store on a device that is open already, whichever the engine's is.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn with_device(engine: &Engine, data: T, limits: StoreLimits, device: Box<dyn Device>) -> Result<Store<T>> {
        let mut vm = gpu_run_vm::Store::new(device, limits.of_vm())?;
        if engine.0.functions == Functions::Hot {
            vm.note_visits();
        }
        Ok(Store {
            id: StoreId::new(),
            vm: HeldStore::new(vm),
            data,
            engine: engine.clone(),
            limits,
            events: Events::inherit(),
            debug: DebugOptions::default(),
            timeout: None,
            interrupt: InterruptHandle::new(),
            last_run: false,
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

    /// Sets the handler of what programs say. Left alone, it goes to this process's standard output and error.
    pub fn on_event(&mut self, handler: impl FnMut(Event<'_>) + Send + 'static) {
        self.events.set_handler(handler);
    }

    /// Sets the sink of what programs say, in place of a handler. A sink is also told when nothing more comes for
    /// now, and of the progress of a frame. It can tell programs that a stream is closed. It is locked during runs: do not
    /// hold its lock while one begins.
    pub fn set_sink(&mut self, sink: Arc<Mutex<dyn Sink + Send>>) {
        self.events.set(sink);
    }

    /// Sets which debug messages are taken, and in which form.
    pub fn set_debug(&mut self, debug: DebugOptions) {
        self.debug = debug;
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

    /// Says whether runs from here on are the last ones. Then its end waits for no call of WASI, and files in device memory are
    /// not brought back.
    pub fn set_last_run(&mut self, last: bool) {
        self.last_run = last;
    }

    /// A handle that ends runs.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        self.interrupt.clone()
    }

    /// Ends runs by a handle that was made before the store.
    pub fn interrupt_by(&mut self, handle: &InterruptHandle) {
        self.interrupt = handle.clone();
    }

    /// Where the threads of the last run stood, if it was out of time or interrupted; else it is empty.
    pub fn stands(&self) -> &Stands {
        self.vm.stands()
    }

    /// Takes a sample of what each thread does about once in `period` of its time, in runs of modules that are instantiated
    /// from now on. Their results are the same. All of a module that is compiled is compiled before it runs, into code that
    /// looks at the time where functions are called.
    pub fn take_samples(&mut self, period: Duration) {
        self.vm.take_samples(period);
    }

    /// The samples of all runs so far.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn samples(&mut self) -> Result<Samples> {
        Ok(self.vm.samples()?)
    }

    /// Counts how often each basic block runs, in runs of modules that are instantiated from now on. Their results are the
    /// same. All of a module that is compiled is compiled before it runs, into code that counts.
    ///
    /// Has no effect once there is an instance, or something is counted.
    pub fn count_blocks(&mut self, what: Counted) {
        self.vm.count_blocks(what);
    }

    /// Looks at the heap of the first instance while it runs, now and then: see [`Instance::heap_profile`](crate::Instance).
    /// The store's limits must have [`HeapChecks::leaks`](gpu_run_vm::HeapChecks).
    pub fn watch_heap(&mut self) {
        self.vm.watch_heap();
    }

    /// The path of the last file that the program did not find because it has no directory.
    pub fn missed_path(&self) -> Option<String> {
        self.host.as_ref()?.wasi.as_ref()?.services.missed_path()
    }

    /// Sets the input of the runs, which `gpu_std::io::input` reads, in place of the one before.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_input(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.vm.bind_input(bytes)?)
    }

    /// Sets an output of at most `size` bytes for the runs, all 0, in place of the one before.
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

    /// Sets a frame of pixels for the runs, all 0, in place of the one before. With `progress`, [`Sink::progress`] is
    /// called during the runs.
    ///
    /// # Errors
    ///
    /// The device has no room for it.
    pub fn bind_frame(&mut self, size: FrameSize, progress: bool) -> Result<()> {
        Ok(self.vm.bind_frame(size, progress)?)
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
