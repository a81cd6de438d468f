//! Tests that abort, as a cargo runner. Rust's own harness runs all tests of a crate in one process, so with
//! `panic=abort` the first that panics ends it. The others are not run, and what it printed is lost with the process.
//! Here the others are run in further processes, and all are reported as the harness would.

mod output;

use std::ffi::{OsStr, OsString};
use std::io::{Read, pipe};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gpu_run::{End, InterruptHandle};
use gpu_run_bytecode::Program;
use gpu_run_bytecode::wasi::Function;

use self::output::{Printed, Summary};
use crate::cargo;
use crate::cli::{ReportFormat, RunArgs};
use crate::process;
use crate::report::{Outcome, Report, code, warn};
use crate::requests::Called;
use crate::sink::write_stdout;

/// Exit codes of runs that say themselves why they ended.
const REPORTED: [u8; 4] = [code::TRAP, code::PANIC, code::TIMEOUT, code::INTERRUPTED];

/// Set for the processes that run the others, which report for themselves alone.
const WITHIN: &str = "GPU_RUN_WITHIN_TESTS";

/// Whether this process runs tests that are left of another one.
pub fn is_within() -> bool {
    std::env::var_os(WITHIN).is_some()
}

/// Records what the program prints, if it may be tests that cargo has started.
pub fn watch(args: &RunArgs) {
    let may_be = args.invoke.is_none() && args.threads() == 1 && args.report == ReportFormat::Text;
    if may_be && cargo::is_runner(args.module()) && !is_within() {
        crate::output::record_stdout();
    }
}

/// What the program printed, if it ended in the middle of a test and the others can be run. It ended by a trap, a panic
/// or an exit code. Warns of tests that cannot be run.
pub fn aborted(end: &End, program: &Program) -> Option<String> {
    let early = match end {
        End::Faulted(_) => true,
        End::Exited(code) => *code != 0,
        _ => false,
    };
    let recorded = crate::output::recorded().filter(|_| early)?;
    let text = plain(&recorded);
    output::start(&text)?;
    let arguments = [Function::ArgsGet, Function::ArgsSizesGet];
    if output::ends_in_a_test(&text) && Called::by(program).any(&arguments) {
        return Some(text);
    }
    if !text.contains("\ntest result: ") {
        warn_of_others();
    }
    None
}

/// Warns of tests that were not run.
fn warn_of_others() {
    warn(
        "tests after the one that ended the process were not run; gpu-run can run them for wasm32-wasip1, without -q \
         and --format",
    );
}

/// Text without colours.
fn plain(bytes: &[u8]) -> String {
    anstream::adapter::strip_str(&String::from_utf8_lossy(bytes)).to_string()
}

/// Runs the tests that are left after the first process has `printed` what it has, and reports all. Returns the exit code
/// that the harness would end with. None if the harness does not say what its tests are.
///
/// # Errors
///
/// No process can be started.
pub fn go_on(args: &RunArgs, printed: &str, interrupt: &InterruptHandle) -> Outcome<Option<ExitCode>> {
    let begin = Instant::now();
    let given: Vec<OsString> = std::env::args_os().collect();
    let mut tests = Tests {
        options: given[1..given.len() - args.args().len()].to_vec(),
        args: args.args().to_vec(),
        names: Vec::new(),
        interrupt,
    };
    let (listed, success) = tests.output(&["--list".into()])?;
    tests.names = output::listed(&listed);
    if !success || tests.names.is_empty() {
        warn_of_others();
        return Ok(None);
    }
    let mut all = All {
        left: tests.names.clone(),
        ..All::default()
    };
    let mut printed = output::read(printed, &tests.names);
    let stopped = loop {
        let found = !printed.ended.is_empty() || printed.open.is_some();
        let whole = printed.summary.is_some();
        if printed.open.is_some() {
            write_stdout(b"FAILED\n")?;
        }
        all.add(printed);
        if all.left.is_empty() {
            break None;
        }
        if whole || !found {
            // It would go on with what it has begun with.
            break Some(code::TRAP);
        }
        let (next, ended) = tests.go_on(&all.left)?;
        printed = next;
        if ended == Some(code::INTERRUPTED.into()) {
            // The test did not fail.
            printed.open = None;
            all.add(printed);
            break Some(code::INTERRUPTED);
        }
    };
    if stopped != Some(code::INTERRUPTED) {
        all.explain(&tests)?;
    }
    let interrupted = interrupt.is_pending().then_some(code::INTERRUPTED);
    let stopped = stopped.or(interrupted);
    write_stdout(all.report(begin).as_bytes())?;
    Ok(Some(ExitCode::from(stopped.unwrap_or(match all.failed.is_empty() {
        true => 0,
        false => code::PANIC,
    }))))
}

/// The tests of a module, as the harness was asked to run them.
struct Tests<'i> {
    /// The arguments of this process up to the module.
    options: Vec<OsString>,
    /// Those of the harness.
    args: Vec<OsString>,
    /// The tests that it chose.
    names: Vec<String>,
    /// Set when this process is to end.
    interrupt: &'i InterruptHandle,
}

impl Tests<'_> {
    /// A process that runs the module with more arguments of the harness in front of those that it was given.
    fn command(&self, more: &[OsString]) -> Outcome<Command> {
        let own = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(own);
        command
            .args(&self.options)
            .args(more)
            .args(&self.args)
            .env(WITHIN, "1")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// What the harness prints with these arguments to stdout, and whether it ends well.
    fn output(&self, more: &[OsString]) -> Outcome<(String, bool)> {
        let output = self.command(more)?.output().map_err(failed)?;
        Ok((plain(&output.stdout), output.status.success()))
    }

    /// Whether what tests print is shown as it comes.
    fn shows_output(&self) -> bool {
        let by_variable = |name: &str| std::env::var_os(name).is_some_and(|value| value != "0");
        let options = ["--nocapture", "--no-capture"];
        by_variable("RUST_TEST_NOCAPTURE") || options.iter().any(|option| self.args.iter().any(|arg| arg == option))
    }

    /// Arguments by which the harness runs these tests and no others, whatever filters it was given.
    fn only(&self, names: &[String]) -> Vec<OsString> {
        let mut more: Vec<OsString> = Vec::new();
        let exact = OsStr::new("--exact");
        if !self.args.iter().any(|arg| arg == exact) {
            more.push(exact.to_owned());
        }
        // A filter that is another test's whole name.
        let others = self.names.iter().filter(|name| !names.contains(name));
        for other in others.filter(|name| self.args.iter().any(|arg| **arg == ***name)) {
            more.extend(["--skip".into(), other.into()]);
        }
        more.extend(names.iter().map(OsString::from));
        more
    }

    /// Runs some of the tests, and shows their lines as they come. Returns what was printed, with the process's exit code.
    fn go_on(&self, names: &[String]) -> Outcome<(Printed, Option<i32>)> {
        let mut command = self.command(&self.only(names))?;
        let stderr = match self.shows_output() {
            true => Stdio::inherit(),
            // Why it ended is shown after all tests.
            false => Stdio::null(),
        };
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().map_err(failed)?;
        let mut stdout = child.stdout.take().expect("it is piped");
        let (mut bytes, mut shown, mut piece) = (Vec::new(), 0, [0; 4096]);
        let mut show = || loop {
            let count = stdout.read(&mut piece).map_err(failed)?;
            bytes.extend_from_slice(&piece[..count]);
            let text = plain(&bytes);
            if let Some(start) = output::start(&text) {
                let tests = &text[start..];
                // Empty lines may belong to what stands after the tests, and bytes that are cut off to a character.
                let end = match output::end(tests) {
                    Some(0) => 0,
                    Some(end) => end + 1,
                    None if count == 0 => tests.len(),
                    None => tests.trim_end_matches(['\n', '\u{fffd}']).len(),
                };
                write_stdout(tests.get(shown..end).unwrap_or_default().as_bytes())?;
                shown = shown.max(end);
            }
            if count == 0 {
                return Ok(());
            }
        };
        self.unless_interrupted(&child, &mut show)?;
        let status = child.wait().map_err(failed)?;
        Ok((output::read(&plain(&bytes), names), status.code()))
    }

    /// What a test that fails prints: it is run alone.
    fn said(&self, name: &str) -> Outcome<String> {
        let mut more = self.only(&[name.to_owned()]);
        more.insert(0, "--nocapture".into());
        let mut command = self.command(&more)?;
        let (mut reader, writer) = pipe().map_err(failed)?;
        command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut child = command.spawn().map_err(failed)?;
        // Its ends of the pipe would keep it open.
        drop(command);
        let mut bytes = Vec::new();
        self.unless_interrupted(&child, || reader.read_to_end(&mut bytes))
            .map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        let text = plain(&bytes);
        let (said, end) = output::of_one(&text, name).unwrap_or_else(|| (text.clone(), None));
        let note = match (end, status.code()) {
            (Some(output::End::Passed), _) => "note: it passed when it was run alone\n".to_owned(),
            (None, Some(code)) if !REPORTED.iter().any(|reported| i32::from(*reported) == code) => {
                format!("note: it ended the process with exit code {code}\n")
            }
            _ => String::new(),
        };
        Ok(said + &note)
    }

    /// Has a process that is waited for interrupted when this one is.
    fn unless_interrupted<T>(&self, child: &Child, wait: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        let watch = || {
            while !done.load(Ordering::Relaxed) {
                if self.interrupt.is_pending() {
                    process::interrupt(child);
                    return;
                }
                thread::park_timeout(Duration::from_millis(50));
            }
        };
        thread::scope(|scope| {
            let watcher = scope.spawn(watch);
            let result = wait();
            done.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            result
        })
    }
}

fn failed(error: std::io::Error) -> Report {
    Report::new(format!("cannot run the tests that are left: {error}"))
}

/// What all processes found.
#[derive(Default)]
struct All {
    counts: Summary,
    failed: Vec<String>,
    /// Tests that were not begun.
    left: Vec<String>,
    /// What the harness of a process that came to its end said of its tests.
    details: String,
    /// Failed tests of which that tells.
    told: Vec<String>,
    /// All tests of the program.
    total: Option<usize>,
}

impl All {
    fn add(&mut self, printed: Printed) {
        for (name, end) in printed.ended {
            self.counts += end;
            self.left.retain(|left| *left != name);
            if end == output::End::Failed {
                if printed.summary.is_some() {
                    self.told.push(name.clone());
                }
                self.failed.push(name);
            }
        }
        if let Some(name) = printed.open {
            self.counts += output::End::Failed;
            self.left.retain(|left| *left != name);
            self.failed.push(name);
        }
        if let Some(summary) = printed.summary {
            self.total = Some(summary.total());
            // Without the list of names, which is made anew.
            let details = match printed.details.rsplit_once("\nfailures:\n    ") {
                Some((details, _)) => details,
                None => &printed.details,
            };
            let details = details.trim_start_matches('\n').strip_prefix("failures:\n");
            self.details = details.unwrap_or_default().trim_matches('\n').to_owned();
        }
    }

    /// Finds out what the failed tests said whose processes ended before they told.
    fn explain(&mut self, tests: &Tests) -> Outcome<()> {
        if self.total.is_none() {
            // A run of no test tells how many there are.
            let none = tests.only(&["gpu-run: no test".to_owned()]);
            let mut others: Vec<OsString> = Vec::new();
            for name in tests
                .names
                .iter()
                .filter(|name| tests.args.iter().any(|arg| **arg == ***name))
            {
                others.extend(["--skip".into(), name.into()]);
            }
            let (text, _) = tests.output(&others.into_iter().chain(none).collect::<Vec<_>>())?;
            self.total = output::read(&text, &[]).summary.map(|summary| summary.total());
        }
        if tests.shows_output() {
            return Ok(());
        }
        let mut details = String::new();
        for name in self.failed.iter().filter(|name| !self.told.contains(name)) {
            let said = tests.said(name)?;
            let said = said.trim_end_matches('\n');
            details += &format!("---- {name} stdout ----\n{said}\n\n");
        }
        self.details.insert_str(0, &details);
        Ok(())
    }

    /// The report after the tests, as the harness writes it.
    fn report(&mut self, begin: Instant) -> String {
        let mut out = String::from("\nfailures:\n\n");
        if !self.details.is_empty() {
            out += &format!("{}\n\n\n", self.details.trim_end_matches('\n'));
        }
        out += "failures:\n";
        self.failed.sort();
        self.failed.iter().for_each(|name| out += &format!("    {name}\n"));
        if !self.left.is_empty() {
            out += &format!("\nnot run ({}): {}\n", self.left.len(), self.left.join(", "));
        }
        let counts = &self.counts;
        let ran = counts.passed + counts.failed + counts.ignored + self.left.len();
        out += &format!(
            "\ntest result: FAILED. {} passed; {} failed; {} ignored; 0 measured; {} filtered out; finished in {:.2}s\n\n",
            counts.passed,
            counts.failed,
            counts.ignored,
            self.total.map_or(0, |total| total.saturating_sub(ran)),
            begin.elapsed().as_secs_f64()
        );
        out
    }
}
