//! Error numbers of WASI preview 1, and which of them an error of the host becomes.

use std::io;
#[cfg(unix)]
use std::sync::Once;

macro_rules! errnos {
    ($($number:literal $name:ident $doc:literal;)*) => {
        /// An error number of WASI preview 1. Its value is the number that the guest sees.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Errno {
            $(#[doc = $doc] $name = $number,)*
        }

        impl Errno {
            /// The error of a number; `None` for 0, which is success, and for numbers that stand for nothing.
            pub fn from_code(code: u16) -> Option<Errno> {
                match code {
                    $($number => Some(Errno::$name),)*
                    _ => None,
                }
            }
        }
    };
}

errnos! {
    1 TooBig "argument list too long";
    2 Acces "permission denied";
    3 Addrinuse "address in use";
    4 Addrnotavail "address not available";
    5 Afnosupport "address family not supported";
    6 Again "resource unavailable, or operation would block";
    7 Already "connection already in progress";
    8 Badf "bad file descriptor";
    9 Badmsg "bad message";
    10 Busy "device or resource busy";
    11 Canceled "operation canceled";
    12 Child "no child processes";
    13 Connaborted "connection aborted";
    14 Connrefused "connection refused";
    15 Connreset "connection reset";
    16 Deadlk "resource deadlock would occur";
    17 Destaddrreq "destination address required";
    18 Dom "argument out of the function's domain";
    19 Dquot "disk quota exceeded";
    20 Exist "file exists";
    21 Fault "bad address";
    22 Fbig "file too large";
    23 Hostunreach "host is unreachable";
    24 Idrm "identifier removed";
    25 Ilseq "illegal byte sequence";
    26 Inprogress "operation in progress";
    27 Intr "interrupted function";
    28 Inval "invalid argument";
    29 Io "input or output error";
    30 Isconn "socket is connected";
    31 Isdir "is a directory";
    32 Loop "too many levels of symbolic links";
    33 Mfile "too many open files";
    34 Mlink "too many links";
    35 Msgsize "message too large";
    36 Multihop "multihop attempted";
    37 Nametoolong "file name too long";
    38 Netdown "network is down";
    39 Netreset "connection aborted by network";
    40 Netunreach "network unreachable";
    41 Nfile "too many files open in system";
    42 Nobufs "no buffer space available";
    43 Nodev "no such device";
    44 Noent "no such file or directory";
    45 Noexec "executable file format error";
    46 Nolck "no locks available";
    47 Nolink "link has been severed";
    48 Nomem "not enough memory";
    49 Nomsg "no message of the desired type";
    50 Noprotoopt "protocol not available";
    51 Nospc "no space left on device";
    52 Nosys "function not supported";
    53 Notconn "socket is not connected";
    54 Notdir "not a directory";
    55 Notempty "directory not empty";
    56 Notrecoverable "state not recoverable";
    57 Notsock "not a socket";
    58 Notsup "not supported";
    59 Notty "inappropriate control operation";
    60 Nxio "no such device or address";
    61 Overflow "value too large for its type";
    62 Ownerdead "previous owner died";
    63 Perm "operation not permitted";
    64 Pipe "broken pipe";
    65 Proto "protocol error";
    66 Protonosupport "protocol not supported";
    67 Prototype "protocol of the wrong type for a socket";
    68 Range "result too large";
    69 Rofs "read-only file system";
    70 Spipe "invalid seek";
    71 Srch "no such process";
    72 Stale "stale file handle";
    73 Timedout "connection timed out";
    74 Txtbsy "text file busy";
    75 Xdev "cross-device link";
    76 Notcapable "capabilities insufficient";
}

impl Errno {
    /// The number that the guest sees.
    pub fn code(self) -> u16 {
        self as u16
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        #[cfg(unix)]
        if let Some(errno) = error.raw_os_error().and_then(of_host) {
            if errno == Errno::Mfile {
                warn_of_limit(&error);
            }
            return errno;
        }
        of_kind(error.kind())
    }
}

#[cfg(unix)]
impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Errno {
        io::Error::from(error).into()
    }
}

/// Says once that the host opens no more files: most programs have that many only because each of their threads has
/// one.
#[cfg(unix)]
fn warn_of_limit(error: &io::Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(
            "the host opens no more files for this process ({error}): raise its limit (`ulimit -Hn`), use fewer \
             threads, or put files into a tmpfs"
        );
    });
}

/// The error of a kind, where the host has no number. Paths that lead out of a preopened directory are
/// `PermissionDenied` without a number: EPERM, where the host's own EACCES stays EACCES.
fn of_kind(kind: io::ErrorKind) -> Errno {
    use io::ErrorKind::*;
    match kind {
        NotFound => Errno::Noent,
        PermissionDenied => Errno::Perm,
        AlreadyExists => Errno::Exist,
        InvalidInput => Errno::Inval,
        BrokenPipe => Errno::Pipe,
        WouldBlock => Errno::Again,
        Interrupted => Errno::Intr,
        StorageFull => Errno::Nospc,
        FileTooLarge => Errno::Fbig,
        NotADirectory => Errno::Notdir,
        IsADirectory => Errno::Isdir,
        DirectoryNotEmpty => Errno::Notempty,
        ReadOnlyFilesystem => Errno::Rofs,
        CrossesDevices => Errno::Xdev,
        ResourceBusy => Errno::Busy,
        OutOfMemory => Errno::Nomem,
        Unsupported => Errno::Notsup,
        ConnectionReset => Errno::Connreset,
        ConnectionAborted => Errno::Connaborted,
        ConnectionRefused => Errno::Connrefused,
        NotConnected => Errno::Notconn,
        TimedOut => Errno::Timedout,
        _ => Errno::Io,
    }
}

/// The error of a number of the host; `None` if WASI has no word for it.
#[cfg(unix)]
fn of_host(number: i32) -> Option<Errno> {
    use rustix::io::Errno as Host;
    Some(match Host::from_raw_os_error(number) {
        Host::TOOBIG => Errno::TooBig,
        Host::ACCESS => Errno::Acces,
        Host::AGAIN => Errno::Again,
        Host::ALREADY => Errno::Already,
        Host::BADF => Errno::Badf,
        Host::BUSY => Errno::Busy,
        Host::CANCELED => Errno::Canceled,
        Host::CONNABORTED => Errno::Connaborted,
        Host::CONNREFUSED => Errno::Connrefused,
        Host::CONNRESET => Errno::Connreset,
        Host::DEADLK => Errno::Deadlk,
        Host::DESTADDRREQ => Errno::Destaddrreq,
        Host::DQUOT => Errno::Dquot,
        Host::EXIST => Errno::Exist,
        Host::FAULT => Errno::Fault,
        Host::FBIG => Errno::Fbig,
        Host::HOSTUNREACH => Errno::Hostunreach,
        Host::ILSEQ => Errno::Ilseq,
        Host::INPROGRESS => Errno::Inprogress,
        Host::INTR => Errno::Intr,
        Host::INVAL => Errno::Inval,
        Host::IO => Errno::Io,
        Host::ISCONN => Errno::Isconn,
        Host::ISDIR => Errno::Isdir,
        Host::LOOP => Errno::Loop,
        Host::MFILE => Errno::Mfile,
        Host::MLINK => Errno::Mlink,
        Host::MSGSIZE => Errno::Msgsize,
        Host::NAMETOOLONG => Errno::Nametoolong,
        Host::NETDOWN => Errno::Netdown,
        Host::NETRESET => Errno::Netreset,
        Host::NETUNREACH => Errno::Netunreach,
        Host::NFILE => Errno::Nfile,
        Host::NOBUFS => Errno::Nobufs,
        Host::NODEV => Errno::Nodev,
        Host::NOENT => Errno::Noent,
        Host::NOLCK => Errno::Nolck,
        Host::NOMEM => Errno::Nomem,
        Host::NOSPC => Errno::Nospc,
        Host::NOSYS => Errno::Nosys,
        Host::NOTCONN => Errno::Notconn,
        Host::NOTDIR => Errno::Notdir,
        Host::NOTEMPTY => Errno::Notempty,
        Host::NOTSOCK => Errno::Notsock,
        Host::NOTSUP => Errno::Notsup,
        Host::NOTTY => Errno::Notty,
        Host::NXIO => Errno::Nxio,
        Host::OVERFLOW => Errno::Overflow,
        Host::PERM => Errno::Perm,
        Host::PIPE => Errno::Pipe,
        Host::PROTO => Errno::Proto,
        Host::RANGE => Errno::Range,
        Host::ROFS => Errno::Rofs,
        Host::SPIPE => Errno::Spipe,
        Host::STALE => Errno::Stale,
        Host::TIMEDOUT => Errno::Timedout,
        Host::TXTBSY => Errno::Txtbsy,
        Host::XDEV => Errno::Xdev,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        for (errno, code) in [
            (Errno::Acces, 2),
            (Errno::Badf, 8),
            (Errno::Ilseq, 25),
            (Errno::Inval, 28),
            (Errno::Noent, 44),
            (Errno::Notsup, 58),
            (Errno::Pipe, 64),
            (Errno::Notcapable, 76),
        ] {
            assert_eq!(errno.code(), code);
            assert_eq!(Errno::from_code(code), Some(errno));
        }
        assert_eq!(Errno::from_code(0), None);
        assert_eq!(Errno::from_code(77), None);
    }

    #[test]
    fn escapes_and_host_refusals_differ() {
        let escape = io::Error::new(io::ErrorKind::PermissionDenied, "a path led outside");
        assert_eq!(Errno::from(escape), Errno::Perm);
        #[cfg(unix)]
        assert_eq!(Errno::from(rustix::io::Errno::ACCESS), Errno::Acces);
        assert_eq!(Errno::from(io::Error::other("no number")), Errno::Io);
    }
}
