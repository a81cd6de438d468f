//! What the modules of this suite share: how a trial fails, fixtures by name, and what `--stats=json` says.

use std::process::Output;

use libtest_mimic::Failed;

use crate::common::{fixture, text};

/// What becomes of a test.
pub type Tested = Result<(), Failed>;

/// A test's name and what it does.
pub type Test = (&'static str, fn() -> Tested);

/// The same for a test that is given an engine.
pub type EngineTest = (&'static str, fn(&str) -> Tested);

/// A test that knows its engine.
pub type Bound = Box<dyn FnOnce() -> Tested + Send>;

/// Tests that know their engine, by name.
pub type Tests = Vec<(String, Bound)>;

/// Adds the engine to tests.
pub fn bind(device: &'static str, tests: impl IntoIterator<Item = EngineTest>) -> Tests {
    let bound = tests.into_iter().map(|(name, test)| {
        let test: Bound = Box::new(move || test(device));
        (name.to_owned(), test)
    });
    bound.collect()
}

/// The path of a fixture's module, by its folder and name.
pub fn wasm(profile: &str, name: &str) -> String {
    fixture("wasm")
        .join(profile)
        .join(format!("{name}.wasm"))
        .display()
        .to_string()
}

/// What the native program printed or returned: `stdout`, `stderr` or `exit`.
pub fn expected(name: &str, part: &str) -> Option<Vec<u8>> {
    std::fs::read(fixture("expected").join(format!("{name}.{part}"))).ok()
}

/// Fails with what was printed.
pub fn fail<T>(what: impl std::fmt::Display, output: &Output) -> Result<T, Failed> {
    Err(format!(
        "{what}\nexit: {:?}\nstdout:\n{}\nstderr:\n{}",
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr)
    )
    .into())
}

/// Fails with what was printed, unless something holds.
pub fn expect(holds: bool, what: &str, output: &Output) -> Tested {
    if holds { Ok(()) } else { fail(what, output) }
}

/// Lines of stderr have these parts, in this order.
pub fn shows_in_order(output: &Output, parts: &[&str]) -> Tested {
    let stderr = text(&output.stderr);
    let mut lines = stderr.lines();
    for part in parts {
        expect(
            lines.any(|line| line.contains(part)),
            &format!("the backtrace must show {part:?}, in order"),
            output,
        )?;
    }
    Ok(())
}

/// The time that the kernel ran, from `--stats=json`.
pub fn run_ms(output: &Output) -> Result<f64, Failed> {
    Ok(stats(output)?["run_ms"].as_f64().ok_or("no run_ms")?)
}

/// What `--stats=json` printed.
pub fn stats(output: &Output) -> Result<serde_json::Value, Failed> {
    let stderr = text(&output.stderr);
    let stats = stderr
        .lines()
        .find(|line| line.starts_with('{'))
        .ok_or("no statistics")?;
    Ok(serde_json::from_str(stats)?)
}
