//! CUDA contexts: one for each open device, and the one that a link borrows.
//!
//! A [`Cuda`](super::Cuda) has a context of its own and not the process's primary one, unless it was opened
//! [again](crate::device::Device::again) in the context of another. Allocating, freeing and loading
//! a module wait until all kernels of the context have ended, and keep other calls of the context waiting. A kernel of
//! ours may wait for its host in turn, which needs such calls to serve it: in a context that two stores share, one on
//! each thread, all would wait for ever. Of contexts that are not shared only the destruction waits, until the kernels of
//! the others have ended; none of these waits for that (driver 580).

use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::{result, sys};

use super::{check, driver};
use crate::device::DeviceResult;

/// The contexts that there are, for links.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// A context on a device.
pub(super) struct Context {
    handle: sys::CUcontext,
    ordinal: i32,
}

// SAFETY: a handle. The driver takes it on any thread.
unsafe impl Send for Context {}
// SAFETY: as above; nothing here is changed after it was made.
unsafe impl Sync for Context {}

impl Context {
    /// A new context on device `ordinal`, current on this thread.
    pub(super) fn new(ordinal: i32) -> DeviceResult<Arc<Context>> {
        let device = result::device::get(ordinal).map_err(|error| driver("cuDeviceGet", error))?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the driver sets the handle; it is destroyed in `drop`.
        check("cuCtxCreate", unsafe { sys::cuCtxCreate_v2(&mut handle, 0, device) })?;
        let context = Arc::new(Context { handle, ordinal });
        let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(&context));
        drop(contexts);
        // Making it has pushed it onto this thread's stack, from which nobody would take it.
        let mut popped = std::ptr::null_mut();
        // SAFETY: the context just pushed is popped.
        check("cuCtxPopCurrent", unsafe { sys::cuCtxPopCurrent_v2(&mut popped) })?;
        context.enter().map(|()| context)
    }

    /// Any context on device `ordinal`, current on this thread: an open device's if there is one.
    ///
    /// It stays as long as what is returned, and is for work that launches and allocates nothing.
    pub(super) fn any(ordinal: i32) -> DeviceResult<Arc<Context>> {
        let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let on_device = |context: &Arc<Context>| context.ordinal == ordinal;
        let known = contexts.iter().rev().filter_map(Weak::upgrade).find(on_device);
        drop(contexts);
        match known {
            Some(context) => context.enter().map(|()| context),
            None => Context::new(ordinal),
        }
    }

    /// Makes it this thread's current context. A thread may use several devices in turn.
    pub(super) fn enter(&self) -> DeviceResult<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.handle) }.map_err(|error| driver("cuCtxSetCurrent", error))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made in `new`, destroyed once; nobody has it any more.
        _ = unsafe { sys::cuCtxDestroy_v2(self.handle) };
    }
}
