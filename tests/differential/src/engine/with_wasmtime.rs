//! The oracle wasmtime.

use wasmtime::{Config, ExternRef, Linker, Module, Store, V128, Val};

use crate::engine::{Engine, Failure, Instance, Outcome, Trap, Value, hash};
use crate::proposals::Proposal;

pub(crate) struct Wasmtime {
    engine: Result<wasmtime::Engine, String>,
}

impl Wasmtime {
    pub(crate) fn new(proposals: &[Proposal]) -> Wasmtime {
        let has = |proposal| proposals.contains(&proposal);
        let mut config = Config::new();
        // What is part of WebAssembly 2.0 is on in any case.
        config
            .wasm_multi_memory(has(Proposal::MultiMemory))
            .wasm_extended_const(has(Proposal::ExtendedConst))
            .wasm_simd(has(Proposal::Simd))
            .wasm_relaxed_simd(has(Proposal::RelaxedSimd))
            .relaxed_simd_deterministic(has(Proposal::RelaxedSimd))
            .wasm_tail_call(has(Proposal::TailCall))
            .wasm_memory64(has(Proposal::Memory64))
            .wasm_threads(has(Proposal::Threads))
            .shared_memory(has(Proposal::Threads))
            .wasm_exceptions(has(Proposal::Exceptions))
            .wasm_backtrace_max_frames(None)
            .max_wasm_stack(1 << 20);
        Wasmtime {
            engine: wasmtime::Engine::new(&config).map_err(|error| error.to_string()),
        }
    }
}

impl Engine for Wasmtime {
    fn name(&self) -> &'static str {
        "wasmtime"
    }

    fn instantiate(&mut self, wasm: &[u8]) -> Result<Box<dyn Instance>, Failure> {
        let engine = self.engine.as_ref().map_err(|error| Failure::Limit(error.clone()))?;
        let module = Module::new(engine, wasm).map_err(|error| Failure::Unsupported(format!("{error:#}")))?;
        let mut store = Store::new(engine, ());
        let instance = Linker::new(engine).instantiate(&mut store, &module).map_err(failure)?;
        Ok(Box::new(WasmtimeInstance { store, instance }))
    }
}

fn failure(error: wasmtime::Error) -> Failure {
    use wasmtime::Trap as Code;
    if error.is::<wasmtime::ThrownException>() {
        return Failure::Trap(Trap::UncaughtException);
    }
    let Some(code) = error.downcast_ref::<Code>() else {
        return Failure::Limit(format!("{error:#}"));
    };
    Failure::Trap(match code {
        Code::UnreachableCodeReached => Trap::Unreachable,
        Code::MemoryOutOfBounds => Trap::MemoryOutOfBounds,
        Code::TableOutOfBounds => Trap::TableOutOfBounds,
        Code::IndirectCallToNull => Trap::IndirectCallToNull,
        Code::BadSignature => Trap::BadSignature,
        Code::IntegerDivisionByZero => Trap::DivisionByZero,
        Code::IntegerOverflow => Trap::IntegerOverflow,
        Code::BadConversionToInteger => Trap::BadConversion,
        Code::HeapMisaligned => Trap::UnalignedAtomic,
        Code::AtomicWaitNonSharedMemory => Trap::NotShared,
        Code::NullReference => Trap::NullReference,
        code => return Failure::Limit(code.to_string()),
    })
}

struct WasmtimeInstance {
    store: Store<()>,
    instance: wasmtime::Instance,
}

impl WasmtimeInstance {
    fn make(&mut self, value: Value) -> Result<Val, Failure> {
        Ok(match value {
            Value::I32(value) => Val::I32(value),
            Value::I64(value) => Val::I64(value),
            Value::F32(bits) => Val::F32(bits),
            Value::F64(bits) => Val::F64(bits),
            Value::V128(bits) => Val::V128(V128::from(bits)),
            Value::FuncRef(_) => Val::FuncRef(None),
            Value::ExnRef(_) => Val::ExnRef(None),
            Value::ExternRef(None) => Val::ExternRef(None),
            Value::ExternRef(Some(number)) => {
                let reference = ExternRef::new(&mut self.store, number);
                Val::ExternRef(Some(reference.map_err(|error| Failure::Limit(error.to_string()))?))
            }
        })
    }

    fn to_value(&self, value: &Val) -> Value {
        match value {
            Val::I32(value) => Value::I32(*value),
            Val::I64(value) => Value::I64(*value),
            Val::F32(bits) => Value::f32(*bits),
            Val::F64(bits) => Value::f64(*bits),
            Val::V128(value) => Value::V128(value.as_u128()),
            Val::FuncRef(func) => Value::FuncRef(func.is_some()),
            Val::ExnRef(exception) => Value::ExnRef(exception.is_some()),
            Val::ExternRef(reference) => {
                let data = reference
                    .as_ref()
                    .and_then(|reference| reference.data(&self.store).ok());
                Value::ExternRef(data.flatten().and_then(|data| data.downcast_ref().copied()))
            }
            // Of proposals that no module uses.
            other => panic!("a value of type {:?}", other.ty(&self.store)),
        }
    }
}

impl Instance for WasmtimeInstance {
    fn call(&mut self, name: &str, args: &[Value]) -> Outcome {
        let Some(func) = self.instance.get_func(&mut self.store, name) else {
            return Err(Failure::Broken(format!("no function `{name}`")));
        };
        let args = args.iter().map(|arg| self.make(*arg)).collect::<Result<Vec<_>, _>>()?;
        let mut results = vec![Val::I32(0); func.ty(&self.store).results().len()];
        func.call(&mut self.store, &args, &mut results).map_err(failure)?;
        Ok(results.iter().map(|value| self.to_value(value)).collect())
    }

    fn global(&mut self, name: &str) -> Value {
        let global = self
            .instance
            .get_global(&mut self.store, name)
            .expect("an exported global");
        let value = global.get(&mut self.store);
        self.to_value(&value)
    }

    fn set_global(&mut self, name: &str, value: i32) {
        let global = self
            .instance
            .get_global(&mut self.store, name)
            .expect("an exported global");
        global
            .set(&mut self.store, Val::I32(value))
            .expect("a mutable global of type i32");
    }

    fn memory_hash(&mut self, name: &str) -> u64 {
        if let Some(memory) = self.instance.get_memory(&mut self.store, name) {
            return hash(memory.data(&self.store));
        }
        let memory = self
            .instance
            .get_shared_memory(&mut self.store, name)
            .expect("an exported memory");
        // SAFETY: no other thread has the memory, so none writes to it.
        let bytes = unsafe { &*(memory.data() as *const [std::cell::UnsafeCell<u8>] as *const [u8]) };
        hash(bytes)
    }
}
