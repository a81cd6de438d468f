//! The oracle wasmi.

use wasmi::errors::{ErrorKind, InstantiationError, MemoryError, TableError};
use wasmi::{Config, ExternRef, F32, F64, Linker, Module, Nullable, Store, TrapCode, V128, Val, ValType};

use crate::engine::{Engine, Failure, Instance, Outcome, Trap, Value, hash};
use crate::proposals::Proposal;

pub(crate) struct Wasmi {
    config: Config,
}

impl Wasmi {
    pub(crate) fn new(proposals: &[Proposal]) -> Wasmi {
        let has = |proposal| proposals.contains(&proposal);
        let mut config = Config::default();
        config
            .wasm_sign_extension(has(Proposal::SignExtension))
            .wasm_saturating_float_to_int(has(Proposal::SaturatingFloatToInt))
            .wasm_multi_value(has(Proposal::MultiValue))
            .wasm_bulk_memory(has(Proposal::BulkMemory))
            .wasm_reference_types(has(Proposal::ReferenceTypes))
            .wasm_multi_memory(has(Proposal::MultiMemory))
            .wasm_extended_const(has(Proposal::ExtendedConst))
            .wasm_simd(has(Proposal::Simd))
            .wasm_relaxed_simd(has(Proposal::RelaxedSimd))
            .wasm_tail_call(has(Proposal::TailCall))
            .wasm_memory64(has(Proposal::Memory64))
            // Deeper than fuel allows.
            .set_max_recursion_depth(100_000)
            .set_max_stack_height(64 << 20);
        Wasmi { config }
    }
}

impl Engine for Wasmi {
    fn name(&self) -> &'static str {
        "wasmi"
    }

    fn instantiate(&mut self, wasm: &[u8]) -> Result<Box<dyn Instance>, Failure> {
        // An engine keeps the code of its modules, so each module has its own.
        let engine = wasmi::Engine::new(&self.config);
        let module = Module::new(&engine, wasm).map_err(|error| Failure::Unsupported(error.to_string()))?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine)
            .instantiate_and_start(&mut store, &module)
            .map_err(failure)?;
        Ok(Box::new(WasmiInstance { store, instance }))
    }
}

fn failure(error: wasmi::Error) -> Failure {
    if let Some(code) = error.as_trap_code() {
        return Failure::Trap(match code {
            TrapCode::UnreachableCodeReached => Trap::Unreachable,
            TrapCode::MemoryOutOfBounds => Trap::MemoryOutOfBounds,
            TrapCode::TableOutOfBounds => Trap::TableOutOfBounds,
            TrapCode::IndirectCallToNull => Trap::IndirectCallToNull,
            TrapCode::BadSignature => Trap::BadSignature,
            TrapCode::IntegerDivisionByZero => Trap::DivisionByZero,
            TrapCode::IntegerOverflow => Trap::IntegerOverflow,
            TrapCode::BadConversionToInteger => Trap::BadConversion,
            _ => return Failure::Limit(error.to_string()),
        });
    }
    match error.kind() {
        ErrorKind::Memory(MemoryError::OutOfBoundsAccess) => Failure::Trap(Trap::MemoryOutOfBounds),
        ErrorKind::Instantiation(InstantiationError::ElementSegmentDoesNotFit { .. })
        | ErrorKind::Table(
            TableError::InitOutOfBounds
            | TableError::CopyOutOfBounds
            | TableError::FillOutOfBounds
            | TableError::SetOutOfBounds,
        ) => Failure::Trap(Trap::TableOutOfBounds),
        _ => Failure::Limit(error.to_string()),
    }
}

struct WasmiInstance {
    store: Store<()>,
    instance: wasmi::Instance,
}

impl WasmiInstance {
    fn make(&mut self, value: Value) -> Val {
        match value {
            Value::I32(value) => Val::I32(value),
            Value::I64(value) => Val::I64(value),
            Value::F32(bits) => Val::F32(F32::from_bits(bits)),
            Value::F64(bits) => Val::F64(F64::from_bits(bits)),
            Value::V128(bits) => Val::V128(V128::from(bits)),
            Value::FuncRef(_) => Val::FuncRef(Nullable::Null),
            Value::ExnRef(_) => unreachable!("a module with exceptions, which wasmi does not take"),
            Value::ExternRef(None) => Val::ExternRef(Nullable::Null),
            Value::ExternRef(Some(number)) => Val::ExternRef(ExternRef::new(&mut self.store, number).into()),
        }
    }

    fn to_value(&self, value: &Val) -> Value {
        match value {
            Val::I32(value) => Value::I32(*value),
            Val::I64(value) => Value::I64(*value),
            Val::F32(value) => Value::f32(value.to_bits()),
            Val::F64(value) => Value::f64(value.to_bits()),
            Val::V128(value) => Value::V128(value.as_u128()),
            Val::FuncRef(func) => Value::FuncRef(!func.is_null()),
            Val::ExternRef(reference) => {
                let number = reference.val().map(|reference| reference.data(&self.store));
                Value::ExternRef(number.and_then(|data| data.downcast_ref().copied()))
            }
        }
    }
}

impl Instance for WasmiInstance {
    fn call(&mut self, name: &str, args: &[Value]) -> Outcome {
        let Some(func) = self.instance.get_func(&self.store, name) else {
            return Err(Failure::Broken(format!("no function `{name}`")));
        };
        let args: Vec<Val> = args.iter().map(|arg| self.make(*arg)).collect();
        let ty = func.ty(&self.store);
        let mut results: Vec<Val> = ty.results().iter().map(|ty| zero(*ty)).collect();
        func.call(&mut self.store, &args, &mut results).map_err(failure)?;
        Ok(results.iter().map(|value| self.to_value(value)).collect())
    }

    fn global(&mut self, name: &str) -> Value {
        let global = self.instance.get_global(&self.store, name).expect("an exported global");
        self.to_value(&global.get(&self.store))
    }

    fn set_global(&mut self, name: &str, value: i32) {
        let global = self.instance.get_global(&self.store, name).expect("an exported global");
        global
            .set(&mut self.store, Val::I32(value))
            .expect("a mutable global of type i32");
    }

    fn memory_hash(&mut self, name: &str) -> u64 {
        let memory = self.instance.get_memory(&self.store, name).expect("an exported memory");
        hash(memory.data(&self.store))
    }
}

fn zero(ty: ValType) -> Val {
    match ty {
        ValType::I32 => Val::I32(0),
        ValType::I64 => Val::I64(0),
        ValType::F32 => Val::F32(F32::from_bits(0)),
        ValType::F64 => Val::F64(F64::from_bits(0)),
        ValType::V128 => Val::V128(V128::from(0)),
        ValType::FuncRef => Val::FuncRef(Nullable::Null),
        ValType::ExternRef => Val::ExternRef(Nullable::Null),
    }
}
