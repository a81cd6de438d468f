//! The folders that the guest was given.

use core::sync::atomic::AtomicU32;
use std::boxed::Box;
use std::path::Path;
use std::string::String;
use std::vec;
use std::vec::Vec;

use super::errno::{Errno, NOENT, check};
use super::path::{resolve, text};
use super::sys::{self, Prestat};
use crate::atomic_cas;

/// The first descriptor after standard input, output and error.
const FIRST: u32 = 3;

/// Address of the names of all folders, in the order of their descriptors; 0: not asked for yet.
static NAMES: AtomicU32 = AtomicU32::new(0);

/// The names, which never change. Many threads may come here at once: each asks, the first to be ready is heard.
fn names() -> &'static [String] {
    let mut address = atomic_cas(&NAMES, 0, 0);
    if address == 0 {
        let made = Box::into_raw(Box::new(ask()));
        address = made.expose_provenance() as u32;
        let other = atomic_cas(&NAMES, 0, address);
        if other != 0 {
            // SAFETY: `made` came from a box, and no other thread has seen it.
            drop(unsafe { Box::from_raw(made) });
            address = other;
        }
    }
    // SAFETY: the address of a list that was made above and is never changed or freed. The compare-and-exchange
    // that published it pairs with the one that read it.
    unsafe { &*std::ptr::with_exposed_provenance::<Vec<String>>(address as usize) }
}

/// Asks the host. The descriptors follow each other; the first that is no folder ends them.
fn ask() -> Vec<String> {
    let name = |fd| {
        let mut prestat = Prestat::default();
        // SAFETY: the call writes a whole `prestat`.
        check(unsafe { sys::fd_prestat_get(fd, &mut prestat) }).ok()?;
        let mut name = vec![0; prestat.name_length];
        // SAFETY: the call writes at most as many bytes as the buffer has.
        check(unsafe { sys::fd_prestat_dir_name(fd, name.as_mut_ptr(), name.len()) }).ok()?;
        String::from_utf8(name).ok()
    };
    (FIRST..).map_while(name).collect()
}

/// A path below one of the folders.
pub struct At<'p> {
    pub fd: u32,
    pub path: &'p str,
}

impl At<'_> {
    pub fn ptr(&self) -> *const u8 {
        self.path.as_ptr()
    }

    pub fn len(&self) -> usize {
        self.path.len()
    }
}

/// Where a path leads to.
///
/// # Errors
/// The error is ENOENT if it is in none of the folders, and so if it is empty. It is EINVAL if it has a NUL or is
/// no Unicode.
pub fn at(path: &Path) -> Result<At<'_>, Errno> {
    let (position, path) = resolve(names(), text(path)?).ok_or(Errno(NOENT))?;
    Ok(At {
        fd: FIRST + position as u32,
        path,
    })
}
