//! What threads of a module that was made for one of them disturb each other in.

use gpu_run::Module;
use gpu_run_bytecode::THREAD_START;
use gpu_run_translator::rewrite::Status;

use crate::entry::Entry;
use crate::report::warn;

/// Warns of parts of std that several threads reach and that are not made for them: those of a kernel, or those that the
/// program spawns. A program that was translated before has no names left to look at.
pub fn warn_of_state(module: &Module, entry: &Entry) {
    let program = module.program();
    let export = match entry.threads > 1 {
        true => &entry.export,
        false if program.thread_start().is_some() => THREAD_START,
        false => return,
    };
    if program.meta.is_threaded() {
        return;
    }
    let Some(translation) = module.translation() else {
        return;
    };
    let mut exports = translation.shared.iter();
    let Some((_, shared)) = exports.find(|(name, _)| *name == export) else {
        return;
    };
    if !shared.std.is_empty() {
        warn(&format!(
            "the threads share what std takes for its only thread's own, so they may disturb each other in: {}",
            shared.std.join(", ")
        ));
    }
    if let Some(Status::RolledBack(reason)) = translation.rewrites.status("allocator") {
        warn(&format!(
            "the module's allocator is made for one thread and could not be replaced (name `gpu_std::GpuAllocator` \
             as `#[global_allocator]`): {reason}"
        ));
    } else if !shared.allocators.is_empty() {
        warn(&format!(
            "the threads share an allocator that is the program's own, so unless it is made for several threads they \
             may disturb each other in: {}",
            shared.allocators.join(", ")
        ));
    }
}
