//! What the functions that a run calls have returned, and how that is shown.

use std::fmt::{Display, Write as _};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use gpu_run::{Val, ValType};

use crate::entry::{Entry, Show};
use crate::files::{Target, failed};
use crate::json::{self, Returned, ReturnedValue};
use crate::report::{Outcome, Report, code};
use crate::sink;

/// How the results of all threads are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Results {
    /// A line for each thread.
    All,
    /// An array.
    Json,
    /// A file of their bytes.
    File(PathBuf),
}

/// Reads what the option names.
pub fn parse(text: &str) -> Result<Results, String> {
    Ok(match text {
        "" => return Err("expected `all`, `json`, or the name of a file".into()),
        "all" => Results::All,
        "json" => Results::Json,
        path => Results::File(path.into()),
    })
}

/// Opens the file for results, if that is how they are given, before anything runs.
///
/// # Errors
///
/// If it cannot be written, or the function's results cannot be given so.
pub fn prepare(option: Option<&Results>, entry: &Entry, types: &[ValType]) -> Outcome<Option<Target>> {
    let Some(option) = option else { return Ok(None) };
    if entry.show == Show::ExitCode {
        return Err(Report::new(format!(
            "--results is for kernels and --invoke: the result of `{}` is the exit code",
            entry.export
        )));
    }
    if types.is_empty() {
        return Err(Report::new(format!(
            "--results has no meaning: `{}` returns nothing",
            entry.export
        )));
    }
    let Results::File(path) = option else {
        return Ok(None);
    };
    if !types.iter().all(has_bytes) {
        return Err(Report::new("--results FILE: references have no bytes").help("`--results all` shows them"));
    }
    let target = Target::open(path).map_err(|error| failed(LOST, path, &error))?;
    Ok(Some(target))
}

const LOST: &str = "cannot write the results";

/// Shows results of all threads, and returns the exit code.
///
/// # Errors
///
/// If they cannot be written.
pub fn show(
    entry: &Entry,
    option: Option<&Results>,
    target: Option<Target>,
    results: &[Vec<Val>],
) -> Outcome<ExitCode> {
    let first = results.first().map(Vec::as_slice).unwrap_or_default();
    if entry.show == Show::ExitCode {
        return Ok(match first {
            [Val::I32(code)] => ExitCode::from(*code as u8),
            _ => ExitCode::SUCCESS,
        });
    }
    if let (Some(Results::File(path)), Some(target)) = (option, target) {
        let write = |file: &std::fs::File| {
            let mut file = BufWriter::new(file);
            for value in results.iter().flatten() {
                write_bytes(&mut file, value)?;
            }
            file.flush()
        };
        let written: std::io::Result<()> = target.replace(write);
        written.map_err(|error| failed(LOST, path, &error).code(code::LOST))?;
    }
    let mut text = String::new();
    if option == Some(&Results::All) {
        for (thread, values) in results.iter().enumerate() {
            _ = writeln!(text, "thread {thread}: {}", joined(values));
        }
    }
    if option == Some(&Results::Json) {
        _ = writeln!(text, "{}", json::line(&returned(results)));
    } else if entry.show == Show::KernelResult && !first.is_empty() {
        _ = writeln!(text, "Result: {}{}", joined(first), summary(results));
    } else if entry.show == Show::Results && option != Some(&Results::All) {
        first.iter().for_each(|value| _ = writeln!(text, "{value}"));
    }
    sink::write_stdout(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn joined(values: &[Val]) -> String {
    let values: Vec<String> = values.iter().map(Val::to_string).collect();
    values.join(", ")
}

/// Whether values of a type have bytes for a file.
fn has_bytes(ty: &ValType) -> bool {
    use ValType::{F32, F64, I32, I64, V128};
    matches!(ty, I32 | I64 | F32 | F64 | V128)
}

/// Writes these bytes.
fn write_bytes(file: &mut impl Write, value: &Val) -> std::io::Result<()> {
    match value {
        Val::I32(value) => file.write_all(&value.to_le_bytes()),
        Val::I64(value) => file.write_all(&value.to_le_bytes()),
        Val::F32(bits) => file.write_all(&bits.to_le_bytes()),
        Val::F64(bits) => file.write_all(&bits.to_le_bytes()),
        Val::V128(bits) => file.write_all(&bits.to_le_bytes()),
        // `prepare` has refused references.
        _ => Ok(()),
    }
}

/// What each thread returned, for programs.
fn returned(results: &[Vec<Val>]) -> Vec<Returned> {
    let value = |value: &Val| {
        let text = value.to_string();
        let number = match value {
            Val::I32(_) | Val::I64(_) | Val::F32(_) | Val::F64(_) => text.parse().ok(),
            _ => None,
        };
        number.map_or(ReturnedValue::Text(text), ReturnedValue::Number)
    };
    let thread = |values: &Vec<Val>| match &values[..] {
        [only] => Returned::One(value(only)),
        several => Returned::Several(several.iter().map(value).collect()),
    };
    results.iter().map(thread).collect()
}

/// What threads returned beside the first, if they did not all return the same: of each value the least, the greatest
/// and the sum.
fn summary(results: &[Vec<Val>]) -> String {
    let Some(first) = results.first() else {
        return String::new();
    };
    let others = results.iter().filter(|values| *values != first).count();
    if others == 0 {
        return String::new();
    }
    let column = |index: usize| results.iter().filter_map(move |values| values.get(index));
    let columns: Option<Vec<String>> = (0..first.len())
        .map(|index| match first[index] {
            Val::I32(_) | Val::I64(_) => Some(of_integers(column(index).filter_map(integer))),
            Val::F32(_) | Val::F64(_) => Some(of_floats(column(index))),
            _ => None,
        })
        .collect();
    let threads = results.len();
    match columns {
        Some(columns) => format!(" (thread 0; all {threads} threads: {})", columns.join("; ")),
        None => format!(" (thread 0; {others} of {threads} threads returned something else)"),
    }
}

fn integer(value: &Val) -> Option<i128> {
    match value {
        Val::I32(value) => Some((*value).into()),
        Val::I64(value) => Some((*value).into()),
        _ => None,
    }
}

/// The sum of 2^64 integers of 64 bits has a place in 128.
fn of_integers(values: impl Iterator<Item = i128> + Clone) -> String {
    let sum: i128 = values.clone().sum();
    told(values.clone().min(), values.max(), sum)
}

/// Of floats as they are shown, but for those that are no number. The sum is one of f64, in the order of threads.
fn of_floats<'v>(values: impl Iterator<Item = &'v Val> + Clone) -> String {
    let wide = |value: &Val| match value {
        Val::F32(bits) => f64::from(f32::from_bits(*bits)),
        Val::F64(bits) => f64::from_bits(*bits),
        _ => f64::NAN,
    };
    let numbers = values.clone().filter(|value| !wide(value).is_nan());
    let order = |a: &&Val, b: &&Val| wide(a).total_cmp(&wide(b));
    let nans = values.count() - numbers.clone().count();
    let sum: f64 = numbers.clone().map(wide).fold(0.0, |sum, value| sum + value);
    let mut text = told(numbers.clone().min_by(order), numbers.max_by(order), sum);
    if nans > 0 {
        _ = write!(text, " without {nans} NaN");
    }
    text
}

fn told<T: Display>(least: Option<T>, most: Option<T>, sum: impl Display) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("minimum {least}, maximum {most}, sum {sum}"),
        _ => "no number".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[Val]) -> Vec<Vec<Val>> {
        values.iter().map(|value| vec![*value]).collect()
    }

    #[test]
    fn results_that_differ_are_summed_up() {
        let of = |values: &[Val]| summary(&column(values));
        assert_eq!(of(&[Val::I32(5), Val::I32(5)]), "");
        assert_eq!(
            of(&[Val::I32(2), Val::I32(-7), Val::I32(i32::MAX)]),
            " (thread 0; all 3 threads: minimum -7, maximum 2147483647, sum 2147483642)"
        );
        // More than 64 bits hold.
        assert_eq!(
            of(&[Val::I64(i64::MAX), Val::I64(i64::MAX), Val::I64(0)]),
            " (thread 0; all 3 threads: minimum 0, maximum 9223372036854775807, sum 18446744073709551614)"
        );
        let f32s = [0.5f32, f32::NAN, -1.25].map(|value| Val::F32(value.to_bits()));
        assert_eq!(
            of(&f32s),
            " (thread 0; all 3 threads: minimum -1.25, maximum 0.5, sum -0.75 without 1 NaN)"
        );
        let f64s = [1e300, f64::INFINITY].map(|value| Val::F64(value.to_bits()));
        assert!(of(&f64s).ends_with("maximum inf, sum inf)"));
        assert_eq!(
            of(&[Val::ExternRef(None), Val::ExternRef(Some(1))]),
            " (thread 0; 1 of 2 threads returned something else)"
        );
        let several = [vec![Val::I32(1), Val::I64(2)], vec![Val::I32(3), Val::I64(2)]];
        assert_eq!(
            summary(&several),
            " (thread 0; all 2 threads: minimum 1, maximum 3, sum 4; minimum 2, maximum 2, sum 4)"
        );
    }

    #[test]
    fn json_has_numbers_where_it_can() {
        let f32s = [0.1f32, f32::NAN, f32::NEG_INFINITY].map(|value| Val::F32(value.to_bits()));
        assert_eq!(json::line(&returned(&column(&f32s))), r#"[0.1,"NaN","-inf"]"#);
        assert_eq!(
            json::line(&returned(&column(&[Val::I64(i64::MIN)]))),
            "[-9223372036854775808]"
        );
        let several = [vec![Val::I32(1), Val::F64(1.5f64.to_bits())]];
        assert_eq!(json::line(&returned(&several)), "[[1,1.5]]");
        assert_eq!(json::line(&returned(&[])), "[]");
    }
}
