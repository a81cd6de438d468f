//! Files and directories, as in `std::fs`.
//!
//! On `wasm32-unknown-unknown` std has none. There these functions and types, which have std's names and signatures,
//! ask `gpu-run` by imports of WASI preview 1. A program gets its files back by one changed line: `use gpu_std::fs;`
//! for `use std::fs;`. On any other target this module is `std::fs`.
//!
//! ```
//! use gpu_std::fs::{self, File};
//! use gpu_std::io::{Read, Write};
//!
//! # let folder = std::env::temp_dir().join(format!("gpu-std-fs-{}", std::process::id()));
//! # fs::create_dir_all(&folder)?;
//! # let path = folder.join("greeting.txt");
//! # #[cfg(any())]
//! let path = "greeting.txt";
//! File::create(&path)?.write_all(b"hello")?;
//! let mut text = String::new();
//! File::open(&path)?.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! assert_eq!(fs::metadata(&path)?.len(), 5);
//! # fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # In a guest
//!
//! A program sees the folders that `gpu-run --dir` opens for it, by the names that the option sets; `--dir .` is the
//! working directory. Of several folders whose name a path begins with, the longest name is the one. A path that begins
//! with none of them fails with [`NotFound`](std::io::ErrorKind::NotFound), and one that leads out of its folder with
//! [`PermissionDenied`](std::io::ErrorKind::PermissionDenied).
//!
//! - Errors have the kinds that std has for them on `wasm32-wasip1`, and the same text with WASI's errno. But
//!   `raw_os_error` returns `None`, because std has no text for these numbers here.
//! - `Path::exists`, `Path::metadata` and what else std's `Path` asks of files belong to std, which has none:
//!   use [`exists`], [`metadata`] and so on.
//! - [`canonicalize`], [`set_permissions`] and [`File::try_clone`] fail with
//!   [`Unsupported`](std::io::ErrorKind::Unsupported): WASI has no such calls. There are no locks of files.
//! - All threads of a kernel may use all of this at once. A [`File`] has one position for all of them.

#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub use std::fs::*;

#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub use crate::wasi::fs::*;

/// Makes a symbolic link `link` that holds the path `original`.
///
/// std has it by another name on each system. `gpu-run` refuses to follow a link that leads out of its folder,
/// and to make one that holds an absolute path.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("gpu-std-symlink-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let link = folder.join("latest");
/// # #[cfg(any())]
/// let link = "latest";
/// gpu_std::fs::symlink("run-7.txt", &link)?;
/// assert_eq!(gpu_std::fs::read_link(&link)?, std::path::Path::new("run-7.txt"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// As `std::fs::soft_link`.
#[allow(deprecated)] // The only one of std's that all systems have; on Windows it links files, not folders.
pub fn symlink(original: impl AsRef<std::path::Path>, link: impl AsRef<std::path::Path>) -> std::io::Result<()> {
    soft_link(original, link)
}
