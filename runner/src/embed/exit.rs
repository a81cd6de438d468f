//! Compilers that work on after their time was over, and the end of the process meanwhile.
//!
//! The driver's clean-up at exit takes away what its compiler works on, and the process crashes. A device that is closed
//! meanwhile does the same harm. So a store stays while a compiler works, and the end of the process waits for
//! compilers: `Working` has a handler run before the driver's. A process that is in a hurry ends by [`leave_at_once`].

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, Once, PoisonError};

use gpu_run_vm::Store;

/// How many compilers work, and the news that one is done.
static WORKING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// Whether a compiler works.
pub fn is_compiling() -> bool {
    *WORKING.0.lock().unwrap_or_else(PoisonError::into_inner) > 0
}

/// A compiler that works while this is there.
pub(super) struct Working(());

impl Working {
    /// Begins it. The driver is loaded by now, so that the handler for the process's end runs before the driver's own.
    pub(super) fn begin() -> Working {
        static REGISTERED: Once = Once::new();
        // Without the handler the process may crash at its end, after all its work.
        // SAFETY: the handler is a function of no captures that lives as long as the process.
        REGISTERED.call_once(|| _ = unsafe { libc::atexit(wait_for_compilers) });
        *WORKING.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Working(())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        *WORKING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        WORKING.1.notify_all();
    }
}

/// Waits until no compiler works.
extern "C" fn wait_for_compilers() {
    let working = WORKING.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = WORKING.1.wait_while(working, |working| *working > 0);
    drop(waited.unwrap_or_else(PoisonError::into_inner));
}

/// Ends the process at once, whatever its other threads are doing and without the clean-up that libraries do at exit. What
/// is to be written must have been.
pub fn leave_at_once(code: u8) -> ! {
    signal_hook::low_level::exit(code.into())
}

/// A store that is not taken down while a compiler works: then it stays until the process ends.
pub(super) struct HeldStore(ManuallyDrop<Store>);

impl HeldStore {
    pub(super) fn new(store: Store) -> HeldStore {
        HeldStore(ManuallyDrop::new(store))
    }
}

impl Drop for HeldStore {
    fn drop(&mut self) {
        if !is_compiling() {
            // SAFETY: dropped here only, and not used any more.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for HeldStore {
    type Target = Store;
    fn deref(&self) -> &Store {
        &self.0
    }
}

impl DerefMut for HeldStore {
    fn deref_mut(&mut self) -> &mut Store {
        &mut self.0
    }
}
