//! The limits of a store.

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
    /// Many threads get more than what there is by default: 64 KiB each, for their stacks and their heap.
    /// A program for WASI expects all that its addresses reach, as other engines have it. On the CPU it gets that: what
    /// it does not touch costs nothing there. A GPU has it taken.
    pub fn for_module(module: &Module, threads: u32, device: &mut dyn Device) -> StoreLimits {
        const OF_EACH: u64 = 64 << 10;
        let limits = StoreLimits::default();
        let program = module.program();
        let is_command = ["_start", "_initialize"]
            .iter()
            .any(|name| program.meta.export(name).is_some());
        let all = u64::from(threads) * OF_EACH;
        StoreLimits {
            undeclared_memory: match makes_requests(program) && is_command && device.as_compiled().is_none() {
                true => 1 << 32,
                false => all.clamp(DEFAULT_MEMORY, 1 << 32),
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
