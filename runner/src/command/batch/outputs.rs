//! Where the outputs of a batch go: files of a directory, or one stream in the order of the inputs.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::output;
use crate::report::{Outcome, Report};

/// What a process has written, and how it ended.
pub struct Written {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub exit_code: u8,
}

/// Takes outputs.
pub enum Outputs {
    Directory(Directory),
    Ordered(Ordered),
}

impl Outputs {
    /// Takes what the process wrote that is number `at` of those that are run, from 0.
    pub fn take(&mut self, at: u64, name: &str, written: Written) -> io::Result<()> {
        match self {
            Outputs::Directory(directory) => directory.write(name, &written),
            Outputs::Ordered(ordered) => ordered.take(at, Some(written)),
        }
    }

    /// There is nothing of that process.
    pub fn skip(&mut self, at: u64) -> io::Result<()> {
        match self {
            Outputs::Directory(_) => Ok(()),
            Outputs::Ordered(ordered) => ordered.take(at, None),
        }
    }

    /// Writes what waited for others that never came.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Outputs::Directory(_) => Ok(()),
            Outputs::Ordered(ordered) => ordered.finish(),
        }
    }
}

/// A directory with files for each process.
pub struct Directory {
    path: PathBuf,
    /// Names of processes that have ended before.
    ended: HashSet<String>,
}

/// The name of a process's files. What separates directories, or begins a hidden file, is written as in a URL.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for (at, char) in name.chars().enumerate() {
        match char {
            '/' | '\\' | '%' | '\0' | '\n' | '\r' => out += &format!("%{:02X}", char as u32),
            '.' if at == 0 => out += "%2E",
            _ => out.push(char),
        }
    }
    // File systems take 255 bytes, of which an ending needs some.
    const MOST: usize = 200;
    if out.len() > MOST {
        let mut end = MOST;
        while !out.is_char_boundary(end) {
            end -= 1;
        }
        let hash = out.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        out.truncate(end);
        out += &format!("~{hash:016x}");
    }
    out
}

impl Directory {
    /// Makes the directory. With `resume` it is looked at which processes have ended.
    ///
    /// # Errors
    ///
    /// It cannot be made or read.
    pub fn open(path: &Path, resume: bool) -> Outcome<Directory> {
        let failed = |what: &str, error: io::Error| Report::new(format!("cannot {what} the directory of outputs: {error}")).at(path.display().to_string());
        fs::create_dir_all(path).map_err(|error| failed("make", error))?;
        let mut ended = HashSet::new();
        for entry in fs::read_dir(path).map_err(|error| failed("read", error))?.filter(|_| resume) {
            let entry = entry.map_err(|error| failed("read", error))?;
            if let Some(name) = entry.file_name().to_str().and_then(|name| name.strip_suffix(".exit")) {
                ended.insert(name.to_owned());
            }
        }
        Ok(Directory {
            path: path.to_owned(),
            ended,
        })
    }

    /// Whether a process has ended before.
    pub fn has(&self, name: &str) -> bool {
        !self.ended.is_empty() && self.ended.contains(&file_name(name))
    }

    /// The exit code comes last, and all of it at once: where it is, all is.
    fn write(&self, name: &str, written: &Written) -> io::Result<()> {
        let file = |ending: &str| self.path.join(format!("{}.{ending}", file_name(name)));
        fs::write(file("out"), &written.stdout)?;
        match written.stderr.is_empty() {
            false => fs::write(file("err"), &written.stderr)?,
            // Of an earlier run.
            true => match fs::remove_file(file("err")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        let part = file("exit.part");
        fs::write(&part, format!("{}\n", written.exit_code))?;
        fs::rename(part, file("exit"))
    }
}

/// Standard output and error, in the order of the inputs.
pub struct Ordered {
    next: u64,
    waiting: BTreeMap<u64, Option<Written>>,
    /// The reader of stdout has gone.
    closed: bool,
}

impl Ordered {
    pub fn new() -> Ordered {
        Ordered {
            next: 0,
            waiting: BTreeMap::new(),
            closed: false,
        }
    }

    fn take(&mut self, at: u64, written: Option<Written>) -> io::Result<()> {
        self.waiting.insert(at, written);
        while let Some(written) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.write(written)?;
        }
        Ok(())
    }

    fn write(&mut self, written: Option<Written>) -> io::Result<()> {
        let Some(written) = written else { return Ok(()) };
        // A closed stream of messages is no reason to end.
        _ = output::stderr().write_all(&written.stderr);
        if self.closed {
            return Ok(());
        }
        match output::stdout().write_all(&written.stdout) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            result => result?,
        }
        Ok(())
    }

    /// Whether nobody reads what is written.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn finish(&mut self) -> io::Result<()> {
        for (_, written) in std::mem::take(&mut self.waiting) {
            self.write(written)?;
        }
        match output::stdout().flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_have_no_directories() {
        assert_eq!(file_name("data/a.txt"), "data%2Fa.txt");
        assert_eq!(file_name(".."), "%2E.");
        assert_eq!(file_name("100%"), "100%25");
        let long = file_name(&"ä".repeat(300));
        assert!(long.len() <= 220 && long != file_name(&"ä".repeat(301)));
    }
}
