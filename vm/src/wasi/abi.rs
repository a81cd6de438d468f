//! Numbers of WASI preview 1's interface: types, flags and rights.

/// `filetype`.
pub mod filetype {
    pub const UNKNOWN: u8 = 0;
    pub const BLOCK_DEVICE: u8 = 1;
    pub const CHARACTER_DEVICE: u8 = 2;
    pub const DIRECTORY: u8 = 3;
    pub const REGULAR_FILE: u8 = 4;
    pub const SOCKET_STREAM: u8 = 6;
    pub const SYMBOLIC_LINK: u8 = 7;
}

/// `lookupflags`.
pub mod lookup {
    pub const SYMLINK_FOLLOW: u32 = 1;
    pub const ALL: u32 = SYMLINK_FOLLOW;
}

/// `oflags`.
pub mod oflags {
    pub const CREAT: u16 = 1;
    pub const DIRECTORY: u16 = 1 << 1;
    pub const EXCL: u16 = 1 << 2;
    pub const TRUNC: u16 = 1 << 3;
    pub const ALL: u16 = CREAT | DIRECTORY | EXCL | TRUNC;
}

/// `fdflags`.
pub mod fdflags {
    pub const APPEND: u16 = 1;
    pub const DSYNC: u16 = 1 << 1;
    pub const NONBLOCK: u16 = 1 << 2;
    pub const RSYNC: u16 = 1 << 3;
    pub const SYNC: u16 = 1 << 4;
    /// Those that can be set when a file is opened only.
    pub const AT_OPEN: u16 = DSYNC | RSYNC | SYNC;
    pub const ALL: u16 = APPEND | NONBLOCK | AT_OPEN;
}

/// `fstflags`.
pub mod fstflags {
    pub const ATIM: u16 = 1;
    pub const ATIM_NOW: u16 = 1 << 1;
    pub const MTIM: u16 = 1 << 2;
    pub const MTIM_NOW: u16 = 1 << 3;
    pub const ALL: u16 = ATIM | ATIM_NOW | MTIM | MTIM_NOW;
}

/// `rights`.
pub mod rights {
    pub const FD_DATASYNC: u64 = 1;
    pub const FD_READ: u64 = 1 << 1;
    pub const FD_SEEK: u64 = 1 << 2;
    pub const FD_FDSTAT_SET_FLAGS: u64 = 1 << 3;
    pub const FD_SYNC: u64 = 1 << 4;
    pub const FD_TELL: u64 = 1 << 5;
    pub const FD_WRITE: u64 = 1 << 6;
    pub const FD_ADVISE: u64 = 1 << 7;
    pub const FD_ALLOCATE: u64 = 1 << 8;
    pub const PATH_CREATE_DIRECTORY: u64 = 1 << 9;
    pub const PATH_CREATE_FILE: u64 = 1 << 10;
    pub const PATH_LINK_SOURCE: u64 = 1 << 11;
    pub const PATH_LINK_TARGET: u64 = 1 << 12;
    pub const PATH_OPEN: u64 = 1 << 13;
    pub const FD_READDIR: u64 = 1 << 14;
    pub const PATH_READLINK: u64 = 1 << 15;
    pub const PATH_RENAME_SOURCE: u64 = 1 << 16;
    pub const PATH_RENAME_TARGET: u64 = 1 << 17;
    pub const PATH_FILESTAT_GET: u64 = 1 << 18;
    pub const PATH_FILESTAT_SET_SIZE: u64 = 1 << 19;
    pub const PATH_FILESTAT_SET_TIMES: u64 = 1 << 20;
    pub const FD_FILESTAT_GET: u64 = 1 << 21;
    pub const FD_FILESTAT_SET_SIZE: u64 = 1 << 22;
    pub const FD_FILESTAT_SET_TIMES: u64 = 1 << 23;
    pub const PATH_SYMLINK: u64 = 1 << 24;
    pub const PATH_REMOVE_DIRECTORY: u64 = 1 << 25;
    pub const PATH_UNLINK_FILE: u64 = 1 << 26;
    pub const POLL_FD_READWRITE: u64 = 1 << 27;
    pub const SOCK_SHUTDOWN: u64 = 1 << 28;
    pub const SOCK_ACCEPT: u64 = 1 << 29;
    pub const ALL: u64 = (1 << 30) - 1;

    /// Of a preopened directory. C libraries look at them before they open a path.
    pub const PREOPEN: u64 = PATH_CREATE_DIRECTORY
        | PATH_CREATE_FILE
        | PATH_LINK_SOURCE
        | PATH_LINK_TARGET
        | PATH_OPEN
        | FD_READDIR
        | PATH_READLINK
        | PATH_RENAME_SOURCE
        | PATH_RENAME_TARGET
        | PATH_SYMLINK
        | PATH_REMOVE_DIRECTORY
        | PATH_UNLINK_FILE
        | PATH_FILESTAT_GET
        | PATH_FILESTAT_SET_TIMES
        | FD_FILESTAT_GET
        | FD_FILESTAT_SET_TIMES;
    /// Of what is opened through a preopened directory.
    pub const PREOPEN_INHERITING: u64 = PREOPEN
        | FD_DATASYNC
        | FD_READ
        | FD_SEEK
        | FD_FDSTAT_SET_FLAGS
        | FD_SYNC
        | FD_TELL
        | FD_WRITE
        | FD_ADVISE
        | FD_ALLOCATE
        | FD_FILESTAT_SET_SIZE
        | POLL_FD_READWRITE;
}

/// `eventtype` and the flags of events and subscriptions.
pub mod event {
    pub const CLOCK: u8 = 0;
    pub const FD_READ: u8 = 1;
    pub const FD_WRITE: u8 = 2;
    /// Of an event: the peer is gone, or the file is at its end.
    pub const HANGUP: u16 = 1;
    /// Of a clock's subscription: its timeout is a time, not a duration.
    pub const ABSTIME: u16 = 1;
}

/// `clockid`.
pub mod clock {
    pub const REALTIME: u32 = 0;
    pub const MONOTONIC: u32 = 1;
    /// Number of clocks. The last two count CPU time, which cannot be waited for.
    pub const COUNT: u32 = 4;
}

/// Flags of sockets.
pub mod sock {
    /// `riflags`: leave what is received in the queue.
    pub const PEEK: u16 = 1;
    /// `riflags`: wait until the buffer is full.
    pub const WAITALL: u16 = 1 << 1;
    /// `sdflags`.
    pub const RD: u8 = 1;
    #[allow(missing_docs)]
    pub const WR: u8 = 1 << 1;
}

/// Number of `advice`s, of `whence`s and of `signal`s.
pub const ADVICES: u8 = 6;
pub const WHENCES: u8 = 3;
pub const SIGNALS: u8 = 31;
