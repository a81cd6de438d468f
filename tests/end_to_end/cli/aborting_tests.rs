//! Tests that abort, with `gpu-run` as cargo's runner.

use std::fs;
use std::process::{Command, Output};

use libtest_mimic::Failed;

use crate::cli::command::{ends, says};
use crate::common::{gpu_run_on, run_on, text};
use crate::support::{Test, Tested, expect, wasm};

/// The tests, which need no engine but the CPU's.
pub fn general() -> Vec<Test> {
    vec![
        ("found/10_tests_that_abort", tests_that_abort),
        ("found/10_tests_chosen", tests_chosen),
        ("found/10_test_output_shown", test_output_shown),
        ("found/10_tests_in_another_form", tests_in_another_form),
        ("found/10_tests_not_by_cargo", tests_not_by_cargo),
    ]
}

/// The harness of the fixture's tests, as cargo starts it, with arguments.
fn harness(args: &[&str]) -> Result<Output, Failed> {
    let built = tempfile::tempdir()?;
    let folder = built.path().join("wasm32-wasip1");
    fs::create_dir(&folder)?;
    let module = folder.join("tests.wasm");
    fs::copy(wasm("wasi", "tests"), &module)?;
    let mut command = gpu_run_on("cpu");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RUST_TEST_")) {
        command.env_remove(name);
    }
    by_cargo(&mut command);
    // The test that reads a file does not find it there.
    Ok(command.current_dir(&built).arg(module).args(args).output()?)
}

fn by_cargo(command: &mut Command) {
    command
        .env("CARGO", "cargo")
        .env("CARGO_MANIFEST_DIR", "/no/such/package");
}

/// Without unwinding a test that fails ends the process. The others are run all the same, and all is reported once.
fn tests_that_abort() -> Tested {
    let output = harness(&["--include-ignored"])?;
    ends(&output, 101)?;
    let said = text(&output.stdout);
    let wanted = "\nrunning 7 tests
test tests::data_file ... FAILED
test tests::division - should panic ... ignored
test tests::fails ... FAILED
test tests::gcd_of_small_numbers ... ok
test tests::gcd_with_zero ... ok
test tests::slow ... ok
test tests::titles ... ok

failures:

---- tests::data_file stdout ----
Error: Os { code: 44, kind: NotFound, message: \"No such file or directory\" }

---- tests::fails stdout ----

thread 'main' (1) panicked at tests/src/lib.rs:64:9:
assertion `left == right` failed: titles have capitals
  left: \"One\"
 right: \"one\"
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::data_file
    tests::fails

test result: FAILED. 4 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in ";
    expect(said.starts_with(wanted), "the harness's own report", &output)?;
    expect(output.stderr.is_empty(), "no trap is shown", &output)
}

/// Filters stay what they are, though others are needed to go on.
fn tests_chosen() -> Tested {
    // A filter that is a test's whole name, and of another's a part.
    let output = harness(&["--include-ignored", "tests::fails", "gcd"])?;
    ends(&output, 101)?;
    let wanted = [
        "\nrunning 3 tests\n",
        "test tests::fails ... FAILED\ntest tests::gcd_of_small_numbers ... ok\ntest tests::gcd_with_zero ... ok\n",
        "titles have capitals",
        "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 4 filtered out; ",
    ];
    says(&output, &output.stdout, &wanted)?;
    // It is the only one: nothing is left to be run.
    let output = harness(&["--ignored", "--exact", "tests::fails"])?;
    ends(&output, 101)?;
    let wanted = [
        "\nrunning 1 test\ntest tests::fails ... FAILED\n",
        "titles have capitals",
        "test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 6 filtered out; ",
    ];
    says(&output, &output.stdout, &wanted)?;
    // Tests that end well are the harness's.
    let output = harness(&["gcd"])?;
    ends(&output, 0)?;
    says(&output, &output.stdout, &["test result: ok. 2 passed; 0 failed; "])
}

fn test_output_shown() -> Tested {
    let output = harness(&["--include-ignored", "--nocapture"])?;
    ends(&output, 101)?;
    says(&output, &output.stderr, &["titles have capitals"])?;
    let wanted = [
        "test tests::titles ... what a test prints is captured\nok\n",
        "\nfailures:\n    tests::data_file\n    tests::fails\n",
        "FAILED. 4 passed; 2 failed; 1 ignored; ",
    ];
    says(&output, &output.stdout, &wanted)?;
    let said = text(&output.stdout);
    expect(!said.contains(" stdout ----"), "nothing is told twice", &output)
}

/// What the harness says in another form is left as it is, and the user is told.
fn tests_in_another_form() -> Tested {
    let output = harness(&["--include-ignored", "-q"])?;
    ends(&output, 134)?;
    let wanted = [
        "warning: tests after the one that ended the process were not run",
        "error: panic in thread 0",
    ];
    says(&output, &output.stderr, &wanted)
}

/// A run that cargo did not start ends as its program does.
fn tests_not_by_cargo() -> Tested {
    let output = run_on("cpu", [&*wasm("wasi", "tests"), "--ignored", "--exact", "tests::fails"]);
    ends(&output, 134)?;
    says(&output, &output.stderr, &["error: panic in thread 0\n  --> 0: "])
}
