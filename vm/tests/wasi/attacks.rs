//! What a guest may try that would take it outside, beside plain paths: see [`crate::sandbox`] for these.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_run_vm::{Errno, WasiBuilder};

use crate::call;
use crate::support::*;

/// A folder with `guest/` for the guest and `secret` beside it.
struct House(tempfile::TempDir);

impl House {
    fn new() -> House {
        let house = tempfile::tempdir().unwrap();
        fs::create_dir_all(house.path().join("guest/dir")).unwrap();
        fs::write(house.path().join("guest/file"), b"open").unwrap();
        fs::write(house.path().join("secret"), b"secret").unwrap();
        House(house)
    }

    fn inside(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join("guest").join(name)
    }

    fn secret(&self) -> std::path::PathBuf {
        self.0.path().join("secret")
    }

    fn guest(&self) -> Guest {
        Guest::with_dir(&self.inside(""))
    }

    fn is_unharmed(&self) {
        assert_eq!(fs::read(self.secret()).unwrap(), b"secret");
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), 2);
    }
}

fn follow(guest: &Guest, path: &str, oflags: u32, rights: u64) -> Result<u32> {
    call!(guest, PathOpen, 3u32, FOLLOW, path, oflags, rights, 0u64, 0u32).map(|reply| word(&reply, 0))
}

#[test]
fn nothing_is_made_through_a_link_that_leads_outside() {
    let house = House::new();
    for (target, name) in [("../new", "relative"), ("..", "up"), ("relative", "second")] {
        symlink(target, house.inside(name)).unwrap();
    }
    symlink(house.0.path().join("new"), house.inside("absolute")).unwrap();
    let guest = house.guest();
    for name in ["relative", "absolute", "second", "up/new", "dir/../up/new"] {
        for oflags in [CREAT, CREAT | TRUNC] {
            assert_eq!(follow(&guest, name, oflags, WRITE), Err(Errno::Perm), "{name}");
        }
        assert!(follow(&guest, name, CREAT | EXCL, WRITE).is_err(), "{name}");
        assert!(call!(guest, PathCreateDirectory, 3u32, name).is_err(), "{name}");
        assert!(call!(guest, PathSymlink, "x", 3u32, name).is_err(), "{name}");
        assert!(
            call!(guest, PathLink, 3u32, 0u32, "file", 3u32, name).is_err(),
            "{name}"
        );
    }
    house.is_unharmed();
    // A rename replaces the link, and not what it leads to.
    assert!(call!(guest, PathRename, 3u32, "file", 3u32, "relative").is_ok());
    assert_eq!(fs::read(house.inside("relative")).unwrap(), b"open");
    house.is_unharmed();
}

#[test]
fn links_that_lead_in_circles_end() {
    let house = House::new();
    symlink("b", house.inside("a")).unwrap();
    symlink("a", house.inside("b")).unwrap();
    for depth in 0..60 {
        symlink(format!("chain{}", depth + 1), house.inside(&format!("chain{depth}"))).unwrap();
    }
    fs::write(house.inside("chain60"), b"end").unwrap();
    let guest = house.guest();
    for path in ["a", "a/file", "chain0"] {
        assert_eq!(follow(&guest, path, 0, READ), Err(Errno::Loop), "{path}");
        assert_eq!(
            call!(guest, PathFilestatGet, 3u32, FOLLOW, path),
            Err(Errno::Loop),
            "{path}"
        );
    }
    assert!(follow(&guest, "chain40", 0, READ).is_ok());
}

/// The last name of a path becomes a link to the secret, and a file again, while the guest uses it.
#[test]
fn a_file_swapped_with_a_link_leads_nowhere() {
    let house = House::new();
    fs::write(house.inside("plain"), b"plain").unwrap();
    fs::write(house.inside("name"), b"plain").unwrap();
    let times = |path: &Path| {
        fs::metadata(path)
            .map(|of| (of.atime(), of.mtime(), of.mode()))
            .unwrap()
    };
    let before = times(&house.secret());
    let guest = house.guest();
    let stop = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    let end = Instant::now() + Duration::from_secs(30);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: it only ends the loop.
            while !stop.load(Ordering::Relaxed) {
                symlink("../secret", house.inside("link")).unwrap();
                fs::rename(house.inside("link"), house.inside("name")).unwrap();
                fs::write(house.inside("next"), b"plain").unwrap();
                fs::rename(house.inside("next"), house.inside("name")).unwrap();
            }
        });
        // The other thread may have its turn late.
        for round in 0.. {
            if round > 6_000 && (read > 0 && refused > 0 || Instant::now() > end) {
                break;
            }
            let (oflags, rights) = [(0, READ), (CREAT, READ | WRITE), (TRUNC, READ | WRITE)][round % 3];
            if let Ok(fd) = follow(&guest, "name", oflags, rights) {
                let bytes = guest.read(fd, 100).unwrap();
                assert!(b"plain".starts_with(&bytes), "{bytes:?}");
                if rights & WRITE != 0 {
                    guest.write(fd, b"plain").unwrap();
                }
                guest.close(fd).unwrap();
                read += 1;
            } else {
                refused += 1;
            }
            _ = call!(guest, PathFilestatSetTimes, 3u32, FOLLOW, "name", 1u64, 1u64, 5u32);
            if let Ok(stat) = call!(guest, PathFilestatGet, 3u32, FOLLOW, "name") {
                assert_ne!(Stat::of(&stat).size, 6, "that is the secret's");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(
        read > 0 && refused > 0,
        "nothing was raced: {read} read, {refused} refused"
    );
    // Not even read, which the next line does.
    assert_eq!(times(&house.secret()), before);
    house.is_unharmed();
}

#[test]
fn no_path_and_endless_paths_are_refused() {
    let house = House::new();
    let guest = house.guest();
    let all = |path: &str| {
        [
            guest.open(path, 0, READ).map(drop),
            guest.open(path, CREAT, WRITE).map(drop),
            guest.open(path, DIRECTORY, READ).map(drop),
            call!(guest, PathCreateDirectory, 3u32, path).map(drop),
            call!(guest, PathRemoveDirectory, 3u32, path).map(drop),
            call!(guest, PathUnlinkFile, 3u32, path).map(drop),
            call!(guest, PathFilestatGet, 3u32, 0u32, path).map(drop),
            call!(guest, PathFilestatGet, 3u32, FOLLOW, path).map(drop),
            call!(guest, PathFilestatSetTimes, 3u32, 0u32, path, 0u64, 0u64, 5u32).map(drop),
            call!(guest, PathFilestatSetTimes, 3u32, FOLLOW, path, 0u64, 0u64, 5u32).map(drop),
            call!(guest, PathReadlink, 3u32, path, Arg::Room(9)).map(drop),
            call!(guest, PathSymlink, "x", 3u32, path).map(drop),
            call!(guest, PathRename, 3u32, path, 3u32, "new").map(drop),
            call!(guest, PathRename, 3u32, "file", 3u32, path).map(drop),
            call!(guest, PathLink, 3u32, 0u32, path, 3u32, "new").map(drop),
            call!(guest, PathLink, 3u32, 0u32, "file", 3u32, path).map(drop),
        ]
    };
    let before = fs::metadata(house.inside("")).unwrap().mtime();
    assert_eq!(all(""), [Err(Errno::Noent); 16]);
    assert_eq!(call!(guest, PathSymlink, "", 3u32, "new").map(drop), Err(Errno::Noent));
    // Hosts take 4096 bytes with the end, and 255 of a name.
    for path in [
        "dir/../".repeat(600) + "x",
        "a".repeat(4096),
        format!("dir/{}", "b".repeat(256)),
    ] {
        assert_eq!(all(&path), [Err(Errno::Nametoolong); 16], "{} bytes", path.len());
    }
    // Long, but short enough: it is the directory itself.
    assert!(guest.open(&"./".repeat(2000), DIRECTORY, READ).is_ok());
    assert_eq!(fs::metadata(house.inside("")).unwrap().mtime(), before);
    assert_eq!(fs::read_dir(house.inside("")).unwrap().count(), 2);
}

#[test]
fn renumbering_over_a_directory_grants_no_more_than_both_had() {
    let house = House::new();
    let wasi = WasiBuilder::new()
        .dir(house.inside("dir"), "/rw", false)
        .unwrap()
        .dir(house.inside(""), "/ro", true)
        .unwrap()
        .build();
    let guest = Guest(wasi);
    let below = guest.open_at(4, "dir", DIRECTORY, READ).unwrap();
    // The directory that may only be read takes the number of the one that may be written.
    assert!(call!(guest, FdRenumber, 4u32, 3u32).is_ok());
    assert_eq!(guest.open_at(3, "new", CREAT, WRITE), Err(Errno::Perm));
    assert_eq!(guest.open_at(3, "../secret", 0, READ), Err(Errno::Perm));
    assert_eq!(guest.open_at(4, "file", 0, READ), Err(Errno::Badf));
    // One that was opened is no directory from the start, whatever its number is.
    assert!(call!(guest, FdRenumber, below, 3u32).is_ok());
    assert_eq!(call!(guest, FdPrestatGet, 3u32), Err(Errno::Badf));
    assert_eq!(guest.open_at(3, "new", CREAT, WRITE), Err(Errno::Perm));
    assert_eq!(guest.open_at(3, "../file", 0, READ), Err(Errno::Perm));
    assert_eq!(call!(guest, FdRenumber, 3u32, u32::MAX), Err(Errno::Badf));
    house.is_unharmed();
}

#[test]
fn devices_of_a_directory_for_reading_are_not_written() {
    let guest = Guest(WasiBuilder::new().dir("/dev", "/", true).unwrap().build());
    for name in ["null", "full", "zero", "fd/1"] {
        assert_eq!(guest.open(name, 0, WRITE), Err(Errno::Perm), "{name}");
        assert_eq!(guest.open(name, TRUNC, READ), Err(Errno::Perm), "{name}");
    }
    let zero = guest.open("zero", 0, READ).unwrap();
    assert_eq!(guest.read(zero, 3).unwrap(), [0; 3]);
    assert_eq!(guest.write(zero, b"x"), Err(Errno::Badf));
    // Where descriptors of this process are named, no way leads to them.
    for path in ["stdin", "stdout", "fd", "fd/0"] {
        assert_eq!(follow(&guest, path, 0, READ), Err(Errno::Perm), "{path}");
    }
}

/// Files in memory take no descriptor of the host's, but memory for each.
#[test]
fn descriptors_run_out() {
    let guest = Guest(WasiBuilder::new().tmpfs("/", 1000).build());
    let opened = (0..2_000_000).take_while(|_| guest.open(".", DIRECTORY, READ).is_ok());
    // Beside the standard streams and the directory.
    assert_eq!(opened.count(), (1 << 20) - 4);
    assert_eq!(guest.open(".", DIRECTORY, READ), Err(Errno::Mfile));
    assert_eq!(guest.close(1000), Ok(()));
    assert_eq!(guest.open(".", DIRECTORY, READ), Ok(1000));
}
