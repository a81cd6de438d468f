//! `std::process`: programs that start others.
//!
//! In: calls with std's signatures. Out: functions of `gpu_run_process_v1`. In the order in which to read them:
//!
//! - `sys`: the imports and their numbers;
//! - `pipes`: the ends of pipes that a process has;
//! - `child`: a process that was started, and how it ended;
//! - this file: what it is started with.

mod child;
mod pipes;
mod sys;

use std::borrow::ToOwned;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::vec::Vec;
use std::{fmt, slice};

pub use self::child::{Child, ExitStatus, Output};
pub use self::pipes::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use self::pipes::{End, Kind};
use super::errno::{Errno, check};

/// The process's own number.
pub fn id() -> u32 {
    let mut pid = 0;
    // SAFETY: the call writes to `pid` only.
    match check(unsafe { sys::id(&mut pid) }) {
        Ok(()) => pid,
        // It is the only one.
        Err(_) => 1,
    }
}

/// See `std::process::Command`. The program is one of those that gpu-run was given, by its name.
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    /// Variables that are set, and those that are removed.
    changes: BTreeMap<OsString, Option<OsString>>,
    /// Without the parent's environment.
    clear: bool,
    streams: [Option<Stdio>; 3],
}

/// See `std::process::CommandArgs`.
pub struct CommandArgs<'c>(slice::Iter<'c, OsString>);

impl<'c> Iterator for CommandArgs<'c> {
    type Item = &'c OsStr;

    fn next(&mut self) -> Option<&'c OsStr> {
        self.0.next().map(OsString::as_os_str)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for CommandArgs<'_> {}

impl fmt::Debug for CommandArgs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.clone()).finish()
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg:?}"))
    }
}

impl Command {
    /// See `std::process::Command::new`.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            changes: BTreeMap::new(),
            clear: false,
            streams: [const { None }; 3],
        }
    }

    /// See `std::process::Command::arg`.
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// See `std::process::Command::args`.
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// See `std::process::Command::env`.
    pub fn env<K: AsRef<OsStr>, V: AsRef<OsStr>>(&mut self, key: K, value: V) -> &mut Command {
        let value = value.as_ref().to_owned();
        self.changes.insert(key.as_ref().to_owned(), Some(value));
        self
    }

    /// See `std::process::Command::envs`.
    pub fn envs<I, K, V>(&mut self, variables: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        for (key, value) in variables {
            self.env(key, value);
        }
        self
    }

    /// See `std::process::Command::env_remove`.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        match self.clear {
            true => self.changes.remove(key.as_ref()),
            false => self.changes.insert(key.as_ref().to_owned(), None),
        };
        self
    }

    /// See `std::process::Command::env_clear`.
    pub fn env_clear(&mut self) -> &mut Command {
        self.clear = true;
        self.changes.clear();
        self
    }

    /// See `std::process::Command::stdin`.
    pub fn stdin<T: Into<Stdio>>(&mut self, stream: T) -> &mut Command {
        self.streams[0] = Some(stream.into());
        self
    }

    /// See `std::process::Command::stdout`.
    pub fn stdout<T: Into<Stdio>>(&mut self, stream: T) -> &mut Command {
        self.streams[1] = Some(stream.into());
        self
    }

    /// See `std::process::Command::stderr`.
    pub fn stderr<T: Into<Stdio>>(&mut self, stream: T) -> &mut Command {
        self.streams[2] = Some(stream.into());
        self
    }

    /// See `std::process::Command::get_program`.
    pub fn get_program(&self) -> &OsStr {
        &self.program
    }

    /// See `std::process::Command::get_args`.
    pub fn get_args(&self) -> CommandArgs<'_> {
        CommandArgs(self.args.iter())
    }

    /// See `std::process::Command::spawn`. An end of a pipe that was given to [`Command::stdin`] and its kin is the first
    /// child's; another one finds nothing there.
    ///
    /// # Errors
    ///
    /// `NotFound` if no program has the name, `WouldBlock` if there is no lane or entry for another process now,
    /// `ArgumentListTooLong` beyond 8 KiB of arguments and environment, `InvalidInput` for text with a NUL, and `Unsupported` if
    /// gpu-run was given no programs.
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with([Kind::Inherit; 3])
    }

    /// See `std::process::Command::status`.
    ///
    /// # Errors
    ///
    /// As of [`Command::spawn`].
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        self.spawn()?.wait()
    }

    /// See `std::process::Command::output`.
    ///
    /// # Errors
    ///
    /// As of [`Command::spawn`].
    pub fn output(&mut self) -> io::Result<Output> {
        self.spawn_with([Kind::Null, Kind::Pipe, Kind::Pipe])?
            .wait_with_output()
    }

    /// Starts it, with these streams where nothing else was said.
    fn spawn_with(&mut self, otherwise: [Kind; 3]) -> io::Result<Child> {
        let mut args = Strings::default();
        args.push(&[&self.program])?;
        for arg in &self.args {
            args.push(&[arg])?;
        }
        let environment = self.environment()?;
        let program = self.program.as_encoded_bytes();
        let number = |i: usize| self.streams[i].as_ref().map_or(otherwise[i].number(), Stdio::number);
        let mut request = sys::SpawnRequest {
            program: program.as_ptr(),
            program_length: program.len(),
            args: args.bytes.as_ptr(),
            args_length: args.bytes.len(),
            args_count: args.count,
            environment: environment.bytes.as_ptr(),
            environment_length: environment.bytes.len(),
            environment_count: environment.count,
            streams: [number(0), number(1), number(2)],
            pid: 0,
        };
        let asked = request.streams;
        // SAFETY: the call reads what the request points to, and writes to the request.
        check(unsafe { sys::spawn(&mut request) }).map_err(started)?;
        for stream in self.streams.iter_mut().flatten() {
            stream.give();
        }
        let end = |i: usize| (asked[i] == sys::PIPE).then(|| End::new(request.streams[i]));
        Ok(Child::new(request.pid, [end(0), end(1), end(2)]))
    }

    /// The child's environment, as the call takes it.
    fn environment(&self) -> io::Result<Strings> {
        let mut all = Strings::default();
        if !self.clear && self.changes.is_empty() {
            all.count = sys::OWN_ENVIRONMENT;
            return Ok(all);
        }
        let mut variables = BTreeMap::new();
        if !self.clear {
            variables.extend(crate::env::vars_os());
        }
        for (key, value) in &self.changes {
            match value {
                Some(value) => variables.insert(key.clone(), value.clone()),
                None => variables.remove(key),
            };
        }
        for (key, value) in &variables {
            all.push(&[key, OsStr::new("="), value])?;
        }
        Ok(all)
    }
}

/// Why nothing was started.
fn started(error: Errno) -> io::Error {
    match error.0 {
        sys::NOSYS => io::Error::new(
            ErrorKind::Unsupported,
            "gpu-run was given no programs: see `gpu-run batch --program NAME=FILE.wasm`",
        ),
        _ => error.into(),
    }
}

/// Strings one after the other, each with a NUL at its end.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    count: usize,
}

impl Strings {
    fn push(&mut self, parts: &[&OsStr]) -> io::Result<()> {
        for part in parts {
            let bytes = part.as_encoded_bytes();
            if bytes.contains(&0) {
                return Err(io::Error::new(
                    ErrorKind::InvalidInput,
                    "nul byte found in provided data",
                ));
            }
            self.bytes.extend_from_slice(bytes);
        }
        self.bytes.push(0);
        self.count += 1;
        Ok(())
    }
}
