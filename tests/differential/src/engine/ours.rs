//! gpu-run: its CPU engine, and its compiled code in the emulator of PTX.

use std::ffi::c_void;
use std::sync::Arc;

use gpu_run_bytecode::{ExternKind, Program, TrapKind};
use gpu_run_ptx_emulator::Emulator;
use gpu_run_translator::inline::InlineOptions;
use gpu_run_translator::{Error, LowerErrorKind, Options, ParseError, translate};
use gpu_run_vm::cuda::code::{self, Code, CompileRequest, Surroundings};
use gpu_run_vm::ptx::{LocalFrames, Reconverge, Tuning};
use gpu_run_vm::{
    Cpu, Device, DeviceResult, End, Extern, FRAME_MEMORY, InstanceId, Limits, Pinned, Plan, RunOptions, Store,
    StoreError, Stream, Value as VmValue,
};

use crate::engine::{Engine, Failure, Instance, Outcome, Trap, Value, hash};

/// The translator without rewriting, and the CPU engine.
pub(crate) struct Ours {
    pub(crate) inline: bool,
}

/// The translator with everything, and the code that kernels of many threads get: frames in local memory, lanes that meet, and
/// functions in regions. One lane runs it in the emulator.
pub(crate) struct Compiled;

/// How code is compiled.
const TUNING: Tuning = Tuning {
    local_frames: LocalFrames::Always,
    reconverge: Reconverge::Always,
    line_info: false,
    region_words: Some(60),
};
const THREADS: u32 = 64;

/// Limits that generated modules rarely reach. The arena is touched only as far as it is used.
const LIMITS: Limits = Limits {
    memory: None,
    undeclared_memory: gpu_run_vm::DEFAULT_MEMORY,
    table: 100_000,
    call_depth: 100_000,
    register_arena: 64 << 20,
    heap: gpu_run_vm::HeapChecks::NONE,
};

impl Engine for Ours {
    fn name(&self) -> &'static str {
        match self.inline {
            true => "gpu-run",
            false => "gpu-run without inlining",
        }
    }

    fn instantiate(&mut self, wasm: &[u8]) -> Result<Box<dyn Instance>, Failure> {
        let options = Options {
            inline: self.inline.then(InlineOptions::default),
            ..Options::default()
        };
        let translation = translate(wasm, &options).map_err(translation_failure)?;
        let device = Box::new(CallingThread(Cpu::new()));
        OurInstance::boxed(device, translation.program, |_, _| Ok(None))
    }
}

impl Engine for Compiled {
    fn name(&self) -> &'static str {
        "gpu-run, compiled"
    }

    fn instantiate(&mut self, wasm: &[u8]) -> Result<Box<dyn Instance>, Failure> {
        let translation = translate(wasm, &Options::full()).map_err(translation_failure)?;
        OurInstance::boxed(Box::new(Emulator::new()), translation.program, |store, program| {
            let exports = program.meta.exports.iter();
            let functions = exports.filter(|export| export.kind == ExternKind::Func);
            let around = Surroundings {
                known_code: true,
                frame_memory: FRAME_MEMORY,
                // Half of the modules are as on a device that does not.
                aligns_memories: store.aligns_memories() && wasm.len().is_multiple_of(2),
                ..Surroundings::default()
            };
            let request = CompileRequest {
                program: program.clone(),
                prefix: "i0_".into(),
                code_start: store.next_code_start(),
                entries: functions.map(|export| export.index).collect(),
                cold: Default::default(),
                options: code::options(program, THREADS, LIMITS.call_depth, TUNING, around),
                target: store.target().expect("the emulator takes compiled code"),
                progress: Default::default(),
            };
            let code = request
                .build(None)
                .map_err(|error| Failure::Broken(error.to_string()))?;
            Ok(Some(code))
        })
    }
}

fn no_output(_: Stream, _: u32, _: &[u8]) {}

fn translation_failure(error: Error) -> Failure {
    match &error {
        Error::Lower(lower) => match &lower.kind {
            LowerErrorKind::Unsupported { .. } => Failure::Unsupported(error.to_string()),
            // Code that needs more of something than the bytecode can say.
            LowerErrorKind::TooLarge | LowerErrorKind::TooManyRegisters { .. } => Failure::Limit(error.to_string()),
            _ => Failure::Broken(error.to_string()),
        },
        Error::Parse(ParseError::UnsupportedProposal { .. }) => Failure::Unsupported(error.to_string()),
        _ => Failure::Broken(error.to_string()),
    }
}

fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Trap(fault) => trap(fault.kind),
        StoreError::MemoryTooLarge { .. } | StoreError::TableTooLarge { .. } => Failure::Limit(error.to_string()),
        error => Failure::Broken(error.to_string()),
    }
}

fn trap(kind: TrapKind) -> Failure {
    Failure::Trap(match kind {
        TrapKind::Unreachable => Trap::Unreachable,
        TrapKind::MemoryOutOfBounds => Trap::MemoryOutOfBounds,
        TrapKind::TableOutOfBounds | TrapKind::UndefinedElement => Trap::TableOutOfBounds,
        TrapKind::UninitializedElement => Trap::IndirectCallToNull,
        TrapKind::IndirectCallTypeMismatch => Trap::BadSignature,
        TrapKind::IntegerDivideByZero => Trap::DivisionByZero,
        TrapKind::IntegerOverflow => Trap::IntegerOverflow,
        TrapKind::InvalidConversion => Trap::BadConversion,
        TrapKind::UnalignedAtomic => Trap::UnalignedAtomic,
        TrapKind::NotShared => Trap::NotShared,
        TrapKind::UnhandledException => Trap::UncaughtException,
        TrapKind::NullExceptionReference => Trap::NullReference,
        TrapKind::StackOverflow | TrapKind::OutOfRegisterMemory | TrapKind::TooManyExceptions => {
            return Failure::Limit(kind.text().into());
        }
        kind => return Failure::Broken(format!("trap: {}", kind.text())),
    })
}

struct OurInstance {
    store: Store,
    instance: InstanceId,
}

impl OurInstance {
    /// Instantiates a program on a device, with what `compile` makes of it.
    fn boxed(
        device: Box<dyn Device>,
        program: Program,
        compile: impl FnOnce(&Store, &Arc<Program>) -> Result<Option<Code>, Failure>,
    ) -> Result<Box<dyn Instance>, Failure> {
        let mut store = Store::new(device, LIMITS).map_err(|error| Failure::Broken(error.to_string()))?;
        let program = Arc::new(program);
        let code = compile(&store, &program)?;
        let options = RunOptions::default();
        let instance = store
            .instantiate_compiled(program, code.as_ref(), |_, _| None, &options, &mut no_output)
            .map_err(store_failure)?;
        Ok(Box::new(OurInstance { store, instance }))
    }

    fn global_index(&self, name: &str) -> u32 {
        match self.store.export(self.instance, name) {
            Some(Extern::Global(index)) => index,
            other => panic!("no global `{name}`, but {other:?}"),
        }
    }
}

impl Instance for OurInstance {
    fn call(&mut self, name: &str, args: &[Value]) -> Outcome {
        let Some(Extern::Func(func)) = self.store.export(self.instance, name) else {
            return Err(Failure::Broken(format!("no function `{name}`")));
        };
        let args: Vec<VmValue> = args.iter().map(|arg| to_vm(*arg)).collect();
        let outcome = self
            .store
            .run(func, &args, &RunOptions::default(), &mut no_output)
            .map_err(store_failure)?;
        match outcome.end {
            End::Returned => {
                let results = outcome.results.into_iter().next().unwrap_or_default();
                Ok(results.into_iter().map(from_vm).collect())
            }
            End::Trapped(fault) => Err(trap(fault.kind)),
            end => Err(Failure::Broken(format!("ended unexpectedly: {end:?}"))),
        }
    }

    fn global(&mut self, name: &str) -> Value {
        let index = self.global_index(name);
        from_vm(self.store.global(index).expect("reading memory of this process"))
    }

    fn set_global(&mut self, name: &str, value: i32) {
        let index = self.global_index(name);
        self.store
            .set_global(index, VmValue::I32(value))
            .expect("writing memory of this process");
    }

    fn memory_hash(&mut self, name: &str) -> u64 {
        match self.store.export(self.instance, name) {
            Some(Extern::Memory(index)) => hash(&self.store.memory(index).expect("reading memory of this process")),
            other => panic!("no memory `{name}`, but {other:?}"),
        }
    }
}

fn to_vm(value: Value) -> VmValue {
    match value {
        Value::I32(value) => VmValue::I32(value),
        Value::I64(value) => VmValue::I64(value),
        Value::F32(bits) => VmValue::F32(bits),
        Value::F64(bits) => VmValue::F64(bits),
        Value::V128(bits) => VmValue::V128(bits),
        // Calls pass null only: functions and exceptions have no name that engines share.
        Value::FuncRef(_) => VmValue::FuncRef(None),
        Value::ExnRef(_) => VmValue::ExnRef(None),
        Value::ExternRef(number) => VmValue::ExternRef(number),
    }
}

fn from_vm(value: VmValue) -> Value {
    match value {
        VmValue::I32(value) => Value::I32(value),
        VmValue::I64(value) => Value::I64(value),
        VmValue::F32(bits) => Value::f32(bits),
        VmValue::F64(bits) => Value::f64(bits),
        VmValue::V128(bits) => Value::V128(bits),
        VmValue::FuncRef(index) => Value::FuncRef(index.is_some()),
        VmValue::ExnRef(index) => Value::ExnRef(index.is_some()),
        VmValue::ExternRef(number) => Value::ExternRef(number),
    }
}

unsafe extern "C" {
    /// Runs one lane of a launch. Of `vm/kernel/kernel.cpp`.
    fn gpu_run_interpret(launch: *mut c_void, lane: u32);
}

/// The CPU, with its one lane on the calling thread. A call of a generated function takes less time
/// than the start of the OS thread on which [`Cpu`] would run it. Output must be small and programs
/// must end: no thread empties the ring or looks at the clock while the lane runs.
pub(crate) struct CallingThread(pub(crate) Cpu);

impl Device for CallingThread {
    fn name(&self) -> String {
        "the calling thread".into()
    }

    fn free_memory(&self) -> u64 {
        1 << 30
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<u64> {
        self.0.allocate(bytes, what)
    }

    fn allocates_while_running(&self) -> bool {
        self.0.allocates_while_running()
    }

    unsafe fn release(&mut self, ptr: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.0.release(ptr) }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        self.0.allocate_pinned(bytes)
    }

    unsafe fn write(&mut self, to: u64, bytes: &[u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.write(to, bytes) }
    }

    unsafe fn read(&mut self, from: u64, bytes: &mut [u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.read(from, bytes) }
    }

    unsafe fn clear(&mut self, at: u64, bytes: u64) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.0.clear(at, bytes) }
    }

    fn plan(&self, _threads: u32, _frame: u32) -> Plan {
        Plan {
            lanes: 1,
            lanes_per_block: 1,
            shared_units: 0,
            counter_bytes: 0,
            lane_segment_units: 65536,
            slice: 100_000,
        }
    }

    unsafe fn start(&mut self, launch: u64, plan: Plan) -> DeviceResult<()> {
        for lane in 0..plan.lanes {
            // SAFETY: the caller promises a complete launch of verified programs.
            unsafe { gpu_run_interpret(launch as *mut c_void, lane) };
        }
        Ok(())
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        Ok(true)
    }
}
