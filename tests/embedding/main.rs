//! The library: its examples, host functions, and what handles and errors promise.
//!
//! All of it runs on the CPU, and with the feature `emulator` as compiled code on the emulator of PTX. `GPU_RUN_DEVICE`
//! names another device.

#[path = "../../runner/examples/call_export.rs"]
mod call_export;
#[path = "../../runner/examples/host_function.rs"]
mod host_function;
#[path = "../../runner/examples/kernel.rs"]
mod kernel;
mod memory_of_launches;
#[path = "../../runner/examples/wasi_output.rs"]
mod wasi_output;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use gpu_run::{
    Caller, Config, DeviceKind, End, Engine, Error, Event, FaultKind, FuncType, HeapChecks, InterruptHandle, Linker,
    Module, ModuleOptions, Sink, Store, StoreLimits, Strategy, Stream, TrapKind, Usage, Val, ValType, assemble, device,
};

/// The engines that are tested.
fn engines() -> Vec<Engine> {
    let mut kinds = vec![DeviceKind::Cpu];
    #[cfg(feature = "emulator")]
    kinds.push(DeviceKind::Emulator);
    if let Ok(device) = std::env::var("GPU_RUN_DEVICE") {
        kinds = vec![device.parse().expect("a device")];
    }
    let engine = |kind| Engine::new(Config::new().device(kind).no_cache()).expect("an engine");
    kinds.into_iter().map(engine).collect()
}

#[test]
fn example_call_export() {
    for engine in engines() {
        let numbers = call_export::run(&engine).expect("it runs");
        assert_eq!((numbers.len(), numbers[19]), (20, 4181));
    }
}

#[test]
fn example_host_function() {
    for engine in engines() {
        let (lines, message) = host_function::run(&engine).expect("it runs");
        assert_eq!(lines, ["hello from the device"; 2]);
        assert_eq!(message, "-1 has no square root");
    }
}

#[test]
fn example_wasi_output() {
    for engine in engines() {
        let result = wasi_output::run(&engine).expect("it runs");
        assert_eq!(result, ("you said: hello\n".to_owned(), Some(3)));
    }
}

#[test]
fn example_kernel() {
    for engine in engines() {
        let elements = kernel::run(&engine).expect("it runs");
        assert!(elements.iter().enumerate().all(|(i, y)| *y == 2.0 * i as f32 + 1.0));
    }
}

/// The program in README.md, as it stands there.
#[test]
fn readme_embeds_in_at_most_25_lines() {
    let readme = include_str!("../../README.md");
    let program = readme
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let program = program.expect("a program in README.md");
    assert!(program.lines().count() <= 25, "{program}");
    assert_eq!(program.trim(), include_str!("../../runner/examples/readme.rs").trim());
}

#[test]
fn values_of_all_types_go_to_a_host_function_and_come_back() {
    let text = r#"(module
        (import "h" "f" (func $f (param i32 i64 f32 f64 i32 i64 f32 f64) (result i32 i64 f32 f64)))
        (import "h" "v" (func $v (param i32 v128 v128) (result v128 i32 v128)))
        (func (export "vectors") (result v128 i32 v128)
            (call $v (i32.const 7) (v128.const i64x2 1 2) (v128.const i64x2 3 4)))
        (func (export "run") (result i32 i64 f32 f64)
            (call $f (i32.const -1) (i64.const -2) (f32.const -3.5) (f64.const 4.25)
                (i32.const 5) (i64.const 0x600000006) (f32.const 7) (f64.const 8))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut linker = Linker::new(&engine);
        let function = |a: i32, b: i64, c: f32, d: f64, e: u32, f: u64, g: f32, h: f64| {
            assert_eq!((a, b, c, d), (-1, -2, -3.5, 4.25));
            (a + e as i32, b + f as i64, c + g, d + h)
        };
        linker.func_wrap("h", "f", function).expect("a new name");
        let vectors = |a: i32, b: u128, c: u128| (c + 1, a + 1, b + (1 << 64));
        linker.func_wrap("h", "v", vectors).expect("a new name");
        let mut store = Store::new(&engine, ()).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let vectors = instance
            .get_typed_func::<_, (), (u128, i32, u128)>(&store, "vectors")
            .expect("its type");
        let found = vectors.call(&mut store, ()).expect("it returns");
        assert_eq!(found, (4 << 64 | 4, 8, 3 << 64 | 1));
        let run = instance
            .get_typed_func::<_, (), (i32, i64, f32, f64)>(&store, "run")
            .expect("its type");
        let found = run.call(&mut store, ()).expect("it returns");
        assert_eq!(found, (4, 0x6_0000_0004, 3.5, 12.25));
    }
}

/// Ranges longer than a message, at any address, and those that are not in memory.
#[test]
fn a_host_function_reads_and_writes_memory() {
    let text = r#"(module
        (import "h" "f" (func $f (param i32 i32)))
        (memory (export "memory") 2)
        (func (export "run") (param i32 i32) (call $f (local.get 0) (local.get 1))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut linker = Linker::new(&engine);
        let reverse = |mut caller: Caller<'_, u32>, address: u32, len: u32| {
            let mut bytes = vec![0; len as usize];
            caller.read(address, &mut bytes)?;
            bytes.reverse();
            *caller.data_mut() += 1;
            caller.write(address, &bytes)
        };
        linker.func_wrap("h", "f", reverse).expect("a new name");
        let mut store = Store::new(&engine, 0).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let run = instance
            .get_typed_func::<_, (u32, u32), ()>(&store, "run")
            .expect("its type");
        let memory = instance.get_memory(&store, "memory").expect("a memory");
        for (address, len) in [(0u32, 0usize), (1, 1), (5, 4097), (131_072 - 100_001, 100_001)] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
            memory.write(&mut store, address.into(), &bytes).expect("inside");
            run.call(&mut store, (address, len as u32)).expect("it returns");
            let mut found = vec![0; len];
            memory.read(&mut store, address.into(), &mut found).expect("inside");
            found.reverse();
            assert!(found == bytes, "{len} bytes at {address}");
        }
        assert_eq!(*store.data(), 4);
        for (address, len) in [(131_072, 1), (131_071, 2), (u32::MAX, 1), (131_000, 10_000)] {
            let error = run.call(&mut store, (address, len)).expect_err("it is outside");
            let Error::Host { source, fault } = error else {
                panic!("{error}")
            };
            assert!(source.to_string().contains("not all in memory"), "{source}");
            // The call itself is inlined, or is the innermost one.
            assert!(fault.backtrace.places.iter().any(|frame| frame.function == "run"));
        }
        assert!(memory.read(&mut store, 131_071, &mut [0; 2]).is_err());
        assert_eq!(memory.grow(&mut store, 1).expect("it grows"), 2);
        assert_eq!(memory.size(&mut store).expect("a size"), 3);
        run.call(&mut store, (131_072, 10)).expect("it is inside now");
    }
}

/// Each thread of a kernel calls both kinds of functions: those called at the same time, and those in turn.
#[test]
fn all_threads_of_a_kernel_call_host_functions() {
    const THREADS: u32 = 1000;
    let text = r#"(module
        (import "h" "plain" (func $plain (param i32) (result i64)))
        (import "h" "turn" (func $turn (param i32 i32) (result i32)))
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (memory 1)
        (func (export "run") (result i64)
            (local $at i32)
            (local.set $at (i32.shl (call $gid) (i32.const 2)))
            (i32.store (local.get $at) (i32.mul (call $gid) (i32.const 3)))
            (i64.add
                (call $plain (call $gid))
                (i64.extend_i32_u (call $turn (local.get $at) (call $gid))))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut linker = Linker::new(&engine);
        let calls = Arc::new(AtomicU32::new(0));
        let counted = calls.clone();
        let plain = move |x: u32| {
            counted.fetch_add(1, Ordering::Relaxed);
            u64::from(x) << 40
        };
        linker.func_wrap("h", "plain", plain).expect("a new name");
        let turn = |mut caller: Caller<'_, Vec<u32>>, at: u32, id: u32| {
            assert_eq!(caller.thread(), id);
            let mut bytes = [0; 4];
            caller.read(at, &mut bytes)?;
            caller.data_mut().push(id);
            Ok::<u32, Error>(u32::from_le_bytes(bytes))
        };
        linker.func_wrap("h", "turn", turn).expect("a new name");
        let mut store = Store::new(&engine, Vec::new()).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let kernel = instance.get_kernel(&store, "run").expect("a kernel");
        let launch = kernel.launch(&mut store, THREADS, &[]).expect("all return");
        for (id, results) in (0..).zip(&launch.results) {
            assert_eq!(results[..], [Val::I64((id << 40) | (id * 3))]);
        }
        assert_eq!(calls.load(Ordering::Relaxed), THREADS);
        let mut ids = store.into_data();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..THREADS));
    }
}

#[test]
fn a_host_function_panics_in_the_call() {
    let engine = &engines()[0];
    let module = Module::new(engine, r#"(module (import "h" "f" (func)) (export "run" (func 0)))"#).expect("a module");
    let mut linker = Linker::new(engine);
    linker
        .func_wrap("h", "f", || -> () { panic!("of the host") })
        .expect("a new name");
    let mut store = Store::new(engine, ()).expect("a store");
    let instance = linker.instantiate(&mut store, &module).expect("an instance");
    let run = instance.get_func(&store, "run").expect("a function");
    let call = std::panic::AssertUnwindSafe(|| run.call(&mut store, &[]));
    let panic = std::panic::catch_unwind(call).expect_err("it panics");
    assert_eq!(panic.downcast_ref(), Some(&"of the host"));
}

#[test]
fn imports_are_told_and_must_be_defined_with_their_types() {
    let engine = &engines()[0];
    let text = r#"(module (import "h" "f" (func (param i32))) (func (export "g") (param v128)))"#;
    let module = Module::new(engine, text).expect("a module");
    let import = module.imports().next().expect("an import");
    assert_eq!((&*import.module, &*import.name), ("h", "f"));
    let again = Module::deserialize(engine, module.serialize()).expect("a module");
    assert_eq!(again.imports().next(), Some(import));
    let mut store = Store::new(engine, ()).expect("a store");
    let mut linker = Linker::new(engine);
    let error = linker.instantiate(&mut store, &again).expect_err("nothing is defined");
    assert_eq!(error.to_string(), "nothing is defined for the import `h.f`");
    linker.func_wrap("h", "f", |_: i64| ()).expect("a new name");
    assert!(linker.func_wrap("h", "f", || ()).is_err());
    let error = linker.instantiate(&mut store, &again).expect_err("another type");
    assert!(error.to_string().contains("(i32) -> ()") && error.to_string().contains("(i64) -> ()"));
    let reference = FuncType {
        params: vec![ValType::FuncRef],
        results: Vec::new(),
    };
    assert!(linker.func_new("h", "v", reference, |_, _| Ok(Vec::new())).is_err());
    let wasi = r#"(module (import "wasi_snapshot_preview1" "sched_yield" (func $f (result i32)))
        (func (export "run") (result i32) call $f))"#;
    let module = Module::new(engine, wasi).expect("a module");
    let error = linker.instantiate(&mut store, &module).expect_err("there is no WASI");
    assert!(
        error
            .to_string()
            .ends_with("`wasi_snapshot_preview1.sched_yield`: the linker has no WASI")
    );
}

#[test]
fn a_handle_of_another_store_is_an_error() {
    let engine = &engines()[0];
    let text = r#"(module (memory (export "m") 1) (global (export "g") (mut i32) (i32.const 7)) (func (export "f")))"#;
    let module = Module::new(engine, text).expect("a module");
    let linker = Linker::new(engine);
    let mut first = Store::new(engine, ()).expect("a store");
    let mut second = Store::new(engine, ()).expect("a store");
    let instance = linker.instantiate(&mut first, &module).expect("an instance");
    linker.instantiate(&mut second, &module).expect("an instance");
    let (function, memory) = (instance.get_func(&first, "f"), instance.get_memory(&first, "m"));
    let (function, memory) = (function.expect("a function"), memory.expect("a memory"));
    assert!(matches!(function.call(&mut second, &[]), Err(Error::WrongStore)));
    assert!(matches!(memory.size(&mut second), Err(Error::WrongStore)));
    assert!(instance.get_func(&second, "f").is_none());
    function.call(&mut first, &[]).expect("it returns");
    let global = instance.get_global(&first, "g").expect("a global");
    assert!(global.set(&mut first, Val::I64(1)).is_err());
    global.set(&mut first, Val::I32(8)).expect("it is mutable");
    assert_eq!(global.get(&mut first).expect("a value"), Val::I32(8));
}

/// Instances in one store share what a linker defines.
#[test]
fn a_memory_of_an_instance_is_another_ones_import() {
    let engine = &engines()[0];
    let mut store = Store::new(engine, ()).expect("a store");
    let owner =
        Module::new(engine, r#"(module (memory (export "m") 1) (data (i32.const 0) "\2a"))"#).expect("a module");
    let owner = Linker::new(engine)
        .instantiate(&mut store, &owner)
        .expect("an instance");
    let mut linker = Linker::new(engine);
    linker
        .define("a", "m", owner.get_memory(&store, "m").expect("a memory"))
        .expect("a new name");
    let text = r#"(module (import "a" "m" (memory 1)) (func (export "f") (result i32) (i32.load8_u (i32.const 0))))"#;
    let user = Module::new(engine, text).expect("a module");
    let user = linker.instantiate(&mut store, &user).expect("an instance");
    let function = user.get_typed_func::<_, (), i32>(&store, "f").expect("its type");
    assert_eq!(function.call(&mut store, ()).expect("it returns"), 42);
}

#[test]
fn ends_are_values() {
    let text = r#"(module
        (func $divide (export "divide") (param i32 i32) (result i32) (i32.div_u (local.get 0) (local.get 1)))
        (func (export "hang") (loop (br 0))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let limits = StoreLimits {
            memory: Some(1 << 20),
            ..StoreLimits::default()
        };
        let mut store = Store::with_limits(&engine, (), limits).expect("a store");
        let instance = Linker::new(&engine)
            .instantiate(&mut store, &module)
            .expect("an instance");
        let divide = instance
            .get_typed_func::<_, (u32, u32), u32>(&store, "divide")
            .expect("its type");
        let error = divide.call(&mut store, (1, 0)).expect_err("it traps");
        let fault = error.fault().expect("a fault");
        assert_eq!(fault.kind, FaultKind::Trap(TrapKind::IntegerDivideByZero));
        assert_eq!(fault.backtrace.places[0].function, "divide");
        assert_eq!(divide.call(&mut store, (7, 2)).expect("it returns"), 3);
        let hang = instance.get_func(&store, "hang").expect("a function");
        store.set_timeout(Some(Duration::from_millis(50)));
        assert!(matches!(hang.call(&mut store, &[]), Err(Error::TimedOut)));
        store.set_timeout(None);
        store.interrupt_handle().interrupt();
        assert!(matches!(hang.call(&mut store, &[]), Err(Error::Interrupted)));
        let large = Module::new(&engine, r#"(module (memory 17))"#).expect("a module");
        let error = Linker::new(&engine)
            .instantiate(&mut store, &large)
            .expect_err("it is too large");
        assert!(error.to_string().contains("more than the limit"), "{error}");
    }
}

/// A closure that waits for memory when its run ends is told so.
#[test]
fn a_run_ends_while_host_functions_are_called() {
    let text = r#"(module
        (import "h" "f" (func $f (param i32)))
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (memory 1)
        (func (export "run")
            (if (i32.eqz (call $gid)) (then unreachable))
            (loop (call $f (i32.const 0)) (br 0))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut linker = Linker::new(&engine);
        let read = |mut caller: Caller<'_, u64>, at: u32| {
            caller.read(at, &mut [0; 64])?;
            *caller.data_mut() += 1;
            Ok::<(), Error>(())
        };
        linker.func_wrap("h", "f", read).expect("a new name");
        let mut store = Store::new(&engine, 0).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let kernel = instance.get_kernel(&store, "run").expect("a kernel");
        for _ in 0..3 {
            let error = kernel.launch(&mut store, 64, &[]).expect_err("a thread traps");
            let fault = error.fault().expect("a fault");
            assert_eq!(fault.kind, FaultKind::Trap(TrapKind::Unreachable));
            assert_eq!(fault.thread, 0);
        }
    }
}

/// The driver keeps a store that is dropped waiting until another one's kernel on the same GPU has ended. The host goes on
/// to serve that kernel meanwhile.
#[test]
fn a_kernel_is_served_while_another_thread_opens_a_store() {
    let asks = r#"(module
        (import "h" "ask" (func $ask (param i32)))
        (memory 1)
        (func (export "run")
            (call $ask (i32.const 0)) (i32.store (i32.const 0) (i32.const 7)) (call $ask (i32.const 1))))"#;
    let adds = r#"(module (memory 1)
        (func (export "add") (param i32 i32) (result i32)
            (i32.store (i32.const 0) (local.get 0)) (i32.add (i32.load (i32.const 0)) (local.get 1))))"#;
    for engine in engines() {
        let module = Module::new(&engine, asks).expect("a module");
        let mut linker = Linker::new(&engine);
        let (begun, has_begun) = mpsc::channel();
        let ask = move |mut caller: Caller<'_, u8>, turn: u32| {
            if turn == 0 {
                begun.send(()).expect("the other thread waits");
                // In which it opens its store.
                thread::sleep(Duration::from_millis(300));
            }
            let mut byte = [0];
            caller.read(0, &mut byte)?;
            *caller.data_mut() = byte[0];
            Ok::<(), Error>(())
        };
        linker.func_wrap("h", "ask", ask).expect("a new name");
        let other = engine.clone();
        thread::scope(|scope| {
            scope.spawn(move || {
                let engine = other;
                let minute = Duration::from_secs(60);
                has_begun.recv_timeout(minute).expect("the kernel runs");
                let module = Module::new(&engine, adds).expect("a module");
                let mut store = Store::new(&engine, ()).expect("a store");
                let instance = Linker::new(&engine).instantiate(&mut store, &module);
                let add = instance.expect("an instance");
                let add = add
                    .get_typed_func::<_, (u32, u32), u32>(&store, "add")
                    .expect("its type");
                assert_eq!(add.call(&mut store, (40, 2)).expect("it returns"), 42);
            });
            let mut store = Store::new(&engine, 0).expect("a store");
            let instance = linker.instantiate(&mut store, &module).expect("an instance");
            let run = instance.get_typed_func::<_, (), ()>(&store, "run").expect("its type");
            run.call(&mut store, ()).expect("it returns");
            assert_eq!(*store.data(), 7);
        });
    }
}

#[test]
fn events_say_which_thread_has_said_what() {
    let text = r#"(module
        (import "gpu_run_v1" "print" (func $print (param i32 i32 i32)))
        (import "gpu_run_v1" "print_end" (func $end (param i32)))
        (memory 1) (data (i32.const 0) "hi\n")
        (func (export "run") (call $print (i32.const 1) (i32.const 0) (i32.const 3)) (call $end (i32.const 1))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut store = Store::new(&engine, ()).expect("a store");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let events = heard.clone();
        store.on_event(move |event| {
            if let Event::Stdout(thread, bytes) = event {
                events.lock().expect("no panic").push((thread, bytes.to_vec()));
            }
        });
        let instance = Linker::new(&engine)
            .instantiate(&mut store, &module)
            .expect("an instance");
        let kernel = instance.get_kernel(&store, "run").expect("a kernel");
        kernel.launch(&mut store, 3, &[]).expect("all return");
        let mut heard = heard.lock().expect("no panic").clone();
        heard.sort();
        assert_eq!(heard, [0, 1, 2].map(|thread| (thread, b"hi\n".to_vec())));
    }
}

/// Embedders may want no error but all that is known of a run.
#[test]
fn an_outcome_has_the_end_and_all_counts() {
    let text = r#"(module
        (import "h" "f" (func $f))
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (func (export "ids") (result i32) call $gid)
        (func (export "fail") (if (i32.eqz (call $gid)) (then call $f)))
        (func (export "trap") unreachable))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let mut linker = Linker::new(&engine);
        linker.func_wrap("h", "f", || Err::<(), _>("no")).expect("a new name");
        let mut store = Store::new(&engine, ()).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let run = |store: &mut Store<()>, name: &str, threads: u32| {
            let func = instance.get_func(store, name).expect("a function");
            func.run(store, threads, &[]).expect("it runs")
        };
        let outcome = run(&mut store, "ids", 3);
        assert!(matches!(outcome.end, End::Returned) && outcome.ended_by.is_none());
        assert_eq!(outcome.returned().expect("it returned").results[2], [Val::I32(2)]);
        let outcome = run(&mut store, "fail", 2);
        assert_eq!(outcome.host_error.as_ref().expect("an error").to_string(), "no");
        assert!(outcome.requests.calls > 0);
        let error = outcome.returned().expect_err("it failed");
        assert!(matches!(error, Error::Host { .. }), "{error}");
        let outcome = run(&mut store, "trap", 4);
        assert_eq!((outcome.faults > 0, outcome.results.len()), (true, 0));
        let end = outcome.returned().expect_err("it trapped").into_end().expect("an end");
        assert!(matches!(end, End::Faulted(fault) if fault.kind == FaultKind::Trap(TrapKind::Unreachable)));
    }
}

#[test]
fn less_is_compiled_where_less_is_called() {
    let text = r#"(module
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (func (export "a") (result i32) call $gid)
        (func (export "b") (result i32) (i32.add (call $gid) (i32.const 1)))
        (global (export "g") i32 (i32.const 1)))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let linker = Linker::new(&engine);
        let mut store = Store::new(&engine, ()).expect("a store");
        let usage = |name: &str| Usage {
            exports: Some(vec![name.to_owned()]),
            threads: Some(2),
            ..Usage::default()
        };
        let error = linker.instantiate_pre(&mut store, &module, &usage("g"));
        assert!(matches!(error.err(), Some(Error::UnknownExport { .. })));
        let linked = linker
            .instantiate_pre(&mut store, &module, &usage("a"))
            .expect("it is linked");
        let compiled = linked.choice().code.is_ok();
        let instance = linked.instantiate().expect("an instance");
        assert_eq!(instance.choice(&store).expect("its store").code.is_ok(), compiled);
        // What was not asked for is interpreted, as is a run of more threads.
        for (name, threads, expected) in [("a", 2, compiled), ("b", 2, false), ("a", 3, false)] {
            let kernel = instance.get_kernel(&store, name).expect("a kernel");
            let launch = kernel.launch(&mut store, threads, &[]).expect("it returns");
            assert_eq!(launch.compiled, expected, "{name} on {threads} threads");
            assert_eq!(launch.results.len(), threads as usize);
        }
    }
}

/// As the command does, whose threads may depend on the device.
#[test]
fn a_store_takes_an_open_device_a_sink_and_a_handle_that_were_there_before() {
    #[derive(Default)]
    struct Lines(Vec<(Stream, u32, Vec<u8>)>, bool);
    impl Sink for Lines {
        fn write(&mut self, stream: Stream, thread: u32, bytes: &[u8]) {
            self.0.push((stream, thread, bytes.to_vec()));
        }
        fn flush(&mut self) {
            self.1 = true;
        }
    }
    let text = r#"(module
        (import "gpu_run_v1" "print" (func $print (param i32 i32 i32)))
        (import "gpu_run_v1" "print_end" (func $end (param i32)))
        (memory 1) (data (i32.const 8) "hello")
        (func (export "hello") (call $print (i32.const 1) (i32.const 8) (i32.const 5)) (call $end (i32.const 1)))
        (func (export "hang") (loop (br 0))))"#;
    let engine = &engines()[0];
    let wasm = assemble(text.as_bytes(), None).expect("a module");
    let module = Module::from_binary(engine, &wasm, &ModuleOptions::full()).expect("a module");
    assert!(module.translation().is_some());
    let again = Module::deserialize(engine, module.serialize()).expect("a module");
    assert!(again.translation().is_none());
    let opened = device::open(DeviceKind::Cpu, Strategy::Auto).expect("a device");
    let mut device = opened.device;
    let mut undeclared = |threads| StoreLimits::for_module(&module, threads, &mut *device).undeclared_memory;
    assert_eq!(
        [1, 20_000, 1 << 18].map(&mut undeclared),
        [1 << 30, 20_000 << 16, 1 << 32]
    );
    let limits = StoreLimits::for_module(&module, 20_000, &mut *device);
    let mut store = Store::with_device(engine, (), limits, device).expect("a store");
    let (lines, handle) = (Arc::new(Mutex::new(Lines::default())), InterruptHandle::new());
    store.set_sink(lines.clone());
    store.interrupt_by(&handle);
    let instance = Linker::new(engine)
        .instantiate(&mut store, &module)
        .expect("an instance");
    let [hello, hang] = ["hello", "hang"].map(|name| instance.get_func(&store, name).expect("a function"));
    hello.call(&mut store, &[]).expect("it returns");
    let taken = std::mem::take(&mut *lines.lock().expect("no panic"));
    assert_eq!(taken.0, [(Stream::Stdout, 0, b"hello".to_vec())]);
    assert!(taken.1);
    handle.interrupt();
    assert!(handle.is_pending());
    assert!(matches!(hang.call(&mut store, &[]), Err(Error::Interrupted)));
    assert!(!handle.is_pending() && !store.stands().is_empty());
    hello.call(&mut store, &[]).expect("the interruption is over");
}

/// Threads that a guest spawns: run after run, with a host function, up to a limit, and in a deadlock.
#[test]
fn a_guest_spawns_threads() {
    let text = r#"(module
        (import "env" "memory" (memory 1 1 shared))
        (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
        (import "host" "add" (func $add (param i32)))
        (func (export "wasi_thread_start") (param $id i32) (param $argument i32)
            (if (i32.eqz (local.get $argument))
                (then (drop (memory.atomic.wait32 (i32.const 8) (i32.const 0) (i64.const -1)))))
            (call $add (local.get $argument))
            (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
            (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))
        (func $await (param $count i32) (local $seen i32)
            (loop $again
                (local.set $seen (i32.atomic.load (i32.const 0)))
                (if (i32.ne (local.get $seen) (local.get $count)) (then
                    (drop (memory.atomic.wait32 (i32.const 0) (local.get $seen) (i64.const -1)))
                    (br $again)))))
        (func (export "spawn") (param $count i32) (result i32) (local $i i32)
            (i32.atomic.store (i32.const 0) (i32.const 0))
            (loop $again
                (if (i32.lt_s (call $spawn (i32.add (local.get $i) (i32.const 1))) (i32.const 1))
                    (then (return (i32.const -1))))
                (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))
            (call $await (local.get $count))
            (i32.atomic.load (i32.const 0)))
        (func (export "room") (result i32) (local $count i32)
            (loop $again
                (if (i32.gt_s (call $spawn (i32.const 0)) (i32.const 0)) (then
                    (local.set $count (i32.add (local.get $count) (i32.const 1)))
                    (br $again))))
            (local.get $count))
        (func (export "stay")
            (drop (call $spawn (i32.const 0)))
            (call $await (i32.const 9))))"#;
    for engine in engines() {
        let wasm = assemble(text.as_bytes(), None).expect("a module");
        let module = Module::new(&engine, &wasm).expect("a module");
        let sum = Arc::new(AtomicU32::new(0));
        let added = sum.clone();
        let mut linker = Linker::new(&engine);
        linker
            .func_wrap("host", "add", move |_: Caller<'_, ()>, x: i32| {
                added.fetch_add(x as u32, Ordering::Relaxed);
            })
            .expect("a function");
        let limits = StoreLimits {
            spawned_threads: 21,
            ..StoreLimits::default()
        };
        let mut store = Store::with_limits(&engine, (), limits).expect("a store");
        let instance = linker.instantiate(&mut store, &module).expect("an instance");
        let [spawn, room, stay] =
            ["spawn", "room", "stay"].map(|name| instance.get_func(&store, name).expect("a function"));
        for _ in 0..3 {
            let outcome = spawn.run(&mut store, 1, &[Val::I32(20)]).expect("it runs");
            assert!(matches!(outcome.results[..], [ref values] if matches!(values[..], [Val::I32(20)])));
            assert!(
                outcome
                    .spawned
                    .is_some_and(|spawned| spawned.threads == 20 && spawned.most <= 21)
            );
        }
        assert_eq!(sum.load(Ordering::Relaxed), 3 * 210);
        let results = room.call(&mut store, &[]).expect("it returns");
        assert!(matches!(results[..], [Val::I32(20)]), "{results:?}");
        let outcome = stay.run(&mut store, 1, &[]).expect("it runs");
        let End::Faulted(fault) = &outcome.end else {
            panic!("{:?}", outcome.end)
        };
        assert_eq!(fault.kind, FaultKind::Trap(TrapKind::Deadlock));
        assert_eq!(store.stands().groups.iter().map(|stand| stand.threads).sum::<u32>(), 1);
        spawn.call(&mut store, &[Val::I32(1)]).expect("the store is as before");
    }
}

#[test]
fn a_checked_heap_tells_of_leaks_and_damage() {
    let text = r#"(module
        (import "gpu_run_v1" "alloc" (func $alloc (param i32 i32) (result i32)))
        (memory 1)
        (func (export "leak") (drop (call $alloc (i32.const 100) (i32.const 8))))
        (func (export "damage") (i32.store8 offset=100 (call $alloc (i32.const 100) (i32.const 8)) (i32.const 1))))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).expect("a module");
        let limits = StoreLimits {
            heap: HeapChecks {
                guards: true,
                leaks: true,
            },
            ..StoreLimits::default()
        };
        let mut store = Store::with_limits(&engine, (), limits).expect("a store");
        let instance = Linker::new(&engine)
            .instantiate(&mut store, &module)
            .expect("an instance");
        let [leak, damage] = ["leak", "damage"].map(|name| instance.get_func(&store, name).expect("a function"));
        let end = leak.run(&mut store, 1, &[]).expect("it runs").end;
        assert!(instance.heap_damage(&mut store).expect("it is known").is_none());
        let leaks = instance
            .leaks(&mut store, &end)
            .expect("no error")
            .expect("they are known");
        assert_eq!((leaks.len(), leaks[0].blocks, leaks[0].bytes), (1, 1, 100));
        assert!(instance.leaks(&mut store, &End::TimedOut).expect("no error").is_none());
        damage.call(&mut store, &[]).expect("it returns");
        let fault = instance.heap_damage(&mut store).expect("it is known").expect("damage");
        let heap = fault.heap.expect("a fault of the heap");
        assert_eq!(heap.block.map(|(size, _)| size), Some(100));
        assert_eq!(instance.heap_stats(&mut store).expect("counts").live, 2);
        let memory = instance.memory_use(&mut store).expect("no error").expect("a memory");
        assert!(!memory.refused && memory.size >= 65536);
    }
}
