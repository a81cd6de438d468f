//! Threads that programs spawn: stock programs for `wasm32-wasip1-threads`, and modules that import
//! `wasi.thread-spawn`.

use std::process::Output;

use gpu_run_vm::MOST_SPAWNED;

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, bind, expect, expected, shows_in_order, stats, wasm};

/// Programs that print what they print natively.
const PROGRAMS: [&str; 5] = ["std_threads", "rayon_programs", "executors", "c_pthreads", "unwinding"];

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("spawned/limit", limit as fn(&str) -> Tested),
            ("spawned/room", room),
            ("spawned/told", told),
            ("spawned/frames", frames),
            ("spawned/beside_sleepers", beside_sleepers),
            ("spawned/none_beside_others", none_beside_others),
            ("spawned/c_allocator", c_allocator),
            ("spawned/deadlock", deadlock),
            ("spawned/deadlock/locks", deadlocked_locks),
            ("spawned/deadlock/kernel", deadlocked_kernel),
            ("spawned/panic", panics),
            ("spawned/trap", traps),
            ("spawned/exit", exits),
            ("spawned/return", returns),
            ("spawned/stops", stops),
        ],
    );
    for name in PROGRAMS {
        let test = move || same_as_natively(device, name, &[]);
        tests.push((format!("spawned/{name}"), Box::new(test)));
    }
    for threads in ["1", "3", "40"] {
        let test = move || same_as_natively(device, "rayon_programs", &["--threads", threads]);
        tests.push((format!("spawned/rayon_programs/{threads}"), Box::new(test)));
    }
    for (call, result) in CALLS {
        let test = move || returns_as(device, call, result);
        tests.push((format!("spawned/{}", call.replace(' ', "/")), Box::new(test)));
    }
    tests
}

/// Calls of spawn.wat, and what they return.
const CALLS: [(&str, &str); 10] = [
    ("sum 0", "0"),
    ("sum 1000", "499500"),
    ("again 1000", "1000"),
    ("tree 512", "1023"),
    ("herd 1", "0"),
    ("herd 1000", "0"),
    ("chain 500", "0"),
    ("leave 0 0", "3"),
    ("leave 100 2", "3"),
    ("leave 3 3", "3"),
];

fn run_spawn(device: &str, options: &[&str], call: &str) -> Output {
    let module = wasm("wat", "spawn");
    let mut words = call.split(' ');
    let mut all = options.to_vec();
    all.extend(["--invoke", words.next().unwrap_or_default(), &module]);
    all.extend(words);
    run_on(device, all)
}

fn run_outcome(device: &str, options: &[&str], which: &str) -> Output {
    let module = wasm("wasi-threads", "outcomes");
    let mut all = options.to_vec();
    all.extend([&*module, which]);
    run_on(device, all)
}

fn same_as_natively(device: &str, name: &str, options: &[&str]) -> Tested {
    let module = wasm("wasi-threads", name);
    let mut all = options.to_vec();
    all.extend(["--timeout", "2m", &module]);
    let output = run_on(device, all);
    let native = expected(&format!("wasi-threads/{name}"), "stdout");
    expect(
        output.status.success() && Some(&output.stdout) == native.as_ref(),
        "the program must print what it prints natively",
        &output,
    )
}

fn returns_as(device: &str, call: &str, result: &str) -> Tested {
    let output = run_spawn(device, &["--timeout", "1m"], call);
    expect(
        output.status.success() && text(&output.stdout).trim() == result,
        &format!("{call} must return {result}"),
        &output,
    )
}

/// More threads than there may be are an error that the program sees.
fn limit(device: &str) -> Tested {
    let output = run_outcome(device, &["--timeout", "2m"], "spawn_limit");
    expect(
        output.status.success() && text(&output.stdout) == "true WouldBlock\n",
        "std must return the error",
        &output,
    )
}

/// Interpreted there is room for as many as the library says; compiled, each has a lane.
fn room(device: &str) -> Tested {
    let output = run_spawn(device, &["--timeout", "2m"], "room");
    let found = text(&output.stdout).trim().parse().unwrap_or(0);
    let right = match device {
        "ptx" | "emulator" => (1023..MOST_SPAWNED).contains(&found),
        _ => found == MOST_SPAWNED - 1,
    };
    expect(right, "there must be room for the threads", &output)
}

/// The first frame of threads may be larger than that of the function which spawns them.
fn frames(device: &str) -> Tested {
    const LOCALS: usize = 20_000;
    let mut text = String::from(
        "(module (import \"env\" \"memory\" (memory 1 1 shared))
            (import \"wasi\" \"thread-spawn\" (func $spawn (param i32) (result i32)))
            (func (export \"wasi_thread_start\") (param i32) (param $argument i32) (local $round i32)\n",
    );
    (0..LOCALS).for_each(|i| text += &format!("(local $l{i} i64)\n"));
    // Other threads write to theirs meanwhile.
    text += "(loop $again\n";
    for i in (0..LOCALS).step_by(97) {
        text += &format!("(local.set $l{i} (i64.add (local.get $l{i}) (i64.extend_i32_u (local.get $argument))))\n");
    }
    text += "(drop (memory.atomic.wait32 (i32.const 8) (i32.const 0) (i64.const 1000)))
        (br_if $again (i32.lt_u (local.tee $round (i32.add (local.get $round) (i32.const 1))) (i32.const 20))))\n";
    let last = (LOCALS - 1) / 97 * 97;
    text += &format!(
        "(drop (i64.atomic.rmw.add (i32.const 16) (i64.add (local.get $l0) (local.get $l{last}))))
        (drop (i32.atomic.rmw.add (i32.const 0) (i32.const 1)))
        (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))
        (func (export \"sum\") (param $count i32) (result i64) (local $i i32) (local $seen i32)
            (loop $again
                (drop (call $spawn (local.tee $i (i32.add (local.get $i) (i32.const 1)))))
                (br_if $again (i32.lt_u (local.get $i) (local.get $count))))
            (loop $again
                (local.set $seen (i32.atomic.load (i32.const 0)))
                (if (i32.ne (local.get $seen) (local.get $count)) (then
                    (drop (memory.atomic.wait32 (i32.const 0) (local.get $seen) (i64.const -1)))
                    (br $again))))
            (i64.load (i32.const 16))))"
    );
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("frames.wat");
    std::fs::write(&file, text)?;
    let file = file.display().to_string();
    let output = run_on(device, ["--timeout", "1m", "--invoke", "sum", &file, "24"]);
    expect(
        output.status.success() && text_of(&output) == "12000",
        "2 * 20 * (1 + ... + 24)",
        &output,
    )
}

/// What was printed, without the newline.
fn text_of(output: &Output) -> String {
    text(&output.stdout).trim().to_owned()
}

/// Two threads take turns beside many that wait until a time: they are not looked at in each turn.
fn beside_sleepers(device: &str) -> Tested {
    let output = run_spawn(device, &["--timeout", "1m"], "sleepers 1500");
    expect(
        output.status.success() && text_of(&output) == "0",
        "it must end soon",
        &output,
    )
}

/// A function that several threads enter spawns none, and is told so.
fn none_beside_others(device: &str) -> Tested {
    let module = wasm("wat", "spawn");
    let output = run_on(
        device,
        ["--timeout", "1m", "--threads", "64", "--invoke", "refused", &module],
    );
    expect(
        output.status.success() && text_of(&output) == "Result: -6",
        "thread-spawn must return the error",
        &output,
    )
}

/// How many threads there were is told.
fn told(device: &str) -> Tested {
    let output = run_spawn(device, &["--stats", "--timeout", "1m"], "again 10");
    shows_in_order(&output, &["threads: 10 spawned, at most "])
}

/// C's allocator is replaced in builds for threads too: blocks are the heap's.
fn c_allocator(device: &str) -> Tested {
    let module = wasm("wasi-threads", "c_pthreads");
    let output = run_on(device, ["--stats=json", "--timeout", "1m", &module]);
    let allocated = stats(&output)?["heap"]["allocated"].as_u64();
    expect(
        output.status.success() && allocated.is_some_and(|blocks| blocks > 100),
        "blocks must be of the heap",
        &output,
    )
}

fn ended(output: &Output, code: i32) -> Tested {
    expect(
        output.status.code() == Some(code),
        &format!("it must end with {code}"),
        output,
    )
}

/// A deadlock is found at once, and told with the places.
fn deadlock(device: &str) -> Tested {
    let output = run_spawn(device, &["--timeout", "1m"], "stay 50 2");
    ended(&output, 134)?;
    let message = "error: trap: deadlock: every thread waits, and none is left to wake another (thread 0)";
    shows_in_order(&output, &[message, "0: await", "1: stay", "50 threads wait in start"])
}

fn deadlocked_locks(device: &str) -> Tested {
    for which in ["locks", "receiver"] {
        let output = run_outcome(device, &["--timeout", "1m"], which);
        ended(&output, 134)?;
        let parts = ["error: trap: deadlock: ", "outcomes::main", "called by"];
        shows_in_order(&output, &parts)?;
    }
    Ok(())
}

/// The same of threads that a run begins with.
fn deadlocked_kernel(device: &str) -> Tested {
    let module = wasm("wat", "threads");
    let output = run_on(
        device,
        ["--timeout", "1m", "--threads", "64", "--invoke", "forever", &module],
    );
    ended(&output, 134)?;
    shows_in_order(&output, &["error: trap: deadlock: ", "63 threads wait in forever"])
}

/// A panic that aborts ends the process.
fn panics(device: &str) -> Tested {
    let output = run_outcome(device, &["--timeout", "1m"], "panic");
    ended(&output, 134)?;
    shows_in_order(&output, &["thread 'worker'", "no luck"])
}

fn traps(device: &str) -> Tested {
    let output = run_outcome(device, &["--timeout", "1m"], "trap");
    ended(&output, 134)?;
    shows_in_order(&output, &["error: trap: unreachable (thread ", "outcomes::main"])
}

/// A thread ends the process while others wait, and its first thread too.
fn exits(device: &str) -> Tested {
    ended(&run_outcome(device, &["--timeout", "1m"], "exit"), 7)?;
    ended(&run_spawn(device, &["--timeout", "1m"], "stay 40 4"), 9)
}

fn returns(device: &str) -> Tested {
    ended(&run_outcome(device, &["--timeout", "1m"], "return"), 0)
}

/// A time limit ends threads that wait and threads that loop.
fn stops(device: &str) -> Tested {
    let output = run_outcome(device, &["--timeout", "1s"], "sleep");
    ended(&output, 124)?;
    shows_in_order(
        &output,
        &[
            "50 threads wait in",
            "1 thread sleeps in std::thread::functions::sleep, called by outcomes::main",
        ],
    )?;
    let output = run_spawn(device, &["--timeout", "1s"], "stay 3 3");
    ended(&output, 124)?;
    shows_in_order(&output, &["3 threads run in start", "1 thread waits in await"])
}
