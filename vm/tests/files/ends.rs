//! What a run leaves for the next one, which may be another store's: the positions of files. And what its device frees
//! while it is under way.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{CacheHint, CallingRun, Environment, HostCall, HostReply, Services, StoreError, Wasi, WasiBuilder};

use crate::support::{Folder, GUEST, Loaded, Program, Ran, as_its_wasi};

pub const TMPFS: &str = include_str!("tmpfs.wat");
pub const MINUTE: Duration = Duration::from_secs(60);
/// For a run that does not end by itself.
pub const SHORT: Duration = Duration::from_millis(500);

/// Services of which a test makes one thing another.
pub struct Changed<C> {
    wasi: Wasi,
    call: C,
    waits: Option<Function>,
}

impl<C: Fn(&Wasi, &HostCall<'_>) -> HostReply + Send + Sync> Services for Changed<C> {
    fn call(&self, request: &HostCall<'_>) -> HostReply {
        (self.call)(&self.wasi, request)
    }

    fn may_wait(&self, request: &HostCall<'_>) -> bool {
        self.waits == Some(request.function) || self.wasi.may_wait(request)
    }

    as_its_wasi!();
}

pub fn changed<C: Fn(&Wasi, &HostCall<'_>) -> HostReply + Send + Sync + 'static>(
    wasi: Wasi,
    call: C,
) -> Arc<Changed<C>> {
    Arc::new(Changed {
        wasi,
        call,
        waits: None,
    })
}

pub fn folder(content: &Folder) -> WasiBuilder {
    WasiBuilder::new().dir(content.path(), "/", false).unwrap()
}

fn load(services: Arc<dyn Services>, bodies: &[&str]) -> Loaded {
    let program = Program::new(GUEST, bodies);
    program.load(Environment::new(services), 1, MINUTE).unwrap()
}

/// Runs a function in a store of its own, to its end.
pub fn run(services: Arc<dyn Services>, body: &str) -> Ran {
    let program = Program::new(GUEST, &[body]);
    program.run_in(Environment::new(services), 1, MINUTE).unwrap()
}

/// Runs one that is stopped, with whatever call is under way then.
pub fn run_into_the_end(services: Arc<dyn Services>, guest: &str, body: &str) {
    let program = Program::new(guest, &[body]);
    let ended = program.run_in(Environment::new(services), 1, SHORT).map(drop);
    assert!(matches!(ended, Err(StoreError::Ended(_))), "{ended:?}");
}

/// A call of the host's own.
fn ask(wasi: &Wasi, function: Function, args: &[u64], input: &[u8]) -> HostReply {
    let reply = wasi.call(&HostCall {
        function,
        thread: 0,
        child: 0,
        args,
        input,
        capacity: 0,
        run: CallingRun::default(),
    });
    assert_eq!(reply.errno, 0, "{function:?}");
    reply
}

fn open_file(wasi: &Wasi) -> u64 {
    let results = ask(wasi, Function::PathOpen, &[3, 0, 0, 4, 0, 2, 0, 0, 0], b"file").results;
    u32::from_le_bytes(results.try_into().unwrap()).into()
}

fn position(wasi: &Wasi, descriptor: u64) -> u64 {
    let results = ask(wasi, Function::FdTell, &[descriptor, 0], &[]).results;
    u64::from_le_bytes(results.try_into().unwrap())
}

/// Waits until the run of a call has ended.
fn until_the_end(run: CallingRun<'_>) {
    while run.unless_ended(|| ()).is_some() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn stores_that_take_turns_know_where_files_are_read() {
    let content = Folder::with(b"abcdefgh");
    let services = Arc::new(folder(&content).build());
    let read = "(drop (call $read (i32.const 4) (i32.const 2))) (call $tell (i32.const 4))";
    let mut one = load(
        services.clone(),
        &["(drop (call $read (call $open_to_read) (i32.const 3)))", read, read],
    );
    let mut other = load(
        services.clone(),
        &[read, "(call $seek (i32.const 4) (i64.const 0) (i32.const 0))"],
    );
    one.run(0).unwrap();
    other.run(0).unwrap();
    one.run(1).unwrap();
    other.run(1).unwrap();
    one.run(2).unwrap();
    assert_eq!(position(&services, 4), 2);
    let (one, other) = (one.ran().unwrap(), other.ran().unwrap());
    assert_eq!((&one.data[..7], &other.data[..2]), (&b"abcfgab"[..], &b"de"[..]));
    assert_eq!((&one.log[..4], &other.log[..4]), (&[0, 7, 0, 2][..], &[0, 5, 0, 0][..]));
}

#[test]
fn a_store_reads_ahead_of_what_another_has_opened() {
    let content = Folder::with(&[7; 1000]);
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let services = changed(folder(&content).build(), move |wasi, request| {
        assert_ne!(
            request.function,
            Function::FdRead,
            "the device asks for bytes at an offset"
        );
        if request.function == Function::FdPread {
            count.fetch_add(1, Ordering::SeqCst);
        }
        wasi.call(request)
    });
    run(services.clone(), "(drop (call $open_to_read))");
    let ran = run(services, "(call $read_all (i32.const 4) (i32.const 1))");
    assert!(ran.data[..1000].iter().all(|byte| *byte == 7));
    assert_eq!(asked.load(Ordering::SeqCst), 2, "all of it, and the end");
}

#[test]
fn a_read_that_was_cut_off_has_moved_nothing() {
    let content = Folder::with(&[7; 100_000]);
    let reads = AtomicU32::new(0);
    let services = Arc::new(Changed {
        wasi: folder(&content).build(),
        call: move |wasi: &Wasi, request: &HostCall<'_>| {
            if request.function == Function::FdPread && reads.fetch_add(1, Ordering::SeqCst) == 2 {
                until_the_end(request.run);
            }
            wasi.call(request)
        },
        waits: Some(Function::FdPread),
    });
    let read_all = "(call $read_all (call $open_to_read) (i32.const 8192))";
    run_into_the_end(services.clone(), GUEST, read_all);
    assert_eq!(position(&services.wasi, 4), 2 * 8192);
}

#[test]
fn a_number_that_was_being_closed_may_be_another_file() {
    let content = Folder::with(b"abcdefgh");
    let services = Arc::new(Changed {
        wasi: folder(&content).build(),
        call: |wasi: &Wasi, request: &HostCall<'_>| {
            let reply = wasi.call(request);
            if request.function == Function::FdClose {
                assert_eq!(open_file(wasi), 4);
                ask(wasi, Function::FdSeek, &[4, 6, 0, 0], &[]);
                until_the_end(request.run);
            }
            reply
        },
        waits: Some(Function::FdClose),
    });
    let close = "(drop (call $read (call $open_to_read) (i32.const 3))) (call $log (call $fd_close (i32.const 4)))";
    run_into_the_end(services.clone(), GUEST, close);
    assert_eq!(position(&services.wasi, 4), 6);
}

/// The number of standard output is what the services say it is, whichever run closed it.
#[test]
fn a_file_with_a_streams_number_is_a_file_in_every_store() {
    let content = Folder::with(b"abcdefgh");
    let services = Arc::new(folder(&content).build());
    let open = "(call $log (call $fd_close (i32.const 1))) (call $log (call $open_to_write))";
    assert_eq!(run(services.clone(), open).log[..2], [0, 1]);
    assert_eq!(run(services, "(call $write (i32.const 1))").log[0], 0);
    assert_eq!(std::fs::read(content.file()).unwrap(), b"####efgh");
}

/// The last run does not wait for a file system that does not answer.
#[test]
fn the_last_run_ends_while_a_call_changes_something() {
    let content = Folder::with(b"abcdefgh");
    let stalled = Arc::new(AtomicBool::new(true));
    let stalls = stalled.clone();
    let services = Arc::new(Changed {
        wasi: folder(&content).build(),
        call: move |wasi: &Wasi, request: &HostCall<'_>| {
            if request.function == Function::FdFilestatSetSize {
                let wait = || (0..10_000).take_while(|_| stalls.load(Ordering::SeqCst));
                let change = || wait().for_each(|_| std::thread::sleep(Duration::from_millis(1)));
                _ = request.run.unless_ended(change);
                stalls.store(false, Ordering::SeqCst);
            }
            wasi.call(request)
        },
        waits: Some(Function::FdFilestatSetSize),
    });
    let last = Environment {
        last: true,
        ..Environment::new(services)
    };
    let cut = "(drop (call $fd_filestat_set_size (call $open_to_write) (i64.const 1)))";
    let ended = Program::new(GUEST, &[cut]).run_in(last, 1, SHORT).map(drop);
    assert!(matches!(ended, Err(StoreError::Ended(_))), "{ended:?}");
    assert!(stalled.swap(false, Ordering::SeqCst), "the end has waited for the call");
}

#[test]
fn a_file_in_memory_whose_flag_was_just_set_stays_where_it_is() {
    let services = Arc::new(Changed {
        wasi: WasiBuilder::new().tmpfs("/", 1 << 20).build(),
        call: |wasi: &Wasi, request: &HostCall<'_>| {
            let reply = wasi.call(request);
            if request.function == Function::FdFdstatSetFlags {
                until_the_end(request.run);
            }
            reply
        },
        waits: Some(Function::FdFdstatSetFlags),
    });
    let set = "(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
               (call $write (i32.const 4) (i32.const 10) (i32.const 1))
               (call $done (call $fd_fdstat_set_flags (i32.const 4) (i32.const 1)) (i32.const 0))";
    run_into_the_end(services.clone(), TMPFS, set);
    assert_eq!(position(&services.wasi, 4), 10);
}

/// An answer has room for one file that is gone. The others go with the next answers. These may answer messages that no
/// call of the guest is, by which the device tells the host an offset.
#[test]
fn a_file_that_is_gone_is_freed_whatever_the_answer() {
    let content = Folder::with(b"");
    std::fs::write(content.path().join("b"), "abc").unwrap();
    let wasi = WasiBuilder::new().tmpfs("/", 1 << 20);
    let wasi = wasi.dir(content.path(), "/host", false).unwrap().build();
    let late = Mutex::new(CacheHint::None);
    let services = changed(wasi, move |wasi, request| {
        let mut reply = wasi.call(request);
        let mut late = late.lock().unwrap();
        if matches!(reply.note, CacheHint::Gone(_)) {
            *late = std::mem::take(&mut reply.note);
        } else if request.function == Function::FdSeek {
            reply.note = std::mem::take(&mut late);
        }
        reply
    });
    // A file of nearly all of the size is made and removed; then a poll asks for the end of another one.
    let rounds = |open: &str, polled: u32, removed: u32| {
        format!(
            "(loop $again
               {open}
               (call $open (i32.const 0) (i32.const 5) (i64.const 0x42) (i32.const 0))
               (call $write (i32.const {removed}) (i32.const 700000) (i32.const 1))
               (call $done (call $path_unlink_file (i32.const 3) (i32.const 0) (i32.const 1)) (i32.const 0))
               (call $done (call $fd_close (i32.const {removed})) (i32.const 0))
               (call $poll (i32.const {polled}) (i32.const {polled}))
               (call $done (call $fd_close (i32.const {polled})) (i32.const 0))
               (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5))))"
        )
    };
    let in_memory = "(call $open (i32.const 1) (i32.const 1) (i64.const 0x42) (i32.const 0))";
    let on_host = "(call $done (call $path_open (i32.const 4) (i32.const 0) (i32.const 1) (i32.const 1) (i32.const 0)
                   (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 64)) (i32.const 1))";
    for (open, flags) in [(in_memory, 1), (on_host, 0)] {
        let program = Program::new(TMPFS, &[&rounds(open, 5, 6)]);
        let ran = program.run_in(Environment::new(services.clone()), 1, MINUTE).unwrap();
        let round = [0, 5, 0, 6, 0, 700_000, 0, 0, 0, 2, flags, flags, 0];
        for found in ran.log.chunks(round.len()).take(5) {
            assert_eq!(found, round);
        }
    }
}
