//! The functions by which processes start others, with the numbers of their interface.

/// `SpawnRequest::streams`, where they are no handles.
pub const INHERIT: u32 = 0;
pub const NULL: u32 = 1;
pub const PIPE: u32 = 2;
/// `SpawnRequest::environment_count`: the child has its parent's environment.
pub const OWN_ENVIRONMENT: usize = usize::MAX;
/// Of `wait`: it does not wait.
pub const NO_HANG: u32 = 1;
/// Of a length of `pipe_read`: it does not wait.
pub const NO_WAIT: usize = 1 << 31;

/// What kind of end `wait` tells of; the value beside it is an exit code or a trap.
pub const EXITED: u32 = 0;
pub const TRAPPED: u32 = 1;

/// Errors that have a meaning of their own here.
pub const AGAIN: u16 = 6;
pub const NOSYS: u16 = 52;

/// What a child is started with: pointers into memory and their lengths.
#[repr(C)]
pub struct SpawnRequest {
    pub program: *const u8,
    pub program_length: usize,
    pub args: *const u8,
    pub args_length: usize,
    pub args_count: usize,
    pub environment: *const u8,
    pub environment_length: usize,
    pub environment_count: usize,
    /// [`INHERIT`] and so on, or a handle. In the place of [`PIPE`] the call stores the handle of the parent's end.
    pub streams: [u32; 3],
    /// The call stores it.
    pub pid: u32,
}

#[link(wasm_import_module = "gpu_run_process_v1")]
unsafe extern "C" {
    pub fn spawn(request: *mut SpawnRequest) -> i32;
    pub fn wait(pid: u32, flags: u32, status: *mut [u32; 2]) -> i32;
    pub safe fn kill(pid: u32) -> i32;
    pub fn id(pid: *mut u32) -> i32;
    pub fn pipe_read(handle: u32, to: *mut u8, length: usize, count: *mut usize) -> i32;
    pub fn pipe_write(handle: u32, from: *const u8, length: usize, count: *mut usize) -> i32;
    pub safe fn pipe_close(handle: u32) -> i32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    pub safe fn sched_yield() -> i32;
}
