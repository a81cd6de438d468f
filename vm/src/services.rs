//! What guests ask of the host: requests, and who answers them.

use gpu_run_bytecode::wasi::Function;

/// A call of a WASI function by a guest's thread.
///
/// The kernel has gathered what the function's pointers point to; the host sees no linear memory.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The function, of those that the host serves.
    pub function: Function,
    /// The thread that calls.
    pub thread: u32,
    /// The wasm arguments in order, i32 zero-extended. Pointers among them mean nothing to the host, but
    /// the lengths beside them do.
    pub args: &'r [u64],
    /// The bytes of all `In`, `InVec` and `Subscriptions` parameters, in order.
    pub input: &'r [u8],
    /// Bytes that the reply's data may have: what the `Out`, `OutVec` or `Events` parameter can take.
    pub capacity: usize,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// 0, or a WASI errno.
    pub errno: u16,
    /// The bytes of all `Result` parameters in order, if `errno` is 0; else empty.
    pub results: Vec<u8>,
    /// The bytes for the `Out`, `OutVec` or `Events` parameter, at most [`Request::capacity`] of them.
    /// They are written to the guest if `errno` is 0.
    pub data: Vec<u8>,
}

/// Who answers requests. Calls come from several host threads at once; a guest's thread makes one at a time.
pub trait Services: Send + Sync {
    /// Answers a request. May wait as long as the function does.
    fn call(&self, request: &Request<'_>) -> Reply;

    /// Whether the answer may take long because something else must come first: input, a connection, a
    /// time. Such calls get a host thread of their own.
    fn may_wait(&self, request: &Request<'_>) -> bool;
}
