//! The functions of WASI preview 1 (`wasi_snapshot_preview1`), those of connections (`gpu_run_net_v1`), those of processes
//! that start others (`gpu_run_process_v1`), those that read and write files without waiting (`gpu_run_file_v1`), and those
//! by which the translator makes calls of host functions (`gpu_run_host_v1`). Imports are checked and calls are marshalled
//! from this one table.
//!
//! A row is `number Name "name" [parameters] place "what it does";`. The number is that of requests: host and kernel
//! know a function by it. Parameters say what pointers point to. So the kernel can gather the bytes that the host needs
//! and scatter those that it answers, and the host never sees linear memory. Every function but `proc_exit` returns an
//! errno, an i32; see [`Function::has_result`].
//!
//! WASI preview 1 has calls for connections, but none that makes one: those are `gpu-run`'s own. A connection
//! is a descriptor like any other, which WASI's functions read, write, poll and close.
//!
//! Source: `wasi_snapshot_preview1.witx`, <https://github.com/WebAssembly/WASI/tree/main/legacy/preview1>.

use crate::ValType;

/// Declares an enum whose variants have numbers, and what finds one by its number.
macro_rules! numbered {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$what:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$what])* $variant = $number,)*
        }

        impl $name {
            /// The variant with this number.
            pub const fn from_number(number: u32) -> Option<$name> {
                match number {
                    $($number => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Module name of the imports of WASI.
pub const MODULE: &str = "wasi_snapshot_preview1";
/// Module name of the imports that make connections, and ask and set what is theirs.
pub const NET_MODULE: &str = "gpu_run_net_v1";

/// Module name of the imports by which a process of a batch starts others; `kernel/rpc/process_calls.h` serves them.
pub const PROCESS_MODULE: &str = "gpu_run_process_v1";

/// Module name of the import that begins to read or write a file and does not wait. It makes a descriptor of the request, which
/// can be read when that is done: see [`FileRequest`].
pub const FILE_MODULE: &str = "gpu_run_file_v1";

/// Module name of the imports of which the translator makes a call of a host function; see [`host`].
pub const HOST_MODULE: &str = "gpu_run_host_v1";

/// The export by which a module that is no command is made ready, once and before any other.
pub const INITIALIZE: &str = "_initialize";

/// The modules of all functions.
pub const MODULES: [&str; 5] = [MODULE, NET_MODULE, HOST_MODULE, PROCESS_MODULE, FILE_MODULE];

/// The protocol of a host function's call, which the translator's stub and the host speak by [`Function::HostCall`],
/// [`Function::HostSend`], [`Function::HostReceive`] and [`Function::HostWord`].
///
/// The stub sends the arguments, 64 bits each; a v128 is two of them, the low half first. Each response has a status in
/// place of the errno, and one word beside it, which [`Function::HostWord`] returns. The status says that the host
/// function has returned, or that it wants a range of memory 0 read or written. Then the word is the range's address, and
/// the stub goes on until the function returns.
pub mod host {
    /// Arguments that one message carries.
    pub const ARGUMENTS: usize = 5;

    numbered! {
        /// What a [`HostCall`](super::Function::HostCall) says, its second argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Step {
            /// The last arguments: the function is to be called.
            Call = 0,
            /// Arguments before the last ones.
            Arguments = 1,
            /// The range was written: what is next?
            Next = 2,
            /// The range is outside of memory.
            Outside = 3,
            /// Asks for the next word of the results.
            Result = 4,
        }
    }

    /// Status: the function has returned; the word is the first of its results.
    pub const DONE: u16 = 0;
    /// Status: the run is to end. So does every status that is none of the others, such as an errno of the queue.
    pub const FAILED: u16 = 1;
    /// Status: too many calls wait already, so the stub makes the call again. Each that waits has a slot for requests, and
    /// the one that is served needs another slot for what it sends.
    pub const AGAIN: u16 = 2;
    /// Status, with a length: the bytes from the word's address on are wanted.
    pub const READ: u16 = 1 << KIND;
    /// Status, with a length: there are bytes for the word's address.
    pub const WRITE: u16 = 2 << KIND;
    /// Where the length ends.
    pub const KIND: u32 = 14;
    /// Most bytes of a range that is read or written at once.
    pub const MOST: usize = 8192;
}

/// Bytes of a `subscription` and of an `event` of `poll_oneoff`.
pub const SUBSCRIPTION: u32 = 48;
#[allow(missing_docs)]
pub const EVENT: u32 = 32;

/// What a function's parameter is. All but `Value*` take pointers: i32 values that name bytes of memory 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// An i32.
    Value32,
    /// An i64.
    Value64,
    /// A pointer that only the device uses.
    Pointer,
    /// Bytes that the function reads: pointer and length, two i32.
    In,
    /// Bytes that the function may fill: pointer and length, two i32.
    Out,
    /// Bytes that the function reads, by a list of `ciovec`: its pointer and count, two i32.
    InVec,
    /// Bytes that the function may fill, by a list of `iovec`: its pointer and count, two i32.
    OutVec,
    /// A result of fixed size, written only if the errno is 0: a pointer.
    Result {
        /// Its bytes.
        size: u32,
        /// Its alignment; another one traps.
        align: u32,
    },
    /// The subscriptions of `poll_oneoff`: a pointer; their count is the parameter after the events.
    Subscriptions,
    /// The events of `poll_oneoff`: a pointer; the count of subscriptions bounds theirs.
    Events,
}

impl Param {
    /// Wasm parameters that it stands for.
    pub const fn types(self) -> &'static [ValType] {
        match self {
            Param::Value64 => &[ValType::I64],
            Param::In | Param::Out | Param::InVec | Param::OutVec => &[ValType::I32, ValType::I32],
            _ => &[ValType::I32],
        }
    }
}

numbered! {
    /// Options of a connection, as `tcp_get` and `tcp_set` number them. The values are 64 bits wide.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum SocketOption {
        /// Send at once, and do not gather small pieces: 0 or 1.
        NoDelay = 0,
        /// Nanoseconds after which a read times out; 0: never.
        ReadTimeout = 1,
        /// Nanoseconds after which a write times out; 0: never.
        WriteTimeout = 2,
        /// Hops that a packet may take.
        TimeToLive = 3,
        /// The errno of the last error that no call has told, which it forgets; 0: none. It cannot be set.
        Error = 4,
    }
}

numbered! {
    /// What [`Function::FileBegin`] begins, its second argument. After it come the offset, the bytes to read, and those to write.
    ///
    /// The descriptor that it makes can be waited for by `poll_oneoff` and read by `fd_read`, which is EAGAIN until it is done. An
    /// error of the request is one of each such read. Requests are done in any order. Closing one does not take back what was
    /// begun; the end of the run may.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum FileRequest {
        /// Reads at the offset, 1 MiB at most. The descriptor has what was read: fewer bytes at the file's end.
        Read = 0,
        /// Writes at the offset, or at the end of a file that appends, 64 KiB at most. The descriptor has an i32: how many bytes were
        /// written.
        Write = 1,
        /// Brings data and attributes to the disk, of writes that are done. The descriptor has nothing.
        Sync = 2,
    }
}

/// Which side serves a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// The device alone.
    Device,
    /// The host, by a request. The device may serve some calls of it, such as writes to stdout.
    Host,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FunctionInfo {
    /// The function.
    pub function: Function,
    /// Module name of its import.
    pub module: &'static str,
    /// Its import name.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Which side serves it.
    pub served_by: ServedBy,
    /// What it does.
    pub doc: &'static str,
}

/// Short spellings for the rows.
mod spell {
    use super::Param::{self, *};
    macro_rules! spell {
        ($($name:ident = $value:expr;)*) => { $(pub const $name: Param = $value;)* };
    }
    spell! {
        V32 = Value32; V64 = Value64; PTR = Pointer; IN = In; OUT = Out; INVEC = InVec; OUTVEC = OutVec;
        R2 = Result { size: 2, align: 2 }; R4 = Result { size: 4, align: 4 }; R8 = Result { size: 8, align: 8 };
        PRESTAT = Result { size: 8, align: 4 }; FDSTAT = Result { size: 24, align: 8 };
        FILESTAT = Result { size: 64, align: 8 };
        SUBS = Subscriptions; EVENTS = Events;
    }
}

macro_rules! table {
    ($($module:ident {
        $($number:literal $function:ident $name:literal [$($param:ident),*] $place:ident $doc:literal;)*
    })*) => {
        /// A function of one of the modules. Its number is its value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Function {
            $($(#[doc = $doc] $function = $number,)*)*
        }

        /// Every row; a function's row is at its number.
        pub const TABLE: &[FunctionInfo] = &[$($(FunctionInfo {
            function: Function::$function,
            module: $module,
            name: $name,
            params: &[$(spell::$param),*],
            served_by: ServedBy::$place,
            doc: $doc,
        },)*)*];
    };
}

table! {
    MODULE {
        0 ArgsGet "args_get" [PTR, PTR] Device "pointers to the arguments, and their bytes";
        1 ArgsSizesGet "args_sizes_get" [PTR, PTR] Device "number of arguments, and of their bytes";
        2 EnvironGet "environ_get" [PTR, PTR] Device "pointers to the environment's entries, and their bytes";
        3 EnvironSizesGet "environ_sizes_get" [PTR, PTR] Device "number of the environment's entries, and of their bytes";
        4 ClockResGet "clock_res_get" [V32, PTR] Device "a clock's resolution in nanoseconds";
        5 ClockTimeGet "clock_time_get" [V32, V64, PTR] Device "a clock's time in nanoseconds";
        6 FdAdvise "fd_advise" [V32, V64, V64, V32] Host "advice on how a range of a file will be used";
        7 FdAllocate "fd_allocate" [V32, V64, V64] Host "space for a range of a file";
        8 FdClose "fd_close" [V32] Host "closes a descriptor";
        9 FdDatasync "fd_datasync" [V32] Host "a file's data to the disk";
        10 FdFdstatGet "fd_fdstat_get" [V32, FDSTAT] Host "a descriptor's type, flags and rights";
        11 FdFdstatSetFlags "fd_fdstat_set_flags" [V32, V32] Host "sets a descriptor's flags";
        12 FdFdstatSetRights "fd_fdstat_set_rights" [V32, V64, V64] Host "drops rights of a descriptor";
        13 FdFilestatGet "fd_filestat_get" [V32, FILESTAT] Host "an open file's attributes";
        14 FdFilestatSetSize "fd_filestat_set_size" [V32, V64] Host "cuts or extends a file";
        15 FdFilestatSetTimes "fd_filestat_set_times" [V32, V64, V64, V32] Host "sets an open file's times";
        16 FdPread "fd_pread" [V32, OUTVEC, V64, R4] Host "reads at an offset";
        17 FdPrestatGet "fd_prestat_get" [V32, PRESTAT] Host "what a preopened descriptor is";
        18 FdPrestatDirName "fd_prestat_dir_name" [V32, OUT] Host "a preopened directory's name";
        19 FdPwrite "fd_pwrite" [V32, INVEC, V64, R4] Host "writes at an offset";
        20 FdRead "fd_read" [V32, OUTVEC, R4] Host "reads";
        21 FdReaddir "fd_readdir" [V32, OUT, V64, R4] Host "reads a directory's entries from a cookie on";
        22 FdRenumber "fd_renumber" [V32, V32] Host "moves a descriptor to the place of another";
        23 FdSeek "fd_seek" [V32, V64, V32, R8] Host "moves a file's offset";
        24 FdSync "fd_sync" [V32] Host "a file's data and attributes to the disk";
        25 FdTell "fd_tell" [V32, R8] Host "a file's offset";
        26 FdWrite "fd_write" [V32, INVEC, R4] Host "writes";
        27 PathCreateDirectory "path_create_directory" [V32, IN] Host "makes a directory";
        28 PathFilestatGet "path_filestat_get" [V32, V32, IN, FILESTAT] Host "a file's attributes";
        29 PathFilestatSetTimes "path_filestat_set_times" [V32, V32, IN, V64, V64, V32] Host "sets a file's times";
        30 PathLink "path_link" [V32, V32, IN, V32, IN] Host "makes a hard link";
        31 PathOpen "path_open" [V32, V32, IN, V32, V64, V64, V32, R4] Host "opens a file or directory";
        32 PathReadlink "path_readlink" [V32, IN, OUT, R4] Host "what a symbolic link holds";
        33 PathRemoveDirectory "path_remove_directory" [V32, IN] Host "removes an empty directory";
        34 PathRename "path_rename" [V32, IN, V32, IN] Host "renames a file or directory";
        35 PathSymlink "path_symlink" [IN, V32, IN] Host "makes a symbolic link";
        36 PathUnlinkFile "path_unlink_file" [V32, IN] Host "removes a file";
        37 PollOneoff "poll_oneoff" [SUBS, EVENTS, V32, R4] Host "waits for the first of several events";
        38 ProcExit "proc_exit" [V32] Device "ends the process with an exit code";
        39 ProcRaise "proc_raise" [V32] Host "sends a signal to the process";
        40 SchedYield "sched_yield" [] Device "lets other threads run";
        41 RandomGet "random_get" [PTR, V32] Device "fills bytes at random";
        42 SockAccept "sock_accept" [V32, V32, R4] Host "accepts a connection";
        43 SockRecv "sock_recv" [V32, OUTVEC, V32, R4, R2] Host "receives from a socket";
        44 SockSend "sock_send" [V32, INVEC, V32, R4] Host "sends to a socket";
        45 SockShutdown "sock_shutdown" [V32, V32] Host "shuts a socket down";
    }
    NET_MODULE {
        46 Resolve "resolve" [IN, OUT, R4] Host "addresses of a name: text, a line each, and its bytes";
        47 TcpConnect "tcp_connect" [IN, V64, R4] Host "connects to an address, in so many nanoseconds; 0: in any time";
        48 TcpAddress "tcp_address" [V32, V32, OUT, R4] Host "a connection's own address (0), or its peer's (1): text, and its bytes";
        49 TcpDuplicate "tcp_duplicate" [V32, R4] Host "another descriptor of a connection";
        50 TcpGet "tcp_get" [V32, V32, R8] Host "an option of a connection: see SocketOption";
        51 TcpSet "tcp_set" [V32, V32, V64] Host "sets an option of a connection";
    }
    HOST_MODULE {
        52 HostCall "call" [V32, V32, V64, V64, V64, V64, V64] Host "calls a host function: its number, a step, arguments";
        53 HostSend "send" [IN] Host "bytes of memory that a host function reads";
        54 HostReceive "receive" [OUT] Host "bytes of memory that a host function writes";
        55 HostWord "word" [] Device "the word beside the last status";
    }
    PROCESS_MODULE {
        56 ProcessSpawn "spawn" [PTR] Device "starts a process: see SpawnRequest in kernel/rpc/layout.h";
        57 ProcessWait "wait" [V32, V32, PTR] Device "waits for a child's end: flag 1 does not wait; its kind and value";
        58 ProcessKill "kill" [V32] Device "ends a child";
        59 ProcessId "id" [PTR] Device "the process's own number";
        60 PipeRead "pipe_read" [V32, PTR, V32, PTR] Device "reads from a pipe: handle, bytes; how many there were";
        61 PipeWrite "pipe_write" [V32, PTR, V32, PTR] Device "writes to a pipe: handle, bytes; how many it took";
        62 PipeClose "pipe_close" [V32] Device "closes an end of a pipe";
    }
    FILE_MODULE {
        63 FileBegin "begin" [V32, V32, V64, V32, IN, R4] Host "begins to read, write or sync a file: see FileRequest";
    }
}

impl Function {
    /// Its row.
    pub const fn info(self) -> &'static FunctionInfo {
        &TABLE[self as usize]
    }

    /// Whether it is a part of a host function's call, to which the host responds with a status and a word.
    pub const fn is_host_call(self) -> bool {
        matches!(self, Function::HostCall | Function::HostSend | Function::HostReceive)
    }

    /// The function that an import of one of the modules names.
    pub fn by_import(module: &str, name: &str) -> Option<Function> {
        let mut rows = TABLE.iter();
        rows.find(|info| info.module == module && info.name == name)
            .map(|info| info.function)
    }

    /// The function of a number.
    pub fn from_number(number: u16) -> Option<Function> {
        TABLE.get(number as usize).map(|info| info.function)
    }

    /// Its parameters' wasm types.
    pub fn param_types(self) -> Vec<ValType> {
        self.info()
            .params
            .iter()
            .flat_map(|param| param.types())
            .copied()
            .collect()
    }

    /// Bytes of all its `Result` parameters.
    pub fn result_bytes(self) -> u32 {
        let sizes = self.info().params.iter().map(|param| match param {
            Param::Result { size, .. } => *size,
            _ => 0,
        });
        sizes.sum()
    }

    /// Whether it returns, with an errno.
    pub const fn has_result(self) -> bool {
        !matches!(self, Function::ProcExit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_at_their_numbers_and_names_are_unique() {
        assert_eq!(TABLE.iter().filter(|info| info.module == MODULE).count(), 46);
        for (number, info) in TABLE.iter().enumerate() {
            assert_eq!(info.function as usize, number);
            assert_eq!(Function::by_import(info.module, info.name), Some(info.function));
            assert_eq!(TABLE.iter().filter(|other| other.name == info.name).count(), 1);
        }
        assert_eq!(Function::by_import(MODULE, "tcp_connect"), None);
    }

    #[test]
    fn results_fit_a_reply() {
        for info in TABLE {
            assert!(info.function.result_bytes() <= 64, "{}", info.name);
        }
    }
}
