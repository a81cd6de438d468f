//! Many stores on one kernel. The device is the CPU, held to what a GPU's driver and caches ask for.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use gpu_run_bytecode::TrapKind;
use gpu_run_vm::{
    CODE_LINE, Call, Cpu, Device, DeviceResult, End, Extern, InstanceId, Limits, Outcome, PersistentKernel, Pinned,
    Plan, RunOptions, Store, StoreError, Stream, Value,
};

/// What was seen of the device's use.
#[derive(Default)]
struct Seen {
    /// Kernels that were started.
    kernels: Cell<u32>,
    /// Pieces of memory for code.
    code: RefCell<Vec<Range<u64>>>,
    /// Lines of code that were written while the present kernel runs.
    lines: RefCell<HashSet<u64>>,
}

/// The CPU. It panics where memory is allocated while a kernel runs. It also panics where a line of code,
/// of which the kernel may have an old copy, is written a second time.
struct Strict {
    cpu: Cpu,
    running: bool,
    seen: Rc<Seen>,
}

impl Strict {
    fn check_code(&mut self, at: u64, bytes: &[u8]) {
        if !self.running || !self.seen.code.borrow().iter().any(|piece| piece.contains(&at)) {
            return;
        }
        let mut lines = self.seen.lines.borrow_mut();
        for line in at / CODE_LINE..(at + bytes.len() as u64).div_ceil(CODE_LINE) {
            assert!(lines.insert(line), "a line of code is written again");
        }
    }
}

impl Device for Strict {
    fn name(&self) -> String {
        self.cpu.name()
    }

    /// Little, so that pieces are small.
    fn free_memory(&self) -> u64 {
        16 << 20
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<u64> {
        assert!(!self.running, "memory for {what} is allocated while the kernel runs");
        let ptr = self.cpu.allocate(bytes, what)?;
        if what == "code" {
            self.seen.code.borrow_mut().push(ptr..ptr + bytes);
        }
        Ok(ptr)
    }

    fn allocates_while_running(&self) -> bool {
        false
    }

    unsafe fn release(&mut self, ptr: u64) {
        assert!(!self.running, "memory is released while the kernel runs");
        // SAFETY: the caller's promise.
        unsafe { self.cpu.release(ptr) }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        assert!(!self.running, "pinned memory is allocated while the kernel runs");
        self.cpu.allocate_pinned(bytes)
    }

    unsafe fn write(&mut self, to: u64, bytes: &[u8]) -> DeviceResult<()> {
        self.check_code(to, bytes);
        // SAFETY: the caller's promise.
        unsafe { self.cpu.write(to, bytes) }
    }

    unsafe fn read(&mut self, from: u64, bytes: &mut [u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.cpu.read(from, bytes) }
    }

    unsafe fn clear(&mut self, at: u64, bytes: u64) -> DeviceResult<()> {
        if self.running && self.seen.code.borrow().iter().any(|piece| piece.contains(&at)) {
            let lines = self.seen.lines.borrow();
            let cleared = at / CODE_LINE..(at + bytes).div_ceil(CODE_LINE);
            assert!(!lines.iter().any(|line| cleared.contains(line)), "code is cleared");
        }
        // SAFETY: the caller's promise.
        unsafe { self.cpu.clear(at, bytes) }
    }

    fn plan(&self, threads: u32, frame: u32) -> Plan {
        self.cpu.plan(threads, frame)
    }

    unsafe fn start(&mut self, launch: u64, plan: Plan) -> DeviceResult<()> {
        assert!(!self.running, "one kernel at a time");
        self.running = true;
        self.seen.kernels.set(self.seen.kernels.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { self.cpu.start(launch, plan) }
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        let finished = self.cpu.finished()?;
        if finished && self.running {
            self.running = false;
            self.seen.lines.borrow_mut().clear();
        }
        Ok(finished)
    }
}

fn server() -> (PersistentKernel, Rc<Seen>) {
    let seen = Rc::new(Seen::default());
    let device = Strict {
        cpu: Cpu::new(),
        running: false,
        seen: seen.clone(),
    };
    (PersistentKernel::new(Box::new(device)).expect("a server"), seen)
}

fn store(device: Box<dyn Device>) -> Store {
    let limits = Limits {
        register_arena: 1 << 20,
        ..Limits::default()
    };
    Store::new(device, limits).expect("a store")
}

fn instantiate(store: &mut Store, module: &str) -> InstanceId {
    let wasm = wat::parse_str(module).expect("a module's text");
    let translation = gpu_run_translator::translate(&wasm, &Default::default()).expect("a valid module");
    let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
    store
        .instantiate(Arc::new(translation.program), |_, _| None, &RunOptions::default(), sink)
        .expect("no imports")
}

fn call(store: &Store, instance: InstanceId, name: &str, args: &[i32]) -> Call {
    let Some(Extern::Func(func)) = store.export(instance, name) else {
        panic!("no function `{name}`")
    };
    let args = args.iter().map(|arg| Value::I32(*arg)).collect();
    Call { func, args }
}

fn run_all(store: &mut Store, calls: Vec<Call>, options: &RunOptions) -> Vec<Result<Outcome, StoreError>> {
    let mut calls = calls.into_iter();
    let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
    store
        .run_all(|_| calls.next(), options, sink)
        .expect("the device works")
}

fn result(outcome: Result<Outcome, StoreError>) -> i32 {
    let outcome = outcome.expect("it ran");
    match (&outcome.end, &outcome.results[..]) {
        (End::Returned, [results]) => match results[..] {
            [Value::I32(value)] => value,
            ref results => panic!("{results:?}"),
        },
        other => panic!("{other:?}"),
    }
}

const COUNTER: &str = r#"(module
  (memory 1 2)
  (func (export "add") (param i32) (result i32)
    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (local.get 0)))
    (i32.load (i32.const 8)))
  (func $deep (export "deep") (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
      (else (i32.const 0))))
  (func (export "trap") (result i32) unreachable)
  (func (export "forever") (loop $again (br $again))))"#;

/// More calls than can be under way at once, in order; others end alone between them.
fn calls_in_order(device: Box<dyn Device>) {
    let mut store = store(device);
    let instance = instantiate(&mut store, COUNTER);
    let calls = (0..1000).map(|i| match i % 10 {
        3 => call(&store, instance, "trap", &[]),
        // Wrong arguments.
        5 => call(&store, instance, "add", &[1, 2]),
        7 => call(&store, instance, "deep", &[2000]),
        _ => call(&store, instance, "add", &[1]),
    });
    let calls = calls.collect();
    let mut sum = 0;
    let outcomes = run_all(&mut store, calls, &RunOptions::default());
    assert_eq!(outcomes.len(), 1000);
    for (i, outcome) in outcomes.into_iter().enumerate() {
        match i % 10 {
            3 => match outcome.expect("it ran").end {
                End::Trapped(fault) => assert_eq!(fault.kind, TrapKind::Unreachable),
                end => panic!("{end:?}"),
            },
            5 => assert!(matches!(outcome, Err(StoreError::Arguments { .. }))),
            7 => assert_eq!(result(outcome), 2000),
            _ => {
                sum += 1;
                assert_eq!(result(outcome), sum);
            }
        }
    }
}

#[test]
fn calls_run_in_order() {
    let (server, seen) = server();
    calls_in_order(server.client());
    assert_eq!(seen.kernels.get(), 1);
}

#[test]
fn calls_run_in_order_without_a_server() {
    calls_in_order(Box::new(Cpu::new()));
}

#[test]
fn stores_share_the_kernel_and_get_zeroed_memory() {
    let (server, seen) = server();
    for _ in 0..20 {
        let mut store = store(server.client());
        // Code is added, and arrays on the device move, while the kernel runs.
        let instances: Vec<_> = (0..30).map(|_| instantiate(&mut store, COUNTER)).collect();
        for (i, instance) in instances.iter().enumerate() {
            for sum in 1..=3 {
                let calls = vec![call(&store, *instance, "add", &[i as i32])];
                let outcome = run_all(&mut store, calls, &RunOptions::default()).remove(0);
                assert_eq!(result(outcome), sum * i as i32);
            }
        }
    }
    // The pieces that the first store needed did for all, but for a few more for code.
    assert!(seen.kernels.get() < 10, "{} kernels", seen.kernels.get());
}

#[test]
fn the_kernel_makes_way_for_more_memory() {
    let (server, seen) = server();
    let mut store = store(server.client());
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        let module = COUNTER.replace("(memory 1 2)", "(memory 1 100)");
        let instance = instantiate(&mut store, &module);
        let calls = vec![call(&store, instance, "add", &[7])];
        outcomes.extend(run_all(&mut store, calls, &RunOptions::default()));
    }
    assert!(outcomes.into_iter().all(|outcome| result(outcome) == 7));
    assert!(seen.kernels.get() > 1);
}

#[test]
fn what_runs_for_ever_is_stopped_and_the_kernel_stays() {
    let (server, seen) = server();
    let mut store = store(server.client());
    let instance = instantiate(&mut store, COUNTER);
    let options = RunOptions {
        timeout: Some(Duration::from_millis(50)),
        ..RunOptions::default()
    };
    let calls = ["add", "forever"].map(|name| call(&store, instance, name, &[1][..(name == "add") as usize]));
    let outcomes = run_all(&mut store, calls.to_vec(), &options);
    let ends: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| outcome.expect("it ran").end)
        .collect();
    assert!(matches!(ends[1], End::TimedOut), "{ends:?}");
    let calls = vec![call(&store, instance, "add", &[1])];
    let outcome = run_all(&mut store, calls, &RunOptions::default()).remove(0);
    assert_eq!(result(outcome), 2);
    assert_eq!(seen.kernels.get(), 1);
}

#[test]
fn a_panic_of_the_caller_leaves_nothing_under_way() {
    let (server, _) = server();
    let mut store = store(server.client());
    let instance = instantiate(&mut store, COUNTER);
    let mut count = 0;
    let next = |store: &Store| {
        count += 1;
        assert!(count < 20, "enough");
        Some(call(store, instance, "deep", &[2000]))
    };
    let sink = &mut |_: Stream, _: u32, _: &[u8]| {};
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.run_all(next, &RunOptions::default(), sink).map(drop)
    }));
    assert!(caught.is_err());
    let calls = vec![call(&store, instance, "add", &[1])];
    assert_eq!(result(run_all(&mut store, calls, &RunOptions::default()).remove(0)), 1);
}
