//! Memory as programs reach it: this process's, as far as it is the device's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::arithmetic::binary;
use crate::inst::{Atomic, Binary, Ty};

/// Bytes in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Address of the first.
    pub begin: u64,
    /// How many.
    pub bytes: u64,
}

impl Range {
    #[inline(always)]
    fn holds(self, address: u64, bytes: u64) -> bool {
        // Of what lies before the range the difference is large.
        let at = address.wrapping_sub(self.begin);
        at < self.bytes && self.bytes - at >= bytes
    }
}

/// What the lanes of a block have in common.
#[derive(Debug)]
pub struct Block {
    /// Shared memory, only reached through addresses.
    shared: Box<[AtomicU64]>,
    /// Lanes.
    lanes: u32,
    /// How often one of them has come to a barrier.
    arrived: AtomicU32,
}

impl Block {
    /// A block of so many lanes with so many bytes of shared memory. As on a GPU, anything may stand there.
    pub fn new(lanes: u32, bytes: u32) -> Block {
        let words = (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0xa5a5_a5a5_a5a5_a5a5));
        Block {
            shared: words.collect(),
            lanes,
            arrived: AtomicU32::new(0),
        }
    }

    fn shared(&self) -> Range {
        Range {
            begin: self.shared.as_ptr() as u64,
            bytes: 8 * self.shared.len() as u64,
        }
    }

    /// A lane comes to a barrier: how many must have come until it goes on.
    pub fn arrive(&self) -> u32 {
        // Pairs with `have_come` of the others.
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        (before / self.lanes + 1) * self.lanes
    }

    /// Whether so many have come.
    pub fn have_come(&self, lanes: u32) -> bool {
        // Pairs with `arrive`.
        self.arrived.load(Ordering::Acquire) >= lanes
    }
}

/// What a lane may reach: its stack, its block's shared memory, and what was allocated when it began.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The lane's stack.
    pub stack: Range,
    /// Its block.
    pub block: Arc<Block>,
    shared: Range,
    /// Sorted.
    ranges: Arc<[Range]>,
    /// Where the last access was.
    last: Range,
}

impl Memory {
    /// A stack, the lane's block, and ranges in their order.
    pub fn new(stack: Range, block: Arc<Block>, ranges: Arc<[Range]>) -> Memory {
        Memory {
            stack,
            shared: block.shared(),
            block,
            ranges,
            last: stack,
        }
    }

    /// Where shared memory begins.
    #[inline(always)]
    pub fn shared(&self) -> u64 {
        self.shared.begin
    }

    /// Looks whether there is memory.
    ///
    /// # Errors
    ///
    /// What is wrong with the access.
    #[inline(always)]
    pub fn check(&mut self, address: u64, bytes: u32, align: u8) -> Result<(), String> {
        if address & (align as u64 - 1) != 0 {
            return Err(format!("the address {address:#x} is no multiple of {align}"));
        }
        if self.stack.holds(address, bytes as u64) || self.last.holds(address, bytes as u64) {
            return Ok(());
        }
        self.find(address, bytes)
    }

    #[cold]
    fn find(&mut self, address: u64, bytes: u32) -> Result<(), String> {
        if self.shared.holds(address, bytes.into()) {
            return Ok(());
        }
        let behind = self.ranges.partition_point(|range| range.begin <= address);
        let range = behind.checked_sub(1).map(|at| self.ranges[at]);
        match range.filter(|range| range.holds(address, bytes as u64)) {
            Some(range) => {
                self.last = range;
                Ok(())
            }
            None => {
                let near = range.map_or_else(String::new, |range| {
                    format!(
                        "; the allocation before it begins {:#x} bytes before and has {:#x}",
                        address - range.begin,
                        range.bytes
                    )
                });
                Err(format!("no memory of the device has the address {address:#x}{near}"))
            }
        }
    }
}

/// Loads a value.
///
/// # Safety
///
/// There is memory at the address. Other threads access it at the same time only if this is strong, and
/// then the address is a multiple of the type's bytes.
#[inline(always)]
pub unsafe fn load(ty: Ty, address: u64, strong: bool) -> u64 {
    if strong {
        // Pairs with strong stores of the host and of other lanes.
        let order = Ordering::SeqCst;
        // SAFETY: the caller's promise.
        return unsafe {
            match ty.bytes() {
                1 => AtomicU8::from_ptr(address as *mut u8).load(order) as u64,
                2 => AtomicU16::from_ptr(address as *mut u16).load(order) as u64,
                4 => AtomicU32::from_ptr(address as *mut u32).load(order) as u64,
                _ => AtomicU64::from_ptr(address as *mut u64).load(order),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match ty.bytes() {
            1 => (address as *const u8).read() as u64,
            2 => (address as *const u16).read_unaligned() as u64,
            4 => (address as *const u32).read_unaligned() as u64,
            _ => (address as *const u64).read_unaligned(),
        }
    }
}

/// Stores a value.
///
/// # Safety
///
/// As [`load`].
#[inline(always)]
pub unsafe fn store(ty: Ty, address: u64, value: u64, strong: bool) {
    if strong {
        // Pairs with strong loads of the host and of other lanes.
        let order = Ordering::SeqCst;
        // SAFETY: the caller's promise.
        return unsafe {
            match ty.bytes() {
                1 => AtomicU8::from_ptr(address as *mut u8).store(value as u8, order),
                2 => AtomicU16::from_ptr(address as *mut u16).store(value as u16, order),
                4 => AtomicU32::from_ptr(address as *mut u32).store(value as u32, order),
                _ => AtomicU64::from_ptr(address as *mut u64).store(value, order),
            }
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        match ty.bytes() {
            1 => (address as *mut u8).write(value as u8),
            2 => (address as *mut u16).write_unaligned(value as u16),
            4 => (address as *mut u32).write_unaligned(value as u32),
            _ => (address as *mut u64).write_unaligned(value),
        }
    }
}

/// What an operation makes of the old value.
fn changed(op: Atomic, ty: Ty, old: u64, a: u64, b: u64) -> u64 {
    match op {
        Atomic::Add => binary(Binary::Add, ty, old, a),
        Atomic::And => old & a,
        Atomic::Or => old | a,
        Atomic::Xor => old ^ a,
        Atomic::Exch => a,
        Atomic::Min => binary(Binary::Min, ty, old, a),
        Atomic::Max => binary(Binary::Max, ty, old, a),
        Atomic::Cas if old == binary(Binary::Or, ty, a, 0) => b,
        Atomic::Cas => old,
    }
}

/// Changes a value in one step, and returns the old one.
///
/// # Safety
///
/// There is memory at the address, which is a multiple of the type's bytes.
pub unsafe fn atomic(op: Atomic, ty: Ty, address: u64, a: u64, b: u64) -> u64 {
    // Pairs with strong accesses of the host and of other lanes.
    let order = Ordering::SeqCst;
    if ty.bytes() == 8 {
        // SAFETY: the caller's promise.
        let word = unsafe { AtomicU64::from_ptr(address as *mut u64) };
        let update = |old| Some(changed(op, ty, old, a, b));
        return word.fetch_update(order, order, update).unwrap_or_else(|old| old);
    }
    // SAFETY: the caller's promise.
    let word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
    let update = |old| Some(changed(op, ty, old as u64, a, b) as u32);
    word.fetch_update(order, order, update).unwrap_or_else(|old| old) as u64
}
