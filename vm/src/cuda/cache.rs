//! Cubins on disk, so that a program is compiled once.
//!
//! An entry is a file named by its key, a hash of everything that the cubin depends on. It is written
//! to a temporary file and renamed, so that processes that share the folder see whole entries or none.
//! What was used least recently goes first when the folder has grown beyond its limit.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use gpu_run_bytecode::{Program, encode};

/// Bytes that a cache may have if nothing else is said.
pub const DEFAULT_LIMIT: u64 = 1 << 30;

const MAGIC: [u8; 8] = *b"gpurun\x00\x01";
/// Magic, length of the contents, their checksum.
const HEADER: usize = 8 + 8 + 32;
const TEMPORARY: &str = ".gpu-run-";
/// Temporary files that are older were left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(3600);

/// What is kept of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Machine code.
    Cubin,
    /// Which of its code has run.
    Profile,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Cubin, Kind::Profile];

    fn extension(self) -> &'static str {
        match self {
            Kind::Cubin => "cubin",
            Kind::Profile => "profile",
        }
    }
}

/// What an entry depends on, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash, Kind);

impl Key {
    /// The key of a cubin that depends on these parts, in their order.
    pub fn of(parts: &[&[u8]]) -> Key {
        Key(hash(parts), Kind::Cubin)
    }

    /// The hash.
    pub fn bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key of a profile that does.
    pub fn of_profile(parts: &[&[u8]]) -> Key {
        Key(hash(parts), Kind::Profile)
    }
}

/// The hash of a program, whatever fuel it has: code is the same with any. That of the program that was asked for last is
/// kept, for a run asks for it several times.
pub fn digest(program: &Arc<Program>) -> [u8; 32] {
    static LAST: Mutex<Option<(Weak<Program>, [u8; 32])>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        // As long as there is a weak reference no other program has its address.
        Some((of, digest)) if std::ptr::eq(of.as_ptr(), Arc::as_ptr(program)) => *digest,
        _ => {
            let bytes = match program.meta.fuel_units() {
                Some(1..) => {
                    let mut program = Program::clone(program);
                    program.meta.set_fuel(0);
                    encode(&program)
                }
                _ => encode(program),
            };
            let digest = *hash(&[&bytes]).as_bytes();
            *last = Some((Arc::downgrade(program), digest));
            digest
        }
    }
}

fn hash(parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        // With their lengths, or moving a byte from one part to the next would change nothing.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

/// An entry, as [`Cache::list`] returns it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is.
    pub kind: Kind,
    /// Its file.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// When it was last written or read.
    pub used: SystemTime,
}

/// A folder of cubins.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// A cache in a folder, which need not exist yet, of at most `limit` bytes.
    pub fn new(folder: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache {
            folder: folder.into(),
            limit,
        }
    }

    /// The folder for it among the user's caches, if the system has such a place.
    pub fn default_folder() -> Option<PathBuf> {
        Some(dirs::cache_dir()?.join("gpu-run").join("cubins"))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Most bytes that it may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{}.{}", key.0.to_hex(), key.1.extension()))
    }

    /// Whether there is an entry, whole or not.
    pub fn contains(&self, key: Key) -> bool {
        self.path(key).exists()
    }

    /// The contents of an entry. One that is damaged is removed, and missing then.
    pub fn load(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        if !is_whole(&bytes) {
            _ = fs::remove_file(&path);
            return None;
        }
        // Marks it as used just now; in a folder that cannot be written nothing is removed either.
        _ = File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(SystemTime::now()));
        bytes.drain(..HEADER);
        Some(bytes)
    }

    /// Adds an entry or replaces it, and removes others if there is too much. One that cannot be removed
    /// stays: the new entry is kept, and the next one tries again.
    ///
    /// # Errors
    ///
    /// What the file system reports of the entry, and that it alone is larger than the limit.
    pub fn save(&self, key: Key, contents: &[u8]) -> io::Result<()> {
        let size = (HEADER + contents.len()) as u64;
        if size > self.limit {
            let what = format!("{size} bytes are more than the cache may have ({})", self.limit);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder)?;
        file.write_all(&MAGIC)?;
        file.write_all(&(contents.len() as u64).to_le_bytes())?;
        file.write_all(blake3::hash(contents).as_bytes())?;
        file.write_all(contents)?;
        let path = self.path(key);
        file.persist(&path).map_err(|error| error.error)?;
        self.shrink(&path);
        Ok(())
    }

    /// Removes an entry.
    pub fn remove(&self, key: Key) {
        _ = fs::remove_file(self.path(key));
    }

    /// All entries, the one used last first. A folder that does not exist has none.
    pub fn list(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
            files => files?,
        };
        for file in files {
            let path = file?.path();
            // Another process may have removed it since.
            let Ok(meta) = fs::metadata(&path) else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(kind) = kind_of(&name) {
                let bytes = meta.len();
                entries.push(Entry {
                    kind,
                    path,
                    bytes,
                    used,
                });
            } else if name.starts_with(TEMPORARY) && used.elapsed().is_ok_and(|age| age > ABANDONED) {
                _ = fs::remove_file(&path);
            }
        }
        entries.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        Ok(entries)
    }

    /// Removes all entries; returns how many there were, and their bytes.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let entries = self.list()?;
        for entry in &entries {
            remove(&entry.path)?;
        }
        Ok((entries.len(), entries.iter().map(|entry| entry.bytes).sum()))
    }

    /// Removes what was used least recently until the rest fits, but not `newest`.
    fn shrink(&self, newest: &Path) {
        let mut entries = self.list().unwrap_or_default();
        let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
        while total > self.limit
            && let Some(entry) = entries.pop()
        {
            if entry.path != newest && remove(&entry.path).is_ok() {
                total -= entry.bytes;
            }
        }
    }
}

/// What a file of this name is, if it is the cache's: so nothing else is removed from a folder that holds more.
fn kind_of(name: &str) -> Option<Kind> {
    let (key, extension) = name.rsplit_once('.')?;
    let is_key = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    Kind::ALL
        .into_iter()
        .find(|kind| is_key && kind.extension() == extension)
}

/// Removes a file that another process may have removed before.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether an entry's file is as it was written.
fn is_whole(bytes: &[u8]) -> bool {
    let Some((header, contents)) = bytes.split_at_checked(HEADER) else {
        return false;
    };
    header[..8] == MAGIC
        && header[8..16] == (contents.len() as u64).to_le_bytes()
        && header[16..] == *blake3::hash(contents).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> Key {
        Key::of(&[&[n]])
    }

    /// Sets when an entry was used last: `n` seconds ago.
    fn age(cache: &Cache, key: Key, n: u64) {
        let file = File::options().append(true).open(cache.path(key)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(n)).unwrap();
    }

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
        assert_ne!(Key::of(&[b"a"]), Key::of(&[b"a", b""]));
        assert_eq!(Key::of(&[b"a", b"b"]), Key::of(&[b"a", b"b"]));
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("a/b"), DEFAULT_LIMIT);
        assert_eq!(cache.load(key(1)), None);
        assert!(cache.list().unwrap().is_empty());
        cache.save(key(1), b"one").unwrap();
        cache.save(key(2), b"").unwrap();
        cache.save(key(1), b"another").unwrap();
        assert_eq!(cache.load(key(1)).as_deref(), Some(&b"another"[..]));
        assert_eq!(cache.load(key(2)).as_deref(), Some(&b""[..]));
        assert_eq!(cache.list().unwrap().len(), 2);
        assert_eq!(cache.clear().unwrap(), (2, 2 * HEADER as u64 + 7));
        assert_eq!(cache.load(key(1)), None);
    }

    #[test]
    fn every_damage_is_found_and_the_entry_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), DEFAULT_LIMIT);
        cache.save(key(1), b"contents").unwrap();
        let good = fs::read(cache.path(key(1))).unwrap();
        let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
        damaged.extend((0..good.len()).map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            bytes
        }));
        damaged.push([&good[..], b"x"].concat());
        for bytes in damaged {
            fs::write(cache.path(key(1)), &bytes).unwrap();
            assert_eq!(cache.load(key(1)), None, "{bytes:?}");
            assert!(!cache.contains(key(1)));
        }
        cache.save(key(1), b"contents").unwrap();
        assert!(cache.load(key(1)).is_some());
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let size = (HEADER + 100) as u64;
        let cache = Cache::new(folder.path(), 3 * size);
        for n in 1..=3 {
            cache.save(key(n), &[n; 100]).unwrap();
            age(&cache, key(n), 100 - n as u64);
        }
        // The oldest becomes the one used last.
        assert!(cache.load(key(1)).is_some());
        cache.save(key(4), &[4; 100]).unwrap();
        let left: Vec<bool> = (1..=4).map(|n| cache.contains(key(n))).collect();
        assert_eq!(left, [true, false, true, true]);
        let total: u64 = cache.list().unwrap().iter().map(|entry| entry.bytes).sum();
        assert_eq!(total, 3 * size);
    }

    #[test]
    fn an_entry_is_kept_though_another_cannot_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 2 * (HEADER + 100) as u64);
        cache.save(key(1), &[1; 100]).unwrap();
        // The oldest, and no file.
        let stuck = cache.path(key(2));
        fs::create_dir_all(stuck.join("folder")).unwrap();
        age(&cache, key(1), 10);
        File::open(&stuck)
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH)
            .unwrap();
        cache.save(key(3), &[3; 100]).unwrap();
        assert_eq!(cache.load(key(3)), Some(vec![3; 100]));
        assert!(stuck.exists() && !cache.contains(key(1)), "what can be removed is");
    }

    #[test]
    fn an_entry_beyond_the_limit_is_refused_and_removes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 200);
        cache.save(key(1), &[1; 100]).unwrap();
        let error = cache.save(key(2), &[2; 200]).unwrap_err();
        assert!(error.to_string().contains("more than the cache may have"), "{error}");
        assert!(cache.contains(key(1)) && !cache.contains(key(2)));
    }

    #[test]
    fn abandoned_temporary_files_are_removed_and_new_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), DEFAULT_LIMIT);
        let (old, new) = (folder.path().join(".gpu-run-old"), folder.path().join(".gpu-run-new"));
        for (path, seconds) in [(&old, 7200), (&new, 0)] {
            fs::write(path, "part").unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
                .unwrap();
        }
        cache.save(key(1), b"one").unwrap();
        assert!(!old.exists() && new.exists());
        assert_eq!(cache.list().unwrap().len(), 1);
    }

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), (HEADER + 100) as u64);
        let other = folder.path().join("kernel.cubin");
        fs::write(&other, [0; 1000]).unwrap();
        cache.save(key(1), &[1; 100]).unwrap();
        cache.save(key(2), &[2; 100]).unwrap();
        assert_eq!(cache.clear().unwrap().0, 1);
        assert!(other.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_of_saving_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let cache = Cache::new(file.join("cubins"), DEFAULT_LIMIT);
        assert_eq!(cache.load(key(1)), None);
        assert!(cache.save(key(1), b"one").is_err());
    }

    /// Many threads write and read the same few entries in a folder that is too small for all. What
    /// is read is always what was written under that key.
    #[test]
    fn concurrent_use_never_shows_a_part() {
        let folder = tempfile::tempdir().unwrap();
        let size = 64 << 10;
        let cache = Cache::new(folder.path(), 3 * (HEADER + size) as u64);
        let hits: usize = std::thread::scope(|scope| {
            let work = |seed: u8| {
                let cache = &cache;
                move || {
                    let mut hits = 0;
                    for round in 0..60u8 {
                        let n = round.wrapping_mul(7).wrapping_add(seed) % 5;
                        match cache.load(key(n)) {
                            Some(bytes) => {
                                assert_eq!(bytes, vec![n; size]);
                                hits += 1;
                            }
                            None => cache.save(key(n), &vec![n; size]).unwrap(),
                        }
                    }
                    hits
                }
            };
            let threads: Vec<_> = (0..8).map(|seed| scope.spawn(work(seed))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(hits > 0);
        let total: u64 = cache.list().unwrap().iter().map(|entry| entry.bytes).sum();
        assert!(total <= cache.limit(), "{total}");
        let names = fs::read_dir(folder.path()).unwrap();
        let left = names.filter(|name| {
            name.as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with(TEMPORARY)
        });
        assert_eq!(left.count(), 0);
    }
}
