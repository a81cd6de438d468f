//! Reading, writing, offsets, sizes and times of open files.

use std::fs;

use gpu_run_vm::{CacheHint, Errno};

use crate::call;
use crate::support::*;

const MTIM: u32 = 4;
const MTIM_NOW: u32 = 8;
const ATIM: u32 = 1;
const ATIM_NOW: u32 = 2;

#[test]
fn reads_and_writes_share_an_offset() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    assert_eq!(guest.write(fd, b"hello world"), Ok(11));
    assert_eq!(call!(guest, FdTell, fd).map(|reply| long(&reply, 0)), Ok(11));
    assert_eq!(guest.read(fd, 5), Ok(vec![]));
    assert_eq!(guest.seek(fd, -5, 1), Ok(6));
    assert_eq!(guest.read(fd, 100).unwrap(), b"world");
    assert_eq!(guest.seek(fd, 0, 0), Ok(0));
    assert_eq!(guest.read(fd, 0), Ok(vec![]));
    assert_eq!(guest.read(fd, 5).unwrap(), b"hello");
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"hello world");
}

#[test]
fn seeks() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), b"0123456789").unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", 0, READ).unwrap();
    assert_eq!(guest.seek(fd, -3, 2), Ok(7));
    assert_eq!(guest.seek(fd, 1000, 1), Ok(1007));
    assert_eq!(guest.seek(fd, -2000, 1), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, -1, 0), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, -11, 2), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, 0, 3), Err(Errno::Inval));
    assert_eq!(guest.seek(fd, 0, 256), Err(Errno::Overflow));
    assert_eq!(call!(guest, FdTell, fd).map(|reply| long(&reply, 0)), Ok(1007));
    for stream in 0..3 {
        assert_eq!(guest.seek(stream, 0, 1), Err(Errno::Spipe));
        assert_eq!(call!(guest, FdTell, stream), Err(Errno::Spipe));
    }
    assert_eq!(guest.seek(3, 0, 1), Err(Errno::Badf));
    assert_eq!(call!(guest, FdTell, 3u32), Err(Errno::Badf));
}

#[test]
fn reads_and_writes_at_an_offset_leave_the_other_one() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    let pwrite = |bytes: &[u8], at: u64| call!(guest, FdPwrite, fd, bytes, at).map(|reply| word(&reply, 0));
    let pread = |room, at: u64| call!(guest, FdPread, fd, Arg::Room(room), at).map(|reply| reply.data);
    assert_eq!(pwrite(b"abcd", 0), Ok(4));
    assert_eq!(pwrite(b"XY", 2), Ok(2));
    assert_eq!(pread(4, 0).unwrap(), b"abXY");
    assert_eq!(pread(4, 3).unwrap(), b"Y");
    assert_eq!(pread(4, 4).unwrap(), b"");
    assert_eq!(pread(4, u64::MAX), Err(Errno::Inval));
    assert_eq!(call!(guest, FdTell, fd).map(|reply| long(&reply, 0)), Ok(0));

    assert_eq!(call!(guest, FdPread, 0u32, Arg::Room(1), 0u64), Err(Errno::Spipe));
    assert_eq!(call!(guest, FdPread, 1u32, Arg::Room(1), 0u64), Err(Errno::Badf));
    assert_eq!(call!(guest, FdPwrite, 1u32, "x", 0u64), Err(Errno::Spipe));
    assert_eq!(call!(guest, FdPwrite, 0u32, "x", 0u64), Err(Errno::Badf));
}

#[test]
fn files_are_opened_for_what_the_rights_say() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), b"text").unwrap();
    let guest = Guest::with_dir(dir.path());
    let reader = guest.open("file", 0, READ).unwrap();
    assert_eq!(guest.write(reader, b"x"), Err(Errno::Badf));
    assert_eq!(guest.fdstat(reader).unwrap().2 & (READ | WRITE), READ);
    let writer = guest.open("file", 0, WRITE).unwrap();
    assert_eq!(guest.read(writer, 1), Err(Errno::Badf));
    assert_eq!(guest.fdstat(writer).unwrap().2 & (READ | WRITE), WRITE);
    // What asks for nothing may read; what may be made or cut can be written.
    let neither = guest.open("file", 0, 0).unwrap();
    assert_eq!(guest.fdstat(neither).unwrap().2 & (READ | WRITE), READ);
    let made = guest.open("new", CREAT, 0).unwrap();
    assert_eq!(guest.fdstat(made).unwrap().2 & (READ | WRITE), READ | WRITE);
    assert_eq!(guest.fdstat(made).unwrap().0, 4);
}

#[test]
fn appending_ignores_the_offset_until_it_is_switched_off() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open_flags("file", CREAT, APPEND).unwrap();
    assert_eq!(guest.fdstat(fd).unwrap().1, 1);
    guest.write(fd, b"ab").unwrap();
    guest.seek(fd, 0, 0).unwrap();
    guest.write(fd, b"cd").unwrap();
    assert_eq!(call!(guest, FdTell, fd).map(|reply| long(&reply, 0)), Ok(4));
    // As on Linux.
    call!(guest, FdPwrite, fd, "ef", 0u64).unwrap();
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"abcdef");

    call!(guest, FdFdstatSetFlags, fd, 0u32).unwrap();
    assert_eq!(guest.fdstat(fd).unwrap().1, 0);
    guest.seek(fd, 0, 0).unwrap();
    guest.write(fd, b"X").unwrap();
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"Xbcdef");
    call!(guest, FdFdstatSetFlags, fd, 1u32 | 4).unwrap();
    assert_eq!(guest.fdstat(fd).unwrap().1, 1 | 4);
    guest.write(fd, b"Y").unwrap();
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"XbcdefY");

    for sync in [2u32, 8, 16] {
        assert_eq!(call!(guest, FdFdstatSetFlags, fd, sync), Err(Errno::Inval));
    }
    assert_eq!(call!(guest, FdFdstatSetFlags, fd, 32u32), Err(Errno::Inval));
    assert_eq!(call!(guest, FdFdstatSetFlags, fd, 1u32 << 16), Err(Errno::Overflow));
    assert_eq!(call!(guest, FdFdstatSetFlags, 1u32, 0u32), Err(Errno::Badf));
    assert_eq!(call!(guest, FdFdstatSetFlags, 3u32, 0u32), Err(Errno::Badf));
}

#[test]
fn synchronous_files_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open_flags("file", CREAT, APPEND | 16).unwrap();
    assert_eq!(guest.fdstat(fd).unwrap().1, 17);
    // Those of the opening stay.
    call!(guest, FdFdstatSetFlags, fd, 0u32).unwrap();
    assert_eq!(guest.fdstat(fd).unwrap().1, 16);
    assert_eq!(guest.write(fd, b"x"), Ok(1));
}

#[test]
fn lines_of_many_threads_never_tear() {
    let dir = tempfile::tempdir().unwrap();
    let guest = &Guest::with_dir(dir.path());
    let shared = guest.open_flags("file", CREAT, APPEND).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..64 {
            scope.spawn(move || {
                // Half of them through one descriptor, half through their own.
                let fd = match thread % 2 {
                    0 => shared,
                    _ => guest.open_flags("file", 0, APPEND).unwrap(),
                };
                for line in 0..100 {
                    let text = format!("{thread} {line} {}\n", "x".repeat(thread * 7));
                    assert_eq!(guest.write(fd, text.as_bytes()), Ok(text.len() as u32));
                }
            });
        }
    });
    let text = fs::read_to_string(dir.path().join("file")).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 6400);
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 6400);
    for line in lines {
        let mut words = line.split(' ');
        let thread: usize = words.next().unwrap().parse().unwrap();
        assert!(words.next().unwrap().parse::<usize>().unwrap() < 100);
        assert_eq!(words.next().unwrap(), "x".repeat(thread * 7));
    }
}

#[test]
fn reads_of_many_threads_share_the_offset() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    fs::write(dir.path().join("file"), &bytes).unwrap();
    let guest = &Guest::with_dir(dir.path());
    let fd = guest.open("file", 0, READ).unwrap();
    let mut words: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(move || {
                    let mut words = vec![];
                    loop {
                        let bytes = guest.read(fd, 40).unwrap();
                        if bytes.is_empty() {
                            return words;
                        }
                        words.extend(bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())));
                    }
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    words.sort_unstable();
    assert!(words.into_iter().eq(0..100_000));
}

#[test]
fn sizes() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    let set = |fd: u32, size: u64| call!(guest, FdFilestatSetSize, fd, size).map(drop);
    assert_eq!(set(fd, 100), Ok(()));
    assert_eq!(guest.stat("file").unwrap().size, 100);
    assert_eq!(set(fd, 3), Ok(()));
    assert_eq!(guest.read(fd, 10).unwrap(), [0; 3]);
    assert_eq!(set(fd, u64::MAX), Err(Errno::Inval));
    let reader = guest.open("file", 0, READ).unwrap();
    assert_eq!(set(reader, 0), Err(Errno::Inval));
    assert_eq!(set(3, 0), Err(Errno::Badf));
    assert_eq!(set(1, 0), Err(Errno::Badf));

    // A file that shrinks under a reader ends; the host loses nothing.
    set(fd, 0).unwrap();
    assert_eq!(guest.read(reader, 10), Ok(vec![]));
}

#[test]
fn syncing_advising_allocating() {
    let dir = tempfile::tempdir().unwrap();
    let memory = Guest(gpu_run_vm::WasiBuilder::new().tmpfs("/", 1 << 20).build());
    for guest in [Guest::with_dir(dir.path()), memory] {
        sync_advise_allocate(&guest);
    }
}

fn sync_advise_allocate(guest: &Guest) {
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    assert!(call!(guest, FdSync, fd).is_ok());
    assert!(call!(guest, FdDatasync, fd).is_ok());
    for advice in 0..6u32 {
        assert!(call!(guest, FdAdvise, fd, 10u64, 50u64, advice).is_ok());
    }
    assert_eq!(call!(guest, FdAdvise, fd, 0u64, 0u64, 6u32), Err(Errno::Inval));
    assert_eq!(call!(guest, FdAdvise, fd, 0u64, u64::MAX, 0u32), Err(Errno::Inval));
    assert_eq!(call!(guest, FdAllocate, fd, 0u64, 100u64), Err(Errno::Notsup));
    assert_eq!(guest.stat("file").unwrap().size, 0);
    for other in [0u32, 1, 3, 99] {
        assert_eq!(call!(guest, FdSync, other), Err(Errno::Badf));
        assert_eq!(call!(guest, FdDatasync, other), Err(Errno::Badf));
        assert_eq!(call!(guest, FdAdvise, other, 0u64, 0u64, 0u32), Err(Errno::Badf));
        assert_eq!(call!(guest, FdAllocate, other, 0u64, 1u64), Err(Errno::Badf));
    }
}

#[test]
fn times() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ).unwrap();
    let before = guest.stat("file").unwrap();
    let set = |fd: u32, flags: u32| call!(guest, FdFilestatSetTimes, fd, 1_000_000_007u64, 2_000_000_009u64, flags);
    set(fd, MTIM).unwrap();
    let stat = Stat::of(&call!(guest, FdFilestatGet, fd).unwrap());
    assert_eq!((stat.accessed, stat.modified), (before.accessed, 2_000_000_009));
    assert!(stat.changed >= before.changed);
    set(fd, ATIM | MTIM_NOW).unwrap();
    let stat = guest.stat("file").unwrap();
    assert_eq!(stat.accessed, 1_000_000_007);
    assert!(stat.modified >= before.modified);
    assert_eq!(set(fd, MTIM | MTIM_NOW), Err(Errno::Inval));
    assert_eq!(set(fd, ATIM | ATIM_NOW), Err(Errno::Inval));
    assert_eq!(set(fd, 16), Err(Errno::Inval));
    assert_eq!(set(1, 0), Err(Errno::Badf));
    // The flags are looked at first.
    assert_eq!(set(99, MTIM | MTIM_NOW), Err(Errno::Inval));
    // A directory has times too.
    set(3, MTIM).unwrap();
    assert_eq!(guest.stat(".").unwrap().modified, 2_000_000_009);
}

#[test]
fn a_full_disk_and_a_closed_pipe_are_errors_of_the_guest() {
    let guest = Guest::with_dir("/dev".as_ref());
    let full = guest.open("full", 0, WRITE).unwrap();
    assert_eq!(guest.write(full, b"x"), Err(Errno::Nospc));
    assert_eq!(guest.fdstat(full).unwrap().0, 2);
    let null = guest.open("null", 0, READ | WRITE).unwrap();
    assert_eq!(guest.write(null, b"x"), Ok(1));
    assert_eq!(guest.read(null, 1), Ok(vec![]));

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let wasi = gpu_run_vm::WasiBuilder::new().stdout(Box::new(writer), false).build();
    let guest = Guest(wasi);
    assert_eq!(guest.write(1, b"nobody reads this"), Err(Errno::Pipe));
    assert_eq!(guest.write(2, b"this is dropped"), Ok(15));
}

#[test]
fn devices_may_hold_positions_of_files_that_are_only_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "text").unwrap();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    std::fs::hard_link(folder.path().join("file"), folder.path().join("name")).unwrap();
    let guest = Guest::with_dir(folder.path());
    let open = |guest: &Guest, path: &str, rights: u64| {
        let reply = call!(guest, PathOpen, 3u32, 0u32, path, 0u32, rights, 0u64, 0u32).unwrap();
        (word(&reply, 0), reply.note)
    };
    let (fd, note) = open(&guest, "file", READ);
    assert_eq!(note, CacheHint::Position);
    let note_of_read = || call!(guest, FdPread, fd, Arg::Room(9), 0u64).unwrap().note;
    assert_eq!(note_of_read(), CacheHint::Keep);
    // By another name it is the same file.
    let (writer, note) = open(&guest, "name", READ | WRITE);
    assert_eq!((note, note_of_read()), (CacheHint::Changes, CacheHint::None));
    guest.close(writer).unwrap();
    assert_eq!(note_of_read(), CacheHint::Keep);
    // Not what only looks like a file, and no directories.
    assert_eq!(open(&guest, "empty", READ).1, CacheHint::None);
    assert_eq!(open(&guest, ".", READ).1, CacheHint::None);
    assert_eq!(
        open(&Guest::with_dir("/proc".as_ref()), "version", READ).1,
        CacheHint::None
    );
}
