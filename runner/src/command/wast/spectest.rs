//! The module `spectest` that scripts import from.

use std::collections::HashMap;

use gpu_run_bytecode::{GlobalType, Limits as TypeLimits, MemoryType, TableType, ValType};
use gpu_run_vm::{Extern, Store, StoreError, Value};

/// The imports that scripts expect of module `spectest`: those of the reference interpreter, and `shared_memory`, which
/// that of the threads proposal has.
pub fn spectest(store: &mut Store) -> Result<HashMap<&'static str, Extern>, StoreError> {
    use ValType::{F32, F64, I32, I64};
    let mut exports = HashMap::new();
    let prints: [(&str, &[ValType]); 7] = [
        ("print", &[]),
        ("print_i32", &[I32]),
        ("print_i64", &[I64]),
        ("print_f32", &[F32]),
        ("print_f64", &[F64]),
        ("print_i32_f32", &[I32, F32]),
        ("print_f64_f64", &[F64, F64]),
    ];
    for (name, params) in prints {
        exports.insert(name, store.add_no_op(params)?);
    }
    let globals = [
        ("global_i32", Value::I32(666)),
        ("global_i64", Value::I64(666)),
        ("global_f32", Value::F32(666.6f32.to_bits())),
        ("global_f64", Value::F64(666.6f64.to_bits())),
    ];
    for (name, value) in globals {
        exports.insert(
            name,
            store.add_global(
                GlobalType {
                    ty: value.ty(),
                    mutable: false,
                },
                value,
            )?,
        );
    }
    let limits = |min, max| TypeLimits { min, max: Some(max) };
    for (name, wide) in [("table", false), ("table64", true)] {
        let ty = TableType {
            element: ValType::FuncRef,
            limits: limits(10, 20),
            wide,
        };
        exports.insert(name, store.add_table(ty)?);
    }
    exports.insert(
        "memory",
        store.add_memory(MemoryType {
            limits: limits(1, 2),
            shared: false,
            wide: false,
        })?,
    );
    exports.insert(
        "shared_memory",
        store.add_memory(MemoryType {
            limits: limits(1, 2),
            shared: true,
            wide: false,
        })?,
    );
    Ok(exports)
}
