//! Reading the command line: a module without a command means `run`, and what is wrong is said in the form that was
//! asked for.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches};

use crate::cli::{Cli, ColorWhen, Command, ReportFormat, RunArgs};
use crate::names::did_you_mean;
use crate::report::{Outcome, Report, code};
use crate::sink::Target;
use crate::{fault, sink};

/// The command with the options of `run` as its own, as users see it: for help, completions and manual pages.
pub fn whole_command() -> clap::Command {
    let of_run = RunArgs::augment_args(clap::Command::new("gpu-run"));
    Cli::augment_args(of_run).subcommand_required(false)
}

/// The process's arguments, read; or the exit code, when all is said.
pub fn from_env() -> Result<Cli, ExitCode> {
    let given: Vec<OsString> = std::env::args_os().collect();
    // For what is said of the command line itself.
    match value_of(&given, "--color") {
        Some("always") => choose_color(ColorWhen::Always),
        Some("never") => choose_color(ColorWhen::Never),
        _ => {}
    }
    let (args, implied) = with_run(given);
    let cli = match Cli::command().try_get_matches_from(&args) {
        Ok(matches) => Cli::from_arg_matches(&matches).map_err(|error| wrong(&error, &args))?,
        Err(error) => return Err(wrong(&error, &args)),
    };
    if let (true, Command::Run(run)) = (implied, &cli.command) {
        no_command(run.module()).map_err(|report| refuse(&report, &run.report))?;
    }
    Ok(cli)
}

/// Shows why a command does not begin, as `--report` asks.
pub fn refuse(report: &Report, target: &Target<ReportFormat>) -> ExitCode {
    match target.format {
        ReportFormat::Text => report.print(),
        ReportFormat::Json => match target.prepare("--report") {
            Ok(()) => target.put(fault::refused(report)),
            Err(lost) => {
                report.print();
                lost.print();
            }
        },
    }
    ExitCode::from(report.code)
}

/// Where options end that stand before a command: of those that all commands have.
fn first_word(args: &[OsString]) -> usize {
    let mut at = 1;
    while let Some(arg) = args.get(at).and_then(|arg| arg.to_str()) {
        let letters = arg.strip_prefix('-').unwrap_or_default();
        let short = !letters.is_empty() && letters.chars().all(|letter| matches!(letter, 'v' | 'q'));
        at += match arg {
            "--color" => 2,
            "--verbose" | "--quiet" => 1,
            _ if short || arg.starts_with("--color=") => 1,
            _ => break,
        };
    }
    at.min(args.len())
}

/// The arguments with `run` where it was left out, and whether it was.
fn with_run(mut args: Vec<OsString>) -> (Vec<OsString>, bool) {
    let at = first_word(&args);
    let own = ["help", "-h", "--help", "-V", "--version"];
    let known = |word: &OsString| names().iter().any(|name| **word == **name) || own.iter().any(|name| *word == **name);
    let implied = args.get(at).is_some_and(|word| !known(word));
    if implied {
        args.insert(at, "run".into());
    }
    (args, implied)
}

/// The commands.
fn names() -> Vec<String> {
    let command = Cli::command();
    command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect()
}

/// That a word in a module's place is no file and was meant as a command.
fn no_command(word: &Path) -> Outcome<()> {
    let Some(name) = word.to_str().filter(|_| !word.exists()) else {
        return Ok(());
    };
    if names().iter().any(|known| known == name) {
        return Err(
            Report::new(format!("options of `gpu-run {name}` stand behind its name")).help(format!(
                "write `gpu-run {name} [OPTIONS] …`; only -v, -q and --color may stand before it"
            )),
        );
    }
    let is_word = !name.is_empty() && name != "-" && !name.contains(['.', '/', '\\']);
    if !is_word {
        return Ok(());
    }
    let names = names();
    let there_are = format!("the commands are {}; a module alone is run", names.join(", "));
    Err(
        Report::new(format!("`{name}` is neither a command nor a file")).help(did_you_mean(
            name,
            names.iter().map(String::as_str),
            &there_are,
        )),
    )
}

/// Shows what clap says: help, a version, or what is wrong with the arguments.
fn wrong(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let word = args.get(first_word(args)).map(OsString::as_os_str);
        let of_all = ["help", "-h", "--help"].iter().any(|own| word == Some(OsStr::new(own)));
        let alone = args.get(first_word(args) + 1).is_none();
        // A closed stream is no error.
        _ = match error.kind() == ErrorKind::DisplayHelp && of_all && alone {
            true => whole_command().print_help(),
            false => error.print(),
        };
        return ExitCode::SUCCESS;
    }
    let Some(target) = report_target(args).filter(|target| *target == ReportFormat::Json) else {
        _ = error.print();
        return ExitCode::from(code::USAGE);
    };
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim();
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let report = Report::new(lines(message));
    let report = match rest.is_empty() {
        true => report,
        false => report.help(lines(rest)),
    };
    refuse(&report, &target)
}

/// What `--report` asks for, of arguments that cannot be read.
fn report_target(args: &[OsString]) -> Option<Target<ReportFormat>> {
    value_of(args, "--report")?.parse().ok()
}

/// The value of a long option, of arguments that are not read yet.
fn value_of<'a>(args: &'a [OsString], option: &str) -> Option<&'a str> {
    let mut args = args.iter().filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        match arg.strip_prefix(option) {
            Some("") => return args.next(),
            Some(rest) if rest.starts_with('=') => return Some(&rest[1..]),
            _ => {}
        }
    }
    None
}

/// Has all messages from here on with colours, or not.
pub fn choose_color(when: ColorWhen) {
    let choice = match when {
        ColorWhen::Auto => anstream::ColorChoice::Auto,
        ColorWhen::Always => anstream::ColorChoice::Always,
        ColorWhen::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// Writes a completion script.
pub fn completions(shell: clap_complete::Shell) -> Outcome<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole_command(), "gpu-run", &mut script);
    sink::write_stdout(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes manual pages: that of the command to stdout, or all to a folder.
pub fn manual(dir: Option<&Path>) -> Outcome<ExitCode> {
    let command = whole_command();
    let failed = |error: std::io::Error| Report::new(format!("cannot write the manual pages: {error}"));
    match dir {
        Some(dir) => {
            let at = |error| failed(error).at(dir.display().to_string());
            std::fs::create_dir_all(dir).map_err(at)?;
            clap_mangen::generate_to(command, dir).map_err(at)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
            sink::write_stdout(&page)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> (Vec<String>, bool) {
        let args = std::iter::once("gpu-run").chain(args.iter().copied());
        let (args, implied) = with_run(args.map(OsString::from).collect());
        let args = args.iter().skip(1).map(|arg| arg.display().to_string());
        (args.collect(), implied)
    }

    #[test]
    fn the_definitions_make_sense() {
        Cli::command().debug_assert();
        whole_command().debug_assert();
    }

    #[test]
    fn run_stands_where_it_was_left_out() {
        for (given, wanted, implied) in [
            (&["a.wasm", "-v"][..], &["run", "a.wasm", "-v"][..], true),
            (&["-v", "a.wasm"], &["-v", "run", "a.wasm"], true),
            (
                &["-vv", "--color", "always", "inspect", "x"],
                &["-vv", "--color", "always", "inspect", "x"],
                false,
            ),
            (
                &["--color=never", "-q", "-"],
                &["--color=never", "-q", "run", "-"],
                true,
            ),
            (
                &["--device", "cpu", "inspect"],
                &["run", "--device", "cpu", "inspect"],
                true,
            ),
            (&["-v"], &["-v"], false),
            (&["--color"], &["--color"], false),
            (&["--help"], &["--help"], false),
        ] {
            let (args, found) = read(given);
            assert_eq!(
                (args, found),
                (wanted.iter().map(|arg| (*arg).to_owned()).collect(), implied)
            );
        }
    }
}
