//! A large text, compiled in [`parts`] on nearly all processors.
//!
//! The driver compiles a text when it is added to a link, on the thread that adds it. But for a fixed share of the work, its
//! own option to split it leaves much of that to one thread. So each part is added to a link of its own, on several threads,
//! only to have the driver keep its code in the cache that it has on disk. Then all are added to one link, which finds them
//! there. Where there is no such cache, nothing is taken apart.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, available_parallelism};
use std::time::{Duration, Instant};

use super::{Input, Link, LinkOptions, Linked, Progress};
use crate::cuda::context::Context;
use crate::ptx::parts;

/// Bytes that a part has on average: at least, and at most unless a function has more. Powers of two.
const PART: (usize, usize) = (64 << 10, 512 << 10);

/// Parts of a text, as long as they are not smaller or larger than that: for some processors several each, so that all have
/// done about as much in the end. Adding each to the link takes some milliseconds.
const PARTS: usize = 48;

/// The driver has kept nothing, though it should have.
static KEPT_NOTHING: AtomicBool = AtomicBool::new(false);

/// Whether large texts are compiled in parts, on several processors.
pub fn compiles_in_parts() -> bool {
    driver_keeps_code(false)
}

/// Links inputs, the first of which is taken apart. `None` where that cannot be done, is not worth it, or fails.
pub(super) fn link(ordinal: i32, inputs: &[Input], options: LinkOptions, progress: &Progress) -> Option<Linked> {
    let linked = link_parts(ordinal, inputs, options, progress);
    if linked.is_none() {
        progress.begin(0);
    }
    linked
}

fn link_parts(ordinal: i32, inputs: &[Input], options: LinkOptions, progress: &Progress) -> Option<Linked> {
    let (program, others) = inputs.split_first()?;
    let processors = available_parallelism().map_or(1, usize::from);
    let size = part_size(program.text.len());
    if program.object.is_some() || processors == 1 || program.text.len() < 2 * size || !driver_keeps_code(true) {
        return None;
    }
    let texts = parts(program.text, size);
    if texts.len() == 1 {
        return None;
    }
    // Where the driver finds code in its cache depends on the options.
    let options = LinkOptions {
        split: false,
        ..options
    };
    let part = |text| Input { text, ..*program };
    let mut order: Vec<&String> = texts.iter().collect();
    order.sort_by_key(|text| Reverse(text.len()));
    progress.begin(texts.len());
    let next = Mutex::new(order.into_iter());
    let longest = Mutex::new(None);
    let work = || {
        // What goes wrong here is told by the link of all.
        let Ok(_context) = Context::any(ordinal) else { return };
        while let Some(text) = { next.lock().ok().and_then(|mut next| next.next()) } {
            let begin = Instant::now();
            let Ok(mut link) = Link::create(options) else { return };
            _ = link.add(&part(text));
            progress.step();
            if let Ok(mut longest) = longest.lock() {
                *longest = longest.max(Some((begin.elapsed(), text)));
            }
        }
    };
    std::thread::scope(|scope| {
        // The rest is for the program, which may run meanwhile and ask the host for much.
        let processors = processors - processors / 8;
        for _ in 1..processors.min(texts.len()) {
            // The threads that there are do it, where no more can be started.
            _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let (taken, longest) = longest.into_inner().ok()??;
    let mut link = Link::create(options).ok()?;
    let begin = Instant::now();
    link.add(&part(longest)).ok()?;
    if was_compiled_again(begin.elapsed(), taken) {
        KEPT_NOTHING.store(true, Ordering::Relaxed);
        return None;
    }
    for text in texts.iter().filter(|text| !std::ptr::eq(*text, longest)) {
        link.add(&part(text)).ok()?;
    }
    for input in others {
        link.add(input).ok()?;
    }
    let linked = link.complete().ok()?;
    Some(Linked { split: true, ..linked })
}

/// Bytes of a part of a text of so many. It is the same on all machines, which may have the driver's cache in common, and
/// when the text has become a little longer.
fn part_size(bytes: usize) -> usize {
    1 << (bytes / PARTS).clamp(PART.0, PART.1).ilog2()
}

/// A text in the smallest parts.
pub(super) fn in_parts(text: &str) -> Vec<String> {
    parts(text, PART.0)
}

/// Whether adding a text takes so long that it was compiled, as before. Finding it takes some milliseconds; compiling took
/// longer before, when all processors were busy.
fn was_compiled_again(now: Duration, before: Duration) -> bool {
    before > Duration::from_millis(200) && now > Duration::from_millis(100).max(before / 8)
}

/// Whether the driver has a cache on disk that it can write, or would have if it made the folder. `made`: it is made.
fn driver_keeps_code(made: bool) -> bool {
    // Relaxed: it is a matter of time only.
    if KEPT_NOTHING.load(Ordering::Relaxed) {
        return false;
    }
    if std::env::var("CUDA_CACHE_DISABLE").is_ok_and(|value| value.trim() != "0") {
        return false;
    }
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let of_home = || match cfg!(windows) {
        true => variable("APPDATA").map(|home| home.join("NVIDIA").join("ComputeCache")),
        false => variable("HOME").map(|home| home.join(".nv").join("ComputeCache")),
    };
    let folder = variable("CUDA_CACHE_PATH").or_else(of_home);
    let Some(folder) = folder else { return false };
    let made = made && std::fs::create_dir_all(&folder).is_ok();
    let there = folder.ancestors().find(|folder| made || folder.exists());
    there.is_some_and(|folder| tempfile::tempfile_in(folder).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_was_found_was_not_compiled_again() {
        let ms = Duration::from_millis;
        assert!(!was_compiled_again(ms(5), ms(400)));
        assert!(!was_compiled_again(ms(110), ms(120)));
        assert!(!was_compiled_again(ms(120), ms(6000)));
        assert!(was_compiled_again(ms(120), ms(400)));
        assert!(was_compiled_again(ms(2000), ms(6000)));
    }
}
