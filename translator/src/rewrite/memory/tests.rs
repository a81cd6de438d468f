//! Mutants of the functions that wasi-libc and Rust have. Those that are taken for proven must do what C says for every
//! length and pair of alignments.

use wasmparser::Operator;

use super::*;

/// Longer than any block that those functions copy at once.
const LONGEST: u32 = 48;

/// Other instructions in the place of one.
fn mutants(op: &Operator<'_>) -> Vec<Operator<'static>> {
    use Operator::*;
    match op {
        I32Const { value } => vec![
            I32Const {
                value: value.wrapping_add(1),
            },
            I32Const {
                value: value.wrapping_sub(1),
            },
        ],
        I32Add => vec![I32Sub, I32Or],
        I32Sub => vec![I32Add],
        I32And => vec![I32Or],
        I32Or => vec![I32And, I32Xor],
        I32Shl => vec![I32ShrU],
        I32ShrU => vec![I32Shl, I32ShrS],
        I32Eqz => vec![Nop],
        I32LtU => vec![I32LeU, I32LtS],
        I32GtU => vec![I32GeU, I32GtS],
        I32Ne => vec![I32Eq, I32Sub],
        LocalGet { local_index } if *local_index > 0 => vec![LocalGet {
            local_index: local_index - 1,
        }],
        _ => Vec::new(),
    }
}

/// Whether a function does what C says, as far as can be tried.
fn is_right(module: &Module<'_>, func: usize, kind: Kind) -> Result<(), String> {
    let mut evaluator = Evaluator::new(module, func, None)?;
    for length in 0..=LONGEST {
        for at in 0..64 {
            let (first, second) = (PLACES[0] + at / 8, PLACES[0] + 0x800 + at % 8);
            match kind {
                Kind::Copy { .. } => copies_one(&mut evaluator, first, second, length)?,
                Kind::Compare => {
                    let differs = (length > 0).then(|| (at as u32 % length, at as u8, 0x80 + at as u8));
                    compares_one(&mut evaluator, (first, second, length), differs)?;
                    compares_one(&mut evaluator, (first, second, length), None)?;
                }
                Kind::Fill => unreachable!("it is tried with one address"),
            }
        }
        for at in 0..8 {
            if kind == (Kind::Copy { overlaps: true }) && length > 0 {
                for distance in 1..=u64::from(length) {
                    let (low, high) = (PLACES[0] + at, PLACES[0] + at + distance);
                    copies_one(&mut evaluator, low, high, length)?;
                    copies_one(&mut evaluator, high, low, length)?;
                }
            }
        }
    }
    Ok(())
}

/// Looks at every mutant of a function of a fixture; returns how many there are, and how many are taken for proven.
fn look(fixture: &str, name: &str) -> (usize, usize) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/wasm");
    let bytes = std::fs::read(path.join(fixture)).expect("a fixture");
    let mut module = Module::parse(&bytes).expect("a module");
    let names = Names::new(&module);
    let inner = format!("compiler_builtins::mem::{name}");
    let kind = kind(name).expect("one of C's functions");
    // Rust's forwards to another of the same name.
    let named = names.typed(&module, name, &[I32; 3], &[I32])[0];
    let func = names.get(&inner).first().copied().unwrap_or(named);
    assert!(
        matches!(judge(&module, named, kind), Verdict::Proven),
        "{name} of {fixture}"
    );
    let original = module.funcs[func].body.clone();
    let count = module.funcs[func].instrs().count();
    let (mut all, mut proven) = (0, 0);
    for at in 0..count {
        let ops: Vec<Operator<'static>> = {
            let instr = module.funcs[func].instrs().nth(at).expect("counted");
            mutants(&instr.op)
        };
        for op in ops {
            all += 1;
            module.funcs[func].edit().1[at].op = op.clone();
            if matches!(judge(&module, func, kind), Verdict::Proven) {
                proven += 1;
                let right = is_right(&module, func, kind);
                assert_eq!(right, Ok(()), "{name} of {fixture}, instruction {at} as {op:?}");
            }
            module.funcs[func].body = original.clone();
        }
    }
    (all, proven)
}

#[test]
fn mutants_of_real_functions() {
    for (fixture, name) in [
        ("wasi/c_files.wasm", "memcpy"),
        ("rustc-1.63/hello.wasm", "memcpy"),
        ("rustc-1.63/hello.wasm", "memmove"),
        ("wasi/c_files.wasm", "memcmp"),
        ("debug/collections.wasm", "memcmp"),
    ] {
        let (all, proven) = look(fixture, name);
        println!("{name} of {fixture}: {proven} of {all} mutants");
        assert!(
            all > 10 && proven * 3 < all,
            "{name} of {fixture}: {proven} of {all} mutants are proven"
        );
    }
}
