//! Files that are read in small pieces, on the CPU. A guest must not observe what the device keeps of them; only the
//! host sees how seldom it is asked.
#![cfg(target_os = "linux")]

#[path = "files/ends.rs"]
mod ends;
#[path = "files/late.rs"]
mod late;
#[path = "files/support.rs"]
mod support;
#[path = "files/tmpfs.rs"]
mod tmpfs;

use gpu_run_bytecode::wasi::Function;

use support::{Folder, Ran, run};

/// Bytes of a message, and of what is read ahead.
const MESSAGE: usize = 4096;
const BLOCK: usize = 16384;

const EINVAL: u32 = 28;
const EBADF: u32 = 8;

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Sizes of what is read ahead until `size` bytes are there: it doubles from a message to a block.
fn blocks(size: usize) -> usize {
    let (mut count, mut window, mut done) = (0, MESSAGE, 0);
    while done < size {
        done += window;
        window = (2 * window).min(BLOCK);
        count += 1;
    }
    count
}

#[test]
fn a_loop_of_small_reads_asks_once_a_block() {
    for (size, piece) in [(100_000, 1), (100_000, 100), (65536, 1024), (5, 1), (4096, 1)] {
        let content = pattern(size);
        let ran = Folder::with(&content).run(&[&format!("(call $read_all (call $open_to_read) (i32.const {piece}))")]);
        assert!(ran.data[..size] == content, "{size} by {piece}");
        assert_eq!(ran.data[size], 0);
        // A piece that does not fit a block is read again; the end costs one or two.
        let most = blocks(size + size / BLOCK * piece) + 2;
        let reads = ran.count(Function::FdPread);
        assert!(
            (2..=most).contains(&reads),
            "{size} by {piece}: {reads} reads, {most} expected"
        );
        assert_eq!(ran.count(Function::FdRead), 0);
        // At the end of the run the host is told the position, which is no request.
        assert_eq!(ran.requests.calls as usize + 1, ran.asked.len());
    }
    // To the number: 4, 8, and then 16 KiB each, and one for the end.
    let ran = Folder::with(&pattern(77824)).run(&["(call $read_all (call $open_to_read) (i32.const 1))"]);
    assert_eq!(ran.count(Function::FdPread), 2 + 4 + 1);
    // A message for each 4 KiB, one for the end, and path_open's.
    assert_eq!(ran.requests.messages, 19 + 1 + 1);
}

#[test]
fn large_reads_take_what_they_ask_for() {
    let content = pattern(100_000);
    let ran = Folder::with(&content).run(&["(call $read_all (call $open_to_read) (i32.const 8192))"]);
    assert!(ran.data[..100_000] == content);
    assert_eq!(ran.count(Function::FdPread), 100_000usize.div_ceil(8192) + 1);
    assert_eq!(ran.requests.messages, 25 + 1 + 1);
}

#[test]
fn offsets_are_as_if_nothing_were_kept() {
    let content = pattern(100_000);
    let ran = Folder::with(&content).run(&["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 10)))
        (call $tell (local.get $fd))
        (call $seek (local.get $fd) (i64.const 5) (i32.const 1))
        (drop (call $read (local.get $fd) (i32.const 3)))
        (call $seek (local.get $fd) (i64.const -10) (i32.const 2))
        (call $read_all (local.get $fd) (i32.const 3))
        (call $seek (local.get $fd) (i64.const 7) (i32.const 0))
        (call $pread (local.get $fd) (i32.const 4) (i64.const 50000))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (call $tell (local.get $fd))
        ;; Errors move nothing.
        (call $seek (local.get $fd) (i64.const -10) (i32.const 1))
        (call $seek (local.get $fd) (i64.const -1) (i32.const 0))
        (call $seek (local.get $fd) (i64.const 0x7fffffffffffffff) (i32.const 1))
        (call $seek (local.get $fd) (i64.const 0) (i32.const 3))
        (call $seek (local.get $fd) (i64.const 0) (i32.const 300))
        (call $seek (local.get $fd) (i64.const -200000) (i32.const 2))
        (call $tell (local.get $fd))
        ;; Behind the end, and above what the device decides.
        (call $seek (local.get $fd) (i64.const 3000000000) (i32.const 1))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (call $seek (local.get $fd) (i64.const -2999999999) (i32.const 1))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (call $tell (local.get $fd))"]);
    let wanted = [
        [0, 10],
        [0, 15],
        [0, 99_990],
        [0, 7],
        [0, 4],
        [0, 9],
        [EINVAL, 9],
        [EINVAL, 9],
        [EINVAL, 9],
        [EINVAL, 9],
        [61, 9],
        [EINVAL, 9],
        [0, 9],
        [0, 3_000_000_009],
        [0, 10],
        [0, 12],
    ];
    assert_eq!(ran.log[..2 * wanted.len()], *wanted.as_flattened());
    let read = [
        &content[..10],
        &content[15..18],
        &content[99_990..],
        &content[50_000..50_004],
        &content[7..9],
        &content[10..12],
    ];
    assert_eq!(ran.data[..31], read.concat());
}

#[test]
fn what_the_process_writes_is_seen_at_once() {
    // Through another descriptor, that is opened while data is kept, or was open before.
    for bodies in [
        "(local.set $fd (call $open_to_read))
         (drop (call $read (local.get $fd) (i32.const 2)))
         (call $write (call $open_to_write))
         (drop (call $read (local.get $fd) (i32.const 4)))",
        "(local.set $i (call $open_to_write))
         (local.set $fd (call $open_to_read))
         (drop (call $read (local.get $fd) (i32.const 2)))
         (call $write (local.get $i))
         (drop (call $read (local.get $fd) (i32.const 4)))",
    ] {
        let ran = Folder::with(b"abcdefgh").run(&[bodies]);
        assert_eq!(text(&ran, 6), "ab##ef");
    }
    // Cut when it is opened, and by a function; and extended.
    let ran = Folder::with(b"abcdefgh").run(&["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (local.set $i (call $open (i32.const 8) (i64.const 0x40)))
        (call $log (call $read (local.get $fd) (i32.const 1)))
        (call $log (call $fd_filestat_set_size (local.get $i) (i64.const 3)))
        (call $log (call $read (local.get $fd) (i32.const 9)))"]);
    assert_eq!(ran.log[..3], [0, 0, 1]);
    assert_eq!(ran.data[..4], *b"ab\0\0");
    // Once there is no writer any more, data is kept again.
    let ran = Folder::with(&pattern(1000)).run(&["
        (local.set $fd (call $open_to_write))
        (call $write (local.get $fd))
        (call $log (call $fd_close (local.get $fd)))
        (call $read_all (call $open_to_read) (i32.const 1))"]);
    assert_eq!(ran.data[..1000], [b"####", &pattern(1000)[4..]].concat());
    assert_eq!(ran.count(Function::FdPread), 2);
}

fn text(ran: &Ran, len: usize) -> &str {
    std::str::from_utf8(&ran.data[..len]).unwrap()
}

#[test]
fn what_others_write_is_seen_after_a_seek_back() {
    let folder = Folder::with(b"abcdefgh");
    let services = folder.services();
    let file = folder.file();
    let change = move || std::fs::write(file, "ABCDEFGHI").unwrap();
    services.after_first(Function::FdPread, change);
    let ran = run(
        &services,
        1,
        &["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (call $seek (local.get $fd) (i64.const 1) (i32.const 0))
        (call $read_all (local.get $fd) (i32.const 3))"],
    );
    assert_eq!(text(&ran, 10), "abBCDEFGHI");
}

#[test]
fn a_file_that_others_cut_off_ends_there() {
    let folder = Folder::with(b"abcdefgh");
    let services = folder.services();
    let file = folder.file();
    let cut = move || std::fs::write(file, "abc").unwrap();
    services.after_first(Function::FdPread, cut);
    let ran = run(
        &services,
        1,
        &["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (call $seek (local.get $fd) (i64.const 1) (i32.const 0))
        (call $read_all (local.get $fd) (i32.const 3))
        (call $tell (local.get $fd))
        (call $seek (local.get $fd) (i64.const 6) (i32.const 0))
        (call $read_all (local.get $fd) (i32.const 3))"],
    );
    assert_eq!(text(&ran, 5), "abbc\0");
    assert_eq!(ran.log[..6], [0, 1, 0, 3, 0, 6]);
}

#[test]
fn at_the_end_the_host_is_asked_again() {
    let folder = Folder::with(b"ab");
    let services = folder.services();
    let file = folder.file();
    let append = move || std::fs::write(file, "abcd").unwrap();
    services.after_first(Function::FdPread, append);
    let ran = run(&services, 1, &["(call $read_all (call $open_to_read) (i32.const 1))"]);
    assert_eq!(text(&ran, 4), "abcd");
}

#[test]
fn descriptors_are_closed_moved_and_given_again() {
    let ran = Folder::with(b"abcdefgh").run(&["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 2)))
        (local.set $i (call $open_to_read))
        (drop (call $read (local.get $i) (i32.const 1)))
        (call $log (call $fd_renumber (local.get $fd) (local.get $i)))
        (call $tell (local.get $i))
        (call $tell (local.get $fd))
        (drop (call $read (local.get $i) (i32.const 2)))
        ;; The number is given again, to the same file from its start.
        (call $log (i32.sub (local.get $fd) (call $open_to_read)))
        (drop (call $read (local.get $fd) (i32.const 1)))
        (call $log (call $fd_close (local.get $fd)))
        (drop (call $read (local.get $fd) (i32.const 1)))
        (call $tell (local.get $fd))
        (call $log (call $fd_close (local.get $fd)))
        ;; And to one that is written.
        (local.set $fd (call $open (i32.const 0) (i64.const 0x42)))
        (drop (call $read (local.get $fd) (i32.const 1)))
        (call $write (local.get $fd))
        (call $tell (local.get $fd))"]);
    // The second of the three tells leaves the offset's place as it was.
    let wanted = [0, 0, 2, EBADF, 2, 0, 0, EBADF, EBADF, 2, EBADF, 0, 0, 5];
    assert_eq!(ran.log[..wanted.len()], wanted);
    assert_eq!(text(&ran, 7), "abacdaa");
}

#[test]
fn a_poll_knows_where_a_file_is_read() {
    let ran = Folder::with(b"abcd").run(&["
        (local.set $fd (call $open_to_read))
        (drop (call $read (local.get $fd) (i32.const 3)))
        (call $poll (local.get $fd))
        (drop (call $read (local.get $fd) (i32.const 1)))
        (call $poll (local.get $fd))
        (call $tell (local.get $fd))
        (local.set $fd (call $open_to_read))
        (call $seek (local.get $fd) (i64.const 4) (i32.const 0))
        (call $poll (local.get $fd))"]);
    // 1: the file is at its end.
    assert_eq!(ran.log[..10], [0, 0, 0, 1, 0, 4, 0, 4, 0, 1]);
}

#[test]
fn offsets_stay_from_run_to_run() {
    let folder = Folder::with(b"abcdefgh");
    let ran = folder.run(&[
        "(drop (call $read (call $open_to_read) (i32.const 3)))",
        "(global.set $data (i32.const 65539)) (drop (call $read (i32.const 4) (i32.const 2)))",
    ]);
    assert_eq!(text(&ran, 5), "abcde");
}

#[test]
fn threads_that_share_a_descriptor_get_each_byte_once() {
    const THREADS: u32 = 64;
    let content: Vec<u8> = (0..40_000u32).flat_map(|word| word.to_le_bytes()).collect();
    let folder = Folder::with(&content);
    let services = folder.services();
    // Each thread reads words into its own place, and counts how often each came in a table of bytes.
    let ran = run(
        &services,
        THREADS,
        &[
            "(if (i32.eqz (call $gid)) (then (i32.store (i32.const 60) (call $open_to_read))))",
            "(local.set $i (i32.add (i32.const 1024) (i32.mul (call $gid) (i32.const 16))))
             (i32.store (local.get $i) (i32.add (local.get $i) (i32.const 8)))
             (i32.store offset=4 (local.get $i) (i32.const 4))
             (loop $next
               (if (call $fd_read (i32.load (i32.const 60)) (local.get $i) (i32.const 1)
                     (i32.add (local.get $i) (i32.const 12)))
                 (then unreachable))
               (if (i32.load offset=12 (local.get $i))
                 (then
                   (drop (i32.atomic.rmw8.add_u
                     (i32.add (i32.const 65536) (i32.load offset=8 (local.get $i))) (i32.const 1)))
                   (br $next))))",
        ],
    );
    assert!(ran.data[..40_000].iter().all(|count| *count == 1));
    assert_eq!(ran.data[40_000], 0);
    // Each of them sees the end by itself.
    let most = blocks(content.len()) + THREADS as usize;
    let reads = ran.count(Function::FdPread);
    assert!(reads <= most, "{reads} reads, {most} expected");
}

#[test]
fn threads_open_read_and_close_files_of_their_own() {
    const THREADS: u32 = 600;
    let folder = Folder::with(&pattern(3000));
    let services = folder.services();
    // More threads than there are descriptors that the device knows; each sums the file up, three times.
    let ran = run(
        &services,
        THREADS,
        &["(local $at i32) (local $times i32)
           (local.set $at (i32.add (i32.const 0x300000) (i32.mul (call $gid) (i32.const 128))))
           (i32.store (local.get $at) (i32.add (local.get $at) (i32.const 16)))
           (i32.store offset=4 (local.get $at) (i32.const 100))
           (loop $again
             (if (call $path_open (i32.const 3) (i32.const 1) (i32.const 0) (i32.const 4) (i32.const 0) (i64.const 2)
                   (i64.const 0) (i32.const 0) (i32.add (local.get $at) (i32.const 12)))
               (then unreachable))
             (local.set $fd (i32.load offset=12 (local.get $at)))
             (loop $next
               (if (call $fd_read (local.get $fd) (local.get $at) (i32.const 1)
                     (i32.add (local.get $at) (i32.const 8)))
                 (then unreachable))
               (if (i32.load offset=8 (local.get $at))
                 (then
                   (local.set $i (i32.const 0))
                   (loop $byte
                     (i32.store offset=120 (local.get $at) (i32.add (i32.load offset=120 (local.get $at))
                       (i32.load8_u offset=16 (i32.add (local.get $at) (local.get $i)))))
                     (local.set $i (i32.add (local.get $i) (i32.const 1)))
                     (br_if $byte (i32.lt_u (local.get $i) (i32.const 100))))
                   (br $next))))
             (if (call $fd_close (local.get $fd)) (then unreachable))
             (local.set $times (i32.add (local.get $times) (i32.const 1)))
             (br_if $again (i32.lt_u (local.get $times) (i32.const 3))))"],
    );
    let sum: u32 = pattern(3000).iter().map(|byte| u32::from(*byte)).sum();
    for thread in 0..THREADS as usize {
        let at = 0x300000 - 65536 + thread * 128 + 120;
        let found = u32::from_le_bytes(ran.data[at..at + 4].try_into().unwrap());
        assert_eq!(found, 3 * sum, "thread {thread}");
    }
}
