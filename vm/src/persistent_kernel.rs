//! One kernel for many stores: it stays on the device and is told what to run next.
//!
//! A script test makes a store for each script, and in it thousands of modules and calls. Here all the
//! stores share a device, one kernel on one lane and one set of large pieces of memory. A run is a
//! command: the address of its launch record in a ring of pinned memory. The kernel comes to it in
//! turn (`next_command` of `kernel/scheduler.h`). No driver call stands between two commands.
//!
//! A CUDA driver may wait for the running kernel when it allocates memory, so stores get theirs from
//! pieces that are already there. When those are used up, the kernel is told to end, another piece is
//! allocated, and the next command starts the kernel again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::arena::Arena;
use crate::device::{Device, DeviceError, DeviceResult, Pinned, Plan};
use crate::layout::{COMMANDS, Commands, Launch, Ptr};
use crate::tsan;

/// Bytes of a piece of memory, of pinned memory, and of memory for code.
const PIECE: u64 = 4 << 30;
const PINNED_PIECE: u64 = 8 << 20;
const CODE_PIECE: u64 = 64 << 20;

/// Calls of `finished` between two looks at the kernel itself.
const LOOK_EVERY: u32 = 64;

/// A device that serves many stores with one kernel; see the module's documentation.
pub struct PersistentKernel(Rc<RefCell<Serving>>);

impl PersistentKernel {
    /// Serves with `device`, which is the server's alone.
    pub fn new(mut device: Box<dyn Device>) -> DeviceResult<PersistentKernel> {
        device.prepare_interpreter()?;
        let commands = device.allocate_pinned(size_of::<Commands>() as u64)?;
        let record = device.allocate(size_of::<Launch>() as u64, "launch records")?;
        let pools = (!device.allocates_while_running()).then(Pools::default);
        Ok(PersistentKernel(Rc::new(RefCell::new(Serving {
            plan: device.plan(1, 0),
            device,
            commands,
            record,
            published: 0,
            running: false,
            polls: 0,
            pinned: Arena::default(),
            pinned_pieces: Vec::new(),
            pools,
        }))))
    }

    /// A device for one store. Whatever number of threads a run has, they share one lane. Memory that
    /// the store does not free is freed with it.
    pub fn client(&self) -> Box<dyn Device> {
        Box::new(Client {
            serving: self.0.clone(),
            blocks: HashSet::new(),
            pinned: Vec::new(),
        })
    }
}

/// Memory that was allocated while no kernel ran.
#[derive(Default)]
struct Pools {
    memory: Arena,
    /// Pieces that hold nothing but code; see [`Serving::release`].
    code: Arena,
    /// Blocks of code that were given back, but may not be used again while the kernel runs.
    retired: Vec<Ptr>,
}

struct Serving {
    device: Box<dyn Device>,
    /// Of the kernel, and so of all that it runs.
    plan: Plan,
    /// [`Commands`].
    commands: Pinned,
    /// The launch record of the kernel, into which it copies those of its commands.
    record: Ptr,
    /// Commands so far.
    published: u64,
    /// Whether the kernel runs.
    running: bool,
    polls: u32,
    pinned: Arena,
    pinned_pieces: Vec<(Pinned, u64)>,
    /// None if the device allocates memory while a kernel runs.
    pools: Option<Pools>,
}

impl Serving {
    /// A counter of [`Commands`] at a byte offset.
    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: callers pass offsets of fields of 8 bytes; while the kernel runs, it and we access them
        // by atomics alone.
        unsafe { AtomicU64::from_ptr(self.commands.host.add(at).cast()) }
    }

    /// Commands that have ended.
    fn ended(&self) -> u64 {
        let counter = self.counter(std::mem::offset_of!(Commands, ended));
        // Acquire pairs with the lane's release in `next_command`: what the commands wrote is seen.
        let ended = counter.load(Ordering::Acquire);
        tsan::acquired(counter.as_ptr().cast());
        ended
    }

    /// Publishes a command: the address of a launch record, or 0 to end the kernel.
    fn publish(&mut self, launch: Ptr) {
        let at = std::mem::offset_of!(Commands, launches) + self.published as usize % COMMANDS * size_of::<Ptr>();
        // Relaxed: the release below orders it, and the lane has taken what stood there before.
        self.counter(at).store(launch, Ordering::Relaxed);
        self.published += 1;
        let counter = self.counter(std::mem::offset_of!(Commands, published));
        tsan::released(counter.as_ptr().cast());
        // Release pairs with the lane's acquire in `next_command`. Before it came all that the host wrote
        // to pinned memory and, as `Device::write` and `clear` wait for it, to the device's.
        counter.store(self.published, Ordering::Release);
    }

    /// Runs a launch record after those that were published before.
    unsafe fn start(&mut self, launch: Ptr) -> DeviceResult<()> {
        if !self.running {
            // No threads: it goes on to the first command at once.
            let record = Launch {
                lanes: 1,
                commands: self.commands.device,
                taken: self.published,
                ..bytemuck::Zeroable::zeroed()
            };
            // SAFETY: the server's own record and ring; no kernel runs. All stay until it has ended.
            unsafe {
                self.device.write(self.record, bytemuck::bytes_of(&record))?;
                self.device.start(self.record, self.plan)?;
            }
            self.running = true;
        }
        if self.published - self.ended() >= COMMANDS as u64 - 1 {
            return Err(DeviceError::Unavailable {
                what: format!("more than {} runs are under way at once", COMMANDS - 1),
            });
        }
        self.publish(launch);
        Ok(())
    }

    /// Whether all commands have ended.
    fn finished(&mut self) -> DeviceResult<bool> {
        if !self.running || self.ended() == self.published {
            return Ok(true);
        }
        self.polls = self.polls.wrapping_add(1);
        if !self.polls.is_multiple_of(LOOK_EVERY) {
            return Ok(false);
        }
        match self.device.finished() {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.running = false;
                Err(DeviceError::Unavailable {
                    what: "the kernel that serves the stores has ended by itself".into(),
                })
            }
            Err(error) => {
                self.running = false;
                Err(error)
            }
        }
    }

    /// Ends the kernel, once it has run its commands. Code that it may have read is memory like any other
    /// then: a kernel that starts finds nothing of it in the caches.
    fn stop(&mut self) -> DeviceResult<()> {
        if self.running {
            self.publish(0);
            self.running = false;
            while !self.device.finished()? {
                std::thread::yield_now();
            }
        }
        if let Some(pools) = &mut self.pools {
            pools.retired.drain(..).for_each(|block| pools.code.give(block));
        }
        Ok(())
    }

    /// Takes a block from a pool, to which a piece is added if it must be.
    fn allocate(&mut self, bytes: u64, pool: Pool, what: &'static str) -> DeviceResult<Ptr> {
        let Some(pools) = &mut self.pools else {
            return match pool {
                Pool::Memory => self.device.allocate(bytes, what),
                Pool::Code => self.device.allocate_code(bytes),
            };
        };
        let mut block = pools.of(pool).take(bytes);
        if block.is_none() {
            self.stop()?;
            let least = Arena::piece_for(bytes);
            let wanted = match pool {
                Pool::Memory => PIECE.min(self.device.free_memory() / 2),
                Pool::Code => CODE_PIECE,
            };
            let arena = self.pools.as_mut().expect("it has pools").of(pool);
            // What was retired may do for code.
            block = arena.take(bytes);
            if block.is_none() {
                let (piece, size) = match self.device.allocate(wanted.max(least), what) {
                    Ok(piece) => (piece, wanted.max(least)),
                    Err(DeviceError::OutOfMemory { .. }) => (self.device.allocate(least, what)?, least),
                    Err(error) => return Err(error),
                };
                arena.add(piece, size);
                block = arena.take(bytes);
            }
        }
        let block = block.expect("the new piece holds it");
        // SAFETY: the block has no user yet.
        unsafe { self.device.clear(block, bytes)? };
        Ok(block)
    }

    /// Takes a block back. Code is not written again while the kernel runs that may have read it. So
    /// blocks of code wait until it has ended, and no piece holds both code and other memory.
    unsafe fn release(&mut self, block: Ptr) {
        match &mut self.pools {
            Some(pools) if pools.code.has(block) => pools.retired.push(block),
            Some(pools) => pools.memory.give(block),
            // SAFETY: the caller's promise.
            None => unsafe { self.device.release(block) },
        }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        let mut block = self.pinned.take(bytes);
        if block.is_none() {
            if self.pools.is_some() {
                self.stop()?;
            }
            let size = PINNED_PIECE.max(Arena::piece_for(bytes));
            let piece = self.device.allocate_pinned(size)?;
            self.pinned_pieces.push((piece, size));
            self.pinned.add(piece.device, size);
            block = self.pinned.take(bytes);
        }
        let device = block.expect("the new piece holds it");
        let inside = |(piece, size): &&(Pinned, u64)| (piece.device..piece.device + size).contains(&device);
        let (piece, _) = self.pinned_pieces.iter().find(inside).expect("blocks are of pieces");
        // SAFETY: the block lies in the piece, on both sides at the same offset, and has no user yet.
        let host = unsafe {
            let host = piece.host.add((device - piece.device) as usize);
            std::ptr::write_bytes(host, 0, bytes as usize);
            host
        };
        Ok(Pinned { host, device })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // An error cannot be helped any more; the device frees what is its own.
        _ = self.stop();
    }
}

#[derive(Clone, Copy)]
enum Pool {
    Memory,
    Code,
}

impl Pools {
    fn of(&mut self, pool: Pool) -> &mut Arena {
        match pool {
            Pool::Memory => &mut self.memory,
            Pool::Code => &mut self.code,
        }
    }
}

/// A store's view of the device.
struct Client {
    serving: Rc<RefCell<Serving>>,
    blocks: HashSet<Ptr>,
    pinned: Vec<Ptr>,
}

impl Drop for Client {
    fn drop(&mut self) {
        // Its runs have ended, except where a panic came between. After an error none is under way.
        while let Ok(false) = self.finished() {
            std::thread::yield_now();
        }
        let mut serving = self.serving.borrow_mut();
        for block in self.blocks.drain() {
            // SAFETY: the client's; its store is gone and its runs have ended.
            unsafe { serving.release(block) };
        }
        for block in self.pinned.drain(..) {
            serving.pinned.give(block);
        }
    }
}

impl Device for Client {
    fn clock_rate(&self) -> Option<f64> {
        self.serving.borrow().device.clock_rate()
    }

    fn name(&self) -> String {
        self.serving.borrow().device.name()
    }

    fn free_memory(&self) -> u64 {
        let serving = self.serving.borrow();
        let pooled = serving.pools.as_ref().map_or(0, |pools| pools.memory.free_bytes());
        serving.device.free_memory() + pooled
    }

    fn allocate(&mut self, bytes: u64, what: &'static str) -> DeviceResult<Ptr> {
        let block = self.serving.borrow_mut().allocate(bytes, Pool::Memory, what)?;
        self.blocks.insert(block);
        Ok(block)
    }

    fn allocate_code(&mut self, bytes: u64) -> DeviceResult<Ptr> {
        let block = self.serving.borrow_mut().allocate(bytes, Pool::Code, "code")?;
        self.blocks.insert(block);
        Ok(block)
    }

    fn allocates_while_running(&self) -> bool {
        false
    }

    unsafe fn release(&mut self, ptr: Ptr) {
        if self.blocks.remove(&ptr) {
            // SAFETY: the caller's promise.
            unsafe { self.serving.borrow_mut().release(ptr) };
        }
    }

    fn allocate_pinned(&mut self, bytes: u64) -> DeviceResult<Pinned> {
        let pinned = self.serving.borrow_mut().allocate_pinned(bytes)?;
        self.pinned.push(pinned.device);
        Ok(pinned)
    }

    unsafe fn write(&mut self, to: Ptr, bytes: &[u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.serving.borrow_mut().device.write(to, bytes) }
    }

    unsafe fn read(&mut self, from: Ptr, bytes: &mut [u8]) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.serving.borrow_mut().device.read(from, bytes) }
    }

    unsafe fn clear(&mut self, at: Ptr, bytes: u64) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.serving.borrow_mut().device.clear(at, bytes) }
    }

    fn plan(&self, _threads: u32, _frame: u32) -> Plan {
        self.serving.borrow().plan
    }

    unsafe fn start(&mut self, launch: Ptr, _plan: Plan) -> DeviceResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.serving.borrow_mut().start(launch) }
    }

    fn finished(&mut self) -> DeviceResult<bool> {
        self.serving.borrow_mut().finished()
    }
}
