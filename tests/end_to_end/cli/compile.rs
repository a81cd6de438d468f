//! Which functions are compiled.

use std::path::Path;
use std::process::Output;

use libtest_mimic::Failed;

use crate::common::{self, text};
use crate::support::{EngineTest, Test, Tested, expect, shows_in_order, stats};

/// Tests that need no engine.
pub fn general() -> Vec<Test> {
    vec![
        ("compile/first_run", a_first_run_is_noted),
        ("compile/nothing", nothing_is_compiled),
        ("compile/ahead_refuses", what_cannot_be_compiled_ahead),
    ]
}

/// Tests of compiled code.
pub fn of_compiled() -> Vec<EngineTest> {
    vec![
        ("compile/hot", what_has_run_is_compiled),
        ("compile/meanwhile", a_run_goes_on_compiled),
        ("compile/phases", a_run_leaves_code_for_other_code),
        ("compile/ahead", code_comes_with_the_program),
    ]
}

/// Neither function is inlined: both recurse.
const MODULE: &str = r#"(module
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
      (then (local.get 0))
      (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                     (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func $factorial (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0))
      (then (i32.const 1))
      (else (i32.mul (local.get 0) (call $factorial (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "pick") (param i32 i32) (result i32)
    (if (result i32) (local.get 0)
      (then (call $fib (local.get 1)))
      (else (call $factorial (local.get 1))))))"#;

/// A module, and a cache for it.
fn place() -> Result<tempfile::TempDir, Failed> {
    let dir = tempfile::tempdir()?;
    std::fs::write(dir.path().join("pick.wat"), MODULE)?;
    Ok(dir)
}

fn pick(device: &str, dir: &Path, args: [&str; 2]) -> Result<Output, Failed> {
    let mut command = common::gpu_run_plainly_on(device);
    command.env("GPU_RUN_CACHE_DIR", dir.join("cache"));
    command.args(["-v", "--compile", "hot", "--invoke", "pick"]);
    Ok(command.arg(dir.join("pick.wat")).args(args).output()?)
}

/// The length of the only profile in the cache.
fn profile(dir: &Path) -> Result<u64, Failed> {
    let files: Vec<_> = std::fs::read_dir(dir.join("cache"))?.collect::<Result<_, _>>()?;
    let is_profile = |file: &&std::fs::DirEntry| file.path().extension().is_some_and(|kind| kind == "profile");
    match &files.iter().filter(is_profile).collect::<Vec<_>>()[..] {
        [file] => Ok(file.metadata()?.len()),
        files => Err(format!("there are {} profiles", files.len()).into()),
    }
}

fn a_first_run_is_noted() -> Tested {
    let dir = place()?;
    let output = pick("cpu", dir.path(), ["1", "10"])?;
    expect(text(&output.stdout) == "55\n", "it must be fib(10)", &output)?;
    let first = profile(dir.path())?;
    pick("cpu", dir.path(), ["1", "11"])?;
    let again = profile(dir.path())?;
    let output = pick("cpu", dir.path(), ["0", "5"])?;
    let grown = profile(dir.path())?;
    let what = format!("profiles have {first}, {again} and {grown} bytes");
    expect(0 < first && first == again && again < grown, &what, &output)
}

/// Words of the module that are hot.
fn hot_words(dir: &Path) -> Result<u32, Failed> {
    let mut command = common::gpu_run();
    command.env("GPU_RUN_CACHE_DIR", dir.join("cache"));
    command.args(["compile", "--compile", "hot", "--target", "ptx", "--invoke", "pick"]);
    let output = command
        .arg(dir.join("pick.wat"))
        .arg("-o")
        .arg(dir.join("pick.gbc"))
        .output()?;
    let said = text(&output.stderr);
    let words = said
        .split_once(" words of bytecode")
        .and_then(|(before, _)| before.rsplit(' ').next());
    Ok(words.ok_or(said.clone())?.parse()?)
}

fn what_has_run_is_compiled(device: &str) -> Tested {
    let dir = place()?;
    pick("cpu", dir.path(), ["1", "10"])?;
    let fib = hot_words(dir.path())?;
    let output = pick(device, dir.path(), ["1", "20"])?;
    expect(text(&output.stdout) == "6765\n", "it must be fib(20)", &output)?;
    shows_in_order(&output, &["; cold code is interpreted"])?;
    let output = pick(device, dir.path(), ["0", "5"])?;
    expect(text(&output.stdout) == "120\n", "it must be 5!", &output)?;
    let seldom = hot_words(dir.path())?;
    let output = pick(device, dir.path(), ["0", "20"])?;
    expect(
        text(&output.stdout) == "-2102132736\n",
        "it must be the low half of 20!",
        &output,
    )?;
    let both = hot_words(dir.path())?;
    let what = format!("{fib}, {seldom} and {both} words are hot");
    expect(0 < fib && fib == seldom && seldom < both, &what, &output)?;
    let output = pick(device, dir.path(), ["0", "6"])?;
    expect(text(&output.stdout) == "720\n", "it must be 6!", &output)
}

/// Passes of loops, for runs that the compiler is faster than: the first is, unless the machine is busy with other things.
const PASSES: [&str; 3] = ["30000000", "300000000", "1000000000"];

/// What loops of so many passes come to: in a function that the run begins with, two calls further in, or one after the
/// other.
fn loops(options: &[&str], function: &str, passes: &str, dir: &Path) -> Result<Output, Failed> {
    let mut command = common::gpu_run();
    command.env("GPU_RUN_CACHE_DIR", dir.join("cache"));
    command.args(options).args(["-v", "--stats=json", "--invoke", function]);
    command.arg(common::fixture("wasm/wat/loops.wasm"));
    Ok(command.arg(passes).output()?)
}

/// Runs loops until a run goes on in code so often, and checks what each prints.
fn goes_on(device: &str, function: &str, often: usize, dir: &Path) -> Result<Output, Failed> {
    let mut run = None;
    for passes in PASSES {
        let expected = loops(&["--device", "cpu"], function, passes, &dir.join("cpu"))?;
        let options = ["--device", common::options(device)[1], "--hot-after", "1ms"];
        let output = loops(&options, function, passes, dir)?;
        expect(output.stdout == expected.stdout, "the CPU's result", &output)?;
        let found = text(&output.stderr).matches("engine: PTX from here on").count();
        run = Some(output);
        if found >= often {
            break;
        }
        // The next run must not find what this one has compiled.
        std::fs::remove_dir_all(dir.join("cache"))?;
    }
    run.ok_or_else(|| "nothing has run".into())
}

fn a_run_goes_on_compiled(device: &str) -> Tested {
    for function in ["flat", "deep"] {
        let dir = tempfile::tempdir()?;
        let output = goes_on(device, function, 1, dir.path())?;
        let first = stats(&output)?;
        let after = first["compiled_after_ms"].as_f64().is_some_and(|after| after > 0.0);
        expect(first["engine"] == "ptx" && after, "compiled in the end", &output)?;
        // The next run finds the code. No cache keeps the emulator's.
        if device != "emulator" {
            let options = ["--device", common::options(device)[1]];
            let again = loops(&options, function, PASSES[0], dir.path())?;
            let second = stats(&again)?;
            let begins = second["engine"] == "ptx" && second["compiled_after_ms"].is_null();
            expect(begins, "compiled from the beginning", &again)?;
        }
    }
    Ok(())
}

fn a_run_leaves_code_for_other_code(device: &str) -> Tested {
    let dir = tempfile::tempdir()?;
    let output = goes_on(device, "phases", 2, dir.path())?;
    shows_in_order(&output, &["PTX from here on", "PTX from here on"])
}

fn nothing_is_compiled() -> Tested {
    let dir = place()?;
    let module = dir.path().join("pick.wat");
    let start = |engine: &str| {
        let mut command = common::gpu_run();
        command.args(["-v", "--device", "cpu", "--engine", engine, "--compile", "none"]);
        command
            .args(["--invoke", "pick"])
            .arg(&module)
            .args(["0", "5"])
            .output()
    };
    let output = start("auto")?;
    expect(text(&output.stdout) == "120\n", "it must be 5!", &output)?;
    shows_in_order(&output, &["engine: interpreter (as asked)"])?;
    let output = start("ptx")?;
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    shows_in_order(&output, &["nothing to run with --compile none"])
}

/// `gpu-run compile` with options, of the module or of what it wrote before.
fn ahead(dir: &Path, options: &[&str]) -> Result<Output, Failed> {
    let mut command = common::gpu_run();
    command.env("GPU_RUN_CACHE_DIR", dir.join("cache"));
    Ok(command
        .arg("compile")
        .args(options)
        .arg(dir.join("pick.wat"))
        .output()?)
}

/// Code is taken where it was allowed to and fits.
fn code_comes_with_the_program(device: &str) -> Tested {
    let dir = place()?;
    let output = ahead(dir.path(), &["--invoke", "pick"])?;
    expect(output.status.success(), "it must be compiled", &output)?;
    let start = |options: &[&str]| {
        let mut command = common::gpu_run_plainly_on(device);
        command.env("GPU_RUN_CACHE_DIR", dir.path().join("cache"));
        command.args(options).args(["-v", "--invoke", "pick"]);
        command.arg(dir.path().join("pick.gbc")).args(["1", "20"]).output()
    };
    for (options, engine, printed) in [
        (
            &["--allow-precompiled"][..],
            "engine: PTX, compiled before and linked",
            "6765\n",
        ),
        (&[], "made in", "6765\n"),
        // The code is for other runs.
        (&["--allow-precompiled", "--max-call-depth", "2"], "made in", ""),
    ] {
        let output = start(options)?;
        expect(
            text(&output.stdout) == printed,
            &format!("it must print {printed:?}"),
            &output,
        )?;
        shows_in_order(&output, &[engine])?;
    }
    Ok(())
}

fn what_cannot_be_compiled_ahead() -> Tested {
    let dir = place()?;
    let sm = ["--invoke", "pick", "--target", "sm_90"];
    for (options, why) in [
        (&["--invoke", "pikc"][..], "did you mean `pick`?"),
        (&[], "the module has no entry"),
        (&sm, "machine code for sm_90 needs an assembler"),
        (
            &["--invoke", "pick", "--target", "90"],
            "expected ptx, or sm_ and a number",
        ),
        (
            &["--invoke", "pick", "--compile", "hot"],
            "run it once with --compile hot",
        ),
        (&["--invoke", "pick", "--compile", "none"], "nothing to do"),
    ] {
        let output = ahead(dir.path(), options)?;
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        shows_in_order(&output, &[why])?;
    }
    #[cfg(unix)]
    for (assembler, why) in [
        ("/bin/false", "failed for sm_90"),
        ("/nowhere/ptxas", "cannot start /nowhere/ptxas"),
    ] {
        let output = ahead(dir.path(), &[&sm[..], &["--ptxas", assembler]].concat())?;
        expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
        shows_in_order(&output, &[why])?;
    }
    let written = dir.path().join("pick.gbc").exists();
    if written {
        return Err("nothing may be written".into());
    }
    let mut command = common::gpu_run();
    command.args(["--device", "cpu", "--allow-precompiled", "--invoke", "pick"]);
    let output = command.arg(dir.path().join("pick.wat")).args(["0", "5"]).output()?;
    expect(output.status.code() == Some(2), "exit code must be 2", &output)?;
    shows_in_order(&output, &["this has none", "`gpu-run compile` makes one"])
}
