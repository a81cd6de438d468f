//! Calls that go deep: stacks that overflow, limits, and backtraces after a recursion.

use crate::common::{run_on, text};
use crate::support::{Tested, Tests, bind, expect, wasm};

/// The tests of an engine.
pub fn tests(device: &'static str) -> Tests {
    let mut tests = bind(
        device,
        [
            ("max_call_depth", max_call_depth as fn(&str) -> Tested),
            ("deep_recursion", deep_recursion),
            ("fuel", fuel),
        ],
    );
    for profile in ["release", "debug"] {
        tests.push((
            format!("stack_overflow_is_named/{profile}"),
            Box::new(move || stack_overflow(device, profile)),
        ));
    }
    for depth in ["1", "200"] {
        tests.push((
            format!("backtrace_after_recursion/{depth}"),
            Box::new(move || backtrace_after_recursion(device, depth)),
        ));
    }
    tests
}

/// Whether frames or the stack in linear memory run out first, the message says stack.
fn stack_overflow(device: &str, profile: &str) -> Tested {
    let output = run_on(device, [&wasm(profile, "stack_overflow")]);
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("stack overflow") || stderr.contains("call stack exhausted"),
        "the message must say why",
        &output,
    )
}

/// As many calls as the limit says may be open, and not one more.
fn max_call_depth(device: &str) -> Tested {
    let run = |limit: &str, name: &str, args: &[&str]| {
        let module = if name == "even" { "mutual" } else { "indirect_recursion" };
        let (options, module) = (["--max-call-depth", limit], wasm("wat", module));
        run_on(device, options.iter().chain(&["--invoke", name, &module]).chain(args))
    };
    // even(n) opens n + 1 calls; count(0, n) opens two for each step, and two for the last.
    for (limit, name, fits, too_deep) in [
        ("1", "even", &["0"][..], &["1"][..]),
        ("1000", "even", &["999"], &["1000"]),
        ("1000", "count", &["0", "499"], &["0", "500"]),
    ] {
        let output = run(limit, name, fits);
        expect(
            output.status.success(),
            &format!("{name} {fits:?} must fit into {limit} calls"),
            &output,
        )?;
        let output = run(limit, name, too_deep);
        expect(
            output.status.code() == Some(134) && text(&output.stderr).contains("trap: call stack exhausted"),
            &format!("{name} {too_deep:?} must not fit into {limit} calls"),
            &output,
        )?;
    }
    Ok(())
}

/// What a call needs is found on the CPU. With that it ends on every engine, for all threads; with less it traps.
fn fuel(device: &str) -> Tested {
    let run = |device: &str, fuel: u64, options: &[&str], call: [&str; 3]| {
        let [name, module, arg] = call;
        let (fuel, module) = (fuel.to_string(), wasm("wat", module));
        let words = ["--fuel", &fuel, "--invoke", name, &module, arg];
        run_on(device, options.iter().copied().chain(words))
    };
    for call in [["phases", "loops", "100"], ["even", "mutual", "50"]] {
        // The first that suffices lies in this range.
        let (mut too_few, mut enough) = (0, 1 << 20);
        while enough - too_few > 1 {
            let half = (enough + too_few) / 2;
            match run("cpu", half, &[], call).status.success() {
                true => enough = half,
                false => too_few = half,
            }
        }
        for options in [&[][..], &["--threads", "64"]] {
            let output = run(device, enough, options, call);
            expect(
                output.status.success(),
                &format!("{call:?} needs {enough} units"),
                &output,
            )?;
            let output = run(device, too_few, options, call);
            expect(
                output.status.code() == Some(134) && text(&output.stderr).contains("trap: out of fuel"),
                &format!("{call:?} needs more than {too_few} units"),
                &output,
            )?;
        }
    }
    Ok(())
}

/// Frames beyond the first segments of registers, and of compiled code beyond the native stack: down to the depth limit, and
/// a trap beyond it.
fn deep_recursion(device: &str) -> Tested {
    let depth = |n: &str| run_on(device, ["--invoke", "even", &wasm("wat", "mutual"), n]);
    let output = depth("90001");
    expect(text(&output.stdout).trim() == "0", "90,001 calls must fit", &output)?;
    let output = depth("100001");
    expect(output.status.code() == Some(134), "100,002 calls must not fit", &output)?;
    expect(
        text(&output.stderr).contains("call stack exhausted"),
        "the message must say why",
        &output,
    )?;
    expect(
        text(&output.stderr).contains("more calls"),
        "the backtrace must be cut",
        &output,
    )
}

/// A recursion that is deeper than a backtrace has returned: the calls around it are still known.
fn backtrace_after_recursion(device: &str, depth: &str) -> Tested {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join("module.wat");
    // None of them is inlined, because each may come back to itself.
    let source = "(module
        (func $recurse (param $n i32)
          (if (local.get $n) (then (call $recurse (i32.sub (local.get $n) (i32.const 1))))))
        (func $inner (param $n i32)
          (if (i32.eq (local.get $n) (i32.const -1)) (then (call $outer (local.get $n))))
          (call $recurse (local.get $n))
          unreachable)
        (func $outer (export \"outer\") (param $n i32)
          (call $inner (local.get $n))))";
    std::fs::write(&module, source)?;
    let output = run_on(device, ["--invoke", "outer", &module.display().to_string(), depth]);
    let stderr = text(&output.stderr);
    let frames: Vec<&str> = stderr.lines().filter(|line| line.contains("wasm offset")).collect();
    let named = |(frame, name): (&&str, &str)| frame.contains(name);
    expect(
        frames.len() == 2 && frames.iter().zip([": inner ", ": outer "]).all(named),
        "the backtrace must be `inner`, `outer`",
        &output,
    )
}
