//! Files of `--tmpfs`, whose data the device holds. They do what files of the host do, call by call, and ask the host
//! only for names and descriptors.

use std::sync::Arc;
use std::time::Duration;

use gpu_run_bytecode::wasi::Function;
use gpu_run_vm::{Environment, StoreError, WasiBuilder};

use crate::support::{Program, Ran, Watched};

const GUEST: &str = include_str!("tmpfs.wat");
const NOSPC: u32 = 51;
const BADF: u32 = 8;

fn memory(size: u64) -> Arc<Watched> {
    Watched::of(WasiBuilder::new().tmpfs("/", size).build())
}

fn run(services: &Arc<Watched>, threads: u32, bodies: &[&str]) -> Ran {
    Program::new(GUEST, bodies)
        .run(services, threads)
        .expect("the program runs to its end")
}

/// That nothing but this was asked of the host.
fn asked_only(ran: &Ran, functions: &[Function]) {
    let others: Vec<_> = ran.asked.iter().filter(|asked| !functions.contains(asked)).collect();
    assert!(others.is_empty(), "the host was asked for {others:?}");
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

    /// A call of the guest's.
    fn call(&mut self) -> String {
        let fd = self.one(&[4, 4, 4, 5, 5, 5, 6, 6, 7, 8, 3]);
        let other = self.one(&[4, 5, 6, 7, 4, 5, 6, 7, 1]);
        let (name, to) = (self.below(4), self.below(4));
        let len = self.one(&[0, 1, 5, 100, 4096, 6000, 9000, 70_000]);
        let at = self.one(&[
            0i64,
            1,
            4095,
            20_000,
            65_536,
            70_000,
            4_300_000,
            1 << 32,
            (1 << 40) + 5,
            -1,
        ]);
        let from = self.below(256);
        match self.below(40) {
            0..6 => {
                let oflags = self.one(&[0, 0, 1, 1, 1, 1 | 4, 1 | 8, 8]);
                let rights = self.one(&[0x2, 0x40, 0x42, 0x42, 0x42, 0]);
                let flags = self.one(&[0, 0, 0, 1]);
                format!("(call $open (i32.const {name}) (i32.const {oflags}) (i64.const {rights}) (i32.const {flags}))")
            }
            6 => format!("(call $done (call $fd_close (i32.const {fd})) (i32.const 0))"),
            7 => format!(
                "(call $done (call $path_unlink_file (i32.const 3) (i32.const {name}) (i32.const 1)) (i32.const 0))"
            ),
            8 => format!(
                "(call $done (call $path_rename (i32.const 3) (i32.const {name}) (i32.const 1) (i32.const 3) \
                 (i32.const {to}) (i32.const 1)) (i32.const 0))"
            ),
            9 => format!(
                "(call $done (call $path_link (i32.const 3) (i32.const 0) (i32.const {name}) (i32.const 1) (i32.const 3) \
                 (i32.const {to}) (i32.const 1)) (i32.const 0))"
            ),
            10 => format!("(call $done (call $fd_renumber (i32.const {fd}) (i32.const {other})) (i32.const 0))"),
            11..14 => format!("(call $stat (i32.const {fd}))"),
            14 => format!("(call $stat_path (i32.const {name}))"),
            15 => format!("(call $tell (i32.const {fd}))"),
            16..19 => {
                let by = self.one(&[0i64, 1, 5, 100, 5000, 70_000, -1, -3, -100, 1 << 40]);
                let whence = self.one(&[0, 1, 2, 0, 1, 2, 3, 300]);
                format!("(call $seek (i32.const {fd}) (i64.const {by}) (i32.const {whence}))")
            }
            19..24 => format!("(call $write (i32.const {fd}) (i32.const {len}) (i32.const {from}))"),
            24..28 => format!("(call $read (i32.const {fd}) (i32.const {len}))"),
            28..31 => {
                format!("(call $pwrite (i32.const {fd}) (i32.const {len}) (i64.const {at}) (i32.const {from}))")
            }
            31..34 => format!("(call $pread (i32.const {fd}) (i32.const {len}) (i64.const {at}))"),
            34 => {
                let size = self.one(&[0, 1, 5, 4097, 30_000, 65_535, 65_537, 100_000, 5_000_000, -1]);
                format!("(call $done (call $fd_filestat_set_size (i32.const {fd}) (i64.const {size})) (i32.const 0))")
            }
            35 => {
                let flags = self.one(&[0, 1, 1, 4, 2, 64]);
                format!("(call $done (call $fd_fdstat_set_flags (i32.const {fd}) (i32.const {flags})) (i32.const 0))")
            }
            36 => format!("(call $fdstat (i32.const {fd}))"),
            37 => format!("(call $poll (i32.const {fd}) (i32.const {other}))"),
            38 => {
                let call = self.one(&["$fd_sync", "$fd_datasync"]);
                format!("(call $done (call {call} (i32.const {fd})) (i32.const 0))")
            }
            _ => {
                let advice = self.one(&[0, 5, 6, 300]);
                format!(
                    "(call $done (call $fd_advise (i32.const {fd}) (i64.const 0) (i64.const 5) (i32.const {advice})) \
                     (i32.const 0))
                     (call $done (call $fd_allocate (i32.const {fd}) (i64.const 0) (i64.const 5)) (i32.const 0))"
                )
            }
        }
    }
}

#[test]
fn it_does_what_a_folder_of_the_host_does() {
    for seed in 0..80 {
        let mut random = Random(seed);
        let calls: Vec<String> = (0..150).map(|_| random.call()).collect();
        // A number that nothing else logs marks each call's place in the log.
        let marked =
            |(number, call): (usize, &String)| format!("(call $log (i32.const {}))\n{call}\n", 0x7a00_0000 + number);
        // Two runs, so that what is open goes from one to the next.
        let bodies = calls.chunks(75).enumerate().map(|(part, calls)| {
            let calls = calls
                .iter()
                .enumerate()
                .map(|(at, call)| marked((part * 75 + at, call)));
            calls.collect::<String>()
        });
        let bodies: Vec<String> = bodies.collect();
        let program = Program::new(GUEST, &bodies.iter().map(String::as_str).collect::<Vec<_>>());
        let folder = tempfile::tempdir().unwrap();
        let host = Watched::of(WasiBuilder::new().dir(folder.path(), "/", false).unwrap().build());
        let wanted = program.run(&host, 1).unwrap().log;
        let services = memory(1 << 24);
        let ran = program.run(&services, 1).unwrap();
        if let Some(at) = ran.log.iter().zip(&wanted).position(|(found, wanted)| found != wanted) {
            let number = ran.log[..at].iter().rev().find(|word| **word >> 16 == 0x7a00).unwrap() & 0xffff;
            let (found, wanted) = (&ran.log[at..at + 4], &wanted[at..at + 4]);
            panic!(
                "seed {seed}: call {number}, {}: {found:?}, but the host: {wanted:?}",
                calls[number as usize]
            );
        }
        asked_only(
            &ran,
            &[
                Function::PathOpen,
                Function::FdClose,
                Function::PathUnlinkFile,
                Function::PathRename,
                Function::PathLink,
                Function::FdRenumber,
                Function::PathFilestatGet,
                Function::FdFdstatGet,
                Function::FdFdstatSetFlags,
                Function::PollOneoff,
                // Of a poll, or of what is no file.
                Function::FdSeek,
                Function::FdTell,
                Function::FdRead,
                Function::FdWrite,
                Function::FdPread,
                Function::FdPwrite,
                Function::FdFilestatGet,
                Function::FdFilestatSetSize,
                Function::FdSync,
                Function::FdDatasync,
                Function::FdAdvise,
                Function::FdAllocate,
            ],
        );
    }
}

#[test]
fn data_needs_no_host() {
    let ran = run(
        &memory(1 << 24),
        1,
        &["(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
           (loop $again
             (call $write (i32.const 4) (i32.const 5000) (local.get $i))
             (call $seek (i32.const 4) (i64.const -5000) (i32.const 1))
             (call $read (i32.const 4) (i32.const 5000))
             (call $tell (i32.const 4))
             (call $stat (i32.const 4))
             (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
           (call $done (call $fd_filestat_set_size (i32.const 4) (i64.const 7)) (i32.const 0))
           (call $stat_path (i32.const 0))"],
    );
    assert_eq!(ran.asked, [Function::PathOpen, Function::PathFilestatGet]);
    assert_eq!(ran.log[2 + 100 * 16 - 16..2 + 100 * 16 - 12], [0, 5000, 0, 495_000]);
    assert_eq!(ran.log[2 + 100 * 16..2 + 100 * 16 + 6], [0, 0, 4, 1, 7, 0]);
}

#[test]
fn offsets_go_to_the_largest_number() {
    let ran = run(
        &memory(1 << 20),
        1,
        &["(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
           (call $seek (i32.const 4) (i64.const 0x7fffffffffffffff) (i32.const 0))
           (call $seek (i32.const 4) (i64.const 1) (i32.const 1))
           (call $write (i32.const 4) (i32.const 5) (i32.const 1))
           (call $seek (i32.const 4) (i64.const -3) (i32.const 1))
           (call $write (i32.const 4) (i32.const 5) (i32.const 1))
           (call $tell (i32.const 4))
           (call $pread (i32.const 4) (i32.const 5) (i64.const 0x7ffffffffffffffd))
           (call $stat (i32.const 4))
           (call $done (call $fd_filestat_set_size (i32.const 4) (i64.const 3)) (i32.const 0))
           (call $write (i32.const 4) (i32.const 5) (i32.const 1))
           (call $stat (i32.const 4))"],
    );
    const INVAL: u32 = 28;
    const FBIG: u32 = 22;
    let most = [0xffff_ffff, 0x7fff_ffff];
    let wanted = [
        &[0, 4, 0][..],
        &most,
        &[INVAL, FBIG, 0, 0xffff_fffc, 0x7fff_ffff, 0, 3, 0],
        &most,
        &[0, 2, ran.log[17]],
        &[0, 4, 1],
        &most,
        &[0, FBIG, 0, 4, 1, 3, 0],
    ]
    .concat();
    assert_eq!(ran.log[..wanted.len()], wanted);
}

#[test]
fn it_keeps_to_its_size() {
    // A seventh more than it takes, again and again: what is cut, removed, replaced or closed is free for others.
    let ran = run(
        &memory(1 << 20),
        1,
        &["(loop $again
             (call $open (i32.const 0) (i32.const 9) (i64.const 0x42) (i32.const 0))
             (call $write (i32.const 4) (i32.const 900000) (i32.const 1))
             (call $write (i32.const 4) (i32.const 100000) (i32.const 1))
             (call $write (i32.const 4) (i32.const 1) (i32.const 1))
             ;; What is there can be written again.
             (call $pwrite (i32.const 4) (i32.const 5) (i64.const 3) (i32.const 1))
             (call $open (i32.const 1) (i32.const 1) (i64.const 0x42) (i32.const 0))
             (call $write (i32.const 5) (i32.const 1) (i32.const 1))
             (call $done (call $path_rename (i32.const 3) (i32.const 1) (i32.const 1) (i32.const 3) (i32.const 0)
               (i32.const 1)) (i32.const 0))
             (call $done (call $fd_close (i32.const 4)) (i32.const 0))
             (call $write (i32.const 5) (i32.const 900000) (i32.const 1))
             (call $done (call $fd_close (i32.const 5)) (i32.const 0))
             (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50))))"],
    );
    // An eighth is the host's.
    let all = (1 << 20) / 8 * 7;
    let each = [
        &[0, 4, 0, 900_000, 0, all - 900_000, NOSPC, 0, 5, 0, 5, NOSPC][..],
        &[0, 0, 0, 900_000, 0],
    ]
    .concat();
    for round in ran.log.chunks(each.len()).take(50) {
        assert_eq!(round, each);
    }
}

#[test]
fn what_was_written_is_there_for_the_next_run_and_the_next_store() {
    let services = memory(1 << 24);
    // Pages of the inode, of a tree, and of a higher one; and a hole.
    run(
        &services,
        1,
        &[
            "(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
             (call $write (i32.const 4) (i32.const 200000) (i32.const 9))
             (call $pwrite (i32.const 4) (i32.const 9000) (i64.const 9000000) (i32.const 77))
             (call $open (i32.const 1) (i32.const 1) (i64.const 0x42) (i32.const 1))
             (call $write (i32.const 5) (i32.const 10) (i32.const 1))",
            "(call $write (i32.const 4) (i32.const 3) (i32.const 5))",
        ],
    );
    for _ in 0..2 {
        let read = "(call $tell (i32.const 4))
             (call $pread (i32.const 4) (i32.const 210000) (i64.const 0))
             (call $pread (i32.const 4) (i32.const 9001) (i64.const 9000000))
             (call $pread (i32.const 4) (i32.const 9001) (i64.const 8999000))
             (call $stat_path (i32.const 0))";
        let ran = run(&services, 1, &[read, read]);
        let folder = tempfile::tempdir().unwrap();
        let host = Watched::of(WasiBuilder::new().dir(folder.path(), "/", false).unwrap().build());
        let write = "(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
             (call $write (i32.const 4) (i32.const 200000) (i32.const 9))
             (call $pwrite (i32.const 4) (i32.const 9000) (i64.const 9000000) (i32.const 77))
             (call $write (i32.const 4) (i32.const 3) (i32.const 5))";
        let wanted = run(&host, 1, &[write, read, read]);
        assert_eq!(ran.log[..40], wanted.log[8..48]);
    }
    // Appended to what was there.
    let ran = run(
        &services,
        1,
        &["(call $write (i32.const 5) (i32.const 10) (i32.const 2)) (call $tell (i32.const 5))"],
    );
    assert_eq!(ran.log[..5], [0, 10, 0, 20, 0]);
}

#[test]
fn after_the_last_run_the_data_is_lost() {
    let services = memory(1 << 20);
    let program = Program::new(
        GUEST,
        &["(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
           (call $write (i32.const 4) (i32.const 10) (i32.const 9))"],
    );
    let environment = Environment {
        last: true,
        ..Environment::new(services.clone())
    };
    program.run_in(environment, 1, Duration::from_secs(60)).unwrap();
    let error = program.run(&services, 1).map(drop).unwrap_err();
    assert!(error.to_string().contains("lost"), "{error}");
}

#[test]
fn one_run_at_a_time_has_them() {
    let services = memory(1 << 20);
    let (other, (sender, receiver)) = (services.clone(), std::sync::mpsc::channel());
    services.after_first(Function::PathOpen, move || {
        let program = Program::new(GUEST, &["(call $tell (i32.const 4))"]);
        let error = program.run(&other, 1).map(drop).unwrap_err();
        sender.send(error.to_string()).unwrap();
    });
    run(
        &services,
        1,
        &["(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))"],
    );
    assert!(receiver.recv().unwrap().contains("another run"));
}

#[test]
fn times_are_those_of_the_last_change() {
    // Of a filestat: when it was modified, in units of 2^30 ns, and whether that was before it was changed.
    let times = "(call $log (i32.wrap_i64 (i64.shr_u (i64.load (i32.const 112)) (i64.const 30))))
                 (call $log (i64.lt_u (i64.load (i32.const 112)) (i64.load (i32.const 120))))";
    let stat = format!("(drop (call $fd_filestat_get (i32.const 4) (i32.const 64))) {times}");
    let path = format!(
        "(drop (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 64))) {times}"
    );
    let body = format!(
        "(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
         (call $write (i32.const 4) (i32.const 10) (i32.const 9)) {stat} {path}
         (call $done (call $fd_filestat_set_times (i32.const 4) (i64.const 0) (i64.const 0x140000000) (i32.const 4))
           (i32.const 0)) {stat} {path}
         (call $write (i32.const 4) (i32.const 10) (i32.const 9)) {stat} {path}"
    );
    let ran = run(&memory(1 << 20), 1, &[&body, &path]);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let now = (now >> 30) as u32;
    let log = &ran.log;
    let near = |time: u32| assert!(now - time < 60, "{time}, but it is {now}");
    for (at, set) in [
        (4, false),
        (6, false),
        (9, true),
        (11, true),
        (15, false),
        (17, false),
        (19, false),
    ] {
        if set {
            assert_eq!(log[at..at + 2], [5, 1], "{log:?}");
        } else {
            near(log[at]);
        }
    }
}

#[test]
fn descriptors_above_255_are_no_others() {
    let ran = run(
        &memory(1 << 24),
        1,
        &["(loop $again
             (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 1)
               (i64.const 0x42) (i64.const 0) (i32.const 1) (i32.const 64)))
             (drop (call $fd_write (i32.load (i32.const 64)) (call $list (i32.const 0x100000) (i32.const 10))
               (i32.const 3) (i32.const 64)))
             (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))
           (call $tell (i32.const 1003))
           (call $tell (i32.const 1004))
           (call $stat (i32.const 500))"],
    );
    assert_eq!(ran.log[..9], [0, 10_000, 0, BADF, 0, 4, 1, 10_000, 0]);
    asked_only(&ran, &[Function::PathOpen, Function::FdTell]);
}

/// Each thread's own memory for its calls: a list of one buffer at 0, a result at 8, and its bytes at 16.
const OWN: &str = "(local $own i32) (local $fd2 i32)
    (local.set $own (i32.add (i32.const 0x300000) (i32.mul (call $gid) (i32.const 128))))
    (i32.store (local.get $own) (i32.add (local.get $own) (i32.const 16)))
    (i32.store offset=4 (local.get $own) (i32.const 64))
    (memory.fill (i32.add (local.get $own) (i32.const 16)) (i32.add (i32.rem_u (call $gid) (i32.const 251))
      (i32.const 1)) (i32.const 64))";

#[test]
fn threads_append_whole_records() {
    const THREADS: usize = 1000;
    let services = memory(1 << 24);
    let ran = run(
        &services,
        THREADS as u32,
        &[
            "(if (i32.eqz (call $gid)) (then
               (call $open (i32.const 0) (i32.const 1) (i64.const 0x40) (i32.const 1))))",
            &format!(
                "{OWN} (loop $again
                   (if (call $fd_write (i32.const 4) (local.get $own) (i32.const 1)
                         (i32.add (local.get $own) (i32.const 8))) (then unreachable))
                   (if (i32.ne (i32.load offset=8 (local.get $own)) (i32.const 64)) (then unreachable))
                   (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5))))"
            ),
        ],
    );
    assert_eq!(ran.asked, [Function::PathOpen]);
    let data = services.read("a");
    assert_eq!(data.len(), THREADS * 5 * 64);
    let mut counts = [0; 252];
    for record in data.chunks(64) {
        assert!(record.iter().all(|byte| *byte == record[0]), "a torn record");
        counts[record[0] as usize] += 1;
    }
    for (byte, count) in counts.iter().enumerate().skip(1) {
        assert_eq!(*count, 5 * (byte - 1..THREADS).step_by(251).count());
    }
}

#[test]
fn a_reader_sees_whole_writes() {
    // Half of the threads write a record, each with its own byte; the others read it.
    run(
        &memory(1 << 20),
        64,
        &[
            "(if (i32.eqz (call $gid)) (then
               (call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
               (call $done (call $fd_filestat_set_size (i32.const 4) (i64.const 8192)) (i32.const 0))))",
            &format!(
                "{OWN} (loop $again
                   (if (i32.and (call $gid) (i32.const 1))
                     (then
                       (if (call $fd_pwrite (i32.const 4) (local.get $own) (i32.const 1) (i64.const 4064)
                             (i32.add (local.get $own) (i32.const 8))) (then unreachable)))
                     (else
                       (if (call $fd_pread (i32.const 4) (local.get $own) (i32.const 1) (i64.const 4064)
                             (i32.add (local.get $own) (i32.const 8))) (then unreachable))
                       (local.set $fd (i32.const 1))
                       (loop $byte
                         (if (i32.ne (i32.load8_u offset=16 (local.get $own))
                               (i32.load8_u offset=16 (i32.add (local.get $own) (local.get $fd))))
                           (then unreachable))
                         (br_if $byte (i32.lt_u (local.tee $fd (i32.add (local.get $fd) (i32.const 1)))
                           (i32.const 64))))))
                   (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 200))))"
            ),
        ],
    );
}

#[test]
fn threads_make_fill_and_remove_files() {
    // Each thread has a name of two letters; what it finds in its file must be its own. There is room for a part of
    // them only if what was removed is free again.
    let services = memory(4 << 20);
    let ran = run(
        &services,
        200,
        &[&format!(
            "{OWN}
             (i32.store8 offset=96 (local.get $own) (i32.add (i32.const 65) (i32.and (call $gid) (i32.const 15))))
             (i32.store8 offset=97 (local.get $own) (i32.add (i32.const 65) (i32.shr_u (call $gid) (i32.const 4))))
             (loop $again
               (if (call $path_open (i32.const 3) (i32.const 0) (i32.add (local.get $own) (i32.const 96)) (i32.const 2)
                     (i32.const 5) (i64.const 0x42) (i64.const 0) (i32.const 0)
                     (i32.add (local.get $own) (i32.const 8))) (then unreachable))
               (local.set $fd (i32.load offset=8 (local.get $own)))
               (local.set $fd2 (i32.const 0))
               (loop $page
                 (if (call $fd_pwrite (local.get $fd) (local.get $own) (i32.const 1)
                       (i64.mul (i64.extend_i32_u (local.get $fd2)) (i64.const 40000))
                       (i32.add (local.get $own) (i32.const 8))) (then unreachable))
                 (br_if $page (i32.lt_u (local.tee $fd2 (i32.add (local.get $fd2) (i32.const 1))) (i32.const 4))))
               ;; A hole, and what was written last.
               (if (call $fd_pread (local.get $fd) (local.get $own) (i32.const 1) (i64.const 119968)
                     (i32.add (local.get $own) (i32.const 8))) (then unreachable))
               (if (i64.ne (i64.load offset=40 (local.get $own)) (i64.const 0)) (then unreachable))
               (if (i32.ne (i32.load8_u offset=79 (local.get $own))
                     (i32.add (i32.rem_u (call $gid) (i32.const 251)) (i32.const 1))) (then unreachable))
               (memory.fill (i32.add (local.get $own) (i32.const 16)) (i32.load8_u offset=79 (local.get $own))
                 (i32.const 64))
               (if (call $path_unlink_file (i32.const 3) (i32.add (local.get $own) (i32.const 96)) (i32.const 2))
                 (then unreachable))
               (if (call $fd_close (local.get $fd)) (then unreachable))
               (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 20))))"
        )],
    );
    asked_only(&ran, &[Function::PathOpen, Function::PathUnlinkFile, Function::FdClose]);
    // All of it is free.
    let ran = run(
        &services,
        1,
        &["(call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 0))
           (loop $again
             (call $write (i32.const 4) (i32.const 1048576) (i32.const 1))
             (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4))))"],
    );
    assert_eq!(ran.log[2..10], [0, 1 << 20, 0, 1 << 20, 0, 1 << 20, 0, 1 << 19]);
}

#[test]
fn a_run_that_is_stopped_leaves_files_that_can_be_used() {
    let services = memory(1 << 22);
    let program = Program::new(
        GUEST,
        &[
            "(if (i32.eqz (call $gid)) (then
               (call $open (i32.const 0) (i32.const 1) (i64.const 0x42) (i32.const 1))))",
            &format!(
                "{OWN} (loop $again
                   (drop (call $fd_write (i32.const 4) (local.get $own) (i32.const 1)
                     (i32.add (local.get $own) (i32.const 8))))
                   (drop (call $fd_filestat_set_size (i32.const 4) (i64.const 640)))
                   (br $again))"
            ),
        ],
    );
    let error = program.run_for(&services, 50, Duration::from_millis(300)).map(drop);
    assert!(matches!(error, Err(StoreError::Ended(_))), "{error:?}");
    let ran = run(
        &services,
        1,
        &[
            "(call $done (call $fd_filestat_set_size (i32.const 4) (i64.const 0)) (i32.const 0))
           (call $write (i32.const 4) (i32.const 1000) (i32.const 1))
           (call $stat (i32.const 4))",
        ],
    );
    assert_eq!(ran.log[..8], [0, 0, 1000, 0, 4, 1, 1000, 0]);
}
