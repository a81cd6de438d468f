//! Where the outputs of a batch go: files of a directory, or one stream in the order of the inputs.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
            Outputs::Directory(directory) => directory.write(name, written),
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
            Outputs::Directory(directory) => directory.finish(),
            Outputs::Ordered(ordered) => ordered.finish(),
        }
    }
}

/// Threads that write files: making one takes longer than many processes do.
const WRITERS: usize = 8;
/// Processes whose files wait for a thread.
const WAITING: usize = 4096;

/// A directory with files for each process.
pub struct Directory {
    path: PathBuf,
    /// Names of processes that have ended before.
    ended: Arc<HashSet<String>>,
    /// There may be files of an earlier run.
    was_used: bool,
    writers: Option<Writers>,
}

/// The threads that write.
struct Writers {
    queue: SyncSender<Files>,
    threads: Vec<JoinHandle<()>>,
    /// The first that went wrong.
    failed: Arc<Mutex<Option<io::Error>>>,
}

/// The files of one process.
struct Files {
    /// Without an ending.
    path: PathBuf,
    written: Written,
    was_used: bool,
}

impl Files {
    /// The exit code comes last: where it is, all is.
    fn write(&self) -> io::Result<()> {
        let file = |ending: &str| {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        };
        if self.was_used {
            remove(&file(".exit"))?;
            remove(&file(".err"))?;
        }
        fs::write(file(".out"), &self.written.stdout)?;
        if !self.written.stderr.is_empty() {
            fs::write(file(".err"), &self.written.stderr)?;
        }
        fs::write(file(".exit"), format!("{}\n", self.written.exit_code))
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Writers {
    fn begin() -> Writers {
        let (queue, files) = sync_channel::<Files>(WAITING);
        let files = Arc::new(Mutex::new(files));
        let failed = Arc::new(Mutex::new(None));
        let write = |files: Arc<Mutex<std::sync::mpsc::Receiver<Files>>>, failed: Arc<Mutex<Option<io::Error>>>| {
            move || {
                loop {
                    let next = files.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(next) = next else { return };
                    if let Err(error) = next.write() {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                    }
                }
            }
        };
        let threads = (0..WRITERS).map(|_| std::thread::spawn(write(files.clone(), failed.clone())));
        Writers {
            queue,
            threads: threads.collect(),
            failed,
        }
    }
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
    /// Makes the directory. With `resume` it is looked at which processes have ended. Without it those of an earlier batch have
    /// not, unless the directory is `shared` with others that are at work.
    ///
    /// # Errors
    ///
    /// It cannot be made or read.
    pub fn open(path: &Path, resume: bool, shared: bool) -> Outcome<Directory> {
        let failed = |what: &str, error: io::Error| {
            Report::new(format!("cannot {what} the directory of outputs: {error}")).at(path.display().to_string())
        };
        fs::create_dir_all(path).map_err(|error| failed("make", error))?;
        let mut ended = HashSet::new();
        let mut was_used = false;
        for entry in fs::read_dir(path).map_err(|error| failed("read", error))? {
            let entry = entry.map_err(|error| failed("read", error))?;
            was_used = true;
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".exit")) else {
                continue;
            };
            if !resume && shared {
                break;
            }
            if !resume {
                remove(&entry.path()).map_err(|error| failed("empty", error))?;
                continue;
            }
            // One without a code was about to be written.
            if entry.metadata().is_ok_and(|found| found.len() > 0) {
                ended.insert(name.to_owned());
            }
        }
        Ok(Directory {
            path: path.to_owned(),
            ended: Arc::new(ended),
            was_used,
            writers: None,
        })
    }

    /// Says whether a process has ended before.
    pub fn ended(&self) -> impl Fn(&str) -> bool + Send + 'static {
        let ended = self.ended.clone();
        move |name| !ended.is_empty() && ended.contains(&file_name(name))
    }

    /// Has a process's files written, soon. Says what went wrong with earlier ones.
    fn write(&mut self, name: &str, written: Written) -> io::Result<()> {
        let files = Files {
            path: self.path.join(file_name(name)),
            written,
            was_used: self.was_used,
        };
        let writers = self.writers.get_or_insert_with(Writers::begin);
        // Without threads it is written here.
        if let Err(files) = writers.queue.send(files) {
            files.0.write()?;
        }
        let failed = writers.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }

    /// Waits until all is written.
    fn finish(&mut self) -> io::Result<()> {
        let Some(writers) = self.writers.take() else {
            return Ok(());
        };
        drop(writers.queue);
        for thread in writers.threads {
            _ = thread.join();
        }
        let failed = writers.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), Err)
    }
}

/// Bytes that are written to stdout at once, and how long fewer wait for more.
const TOGETHER: usize = 64 << 10;
const WAIT: Duration = Duration::from_millis(50);
/// Such pieces that wait to be written.
const PIECES: usize = 64;

/// Standard output, or a file in its place, and standard error, in the order of the inputs. A thread writes them, so that a
/// slow reader does not hold processes until much waits for it.
pub struct Ordered {
    next: u64,
    waiting: BTreeMap<u64, Option<Written>>,
    /// What is to be written to stdout, and since when it waits.
    text: Vec<u8>,
    since: Instant,
    /// What takes the place of stdout, until there is a thread.
    file: Option<fs::File>,
    writer: Option<Writer>,
    /// The reader of stdout has gone, or it could not be written.
    closed: bool,
}

/// The thread that writes.
struct Writer {
    pieces: SyncSender<Piece>,
    thread: JoinHandle<io::Result<()>>,
}

enum Piece {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl Writer {
    fn begin(file: Option<fs::File>) -> io::Result<Writer> {
        let (pieces, written) = sync_channel(PIECES);
        let write = move || {
            let mut to: Box<dyn Write> = match file {
                Some(file) => Box::new(file),
                None => Box::new(output::stdout()),
            };
            for piece in written {
                match piece {
                    Piece::Stdout(text) => {
                        to.write_all(&text)?;
                        to.flush()?;
                    }
                    // A closed stream of messages is no reason to end.
                    Piece::Stderr(text) => output::write_stderr(&text),
                }
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("outputs".into()).spawn(write)?;
        Ok(Writer { pieces, thread })
    }
}

impl Ordered {
    /// Outputs to a file, or to stdout.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub fn open(path: Option<&Path>) -> Outcome<Ordered> {
        let make = |path: &Path| {
            fs::File::create(path).map_err(|error| {
                Report::new(format!("cannot make the file of outputs: {error}")).at(path.display().to_string())
            })
        };
        Ok(Ordered {
            next: 0,
            waiting: BTreeMap::new(),
            text: Vec::new(),
            since: Instant::now(),
            file: path.map(make).transpose()?,
            writer: None,
            closed: false,
        })
    }

    fn take(&mut self, at: u64, written: Option<Written>) -> io::Result<()> {
        if at != self.next {
            self.waiting.insert(at, written);
            return Ok(());
        }
        self.write(written)?;
        self.next += 1;
        while let Some(written) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.write(written)?;
        }
        Ok(())
    }

    fn write(&mut self, written: Option<Written>) -> io::Result<()> {
        let Some(written) = written else { return Ok(()) };
        if self.text.is_empty() {
            self.since = Instant::now();
        }
        match self.text.is_empty() && written.stdout.len() >= TOGETHER {
            true => self.text = written.stdout,
            false => self.text.extend_from_slice(&written.stdout),
        }
        if !written.stderr.is_empty() {
            self.flush()?;
            self.send(Piece::Stderr(written.stderr))?;
        }
        match self.text.len() >= TOGETHER || self.since.elapsed() >= WAIT {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Has what waits written.
    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        match text.is_empty() {
            true => Ok(()),
            false => self.send(Piece::Stdout(text)),
        }
    }

    fn send(&mut self, piece: Piece) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        if self.writer.is_none() {
            self.writer = Some(Writer::begin(self.file.take())?);
        }
        let sent = self.writer.as_ref().map(|writer| writer.pieces.send(piece));
        match sent {
            // The thread ends before its channel only where it could not write.
            Some(Err(_)) => self.end(),
            _ => Ok(()),
        }
    }

    /// Waits for the thread. What its reader does not want any more is no error.
    fn end(&mut self) -> io::Result<()> {
        let Some(Writer { pieces, thread }) = self.writer.take() else {
            return Ok(());
        };
        drop(pieces);
        let written = thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that writes them has ended")));
        // What comes after a part that is lost is not written.
        self.closed = written.is_err();
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Whether nothing is written any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn finish(&mut self) -> io::Result<()> {
        for (_, written) in std::mem::take(&mut self.waiting) {
            self.write(written)?;
        }
        self.flush()?;
        self.end()
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
