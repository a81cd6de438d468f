//! Wakers: of tasks, of threads that wait, and of one future among several.

use core::task::{RawWaker, RawWakerVTable, Waker};
use std::boxed::Box;

use crate::event::Event;
use crate::sync::Arc;
use crate::task::Owner;
use crate::word::Word32;

/// A waker of a task: an owner, as an address.
pub(crate) fn waker_of(task: Owner) -> Waker {
    static TASK: RawWakerVTable = RawWakerVTable::new(
        // SAFETY: the address is an owner's, which stays with the waker. The same holds below.
        |data| unsafe {
            let task = core::mem::ManuallyDrop::new(Owner::from_raw(data));
            RawWaker::new((*task).clone().into_raw(), &TASK)
        },
        // SAFETY: as above; the owner ends here.
        |data| unsafe { Owner::from_raw(data).wake() },
        // SAFETY: as above.
        |data| unsafe { core::mem::ManuallyDrop::new(Owner::from_raw(data)).wake() },
        // SAFETY: as above; the owner ends here.
        |data| drop(unsafe { Owner::from_raw(data) }),
    );
    // SAFETY: the functions keep what `RawWakerVTable` asks for: they are the owner's, who may be in any thread.
    unsafe { Waker::new(task.into_raw(), &TASK) }
}

/// What a waker of [`of`] does.
pub(super) trait Wakes: Clone + Send + Sync + 'static {
    fn wake(&self);
}

/// A waker of any kind.
pub(super) fn of<W: Wakes>(wakes: W) -> Waker {
    struct Table<W>(core::marker::PhantomData<W>);
    impl<W: Wakes> Table<W> {
        const TABLE: RawWakerVTable = RawWakerVTable::new(
            // SAFETY: the data is a box with this type, which stays with the waker. The same holds below.
            |data| unsafe { raw((*data.cast::<W>()).clone()) },
            // SAFETY: as above; the box ends here.
            |data| unsafe { Box::from_raw(data.cast_mut().cast::<W>()).wake() },
            // SAFETY: as above.
            |data| unsafe { (*data.cast::<W>()).wake() },
            // SAFETY: as above; the box ends here.
            |data| drop(unsafe { Box::from_raw(data.cast_mut().cast::<W>()) }),
        );
    }
    fn raw<W: Wakes>(wakes: W) -> RawWaker {
        RawWaker::new(Box::into_raw(Box::new(wakes)).cast_const().cast(), &Table::<W>::TABLE)
    }
    // SAFETY: the functions keep what `RawWakerVTable` asks for; the type may be in any thread.
    unsafe { Waker::from_raw(raw(wakes)) }
}

/// A thread that waits for a future.
#[derive(Debug, Default)]
pub(super) struct Woken {
    woken: Word32,
    event: Event,
}

impl Woken {
    /// Waits for the waker until a time of [`crate::time`]; whether it came.
    pub fn wait(&self, until: u64) -> bool {
        let look = || (self.woken.swap(0) != 0).then_some(());
        self.event.wait_and_help(look, Some(until)).is_some()
    }
}

impl Wakes for Arc<Woken> {
    fn wake(&self) {
        self.woken.set(1);
        self.event.notify_all();
    }
}

pub(super) fn waker_of_thread(woken: Arc<Woken>) -> Waker {
    of(woken)
}
