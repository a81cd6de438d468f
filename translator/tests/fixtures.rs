//! Runs the fixtures in another engine after each pass. What they print and how they end must not
//! change, and must be what the same source does natively. Inlining must keep to its rule.

use std::path::{Path, PathBuf};

use gpu_run_translator::inline::{InlineOptions, inline, remove_dead};
use gpu_run_translator::module::Module;
use gpu_run_translator::rewrite::{RewriteError, RewriteOptions, Status, rewrite};
use gpu_run_translator::{BrTables, replace_legacy_exceptions};
use wasmi::{Caller, Engine, Error, Extern, Linker, Memory, Store, Val, ValType};
use wasmparser::{Validator, WasmFeatures};

/// What a program did.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    stdout: String,
    stderr: String,
    exit: i32,
}

/// The other engine's side: streams, and a heap that grows the guest's memory.
#[derive(Default)]
struct Host {
    streams: [Vec<u8>; 3],
    clock: i64,
    heap: u32,
    heap_end: u32,
    live: i64,
    /// What `ld_in` reads.
    input: Vec<u8>,
}

fn memory(caller: &mut Caller<'_, Host>) -> Memory {
    caller
        .get_export("memory")
        .and_then(Extern::into_memory)
        .expect("the guest's memory")
}

fn alloc(caller: &mut Caller<'_, Host>, size: i32, align: i32) -> i32 {
    let (size, align) = (size as u32, align as u32);
    assert!(align.is_power_of_two(), "alignment {align}");
    let memory = memory(caller);
    let heap = caller.data().heap.next_multiple_of(align);
    let Some(end) = heap.checked_add(size).filter(|end| *end < 1 << 30) else {
        return 0;
    };
    if end > caller.data().heap_end || caller.data().heap == 0 {
        let pages = u64::from(size.div_ceil(65_536) + 16);
        let old = memory.grow(&mut *caller, pages).expect("room to grow");
        let start = (old * 65_536) as u32;
        if start != caller.data().heap_end {
            caller.data_mut().heap = start.next_multiple_of(align);
        }
        caller.data_mut().heap_end = ((old + pages) * 65_536) as u32;
    }
    let heap = caller.data().heap.next_multiple_of(align);
    caller.data_mut().heap = heap + size;
    caller.data_mut().live += i64::from(size);
    heap as i32
}

fn linker(engine: &Engine) -> Linker<Host> {
    let mut l = Linker::new(engine);
    let ok = "each name is defined once";
    l.func_wrap(
        M,
        "print",
        |mut c: Caller<'_, Host>, stream: i32, ptr: i32, len: i32| {
            let memory = memory(&mut c);
            let bytes = memory.data(&c)[ptr as u32 as usize..][..len as u32 as usize].to_vec();
            c.data_mut().streams[stream as usize].extend(bytes);
        },
    )
    .expect(ok);
    l.func_wrap(M, "print_end", |_: i32| {}).expect(ok);
    link_messages(&mut l);
    l.func_wrap(M, "alloc", |mut c: Caller<'_, Host>, size: i32, align: i32| {
        let ptr = alloc(&mut c, size, align);
        if ptr != 0 {
            // Fresh memory has no promised contents.
            let memory = memory(&mut c);
            memory.data_mut(&mut c)[ptr as u32 as usize..][..size as u32 as usize].fill(0xa5);
        }
        ptr
    })
    .expect(ok);
    l.func_wrap(M, "alloc_zero", |mut c: Caller<'_, Host>, size: i32, align: i32| {
        alloc(&mut c, size, align)
    })
    .expect(ok);
    l.func_wrap(
        M,
        "dealloc",
        |mut c: Caller<'_, Host>, _: i32, size: i32, align: i32| {
            assert!((align as u32).is_power_of_two(), "alignment {align}");
            c.data_mut().live -= i64::from(size as u32);
            assert!(c.data().live >= 0, "more is freed than was allocated");
        },
    )
    .expect(ok);
    l.func_wrap(
        M,
        "realloc",
        |mut c: Caller<'_, Host>, ptr: i32, old: i32, align: i32, new: i32| {
            let moved = alloc(&mut c, new, align);
            if moved != 0 {
                let memory = memory(&mut c);
                let kept = (old as u32).min(new as u32) as usize;
                let from = ptr as u32 as usize;
                memory
                    .data_mut(&mut c)
                    .copy_within(from..from + kept, moved as u32 as usize);
                c.data_mut().live -= i64::from(old as u32);
            }
            moved
        },
    )
    .expect(ok);
    l.func_wrap(M, "time", |mut c: Caller<'_, Host>| {
        c.data_mut().clock += 1_000;
        c.data().clock
    })
    .expect(ok);
    l.func_wrap(M, "wall_time", |mut c: Caller<'_, Host>| {
        c.data_mut().clock += 1_000;
        1_800_000_000_000_000_000 + c.data().clock
    })
    .expect(ok);
    l.func_wrap(M, "sleep", |mut c: Caller<'_, Host>, nanos: i64| {
        c.data_mut().clock += nanos;
    })
    .expect(ok);
    l.func_wrap(M, "memcmp", |mut c: Caller<'_, Host>, a: i32, b: i32, len: i32| {
        let memory = memory(&mut c);
        let at = |p: i32| &memory.data(&c)[p as u32 as usize..][..len as u32 as usize];
        at(a).cmp(at(b)) as i32
    })
    .expect(ok);
    l.func_wrap(M, "panic_exit", || Err::<(), _>(Error::i32_exit(101)))
        .expect(ok);
    l.func_wrap(M, "exit", |code: i32| Err::<(), _>(Error::i32_exit(code)))
        .expect(ok);
    link_buffers(&mut l);
    link_batches(&mut l);
    link_instructions(&mut l);
    l.func_wrap(M, "gid", || 0i32).expect(ok);
    l.func_wrap(M, "thread_count", || 1i32).expect(ok);
    l
}

const M: &str = "gpu_run_v1";

/// Debug messages, as `gpu-run` shows them.
fn link_messages(l: &mut Linker<Host>) {
    let ok = "each name is defined once";
    let say = |c: &mut Caller<'_, Host>, ptr: i32, len: i32| {
        let memory = memory(c);
        let bytes = memory.data(&*c)[ptr as u32 as usize..][..len as u32 as usize].to_vec();
        c.data_mut().streams[2].extend(bytes);
    };
    l.func_wrap(M, "dbg_wanted", |_: i32| 1).expect(ok);
    l.func_wrap(
        M,
        "dbg_level",
        move |mut c: Caller<'_, Host>, level: i32, file: i32, len: i32, line: i32| {
            let name = ["DEBUG", "INFO", "WARN", "ERROR"][level as usize];
            c.data_mut().streams[2].extend(format!("[{name} ").bytes());
            say(&mut c, file, len);
            c.data_mut().streams[2].extend(format!(":{line}] ").bytes());
        },
    )
    .expect(ok);
    l.func_wrap(M, "dbg_str", move |mut c: Caller<'_, Host>, ptr: i32, len: i32| {
        say(&mut c, ptr, len);
    })
    .expect(ok);
    macro_rules! values {
        ($($name:literal $ty:ty: $shown:expr;)*) => {
            $(l.func_wrap(M, $name, |mut c: Caller<'_, Host>, value: $ty| {
                let show: fn($ty) -> String = $shown;
                c.data_mut().streams[2].extend(show(value).bytes());
            }).expect(ok);)*
        };
    }
    values! {
        "dbg_i32" i32: |value| value.to_string(); "dbg_u32" i32: |value| (value as u32).to_string();
        "dbg_i64" i64: |value| value.to_string(); "dbg_u64" i64: |value| (value as u64).to_string();
        "dbg_f32" f32: |value| value.to_string(); "dbg_f64" f64: |value| value.to_string();
        "dbg_bool" i32: |value| (value != 0).to_string();
        "dbg_char" i32: |value| char::from_u32(value as u32).expect("a scalar value").to_string();
    }
    l.func_wrap(M, "dbg_nl", |mut c: Caller<'_, Host>| {
        c.data_mut().streams[2].push(b'\n')
    })
    .expect(ok);
}

/// Many blocks at once.
fn link_batches(l: &mut Linker<Host>) {
    let ok = "each name is defined once";
    l.func_wrap(
        M,
        "alloc_batch",
        |mut c: Caller<'_, Host>, size: i32, align: i32, to: i32, count: i32| {
            for i in 0..count {
                let block = alloc(&mut c, size, align);
                assert!(block != 0, "there is room");
                let memory = memory(&mut c);
                memory.data_mut(&mut c)[(to + 4 * i) as u32 as usize..][..4].copy_from_slice(&block.to_le_bytes());
            }
            count
        },
    )
    .expect(ok);
    l.func_wrap(
        M,
        "dealloc_batch",
        |mut c: Caller<'_, Host>, size: i32, _: i32, _: i32, count: i32| {
            c.data_mut().live -= i64::from(size) * i64::from(count);
        },
    )
    .expect(ok);
}

/// An input, and neither output nor frame.
fn link_buffers(l: &mut Linker<Host>) {
    let ok = "each name is defined once";
    l.func_wrap(M, "in_size", |c: Caller<'_, Host>| c.data().input.len() as i64)
        .expect(ok);
    l.func_wrap(M, "ld_in", |mut c: Caller<'_, Host>, at: i64, to: i32, len: i32| {
        let start = (at as u64).min(c.data().input.len() as u64) as usize;
        let end = (start + len as u32 as usize).min(c.data().input.len());
        let bytes = c.data().input[start..end].to_vec();
        let memory = memory(&mut c);
        memory.data_mut(&mut c)[to as u32 as usize..][..bytes.len()].copy_from_slice(&bytes);
        bytes.len() as i32
    })
    .expect(ok);
    l.func_wrap(M, "out_size", || 0i64).expect(ok);
    l.func_wrap(M, "st_out", |_: i64, _: i32, _: i32| 0i32).expect(ok);
    l.func_wrap(M, "frame_size", || 0i64).expect(ok);
    l.func_wrap(M, "set_pixel", |_: i32, _: i32, _: i32| {}).expect(ok);
}

/// WebAssembly's own instructions that modules import: one thread needs no atomics for them.
fn link_instructions(l: &mut Linker<Host>) {
    let ok = "each name is defined once";
    macro_rules! floats {
        ($($name:literal $ty:ident $method:ident)*) => {
            // The canonical NaN, which the optimizer must not take for any other.
            $(l.func_wrap(M, $name, |x: $ty| match x.$method() {
                y if y.is_nan() => std::hint::black_box($ty::NAN),
                y => y,
            }).expect(ok);)*
        };
    }
    floats! {
        "f32.sqrt" f32 sqrt "f32.floor" f32 floor "f32.ceil" f32 ceil "f32.trunc" f32 trunc
        "f32.nearest" f32 round_ties_even
        "f64.sqrt" f64 sqrt "f64.floor" f64 floor "f64.ceil" f64 ceil "f64.trunc" f64 trunc
        "f64.nearest" f64 round_ties_even
    }
    macro_rules! atomics {
        ($prefix:literal $ty:ident $bytes:literal: $($name:literal $change:expr;)*) => {
            // Each returns the old value, and stores what the function makes of it and the operand.
            $(l.func_wrap(M, concat!($prefix, ".atomic.", $name), |mut c: Caller<'_, Host>, at: i32, value: $ty| {
                let change: fn($ty, $ty) -> $ty = $change;
                exchange(&mut c, at, |old: [u8; $bytes]| change($ty::from_le_bytes(old), value).to_le_bytes(), $ty::from_le_bytes)
            }).expect(ok);)*
            l.func_wrap(M, concat!($prefix, ".atomic.load"), |mut c: Caller<'_, Host>, at: i32| {
                exchange(&mut c, at, |old: [u8; $bytes]| old, $ty::from_le_bytes)
            }).expect(ok);
            l.func_wrap(M, concat!($prefix, ".atomic.store"), |mut c: Caller<'_, Host>, at: i32, value: $ty| {
                exchange(&mut c, at, |_: [u8; $bytes]| value.to_le_bytes(), |_| ());
            }).expect(ok);
            l.func_wrap(M, concat!($prefix, ".atomic.rmw.cmpxchg"), |mut c: Caller<'_, Host>, at: i32, expected: $ty, new: $ty| {
                let change = |old: [u8; $bytes]| if $ty::from_le_bytes(old) == expected { new.to_le_bytes() } else { old };
                exchange(&mut c, at, change, $ty::from_le_bytes)
            }).expect(ok);
        };
    }
    // Of 128-bit integers: the upper half of a product, and a quotient of 64 bits.
    l.func_wrap(M, "i64.mul_hi_u", |a: i64, b: i64| {
        ((u128::from(a as u64) * u128::from(b as u64)) >> 64) as i64
    })
    .expect(ok);
    l.func_wrap(M, "i64.div_wide_u", |high: i64, low: i64, divisor: i64| {
        let (high, low, divisor) = (high as u64, low as u64, divisor as u64);
        match high < divisor {
            true => (((u128::from(high) << 64) | u128::from(low)) / u128::from(divisor)) as i64,
            false => -1,
        }
    })
    .expect(ok);
    l.func_wrap(M, "atomic_add", |mut c: Caller<'_, Host>, at: i32, value: i32| {
        let add = |old| i32::from_le_bytes(old).wrapping_add(value).to_le_bytes();
        exchange(&mut c, at, add, i32::from_le_bytes)
    })
    .expect(ok);
    l.func_wrap(M, "atomic_inc", |mut c: Caller<'_, Host>, at: i32| {
        let add = |old| i32::from_le_bytes(old).wrapping_add(1).to_le_bytes();
        exchange(&mut c, at, add, i32::from_le_bytes)
    })
    .expect(ok);
    atomics! { "i32" i32 4:
        "rmw.add" |old, value| old.wrapping_add(value); "rmw.sub" |old, value| old.wrapping_sub(value);
        "rmw.and" |old, value| old & value; "rmw.or" |old, value| old | value;
        "rmw.xor" |old, value| old ^ value; "rmw.xchg" |_, value| value;
    }
    atomics! { "i64" i64 8:
        "rmw.add" |old, value| old.wrapping_add(value); "rmw.sub" |old, value| old.wrapping_sub(value);
        "rmw.and" |old, value| old & value; "rmw.or" |old, value| old | value;
        "rmw.xor" |old, value| old ^ value; "rmw.xchg" |_, value| value;
    }
}

/// Changes bytes of memory, and returns the old ones.
fn exchange<const N: usize, T>(
    caller: &mut Caller<'_, Host>,
    at: i32,
    change: impl Fn([u8; N]) -> [u8; N],
    value: impl Fn([u8; N]) -> T,
) -> T {
    let memory = memory(caller);
    let place = &mut memory.data_mut(caller)[at as u32 as usize..][..N];
    let old = <[u8; N]>::try_from(&*place).expect("N bytes");
    place.copy_from_slice(&change(old));
    value(old)
}

/// Runs `main`; a trap is exit code 134. The engine keeps its own state on the stack.
fn run(wasm: &[u8]) -> Outcome {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1 << 29);
        let thread = thread.spawn_scoped(scope, || run_here(wasm)).expect("a thread");
        thread.join().expect("the engine does not panic")
    })
}

fn run_here(wasm: &[u8]) -> Outcome {
    let engine = Engine::default();
    let module = wasmi::Module::new(&engine, wasm).expect("another engine takes the module");
    // Only one of the fixtures reads an input.
    let input = std::fs::read(fixtures().join("rust/saxpy/input.bin")).expect("an input");
    let host = Host {
        input,
        ..Host::default()
    };
    let mut store = Store::new(&engine, host);
    let instance = linker(&engine)
        .instantiate_and_start(&mut store, &module)
        .expect("it instantiates");
    let main = instance
        .get_typed_func::<(i32, i32), i32>(&store, "main")
        .expect("a main");
    let exit = match main.call(&mut store, (0, 0)) {
        Ok(code) => code,
        Err(error) => error.i32_exit_status().unwrap_or(134),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let streams = &store.data().streams;
    Outcome {
        stdout: text(&streams[1]),
        stderr: text(&streams[2]),
        exit,
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// What the same source did natively; `None` if there is no such file (it does not end).
fn expected(name: &str) -> Option<Outcome> {
    let read = |kind: &str| std::fs::read_to_string(fixtures().join(format!("expected/{name}.{kind}")));
    let exit = read("exit").ok()?.trim().parse().expect("a number");
    Some(Outcome {
        stdout: read("stdout").ok()?,
        stderr: read("stderr").unwrap_or_default(),
        exit,
    })
}

/// The thread's number is another one natively.
fn mask_thread(stderr: &str) -> String {
    stderr.replace("thread 'main' (0) panicked", "thread 'main' (N) panicked")
}

/// Programs that this engine cannot run.
const SKIPPED: &[(&str, &str)] = &[
    ("gpu_threads", "the engine has no threads"),
    ("infinite_loop", "never ends"),
    ("spmd", "needs many threads"),
    ("std_files", "the engine knows no WASI"),
    ("stderr", "it asks WASI whether it is a terminal"),
    ("tasks", "the engine has no instructions by which threads wait"),
    ("tcp", "the engine knows no WASI"),
    ("unwind", "the engine knows no exceptions"),
    ("stack_overflow", "how deep the stack is depends on the engine"),
];

/// Fixtures in which link-time optimization has removed a text to stderr before we see it, because
/// std's own stderr does nothing on this target; or in which it has split the static that holds the
/// hook, so that the default message comes first.
const NO_STDERR: &[(&str, &str)] = &[("lto", "panic"), ("lto", "panic_hook"), ("lto", "panic_in_hook")];

/// Fixtures that must be refused: the optimizer has removed their code.
const REFUSED: &[(&str, &str)] = &[("lto", "process_exit"), ("lto", "time")];

fn check_profile(profile: &str) {
    let dir = fixtures().join("wasm").join(profile);
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .expect("fixtures are checked in")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "wasm"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no fixtures in {}", dir.display());
    let mut failures = Vec::new();
    for path in paths {
        let name = path
            .file_stem()
            .and_then(|s| s.to_str())
            .expect("a plain name")
            .to_owned();
        let Some(expected) = expected(&name) else { continue };
        if SKIPPED.iter().any(|(skipped, _)| *skipped == name) {
            continue;
        }
        let bytes = std::fs::read(&path).expect("readable");
        if REFUSED.contains(&(profile, name.as_str())) {
            let mut module = Module::parse(&bytes).expect("a valid module");
            let error = rewrite(&mut module, &RewriteOptions::default());
            assert!(
                matches!(error, Err(RewriteError::Folded { .. })),
                "{profile}/{name}: {error:?}"
            );
            continue;
        }
        let lost_stderr = NO_STDERR.contains(&(profile, name.as_str()));
        if let Err(why) = check(&bytes, &expected, lost_stderr) {
            failures.push(format!("{profile}/{name}: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(bytes: &[u8], expected: &Outcome, lost_stderr: bool) -> Result<(), String> {
    let mut module = Module::parse(bytes).map_err(|e| e.to_string())?;
    rewrite(&mut module, &RewriteOptions::default()).map_err(|e| format!("refused: {e}"))?;
    let rewritten = run(&module.encode());
    let expected = match lost_stderr {
        true => &Outcome {
            stderr: mask_thread(&rewritten.stderr),
            ..expected.clone()
        },
        false => expected,
    };
    compare("rewrite", &rewritten, expected)?;
    inline(&mut module, &InlineOptions::default());
    compare("inline", &run(&module.encode()), expected)?;
    remove_dead(&mut module);
    compare("remove_dead", &run(&module.encode()), expected)
}

fn compare(pass: &str, got: &Outcome, expected: &Outcome) -> Result<(), String> {
    let first_difference = |got: &str, want: &str| {
        let mut lines = got.lines().zip(want.lines());
        match lines.find(|(got, want)| got != want) {
            Some((got, want)) => format!("`{got}` instead of `{want}`"),
            None => format!("{} bytes instead of {}", got.len(), want.len()),
        }
    };
    if got.stdout != expected.stdout {
        let what = first_difference(&got.stdout, &expected.stdout);
        return Err(format!("after {pass}: stdout: {what}; stderr: {}", got.stderr));
    }
    if mask_thread(&got.stderr) != expected.stderr {
        let what = first_difference(&mask_thread(&got.stderr), &expected.stderr);
        return Err(format!("after {pass}: stderr: {what}"));
    }
    match got.exit == expected.exit {
        true => Ok(()),
        false => Err(format!("after {pass}: exit {} instead of {}", got.exit, expected.exit)),
    }
}

/// Std's patterns are found in a program that catches its panics too, and every stage is valid.
#[test]
fn unwinding() {
    let features = WasmFeatures::default() - WasmFeatures::LEGACY_EXCEPTIONS;
    let validate = |module: &Module<'_>| Validator::new_with_features(features).validate_all(&module.encode());
    let bytes = std::fs::read(fixtures().join("wasm/release/unwind.wasm")).expect("checked in");
    let unchanged = Validator::new_with_features(features).validate_all(&bytes);
    assert!(unchanged.is_err(), "rustc emits the legacy form");
    let tables = BrTables::default();
    let mut module = Module::parse(&bytes).expect("a valid module");
    replace_legacy_exceptions(&mut module, &tables);
    validate(&module).expect("valid in the standard form");
    let report = rewrite(&mut module, &RewriteOptions::default()).expect("it is not refused");
    for pattern in ["print", "panic", "allocator"] {
        assert_eq!(report.status(pattern), Some(&Status::Found), "{pattern}");
    }
    assert_eq!(report.warnings, [] as [String; 0]);
    validate(&module).expect("valid after rewrite");
    inline(&mut module, &InlineOptions::default());
    remove_dead(&mut module);
    validate(&module).expect("valid after inline");
}

#[test]
fn release() {
    check_profile("release");
}

#[test]
fn lto() {
    check_profile("lto");
}

#[test]
fn size() {
    check_profile("size");
}

#[test]
fn debug() {
    check_profile("debug");
}

#[test]
fn dwarf() {
    check_profile("dwarf");
}

/// Every module of the fixtures, with its path.
fn modules() -> Vec<(String, Vec<u8>)> {
    let folders = std::fs::read_dir(fixtures().join("wasm")).expect("fixtures are checked in");
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.expect("readable").path()).expect("a folder"));
    let mut paths: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    paths.sort();
    assert!(paths.len() > 90, "{} modules", paths.len());
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).expect("readable"));
    paths.into_iter().map(read).collect()
}

/// std's answer to what it does not have is in no module whose program does not ask for it, or has WASI.
#[test]
fn few_lack_their_platform() {
    let options = RewriteOptions {
        refuse_folded: false,
        ..RewriteOptions::default()
    };
    let tables = BrTables::default();
    let lacks = |bytes: &[u8]| {
        let mut module = Module::parse(bytes).expect("a valid module");
        replace_legacy_exceptions(&mut module, &tables);
        rewrite(&mut module, &options).expect("not refused").lacks_platform
    };
    let found: Vec<String> = modules()
        .into_iter()
        .filter(|(_, bytes)| lacks(bytes))
        .map(|(path, _)| path)
        .collect();
    assert!(
        matches!(&found[..], [path] if path.ends_with("rustc-1.63/files.wasm")),
        "{found:?}"
    );
}

/// After inlining a module is valid and within the limit of its growth, whatever that is.
#[test]
fn inlining_keeps_to_its_rule() {
    for (path, bytes) in modules() {
        for growth in [None, Some((0, 0)), Some((0, 100)), Some((5, 0))] {
            let mut options = InlineOptions::default();
            if let Some((percent, base)) = growth {
                (options.growth_percent, options.growth_base) = (percent, base);
            }
            let tables = BrTables::default();
            let mut module = Module::parse(&bytes).expect("a valid module");
            replace_legacy_exceptions(&mut module, &tables);
            let report = inline(&mut module, &options);
            let limit = report.instrs_before + options.growth_limit(report.instrs_before);
            assert!(report.instrs_after <= limit, "{path}, {growth:?}: {report:?}");
            remove_dead(&mut module);
            let code: usize = module.funcs.iter().map(|func| func.instrs().count()).sum();
            assert_eq!(
                code as u64, report.instrs_after,
                "{path}: the report counts what is left"
            );
            Validator::new_with_features(WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS | WasmFeatures::THREADS)
                .validate_all(&module.encode())
                .unwrap_or_else(|error| panic!("{path}, {growth:?}: {error}"));
        }
    }
}

/// Arguments that make sense for every function of the fixtures: small numbers.
fn arguments(ty: &wasmi::FuncType, round: usize) -> Vec<Val> {
    let number = |i: usize| [[3, 2, 5, 1], [0, 7, 1, 4], [9, 1, 2, 2]][round][i % 4];
    let value = |(i, ty): (usize, &ValType)| match ty {
        ValType::I32 => Val::I32(number(i)),
        ValType::I64 => Val::I64(number(i).into()),
        ValType::F32 => Val::F32((number(i) as f32).into()),
        ValType::F64 => Val::F64(f64::from(number(i)).into()),
        other => panic!("no argument of type {other:?}"),
    };
    ty.params().iter().enumerate().map(value).collect()
}

/// What each export of a module returns, in an instance of its own, and the memory afterwards.
fn results(wasm: &[u8]) -> Vec<String> {
    let mut config = wasmi::Config::default();
    config.consume_fuel(true);
    let engine = Engine::new(&config);
    let module = wasmi::Module::new(&engine, wasm).expect("another engine takes the module");
    let mut all = Vec::new();
    let exports = module
        .exports()
        .filter_map(|export| Some((export.name(), export.ty().func()?.clone())));
    for (name, ty) in exports {
        for round in 0..3 {
            let mut store = Store::new(&engine, Host::default());
            // Some fixtures recurse or loop without end.
            store.set_fuel(5_000_000).expect("fuel is on");
            let instance = linker(&engine)
                .instantiate_and_start(&mut store, &module)
                .expect("it instantiates");
            let func = instance.get_func(&store, name).expect("an export");
            let mut values: Vec<Val> = ty.results().iter().map(|ty| Val::default_for_ty(*ty)).collect();
            let result = match func.call(&mut store, &arguments(&ty, round), &mut values) {
                Ok(()) => format!("{values:?}"),
                // How far it got before the fuel was used up depends on the calls.
                Err(error) => match error.as_trap_code() {
                    Some(wasmi::TrapCode::OutOfFuel | wasmi::TrapCode::StackOverflow) => continue,
                    code => format!("{code:?}"),
                },
            };
            let memory = instance
                .get_memory(&store, "memory")
                .map(|memory| memory.data(&store).to_vec());
            let memory = memory.map(|bytes| {
                bytes
                    .iter()
                    .fold(0u64, |hash, byte| hash.rotate_left(5) ^ u64::from(*byte))
            });
            all.push(format!("{name} {round}: {result} {memory:?}"));
        }
    }
    all
}

/// Modules that other tests do not run give the same before and after inlining.
#[test]
fn inlining_keeps_results() {
    let mut compared = 0;
    for (path, bytes) in modules() {
        if !path.contains("/wat/") && !path.contains("/c/") {
            continue;
        }
        let mut module = Module::parse(&bytes).expect("a valid module");
        // The other engine has no atomics.
        let atomics = ["threads.wasm", "unshared.wasm"]
            .iter()
            .any(|name| path.ends_with(name));
        if !module.imports.is_empty() || atomics {
            // Those with imports lean on the device's heap in ways that only the device answers.
            continue;
        }
        inline(&mut module, &InlineOptions::default());
        remove_dead(&mut module);
        let (before, after) = (results(&bytes), results(&module.encode()));
        assert_eq!(before, after, "{path}");
        compared += before.len();
    }
    assert!(compared > 100, "{compared} results");
}
