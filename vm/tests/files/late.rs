//! Calls that come back when their run is over: the next run sees nothing of them.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{Environment, HostCall, Services, StoreError, Wasi, WasiBuilder};

use crate::ends::{MINUTE, SHORT, TMPFS, changed, folder, run, run_into_the_end};
use crate::support::{Folder, GUEST, Program, Ran};

const CANCELED: u16 = 11;

/// Holds back calls of a function until the test lets them go on, and tells it when they have come back.
fn held_back(wasi: Wasi, function: Function) -> (Arc<dyn Services>, Arc<AtomicBool>, Receiver<u16>) {
    let held = Arc::new(AtomicBool::new(true));
    let (hold, (sender, receiver)) = (held.clone(), channel());
    let sender: Mutex<Sender<u16>> = Mutex::new(sender);
    let services = changed(wasi, move |wasi, request| {
        if request.function != function {
            return wasi.call(request);
        }
        // What the end of a run tells of positions is no call of a guest's: its run never ends.
        while hold.load(Ordering::SeqCst) && !(function == Function::FdSeek && request.args[0] == 5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let reply = wasi.call(request);
        // The test may have heard enough.
        _ = sender.lock().unwrap().send(reply.errno);
        reply
    });
    (services, held, receiver)
}

#[test]
fn a_call_that_is_late_changes_no_descriptor() {
    // Descriptor 4 is read and written, and 5 is read.
    let prepare = "(call $write (call $open (i32.const 0) (i64.const 0x42)))
                   (drop (call $read (call $open_to_read) (i32.const 3)))";
    let look = "(call $tell (i32.const 4)) (call $tell (i32.const 5)) (call $log (call $open_to_read))
                (drop (call $read (i32.const 4) (i32.const 9))) (drop (call $read (i32.const 5) (i32.const 9)))";
    let content = b"abcdefgh";
    let wanted = {
        let folder_here = Folder::with(content);
        let services = Arc::new(folder(&folder_here).build());
        run(services.clone(), prepare);
        run(services, look)
    };
    for (function, late) in [
        (Function::FdClose, "(drop (call $fd_close (i32.const 4)))"),
        (Function::FdClose, "(drop (call $fd_close (i32.const 5)))"),
        (
            Function::FdRenumber,
            "(drop (call $fd_renumber (i32.const 5) (i32.const 4)))",
        ),
        (Function::PathOpen, "(drop (call $open_to_read))"),
        (Function::FdRead, "(drop (call $read (i32.const 4) (i32.const 2)))"),
        (Function::FdWrite, "(call $write (i32.const 4))"),
        (
            Function::FdSeek,
            "(call $seek (i32.const 4) (i64.const 1) (i32.const 0))",
        ),
        (
            Function::FdFilestatSetSize,
            "(drop (call $fd_filestat_set_size (i32.const 4) (i64.const 1)))",
        ),
    ] {
        let folder_here = Folder::with(content);
        let (services, held, back) = held_back(folder(&folder_here).build(), function);
        held.store(false, Ordering::SeqCst);
        run(services.clone(), prepare);
        back.try_iter().for_each(drop);
        held.store(true, Ordering::SeqCst);
        run_into_the_end(services.clone(), GUEST, late);
        // It may have told the position of 5.
        back.try_iter().for_each(drop);
        held.store(false, Ordering::SeqCst);
        assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED), "{late}");
        let ran = run(services, look);
        assert_eq!(ran.log[..12], wanted.log[..12], "{late}");
        assert_eq!(ran.data[..20], wanted.data[..20], "{late}");
    }
}

/// Runs a function after the text of a guest, to its end.
fn in_time(services: &Arc<dyn Services>, guest: &str, body: &str) -> Ran {
    let program = Program::new(guest, &[body]);
    program.run_in(Environment::new(services.clone()), 1, MINUTE).unwrap()
}

/// The positions that the device had of files stay, if their descriptors do.
#[test]
fn a_close_that_is_late_sets_no_position_back() {
    let content = Folder::with(b"abcdefgh");
    let (services, held, back) = held_back(folder(&content).build(), Function::FdClose);
    let close = "(drop (call $read (call $open_to_read) (i32.const 3))) (drop (call $fd_close (i32.const 4)))";
    run_into_the_end(services.clone(), GUEST, close);
    held.store(false, Ordering::SeqCst);
    assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED));
    assert_eq!(run(services, "(call $tell (i32.const 4))").log[..2], [0, 3]);
}

#[test]
fn a_file_in_memory_stays_where_it_is_if_a_change_is_late() {
    let close = "(call $done (call $fd_close (i32.const 5)) (i32.const 0))";
    let renumber = "(call $done (call $fd_renumber (i32.const 5) (i32.const 4)) (i32.const 0))";
    // Numbers that have changed before.
    let changed = [renumber, "(call $done (call $fd_close (i32.const 4)) (i32.const 0))"].concat();
    const EBADF: u32 = 8;
    for (function, late, wanted) in [
        (Function::FdClose, close, [0, 10, 0, 0, 20, 0]),
        (Function::FdRenumber, renumber, [0, 10, 0, 0, 20, 0]),
        (Function::FdClose, &changed, [0, 20, 0, EBADF, 0, 0]),
    ] {
        let wasi = WasiBuilder::new().tmpfs("/", 1 << 20).build();
        let (services, held, back) = held_back(wasi, function);
        let write = "(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
                     (call $open (i32.const 1) (i32.const 1) (i64.const 0x42) (i32.const 0))
                     (call $write (i32.const 4) (i32.const 10) (i32.const 1))
                     (call $write (i32.const 5) (i32.const 20) (i32.const 1))";
        run_into_the_end(services.clone(), TMPFS, &[write, late].concat());
        held.store(false, Ordering::SeqCst);
        assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED), "{late}");
        let ran = in_time(
            &services,
            TMPFS,
            "(call $tell (i32.const 4)) (call $tell (i32.const 5))",
        );
        assert_eq!(ran.log[..6], wanted, "{late}");
    }
}

/// The next run writes to its own output, and does not ask the host.
#[test]
fn a_stream_whose_close_is_late_stays_the_runs() {
    for (function, late) in [
        (Function::FdClose, "(drop (call $fd_close (i32.const 1)))"),
        (
            Function::FdRenumber,
            "(drop (call $fd_renumber (i32.const 1) (i32.const 2)))",
        ),
    ] {
        let content = Folder::with(b"");
        let (services, held, back) = held_back(folder(&content).build(), function);
        let mut store = Program::new(GUEST, &[late, "(call $write (i32.const 1))"])
            .load(Environment::new(services), 1, SHORT)
            .unwrap();
        assert!(matches!(store.run(0), Err(StoreError::Ended(_))), "{late}");
        held.store(false, Ordering::SeqCst);
        assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED), "{late}");
        store.run(1).unwrap();
        assert_eq!(store.output, b"####", "{late}");
    }
}

/// What the next run takes of the host that has come after the end of one that waited for it.
fn comes_late(waiting: Function, prepare: &str, wait: &str, come: fn(&TcpListener, &mut Vec<TcpStream>)) -> Ran {
    const SOCKETS: &str = r#"
        (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "sock_accept" (func $sock_accept (param i32 i32 i32) (result i32)))
        (import "gpu_run_v1" "gid" (func $gid (result i32)))
        (memory (export "memory") 2 2 shared)
        (func $accept
          (i32.store (i32.const 4096) (call $sock_accept (i32.const 4) (i32.const 0) (i32.const 4100))))
        (func $receive
          (i32.store (i32.const 16) (i32.const 65536))
          (i32.store (i32.const 20) (i32.const 100))
          (i32.store (i32.const 4096) (call $fd_read (i32.const 5) (i32.const 16) (i32.const 1) (i32.const 4100))))"#;
    let content = Folder::with(b"");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ours = listener.try_clone().unwrap();
    let (sender, back) = channel();
    let sender = Mutex::new(sender);
    let services = changed(folder(&content).listener(listener).build(), move |wasi, request| {
        let reply = wasi.call(request);
        if request.function == waiting {
            sender.lock().unwrap().send(reply.errno).unwrap();
        }
        reply
    });
    let mut connections = vec![TcpStream::connect(address).unwrap()];
    let run = |body: &str| {
        let program = Program::new(SOCKETS, &[body]);
        program.run_in(Environment::new(services.clone()), 1, MINUTE).unwrap()
    };
    run(prepare);
    back.try_iter().for_each(drop);
    run_into_the_end(services.clone(), SOCKETS, wait);
    come(&ours, &mut connections);
    assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED));
    run(wait)
}

#[test]
fn a_connection_that_comes_late_is_the_next_runs() {
    let come = |listener: &TcpListener, connections: &mut Vec<TcpStream>| {
        connections.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
    };
    let ran = comes_late(Function::SockAccept, "(call $accept)", "(call $accept)", come);
    assert_eq!(ran.log[..2], [0, 6]);
}

#[test]
fn bytes_that_come_late_are_the_next_runs() {
    let come = |_: &TcpListener, connections: &mut Vec<TcpStream>| connections[0].write_all(b"hello").unwrap();
    let ran = comes_late(Function::FdRead, "(call $accept)", "(call $receive)", come);
    assert_eq!((&ran.log[..2], &ran.data[..5]), (&[0, 5][..], &b"hello"[..]));
}

/// Makes the file a pipe, of which this has both ends.
fn as_pipe(content: &Folder) -> File {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    std::fs::remove_file(content.file()).unwrap();
    mknodat(CWD, content.file(), FileType::Fifo, Mode::RWXU, 0).unwrap();
    File::options().read(true).write(true).open(content.file()).unwrap()
}

#[test]
fn what_comes_late_through_a_pipe_is_the_next_runs() {
    let content = Folder::with(b"");
    let mut pipe = as_pipe(&content);
    let (services, held, back) = held_back(folder(&content).build(), Function::FdRead);
    held.store(false, Ordering::SeqCst);
    run(services.clone(), "(drop (call $open_to_read))");
    let read = "(drop (call $read (i32.const 4) (i32.const 9)))";
    run_into_the_end(services.clone(), GUEST, read);
    pipe.write_all(b"hello").unwrap();
    assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED));
    assert_eq!(run(services, read).data[..5], *b"hello");
}

/// Two threads wait for a pipe, and what comes is for one of them.
#[test]
fn a_reader_that_finds_a_pipe_empty_again_leaves_it_to_the_next_run() {
    let content = Folder::with(b"");
    let mut pipe = as_pipe(&content);
    let (services, held, back) = held_back(folder(&content).build(), Function::FdRead);
    held.store(false, Ordering::SeqCst);
    run(services.clone(), "(drop (call $open_to_read))");
    let both = "(local.set $i (i32.add (i32.const 1024) (i32.mul (call $gid) (i32.const 16))))
                (i32.store (local.get $i) (i32.const 65536)) (i32.store offset=4 (local.get $i) (i32.const 1))
                (drop (call $fd_read (i32.const 4) (local.get $i) (i32.const 1)
                  (i32.add (local.get $i) (i32.const 8))))";
    let program = Program::new(GUEST, &[both]);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT / 2);
            pipe.write_all(b"x").unwrap();
        });
        program.run_in(Environment::new(services.clone()), 2, SHORT).map(drop)
    });
    assert!(matches!(ended, Err(StoreError::Ended(_))), "{ended:?}");
    assert_eq!(back.recv_timeout(MINUTE), Ok(0));
    pipe.write_all(b"hello").unwrap();
    assert_eq!(back.recv_timeout(MINUTE), Ok(CANCELED));
    assert_eq!(
        run(services, "(drop (call $read (i32.const 4) (i32.const 9)))").data[..5],
        *b"hello"
    );
}

/// The late call has the file open longest, but no thread receives its answer.
#[test]
fn a_file_that_goes_with_a_late_call_is_freed() {
    let (polling, polled) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
    let (hold, release, back) = (polling.clone(), polling, polled);
    let clock = move || {
        // The poll has looked up the file by now.
        while hold.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        0
    };
    let wasi = WasiBuilder::new().tmpfs("/", 1 << 20).monotonic_clock(clock).build();
    let services: Arc<dyn Services> = changed(wasi, move |wasi, request| {
        if request.function == Function::PollOneoff {
            // Only for a time of that clock it is asked, and devices have clocks of their own.
            let mut input = request.input.to_vec();
            input[48 + 40] = 1;
            let reply = wasi.call(&HostCall {
                input: &input,
                ..*request
            });
            back.store(true, Ordering::SeqCst);
            return reply;
        }
        let reply = wasi.call(request);
        if request.function == Function::FdClose {
            release.store(false, Ordering::SeqCst);
            while !back.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        reply
    });
    let write = "(call $open (i32.const 0) (i32.const 5) (i64.const 0x42) (i32.const 0))
                 (call $write (i32.const 4) (i32.const 700000) (i32.const 1))";
    let poll = "(i32.store8 (i32.const 408) (i32.const 1)) (i32.store (i32.const 416) (i32.const 4))
                (i32.store (i32.const 464) (i32.const 1))
                (drop (call $poll_oneoff (i32.const 400) (i32.const 504) (i32.const 2) (i32.const 64)))";
    in_time(&services, TMPFS, write);
    run_into_the_end(services.clone(), TMPFS, poll);
    let remove = "(call $done (call $path_unlink_file (i32.const 3) (i32.const 0) (i32.const 1)) (i32.const 0))
                  (call $done (call $fd_close (i32.const 4)) (i32.const 0)) (call $fdstat (i32.const 3))";
    let ran = in_time(&services, TMPFS, &[remove, write].concat());
    assert_eq!((&ran.log[..3], &ran.log[9..13]), (&[0; 3][..], &[0, 4, 0, 700_000][..]));
}
