//! Values of WebAssembly, and Rust's types for them.

use gpu_run_bytecode::ValType;
use gpu_run_vm::Value;

use super::func::Func;
use super::store::StoreId;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Val {
    /// An i32.
    I32(i32),
    /// An i64.
    I64(i64),
    /// The bits of an f32.
    F32(u32),
    /// The bits of an f64.
    F64(u64),
    /// The bits of a v128.
    V128(u128),
    /// A function, or null.
    FuncRef(Option<Func>),
    /// A number of the host's, or null.
    ExternRef(Option<u32>),
    /// A reference to an exception, or null. A result may be one; arguments and globals are null, since exceptions stay in
    /// the program.
    ExnRef(Option<u32>),
}

impl Val {
    /// The value's type.
    pub fn ty(&self) -> ValType {
        match self {
            Val::I32(_) => ValType::I32,
            Val::I64(_) => ValType::I64,
            Val::F32(_) => ValType::F32,
            Val::F64(_) => ValType::F64,
            Val::V128(_) => ValType::V128,
            Val::FuncRef(_) => ValType::FuncRef,
            Val::ExternRef(_) => ValType::ExternRef,
            Val::ExnRef(_) => ValType::ExnRef,
        }
    }

    /// The value as the store has it. `None` for a function of another one.
    pub(super) fn lower(self, store: StoreId) -> Option<Value> {
        Some(match self {
            Val::I32(value) => Value::I32(value),
            Val::I64(value) => Value::I64(value),
            Val::F32(bits) => Value::F32(bits),
            Val::F64(bits) => Value::F64(bits),
            Val::V128(bits) => Value::V128(bits),
            Val::FuncRef(None) => Value::FuncRef(None),
            Val::FuncRef(Some(func)) => Value::FuncRef(Some(func.0.in_store(store).ok()?)),
            Val::ExternRef(number) => Value::ExternRef(number),
            Val::ExnRef(number) => Value::ExnRef(number),
        })
    }

    pub(super) fn lift(value: Value, store: StoreId) -> Val {
        match value {
            Value::I32(value) => Val::I32(value),
            Value::I64(value) => Val::I64(value),
            Value::F32(bits) => Val::F32(bits),
            Value::F64(bits) => Val::F64(bits),
            Value::V128(bits) => Val::V128(bits),
            Value::FuncRef(func) => Val::FuncRef(func.map(|index| Func(store.handle(index)))),
            Value::ExternRef(number) => Val::ExternRef(number),
            Value::ExnRef(number) => Val::ExnRef(number),
        }
    }

    /// Its bits, if it is no reference.
    pub(super) fn bits(&self) -> u128 {
        match *self {
            Val::I32(value) => u128::from(value as u32),
            Val::I64(value) => u128::from(value as u64),
            Val::F32(bits) => u128::from(bits),
            Val::F64(bits) => u128::from(bits),
            Val::V128(bits) => bits,
            _ => 0,
        }
    }

    /// The value of that type, which is none of references, with these bits.
    pub(super) fn from_bits(ty: ValType, bits: u128) -> Val {
        match ty {
            ValType::I32 => Val::I32(bits as i32),
            ValType::F32 => Val::F32(bits as u32),
            ValType::F64 => Val::F64(bits as u64),
            ValType::V128 => Val::V128(bits),
            _ => Val::I64(bits as i64),
        }
    }
}

impl std::fmt::Display for Val {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Val::I32(value) => write!(f, "{value}"),
            Val::I64(value) => write!(f, "{value}"),
            Val::F32(bits) => write!(f, "{}", f32::from_bits(*bits)),
            Val::F64(bits) => write!(f, "{}", f64::from_bits(*bits)),
            Val::V128(bits) => write!(f, "{bits:#034x}"),
            Val::FuncRef(Some(func)) => write!(f, "func {}", func.0.index()),
            Val::ExternRef(Some(number)) => write!(f, "extern {number}"),
            Val::ExnRef(Some(number)) => write!(f, "exception {number}"),
            Val::FuncRef(None) | Val::ExternRef(None) | Val::ExnRef(None) => write!(f, "null"),
        }
    }
}

/// A type of Rust for a type of WebAssembly: `i32`, `u32`, `i64`, `u64`, `f32`, `f64`; `u128` for the bits of a v128.
pub trait WasmTy: Copy + sealed::Sealed + Send + 'static {
    /// The type of WebAssembly.
    const TYPE: ValType;
    /// Converts to a value.
    fn to_val(self) -> Val;
    /// Converts a value of that type.
    fn from_val(val: Val) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! wasm_ty {
    ($($rust:ty = $variant:ident, $to:expr, $from:expr;)*) => {$(
        impl sealed::Sealed for $rust {}
        impl WasmTy for $rust {
            const TYPE: ValType = ValType::$variant;
            fn to_val(self) -> Val {
                let to: fn($rust) -> _ = $to;
                Val::$variant(to(self))
            }
            fn from_val(val: Val) -> $rust {
                let from: fn(u128) -> $rust = $from;
                from(val.bits())
            }
        }
    )*};
}

wasm_ty! {
    i32 = I32, |value| value, |bits| bits as i32;
    u32 = I32, |value| value as i32, |bits| bits as u32;
    i64 = I64, |value| value, |bits| bits as i64;
    u64 = I64, |value| value as i64, |bits| bits as u64;
    u128 = V128, |bits| bits, |bits| bits;
    f32 = F32, f32::to_bits, |bits| f32::from_bits(bits as u32);
    f64 = F64, f64::to_bits, |bits| f64::from_bits(bits as u64);
}

/// Values side by side: one [`WasmTy`], or a tuple of at most eight. The parameters of a function, or its results.
pub trait WasmValues: sealed::Sealed + Sized {
    /// The types, in order.
    fn types() -> Vec<ValType>;
    /// Converts to values.
    fn to_vals(self) -> Vec<Val>;
    /// Converts values of these types.
    fn from_vals(vals: &[Val]) -> Self;
}

macro_rules! wasm_values {
    ($($name:ident)*) => {
        impl<$($name: WasmTy),*> sealed::Sealed for ($($name,)*) {}
        #[allow(non_snake_case, unused_mut, unused_variables, clippy::unused_unit)]
        impl<$($name: WasmTy),*> WasmValues for ($($name,)*) {
            fn types() -> Vec<ValType> {
                vec![$($name::TYPE),*]
            }
            fn to_vals(self) -> Vec<Val> {
                let ($($name,)*) = self;
                vec![$($name.to_val()),*]
            }
            fn from_vals(vals: &[Val]) -> Self {
                let mut vals = vals.iter();
                ($($name::from_val(*vals.next().expect("a value of each type")),)*)
            }
        }
    };
}

wasm_values! {}
wasm_values! { A }
wasm_values! { A B }
wasm_values! { A B C }
wasm_values! { A B C D }
wasm_values! { A B C D E }
wasm_values! { A B C D E F }
wasm_values! { A B C D E F G }
wasm_values! { A B C D E F G H }

impl<V: WasmTy> WasmValues for V {
    fn types() -> Vec<ValType> {
        vec![V::TYPE]
    }
    fn to_vals(self) -> Vec<Val> {
        vec![self.to_val()]
    }
    fn from_vals(vals: &[Val]) -> V {
        V::from_val(vals[0])
    }
}
