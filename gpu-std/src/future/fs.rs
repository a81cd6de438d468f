//! Files as futures.
//!
//! ```
//! use gpu_std::future::{self, fs};
//!
//! # let folder = std::env::temp_dir().join(format!("gpu-std-future-fs-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("greeting.txt");
//! # #[cfg(any())]
//! let path = "greeting.txt";
//! # let path = &path;
//! let parts = future::block_on(async {
//!     fs::write(path, "hello").await?;
//!     let file = fs::File::open(path).await?;
//!     let part = async |at| {
//!         let mut bytes = [0; 2];
//!         file.read_exact_at(&mut bytes, at).await.map(|()| bytes)
//!     };
//!     // Both are under way at once.
//!     let parts = future::join_all([0, 3].map(|at| Box::pin(part(at)))).await;
//!     parts.into_iter().collect::<std::io::Result<Vec<_>>>()
//! })?;
//! assert_eq!(parts, [*b"he", *b"lo"]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A read or write that is under way keeps no thread of a GPU: the host does it meanwhile, and one worker asks which of them are
//! done, and which connections are [ready](super::net), in one call. On other targets, and where nothing is to be waited for, std's
//! call is made at once. To open a file keeps the thread until the host has answered.
//!
//! Operations have an offset, because several may be under way. So a file's own position is not used, and does not change. They
//! may be done in any order: to have one after another, await the first. What no future has waited for may happen or not.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use crate::fs;

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
use guest::operate;
#[cfg(not(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1"))))]
use host::{What, operate};

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
use crate::wasi::request::What;

/// A file: [`crate::fs::File`] whose operations are futures. Several futures may use it at once.
#[derive(Debug)]
pub struct File(fs::File);

impl File {
    /// Opens a file to read it.
    ///
    /// # Errors
    ///
    /// As [`std::fs::File::open`].
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        fs::File::open(path).map(File)
    }

    /// Makes a file to write it, or empties one that exists.
    ///
    /// # Errors
    ///
    /// As [`std::fs::File::create`].
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        fs::File::create(path).map(File)
    }

    /// The same file, as futures.
    pub fn from_std(file: fs::File) -> File {
        File(file)
    }

    /// The file beneath.
    pub fn as_std(&self) -> &fs::File {
        &self.0
    }

    /// Reads at an offset: as many bytes as there are, up to 1 MiB; 0 at the end.
    ///
    /// # Errors
    ///
    /// As [`Read::read`](std::io::Read::read).
    pub async fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        operate(&self.0, What::Read(bytes), offset).await
    }

    /// Reads as many bytes at an offset.
    ///
    /// # Errors
    ///
    /// As [`Read::read_exact`](std::io::Read::read_exact).
    pub async fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, offset).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                read => {
                    bytes = &mut bytes[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }

    /// Writes at an offset, or at the end of a file that was opened to append; returns how many bytes it took, up to 64 KiB.
    ///
    /// # Errors
    ///
    /// As [`Write::write`](std::io::Write::write).
    pub async fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        operate(&self.0, What::Write(bytes), offset).await
    }

    /// Writes all of it at an offset.
    ///
    /// # Errors
    ///
    /// As [`Write::write_all`](std::io::Write::write_all).
    pub async fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, offset).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                written => {
                    bytes = &bytes[written..];
                    offset += written as u64;
                }
            }
        }
        Ok(())
    }

    /// Brings data and attributes to the disk: of the writes that have been awaited.
    ///
    /// # Errors
    ///
    /// As [`std::fs::File::sync_all`].
    pub async fn sync_all(&self) -> io::Result<()> {
        operate(&self.0, What::Sync, 0).await.map(drop)
    }
}

/// Reads a whole file.
///
/// # Errors
///
/// As [`std::fs::read`].
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    /// Bytes that are asked for at least.
    const LEAST: usize = 4096;
    let file = File::open(path).await?;
    // One byte more than there are tells the end by the same read.
    let size = file.0.metadata()?.len().try_into().unwrap_or(usize::MAX - LEAST);
    let mut bytes = Vec::new();
    let grow = |bytes: &mut Vec<u8>, to: usize| -> io::Result<()> {
        bytes.try_reserve_exact(to - bytes.len())?;
        bytes.resize(to, 0);
        Ok(())
    };
    grow(&mut bytes, (size + 1).max(LEAST))?;
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            let to = filled.saturating_mul(2);
            grow(&mut bytes, to)?;
        }
        match file.read_at(&mut bytes[filled..], filled as u64).await? {
            0 => break,
            // A file that is read whole has nothing after it.
            read if filled + read == size => {
                filled = size;
                break;
            }
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads a whole file as text.
///
/// # Errors
///
/// As [`std::fs::read_to_string`].
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let text = String::from_utf8(read(path).await?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Makes a file of these contents.
///
/// # Errors
///
/// As [`std::fs::write`].
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path).await?.write_all_at(contents.as_ref(), 0).await
}

#[cfg(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1")))]
mod guest {
    use core::mem::take;
    use std::io::{self, ErrorKind};

    use crate::fs;
    use crate::future::io::{Direction, Interest, Ready};
    use crate::wasi::request::What;

    #[cfg(target_os = "unknown")]
    fn fd_of(file: &fs::File) -> u32 {
        file.fd()
    }

    #[cfg(not(target_os = "unknown"))]
    fn fd_of(file: &fs::File) -> u32 {
        std::os::fd::AsRawFd::as_raw_fd(file) as u32
    }

    /// Does it by a request; the bytes that were read or written.
    pub async fn operate(file: &fs::File, mut what: What<'_>, offset: u64) -> io::Result<usize> {
        let fd = fd_of(file);
        let Some(request) = what.begin(fd, offset)? else {
            return Ok(what.wait(fd, offset)?);
        };
        // Dropped before the request is closed.
        let interest = Interest::of(request.0, Direction::Read);
        // Hardly any is done at once, and to ask costs a trip to the host.
        let mut first = true;
        let call = || match take(&mut first) {
            true => Err(ErrorKind::WouldBlock.into()),
            false => Ok(what.end(&request)?),
        };
        Ready { interest, call }.await
    }
}

#[cfg(not(all(target_arch = "wasm32", any(target_os = "unknown", target_env = "p1"))))]
mod host {
    use std::io;

    use crate::fs::File;

    /// What is to be done with a file.
    pub enum What<'a> {
        Read(&'a mut [u8]),
        Write(&'a [u8]),
        Sync,
    }

    #[cfg(unix)]
    use std::os::unix::fs::FileExt;

    #[cfg(unix)]
    fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(bytes, offset)
    }

    #[cfg(unix)]
    fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        file.write_at(bytes, offset)
    }

    #[cfg(windows)]
    fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
    }

    #[cfg(windows)]
    fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
    }

    #[cfg(not(any(unix, windows)))]
    fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    #[cfg(not(any(unix, windows)))]
    fn write_at(_: &File, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Does it; the bytes that were read or written.
    pub async fn operate(file: &File, mut what: What<'_>, offset: u64) -> io::Result<usize> {
        loop {
            let done = match &mut what {
                What::Read(bytes) => read_at(file, bytes, offset),
                What::Write(bytes) => write_at(file, bytes, offset),
                What::Sync => file.sync_all().map(|()| 0),
            };
            match done {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}
