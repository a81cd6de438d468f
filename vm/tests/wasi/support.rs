//! Calls of the services as a guest would make them.

use std::io::Write;
use std::sync::{Arc, Mutex};

use gpu_run_bytecode::wasi::{Function, Param};
use gpu_run_vm::{CallingRun, Errno, HostCall, HostReply, Services, Wasi, WasiBuilder};

pub type Result<T> = std::result::Result<T, Errno>;

pub const CREAT: u32 = 1;
pub const DIRECTORY: u32 = 2;
pub const EXCL: u32 = 4;
pub const TRUNC: u32 = 8;
pub const READ: u64 = 1 << 1;
pub const WRITE: u64 = 1 << 6;
pub const APPEND: u32 = 1;
pub const FOLLOW: u32 = 1;

/// An argument, one for each parameter of the function's row but those that are pointers alone.
pub enum Arg<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Room for an answer.
    Room(usize),
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Arg<'_> {
            fn from(number: $number) -> Self {
                Arg::Number(number as u64)
            }
        }
    )*};
}
numbers! { u32 u64 i64 }

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Arg::Bytes(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for Arg<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Arg::Bytes(bytes)
    }
}

/// Calls a function: `call!(guest, FdClose, 3)`.
#[macro_export]
macro_rules! call {
    ($guest:expr, $function:ident $(, $arg:expr)*) => {
        $guest.call(gpu_run_bytecode::wasi::Function::$function, &[$($crate::support::Arg::from($arg)),*])
    };
}

/// A guest without a program: only its services.
pub struct Guest(pub Wasi);

impl Guest {
    /// One that has `dir` as descriptor 3.
    pub fn with_dir(dir: &std::path::Path) -> Guest {
        Guest(WasiBuilder::new().dir(dir, "/", false).unwrap().build())
    }

    pub fn call(&self, function: Function, args: &[Arg<'_>]) -> Result<HostReply> {
        let mut given = args.iter();
        let (mut words, mut input, mut capacity) = (vec![], vec![], 0);
        for param in function.info().params {
            match param {
                Param::Pointer | Param::Result { .. } | Param::Events => words.push(0),
                _ => match (param, given.next().expect("an argument is missing")) {
                    (Param::Value32 | Param::Value64, Arg::Number(number)) => words.push(*number),
                    (Param::In, Arg::Bytes(bytes)) => {
                        words.extend([0, bytes.len() as u64]);
                        input.extend_from_slice(bytes);
                    }
                    (Param::InVec, Arg::Bytes(bytes)) => {
                        words.extend([0, 1]);
                        input.extend_from_slice(bytes);
                    }
                    (Param::Out, Arg::Room(room)) => {
                        words.extend([0, *room as u64]);
                        capacity = *room;
                    }
                    (Param::OutVec, Arg::Room(room)) => {
                        words.extend([0, 1]);
                        capacity = *room;
                    }
                    (Param::Subscriptions, Arg::Bytes(bytes)) => {
                        words.push(0);
                        input.extend_from_slice(bytes);
                        capacity = bytes.len() / 48 * 32;
                    }
                    _ => panic!("an argument of the wrong type"),
                },
            }
        }
        assert!(given.next().is_none(), "an argument too many");
        let reply = self.0.call(&HostCall {
            function,
            thread: 0,
            child: 0,
            args: &words,
            input: &input,
            capacity,
            run: CallingRun::default(),
        });
        assert!(reply.data.len() <= capacity);
        match Errno::from_code(reply.errno) {
            Some(errno) => {
                assert!(reply.results.is_empty() && reply.data.is_empty());
                Err(errno)
            }
            None => {
                let sizes = function.info().params.iter().map(|param| match param {
                    Param::Result { size, .. } => *size as usize,
                    _ => 0,
                });
                assert_eq!((reply.errno, reply.results.len()), (0, sizes.sum()));
                Ok(reply)
            }
        }
    }

    /// `path_open` below descriptor `dir`, with no flags but `oflags`.
    pub fn open_at(&self, dir: u32, path: &str, oflags: u32, rights: u64) -> Result<u32> {
        call!(self, PathOpen, dir, 0u32, path, oflags, rights, 0u64, 0u32).map(|reply| word(&reply, 0))
    }

    /// [`Guest::open_at`] below descriptor 3.
    pub fn open(&self, path: &str, oflags: u32, rights: u64) -> Result<u32> {
        self.open_at(3, path, oflags, rights)
    }

    /// `path_open` with `fdflags`, to read and write.
    pub fn open_flags(&self, path: &str, oflags: u32, fdflags: u32) -> Result<u32> {
        call!(self, PathOpen, 3u32, 0u32, path, oflags, READ | WRITE, 0u64, fdflags).map(|reply| word(&reply, 0))
    }

    pub fn close(&self, fd: u32) -> Result<()> {
        call!(self, FdClose, fd).map(drop)
    }

    pub fn write(&self, fd: u32, bytes: &[u8]) -> Result<u32> {
        call!(self, FdWrite, fd, bytes).map(|reply| word(&reply, 0))
    }

    pub fn read(&self, fd: u32, room: usize) -> Result<Vec<u8>> {
        let reply = call!(self, FdRead, fd, Arg::Room(room))?;
        assert_eq!(word(&reply, 0) as usize, reply.data.len());
        Ok(reply.data)
    }

    pub fn seek(&self, fd: u32, offset: i64, whence: u32) -> Result<u64> {
        call!(self, FdSeek, fd, offset, whence).map(|reply| long(&reply, 0))
    }

    /// Size of a file by its path; symbolic links are not followed.
    pub fn stat(&self, path: &str) -> Result<Stat> {
        call!(self, PathFilestatGet, 3u32, 0u32, path).map(|reply| Stat::of(&reply))
    }

    pub fn fdstat(&self, fd: u32) -> Result<(u8, u16, u64, u64)> {
        let reply = call!(self, FdFdstatGet, fd)?;
        let flags = u16::from_le_bytes([reply.results[2], reply.results[3]]);
        Ok((reply.results[0], flags, long(&reply, 8), long(&reply, 16)))
    }
}

/// What `filestat` tells, but for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub inode: u64,
    pub filetype: u8,
    pub links: u64,
    pub size: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
}

impl Stat {
    pub fn of(reply: &HostReply) -> Stat {
        Stat {
            inode: long(reply, 8),
            filetype: reply.results[16],
            links: long(reply, 24),
            size: long(reply, 32),
            accessed: long(reply, 40),
            modified: long(reply, 48),
            changed: long(reply, 56),
        }
    }
}

/// An i32 of a reply's results.
pub fn word(reply: &HostReply, at: usize) -> u32 {
    u32::from_le_bytes(reply.results[at..at + 4].try_into().unwrap())
}

/// An i64 of a reply's results.
pub fn long(reply: &HostReply, at: usize) -> u64 {
    u64::from_le_bytes(reply.results[at..at + 8].try_into().unwrap())
}

/// A writer whose bytes can be looked at.
#[derive(Clone, Default)]
pub struct Shared(pub Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
