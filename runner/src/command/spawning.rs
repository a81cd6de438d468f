//! What a program is told that spawns threads: how many are of use, and how large their stacks may be.
//!
//! std has no answer of its own on this target (`available_parallelism` is an error there), and its stacks of 2 MiB fill
//! a memory of 1 GiB with 512 threads. Both can be told by variables that std and rayon read.

use std::cmp::min;

use gpu_run::{Device, StoreLimits};
use gpu_run_bytecode::Program;

/// Bytes of std's stacks, and of the smallest that it is told of.
const STACK: u64 = 2 << 20;
const LEAST_STACK: u64 = 64 << 10;

/// Threads of rayon's pools at most, where addresses have 32 bits.
const MOST_OF_RAYON: u64 = 255;

/// What a program is told that spawns threads.
pub struct Spawning {
    /// Threads that are of use.
    threads: u64,
    /// Bytes of a stack, where std's are too large for so many.
    stack: Option<u64>,
}

impl Spawning {
    /// What to tell the program, where so many threads were `asked` for or none; `None` if it spawns no threads.
    pub fn of(program: &Program, asked: Option<u32>, limits: &StoreLimits, device: &dyn Device) -> Option<Spawning> {
        program.thread_start()?;
        let threads = asked.unwrap_or_else(|| device.parallelism());
        // The first one has a stack of its own.
        let room = limits.spawned_threads.saturating_sub(1).max(1);
        let threads = u64::from(min(threads, room));
        let memory = program.meta.memory_types().first().and_then(|memory| memory.limits.max);
        let memory = memory.map_or(limits.undeclared_memory, |pages| pages << 16);
        let memory = limits.memory.map_or(memory, |limit| limit.min(memory));
        // A quarter of the memory is for stacks.
        let room = (memory / 4 / threads.min(MOST_OF_RAYON)) & !15;
        Some(Spawning {
            threads,
            stack: (room < STACK).then(|| room.max(LEAST_STACK)),
        })
    }

    /// Variables that the program has if nothing else sets them.
    pub fn variables(&self) -> Vec<(&'static str, u64)> {
        let mut variables = vec![
            ("GPU_THREADS", self.threads),
            ("RAYON_NUM_THREADS", self.threads.min(MOST_OF_RAYON)),
        ];
        variables.extend(self.stack.map(|bytes| ("RUST_MIN_STACK", bytes)));
        variables
    }
}
