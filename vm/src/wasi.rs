//! WASI preview 1: the part of it that the host serves, and the connections that guests make.
//!
//! [`Wasi`] answers requests of guests: files, directories, standard input and output, waiting, sockets.
//! Errors are those of wasmtime's preview 1, errno by errno; where this differs, the function says so:
//!
//! - Files can be opened with `SYNC`, `DSYNC` and `RSYNC`. `dev`, `ino` and `ctim` are the host's. An error of the host
//!   that wasmtime reports as EIO keeps its own number (EXDEV, EROFS, EMFILE and others).
//! - Reads and writes take all buffers of a call, not the first.
//! - Numbers of descriptors that were closed are assigned again, lowest first.
//! - A listing of a directory stays as it was when it began: a guest that removes files meanwhile misses none.
//! - `fd_seek` beyond what the host's file system allows is EINVAL; wasmtime, which keeps positions by itself, accepts
//!   it.
//! - A call's arguments are checked before the host is asked, in another order than wasmtime's.
//!   Pointers outside of memory trap also for no bytes (`random_get`) and no subscriptions (`poll_oneoff`). They also
//!   trap where the descriptor is not open (`path_create_directory`). So does a write of more bytes than memory has,
//!   which there is ENOMEM.
//! - A slash after the name of a directory does not keep it from being removed.
//! - `fd_filestat_set_times` sets the times of a directory too, as WASI's text says ("of a file or directory") and
//!   POSIX's `futimens`; there it is EBADF.
//! - `path_filestat_get` of `file/` or `file/.` is ENOTDIR where `file` is no directory, whether links are followed or
//!   not. POSIX resolves such a path to directories only. There it succeeds where links are not followed.
//! - Flags and numbers without a meaning are EINVAL or, if too wide, EOVERFLOW; wasmtime traps.
//! - Listeners work; there wasmtime has no sockets.
//!
//! Read-only directories refuse with EPERM, and what leads out of a directory is EPERM as well.
//!
//! In: a [`HostCall`]. Out: a [`HostReply`]. In the order in which to read the modules:
//!
//! - this file: [`WasiBuilder`], and [`Wasi`], which finds the function of a call;
//! - `abi`, `args`, `errno`: numbers of the interface, arguments as its types, errors;
//! - `table`: descriptors by number;
//! - `place`: where files lie, on the host or in memory (`tmpfs`); `sharing`: which are open for reading or writing;
//! - `dir`, `open`, `readdir`, `stat`, `file`: functions of directories and files; `folders` notes a file in no folder;
//! - `stdio`: standard input, output and error;
//! - `net`, `sock`: to which addresses a guest may connect, and its sockets;
//! - `request`: reads and writes that a guest has begun; `poll`: waiting.

mod abi;
mod args;
mod dir;
mod errno;
mod file;
mod folders;
mod given;
mod net;
mod open;
mod place;
mod poll;
mod readdir;
mod request;
mod sharing;
mod sock;
mod stat;
mod stdio;
mod table;
mod tmpfs;

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use gpu_run_bytecode::wasi::Function;

use self::abi::fdflags;
use self::args::{Args, Result, changes, unless_ended};
use self::dir::Directory;
pub use self::errno::Errno;
use self::folders::Folders;
pub use self::given::GivenFiles;
use self::net::Network;
use self::place::Tree;
use self::request::Requests;
use self::sharing::Sharing;
use self::sock::Listener;
use self::stdio::{Output, Stdin};
use self::table::{Descriptor, Table};
pub(crate) use self::tmpfs::DEVICE_NUMBER;
use self::tmpfs::Node;
pub use self::tmpfs::TmpfsFiles;
pub(crate) use self::tmpfs::device_lease::{Attributes, LentFile, Pages};
use crate::layout::STREAM_DESCRIPTORS;
use crate::{HostCall, HostReply, Services, Stream};

/// A clock: nanoseconds since whatever it counts from.
type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// What a guest reads as standard input.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// That of this process.
    Inherit,
    /// Nothing: it is at its end.
    #[default]
    Empty,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
}

/// A directory of the host that is open, for any number of guests.
#[derive(Clone, Debug)]
pub struct Folder(Arc<Dir>);

impl Folder {
    /// Opens a directory.
    ///
    /// # Errors
    /// If it cannot be opened; the message names it.
    pub fn open(host: impl AsRef<Path>) -> io::Result<Folder> {
        let host = host.as_ref();
        let dir = Dir::open_ambient_dir(host, ambient_authority()).map_err(|error| {
            let message = format!("cannot open the directory {}: {error}", host.display());
            io::Error::new(error.kind(), message)
        })?;
        Ok(Folder(Arc::new(dir)))
    }
}

/// What a guest is to have; builds a [`Wasi`].
///
/// Left alone, standard input is at its end, and what is written to standard output and error is dropped.
///
/// ```
/// use gpu_run_vm::{Input, WasiBuilder};
///
/// let wasi = WasiBuilder::new()
///     .stdin(Input::Inherit)
///     .stdout(Box::new(std::io::stdout()), false)
///     .dir(".", "/data", true)?
///     .build();
/// # let _: gpu_run_vm::Wasi = wasi;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct WasiBuilder {
    stdin: Input,
    stdout: Output,
    stderr: Output,
    directories: Vec<Directory>,
    /// Of the host's, there is one at least.
    given_folders: bool,
    /// The first file system in memory.
    memory: Option<Arc<Mutex<tmpfs::Tree>>>,
    listeners: Vec<TcpListener>,
    network: Network,
    monotonic: Clock,
    realtime: Clock,
}

impl Default for WasiBuilder {
    fn default() -> Self {
        let start = Instant::now();
        WasiBuilder {
            stdin: Input::Empty,
            stdout: Output::new(Stream::Stdout, Box::new(io::sink()), false),
            stderr: Output::new(Stream::Stderr, Box::new(io::sink()), false),
            directories: Vec::new(),
            given_folders: false,
            memory: None,
            listeners: Vec::new(),
            network: Network::default(),
            monotonic: Box::new(move || start.elapsed().as_nanos() as u64),
            realtime: Box::new(|| {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                since.as_nanos() as u64
            }),
        }
    }
}

impl WasiBuilder {
    /// A guest that has nothing.
    pub fn new() -> Self {
        WasiBuilder::default()
    }

    /// Sets standard input.
    pub fn stdin(mut self, input: Input) -> Self {
        self.stdin = input;
        self
    }

    /// Sets standard output. `terminal` is what the guest is told: whether it is a terminal.
    pub fn stdout(mut self, writer: Box<dyn Write + Send>, terminal: bool) -> Self {
        self.stdout = Output::new(Stream::Stdout, writer, terminal);
        self
    }

    /// Sets standard error, as [`WasiBuilder::stdout`] does standard output.
    pub fn stderr(mut self, writer: Box<dyn Write + Send>, terminal: bool) -> Self {
        self.stderr = Output::new(Stream::Stderr, writer, terminal);
        self
    }

    /// Opens a directory of the host, and all below it, to the guest by the name `guest`. It gets the
    /// next descriptor, from 3 on. In a `read_only` one nothing can be made, changed or removed.
    ///
    /// # Errors
    /// If the directory cannot be opened; the message names it.
    pub fn dir(self, host: impl AsRef<Path>, guest: impl Into<String>, read_only: bool) -> io::Result<Self> {
        Ok(self.folder(&Folder::open(host)?, guest, read_only))
    }

    /// The same with a directory that is open already, which several guests may have.
    pub fn folder(mut self, folder: &Folder, guest: impl Into<String>, read_only: bool) -> Self {
        self.given_folders = true;
        let tree = Tree::Host(folder.0.clone());
        self.directories
            .push(Directory::new(tree, Some(guest.into()), read_only, 0));
        self
    }

    /// Opens an empty directory in memory to the guest by the name `guest`, as [`WasiBuilder::dir`] does one of the
    /// host. It and all below it take at most `size` bytes; what does not fit is ENOSPC. It ends with the [`Wasi`].
    /// While a run is under way, the data of files in the first such directory lies in device memory; see
    /// [`TmpfsFiles`].
    pub fn tmpfs(mut self, guest: impl Into<String>, size: u64) -> Self {
        let node = Node::new(size);
        self.memory.get_or_insert_with(|| node.file_system());
        let tree = Tree::Tmpfs(node);
        self.directories
            .push(Directory::new(tree, Some(guest.into()), false, 0));
        self
    }

    /// The same with files in it. Besides these, it takes at most `size` bytes.
    pub fn files(self, guest: impl Into<String>, files: &GivenFiles, size: u64) -> Self {
        let builder = self.tmpfs(guest, size.saturating_add(files.bytes()));
        if let Some(Tree::Tmpfs(root)) = builder.directories.last().map(|directory| &directory.tree) {
            files.put_into(root);
        }
        builder
    }

    /// Passes the guest a socket from which it can accept connections. Its descriptor comes after those of all
    /// directories: C libraries look for these until the first number that is not a directory.
    ///
    /// The socket is made to answer at once, and so are its clones: their `accept` is then an error
    /// ([`io::ErrorKind::WouldBlock`]) where there is no connection.
    pub fn listener(mut self, listener: TcpListener) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Lets the guest connect to `destination`: `HOST:PORT`. HOST is an IP address (IPv6 in brackets) or a name, PORT a
    /// number or `*` for every port. A name is resolved here, once. The guest may connect to the addresses that it has
    /// now, and is told them when it asks for that name. Without any, it may connect to nothing.
    ///
    /// ```
    /// # use gpu_run_vm::WasiBuilder;
    /// let wasi = WasiBuilder::new().allow_net("127.0.0.1:8080")?.allow_net("[::1]:*")?.build();
    /// assert!(WasiBuilder::new().allow_net("127.0.0.1").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no such text, or the name cannot be resolved; the message says which.
    pub fn allow_net(mut self, destination: &str) -> io::Result<Self> {
        self.network.allow(destination)?;
        Ok(self)
    }

    /// Sets the guest's monotonic clock, in nanoseconds. Only waiting until a time looks at it: it must go
    /// as the one that answers the guest's `clock_time_get` goes. Left alone, it counts from now.
    pub fn monotonic_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.monotonic = Box::new(clock);
        self
    }

    /// Sets the guest's realtime clock, in nanoseconds since 1970, as [`WasiBuilder::monotonic_clock`]
    /// does the other one. Left alone, it is the host's.
    pub fn realtime_clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.realtime = Box::new(clock);
        self
    }

    /// Opens the guest's descriptors.
    pub fn build(self) -> Wasi {
        let stdio = [
            Descriptor::Stdin(Stdin::new(self.stdin)),
            Descriptor::Output(self.stdout),
            Descriptor::Output(self.stderr),
        ];
        let directories = self.directories.into_iter().map(Descriptor::Directory);
        let folders = Folders::new(self.given_folders);
        let listeners = self.listeners.into_iter().map(Listener::new);
        let listeners = listeners.map(Descriptor::Listener);
        let memory = self.memory;
        Wasi {
            memory,
            folders,
            table: Table::new(stdio.into_iter().chain(directories).chain(listeners)),
            network: self.network,
            sharing: Sharing::default(),
            requests: Arc::default(),
            monotonic: self.monotonic,
            realtime: self.realtime,
        }
    }
}

/// The host's services for one guest process. See the module's head for what they do.
pub struct Wasi {
    table: Table,
    folders: Folders,
    memory: Option<Arc<Mutex<tmpfs::Tree>>>,
    network: Network,
    sharing: Sharing,
    requests: Arc<Requests>,
    monotonic: Clock,
    realtime: Clock,
}

impl Wasi {
    /// The stream that a descriptor writes to, if it is standard output or error; the guest can close
    /// descriptors and move them to other numbers. A device that gathers what is written asks here.
    pub fn is_stream(&self, fd: u32) -> Option<Stream> {
        match &*self.table.get(fd).ok()? {
            Descriptor::Output(output) => Some(output.stream),
            _ => None,
        }
    }

    fn answer(&self, request: &HostCall<'_>) -> Result<HostReply> {
        let args = &mut Args::new(request);
        match request.function {
            Function::FdAdvise => self.fd_advise(args),
            Function::FdAllocate => self.fd_allocate(args),
            Function::FdClose => self.table.close(args.run, args.u32()?).map(|()| done()),
            Function::FdDatasync => self.fd_datasync(args),
            Function::FdFdstatGet => self.fd_fdstat_get(args),
            Function::FdFdstatSetFlags => self.fd_fdstat_set_flags(args),
            Function::FdFdstatSetRights => self.fd_fdstat_set_rights(args),
            Function::FdFilestatGet => self.fd_filestat_get(args),
            Function::FdFilestatSetSize => self.fd_filestat_set_size(args),
            Function::FdFilestatSetTimes => self.fd_filestat_set_times(args),
            Function::FdPread => self.fd_pread(args),
            Function::FdPrestatGet => self.fd_prestat_get(args),
            Function::FdPrestatDirName => self.fd_prestat_dir_name(args),
            Function::FdPwrite => self.fd_pwrite(args),
            Function::FdRead => self.fd_read(args, request.thread),
            Function::FdReaddir => self.fd_readdir(args),
            Function::FdRenumber => self.fd_renumber(args),
            Function::FdSeek => self.fd_seek(args),
            Function::FdSync => self.fd_sync(args),
            Function::FdTell => self.fd_tell(args),
            Function::FdWrite => self.fd_write(args),
            Function::PathCreateDirectory => self.path_create_directory(args),
            Function::PathFilestatGet => self.path_filestat_get(args),
            Function::PathFilestatSetTimes => self.path_filestat_set_times(args),
            Function::PathLink => self.path_link(args),
            Function::PathOpen => self.path_open(args),
            Function::PathReadlink => self.path_readlink(args),
            Function::PathRemoveDirectory => self.path_remove_directory(args),
            Function::PathRename => self.path_rename(args),
            Function::PathSymlink => self.path_symlink(args),
            Function::PathUnlinkFile => self.path_unlink_file(args),
            Function::PollOneoff => self.poll_oneoff(args),
            // No process can be signalled but this one, as in wasmtime.
            Function::ProcRaise => args.choice(abi::SIGNALS).and(Err(Errno::Notsup)),
            Function::SockAccept => self.sock_accept(args),
            Function::SockRecv => self.sock_recv(args),
            Function::SockSend => self.sock_send(args),
            Function::SockShutdown => self.sock_shutdown(args),
            Function::Resolve => self.resolve(args),
            Function::TcpConnect => self.tcp_connect(args),
            Function::TcpAddress => self.tcp_address(args),
            Function::TcpDuplicate => self.tcp_duplicate(args),
            Function::TcpGet => self.tcp_get(args),
            Function::TcpSet => self.tcp_set(args),
            Function::FileBegin => self.file_begin(args),
            // Calls of host functions are for those that define them.
            Function::HostCall | Function::HostSend | Function::HostReceive => Err(Errno::Nosys),
            // The device serves these.
            Function::ArgsGet
            | Function::ArgsSizesGet
            | Function::EnvironGet
            | Function::EnvironSizesGet
            | Function::ClockResGet
            | Function::ClockTimeGet
            | Function::ProcExit
            | Function::SchedYield
            | Function::HostWord
            | Function::ProcessSpawn
            | Function::ProcessWait
            | Function::ProcessKill
            | Function::ProcessId
            | Function::PipeRead
            | Function::PipeWrite
            | Function::PipeClose
            | Function::RandomGet => Err(Errno::Nosys),
        }
    }
}

impl Services for Wasi {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        let answer = match changes(request.function) {
            true => unless_ended(request.run, || self.answer(request)),
            false => self.answer(request),
        };
        if answer.as_ref().err() == Some(&Errno::Badf) {
            self.folders.note(request);
        }
        let reply = answer.unwrap_or_else(|errno| HostReply {
            errno: errno.code(),
            ..HostReply::default()
        });
        self.with_gone(request.run, reply)
    }

    fn positions(&self) -> Vec<(u32, u64)> {
        Wasi::positions(self)
    }

    fn streams(&self) -> Vec<(u32, Stream)> {
        // Those that a device has a place for.
        let stream = |fd| Some((fd, self.is_stream(fd)?));
        (0..STREAM_DESCRIPTORS as u32).filter_map(stream).collect()
    }

    fn missed_path(&self) -> Option<String> {
        self.folders.missed()
    }

    fn tmpfs_files(&self) -> Option<TmpfsFiles<'_>> {
        Wasi::tmpfs_files(self)
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        use Function::*;
        match request.function {
            PollOneoff | SockAccept | SockRecv | SockSend | TcpConnect => true,
            PathOpen => self.open_may_wait(&mut Args::new(request)).unwrap_or(false),
            FdRead | FdWrite | FdPread | FdPwrite => {
                let fd = request.args.first().map_or(u32::MAX, |fd| *fd as u32);
                match self.table.get(fd).as_deref() {
                    Ok(Descriptor::Stdin(stdin)) if request.function == FdRead => {
                        stdin.may_wait(request.capacity, request.thread)
                    }
                    // The reader may be slow.
                    Ok(Descriptor::Output(_) | Descriptor::Connection(_)) => true,
                    Ok(Descriptor::File(file)) => file.waits,
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

/// The answer of a function that returns nothing but success.
fn done() -> HostReply {
    HostReply::default()
}

/// The answer of a function that returns results.
fn results(bytes: &[u8]) -> HostReply {
    HostReply {
        results: bytes.to_vec(),
        ..done()
    }
}

/// The answer of a function that returns a count of bytes.
fn count(bytes: usize) -> HostReply {
    results(&(bytes as u32).to_le_bytes())
}

/// The answer of a function that returns bytes, and their count as its result.
fn with_data(data: Vec<u8>) -> HostReply {
    let count = count(data.len());
    HostReply { data, ..count }
}

/// Does what was interrupted by a signal again.
fn retry<T>(mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match action() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Locks; a thread that panicked left nothing half done under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
