//! A thread's stack and record, and those that wait for the next thread.

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use std::alloc::{alloc, dealloc};
use std::boxed::Box;
use std::vec::Vec;

#[cfg(not(target_arch = "wasm32"))]
use super::host as platform;
#[cfg(target_arch = "wasm32")]
use crate::platform;
use crate::sync::Locked;
use crate::word::Word32;

/// What a thread does.
pub(super) type Body = Box<dyn FnOnce() + Send>;

/// What `gpu-run` is told of a thread. It lies after the stack, in the same block.
///
/// The translator knows the first four words. Its `thread_start.rs` sets the thread's stack and calls the function. An
/// atomic store then says that the function has returned.
#[derive(Debug)]
#[repr(C, align(16))]
pub(crate) struct Record {
    stack_limit: *mut u8,
    stack_top: *mut u8,
    pub function: extern "C" fn(u32, *const Record),
    /// 1 once the thread has left its stack.
    pub ended: Word32,
    /// 1 once it has done what it was to do.
    done: Word32,
    body: UnsafeCell<Option<Body>>,
    layout: Layout,
}

#[cfg(target_arch = "wasm32")]
const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Record, stack_limit) == 0 && offset_of!(Record, stack_top) == 4);
    assert!(offset_of!(Record, function) == 8 && offset_of!(Record, ended) == 12);
};

/// A block of a stack and its record. Dropped, it is there for another thread once this one has left it.
#[derive(Debug)]
pub(super) struct Stack(NonNull<Record>);

// SAFETY: the owner of a stack only looks at words of its record, or waits until the thread has left it.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

/// Stacks that no thread's handle has any more.
struct Lists {
    /// Their threads have ended.
    free: Vec<NonNull<Record>>,
    /// Their threads may still run.
    left: Vec<NonNull<Record>>,
}

static STACKS: Locked<Lists> = Locked::new(Lists {
    free: Vec::new(),
    left: Vec::new(),
});

/// Stacks that are kept for other threads.
const KEPT: usize = 1024;
/// Stacks that a thread looks at for one that has become free.
const LOOKS: usize = 4;

impl Lists {
    /// Looks whether a few of the stacks have become free.
    fn sort_out(&mut self) {
        for _ in 0..LOOKS {
            let Some(left) = self.left.pop() else { break };
            if has_ended(left) {
                self.free.push(left);
            } else {
                // The next look is at another one.
                let last = self.left.len();
                self.left.push(left);
                self.left.swap(last / 2, last);
            }
        }
    }

    /// A free stack of this layout, looking at a few only.
    fn take(&mut self, layout: Layout) -> Option<NonNull<Record>> {
        self.sort_out();
        let fits = |record: &NonNull<Record>| layout_of(*record) == layout;
        let at = self.free.len() - self.free.iter().rev().take(LOOKS).position(fits)? - 1;
        Some(self.free.swap_remove(at))
    }

    /// All stacks whose threads have ended.
    fn take_all(&mut self) -> Vec<NonNull<Record>> {
        let mut all = core::mem::take(&mut self.free);
        all.extend(self.left.extract_if(.., |record| has_ended(*record)));
        all
    }
}

fn has_ended(record: NonNull<Record>) -> bool {
    // SAFETY: a record lives until its block is freed, which only happens to those that have ended. The load pairs with the
    // store in what `gpu-run` began the thread with.
    unsafe { record.as_ref() }.ended.get() != 0
}

fn layout_of(record: NonNull<Record>) -> Layout {
    // SAFETY: it lives, and its layout does not change.
    unsafe { record.as_ref() }.layout
}

/// Frees a block whose thread has ended.
fn free(record: NonNull<Record>) {
    let layout = layout_of(record);
    // SAFETY: it was allocated like that, and nothing refers to it any more. Its body is gone.
    unsafe { dealloc(first_byte(record, layout), layout) }
}

/// Where the block begins, which is as far as the stack may grow.
fn first_byte(record: NonNull<Record>, layout: Layout) -> *mut u8 {
    // SAFETY: the record is the block's last part.
    unsafe { record.cast::<u8>().as_ptr().sub(layout.size() - size_of::<Record>()) }
}

impl Stack {
    /// A stack of at least so many bytes, for a thread that will call `function`. None if there is no memory for it.
    pub fn new(size: usize, function: extern "C" fn(u32, *const Record), body: Body) -> Option<Stack> {
        let size = size.max(1024).checked_next_multiple_of(align_of::<Record>())?;
        let layout = Layout::from_size_align(size.checked_add(size_of::<Record>())?, align_of::<Record>()).ok()?;
        let record = STACKS
            .with(|lists| lists.take(layout))
            .or_else(|| make(layout))
            .or_else(|| {
                // Others may be of other sizes.
                STACKS.with(Lists::take_all).into_iter().for_each(free);
                make(layout)
            })?;
        let value = Record {
            stack_limit: first_byte(record, layout),
            stack_top: record.cast().as_ptr(),
            function,
            ended: Word32::new(0),
            done: Word32::new(0),
            body: UnsafeCell::new(Some(body)),
            layout,
        };
        // SAFETY: the block is this one's, and as large as its layout says.
        unsafe { record.write(value) };
        Some(Stack(record))
    }

    /// Begins the thread: false if there is no room for one.
    pub fn begin(&self) -> bool {
        // SAFETY: the record is one, and stays until the thread has ended.
        let begun = unsafe { platform::spawn_thread(self.0.as_ptr()) };
        if !begun {
            let record = self.record();
            // SAFETY: no thread has it.
            drop(unsafe { (*record.body.get()).take() });
            record.done.set(1);
            record.ended.set(1);
        }
        begun
    }

    fn record(&self) -> &Record {
        // SAFETY: it lives as long as this.
        unsafe { self.0.as_ref() }
    }

    /// Whether the thread has done what it was to do.
    pub fn is_done(&self) -> bool {
        self.record().done.get() != 0
    }

    /// Waits until the thread has done what it was to do.
    pub fn wait(&self) {
        while !self.is_done() {
            self.record().done.wait(0);
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let record = self.0;
        let spare = STACKS.with(|lists| {
            lists.left.push(record);
            lists.sort_out();
            let kept = lists.free.len().min(KEPT);
            lists.free.split_off(kept)
        });
        spare.into_iter().for_each(free);
    }
}

fn make(layout: Layout) -> Option<NonNull<Record>> {
    // SAFETY: the size is not 0.
    let block = NonNull::new(unsafe { alloc(layout) })?;
    // SAFETY: the record is the block's last part; both are aligned alike.
    Some(unsafe { block.add(layout.size() - size_of::<Record>()) }.cast())
}

impl Record {
    /// What the thread is to do; once.
    ///
    /// # Safety
    ///
    /// The caller is the thread.
    pub unsafe fn take_body(&self) -> Option<Body> {
        // SAFETY: only the thread takes it, after it was put there before the thread began.
        unsafe { (*self.body.get()).take() }
    }

    /// Says that the thread has done what it was to do.
    pub fn finish(&self) {
        self.done.set(1);
        // The record stays until the thread has ended.
        self.done.wake(u32::MAX);
    }
}
