//! Reads and writes of files that are begun and not waited for.

use gpu_run_bytecode::wasi::FileRequest::{self, Read, Sync, Write};
use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::poll::{MONOTONIC, clock, descriptor, poll};
use crate::support::*;

fn begin(guest: &Guest, fd: u32, what: FileRequest, offset: u64, length: usize, bytes: &[u8]) -> Result<u32> {
    call!(guest, FileBegin, fd, what as u32, offset, length as u32, bytes).map(|reply| word(&reply, 0))
}

/// Waits until a request is done, and reads so many bytes of what it has.
fn end(guest: &Guest, request: u32, room: usize) -> Result<Vec<u8>> {
    assert_eq!(poll(guest, &[descriptor(9, 1, request)]), Ok(vec![(9, 1, 0)]));
    call!(guest, FdRead, request, Arg::Room(room)).map(|reply| reply.data)
}

#[test]
fn what_is_begun_is_read_when_it_is_done() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "0123456789").unwrap();
    let guest = Guest::with_dir(dir.path());
    let file = guest.open("file", 0, READ | WRITE).unwrap();
    let [middle, last] = [(2, 5), (8, 100)].map(|(at, length)| begin(&guest, file, Read, at, length, b"").unwrap());
    assert_eq!(end(&guest, last, 100), Ok(b"89".to_vec()));
    assert_eq!(end(&guest, last, 100), Ok(vec![]), "the end");
    // What is under way keeps the file.
    let written = begin(&guest, file, Write, 12, 0, b"ab").unwrap();
    guest.close(file).unwrap();
    // In parts.
    assert_eq!(end(&guest, middle, 3), Ok(b"234".to_vec()));
    assert_eq!(end(&guest, middle, 3), Ok(b"56".to_vec()));
    assert_eq!(end(&guest, written, 8), Ok(2u32.to_le_bytes().to_vec()));
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"0123456789\0\0ab");
    for request in [middle, last, written] {
        guest.close(request).unwrap();
    }
    assert_eq!(guest.open("file", 0, READ), Ok(file), "all numbers are free");
}

#[test]
fn what_is_done_is_on_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let bytes = vec![7; 1 << 16];
    let file = guest.open("file", CREAT, READ | WRITE).unwrap();
    let writes: Vec<u32> = (0..20)
        .map(|part| begin(&guest, file, Write, part << 16, 0, &bytes).unwrap())
        .collect();
    for request in writes {
        assert_eq!(end(&guest, request, 8), Ok((1u32 << 16).to_le_bytes().to_vec()));
        guest.close(request).unwrap();
    }
    let synced = begin(&guest, file, Sync, 0, 0, b"").unwrap();
    assert_eq!(end(&guest, synced, 4), Ok(vec![]));
    let found = std::fs::read(dir.path().join("file")).unwrap();
    assert_eq!((found.len(), found.iter().all(|byte| *byte == 7)), (20 << 16, true));
    // One request reads 1 MiB at most.
    let all = begin(&guest, file, Read, 0, 2 << 20, b"").unwrap();
    assert_eq!(end(&guest, all, 4 << 20).map(|bytes| bytes.len()), Ok(1 << 20));
}

#[test]
fn errors_of_the_file_are_those_of_the_request() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let file = guest.open("file", CREAT, WRITE).unwrap();
    let request = begin(&guest, file, Read, 0, 10, b"").unwrap();
    assert_eq!(end(&guest, request, 10), Err(Errno::Badf));
    assert_eq!(end(&guest, request, 10), Err(Errno::Badf), "once more");
    assert_eq!(guest.write(request, b"x"), Err(Errno::Badf));
    assert_eq!(poll(&guest, &[descriptor(1, 2, request)]), Err(Errno::Badf));
}

#[test]
fn what_cannot_be_begun() {
    let dir = tempfile::tempdir().unwrap();
    let wasi = WasiBuilder::new()
        .dir(dir.path(), "/", false)
        .unwrap()
        .tmpfs("/tmp", 1 << 20)
        .build();
    let guest = Guest(wasi);
    let file = guest.open("file", CREAT, READ | WRITE).unwrap();
    let unknown = call!(guest, FileBegin, file, 3u32, 0u64, 0u32, &b""[..]);
    assert_eq!(unknown.map(drop), Err(Errno::Inval));
    for (fd, errno) in [
        (99, Errno::Badf),
        (3, Errno::Badf),
        (0, Errno::Spipe),
        (1, Errno::Spipe),
    ] {
        assert_eq!(begin(&guest, fd, Read, 0, 1, b""), Err(errno), "{fd}");
    }
    // The device has these itself.
    let inside = guest.open_at(4, "file", CREAT, READ | WRITE).unwrap();
    assert_eq!(begin(&guest, inside, Write, 0, 0, b"x"), Err(Errno::Notsup));
}

#[test]
fn there_is_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let guest = Guest::with_dir(dir.path());
    let file = guest.open("file", 0, READ).unwrap();
    // A MiB each, of 64.
    let mut open: Vec<u32> = (0..64)
        .map(|_| begin(&guest, file, Read, 0, 1 << 20, b"").unwrap())
        .collect();
    assert_eq!(begin(&guest, file, Read, 0, 1, b""), Err(Errno::Again));
    let first = open.remove(0);
    assert_eq!(end(&guest, first, 10), Ok(b"x".to_vec()));
    guest.close(first).unwrap();
    begin(&guest, file, Read, 0, 1, b"").unwrap();
}

/// Requests, a pipe that nobody writes to, and a clock: what happens first ends the wait.
#[test]
fn they_are_waited_for_beside_others() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let path = dir.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let writer = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let guest = Guest::with_dir(dir.path());
    let (file, pipe) = (
        guest.open("file", 0, READ).unwrap(),
        guest.open("pipe", 0, READ).unwrap(),
    );
    let long = 60_000_000_000;
    for _ in 0..50 {
        let request = begin(&guest, file, Read, 0, 1, b"").unwrap();
        let all = [
            descriptor(1, 1, pipe),
            clock(2, MONOTONIC, long, 0),
            descriptor(3, 1, request),
        ];
        assert_eq!(poll(&guest, &all), Ok(vec![(3, 1, 0)]));
        assert_eq!(poll(&guest, &all[1..]), Ok(vec![(3, 1, 0)]));
        guest.close(request).unwrap();
    }
    drop(writer);
}
