//! Errors of WASI's functions as `std::io::Error`.

use std::fmt;
use std::io::{self, ErrorKind};

#[cfg(not(target_os = "wasi"))]
pub const BADF: u16 = 8;
#[cfg(not(target_os = "wasi"))]
pub const INVAL: u16 = 28;
#[cfg(not(target_os = "wasi"))]
pub const NOENT: u16 = 44;
#[cfg(all(target_arch = "wasm32", not(target_os = "wasi")))]
pub const ISDIR: u16 = 31;
#[cfg(all(target_arch = "wasm32", not(target_os = "wasi")))]
pub const NOTDIR: u16 = 54;

/// An errno of WASI: what an error holds, for its text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub u16);

impl Errno {
    /// The texts that C libraries have for it, and its kind; `None`: std has no stable name for the kind.
    fn row(self) -> (&'static str, Option<ErrorKind>) {
        use ErrorKind::*;
        let (text, kind) = match self.0 {
            1 => ("Argument list too long", ArgumentListTooLong),
            2 => ("Permission denied", PermissionDenied),
            3 => ("Address in use", AddrInUse),
            4 => ("Address not available", AddrNotAvailable),
            6 => ("Resource temporarily unavailable", WouldBlock),
            8 => return ("Bad file descriptor", None),
            10 => ("Resource busy", ResourceBusy),
            13 => ("Connection aborted", ConnectionAborted),
            14 => ("Connection refused", ConnectionRefused),
            15 => ("Connection reset by peer", ConnectionReset),
            16 => ("Resource deadlock would occur", Deadlock),
            19 => ("Quota exceeded", QuotaExceeded),
            20 => ("File exists", AlreadyExists),
            22 => ("File too large", FileTooLarge),
            23 => ("Host is unreachable", HostUnreachable),
            25 => return ("Illegal byte sequence", None),
            27 => ("Interrupted system call", Interrupted),
            28 => ("Invalid argument", InvalidInput),
            29 => return ("I/O error", None),
            31 => ("Is a directory", IsADirectory),
            32 => return ("Symbolic link loop", None),
            33 => return ("No file descriptors available", None),
            34 => ("Too many links", TooManyLinks),
            37 => ("Filename too long", InvalidFilename),
            38 => ("Network is down", NetworkDown),
            40 => ("Network unreachable", NetworkUnreachable),
            41 => return ("Too many open files in system", None),
            44 => ("No such file or directory", NotFound),
            48 => ("Out of memory", OutOfMemory),
            51 => ("No space left on device", StorageFull),
            52 => ("Function not implemented", Unsupported),
            53 => ("Socket not connected", NotConnected),
            54 => ("Not a directory", NotADirectory),
            55 => ("Directory not empty", DirectoryNotEmpty),
            57 => return ("Not a socket", None),
            58 => ("Not supported", Unsupported),
            61 => return ("Value too large for data type", None),
            63 => ("Operation not permitted", PermissionDenied),
            64 => ("Broken pipe", BrokenPipe),
            69 => ("Read-only file system", ReadOnlyFilesystem),
            70 => ("Invalid seek", NotSeekable),
            72 => ("Stale file handle", StaleNetworkFileHandle),
            73 => ("Operation timed out", TimedOut),
            74 => ("Text file busy", ExecutableFileBusy),
            75 => ("Cross-device link", CrossesDevices),
            76 => return ("Capabilities insufficient", None),
            _ => return ("Unknown error", None),
        };
        (text, Some(kind))
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (os error {})", self.row().0, self.0)
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl std::error::Error for Errno {}

impl From<Errno> for io::Error {
    /// As std does it for its own calls.
    #[cfg(target_os = "wasi")]
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0.into())
    }

    #[cfg(not(target_os = "wasi"))]
    fn from(errno: Errno) -> io::Error {
        // What std makes of a number that it does not know is the kind that cannot be named.
        let kind = errno.row().1.unwrap_or_else(|| io::Error::from_raw_os_error(0).kind());
        io::Error::new(kind, errno)
    }
}

/// The result of a function that returned `errno`.
pub fn check(errno: i32) -> Result<(), Errno> {
    match errno {
        0 => Ok(()),
        // An errno has 16 bits.
        _ => Err(Errno(errno as u16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::ToString;

    #[test]
    fn errors_have_stds_kinds_and_texts() {
        let error = |errno: u16| io::Error::from(check(errno.into()).expect_err("no success"));
        assert_eq!(error(NOENT).kind(), ErrorKind::NotFound);
        assert_eq!(error(NOENT).to_string(), "No such file or directory (os error 44)");
        assert_eq!(error(55).kind(), ErrorKind::DirectoryNotEmpty);
        for unnamed in [BADF, 32, 76, 500] {
            assert_eq!(format!("{:?}", error(unnamed).kind()), "Uncategorized");
        }
        assert!(check(0).is_ok());
    }
}
