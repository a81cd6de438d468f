//! Files that a guest is given, with their contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tmpfs::{Node, Open, Opened};
use crate::layout::TMPFS_BLOCK;

/// More bytes than a file or directory takes besides its contents.
const EACH: u64 = 1024;
/// Bytes that a name and a path have at most.
const MOST_NAME: usize = 255;
const MOST_PATH: usize = 4095;

/// Files with paths that do not contradict each other. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct GivenFiles(Arc<BTreeMap<Vec<String>, Arc<[u8]>>>);

impl GivenFiles {
    /// Files by their paths from the directory in which the guest finds them. A path may begin with a slash.
    ///
    /// ```
    /// use gpu_run_vm::GivenFiles;
    ///
    /// let file = |path: &str| (path.to_owned(), b"text".as_slice().into());
    /// assert!(GivenFiles::new([file("a/b.txt"), file("/c")]).is_ok());
    /// assert!(GivenFiles::new([file("../a")]).is_err());
    /// assert!(GivenFiles::new([file("a"), file("a/b")]).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with a path: it has an empty name, `.` or `..` or a NUL in it, is too long, or is that of another file or
    /// of a directory on another's path.
    pub fn new(files: impl IntoIterator<Item = (String, Arc<[u8]>)>) -> Result<GivenFiles, String> {
        let mut all = BTreeMap::new();
        for (path, bytes) in files {
            let names: Vec<String> = path
                .strip_prefix('/')
                .unwrap_or(&path)
                .split('/')
                .map(str::to_owned)
                .collect();
            let is_wrong = |name: &String| matches!(&**name, "" | "." | "..") || name.contains('\0');
            if path.len() > MOST_PATH || names.iter().any(|name| name.len() > MOST_NAME) {
                return Err(format!("`{path}` is too long for the path of a file"));
            }
            if names.iter().any(is_wrong) {
                return Err(format!("`{path}` is no path of a file"));
            }
            if all.insert(names, bytes).is_some() {
                return Err(format!("there are two files `{path}`"));
            }
        }
        // What is below a path comes right after it.
        for (path, next) in all.keys().zip(all.keys().skip(1)) {
            if next.starts_with(path) {
                return Err(format!("`{}` is a file and a directory", path.join("/")));
            }
        }
        Ok(GivenFiles(Arc::new(all)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes that a file system of these needs at most.
    pub fn bytes(&self) -> u64 {
        self.0
            .iter()
            .map(|(path, bytes)| (bytes.len() as u64).next_multiple_of(TMPFS_BLOCK as u64) + EACH * path.len() as u64)
            .sum()
    }

    /// Makes the files in an empty directory that has room for them.
    pub(super) fn put_into(&self, root: &Node) {
        for (path, bytes) in self.0.iter() {
            for end in 1..path.len() {
                // It may be there.
                _ = root.create_dir(&path[..end].join("/"));
            }
            let how = Open {
                follow: false,
                read: false,
                write: true,
                create: true,
                exclusive: true,
                truncate: false,
            };
            if let Ok(Opened::File(file)) = root.open(&path.join("/"), how) {
                let mut written = 0;
                while written < bytes.len() {
                    match file.write(&bytes[written..], false) {
                        Ok(count) if count > 0 => written += count,
                        _ => break,
                    }
                }
            }
        }
    }
}
