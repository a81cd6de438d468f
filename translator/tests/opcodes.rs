//! The operations that rewriting emits are opcodes of the table, with the same types.

use gpu_run_bytecode::{Op, ValType};
use gpu_run_translator::gpu_signature;
use gpu_run_translator::rewrite::GPU_OPS;

fn val_type(ty: &wasmparser::ValType) -> ValType {
    match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        other => panic!("no opcode has a value of type {other}"),
    }
}

#[test]
fn rewriting_emits_opcodes_of_the_table() {
    for (name, params, results) in GPU_OPS {
        let info = Op::gpu_op(name).unwrap_or_else(|| panic!("no opcode is named {name}"));
        let signature = gpu_signature(info);
        assert_eq!(
            signature.params,
            params.iter().map(val_type).collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(
            signature.results,
            results.iter().map(val_type).collect::<Vec<_>>(),
            "{name}"
        );
    }
}
