//! The limits of a store.

use gpu_run_bytecode::wasi::INITIALIZE;
use gpu_run_vm::{DEFAULT_MEMORY, Device, HeapChecks, Limits, RunOptions, makes_requests};

use crate::embed::module::Module;

/// Limits of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreLimits {
    /// Bytes that a memory may have; `None` is what it declares, or `undeclared_memory`.
    pub memory: Option<u64>,
    /// Bytes that a memory may have which declares no maximum, if `memory` sets none.
    pub undeclared_memory: u64,
    /// Elements that a table may have.
    pub table_elements: u32,
    /// Calls that may be open at once in a thread.
    pub call_depth: u32,
    /// Bytes of memory that each thread of a kernel has as its stack, rounded down to a multiple of 16. Where memory has
    /// no room for so large stacks, they are halved.
    pub thread_stack: u32,
    /// Bytes that such a stack has at least.
    pub least_thread_stack: u32,
    /// Threads that there may be at once in a program that spawns some, with the first one. Compiled there are no more
    /// than the GPU has resident lanes.
    pub spawned_threads: u32,
    /// What heaps look at. Each check costs time and memory.
    pub heap: HeapChecks,
}

impl Default for StoreLimits {
    fn default() -> StoreLimits {
        let (limits, options) = (Limits::default(), RunOptions::default());
        StoreLimits {
            memory: limits.memory,
            undeclared_memory: limits.undeclared_memory,
            table_elements: limits.table,
            call_depth: limits.call_depth,
            thread_stack: options.thread_stack,
            least_thread_stack: options.least_thread_stack,
            spawned_threads: options.most_threads,
            heap: limits.heap,
        }
    }
}

impl StoreLimits {
    /// The defaults, with as much undeclared memory as a module needs that runs on so many threads of that device.
    ///
    /// Many threads get more than what there is by default: 64 KiB each, for their stacks and their heap. On a GPU that is at
    /// most half of the memory that is free, for the heap's records and the lanes' own stacks need some too.
    /// A program for WASI expects all that its addresses reach, as other engines have it. On the CPU it gets that: what
    /// it does not touch costs nothing there. A GPU has it taken.
    pub fn for_module(module: &Module, threads: u32, device: &mut dyn Device) -> StoreLimits {
        let limits = StoreLimits::default();
        let program = module.program();
        let is_command = ["_start", INITIALIZE]
            .iter()
            .any(|name| program.meta.export(name).is_some());
        let free = device.as_compiled().is_some().then(|| device.free_memory());
        StoreLimits {
            undeclared_memory: match makes_requests(program) && is_command && free.is_none() {
                true => 1 << 32,
                false => memory_of_threads(threads, free),
            },
            ..limits
        }
    }

    pub(super) fn of_vm(&self) -> Limits {
        Limits {
            memory: self.memory,
            undeclared_memory: self.undeclared_memory,
            table: self.table_elements,
            call_depth: self.call_depth,
            heap: self.heap,
            ..Limits::default()
        }
    }
}

/// Bytes of a memory for so many threads, on a device that takes them from so many that are free.
fn memory_of_threads(threads: u32, free: Option<u64>) -> u64 {
    const OF_EACH: u64 = 64 << 10;
    let half = free.map_or(u64::MAX, |free| free / 2 / OF_EACH * OF_EACH);
    (u64::from(threads) * OF_EACH).clamp(DEFAULT_MEMORY, half.clamp(DEFAULT_MEMORY, 1 << 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_64_kib_each_or_what_half_of_the_device_has_room_for() {
        assert_eq!(memory_of_threads(1, None), DEFAULT_MEMORY);
        assert_eq!(memory_of_threads(32_768, None), 2 << 30);
        assert_eq!(memory_of_threads(1_000_000, None), 1 << 32);
        // A GPU of 8 GiB of which 6 are free, one that is nearly full, and one of 141 GB.
        assert_eq!(memory_of_threads(67_584, Some(6 << 30)), 3 << 30);
        assert_eq!(memory_of_threads(67_584, Some(100 << 20)), DEFAULT_MEMORY);
        assert_eq!(memory_of_threads(67_584, Some(139 << 30)), 1 << 32);
        // Whole pages.
        assert_eq!(memory_of_threads(67_584, Some((6 << 30) + 12_345)), 3 << 30);
    }
}
