//! `poll_oneoff`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gpu_run_vm::{Errno, HostReply, Input, WasiBuilder};

use crate::call;
use crate::support::*;

const REALTIME: u32 = 0;
pub const MONOTONIC: u32 = 1;
const ABSOLUTE: u16 = 1;

pub fn clock(userdata: u64, id: u32, timeout: u64, flags: u16) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[16..20].copy_from_slice(&id.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes[40..42].copy_from_slice(&flags.to_le_bytes());
    bytes
}

/// `kind` is 1 for reading and 2 for writing.
pub fn descriptor(userdata: u64, kind: u8, fd: u32) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..8].copy_from_slice(&userdata.to_le_bytes());
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes
}

/// Userdata, type and flags of the events; none has an error.
fn events(reply: &HostReply) -> Vec<(u64, u8, u8)> {
    let events = reply.data.chunks(32).map(|event| {
        assert_eq!(event[8..10], [0; 2]);
        (u64::from_le_bytes(event[..8].try_into().unwrap()), event[10], event[24])
    });
    let events: Vec<_> = events.collect();
    assert_eq!(word(reply, 0) as usize, events.len());
    events
}

pub fn poll(guest: &Guest, subscriptions: &[[u8; 48]]) -> Result<Vec<(u64, u8, u8)>> {
    let count = subscriptions.len() as u32;
    call!(guest, PollOneoff, subscriptions.as_flattened(), count).map(|reply| events(&reply))
}

fn nothing() -> Guest {
    Guest(WasiBuilder::new().build())
}

#[test]
fn what_is_refused() {
    let guest = nothing();
    assert_eq!(poll(&guest, &[]), Err(Errno::Inval));
    assert_eq!(poll(&guest, &[descriptor(1, 1, 99)]), Err(Errno::Badf));
    assert_eq!(poll(&guest, &[descriptor(1, 2, u32::MAX)]), Err(Errno::Badf));
    assert_eq!(poll(&guest, &[descriptor(1, 1, 1)]), Err(Errno::Badf));
    assert_eq!(poll(&guest, &[descriptor(1, 2, 0)]), Err(Errno::Badf));
    assert_eq!(poll(&guest, &[descriptor(1, 3, 0)]), Err(Errno::Inval));
    for cpu_time in [2, 3, 4] {
        assert_eq!(poll(&guest, &[clock(1, cpu_time, 0, 0)]), Err(Errno::Inval));
    }
    assert_eq!(poll(&guest, &[clock(1, MONOTONIC, 0, 2)]), Err(Errno::Inval));
    let dir = Guest::with_dir("/tmp".as_ref());
    assert_eq!(poll(&dir, &[descriptor(1, 1, 3)]), Err(Errno::Badf));
}

#[test]
fn sleeps_at_least_as_long_as_asked() {
    let guest = nothing();
    for id in [REALTIME, MONOTONIC] {
        let start = Instant::now();
        assert_eq!(poll(&guest, &[clock(7, id, 20_000_000, 0)]), Ok(vec![(7, 0, 0)]));
        assert!(start.elapsed() >= Duration::from_millis(20));
    }
    // The first of several.
    let start = Instant::now();
    let two = [
        clock(1, MONOTONIC, 3_600_000_000_000, 0),
        clock(2, REALTIME, 5_000_000, 0),
    ];
    assert_eq!(poll(&guest, &two), Ok(vec![(2, 0, 0)]));
    assert!(start.elapsed() < Duration::from_secs(60));
    // All that are over.
    let two = [clock(1, MONOTONIC, 0, 0), clock(2, REALTIME, 0, ABSOLUTE)];
    assert_eq!(poll(&guest, &two), Ok(vec![(1, 0, 0), (2, 0, 0)]));
}

#[test]
fn absolute_times_are_those_of_the_guests_clocks() {
    let now = Arc::new(AtomicU64::new(5_000_000_000));
    let [monotonic, realtime] = [now.clone(), now.clone()];
    // Relaxed: the clocks order nothing.
    let wasi = WasiBuilder::new()
        .monotonic_clock(move || monotonic.load(Ordering::Relaxed))
        .realtime_clock(move || realtime.load(Ordering::Relaxed) * 2)
        .build();
    let guest = Guest(wasi);
    for (id, now) in [(MONOTONIC, 5_000_000_000), (REALTIME, 10_000_000_000)] {
        assert_eq!(poll(&guest, &[clock(1, id, now - 1, ABSOLUTE)]), Ok(vec![(1, 0, 0)]));
        let start = Instant::now();
        assert_eq!(
            poll(&guest, &[clock(1, id, now + 20_000_000, ABSOLUTE)]),
            Ok(vec![(1, 0, 0)])
        );
        let passed = start.elapsed();
        assert!(
            passed >= Duration::from_millis(20) && passed < Duration::from_secs(4),
            "{passed:?}"
        );
    }
    now.store(u64::MAX / 4, Ordering::Relaxed);
    assert_eq!(
        poll(&guest, &[clock(1, MONOTONIC, 6_000_000_000, ABSOLUTE)]),
        Ok(vec![(1, 0, 0)])
    );
}

#[test]
fn files_and_streams_are_ready_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let wasi = WasiBuilder::new()
        .stdin(Input::Bytes(b"x".to_vec()))
        .dir(dir.path(), "/", false)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    let file = guest.open("file", CREAT, READ | WRITE).unwrap();
    guest.write(file, b"text").unwrap();
    let all = [
        descriptor(1, 1, 0),
        descriptor(2, 2, 1),
        descriptor(3, 2, 2),
        descriptor(4, 2, file),
        descriptor(5, 1, file),
        clock(6, MONOTONIC, 3_600_000_000_000, 0),
    ];
    // The file is at its end: hung up.
    let ready = vec![(1, 1, 0), (2, 2, 0), (3, 2, 0), (4, 2, 0), (5, 1, 1)];
    assert_eq!(poll(&guest, &all), Ok(ready));
    guest.seek(file, 0, 0).unwrap();
    assert_eq!(poll(&guest, &[descriptor(5, 1, file)]), Ok(vec![(5, 1, 0)]));
}

fn make_pipe(dir: &std::path::Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, dir.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
}

#[test]
fn named_pipes_are_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    make_pipe(dir.path());
    let guest = Guest::with_dir(dir.path());
    // Open for both, it does not wait for the other end.
    let fd = guest.open("pipe", 0, READ | WRITE).unwrap();
    let both = [descriptor(1, 1, fd), clock(2, MONOTONIC, 10_000_000, 0)];
    assert_eq!(poll(&guest, &both), Ok(vec![(2, 0, 0)]));
    assert_eq!(poll(&guest, &[descriptor(1, 2, fd)]), Ok(vec![(1, 2, 0)]));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            guest.write(fd, b"line\n").unwrap();
        });
        let both = [descriptor(1, 1, fd), clock(2, MONOTONIC, 60_000_000_000, 0)];
        assert_eq!(poll(&guest, &both), Ok(vec![(1, 1, 0)]));
    });
    assert_eq!(guest.read(fd, 100).unwrap(), b"line\n");
}

/// The host's own `poll` knows nothing of such a pipe, but a read finds its end.
#[test]
fn a_pipe_that_never_had_a_writer_is_at_its_end() {
    const NONBLOCK: u32 = 4;
    let dir = tempfile::tempdir().unwrap();
    make_pipe(dir.path());
    let guest = Guest::with_dir(dir.path());
    let fd = call!(guest, PathOpen, 3u32, 0u32, "pipe", 0u32, READ, 0u64, NONBLOCK).map(|reply| word(&reply, 0));
    call!(guest, FdFdstatSetFlags, fd.unwrap(), 0u32).unwrap();
    let (sender, read) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(guest.read(fd.unwrap(), 9)));
    assert_eq!(read.recv_timeout(Duration::from_secs(60)), Ok(Ok(vec![])));
}

#[test]
fn more_than_a_pipe_holds_is_written_as_it_is_read() {
    const MUCH: usize = 1 << 20;
    const NONBLOCK: u32 = 4;
    let dir = tempfile::tempdir().unwrap();
    make_pipe(dir.path());
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("pipe", 0, READ | WRITE).unwrap();
    let bytes: Vec<u8> = (0..MUCH).map(|at| (at / 7) as u8).collect();
    let read = std::thread::scope(|scope| {
        let writer = scope.spawn(|| guest.write(fd, &bytes));
        let mut read = Vec::new();
        while read.len() < MUCH {
            read.extend(guest.read(fd, 5000).unwrap());
        }
        assert_eq!(writer.join().unwrap(), Ok(MUCH as u32));
        read
    });
    assert!(read == bytes);
    // A write that does not wait takes what there is room for, or nothing.
    call!(guest, FdFdstatSetFlags, fd, NONBLOCK).unwrap();
    let written = guest.write(fd, &bytes).unwrap() as usize;
    assert!((1..MUCH).contains(&written));
    assert_eq!(guest.write(fd, &bytes), Err(Errno::Again));
    assert_eq!(guest.read(fd, MUCH).unwrap(), bytes[..written]);
    assert_eq!(guest.read(fd, 1), Err(Errno::Again));
}
