//! Modules that are made to cost `gpu-run` much more time or memory than their size.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::common::{run, text};
use crate::support::{Test, Tested, expect};

/// What everything here is to be done in: it takes a fraction of a second, and without care minutes.
const SOON: Duration = Duration::from_secs(30);

/// Tests that need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/11_2_many_branches_and_registers", branches_and_registers),
        ("found/11_3_many_catches_and_calls", catches_and_calls),
        ("found/11_3_copies_in_a_loop", copies_in_a_loop),
        ("found/11_5_names_that_unfold", names_that_unfold),
        ("found/11_6_many_exports_of_a_chain", exports_of_a_chain),
        #[cfg(unix)]
        ("found/11_3_timeout_while_reading", timeout_while_reading),
        #[cfg(unix)]
        ("found/11_3_interrupt_while_reading", interrupt_while_reading),
    ]
}

/// A number as modules have it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn section(id: u8, contents: &[u8]) -> Vec<u8> {
    [vec![id], leb(contents.len()), contents.to_vec()].concat()
}

/// A list of items, each with what stands before it.
fn list(items: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = leb(items.len());
    items.for_each(|item| bytes.extend(item));
    bytes
}

fn name(name: &str) -> Vec<u8> {
    [leb(name.len()), name.as_bytes().to_vec()].concat()
}

/// A module of functions `() -> ()` with these bodies, which are exported by these names, and with `tags` tags
/// without values.
fn module(bodies: &[Vec<u8>], exports: &[(String, usize)], tags: usize) -> Vec<u8> {
    let functions = list(bodies.iter().map(|_| vec![0]));
    let exported = |(export, function): &(String, usize)| [name(export), vec![0], leb(*function)].concat();
    let code = list(bodies.iter().map(|body| [leb(body.len()), body.clone()].concat()));
    let mut bytes = b"\0asm\x01\0\0\0".to_vec();
    bytes.extend(section(1, &[1, 0x60, 0, 0]));
    bytes.extend(section(3, &functions));
    if tags > 0 {
        bytes.extend(section(13, &list((0..tags).map(|_| vec![0, 0]))));
    }
    bytes.extend(section(7, &list(exports.iter().map(exported))));
    bytes.extend(section(10, &code));
    bytes
}

/// Runs the export `f` of a module, which must end well, and soon.
fn runs(bytes: &[u8]) -> Tested {
    soon("must run", bytes, |path| {
        run(["--device", "cpu", "--invoke", "f", path])
    })
    .map(drop)
}

/// Has `gpu-run` do something with a module, which must end well, and soon.
fn soon(what: &str, bytes: &[u8], command: impl FnOnce(&str) -> Output) -> Result<Output, libtest_mimic::Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("attack.wasm");
    std::fs::write(&path, bytes)?;
    let begin = Instant::now();
    let output = command(&path.display().to_string());
    let took = begin.elapsed();
    expect(output.status.success(), what, &output)?;
    expect(took < SOON, &format!("it took {took:?}"), &output)?;
    Ok(output)
}

fn f() -> Vec<(String, usize)> {
    vec![("f".into(), 0)]
}

/// 20,000 values lie on the stack while 60,000 branches are passed. The verifier's states are all the same;
/// once they were copied for each branch.
fn branches_and_registers() -> Tested {
    let (values, branches) = (20_000, 60_000);
    let mut body = vec![1, 1, 0x7f];
    body.extend([0x20, 0].repeat(values));
    // block, local.get 0, br_if 0, end
    body.extend([0x02, 0x40, 0x20, 0, 0x0d, 0, 0x0b].repeat(branches));
    body.extend([0x1a].repeat(values));
    body.push(0x0b);
    runs(&module(&[body], &f(), 0))
}

/// 10,000 calls may each throw to 10,000 handlers, with 10,000 values on the stack.
fn catches_and_calls() -> Tested {
    let count = 10_000;
    let mut body = vec![1, 1, 0x7f];
    body.extend([0x20, 0].repeat(count));
    // block, try_table
    body.extend([0x02, 0x40, 0x1f, 0x40]);
    body.extend(list((0..count).map(|tag| [vec![0], leb(tag), vec![0]].concat())));
    body.extend([0x10, 1].repeat(count));
    body.extend([0x0b, 0x0b]);
    body.extend([0x1a].repeat(count));
    body.push(0x0b);
    runs(&module(&[body, vec![0, 0x0b]], &f(), count))
}

/// Each pass through the loop has one register less that is still zero, with a branch for each register.
fn copies_in_a_loop() -> Tested {
    let locals = 20_000;
    let mut body = [vec![1], leb(locals), vec![0x7f, 0x03, 0x40]].concat();
    // The last local is no zero any more, and copies take that to the one before.
    body.extend([0x41, 7, 0x21]);
    body.extend(leb(locals - 1));
    for local in 0..locals - 1 {
        body.extend([vec![0x20], leb(local + 1), vec![0x21], leb(local)].concat());
        body.extend([vec![0x02, 0x40, 0x20], leb(local), vec![0x0d, 0, 0x0b]].concat());
    }
    // It ends as soon as a pass has brought nothing to local 0: after the first.
    body.extend([0x20, 0, 0x0d, 0, 0x0b, 0x0b]);
    runs(&module(&[body], &f(), 0))
}

/// A name of 600 bytes that unfolds to gigabytes, for each of 4,000 functions.
fn names_that_unfold() -> Tested {
    let functions = 4_000;
    let symbol = unfolding();
    let bodies = vec![vec![0, 0x0b]; functions];
    let mut bytes = module(&bodies, &f(), 0);
    let names = list((0..functions).map(|function| [leb(function), name(&symbol)].concat()));
    bytes.extend(section(0, &[name("name"), section(1, &names)].concat()));
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("attack.gbc").display().to_string();
    let translate = |path: &str| run(["translate", "--emit", "bytecode", "--no-inline", "-o", &program, path]);
    let output = soon("must be translated", &bytes, translate)?;
    let size = Path::new(&program).metadata()?.len();
    expect(
        size < 8 * bytes.len() as u64,
        &format!("{size} bytes of program"),
        &output,
    )?;
    let output = run(["--device", "cpu", "--invoke", "f", &program]);
    expect(output.status.success(), "the program must run", &output)
}

/// `a::f` with tuples that have the one before twice.
fn unfolding() -> String {
    const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut symbol = String::from("_RINvC1a1f");
    let mut last = symbol.len() - 2;
    symbol.push_str("TuuE");
    for _ in 0..60 {
        let at = symbol.len() - 2;
        // A number in base 62, less one.
        let (high, low) = ((last - 1) / 62, (last - 1) % 62);
        let mut back = String::from("B");
        if high > 0 {
            back.push(DIGITS[high] as char);
        }
        back.push(DIGITS[low] as char);
        back.push('_');
        symbol.push_str(&format!("T{back}{back}E"));
        last = at;
    }
    symbol.push('E');
    symbol
}

/// 20,000 exported functions, each of which calls the next.
fn exports_of_a_chain() -> Tested {
    let functions = 20_000;
    let body = |function: usize| match function + 1 < functions {
        true => [vec![0, 0x10], leb(function + 1), vec![0x0b]].concat(),
        false => vec![0, 0x0b],
    };
    let bodies: Vec<_> = (0..functions).map(body).collect();
    let exports: Vec<_> = (0..functions)
        .map(|function| (format!("f{function}"), function))
        .collect();
    let bytes = module(&bodies, &exports, 0);
    let begin = Instant::now();
    let output = soon("must be shown", &bytes, |path| run(["inspect", path]))?;
    let took = begin.elapsed();
    let shown = text(&output.stdout);
    for line in [
        "depth of calls from `f0`: 20000\n",
        "depth of calls from `f19999`: 1\n",
        "recursion: none\n",
    ] {
        expect(shown.contains(line), line, &output)?;
    }
    // Once for each export it was many seconds more.
    expect(took < Duration::from_secs(5), &format!("it took {took:?}"), &output)
}

/// A pipe without a writer, as a module.
#[cfg(unix)]
fn pipe(folder: &Path) -> Result<String, libtest_mimic::Failed> {
    let path = folder.join("module.wasm").display().to_string();
    let made = std::process::Command::new("mkfifo").arg(&path).status()?;
    made.success().then_some(path).ok_or_else(|| "no pipe".into())
}

/// `--timeout` also ends what comes before the run.
#[cfg(unix)]
fn timeout_while_reading() -> Tested {
    let folder = tempfile::tempdir()?;
    let path = pipe(folder.path())?;
    let output = run(["--device", "cpu", "--timeout", "300ms", &path]);
    expect(output.status.code() == Some(124), "exit code 124", &output)?;
    let stderr = text(&output.stderr);
    expect(
        stderr.contains("the program did not end within 300ms") && stderr.contains("still being prepared"),
        "the report",
        &output,
    )?;
    let output = run(["--device", "cpu", "--timeout", "300ms", "--report", "json", &path]);
    expect(output.status.code() == Some(124), "exit code 124", &output)?;
    let object: serde_json::Value = serde_json::from_slice(&output.stderr)?;
    expect(
        object["kind"] == "timeout" && object["exit_code"] == 124,
        "the object",
        &output,
    )
}

/// Ctrl-C before the run ends it with the code and the report that it has in the run.
#[cfg(unix)]
fn interrupt_while_reading() -> Tested {
    use std::process::Stdio;

    let folder = tempfile::tempdir()?;
    let path = pipe(folder.path())?;
    let mut child = crate::common::gpu_run()
        .args(["--device", "cpu", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // Opening a pipe for writing waits for its reader: gpu-run is reading then.
    let writer = std::fs::OpenOptions::new().write(true).open(&path)?;
    std::thread::sleep(Duration::from_millis(100));
    let running = child.try_wait()?.is_none();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    let output = child.wait_with_output()?;
    drop(writer);
    expect(running && killed.success(), "it must wait for the module", &output)?;
    expect(output.status.code() == Some(130), "exit code 130", &output)?;
    expect(text(&output.stderr).contains("interrupted"), "the report", &output)
}
