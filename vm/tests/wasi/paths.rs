//! Functions that take paths, errno by errno.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::support::*;

#[test]
fn opening_makes_cuts_and_refuses() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), b"text").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    let guest = Guest::with_dir(dir.path());
    assert_eq!(guest.open("none", 0, READ), Err(Errno::Noent));
    assert_eq!(guest.open("", 0, READ), Err(Errno::Noent));
    assert_eq!(guest.open("", CREAT, READ), Err(Errno::Noent));
    assert_eq!(guest.open("none/file", CREAT, READ), Err(Errno::Noent));
    assert_eq!(guest.open("file", CREAT | EXCL, READ), Err(Errno::Exist));
    assert_eq!(guest.open("dir", CREAT | EXCL, READ), Err(Errno::Exist));
    assert!(guest.open("file", EXCL, READ).is_ok());
    assert!(guest.open("new", CREAT | EXCL, READ).is_ok());
    assert_eq!(guest.stat("file").unwrap().size, 4);
    assert!(guest.open("file", TRUNC, READ).is_ok());
    assert_eq!(guest.stat("file").unwrap().size, 0);

    assert_eq!(guest.open("file", DIRECTORY, READ), Err(Errno::Notdir));
    assert_eq!(guest.open("file/", 0, READ), Err(Errno::Notdir));
    assert_eq!(guest.open("file///", 0, READ), Err(Errno::Notdir));
    assert_eq!(guest.open("file/x", 0, READ), Err(Errno::Notdir));
    assert_eq!(guest.open("made/", CREAT, READ), Err(Errno::Isdir));
    for oflags in [DIRECTORY | CREAT, DIRECTORY | EXCL, DIRECTORY | TRUNC] {
        assert_eq!(guest.open("dir", oflags, READ), Err(Errno::Inval));
    }
    for path in ["dir", "dir/", "dir//", "dir/.", "./dir", "dir/../dir", "."] {
        for oflags in [0, DIRECTORY] {
            let fd = guest.open(path, oflags, READ).unwrap();
            assert_eq!(guest.fdstat(fd).unwrap().0, 3, "{path}");
            guest.close(fd).unwrap();
        }
        assert_eq!(guest.open(path, 0, WRITE), Err(Errno::Isdir), "{path}");
        assert_eq!(guest.open(path, DIRECTORY, READ | WRITE), Err(Errno::Isdir), "{path}");
        assert_eq!(guest.open(path, TRUNC, READ), Err(Errno::Isdir), "{path}");
    }
    assert!(guest.open("dir/.//../dir/../file", 0, READ).is_ok());
}

#[test]
fn flags_that_do_not_exist_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let open = |lookup: u32, oflags: u32, rights: u64, fdflags: u32| {
        call!(guest, PathOpen, 3u32, lookup, ".", oflags, rights, 0u64, fdflags).map(drop)
    };
    assert_eq!(open(0, 0, READ, 0), Ok(()));
    assert_eq!(open(0, 0, READ, 4), Ok(()));
    assert_eq!(open(2, 0, READ, 0), Err(Errno::Inval));
    assert_eq!(open(0, 16, READ, 0), Err(Errno::Inval));
    assert_eq!(open(0, 1 << 16, READ, 0), Err(Errno::Overflow));
    assert_eq!(open(0, 0, 1 << 30, 0), Err(Errno::Inval));
    assert_eq!(open(0, 0, 1 << 63, 0), Err(Errno::Overflow));
    assert_eq!(open(0, 0, READ, 32), Err(Errno::Inval));
}

#[test]
fn symbolic_links_are_followed_if_asked() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join("file"), b"text").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    for (target, link) in [
        ("file", "to-file"),
        ("dir", "to-dir"),
        ("none", "dangling"),
        ("loop", "loop"),
    ] {
        assert!(call!(guest, PathSymlink, target, 3u32, link).is_ok());
    }
    let follow = |path: &str, oflags: u32| {
        call!(guest, PathOpen, 3u32, FOLLOW, path, oflags, READ, 0u64, 0u32).map(|reply| word(&reply, 0))
    };
    assert_eq!(guest.read(follow("to-file", 0).unwrap(), 9).unwrap(), b"text");
    assert_eq!(guest.fdstat(follow("to-dir", DIRECTORY).unwrap()).unwrap().0, 3);
    assert_eq!(follow("to-file", DIRECTORY), Err(Errno::Notdir));
    assert_eq!(follow("dangling", 0), Err(Errno::Noent));
    assert_eq!(follow("loop", 0), Err(Errno::Loop));
    assert!(follow("dangling", CREAT).is_ok());
    assert!(dir.path().join("none").exists());
    for link in ["to-file", "to-dir", "dangling", "loop"] {
        for oflags in [0, DIRECTORY] {
            assert_eq!(guest.open(link, oflags, READ), Err(Errno::Loop), "{link}");
        }
        assert_eq!(guest.stat(link).unwrap().filetype, 7);
    }
    let stat = |flags: u32, path: &str| call!(guest, PathFilestatGet, 3u32, flags, path).map(|reply| Stat::of(&reply));
    assert_eq!(stat(FOLLOW, "to-file").unwrap(), guest.stat("file").unwrap());
    assert_eq!(stat(FOLLOW, "to-dir").unwrap().filetype, 3);
    assert_eq!(stat(FOLLOW, "loop"), Err(Errno::Loop));
    // A slash after a link: it is not the path's end.
    assert_eq!(stat(0, "to-dir/").unwrap().filetype, 3);
    assert_eq!(stat(0, "to-file/"), Err(Errno::Notdir));
    assert_eq!(stat(2, "file"), Err(Errno::Inval));
}

#[test]
fn times_by_path() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join("file"), b"").unwrap();
    symlink("file", dir.path().join("link")).unwrap();
    let set = |lookup: u32, path: &str, time: u64, flags: u32| {
        call!(guest, PathFilestatSetTimes, 3u32, lookup, path, time, time, flags).map(drop)
    };
    let file = guest.stat("file").unwrap();
    assert_eq!(set(0, "link", 1_500_000_001, 4), Ok(()));
    assert_eq!(guest.stat("link").unwrap().modified, 1_500_000_001);
    assert_eq!(guest.stat("file").unwrap().modified, file.modified);
    assert_eq!(set(FOLLOW, "link", 1_600_000_001, 4 | 1), Ok(()));
    let file = guest.stat("file").unwrap();
    assert_eq!((file.modified, file.accessed), (1_600_000_001, 1_600_000_001));
    assert_eq!(set(0, "file", 0, 4 | 8), Err(Errno::Inval));
    assert_eq!(set(0, "file", 0, 1 | 2), Err(Errno::Inval));
    assert_eq!(set(0, "none", 0, 4), Err(Errno::Noent));
    assert_eq!(guest.stat("file").unwrap(), file);
}

#[test]
fn making_and_removing() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join("file"), b"").unwrap();
    symlink("file", dir.path().join("link")).unwrap();
    let make = |path: &str| call!(guest, PathCreateDirectory, 3u32, path).map(drop);
    let rmdir = |path: &str| call!(guest, PathRemoveDirectory, 3u32, path).map(drop);
    let unlink = |path: &str| call!(guest, PathUnlinkFile, 3u32, path).map(drop);
    assert_eq!(make("dir"), Ok(()));
    assert_eq!(make("dir"), Err(Errno::Exist));
    assert_eq!(make("file"), Err(Errno::Exist));
    assert_eq!(make(""), Err(Errno::Noent));
    assert_eq!(make("none/dir"), Err(Errno::Noent));
    assert_eq!(make("file/dir"), Err(Errno::Notdir));
    assert_eq!(make("dir/nested/"), Ok(()));

    assert_eq!(rmdir("dir"), Err(Errno::Notempty));
    assert_eq!(rmdir("dir/nested/"), Ok(()));
    assert_eq!(rmdir("file"), Err(Errno::Notdir));
    assert_eq!(rmdir("file/"), Err(Errno::Notdir));
    assert_eq!(rmdir("link"), Err(Errno::Notdir));
    assert_eq!(rmdir("none"), Err(Errno::Noent));
    assert_eq!(rmdir("dir/."), Err(Errno::Inval));

    assert_eq!(unlink("dir"), Err(Errno::Isdir));
    assert_eq!(unlink("dir/"), Err(Errno::Isdir));
    assert_eq!(unlink("file/"), Err(Errno::Notdir));
    assert_eq!(unlink("none"), Err(Errno::Noent));
    assert_eq!(unlink("link"), Ok(()));
    assert_eq!(unlink("file"), Ok(()));
    assert_eq!(rmdir("dir"), Ok(()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_file_lives_until_its_last_descriptor_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let fd = guest.open("file", CREAT, READ | WRITE).unwrap();
    guest.write(fd, b"still here").unwrap();
    call!(guest, PathUnlinkFile, 3u32, "file").unwrap();
    assert_eq!(guest.stat("file"), Err(Errno::Noent));
    guest.seek(fd, 0, 0).unwrap();
    assert_eq!(guest.read(fd, 100).unwrap(), b"still here");
    assert!(guest.open("file", CREAT | EXCL, READ).is_ok());
}

#[test]
fn links() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join("file"), b"").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    symlink("none", dir.path().join("dangling")).unwrap();
    let link = |flags: u32, old: &str, new: &str| call!(guest, PathLink, 3u32, flags, old, 3u32, new).map(drop);
    assert_eq!(link(0, "file", "dir/second"), Ok(()));
    assert_eq!(guest.stat("dir/second").unwrap(), guest.stat("file").unwrap());
    assert_eq!(guest.stat("file").unwrap().links, 2);
    assert_eq!(link(0, "file", "dir"), Err(Errno::Exist));
    assert_eq!(link(0, "file", "file"), Err(Errno::Exist));
    assert_eq!(link(0, "file", "dangling"), Err(Errno::Exist));
    assert_eq!(link(0, "file", "new/"), Err(Errno::Noent));
    assert_eq!(link(0, "none", "new"), Err(Errno::Noent));
    assert_eq!(link(0, "dir", "new"), Err(Errno::Perm));
    assert_eq!(link(FOLLOW, "dangling", "new"), Err(Errno::Inval));
    assert_eq!(link(0, "dangling", "new"), Ok(()));
    assert_eq!(guest.stat("new").unwrap().filetype, 7);
}

#[test]
fn symbolic_links() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    fs::write(dir.path().join("file"), b"").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    let make = |target: &str, path: &str| call!(guest, PathSymlink, target, 3u32, path).map(drop);
    let read = |path: &str, room| call!(guest, PathReadlink, 3u32, path, Arg::Room(room)).map(|reply| reply.data);
    assert_eq!(make("dir/../file", "link"), Ok(()));
    assert_eq!(read("link", 100).unwrap(), b"dir/../file");
    assert_eq!(read("link", 3).unwrap(), b"dir");
    assert_eq!(read("link", 0).unwrap(), b"");
    assert_eq!(read("file", 100), Err(Errno::Inval));
    assert_eq!(read("none", 100), Err(Errno::Noent));
    assert_eq!(make("x", "link"), Err(Errno::Exist));
    assert_eq!(make("x", "dir"), Err(Errno::Exist));
    assert_eq!(make("x", "dir/"), Err(Errno::Exist));
    assert_eq!(make("x", "new/"), Err(Errno::Noent));
    assert_eq!(make("x", "file/"), Err(Errno::Notdir));
    assert_eq!(make("", "new"), Err(Errno::Noent));
    assert_eq!(make("/", "new"), Err(Errno::Perm));
    // What a link holds need not be a path that leads somewhere.
    assert_eq!(make("../../outside", "out"), Ok(()));
}

#[test]
fn renaming() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    for name in ["dir", "empty", "full"] {
        fs::create_dir(dir.path().join(name)).unwrap();
    }
    for name in ["file", "other", "full/file"] {
        fs::write(dir.path().join(name), name).unwrap();
    }
    let rename = |old: &str, new: &str| call!(guest, PathRename, 3u32, old, 3u32, new).map(drop);
    assert_eq!(rename("file", "other"), Ok(()));
    assert_eq!(fs::read(dir.path().join("other")).unwrap(), b"file");
    assert_eq!(rename("file", "new"), Err(Errno::Noent));
    assert_eq!(rename("other", "none/new"), Err(Errno::Noent));
    assert_eq!(rename("other", "dir"), Err(Errno::Isdir));
    assert_eq!(rename("other", "new/"), Err(Errno::Notdir));
    assert_eq!(rename("other/", "new"), Err(Errno::Notdir));
    assert_eq!(rename("dir", "full"), Err(Errno::Notempty));
    assert_eq!(rename("dir", "other"), Err(Errno::Notdir));
    assert_eq!(rename("dir", "dir/below"), Err(Errno::Inval));
    assert_eq!(rename("", "new"), Err(Errno::Noent));
    assert_eq!(rename("dir", ""), Err(Errno::Noent));
    assert_eq!(rename("dir", "empty"), Ok(()));
    assert_eq!(rename("empty/", "dir"), Ok(()));
    assert_eq!(rename("dir", "empty/"), Ok(()));
    assert_eq!(rename("empty/", "dir/"), Ok(()));
    assert_eq!(guest.stat("dir").unwrap().filetype, 3);
    assert_eq!(guest.stat("other").unwrap().size, 4);
}

#[test]
fn read_only_directories_refuse_every_change() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), b"text").unwrap();
    fs::create_dir(dir.path().join("dir")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let wasi = WasiBuilder::new()
        .dir(dir.path(), "/", true)
        .unwrap()
        .dir(other.path(), "/other", false)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    // Below a directory that was opened, too.
    let below = guest.open(".", DIRECTORY, READ).unwrap();
    for fd in [3, below] {
        let file = guest.open_at(fd, "file", 0, READ).unwrap();
        assert_eq!(guest.read(file, 9).unwrap(), b"text");
        let refused = [
            guest.open_at(fd, "file", 0, WRITE).map(drop),
            guest.open_at(fd, "new", CREAT, READ).map(drop),
            guest.open_at(fd, "file", TRUNC, READ).map(drop),
            call!(guest, PathCreateDirectory, fd, "new").map(drop),
            call!(guest, PathRemoveDirectory, fd, "dir").map(drop),
            call!(guest, PathUnlinkFile, fd, "file").map(drop),
            call!(guest, PathRename, fd, "file", fd, "new").map(drop),
            call!(guest, PathRename, fd, "file", 4u32, "new").map(drop),
            call!(guest, PathLink, fd, 0u32, "file", fd, "new").map(drop),
            // A second name in a directory that can be written would be a way around.
            call!(guest, PathLink, fd, 0u32, "file", 4u32, "new").map(drop),
            call!(guest, PathSymlink, "file", fd, "new").map(drop),
            call!(guest, PathFilestatSetTimes, fd, 0u32, "file", 0u64, 0u64, 1u32).map(drop),
            call!(guest, FdFilestatSetTimes, fd, 0u64, 0u64, 1u32).map(drop),
            call!(guest, FdFilestatSetTimes, file, 0u64, 0u64, 1u32).map(drop),
            call!(guest, FdFilestatSetSize, file, 0u64).map(drop),
        ];
        for (index, result) in refused.into_iter().enumerate() {
            assert_eq!(result, Err(Errno::Perm), "{index}");
        }
        assert_eq!(guest.write(file, b"x"), Err(Errno::Badf));
        assert!(call!(guest, FdReaddir, fd, Arg::Room(1000), 0u64).is_ok());
    }
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"text");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn odd_names() {
    let dir = tempfile::tempdir().unwrap();
    let guest = Guest::with_dir(dir.path());
    let all = |path: &[u8]| {
        let open = |oflags: u32| call!(guest, PathOpen, 3u32, 0u32, path, oflags, READ, 0u64, 0u32).map(drop);
        [
            open(0),
            open(CREAT),
            call!(guest, PathCreateDirectory, 3u32, path).map(drop),
            call!(guest, PathRemoveDirectory, 3u32, path).map(drop),
            call!(guest, PathUnlinkFile, 3u32, path).map(drop),
            call!(guest, PathFilestatGet, 3u32, 0u32, path).map(drop),
            call!(guest, PathFilestatGet, 3u32, FOLLOW, path).map(drop),
            call!(guest, PathFilestatSetTimes, 3u32, 0u32, path, 0u64, 0u64, 1u32).map(drop),
            call!(guest, PathReadlink, 3u32, path, Arg::Room(9)).map(drop),
            call!(guest, PathSymlink, "x", 3u32, path).map(drop),
            call!(guest, PathRename, 3u32, path, 3u32, "new").map(drop),
            call!(guest, PathLink, 3u32, 0u32, path, 3u32, "new").map(drop),
        ]
    };
    for bad in [&b"\xff"[..], b"a\xc3", b"\xed\xa0\x80", b"a/\x80/b"] {
        assert_eq!(all(bad), [Err(Errno::Ilseq); 12], "{bad:?}");
    }
    for nul in [&b"\0"[..], b"file\0", b"a\0b"] {
        assert_eq!(all(nul), [Err(Errno::Inval); 12], "{nul:?}");
    }
    assert_eq!(all(&[b'x'; 256]), [Err(Errno::Nametoolong); 12]);
    let longest = "x".repeat(255);
    assert!(guest.open(&longest, CREAT, READ).is_ok());
    assert!(guest.open("ünïcödé 名", CREAT, READ).is_ok());
    assert!(dir.path().join("ünïcödé 名").exists());
}

/// What the host denies is EACCES, not the EPERM of what leads outside.
#[test]
fn permission_denied() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let allow = |name: &str, mode| fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
    fs::write(path("closed"), b"text").unwrap();
    fs::write(path("fixed"), b"text").unwrap();
    fs::create_dir(path("locked")).unwrap();
    fs::write(path("locked/file"), b"").unwrap();
    for (name, mode) in [(".", 0o755), ("closed", 0), ("fixed", 0o444), ("locked", 0o555)] {
        allow(name, mode);
    }
    let guest = &Guest::with_dir(dir.path());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // To root nothing is denied. This is a setting of the thread alone.
            if rustix::process::geteuid().is_root() {
                rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65534)).unwrap();
            }
            assert_eq!(guest.open("closed", 0, READ), Err(Errno::Acces));
            assert_eq!(guest.open("fixed", 0, WRITE), Err(Errno::Acces));
            assert_eq!(guest.open("fixed", TRUNC, READ), Err(Errno::Acces));
            assert_eq!(guest.open("locked/new", CREAT, READ), Err(Errno::Acces));
            assert_eq!(call!(guest, PathCreateDirectory, 3u32, "locked/new"), Err(Errno::Acces));
            assert_eq!(call!(guest, PathUnlinkFile, 3u32, "locked/file"), Err(Errno::Acces));
            assert_eq!(
                call!(guest, PathRename, 3u32, "locked/file", 3u32, "locked/new"),
                Err(Errno::Acces)
            );
            assert_eq!(guest.stat("closed").unwrap().size, 4);
            let fd = guest.open("fixed", 0, READ).unwrap();
            assert_eq!(guest.read(fd, 9).unwrap(), b"text");
        });
    });
    allow("locked", 0o755);
    assert_eq!(fs::read(path("fixed")).unwrap(), b"text");
}
