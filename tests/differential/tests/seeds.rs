//! A few seconds of differential testing with fixed seeds, and the modules that once differed.

use std::path::Path;

use gpu_run_differential::case::{Call, Care};
use gpu_run_differential::compare::{Finding, Verdict, run, run_with_care};
use gpu_run_differential::engine::{Engine, engines};
use gpu_run_differential::shape::Shape;
use gpu_run_differential::{Case, Counts, Oracle, Source, mutate, proposals, targets};

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Engines keep frames of deep recursions on the stack.
fn with_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(test)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn engines_beside_wasmi(compiled: bool) -> Vec<Box<dyn Engine>> {
    engines(&[Oracle::Wasmi], &proposals::of(&[Oracle::Wasmi]), compiled)
}

fn check(source: Source, seeds: std::ops::Range<u64>, compiled: bool) -> Counts {
    let fixtures = mutate::load(&folder("../../fixtures/wasm")).expect("fixtures are checked in");
    let mut counts = Counts::default();
    let mut engines = engines_beside_wasmi(compiled);
    let proposals = proposals::of(&[Oracle::Wasmi]);
    for seed in seeds {
        let build = |care| Case::from_seed(seed, source, &proposals, &fixtures, care);
        let care = Care {
            nans: true,
            wasmi: true,
        };
        if let Finding::Bug(case, difference) = run_with_care(build, care, &mut engines, &mut counts) {
            let call = difference.call.and_then(|call| case.calls.get(call));
            panic!("seed {seed} of {source:?} differs {difference}\n{call:?}");
        }
    }
    counts
}

#[test]
fn smith() {
    with_stack(|| {
        let counts = check(Source::Smith, 0..400, false);
        assert!(counts.modules > 350, "{counts}");
        assert!(counts.calls > 1_000 && counts.returned > 500, "{counts}");
    });
}

#[test]
fn dense() {
    with_stack(|| {
        let counts = check(Source::Dense, 0..200, false);
        assert!(counts.modules > 190, "{counts}");
        assert!(counts.calls > 10_000 && counts.returned > 4_000, "{counts}");
    });
}

#[test]
fn fixtures() {
    with_stack(|| {
        let counts = check(Source::Fixtures, 0..200, false);
        assert!(counts.modules > 150, "{counts}");
        assert!(counts.calls > 4_000 && counts.returned > 500, "{counts}");
    });
}

/// Compiled code does the same, in the emulator.
#[test]
fn compiled() {
    with_stack(|| {
        for source in [Source::Smith, Source::Dense, Source::Fixtures] {
            let counts = check(source, 400..415, true);
            assert!(counts.modules > 10 && counts.calls > 20, "{source:?}: {counts}");
        }
    });
}

/// Modules that once differed, with their calls; without a file of calls, each function without
/// parameters is called.
#[test]
fn regressions() {
    with_stack(|| {
        let mut ran = 0;
        for entry in std::fs::read_dir(folder("regressions")).expect("the folder is checked in") {
            let path = entry.expect("readable").path();
            if !path
                .extension()
                .is_some_and(|extension| extension == "wat" || extension == "wasm")
            {
                continue;
            }
            let wasm = wat::parse_file(&path).expect("a module");
            let calls: Vec<Call> = match std::fs::read_to_string(path.with_extension("calls")) {
                Ok(text) => text.lines().map(|line| line.parse().expect("a call")).collect(),
                Err(_) => {
                    let funcs = Shape::of(&wasm).expect("a module").funcs;
                    let funcs = funcs.into_iter().filter(|(_, params)| params.is_empty());
                    funcs.map(|(name, _)| Call { name, args: vec![] }).collect()
                }
            };
            let mut counts = Counts::default();
            let called = calls.len() as u64;
            match run(
                &Case::replay(wasm, calls),
                &mut engines_beside_wasmi(false),
                &mut counts,
            ) {
                Verdict::Same => assert_eq!((counts.modules, counts.calls), (1, called), "{}", path.display()),
                other => panic!("{}: {other:?}", path.display()),
            }
            ran += 1;
        }
        assert!(ran > 0, "no module was run");
    });
}

/// Two modules that differ only in a constant: the comparison must see it.
#[test]
fn a_difference_is_seen() {
    struct Wrong(Box<dyn Engine>);
    impl Engine for Wrong {
        fn name(&self) -> &'static str {
            "wrong"
        }
        fn instantiate(
            &mut self,
            wasm: &[u8],
        ) -> Result<Box<dyn gpu_run_differential::engine::Instance>, gpu_run_differential::engine::Failure> {
            let mut wasm = wasm.to_vec();
            let at = wasm
                .windows(2)
                .rposition(|bytes| bytes == [0x41, 0x07])
                .expect("i32.const 7");
            wasm[at + 1] = 8;
            self.0.instantiate(&wasm)
        }
    }
    let texts = [
        "(module (func (export \"f\") (result i32) i32.const 7))",
        "(module (global (export \"g\") (mut i32) i32.const 0) (func (export \"f\") i32.const 7 global.set 0))",
        "(module (memory (export \"m\") 1) (func (export \"f\") i32.const 0 i32.const 7 i32.store8))",
        "(module (func (export \"f\") (result i32) i32.const 1 i32.const 7 i32.const 7 i32.sub i32.div_u))",
    ];
    for text in texts {
        let wasm = wat::parse_str(text).expect("a module");
        let call = Call {
            name: "f".into(),
            args: vec![],
        };
        let mut engines = engines_beside_wasmi(false);
        let wrong = Wrong(engines.pop().expect("an engine"));
        engines.push(Box::new(wrong));
        let verdict = run(&Case::replay(wasm, vec![call]), &mut engines, &mut Counts::default());
        assert!(matches!(verdict, Verdict::Different(_)), "{text}: {verdict:?}");
    }
}

/// The functions that fuzzers call, on sound inputs and on inputs with one changed byte.
#[test]
fn fuzz_targets() {
    with_stack(|| {
        let wasm = wat::parse_str("(module (memory 1) (func (export \"f\") (param i32) (result i32) local.get 0))");
        let wasm = wasm.expect("a module");
        let translation = gpu_run_translator::translate(&wasm, &Default::default()).expect("it is translated");
        let program = gpu_run_bytecode::encode(&translation.program);
        for at in 0..program.len() {
            let mut program = program.clone();
            program[at] ^= 1 << (at % 8);
            targets::container_repaired(&program);
            targets::container(&program);
        }
        for at in 0..wasm.len() {
            let mut wasm = wasm.clone();
            wasm[at] ^= 1 << (at % 8);
            targets::translate(&wasm);
        }
        targets::differential(&program);
    });
}
