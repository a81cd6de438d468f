//! `std::env`: arguments and environment.

use std::env::VarError;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::string::String;
use std::vec::{self, Vec};
use std::{fmt, ptr};

use super::errno::check;
use super::sys;

/// A list of texts by WASI's pair of functions. One returns how many texts and bytes there are. The other writes a
/// pointer to each and the bytes, in which each text ends with 0. What is no Unicode gets U+FFFD.
fn texts(
    sizes: unsafe extern "C" fn(*mut usize, *mut usize) -> i32,
    get: unsafe extern "C" fn(*mut *const u8, *mut u8) -> i32,
) -> vec::IntoIter<String> {
    let (mut count, mut size) = (0, 0);
    // SAFETY: the call writes both numbers.
    if check(unsafe { sizes(&mut count, &mut size) }).is_err() {
        return Vec::new().into_iter();
    }
    let mut pointers = std::vec![ptr::null(); count];
    let mut bytes = std::vec![0; size];
    // SAFETY: the call writes as many pointers and bytes as it said.
    if check(unsafe { get(pointers.as_mut_ptr(), bytes.as_mut_ptr()) }).is_err() {
        return Vec::new().into_iter();
    }
    // The texts follow each other in the order of the pointers.
    let texts = bytes.split_inclusive(|&byte| byte == 0).take(count);
    let texts: Vec<String> = texts
        .map(|text| String::from_utf8_lossy(text.strip_suffix(&[0]).unwrap_or(text)).into_owned())
        .collect();
    texts.into_iter()
}

/// Makes an iterator like that of std's whose items are made of others.
macro_rules! iterator {
    ($(#[$doc:meta])* $name:ident ($inner:ty) $item:ty, $make:expr) => {
        $(#[$doc])*
        pub struct $name($inner);

        impl Iterator for $name {
            type Item = $item;

            fn next(&mut self) -> Option<$item> {
                self.0.next().map($make)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.0.as_slice()).finish()
            }
        }
    };
}

iterator! {
    /// See `std::env::Args`.
    Args(vec::IntoIter<String>) String, |arg| arg
}
iterator! {
    /// See `std::env::ArgsOs`.
    ArgsOs(vec::IntoIter<String>) OsString, OsString::from
}
iterator! {
    /// See `std::env::Vars`.
    Vars(vec::IntoIter<(String, String)>) (String, String), |variable| variable
}
iterator! {
    /// See `std::env::VarsOs`.
    VarsOs(vec::IntoIter<(String, String)>) (OsString, OsString), |(key, value)| (key.into(), value.into())
}

impl ExactSizeIterator for Args {}
impl ExactSizeIterator for ArgsOs {}

impl DoubleEndedIterator for Args {
    fn next_back(&mut self) -> Option<String> {
        self.0.next_back()
    }
}

impl DoubleEndedIterator for ArgsOs {
    fn next_back(&mut self) -> Option<OsString> {
        self.0.next_back().map(OsString::from)
    }
}

/// See `std::env::args`.
pub fn args() -> Args {
    Args(texts(sys::args_sizes_get, sys::args_get))
}

/// See `std::env::args_os`.
pub fn args_os() -> ArgsOs {
    ArgsOs(args().0)
}

/// See `std::env::vars`.
pub fn vars() -> Vars {
    let entries = texts(sys::environ_sizes_get, sys::environ_get);
    let variables: Vec<_> = entries.filter_map(|entry| split(&entry)).collect();
    Vars(variables.into_iter())
}

/// Key and value. An `=` at the start belongs to the key, as in std.
fn split(entry: &str) -> Option<(String, String)> {
    let at = 1 + entry.as_bytes().iter().skip(1).position(|&byte| byte == b'=')?;
    Some((entry[..at].into(), entry[at + 1..].into()))
}

/// See `std::env::vars_os`.
pub fn vars_os() -> VarsOs {
    VarsOs(vars().0)
}

/// See `std::env::var`.
pub fn var<K: AsRef<OsStr>>(key: K) -> Result<String, VarError> {
    let key = key.as_ref();
    let found = vars().find(|(name, _)| OsStr::new(name) == key);
    found.map(|(_, value)| value).ok_or(VarError::NotPresent)
}

/// See `std::env::var_os`.
pub fn var_os<K: AsRef<OsStr>>(key: K) -> Option<OsString> {
    var(key).ok().map(OsString::from)
}

/// `/`: to what relative paths belong.
pub fn current_dir() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/"))
}

/// The variable `TMPDIR`, else `/tmp`, as on Unix. It is there if the program was given such a folder.
pub fn temp_dir() -> PathBuf {
    var_os("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
}
