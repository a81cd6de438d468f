//! The inputs of a batch: from the command line, a list, or the lines of stdin.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use gpu_run::{BatchInput, GivenFiles};
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
    /// Files that it finds, by their paths there: where they are on this machine.
    #[serde(default)]
    files: HashMap<String, PathBuf>,
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

/// What inputs are read from, line by line.
type Lines = BufReader<Box<dyn std::io::Read + Send>>;

enum Source {
    Given(std::vec::IntoIter<OsString>, bool),
    List {
        lines: Lines,
        has_place: bool,
        /// How many lines name something, if that is known.
        len: Option<u64>,
    },
    Lines(Lines),
    Instances(u64),
}

impl Jobs {
    /// The inputs that the options name.
    ///
    /// # Errors
    ///
    /// There are none, or of several kinds; the list cannot be read.
    pub fn of(args: &BatchArgs) -> Outcome<Jobs> {
        let from_stdin = || Lines::new(Box::new(std::io::stdin()));
        let has_place = args.has_place();
        let others = args.from.is_some() || args.stdin_lines || args.instances.is_some();
        let source = match args.given_inputs() {
            Some(_) if others => {
                return Err(Report::new("inputs stand after ::: and are named by an option too")
                    .help("leave out one of ::: and --from, --stdin-lines or --instances"));
            }
            Some(inputs) => Source::Given(Vec::from(inputs).into_iter(), has_place),
            None if args.stdin_lines => Source::Lines(from_stdin()),
            None => match (&args.from, args.instances) {
                (Some(path), _) if path == Path::new("-") => Source::List {
                    lines: from_stdin(),
                    has_place,
                    len: None,
                },
                (Some(path), _) => {
                    let failed = |error: std::io::Error| {
                        Report::new(format!("cannot read the list of inputs: {error}")).at(path.display().to_string())
                    };
                    let mut file = std::fs::File::open(path).map_err(failed)?;
                    let len = listed(&mut file).map_err(failed)?;
                    Source::List {
                        lines: Lines::new(Box::new(file)),
                        has_place,
                        len,
                    }
                }
                (None, Some(count)) => Source::Instances(count),
                (None, None) => {
                    return Err(Report::new("the batch has no inputs")
                        .help("name them after :::, or take them from --from LIST, --stdin-lines or --instances N"));
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
            Source::List { len: Some(len), .. } => *len,
            Source::List { len: None, .. } | Source::Lines(_) => return None,
        };
        let of_shard = |shard: Shard| all / shard.count + u64::from(all % shard.count > shard.index);
        Some(self.shard.map_or(all, of_shard))
    }

    /// Whether the next one may not be there yet.
    fn may_wait(&self) -> bool {
        let nothing_read = |lines: &Lines| lines.buffer().is_empty();
        match &self.source {
            Source::List { lines, .. } | Source::Lines(lines) => nothing_read(lines),
            Source::Given(..) | Source::Instances(_) => false,
        }
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
            Source::Instances(count) => Ok((self.number < *count).then_some((None, What::Instance(self.number)))),
            Source::Lines(lines) => {
                let mut line = Vec::new();
                lines.read_until(b'\n', &mut line)?;
                Ok((!line.is_empty()).then_some((None, What::Bytes(line))))
            }
            Source::List { lines, has_place, .. } => {
                let mut line = Vec::new();
                if !next_line(lines, &mut line)? {
                    return Ok(None);
                }
                if line.starts_with(b"{") {
                    return Ok(Some(match serde_json::from_slice::<Object>(&line) {
                        Ok(object) => (object.name.clone(), What::Object(Box::new(object))),
                        Err(error) => (None, What::Wrong(error.to_string())),
                    }));
                }
                // SAFETY: bytes of a line of a file, which on the systems that this runs on may be any.
                let text = unsafe { OsString::from_encoded_bytes_unchecked(line) };
                Ok(Some(by_text(text, *has_place)))
            }
        }
    }

    /// Another name than all before it.
    fn unique(&mut self, name: Option<String>) -> String {
        let Some(name) = name else {
            let number = format!("{:06}", self.number);
            // Where all are numbers they differ.
            return match self.source {
                Source::Lines(_) | Source::Instances(_) => number,
                _ => self.unique(Some(number)),
            };
        };
        let mut again = self.names.get(&name).copied().unwrap_or(0) + 1;
        let mut unique = match again {
            1 => name.clone(),
            again => format!("{name}~{again}"),
        };
        while unique != name && self.names.contains_key(&unique) {
            again += 1;
            unique = format!("{name}~{again}");
        }
        self.names.insert(name, again);
        self.names.entry(unique.clone()).or_insert(1);
        unique
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

/// Reads the next line of a list that is not empty, without its end. False if there is none.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    loop {
        line.clear();
        if lines.read_until(b'\n', line)? == 0 {
            return Ok(false);
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        if !line.is_empty() {
            return Ok(true);
        }
    }
}

/// How many lines of a list name something, if it can be read twice.
fn listed(file: &mut std::fs::File) -> std::io::Result<Option<u64>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let (mut lines, mut line, mut count) = (BufReader::new(&mut *file), Vec::new(), 0);
    while next_line(&mut lines, &mut line)? {
        count += 1;
    }
    file.rewind()?;
    Ok(Some(count))
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

/// What has become of a job before it begins.
pub enum Read {
    /// It has ended in an earlier run.
    Skipped,
    /// It is number `at` of those that are run, and this is what it is given, or why there is nothing.
    Ready(u64, Job, Result<BatchInput, String>),
    /// There are no more, for this reason.
    Lost(std::io::Error),
}

/// Threads that read inputs.
const READERS: usize = 8;
/// Inputs and bytes of files that a thread reads in one go, and how many of such parts are under way or wait.
const PART: usize = 512;
const PART_BYTES: usize = 4 << 20;
const PARTS: usize = 64;

/// Some jobs in their order, and where what came of them goes.
struct Part {
    /// Those that ended in an earlier run, which come first.
    skipped: usize,
    jobs: Vec<(u64, Job)>,
    /// Why there are no more, if that is an error.
    lost: Option<std::io::Error>,
    /// Which one it is, from 0.
    number: u64,
    done: SyncSender<Piece>,
}

/// Some of a part's inputs, and how many bytes they have.
struct Piece {
    read: Vec<Read>,
    bytes: usize,
    /// It is the part's last one.
    is_last: bool,
}

/// Bytes of inputs that were read and that nobody has taken: most of them, and how many there are.
const MOST_AHEAD: usize = 256 << 20;

#[derive(Default)]
struct Held {
    bytes: usize,
    /// The part that is taken next, which does not wait.
    next: u64,
    /// Nobody takes any more.
    over: bool,
}

/// Room for what is read ahead.
#[derive(Default)]
struct Room {
    held: Mutex<Held>,
    changed: Condvar,
}

impl Room {
    fn change(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until more of a part may be read. False if nobody wants it.
    fn wait(&self, part: u64) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |held: &mut Held| held.bytes >= MOST_AHEAD && held.next != part && !held.over;
        let held = self.changed.wait_while(held, full);
        !held.unwrap_or_else(PoisonError::into_inner).over
    }
}

/// Inputs that threads read ahead.
pub struct Ahead {
    /// Where each part comes, in their order.
    parts: Receiver<Receiver<Piece>>,
    /// Where the next part comes.
    next: Option<Receiver<Piece>>,
    room: Arc<Room>,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.room.change(|held| held.over = true);
    }
}

impl Ahead {
    /// The next ones, for which it waits so long.
    pub fn next(&mut self, wait: Duration) -> Result<Vec<Read>, RecvTimeoutError> {
        let next = match self.next.take() {
            Some(next) => next,
            None => self.parts.recv_timeout(wait)?,
        };
        match next.recv_timeout(wait) {
            // Its thread is at it.
            Err(RecvTimeoutError::Timeout) => {
                self.next = Some(next);
                Err(RecvTimeoutError::Timeout)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let lost = std::io::Error::other("the thread that read them has ended");
                Ok(vec![Read::Lost(lost)])
            }
            Ok(Piece { read, bytes, is_last }) => {
                self.room.change(|held| {
                    held.bytes -= bytes;
                    held.next += u64::from(is_last);
                });
                self.next = (!is_last).then_some(next);
                Ok(read)
            }
        }
    }
}

/// Reads the inputs of all jobs on threads of their own, which end when nobody takes what they read.
///
/// # Errors
///
/// The system has no thread for it.
pub fn read_ahead(
    mut jobs: Jobs,
    args: Vec<OsString>,
    count: Option<u64>,
    ended: impl Fn(&str) -> bool + Send + 'static,
) -> std::io::Result<Ahead> {
    let (send, parts) = sync_channel(PARTS);
    let (give, take) = channel::<Part>();
    let take = Arc::new(Mutex::new(take));
    // The first ones come at once, for they may be all for a while; and it is not known how large they are.
    let most = Arc::new(AtomicUsize::new(1));
    let room = Arc::new(Room::default());
    for number in 0..READERS {
        let (take, most, room, args) = (take.clone(), most.clone(), room.clone(), args.clone());
        let work = move || {
            loop {
                let next = take.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok(part) = next else { return };
                read_part(part, &args, count, &most, &room);
            }
        };
        // Without any there is no input, as the other end sees.
        _ = std::thread::Builder::new().name(format!("inputs {number}")).spawn(work);
    }
    let work = move || {
        let mut next_at = 0;
        for number in 0.. {
            let (done, receive) = sync_channel(1);
            let mut part = Part {
                skipped: 0,
                jobs: Vec::new(),
                lost: None,
                number,
                done,
            };
            // Relaxed: a hint.
            let most = most.load(Ordering::Relaxed);
            let mut is_last = false;
            while part.jobs.len() < most {
                match jobs.next() {
                    Some(Ok(job)) if ended(&job.name) => part.skipped += 1,
                    Some(Ok(job)) => {
                        part.jobs.push((next_at, job));
                        next_at += 1;
                    }
                    end => {
                        part.lost = end.and_then(Result::err);
                        is_last = true;
                        break;
                    }
                }
                // What comes line by line is not waited for.
                if jobs.may_wait() {
                    break;
                }
            }
            if send.send(receive).is_err() || give.send(part).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("inputs".into()).spawn(work)?;
    Ok(Ahead {
        parts,
        next: None,
        room,
    })
}

/// Reads a part, and says by `most` how many jobs another one is to have.
fn read_part(part: Part, args: &[OsString], count: Option<u64>, most: &AtomicUsize, room: &Room) {
    let len = part.jobs.len();
    let mut read: Vec<Read> = (0..part.skipped).map(|_| Read::Skipped).collect();
    let (mut bytes, mut sent) = (0, 0);
    for (at, job) in part.jobs {
        if bytes - sent > PART_BYTES {
            let piece = Piece {
                read: std::mem::take(&mut read),
                bytes: bytes - sent,
                is_last: false,
            };
            sent = bytes;
            if part.done.send(piece).is_err() {
                return;
            }
        }
        if !room.wait(part.number) {
            return;
        }
        let input = input(args, &job.what, count);
        let more = input.as_ref().map_or(0, BatchInput::bytes);
        room.change(|held| held.bytes += more);
        bytes += more;
        read.push(Read::Ready(at, job, input));
    }
    read.extend(part.lost.map(Read::Lost));
    let wanted = match bytes > PART_BYTES {
        true => (len / 2).max(1),
        false => (len * 2).clamp(1, PART),
    };
    // One that was cut short says nothing of what more may be read at once.
    if bytes > PART_BYTES || wanted > most.load(Ordering::Relaxed) {
        most.store(wanted, Ordering::Relaxed);
    }
    // Nobody may want it any more.
    _ = part.done.send(Piece {
        read,
        bytes: bytes - sent,
        is_last: true,
    });
}

/// What a process is given.
///
/// # Errors
///
/// Its file cannot be read, or its line was wrong.
pub fn input(args: &[OsString], what: &What, count: Option<u64>) -> Result<BatchInput, String> {
    let has_nul = match what {
        What::Text(text) => text.as_encoded_bytes().contains(&0),
        What::Object(object) => {
            let args = object.args.iter().flatten();
            args.chain(object.env.keys())
                .chain(object.env.values())
                .any(|text| text.contains('\0'))
        }
        _ => false,
    };
    if has_nul {
        return Err("an argument or variable has a NUL character, which ends it".into());
    }
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
            if let Some(stdin) = &object.stdin {
                input = input.stdin(stdin.as_bytes());
            }
            let mut files = Vec::new();
            for (path, host) in &object.files {
                let bytes =
                    std::fs::read(host).map_err(|error| format!("cannot read its file {}: {error}", host.display()))?;
                files.push((path.clone(), bytes.into()));
            }
            input.files(GivenFiles::new(files)?)
        }
        What::Wrong(error) => {
            return Err(format!(
                "the line is no object with args, stdin, env, files and name: {error}"
            ));
        }
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
    fn no_two_jobs_have_the_same_name() {
        let given = ["a", "a~2", "a", "a", "b", "a~2", "a~3"].map(OsString::from).to_vec();
        let jobs = Jobs {
            source: Source::Given(given.into_iter(), true),
            shard: None,
            number: 0,
            names: HashMap::new(),
        };
        let names: Vec<String> = jobs.filter_map(|job| Some(job.ok()?.name)).collect();
        let mut different = names.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 7, "{names:?}");
        assert_eq!(names[..3], ["a", "a~2", "a~3"]);
    }

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
