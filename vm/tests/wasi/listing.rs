//! `fd_readdir`.

use std::collections::BTreeSet;
use std::fs;

use gpu_run_vm::Errno;

use crate::call;
use crate::support::*;

struct Entry {
    next: u64,
    inode: u64,
    filetype: u8,
    name: String,
}

/// The whole entries of a buffer, and whether it says that the directory ends there.
fn list(guest: &Guest, fd: u32, cookie: u64, room: usize) -> (Vec<Entry>, bool) {
    let reply = call!(guest, FdReaddir, fd, Arg::Room(room), cookie).unwrap();
    assert_eq!(word(&reply, 0) as usize, reply.data.len());
    let ended = reply.data.len() < room;
    let (mut bytes, mut entries) = (reply.data.as_slice(), vec![]);
    while let Some((head, rest)) = bytes.split_at_checked(24) {
        let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
        let length = u32::from_le_bytes(head[16..20].try_into().unwrap()) as usize;
        let Some((name, rest)) = rest.split_at_checked(length) else {
            break;
        };
        entries.push(Entry {
            next: long(0),
            inode: long(8),
            filetype: head[20],
            name: String::from_utf8(name.to_vec()).unwrap(),
        });
        bytes = rest;
    }
    (entries, ended)
}

/// All names, as a C library reads them, with a buffer of `room` bytes.
fn names(guest: &Guest, fd: u32, room: usize) -> Vec<String> {
    let (mut names, mut cookie) = (vec![], 0);
    loop {
        let (entries, ended) = list(guest, fd, cookie, room);
        cookie = entries.last().map_or(cookie, |entry| entry.next);
        names.extend(entries.into_iter().map(|entry| entry.name));
        if ended {
            return names;
        }
    }
}

#[test]
fn entries() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let (entries, ended) = list(&guest, 3, 0, 256);
    assert!(ended);
    assert_eq!(
        entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(),
        [".", ".."]
    );
    let stat = Stat::of(&call!(guest, FdFilestatGet, 3u32).unwrap());
    assert_eq!((entries[0].inode, entries[0].filetype), (stat.inode, 3));

    fs::write(dir.path().join("file"), b"").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("none", dir.path().join("link")).unwrap();
    let (entries, _) = list(&guest, 3, 0, 256);
    assert_eq!(entries.len(), 5);
    for entry in &entries[2..] {
        let stat = guest.stat(&entry.name).unwrap();
        assert_eq!(
            (entry.inode, entry.filetype),
            (stat.inode, stat.filetype),
            "{}",
            entry.name
        );
    }
    // From a cookie on.
    let (rest, ended) = list(&guest, 3, entries[3].next, 256);
    assert!(ended);
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].name, entries[4].name);
    assert_eq!(list(&guest, 3, 5, 256).0.len(), 0);
    assert_eq!(list(&guest, 3, u64::MAX, 256).0.len(), 0);

    let file = guest.open("file", 0, READ).unwrap();
    assert_eq!(call!(guest, FdReaddir, file, Arg::Room(9), 0u64), Err(Errno::Badf));
}

#[test]
fn a_full_buffer_cuts_the_last_entry() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    // `.` has 25 bytes, `..` 26.
    for room in [0, 1, 24, 25, 30, 49, 50, 51] {
        let reply = call!(guest, FdReaddir, 3u32, Arg::Room(room), 0u64).unwrap();
        assert_eq!(reply.data.len(), room);
    }
    assert_eq!(
        call!(guest, FdReaddir, 3u32, Arg::Room(52), 0u64).unwrap().data.len(),
        51
    );
}

#[test]
fn many_entries_by_parts() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    for index in 0..1000 {
        fs::write(dir.path().join(format!("file.{index}")), b"").unwrap();
    }
    let whole = names(&guest, 3, 1 << 20);
    assert_eq!(whole.len(), 1002);
    assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), 1002);
    assert_eq!(names(&guest, 3, 256), whole);
}

#[test]
fn removing_while_listing_misses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    for index in 0..200 {
        fs::write(dir.path().join(format!("file.{index}")), b"").unwrap();
    }
    let mut cookie = 2;
    // The listing begins at 0.
    list(&guest, 3, 0, 24);
    loop {
        let (entries, ended) = list(&guest, 3, cookie, 256);
        for entry in &entries {
            call!(guest, PathUnlinkFile, 3u32, entry.name.as_str()).unwrap();
            cookie = entry.next;
        }
        if ended {
            break;
        }
    }
    assert_eq!(names(&guest, 3, 256), [".", ".."]);
}

#[test]
fn names_that_are_no_text_cannot_be_listed() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join(std::ffi::OsStr::from_bytes(b"\xff")), b"").unwrap();
    assert_eq!(call!(guest, FdReaddir, 3u32, Arg::Room(99), 0u64), Err(Errno::Ilseq));
}
