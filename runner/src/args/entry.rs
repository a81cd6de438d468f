//! Which function of a program a run calls, and with what.

use std::ffi::OsString;
use std::path::Path;

use gpu_run::{FuncType, Val, ValType};
use gpu_run_bytecode::wasi::{Function, INITIALIZE};
use gpu_run_bytecode::{ExternKind, KERNEL_PREFIX, Program};

use crate::cli::RunArgs;
use crate::names::{did_you_mean, shown};
use crate::report::{Outcome, Report, warn};
use crate::requests::Called;

/// The name of a library's initializer, if the program has one.
pub fn initializer(program: &Program) -> Option<&'static str> {
    let ty = func_type(program, INITIALIZE)?;
    (ty.params.is_empty() && ty.results.is_empty()).then_some(INITIALIZE)
}

/// How a run's results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// A program: its `main`'s result is the exit code.
    ExitCode,
    /// A function called by name: its results are printed.
    Results,
    /// A kernel on many threads: printed as `Result: …`.
    KernelResult,
}

/// What a run calls.
pub struct Entry {
    /// Export name.
    pub export: String,
    /// Arguments.
    pub args: Vec<Val>,
    /// How results are shown.
    pub show: Show,
    /// An export without parameters that one thread calls first: it prepares a library for calls.
    pub before: Option<&'static str>,
    /// Threads that call it.
    pub threads: u32,
}

fn func_type<'p>(program: &'p Program, name: &str) -> Option<&'p FuncType> {
    let meta = &program.meta;
    let export = meta.export(name).filter(|export| export.kind == ExternKind::Func)?;
    Some(&meta.types[meta.func_types()[export.index as usize] as usize])
}

/// Types of what an entry's function returns.
pub fn results<'p>(program: &'p Program, entry: &Entry) -> &'p [ValType] {
    func_type(program, &entry.export).map_or(&[], |ty| &ty.results)
}

/// Names of the exported functions, as users write them.
fn functions(program: &Program) -> impl Iterator<Item = &str> {
    let names = || {
        let exports = program.meta.exports.iter();
        let functions = exports.filter(|export| export.kind == ExternKind::Func);
        functions.map(|export| export.name.as_str())
    };
    names().map(move |name| shown(name, names()))
}

/// The same for messages.
fn exported(program: &Program) -> String {
    let names: Vec<_> = functions(program).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "it exports no functions".into()
    } else {
        format!("it exports {}", names.join(", "))
    }
}

/// The entry that the options name, or that the program has.
pub fn find(program: &Program, args: &RunArgs) -> Outcome<Entry> {
    let place = args.module().display().to_string();
    if let Some(name) = &args.invoke {
        let written = name;
        // A kernel may be called by its short name.
        let kernel = format!("{KERNEL_PREFIX}{name}");
        let (name, is_kernel) = match func_type(program, name) {
            Some(_) => (name.clone(), name.starts_with(KERNEL_PREFIX)),
            None => (kernel, true),
        };
        let ty = func_type(program, &name).ok_or_else(|| unknown(program, written, &place))?;
        let show = if is_kernel || args.threads() > 1 {
            Show::KernelResult
        } else {
            Show::Results
        };
        return Ok(Entry {
            args: parse_args(ty, args.args(), written).map_err(|report| with_order(report, args))?,
            before: (name != INITIALIZE).then(|| initializer(program)).flatten(),
            export: name,
            show,
            threads: args.threads(),
        });
    }
    let kernels: Vec<_> = program
        .meta
        .exports
        .iter()
        .filter(|export| export.name.starts_with(KERNEL_PREFIX))
        .collect();
    let main = ["_start", "main"]
        .into_iter()
        .find(|name| func_type(program, name).is_some());
    let entry = match (main, &kernels[..]) {
        // One thread enters it, and it spawns the others.
        (Some(main), []) if program.thread_start().is_some() => program_entry(program, main, 1, &place),
        (Some(main), _) if args.threads() == 1 => program_entry(program, main, 1, &place),
        (_, [kernel]) => Ok(Entry {
            export: kernel.name.clone(),
            args: Vec::new(),
            show: Show::KernelResult,
            before: initializer(program),
            threads: args.threads(),
        }),
        (_, [_, _, ..]) => {
            let names: Vec<_> = kernels.iter().map(|kernel| format!("`{}`", &kernel.name[KERNEL_PREFIX.len()..])).collect();
            Err(Report::new("the module has several kernels").at(place).help(format!("choose one with --invoke: {}", names.join(", "))))
        }
        // Made for threads: what its parts share is guarded by locks and atomics.
        (Some(main), []) if program.meta.is_threaded() => program_entry(program, main, args.threads(), &place),
        (Some(main), []) => Err(Report::new(format!("`{main}` cannot run on {} threads: it is a program for one", args.threads())).at(place).help(
            "three ways work: mark a function with gpu_std::kernel!, or name an export with --invoke, and every thread calls it; \
             run processes of a program for WASI with --instances; or build with atomics and a shared memory \
             (-Ctarget-feature=+atomics). A program with `gpu_std::thread`, or for wasm32-wasip1-threads, spawns its threads \
             itself",
        )),
        (None, []) => Err(with_order(
            Report::new("the module has no entry: no `_start`, `main` or kernel is exported")
                .at(place)
                .help(format!("call a function with --invoke NAME; {}", exported(program))),
            args,
        )),
    }?;
    if !args.args().is_empty() && !Called::by(program).any(&[Function::ArgsGet, Function::ArgsSizesGet]) {
        match order(args, false) {
            Some(help) => warn(&format!("the program does not read its arguments; {help}")),
            None => tracing::info!("the program does not read its arguments"),
        }
    }
    Ok(entry)
}

/// The exports that runs will call: those that are named, or else the program's entry, or all its kernels.
pub fn exports(program: &Program, names: &[String], path: &Path) -> Outcome<Vec<String>> {
    let place = path.display().to_string();
    let mut exports = Vec::new();
    for name in names {
        let kernel = format!("{KERNEL_PREFIX}{name}");
        let found = [name, &kernel]
            .into_iter()
            .find(|name| func_type(program, name).is_some());
        exports.push(found.cloned().ok_or_else(|| unknown(program, name, &place))?);
    }
    let main = ["_start", "main"]
        .into_iter()
        .find(|name| func_type(program, name).is_some());
    match (&exports[..], main) {
        ([], Some(main)) => exports.push(main.to_owned()),
        ([], None) => {
            let all = program.meta.exports.iter().map(|export| &export.name);
            exports.extend(all.filter(|name| name.starts_with(KERNEL_PREFIX)).cloned());
        }
        _ => {}
    }
    match exports.is_empty() {
        true => Err(
            Report::new("the module has no entry: no `_start`, `main` or kernel is exported")
                .at(place)
                .help(format!("name a function with --invoke NAME; {}", exported(program))),
        ),
        false => Ok(exports),
    }
}

/// That no function of a name is exported.
pub fn unknown(program: &Program, name: &str, place: &str) -> Report {
    Report::new(format!("no function `{name}` is exported"))
        .at(place.to_owned())
        .help(did_you_mean(name, functions(program), &exported(program)))
}

/// What to do where an option of gpu-run stands among the arguments, with `short` a short one too.
fn order(args: &RunArgs, short: bool) -> Option<String> {
    if let Some(option) = args.misplaced_option(short) {
        return Some(format!(
            "options of gpu-run stand before the module, so write `{option}` there"
        ));
    }
    let dashes = short && args.args().iter().any(|arg| arg == "--");
    dashes.then(|| "all that stands behind the module is an argument, `--` too".to_owned())
}

/// A report on arguments, with help if they are misplaced.
fn with_order(report: Report, args: &RunArgs) -> Report {
    match order(args, true) {
        Some(help) => report.help(help),
        None => report,
    }
}

fn program_entry(program: &Program, name: &str, threads: u32, place: &str) -> Outcome<Entry> {
    let ty = func_type(program, name).expect("the caller found it");
    let args = match ty.params[..] {
        [] => Vec::new(),
        // C's argc and argv, which rustc's `main` takes and ignores on wasm32-unknown-unknown.
        [ValType::I32, ValType::I32] => vec![Val::I32(0), Val::I32(0)],
        _ => {
            return Err(Report::new(format!("`{name}` has type {ty}, which is no program's"))
                .at(place)
                .help("call it with --invoke"));
        }
    };
    Ok(Entry {
        export: name.to_owned(),
        args,
        show: Show::ExitCode,
        before: None,
        threads,
    })
}

fn parse_args(ty: &FuncType, args: &[OsString], name: &str) -> Outcome<Vec<Val>> {
    if args.len() != ty.params.len() {
        let message = format!(
            "`{name}` takes {} arguments, {} were given",
            ty.params.len(),
            args.len()
        );
        return Err(Report::new(message).help(format!("its type is {ty}")));
    }
    ty.params
        .iter()
        .zip(args)
        .map(|(ty, text)| parse_value(*ty, &text.to_string_lossy()))
        .collect()
}

fn parse_value(ty: ValType, text: &str) -> Outcome<Val> {
    // Unsigned spellings are accepted for integers, as wasm has no signs.
    let value = match ty {
        ValType::I32 => text
            .parse()
            .or_else(|_| text.parse::<u32>().map(|n| n as i32))
            .ok()
            .map(Val::I32),
        ValType::I64 => text
            .parse()
            .or_else(|_| text.parse::<u64>().map(|n| n as i64))
            .ok()
            .map(Val::I64),
        ValType::F32 => text.parse::<f32>().ok().map(|x| Val::F32(x.to_bits())),
        ValType::F64 => text.parse::<f64>().ok().map(|x| Val::F64(x.to_bits())),
        ValType::V128 => text
            .strip_prefix("0x")
            .and_then(|digits| u128::from_str_radix(digits, 16).ok())
            .map(Val::V128),
        ValType::ExnRef => (text == "null").then_some(Val::ExnRef(None)),
        ValType::FuncRef => (text == "null").then_some(Val::FuncRef(None)),
        ValType::ExternRef if text == "null" => Some(Val::ExternRef(None)),
        ValType::ExternRef => text.parse().ok().map(|n| Val::ExternRef(Some(n))),
    };
    value.ok_or_else(|| Report::new(format!("`{text}` is no value of type {ty}")))
}
