//! The table's derived views agree with it.

use std::path::Path;

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::isa::{Operand, TABLE};
use gpu_run_bytecode::{Op, generate};
use proptest::prelude::*;

/// A stale generated file would give the kernel another instruction set than the translator.
#[test]
fn generated_files_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (path, text) in generate::files() {
        let found = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(
            found == text,
            "{path} is stale: run `cargo run -p gpu-run-bytecode --bin isa-gen`"
        );
    }
}

fn inst() -> impl Strategy<Value = Inst> {
    (0..TABLE.len(), prop::array::uniform6(any::<i64>())).prop_map(|(row, raw)| {
        let info = &TABLE[row];
        let args: Vec<i64> = info
            .operands
            .iter()
            .zip(raw)
            .map(|(operand, raw)| match operand {
                Operand::Zero => 0,
                Operand::TableLen => raw & 7,
                Operand::Imm16 | Operand::Rel16 => raw as i16 as i64,
                Operand::ImmS32 | Operand::Rel32 | Operand::Callee => raw as i32 as i64,
                operand => match operand.slots() {
                    1 => raw as u16 as i64,
                    2 => raw as u32 as i64,
                    _ => raw,
                },
            })
            .collect();
        Inst::new(info.op, &args)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn decoding_returns_what_was_encoded(inst in inst()) {
        let mut code = Vec::new();
        inst.encode(&mut code);
        code.resize(inst.words(), 0);
        prop_assert_eq!(Inst::decode(&code), Ok(inst));
    }

    #[test]
    fn decoding_any_words_never_panics(words in prop::collection::vec(any::<u64>(), 1..4)) {
        _ = Inst::decode(&words);
    }
}

#[test]
fn every_number_finds_its_row() {
    for info in TABLE {
        assert_eq!(Op::from_number(info.op as u16), Some(info.op));
        assert_eq!(info.op.info().name, info.name);
    }
}
