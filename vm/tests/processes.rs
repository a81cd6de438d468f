//! Batches: each process begins alike, has what is its own, and ends alone.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gpu_run_vm::{
    BatchCounts, BatchOptions, Cpu, End, Extern, Limits, NextInput, ProcessInput, ProcessOutcome, RunOptions, Services,
    Store, StoreError, WasiBuilder,
};

/// A store with an instance of a module, and the number of its function `_start`.
fn instance(wat: &str) -> (Store, u32) {
    let wasm = wat::parse_str(wat).expect("the module is valid");
    let options = gpu_run_translator::Options {
        rewrite: None,
        ..gpu_run_translator::Options::full()
    };
    let program = gpu_run_translator::translate(&wasm, &options).expect("it is translated");
    let mut store = Store::new(Box::new(Cpu::new()), Limits::default()).expect("a store");
    let mut sink = |_, _, _: &[u8]| {};
    let id = store
        .instantiate(
            Arc::new(program.program),
            |_, _| None,
            &RunOptions::default(),
            &mut sink,
        )
        .expect("an instance");
    match store.export(id, "_start") {
        Some(Extern::Func(func)) => (store, func),
        _ => panic!("no _start"),
    }
}

fn options() -> BatchOptions {
    BatchOptions {
        programs: Vec::new(),
        expected: None,
        shares_inputs: false,
        jobs: None,
        memory: None,
        process_timeout: None,
        interrupt: None,
        slowest: 0,
        seed: Some(7),
        services: Arc::new(|_, _, _| Arc::new(WasiBuilder::new().build()) as Arc<dyn Services>),
    }
}

fn input(args: &[&str], stdin: &[u8]) -> ProcessInput {
    ProcessInput {
        args: args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
        variables: Vec::new(),
        stdin: stdin.into(),
        files: Default::default(),
    }
}

/// Runs a batch, and returns what came of each process in the order of their numbers.
fn batch(
    store: &mut Store,
    func: u32,
    options: &BatchOptions,
    inputs: Vec<ProcessInput>,
) -> Result<(Vec<ProcessOutcome>, BatchCounts), StoreError> {
    let mut inputs = inputs.into_iter();
    let mut outcomes = Vec::new();
    let counts = store.run_batch(
        func,
        options,
        &mut |_| inputs.next().map_or(NextInput::Over, NextInput::Ready),
        &mut |outcome| {
            outcomes.push(outcome);
            ControlFlow::Continue(())
        },
    )?;
    outcomes.sort_by_key(|outcome| outcome.number);
    Ok((outcomes, counts))
}

/// What follows WASI's functions in the modules here: `$read` takes stdin to address 1024, `$write` writes from there.
const WASI: &str = r#"
    (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (func $read (param $most i32) (result i32)
        (i32.store (i32.const 0) (i32.const 1024))
        (i32.store (i32.const 4) (local.get $most))
        (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (i32.load (i32.const 8)))
    (func $write (param $fd i32) (param $len i32)
        (i32.store (i32.const 0) (i32.const 1024))
        (i32.store (i32.const 4) (local.get $len))
        (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
"#;

fn module(body: &str) -> String {
    format!("(module {WASI} {body})")
}

/// Never ends if its input begins with L.
const LOOPS: &str = r#"(memory (export "memory") 1)
    (func (export "_start")
        (drop (call $read (i32.const 10)))
        (if (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 76)) (then (loop $for_ever (br $for_ever)))))"#;

#[test]
fn processes_read_their_input_and_write_apart() {
    let wat = module(
        r#"(memory (export "memory") 1)
        (func (export "_start") (local $n i32)
            (loop $again
                (local.set $n (call $read (i32.const 7)))
                (call $write (i32.const 1) (local.get $n))
                (br_if $again (local.get $n)))
            (call $write (i32.const 2) (i32.const 3)))"#,
    );
    let (mut store, func) = instance(&wat);
    let text = |i: usize| format!("process {i} ").repeat(i % 50);
    let inputs = (0..2000).map(|i| input(&[], text(i).as_bytes())).collect();
    let (outcomes, counts) = batch(&mut store, func, &options(), inputs).unwrap();
    assert_eq!((outcomes.len(), counts.processes), (2000, 2000));
    for (i, outcome) in outcomes.iter().enumerate() {
        assert!(matches!(outcome.end, End::Returned), "{i}: {:?}", outcome.end);
        assert_eq!(String::from_utf8_lossy(&outcome.stdout), text(i), "{i}");
        assert_eq!(outcome.stderr.len(), 3);
    }
}

#[test]
fn a_process_ends_alone() {
    // The first byte says how: it traps, exits with that code, or returns.
    let wat = module(
        r#"(memory (export "memory") 1)
        (func $deeper (param i32) (if (i32.eqz (local.get 0)) (then unreachable)) (call $deeper (i32.sub (local.get 0) (i32.const 1))))
        (func (export "_start")
            (drop (call $read (i32.const 10)))
            (call $write (i32.const 1) (i32.const 1))
            (if (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 84)) (then (call $deeper (i32.const 2000))))
            (if (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 69)) (then (call $exit (i32.const 69)))))"#,
    );
    let (mut store, func) = instance(&wat);
    let kind = |i: usize| match i % 7 {
        3 => b"T",
        5 => b"E",
        _ => b"R",
    };
    let inputs = (0..3000).map(|i| input(&[], kind(i))).collect();
    let (outcomes, _) = batch(&mut store, func, &options(), inputs).unwrap();
    for (i, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.stdout, kind(i));
        match (kind(i), &outcome.end) {
            (b"T", End::Trapped(fault)) => {
                assert_eq!(fault.kind, gpu_run_bytecode::TrapKind::Unreachable);
                assert!(fault.backtrace.places.len() >= 10);
            }
            (b"E", End::Exited(69)) | (b"R", End::Returned) => {}
            (_, end) => panic!("{i}: {end:?}"),
        }
    }
}

/// All that a process can write is as at the beginning for the next one.
#[test]
fn nothing_of_a_process_is_left_for_the_next() {
    let wat = module(
        r#"(memory (export "memory") 2 20)
        (table $t 4 funcref)
        (elem (i32.const 1) $read_none)
        (elem $passive func $read_none)
        (data (i32.const 2048) "begin")
        (data $late "late")
        (global $g (mut i64) (i64.const 77))
        (func $read_none)
        (func $check (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
        (func (export "_start") (local $at i32)
            (call $check (i64.eq (global.get $g) (i64.const 77)))
            (call $check (i32.eq (i32.load8_u (i32.const 2048)) (i32.const 98)))
            (call $check (i32.eq (memory.size) (i32.const 2)))
            (call $check (i32.eq (table.size $t) (i32.const 4)))
            (call $check (ref.is_null (table.get $t (i32.const 0))))
            (memory.init $late (i32.const 3000) (i32.const 0) (i32.const 4))
            (data.drop $late)
            (table.init $t $passive (i32.const 0) (i32.const 0) (i32.const 1))
            (elem.drop $passive)
            (call $check (i32.eq (memory.grow (i32.const 5)) (i32.const 2)))
            (call $check (i32.eq (table.grow $t (ref.null func) (i32.const 3)) (i32.const 4)))
            (local.set $at (i32.const 4096))
            (loop $all
                (call $check (i64.eqz (i64.load (local.get $at))))
                (i64.store (local.get $at) (i64.const -1))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $all (i32.lt_u (local.get $at) (i32.const 458752))))
            (i32.store (i32.const 2048) (i32.const 0))
            (global.set $g (i64.const 1)))"#,
    );
    let (mut store, func) = instance(&wat);
    let (outcomes, _) = batch(&mut store, func, &options(), vec![input(&[], b""); 300]).unwrap();
    for outcome in outcomes {
        assert!(matches!(outcome.end, End::Returned), "{:?}", outcome.end);
        assert_eq!(outcome.memory, 7 * 65536);
    }
}

#[test]
fn arguments_and_random_bytes_are_a_processs_own() {
    let wat = module(
        r#"(memory (export "memory") 1)
        (func (export "_start")
            (drop (call $args_sizes_get (i32.const 100) (i32.const 104)))
            (drop (call $args_get (i32.const 200) (i32.const 1024)))
            (call $write (i32.const 1) (i32.load (i32.const 104)))
            (drop (call $random (i32.const 1024) (i32.const 16)))
            (call $write (i32.const 2) (i32.const 16)))"#,
    );
    let (mut store, func) = instance(&wat);
    let inputs = |count: usize| (0..count).map(|i| input(&["p", &format!("{i}")], b"")).collect();
    let (outcomes, _) = batch(&mut store, func, &options(), inputs(500)).unwrap();
    for (i, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.stdout, format!("p\0{i}\0").as_bytes());
        assert_eq!(outcome.stderr, outcomes[0].stderr, "a seed makes them the same");
    }
    let unseeded = BatchOptions {
        seed: None,
        ..options()
    };
    let (outcomes, _) = batch(&mut store, func, &unseeded, inputs(500)).unwrap();
    let mut random: Vec<_> = outcomes.into_iter().map(|outcome| outcome.stderr).collect();
    random.sort();
    random.dedup();
    assert_eq!(random.len(), 500);
}

/// A process for which there was too little memory runs again with more, unless it was said how much there is.
#[test]
fn memory_that_is_too_little_becomes_more() {
    let wat = module(
        r#"(memory (export "memory") 1)
        (func (export "_start")
            (i32.store (i32.const 1024) (i32.add (i32.const 48) (i32.gt_s (memory.grow (i32.const 1000)) (i32.const 0))))
            (call $write (i32.const 1) (i32.const 1)))"#,
    );
    let (mut store, func) = instance(&wat);
    let (outcomes, counts) = batch(&mut store, func, &options(), vec![input(&[], b""); 20]).unwrap();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.stdout == b"1" && !outcome.starved)
    );
    assert!(counts.repeated >= 20, "{counts:?}");
    let limited = BatchOptions {
        memory: Some(1 << 20),
        ..options()
    };
    let (outcomes, _) = batch(&mut store, func, &limited, vec![input(&[], b""); 20]).unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.stdout == b"0" && outcome.starved));
}

/// Of processes that never end, each is stopped by itself; the others are not.
#[test]
fn a_process_has_a_time_of_its_own() {
    let (mut store, func) = instance(&module(LOOPS));
    let options = BatchOptions {
        process_timeout: Some(Duration::from_millis(30)),
        ..options()
    };
    let kind = |i: usize| if i % 50 == 20 { b"L" } else { b"R" };
    let (outcomes, _) = batch(
        &mut store,
        func,
        &options,
        (0..200).map(|i| input(&[], kind(i))).collect(),
    )
    .unwrap();
    assert_eq!(outcomes.len(), 200);
    for (i, outcome) in outcomes.iter().enumerate() {
        match (kind(i), &outcome.end) {
            (b"L", End::TimedOut) | (b"R", End::Returned) => {}
            (_, end) => panic!("{i}: {end:?}"),
        }
    }
}

/// What is finished when a batch is interrupted is told of, and what is under way ends.
#[test]
fn an_interrupted_batch_ends() {
    let (mut store, func) = instance(&module(LOOPS));
    let flag = Arc::new(AtomicBool::new(false));
    let options = BatchOptions {
        interrupt: Some(flag.clone()),
        ..options()
    };
    let mut given = 0;
    let (mut returned, mut interrupted) = (0, 0);
    let mut next = |_| {
        given += 1;
        match given <= 1000 {
            true => NextInput::Ready(input(&[], if given > 10 { b"L" } else { b"R" })),
            false => NextInput::Over,
        }
    };
    store
        .run_batch(func, &options, &mut next, &mut |outcome| {
            match outcome.end {
                End::Returned => returned += 1,
                End::Interrupted => interrupted += 1,
                end => panic!("{end:?}"),
            }
            if returned == 10 {
                flag.store(true, Ordering::Relaxed);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(returned, 10);
    assert!(interrupted >= 1);
}

#[test]
fn what_cannot_be_a_batch_is_refused() {
    let refused = |wat: &str| {
        let (mut store, func) = instance(wat);
        let result = store.run_batch(func, &options(), &mut |_| NextInput::Over, &mut |_| {
            ControlFlow::Continue(())
        });
        result.expect_err("it is refused").to_string()
    };
    assert!(refused(r#"(module (memory 1) (memory 1) (func (export "_start")))"#).contains("several memories"));
    assert!(refused(r#"(module (func (export "_start") (param i32)))"#).contains("neither parameters nor results"));
    assert!(refused(r#"(module (memory 1 1 shared) (func (export "_start")))"#).contains("built for threads"));
}

/// Places of inputs are used again, also where one process holds its place for long.
#[test]
fn there_are_more_processes_than_places_for_inputs() {
    let wat = module(
        r#"(memory (export "memory") 1)
        (func (export "_start") (local $n i32)
            (local.set $n (call $read (i32.const 10)))
            (if (i32.eq (i32.load8_u (i32.const 1024)) (i32.const 76)) (then (loop $for_ever (br $for_ever))))
            (call $write (i32.const 1) (local.get $n)))"#,
    );
    let (mut store, func) = instance(&wat);
    const COUNT: u64 = 150_000;
    let options = BatchOptions {
        expected: Some(COUNT),
        process_timeout: Some(Duration::from_millis(300)),
        ..options()
    };
    let mut given = 0;
    let mut next = |_| {
        given += 1;
        match given {
            1 => NextInput::Ready(input(&[], b"L")),
            2..=COUNT => NextInput::Ready(input(&[], (given - 1).to_string().as_bytes())),
            _ => NextInput::Over,
        }
    };
    let mut seen = vec![false; COUNT as usize];
    let counts = store
        .run_batch(func, &options, &mut next, &mut |outcome| {
            let first = std::mem::replace(&mut seen[outcome.number as usize], true);
            assert!(!first, "{} ended twice", outcome.number);
            match outcome.number {
                0 => assert!(matches!(outcome.end, End::TimedOut)),
                number => assert_eq!(outcome.stdout, number.to_string().as_bytes()),
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(counts.processes, COUNT);
    assert!(seen.iter().all(|seen| *seen));
}

/// Inputs that are larger than a block have several; they wait for each other where there is no room for all.
#[test]
fn large_inputs_come_whole() {
    let wat = module(
        r#"(memory (export "memory") 20)
        (func (export "_start") (local $n i32) (local $last i32)
            (loop $again
                (local.set $n (call $read (i32.const 1000000)))
                (if (local.get $n) (then
                    (local.set $last (i32.load8_u (i32.add (i32.const 1023) (local.get $n))))
                    (br $again))))
            (i32.store8 (i32.const 1024) (local.get $last))
            (call $write (i32.const 1) (i32.const 1)))"#,
    );
    let (mut store, func) = instance(&wat);
    let bytes = |i: usize| {
        let mut bytes = vec![0; if i.is_multiple_of(5) { 1000 } else { 9_000_000 + i }];
        *bytes.last_mut().unwrap() = i as u8;
        bytes
    };
    let mut given = 0;
    let mut next = |_| {
        given += 1;
        match given <= 60 {
            true => NextInput::Ready(input(&[], &bytes(given - 1))),
            false => NextInput::Over,
        }
    };
    let options = BatchOptions {
        expected: Some(60),
        ..options()
    };
    let counts = store
        .run_batch(func, &options, &mut next, &mut |outcome| {
            assert_eq!(outcome.stdout, [outcome.number as u8]);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(counts.processes, 60);
}

/// Where no input comes for a while, those that there are run to their ends; later ones run then.
#[test]
fn inputs_may_come_late() {
    let (mut store, func) = instance(&module(LOOPS));
    let begin = std::time::Instant::now();
    let (mut given, ended) = (0u64, std::cell::Cell::new(0u64));
    let mut next = |_| {
        // Three at once, and the next three when all before have ended and some time went by.
        if given == 9 {
            return NextInput::Over;
        }
        if given.is_multiple_of(3) && (ended.get() < given || begin.elapsed() < Duration::from_millis(150 * given)) {
            std::thread::sleep(Duration::from_millis(1));
            return NextInput::Pending;
        }
        given += 1;
        NextInput::Ready(input(&[], b"R"))
    };
    let counts = store
        .run_batch(func, &options(), &mut next, &mut |_| {
            ended.set(ended.get() + 1);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((counts.processes, ended.get()), (9, 9));
}
