//! The table of descriptors, and the three that are there from the start.

use gpu_run_bytecode::wasi::{Function, HOST_MODULE, ServedBy, TABLE};
use gpu_run_vm::{CallingRun, Errno, HostCall, Input, Services, Stream, WasiBuilder};

use crate::call;
use crate::support::*;

#[test]
fn numbers_are_given_lowest_first() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let open = || guest.open("file", CREAT, READ).unwrap();
    assert_eq!([open(), open(), open()], [4, 5, 6]);
    guest.close(5).unwrap();
    guest.close(0).unwrap();
    assert_eq!([open(), open(), open()], [0, 5, 7]);
}

#[test]
fn closed_and_forged_descriptors_are_bad_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    guest.close(fd).unwrap();
    for bad in [fd, 1000, u32::MAX] {
        for info in TABLE.iter().filter(|info| info.served_by == ServedBy::Host) {
            use Function::{PathSymlink, PollOneoff, ProcRaise, Resolve, TcpConnect};
            let no_fd = [PathSymlink, PollOneoff, ProcRaise, Resolve, TcpConnect];
            let first_is_fd = !no_fd.contains(&info.function) && info.module != HOST_MODULE;
            if !first_is_fd {
                continue;
            }
            // All other arguments are zero, which is fine for each function.
            let words = info.params.iter().flat_map(|param| param.types()).count();
            let mut args = vec![0; words];
            args[0] = u64::from(bad);
            let reply = guest.0.call(&HostCall {
                function: info.function,
                thread: 0,
                child: 0,
                args: &args,
                input: &[],
                capacity: 0,
                run: CallingRun::default(),
            });
            assert_eq!(reply.errno, Errno::Badf.code(), "{} of {bad}", info.name);
        }
        assert_eq!(call!(guest, PathSymlink, "a", bad, "b"), Err(Errno::Badf));
        assert_eq!(call!(guest, PathLink, 3u32, 0u32, "a", bad, "b"), Err(Errno::Badf));
        assert_eq!(call!(guest, PathRename, 3u32, "a", bad, "b"), Err(Errno::Badf));
        assert_eq!(call!(guest, FdRenumber, 3u32, bad), Err(Errno::Badf));
    }
}

#[test]
fn renumbering() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let from = guest.open("from", CREAT, READ | WRITE).unwrap();
    let to = guest.open("to", CREAT, READ | WRITE).unwrap();
    guest.write(from, b"abc").unwrap();
    assert!(call!(guest, FdRenumber, from, from).is_ok());
    assert!(call!(guest, FdRenumber, from, to).is_ok());
    assert_eq!(guest.close(from), Err(Errno::Badf));
    // It keeps its offset.
    assert_eq!(call!(guest, FdTell, to).map(|reply| long(&reply, 0)), Ok(3));
    assert_eq!(call!(guest, FdRenumber, to, from), Err(Errno::Badf));
    // Over a preopened directory: it is one no more.
    assert!(call!(guest, FdRenumber, to, 3u32).is_ok());
    assert_eq!(call!(guest, FdPrestatGet, 3u32), Err(Errno::Badf));
    assert_eq!(guest.open("from", 0, READ), Err(Errno::Notdir));
}

#[test]
fn streams_are_known_wherever_they_go() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    assert_eq!(guest.0.is_stream(1), Some(Stream::Stdout));
    assert_eq!(guest.0.is_stream(2), Some(Stream::Stderr));
    assert_eq!([0, 3, 99].map(|fd| guest.0.is_stream(fd)), [None; 3]);
    let fd = guest.open("file", CREAT, WRITE).unwrap();
    call!(guest, FdRenumber, 1u32, fd).unwrap();
    assert_eq!([1, fd].map(|fd| guest.0.is_stream(fd)), [None, Some(Stream::Stdout)]);
    assert_eq!(guest.0.streams(), [(2, Stream::Stderr), (fd, Stream::Stdout)]);
    guest.close(fd).unwrap();
    assert_eq!(guest.0.is_stream(fd), None);
    assert_eq!(guest.0.streams(), [(2, Stream::Stderr)]);
}

/// A device has no place for more.
#[test]
fn positions_are_those_of_the_first_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "text").unwrap();
    let guest = Guest::with_dir(dir.path());
    let last = (0..300).map(|_| guest.open("file", 0, READ).unwrap()).last();
    assert_eq!(last, Some(303));
    let wanted: Vec<(u32, u64)> = (4..256).map(|fd| (fd, 0)).collect();
    assert_eq!(guest.0.positions(), wanted);
}

#[test]
fn standard_streams() {
    let (out, err) = (Shared::default(), Shared::default());
    let wasi = WasiBuilder::new()
        .stdin(Input::Bytes(b"some input".to_vec()))
        .stdout(Box::new(out.clone()), true)
        .stderr(Box::new(err.clone()), false)
        .build();
    let guest = Guest(wasi);
    assert_eq!(guest.read(0, 4).unwrap(), b"some");
    assert_eq!(guest.read(0, 100).unwrap(), b" input");
    assert_eq!(guest.read(0, 100).unwrap(), b"");
    assert_eq!(guest.write(1, b"out"), Ok(3));
    assert_eq!(guest.write(1, b""), Ok(0));
    assert_eq!(guest.write(2, b"err"), Ok(3));
    assert_eq!(out.0.lock().unwrap().as_slice(), b"out");
    assert_eq!(err.0.lock().unwrap().as_slice(), b"err");
    assert_eq!(guest.write(0, b"x"), Err(Errno::Badf));
    assert_eq!(guest.read(1, 1), Err(Errno::Badf));

    assert_eq!(guest.fdstat(0), Ok((0, 0, READ, READ)));
    assert_eq!(guest.fdstat(1), Ok((2, 0, WRITE, WRITE)));
    assert_eq!(guest.fdstat(2), Ok((0, 0, WRITE, WRITE)));
    let stat = Stat::of(&call!(guest, FdFilestatGet, 1u32).unwrap());
    assert_eq!((stat.filetype, stat.size, stat.links), (2, 0, 0));
    assert_eq!(call!(guest, FdFdstatSetRights, 1u32, 0u64, 0u64), Err(Errno::Badf));
    for fd in 0..3u32 {
        assert_eq!(guest.open_at(fd, "file", 0, READ), Err(Errno::Badf));
        assert_eq!(call!(guest, FdPrestatGet, fd), Err(Errno::Badf));
        assert_eq!(call!(guest, FdPrestatDirName, fd, Arg::Room(9)), Err(Errno::Notdir));
        assert_eq!(call!(guest, FdReaddir, fd, Arg::Room(9), 0u64), Err(Errno::Badf));
    }
    let empty = Guest(WasiBuilder::new().build());
    assert_eq!(empty.read(0, 10), Ok(vec![]));
}

#[test]
fn preopened_directories() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let wasi = WasiBuilder::new()
        .dir(dirs[0].path(), "/data", false)
        .unwrap()
        .dir(dirs[1].path(), ".", true)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    let prestat = |fd: u32| call!(guest, FdPrestatGet, fd).map(|reply| (reply.results[0], word(&reply, 4)));
    let name = |fd: u32, room| call!(guest, FdPrestatDirName, fd, Arg::Room(room)).map(|reply| reply.data);
    assert_eq!(prestat(3), Ok((0, 5)));
    assert_eq!(prestat(4), Ok((0, 1)));
    assert_eq!(prestat(5), Err(Errno::Badf));
    assert_eq!(name(3, 5).unwrap(), b"/data");
    assert_eq!(name(3, 100).unwrap(), b"/data");
    assert_eq!(name(3, 4), Err(Errno::Nametoolong));
    assert_eq!(name(4, 1).unwrap(), b".");
    assert_eq!(name(99, 9), Err(Errno::Badf));

    let (kind, flags, base, inheriting) = guest.fdstat(3).unwrap();
    assert_eq!((kind, flags), (3, 0));
    assert_eq!(base & (READ | WRITE), 0);
    assert_eq!(inheriting & (READ | WRITE), READ | WRITE);
    // A directory that was opened has no name.
    let opened = guest.open(".", DIRECTORY, 0).unwrap();
    assert_eq!(prestat(opened), Err(Errno::Badf));
    assert_eq!(name(opened, 9), Err(Errno::Notdir));
    let (_, _, base, inheriting) = guest.fdstat(opened).unwrap();
    // No seeking, no sizes, no writing.
    assert_eq!(base & (1 << 2 | 1 << 22 | 1 << 19 | WRITE), 0);
    assert_eq!(inheriting, (1 << 30) - 1);
    assert_eq!(
        call!(guest, FdFdstatSetRights, opened, base, inheriting),
        Err(Errno::Notsup)
    );

    let error = WasiBuilder::new().dir("/no/such/place", "/", false).err().unwrap();
    assert!(error.to_string().contains("/no/such/place"), "{error}");
}

#[test]
fn a_directory_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    assert_eq!(guest.read(3, 1), Err(Errno::Badf));
    assert_eq!(guest.write(3, b"x"), Err(Errno::Badf));
    assert_eq!(call!(guest, FdPread, 3u32, Arg::Room(1), 0u64), Err(Errno::Badf));
    assert_eq!(call!(guest, FdPwrite, 3u32, "x", 0u64), Err(Errno::Badf));
    let file = guest.open("file", CREAT, READ).unwrap();
    assert_eq!(guest.open_at(file, "x", 0, READ), Err(Errno::Notdir));
    assert_eq!(call!(guest, PathCreateDirectory, file, "x"), Err(Errno::Badf));
    assert_eq!(call!(guest, PathReadlink, file, "x", Arg::Room(1)), Err(Errno::Badf));
}

#[test]
fn a_descriptor_can_be_closed_while_others_use_it() {
    let dir = tempfile::tempdir().unwrap();
    let guest = &Guest::with_dir(dir.path());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
                    // Another thread may have closed it, and it may be another's by now.
                    let _ = guest.write(fd, b"x");
                    let _ = guest.read(fd, 1);
                    let _ = guest.close(fd);
                    let _ = guest.close(4);
                }
            });
        }
    });
    for fd in 4..64 {
        let _ = guest.close(fd);
    }
    assert_eq!(guest.open("file", 0, READ), Ok(4));
}

#[test]
fn signals_are_not_supported() {
    let guest = Guest(WasiBuilder::new().build());
    assert_eq!(call!(guest, ProcRaise, 6u32), Err(Errno::Notsup));
    assert_eq!(call!(guest, ProcRaise, 31u32), Err(Errno::Inval));
}

#[test]
fn calls_that_may_wait() {
    let dir = tempfile::tempdir().unwrap();
    let wasi = WasiBuilder::new().dir(dir.path(), "/", false).unwrap().build();
    let guest = Guest(wasi);
    let file = guest.open("file", CREAT, READ | WRITE).unwrap();
    let waits = |function, fd: u32| {
        guest.0.may_wait(&HostCall {
            function,
            thread: 0,
            child: 0,
            args: &[u64::from(fd), 0, 0],
            input: &[],
            capacity: 0,
            run: CallingRun::default(),
        })
    };
    assert!(waits(Function::PollOneoff, 0));
    assert!(waits(Function::SockAccept, file));
    assert!(waits(Function::FdWrite, 1));
    assert!(!waits(Function::FdRead, file));
    assert!(!waits(Function::FdPread, file));
    assert!(!waits(Function::FdRead, 99));
}

/// Opening a named pipe waits for its other end.
#[test]
fn openings_that_may_wait() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = tempfile::tempdir().unwrap();
    mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink("pipe", dir.path().join("link")).unwrap();
    let wasi = WasiBuilder::new()
        .dir(dir.path(), "/", false)
        .unwrap()
        .tmpfs("/tmp", 1000)
        .build();
    let guest = Guest(wasi);
    let waits = |fd: u32, path: &str, fdflags: u64| {
        guest.0.may_wait(&HostCall {
            function: Function::PathOpen,
            thread: 0,
            child: 0,
            args: &[u64::from(fd), 1, 0, path.len() as u64, 0, READ, 0, fdflags],
            input: path.as_bytes(),
            capacity: 0,
            run: CallingRun::default(),
        })
    };
    const NONBLOCK: u64 = 4;
    assert!(waits(3, "pipe", 0));
    assert!(waits(3, "link", 0));
    assert!(!waits(3, "pipe", NONBLOCK));
    for path in ["file", ".", "missing", "../file", "\0"] {
        assert!(!waits(3, path, 0), "{path:?}");
    }
    for fd in [0, 4, 99] {
        assert!(!waits(fd, "pipe", 0), "{fd}");
    }
    // Its reads and writes wait, then.
    let pipe = guest.open_flags("pipe", 0, NONBLOCK as u32).unwrap();
    let waits = |function| {
        guest.0.may_wait(&HostCall {
            function,
            thread: 0,
            child: 0,
            args: &[u64::from(pipe)],
            input: &[],
            capacity: 0,
            run: CallingRun::default(),
        })
    };
    for function in [
        Function::FdRead,
        Function::FdWrite,
        Function::FdPread,
        Function::FdPwrite,
    ] {
        assert!(waits(function), "{function:?}");
    }
}

/// Reads its own standard input as a guest would; [`inherited_input`] runs it.
#[test]
#[ignore = "run by inherited_input, with a pipe as standard input"]
fn child_with_inherited_input() {
    let guest = Guest(WasiBuilder::new().stdin(Input::Inherit).build());
    let mut subscriptions = [0u8; 96];
    // Reading, or 50 ms.
    subscriptions[8] = 1;
    subscriptions[48 + 16] = 1;
    subscriptions[48 + 24..][..4].copy_from_slice(&50_000_000u32.to_le_bytes());
    let ready = || call!(guest, PollOneoff, &subscriptions[..], 2u32).unwrap().data[10];
    let waits = |function, thread, capacity| {
        guest.0.may_wait(&HostCall {
            function,
            thread,
            child: 0,
            args: &[0, 0, 0],
            input: &[],
            capacity,
            run: CallingRun::default(),
        })
    };
    let read_waits = |thread| waits(Function::FdRead, thread, 5);
    assert_eq!(guest.fdstat(0), Ok((0, 0, READ, READ)));
    assert_eq!(ready(), 0, "nothing is there yet");
    assert!(read_waits(0));
    assert!(!waits(Function::FdRead, 0, 0), "nothing is asked for");
    assert_eq!(guest.read(0, 0), Ok(vec![]));
    eprintln!("go on");
    assert_eq!(guest.read(0, 5).unwrap(), b"first");
    assert_eq!(ready(), 1);
    assert!(!waits(Function::FdPread, 1, 5), "that fails at once");
    assert!(!read_waits(0), "there is input");
    assert!(read_waits(1), "but only for one");
    assert_eq!(guest.read(0, 3).unwrap(), b" li", "by thread 0");
    assert!(!read_waits(0));
    assert_eq!(guest.read(0, 100).unwrap(), b"ne\n");
    assert_eq!(ready(), 0);
    assert!(read_waits(0));
    eprintln!("go on");
    assert_eq!(guest.read(0, 100).unwrap(), b"");
    assert!(!read_waits(0), "the end is input");
    assert_eq!(ready(), 1, "the end can be read");
    assert_eq!(guest.read(0, 100).unwrap(), b"");
}

/// The same with a file; [`input_of_a_file`] runs it.
#[test]
#[ignore = "run by input_of_a_file, with a file as standard input"]
fn child_with_file_as_input() {
    let guest = Guest(WasiBuilder::new().stdin(Input::Inherit).build());
    let waits = |thread| {
        guest.0.may_wait(&HostCall {
            function: Function::FdRead,
            thread,
            child: 0,
            args: &[0, 0, 0],
            input: &[],
            capacity: 5,
            run: CallingRun::default(),
        })
    };
    assert!(!waits(0) && !waits(1));
    assert_eq!(guest.read(0, 5).unwrap(), b"first");
    assert!(!waits(0));
}

/// Reads of a file need no threads of their own, and leave its offset where the guest came to.
#[test]
fn input_of_a_file() {
    use std::io::{Read, Seek, Write};
    use std::process::{Command, Stdio};
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"first, second").unwrap();
    file.rewind().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "descriptors::child_with_file_as_input",
            "--ignored",
            "--nocapture",
        ])
        .stdin(Stdio::from(file.try_clone().unwrap()))
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"));
    let mut rest = String::new();
    file.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, ", second");
}

#[test]
fn inherited_input() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "descriptors::child_with_inherited_input",
            "--ignored",
            "--nocapture",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "go on");
    input.write_all(b"first line\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "go on");
    drop(input);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}
