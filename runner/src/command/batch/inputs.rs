//! The inputs of a batch: from the command line, a list, or the lines of stdin.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use gpu_run::BatchInput;
use serde::Deserialize;

use crate::batch_args::{BatchArgs, INPUT, Shard, ShardChoice};
use crate::report::{Outcome, Report};

/// A process that is to be run.
pub struct Job {
    /// What it is called where it is told of, and its files.
    pub name: String,
    pub what: What,
}

/// What a process is given besides what all are.
pub enum What {
    /// A text that stands for {} in arguments.
    Text(OsString),
    /// A file that is its standard input.
    File(PathBuf),
    /// Its standard input.
    Bytes(Vec<u8>),
    /// Its number.
    Instance(u64),
    /// What an object says.
    Object(Box<Object>),
    /// A line that is no object of that kind, for this reason.
    Wrong(String),
}

/// A line of a list that says all by itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// The arguments, in place of those on the command line.
    args: Option<Vec<String>>,
    /// The standard input.
    stdin: Option<String>,
    /// Further variables.
    #[serde(default)]
    env: HashMap<String, String>,
    /// What the process is called.
    name: Option<String>,
}

/// The processes of a batch in their order.
pub struct Jobs {
    source: Source,
    shard: Option<Shard>,
    /// The next one's number.
    number: u64,
    /// How often a name was taken before.
    names: HashMap<String, u32>,
}

enum Source {
    Given(std::vec::IntoIter<OsString>, bool),
    List(Box<dyn BufRead>, bool),
    Lines(Box<dyn BufRead>),
    Instances(u64),
}

impl Jobs {
    /// The inputs that the options name.
    ///
    /// # Errors
    ///
    /// There are none, or of several kinds; the list cannot be read.
    pub fn of(args: &BatchArgs) -> Outcome<Jobs> {
        let from_stdin = || Box::new(BufReader::new(std::io::stdin())) as Box<dyn BufRead>;
        let has_place = args.has_place();
        let others = args.from.is_some() || args.stdin_lines || args.instances.is_some();
        let source = match args.given_inputs() {
            Some(_) if others => {
                return Err(Report::new("inputs stand behind ::: and are named by an option too")
                    .help("leave out one of ::: and --from, --stdin-lines or --instances"));
            }
            Some(inputs) => Source::Given(inputs.to_vec().into_iter(), has_place),
            None if args.stdin_lines => Source::Lines(from_stdin()),
            None => match (&args.from, args.instances) {
                (Some(path), _) if path == Path::new("-") => Source::List(from_stdin(), has_place),
                (Some(path), _) => {
                    let file = std::fs::File::open(path).map_err(|error| {
                        Report::new(format!("cannot read the list of inputs: {error}")).at(path.display().to_string())
                    })?;
                    Source::List(Box::new(BufReader::new(file)), has_place)
                }
                (None, Some(count)) => Source::Instances(count),
                (None, None) => {
                    return Err(Report::new("the batch has no inputs")
                        .help("name them behind :::, or take them from --from LIST, --stdin-lines or --instances N"));
                }
            },
        };
        Ok(Jobs {
            source,
            shard: shard(args)?,
            number: 0,
            names: HashMap::new(),
        })
    }

    /// How many there are, if that is known.
    pub fn len(&self) -> Option<u64> {
        let all = match &self.source {
            Source::Given(inputs, _) => inputs.len() as u64,
            Source::Instances(count) => *count,
            Source::List(..) | Source::Lines(_) => return None,
        };
        let of_shard = |shard: Shard| all / shard.count + u64::from(all % shard.count > shard.index);
        Some(self.shard.map_or(all, of_shard))
    }

    fn read(&mut self) -> std::io::Result<Option<(Option<String>, What)>> {
        let by_text = |text: OsString, has_place: bool| {
            let name = text.to_string_lossy().into_owned();
            let what = match has_place {
                true => What::Text(text),
                false => What::File(text.into()),
            };
            (Some(name), what)
        };
        match &mut self.source {
            Source::Given(inputs, has_place) => Ok(inputs.next().map(|input| by_text(input, *has_place))),
            Source::Instances(count) => Ok((self.number < *count).then(|| (None, What::Instance(self.number)))),
            Source::Lines(lines) => {
                let mut line = Vec::new();
                lines.read_until(b'\n', &mut line)?;
                Ok((!line.is_empty()).then_some((None, What::Bytes(line))))
            }
            Source::List(lines, has_place) => loop {
                let mut line = Vec::new();
                if lines.read_until(b'\n', &mut line)? == 0 {
                    return Ok(None);
                }
                while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                    line.pop();
                }
                if line.is_empty() {
                    continue;
                }
                if line.starts_with(b"{") {
                    return Ok(Some(match serde_json::from_slice::<Object>(&line) {
                        Ok(object) => (object.name.clone(), What::Object(Box::new(object))),
                        Err(error) => (None, What::Wrong(error.to_string())),
                    }));
                }
                // SAFETY: bytes of a line of a file, which on the systems that this runs on may be any.
                let text = unsafe { OsString::from_encoded_bytes_unchecked(line) };
                return Ok(Some(by_text(text, *has_place)));
            },
        }
    }

    /// Another name than all before it.
    fn unique(&mut self, name: Option<String>) -> String {
        let has_numbers = matches!(self.source, Source::Lines(_) | Source::Instances(_));
        let name = match name {
            Some(name) => name,
            None if has_numbers => return format!("{:06}", self.number),
            None => format!("{:06}", self.number),
        };
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        match *count {
            1 => name,
            again => format!("{name}~{again}"),
        }
    }
}

impl Iterator for Jobs {
    type Item = std::io::Result<Job>;

    fn next(&mut self) -> Option<std::io::Result<Job>> {
        loop {
            let (name, what) = match self.read() {
                Ok(found) => found?,
                Err(error) => return Some(Err(error)),
            };
            let name = self.unique(name);
            let number = self.number;
            self.number += 1;
            if self.shard.is_none_or(|shard| shard.has(number)) {
                return Some(Ok(Job { name, what }));
            }
        }
    }
}

/// Which part of the inputs is run here.
fn shard(args: &BatchArgs) -> Outcome<Option<Shard>> {
    match args.shard {
        None => Ok(None),
        Some(ShardChoice::Of(shard)) => Ok(Some(shard)),
        Some(ShardChoice::Auto) => from_scheduler(|name| std::env::var(name).ok())
            .map(Some)
            .ok_or_else(|| {
                Report::new("--shard auto finds no scheduler's variables").help(
                    "it looks for SLURM_PROCID and SLURM_NTASKS, SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT, \
                 JOB_COMPLETION_INDEX and JOB_COMPLETIONS, SHARD_INDEX and SHARD_COUNT; or write --shard I/N",
                )
            }),
    }
}

/// The part that a scheduler's variables name: of Slurm an array's task before one of a step, whose variables are there too.
fn from_scheduler(variable: impl Fn(&str) -> Option<String>) -> Option<Shard> {
    let number = |name: &str| variable(name)?.trim().parse::<u64>().ok();
    let of = |index: &str, count: &str, first: u64| Shard::new(number(index)?.checked_sub(first)?, number(count)?);
    of("SHARD_INDEX", "SHARD_COUNT", 0)
        .or_else(|| {
            let first = number("SLURM_ARRAY_TASK_MIN").unwrap_or(0);
            of("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", first)
        })
        .or_else(|| of("SLURM_PROCID", "SLURM_NTASKS", 0))
        .or_else(|| of("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS", 0))
}

/// What a process is given.
///
/// # Errors
///
/// Its file cannot be read, or its line was wrong.
pub fn input(args: &[OsString], what: &What, count: Option<u64>) -> Result<BatchInput, String> {
    let with = |text: Option<&OsString>| {
        let filled = args.iter().map(|arg| match (arg.to_str(), text) {
            (Some(arg), Some(text)) if arg.contains(INPUT) => fill(arg, text),
            _ => Cow::Borrowed(arg.as_encoded_bytes()),
        });
        filled.fold(BatchInput::new(), |input, arg| input.arg(arg))
    };
    Ok(match what {
        What::Text(text) => with(Some(text)),
        What::File(path) => with(None).stdin(std::fs::read(path).map_err(|error| format!("cannot read it: {error}"))?),
        What::Bytes(bytes) => with(None).stdin(bytes.clone()),
        What::Instance(number) => {
            let input = with(None).env("GPU_INSTANCE", number.to_string());
            match count {
                Some(count) => input.env("GPU_INSTANCES", count.to_string()),
                None => input,
            }
        }
        What::Object(object) => {
            let mut input = match &object.args {
                Some(args) => args.iter().fold(BatchInput::new(), |input, arg| input.arg(arg)),
                None => with(None),
            };
            for (name, value) in &object.env {
                input = input.env(name, value);
            }
            match &object.stdin {
                Some(stdin) => input.stdin(stdin.as_bytes()),
                None => input,
            }
        }
        What::Wrong(error) => return Err(format!("the line is no object with args, stdin, env and name: {error}")),
    })
}

/// An argument with the input in place of each {}.
fn fill<'f>(arg: &str, text: &OsString) -> Cow<'f, [u8]> {
    let parts: Vec<&[u8]> = arg.split(INPUT).map(str::as_bytes).collect();
    Cow::Owned(parts.join(text.as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_name_the_part() {
        let of = |given: &[(&str, &str)]| {
            let find = |name: &str| {
                given
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| value.to_string())
            };
            from_scheduler(find).map(|shard| (shard.index, shard.count))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")]), Some((3, 8)));
        let array = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "10"),
        ];
        assert_eq!(of(&array), Some((4, 10)));
        assert_eq!(
            of(&[("JOB_COMPLETION_INDEX", "2"), ("JOB_COMPLETIONS", "4")]),
            Some((2, 4))
        );
        assert_eq!(of(&[("SHARD_INDEX", "4"), ("SHARD_COUNT", "4")]), None);
    }

    #[test]
    fn the_input_takes_the_place_of_braces() {
        assert_eq!(&*fill("--in={} {}", &"a b".into()), b"--in=a b a b");
        assert_eq!(&*fill("{}", &"".into()), b"");
    }
}
