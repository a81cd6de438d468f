//! What threads of a module that was made for one of them disturb each other in.

use gpu_run_translator::rewrite::Status;
use gpu_run_translator::{BrTables, Options, own_allocators, run_passes, shared_std};

use crate::cli::RunArgs;
use crate::entry::Entry;
use crate::report::{Outcome, warn};
use crate::translate;

/// Warns of parts of std that the kernel reaches and that are not made for several threads.
pub fn warn_of_state(args: &RunArgs, entry: &Entry) -> Outcome<()> {
    let file = translate::read(args.module())?;
    let bytes = translate::wasm(args.module(), &file)?;
    // A translated program has no names left to look at.
    let options = Options {
        inline: None,
        ..translate::options(&args.passes)
    };
    let tables = BrTables::default();
    let Ok(passed) = run_passes(&bytes, &tables, &options) else {
        return Ok(());
    };
    let module = &passed.module;
    let root = module
        .exports
        .iter()
        .find(|export| export.name == entry.export)
        .map(|export| export.index);
    let shared = shared_std(module, root.as_slice());
    if !shared.is_empty() {
        warn(&format!(
            "the threads share what std takes for its only thread's own, so they may disturb each other in: {}",
            shared.join(", ")
        ));
    }
    let allocator = passed.rewrites.status("allocator");
    if let Some(Status::RolledBack(reason)) = allocator {
        warn(&format!(
            "the module's allocator is made for one thread and could not be replaced (name `gpu_std::GpuAllocator` \
             as `#[global_allocator]`): {reason}"
        ));
        return Ok(());
    }
    let own = own_allocators(module, root.as_slice());
    if !own.is_empty() {
        warn(&format!(
            "the threads share an allocator that is the program's own, so unless it is made for several threads they \
             may disturb each other in: {}",
            own.join(", ")
        ));
    }
    Ok(())
}
