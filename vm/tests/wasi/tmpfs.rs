//! The file system in memory: it must do what one of the host does, call by call, and keep to its size.

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::support::{Arg, CREAT, DIRECTORY, EXCL, FOLLOW, Guest, READ, Result, TRUNC, WRITE, long, word};

fn tmpfs(size: u64) -> Guest {
    Guest(WasiBuilder::new().tmpfs("/tmp", size).build())
}

/// Numbers that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn path(&mut self) -> String {
        if self.below(60) == 0 {
            let odd = [
                "", "/", ".", "..", "./", "../", "/a", "a\0b", "./.", "a/.", "a/..", "../a",
            ];
            return match self.below(14) {
                0 => "n".repeat(256),
                1 => "a/".repeat(3000),
                _ => self.one(&odd).to_owned(),
            };
        }
        let mut path = String::new();
        for _ in 0..self.below(3) {
            path += self.one(&["a/", "b/", "a/", "c/", "./", "../", "a//"]);
        }
        path += self.one(&["a", "b", "c", "d", "a", "b", "c", "d", ".", ".."]);
        if self.below(10) == 0 {
            path += "/";
        }
        path
    }

    /// A call that both guests then make.
    fn call(&mut self) -> Call {
        // The directory, and what may be open.
        let fd = self.one(&[4, 4, 5, 5, 6, 7, 8, 9, 3]);
        let dir = self.one(&[3, 3, 3, 3, 3, 3, 4, 5]);
        let follow = self.below(2) as u32;
        match self.below(30) {
            0..4 => Call::Open {
                dir,
                follow,
                path: self.path(),
                oflags: self.one(&[0, 0, CREAT, CREAT, CREAT | EXCL, CREAT | TRUNC, TRUNC, DIRECTORY, EXCL]),
                rights: self.one(&[READ, READ, WRITE, READ | WRITE, READ | WRITE, 0]),
                flags: self.one(&[0, 0, 0, 1]),
            },
            4 => Call::One(Function::FdClose, fd),
            5..8 => Call::Path(Function::PathCreateDirectory, dir, self.path()),
            8 => Call::Path(Function::PathRemoveDirectory, dir, self.path()),
            9 => Call::Path(Function::PathUnlinkFile, dir, self.path()),
            10 => Call::Readlink(dir, self.path(), self.one(&[0, 2, 100])),
            11..13 => Call::Symlink(
                self.one(&["a", "b", "../a", "a/b", "c/", ".", "..", "", "/a", "x"]),
                dir,
                self.path(),
            ),
            13 => Call::Link(
                dir,
                follow.min(self.below(4) as u32),
                self.path(),
                self.one(&[3, 3, 4]),
                self.path(),
            ),
            14..17 => Call::Rename(dir, self.path(), self.one(&[3, 3, 4]), self.path()),
            17..20 => Call::Stat(dir, follow, self.path()),
            20 => Call::One(Function::FdFilestatGet, fd),
            21 => Call::One(Function::FdTell, fd),
            22 => Call::Seek(
                fd,
                self.one(&[0, 1, 5, 100, 5000, -1, -3, -100, 1 << 40]),
                self.one(&[0, 1, 2, 0, 1, 2, 3]),
            ),
            23 => Call::Write(fd, self.one(&[0, 1, 5, 100, 4096, 6000])),
            24 => Call::Read(fd, self.one(&[0, 1, 5, 100, 9000])),
            25 => Call::Pwrite(
                fd,
                self.one(&[0, 3, 50, 4000]),
                self.one(&[0, 1, 4095, 20_000, u64::MAX]),
            ),
            26 => Call::Pread(
                fd,
                self.one(&[0, 3, 50, 4000]),
                self.one(&[0, 1, 4095, 20_000, u64::MAX]),
            ),
            27 => Call::SetSize(fd, self.one(&[0, 1, 5, 4097, 30_000, u64::MAX])),
            28 => Call::One(Function::FdFdstatGet, fd),
            _ => Call::List(self.one(&[3, 3, 4, 5, 6])),
        }
    }
}

#[derive(Debug)]
enum Call {
    Open {
        dir: u32,
        follow: u32,
        path: String,
        oflags: u32,
        rights: u64,
        flags: u32,
    },
    One(Function, u32),
    Path(Function, u32, String),
    Readlink(u32, String, usize),
    Symlink(&'static str, u32, String),
    Link(u32, u32, String, u32, String),
    Rename(u32, String, u32, String),
    Stat(u32, u32, String),
    Seek(u32, i64, u32),
    Write(u32, usize),
    Read(u32, usize),
    Pwrite(u32, usize, u64),
    Pread(u32, usize, u64),
    SetSize(u32, u64),
    List(u32),
}

impl Call {
    /// Makes the call. Returns what must be the same for both.
    fn of(&self, guest: &Guest) -> Result<(Vec<u8>, Vec<u8>)> {
        let bytes = |len: usize| (0..len).map(|at| at as u8).collect::<Vec<u8>>();
        let reply = match self {
            Call::Open {
                dir,
                follow,
                path,
                oflags,
                rights,
                flags,
            } => {
                call!(
                    guest,
                    PathOpen,
                    *dir,
                    *follow,
                    path.as_str(),
                    *oflags,
                    *rights,
                    0u64,
                    *flags
                )
            }
            Call::One(function, fd) => guest.call(*function, &[Arg::from(*fd)]),
            Call::Path(function, dir, path) => guest.call(*function, &[Arg::from(*dir), Arg::from(path.as_str())]),
            Call::Readlink(dir, path, room) => call!(guest, PathReadlink, *dir, path.as_str(), Arg::Room(*room)),
            Call::Symlink(target, dir, path) => call!(guest, PathSymlink, *target, *dir, path.as_str()),
            Call::Link(old, follow, path, new, to) => {
                call!(guest, PathLink, *old, *follow, path.as_str(), *new, to.as_str())
            }
            Call::Rename(old, path, new, to) => call!(guest, PathRename, *old, path.as_str(), *new, to.as_str()),
            Call::Stat(dir, follow, path) => call!(guest, PathFilestatGet, *dir, *follow, path.as_str()),
            Call::Seek(fd, by, whence) => call!(guest, FdSeek, *fd, *by, *whence),
            Call::Write(fd, len) => call!(guest, FdWrite, *fd, &bytes(*len)[..]),
            Call::Read(fd, room) => call!(guest, FdRead, *fd, Arg::Room(*room)),
            Call::Pwrite(fd, len, at) => call!(guest, FdPwrite, *fd, &bytes(*len)[..], *at),
            Call::Pread(fd, room, at) => call!(guest, FdPread, *fd, Arg::Room(*room), *at),
            Call::SetSize(fd, size) => call!(guest, FdFilestatSetSize, *fd, *size),
            Call::List(fd) => return listing(guest, *fd).map(|names| (names, Vec::new())),
        }?;
        let mut results = reply.results;
        // Numbers and times are each one's own. So are sizes and links of directories.
        if results.len() == 64 {
            let kept = if results[16] == 3 { 17 } else { 40 };
            results.drain(kept..);
            results.drain(..16);
        }
        Ok((results, reply.data))
    }
}

/// Names and types of a directory's entries, in order.
fn listing(guest: &Guest, fd: u32) -> Result<Vec<u8>> {
    let data = call!(guest, FdReaddir, fd, Arg::Room(1 << 16), 0u64)?.data;
    let mut entries = Vec::new();
    let mut rest = &data[..];
    while !rest.is_empty() {
        let len = u32::from_le_bytes(rest[16..20].try_into().unwrap()) as usize;
        entries.push(format!(
            "{} {}\n",
            String::from_utf8_lossy(&rest[24..24 + len]),
            rest[20]
        ));
        rest = &rest[24 + len..];
    }
    entries.sort();
    Ok(entries.concat().into_bytes())
}

impl Call {
    /// Whether it has two paths, of which one is odd: either one's fault may be told.
    fn is_ambiguous(&self) -> bool {
        let odd = |path: &str| path.len() > 255 || path.contains('\0');
        match self {
            Call::Rename(_, old, _, new) | Call::Link(_, _, old, _, new) => odd(old) || odd(new),
            _ => false,
        }
    }
}

#[test]
fn it_does_what_the_host_does() {
    for seed in 0..400 {
        let folder = tempfile::tempdir().unwrap();
        let (host, memory) = (Guest::with_dir(folder.path()), tmpfs(1 << 30));
        let mut random = Random(seed);
        for _ in 0..200 {
            let call = random.call();
            let (wanted, found) = (call.of(&host), call.of(&memory));
            if call.is_ambiguous() && wanted.is_err() && found.is_err() {
                continue;
            }
            assert!(
                found == wanted,
                "seed {seed}: {call:?}: {found:?}, but the host: {wanted:?}"
            );
        }
    }
}

#[test]
fn it_keeps_to_its_size() {
    let guest = tmpfs(1 << 20);
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    let bytes = vec![7; 3 << 20];
    let written = guest.write(fd, &bytes).unwrap();
    // All but a page, that nodes and names have begun.
    assert_eq!(written, (1 << 20) - 4096);
    assert_eq!(guest.write(fd, &bytes), Err(Errno::Nospc));
    assert_eq!(guest.seek(fd, 0, 1), Ok(u64::from(written)));
    // What is there can be written again, and what is cut away as well.
    assert_eq!(
        call!(guest, FdPwrite, fd, &bytes[..9], 0u64).map(|reply| word(&reply, 0)),
        Ok(9)
    );
    call!(guest, FdFilestatSetSize, fd, 4096u64).unwrap();
    assert_eq!(guest.write(fd, &bytes[..8192]), Ok(8192));
    // The file is gone with its last descriptor, and its bytes too.
    call!(guest, PathUnlinkFile, 3u32, "file").unwrap();
    assert_eq!(guest.read(fd, 10), Ok(Vec::new()));
    guest.close(fd).unwrap();
    let fd = guest.open("other", CREAT, WRITE).unwrap();
    assert_eq!(guest.write(fd, &bytes), Ok(written));
    // Names have their share.
    let mut made = 0;
    let last = loop {
        match call!(guest, PathCreateDirectory, 3u32, &format!("directory {made:05}")[..]) {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((last, made), (Errno::Nospc, 11));
}

#[test]
fn nothing_leads_from_one_file_system_to_another() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "text").unwrap();
    let builder = WasiBuilder::new().dir(folder.path(), "/", false).unwrap();
    let guest = Guest(builder.tmpfs("/tmp", 1 << 20).tmpfs("/other", 1 << 20).build());
    let fd = guest.open_at(4, "made", CREAT, WRITE).unwrap();
    guest.write(fd, b"bytes").unwrap();
    for (from, name, to) in [(3u32, "file", 4u32), (4, "made", 3), (4, "made", 5)] {
        assert_eq!(
            call!(guest, PathRename, from, name, to, "moved").map(drop),
            Err(Errno::Xdev)
        );
        assert_eq!(
            call!(guest, PathLink, from, 0u32, name, to, "linked").map(drop),
            Err(Errno::Xdev)
        );
    }
    for path in ["..", "../file", "/file", "a/../../file"] {
        call!(guest, PathCreateDirectory, 4u32, "a").ok();
        assert_eq!(guest.open_at(4, path, 0, READ), Err(Errno::Perm), "{path}");
    }
    assert_eq!(
        call!(guest, PathSymlink, "/file", 4u32, "link").map(drop),
        Err(Errno::Perm)
    );
    call!(guest, PathSymlink, "../file", 4u32, "link").unwrap();
    let followed = call!(guest, PathOpen, 4u32, FOLLOW, "link", 0u32, READ, 0u64, 0u32);
    assert_eq!(followed.map(drop), Err(Errno::Perm));
    assert!(!folder.path().join("made").exists());
    // Its attributes: a time that was set stays.
    let times = call!(guest, PathFilestatSetTimes, 4u32, 0u32, "made", 5u64, 6u64, 5u32);
    assert_eq!(times.map(drop), Ok(()));
    let stat = call!(guest, FdFilestatGet, fd).unwrap();
    assert_eq!((long(&stat, 32), long(&stat, 40), long(&stat, 48)), (5, 5, 6));
}

#[test]
fn threads_append_to_one_file() {
    let guest = tmpfs(1 << 24);
    let fd = guest.open_flags("file", CREAT, 1).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let guest = &guest;
            scope.spawn(move || {
                for _ in 0..500 {
                    assert_eq!(guest.write(fd, &[thread; 10]), Ok(10));
                }
            });
        }
    });
    let data = call!(guest, FdPread, fd, Arg::Room(1 << 20), 0u64).unwrap().data;
    assert_eq!(data.len(), 8 * 500 * 10);
    assert!(
        data.chunks(10)
            .all(|record| record.iter().all(|byte| *byte == record[0]))
    );
}
