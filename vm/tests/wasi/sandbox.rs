//! A guest reaches nothing but what it was given.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::support::*;

/// A directory of the guest's beside one with a secret: `(guest's, secret's)` below the temporary one.
fn house() -> tempfile::TempDir {
    let house = tempfile::tempdir().unwrap();
    fs::create_dir_all(house.path().join("guest/dir")).unwrap();
    fs::create_dir(house.path().join("secret")).unwrap();
    fs::write(house.path().join("secret/file"), b"secret").unwrap();
    fs::write(house.path().join("guest/file"), b"open").unwrap();
    house
}

/// Tries every function that takes a path on one that leads outside.
fn try_all(guest: &Guest, path: &str) -> Vec<Result<()>> {
    let open = |lookup: u32, oflags: u32, rights: u64| {
        call!(guest, PathOpen, 3u32, lookup, path, oflags, rights, 0u64, 0u32).map(drop)
    };
    vec![
        open(FOLLOW, 0, READ),
        open(0, 0, READ),
        open(FOLLOW, CREAT, WRITE),
        open(FOLLOW, TRUNC, WRITE),
        open(FOLLOW, DIRECTORY, READ),
        call!(guest, PathFilestatGet, 3u32, FOLLOW, path).map(drop),
        call!(guest, PathFilestatSetTimes, 3u32, FOLLOW, path, 0u64, 0u64, 1u32).map(drop),
    ]
}

/// As [`try_all`], with functions that look at the path's last name itself.
fn try_names(guest: &Guest, path: &str) -> Vec<Result<()>> {
    vec![
        call!(guest, PathCreateDirectory, 3u32, path).map(drop),
        call!(guest, PathFilestatGet, 3u32, 0u32, path).map(drop),
        call!(guest, PathFilestatSetTimes, 3u32, 0u32, path, 0u64, 0u64, 1u32).map(drop),
        call!(guest, PathLink, 3u32, 0u32, path, 3u32, "taken").map(drop),
        call!(guest, PathLink, 3u32, 0u32, "file", 3u32, path).map(drop),
        call!(guest, PathReadlink, 3u32, path, Arg::Room(100)).map(drop),
        call!(guest, PathRemoveDirectory, 3u32, path).map(drop),
        call!(guest, PathRename, 3u32, path, 3u32, "taken").map(drop),
        call!(guest, PathRename, 3u32, "file", 3u32, path).map(drop),
        call!(guest, PathSymlink, "x", 3u32, path).map(drop),
        call!(guest, PathUnlinkFile, 3u32, path).map(drop),
    ]
}

fn unharmed(house: &Path) {
    let secret = house.join("secret");
    assert_eq!(fs::read(secret.join("file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    assert_eq!(fs::read_dir(house).unwrap().count(), 2);
    assert!(!house.join("guest/taken").exists());
}

#[test]
fn paths_outside_are_refused() {
    let house = house();
    let guest = Guest::with_dir(&house.path().join("guest"));
    let absolute = house.path().join("secret/file").into_os_string().into_string().unwrap();
    for path in [
        "../secret/file",
        "dir/../../secret/file",
        "./../secret/file",
        "dir/.././../secret/file",
        "../guest/file",
        "/file",
        "//file",
        "/../secret/file",
        "/etc/passwd",
        "/proc/self/environ",
        &absolute,
    ] {
        for (index, result) in try_all(&guest, path).into_iter().enumerate() {
            assert_eq!(result, Err(Errno::Perm), "{index} of {path}");
        }
        for (index, result) in try_names(&guest, path).into_iter().enumerate() {
            assert_eq!(result, Err(Errno::Perm), "{index} of {path}");
        }
    }
    for path in ["..", "../", "dir/../..", "/"] {
        for (index, result) in try_all(&guest, path)
            .into_iter()
            .chain(try_names(&guest, path))
            .enumerate()
        {
            assert!(result.is_err(), "{index} of {path}");
        }
        assert_eq!(guest.open(path, DIRECTORY, READ), Err(Errno::Perm));
    }
    unharmed(house.path());
}

#[test]
fn symbolic_links_outside_are_refused() {
    let house = house();
    let inside = house.path().join("guest");
    symlink("../secret/file", inside.join("relative")).unwrap();
    symlink(house.path().join("secret/file"), inside.join("absolute")).unwrap();
    symlink("dir/../../secret/file", inside.join("winding")).unwrap();
    symlink("relative", inside.join("second")).unwrap();
    symlink("../secret", inside.join("directory")).unwrap();
    symlink("/", inside.join("root")).unwrap();
    symlink("/proc/self/root", inside.join("magic")).unwrap();
    let guest = Guest::with_dir(&inside);
    for path in ["relative", "absolute", "winding", "second"] {
        for (index, result) in try_all(&guest, path).into_iter().enumerate() {
            // Not to be followed, it is ELOOP.
            let errno = if index == 1 { Errno::Loop } else { Errno::Perm };
            assert_eq!(result, Err(errno), "{index} of {path}");
        }
    }
    for path in [
        "directory/file",
        "root/etc/passwd",
        "magic/etc/passwd",
        "directory/../secret/file",
    ] {
        let results = try_all(&guest, path).into_iter().chain(try_names(&guest, path));
        for (index, result) in results.enumerate() {
            assert_eq!(result, Err(Errno::Perm), "{index} of {path}");
        }
    }
    for path in ["directory", "root", "magic"] {
        let results = try_all(&guest, path)
            .into_iter()
            .chain(try_all(&guest, &format!("{path}/")));
        for (index, result) in results.enumerate() {
            assert!(result.is_err(), "{index} of {path}");
        }
    }
    // Where an absolute link leads is not told.
    assert_eq!(
        call!(guest, PathReadlink, 3u32, "absolute", Arg::Room(99)),
        Err(Errno::Perm)
    );
    unharmed(house.path());
}

#[test]
fn a_link_that_the_guest_made_leads_nowhere() {
    let house = house();
    let guest = Guest::with_dir(&house.path().join("guest"));
    assert!(call!(guest, PathSymlink, "../secret/file", 3u32, "link").is_ok());
    for result in try_all(&guest, "link") {
        assert!(matches!(result, Err(Errno::Perm | Errno::Loop)));
    }
    // Of the link itself: it is a second name of the link, not of the file.
    assert!(call!(guest, PathLink, 3u32, 0u32, "link", 3u32, "hard").is_ok());
    assert_eq!(guest.stat("hard").unwrap().filetype, 7);
    assert_eq!(call!(guest, PathSymlink, "/etc", 3u32, "etc"), Err(Errno::Perm));
    // Moved deeper, a link that led inside may lead outside, and the other way round.
    assert!(call!(guest, PathSymlink, "../file", 3u32, "dir/up").is_ok());
    let follow = |path: &str| call!(guest, PathOpen, 3u32, FOLLOW, path, 0u32, READ, 0u64, 0u32).map(drop);
    assert_eq!(follow("dir/up"), Ok(()));
    assert!(call!(guest, PathRename, 3u32, "dir/up", 3u32, "up").is_ok());
    assert_eq!(follow("up"), Err(Errno::Perm));
    unharmed(house.path());
}

#[test]
fn a_descriptor_below_does_not_reach_above() {
    let house = house();
    let guest = Guest::with_dir(&house.path().join("guest"));
    let below = guest.open("dir", DIRECTORY, READ).unwrap();
    assert_eq!(guest.open_at(below, "../file", 0, READ), Err(Errno::Perm));
    assert_eq!(guest.open_at(below, "..", DIRECTORY, READ), Err(Errno::Perm));
    // Even if the directory goes elsewhere.
    fs::rename(house.path().join("guest/dir"), house.path().join("secret/dir")).unwrap();
    assert_eq!(guest.open_at(below, "../file", 0, READ), Err(Errno::Perm));
    assert!(guest.open_at(below, "own", CREAT, READ).is_ok());
}

/// A link is swapped with a directory while the guest opens a path through it.
#[test]
fn links_swapped_while_opening_lead_nowhere() {
    let house = house();
    let inside = house.path().join("guest");
    fs::write(inside.join("dir/file"), b"inside").unwrap();
    symlink("../secret", inside.join("evil")).unwrap();
    let guest = Guest::with_dir(&inside);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: it only ends the loop.
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [("dir", "spare"), ("evil", "dir"), ("dir", "evil"), ("spare", "dir")] {
                    fs::rename(inside.join(from), inside.join(to)).unwrap();
                }
            }
        });
        let mut read = 0;
        let end = Instant::now() + Duration::from_secs(30);
        // The other thread may have its turn late.
        for round in 0.. {
            if round > 20_000 && (read > 0 || Instant::now() > end) {
                break;
            }
            if let Ok(fd) = call!(guest, PathOpen, 3u32, FOLLOW, "dir/file", 0u32, READ, 0u64, 0u32) {
                let fd = word(&fd, 0);
                assert_eq!(guest.read(fd, 100).unwrap(), b"inside");
                guest.close(fd).unwrap();
                read += 1;
            }
            let _ = call!(guest, PathUnlinkFile, 3u32, "dir/victim");
            if call!(guest, PathRename, 3u32, "file", 3u32, "dir/stolen").is_ok() {
                call!(guest, PathRename, 3u32, "dir/stolen", 3u32, "file").ok();
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(read > 0, "the path was never there: nothing was raced");
    });
    assert_eq!(fs::read(house.path().join("secret/file")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(house.path().join("secret")).unwrap().count(), 1);
}

#[test]
fn hard_links_and_renames_stay_between_the_guests_directories() {
    let house = house();
    let wasi = WasiBuilder::new()
        .dir(house.path().join("guest"), "/a", false)
        .unwrap()
        .dir(house.path().join("guest/dir"), "/b", false)
        .unwrap()
        .dir("/dev/shm", "/shm", false)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    assert!(call!(guest, PathLink, 3u32, 0u32, "file", 4u32, "second").is_ok());
    assert!(call!(guest, PathRename, 4u32, "second", 3u32, "third").is_ok());
    assert_eq!(guest.stat("third").unwrap().links, 2);
    assert_eq!(call!(guest, PathRename, 3u32, "third", 4u32, "../up"), Err(Errno::Perm));
    // Another file system.
    let name = format!("gpu-run-{}", std::process::id());
    assert_eq!(
        call!(guest, PathRename, 3u32, "third", 5u32, name.as_str()),
        Err(Errno::Xdev)
    );
    assert_eq!(
        call!(guest, PathLink, 3u32, 0u32, "third", 5u32, name.as_str()),
        Err(Errno::Xdev)
    );
    assert!(!Path::new("/dev/shm").join(name).exists());
}

#[test]
fn proc_has_no_way_out() {
    let guest = Guest::with_dir("/proc".as_ref());
    for path in [
        "self/root/etc/passwd",
        "self/cwd/Cargo.toml",
        "self/fd/0",
        "self/exe",
        "thread-self/root",
    ] {
        let open = call!(guest, PathOpen, 3u32, FOLLOW, path, 0u32, READ, 0u64, 0u32);
        assert!(matches!(open, Err(Errno::Perm | Errno::Loop)), "{path}: {open:?}");
    }
    assert!(guest.open("version", 0, READ).is_ok());
}
