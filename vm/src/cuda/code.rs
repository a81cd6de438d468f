//! From a program to machine code: compiled, linked, and kept in the cache.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gpu_run_bytecode::{Op, Program};

use super::barriers::{self, Kept};
use super::cache::{Cache, Key, digest};
use super::link::{Input, LinkOptions, Linked, Progress, link};
use super::machine_code;
use super::machine_edit::{self, EditOptions};
use crate::device::{CODE_LINE, CodeFormat, DeviceError, DeviceResult, LANES_AT_LEAST, Target};
use crate::ptx::{
    Compiled, ImageLayout, LocalFrames, MIXED, Options, RUNTIME, Reachable, Reconverge, Tuning, Unit, compile, join,
};
use crate::ptx::{may_grow, may_have_statuses, may_reach, most_stack, most_values, reachable};
use crate::store::has_meetings;
use crate::{grows_by_heap, may_meet, threads_may_wait};

/// Hash of the compiler's own sources; see `build.rs`.
pub(super) const COMPILER: &str = env!("GPU_RUN_COMPILER");

/// Word at which the code of a store's first instance begins: after a line of the store's own.
pub const CODE_START: u32 = (CODE_LINE / 8) as u32;

/// What is to be compiled.
#[derive(Clone)]
pub struct CompileRequest {
    /// A verified program.
    pub program: Arc<Program>,
    /// Prefix of its symbols.
    pub prefix: String,
    /// Word of its first instruction in the store's code; see [`crate::Store::next_code_start`].
    pub code_start: u32,
    /// Functions (imports first) that will be started.
    pub entries: Vec<u32>,
    /// Basic blocks that are left to the interpreter; see [`Unit::cold`].
    pub cold: BTreeSet<u32>,
    /// What else the code depends on.
    pub options: Options,
    /// For which device.
    pub target: Target,
    /// Shows how far that is. Of programs that are linked together, the first one's does.
    pub progress: Progress,
}

/// Machine code of a program.
#[derive(Clone, Debug)]
pub struct Code {
    /// The cubin, in which the runtime is. Programs that were linked together share it.
    pub cubin: Arc<Vec<u8>>,
    /// Prefix of its symbols.
    pub prefix: String,
    /// Functions that can be started.
    pub entries: Vec<u32>,
    /// The native stack has to be set.
    pub needs_stack: bool,
    /// Some of it is interpreted.
    pub mixed: bool,
    /// Calls that are too deep are.
    pub deep_calls: bool,
    /// Memory has its last size when a run begins.
    pub fixed_memory: bool,
    /// Memory 0 begins at a multiple of 4 GiB.
    pub aligned_memory: bool,
    /// Where it came from.
    pub origin: Origin,
}

/// Where machine code came from.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Origin {
    /// From the cache.
    Cache,
    /// It came with the program, and was linked.
    Ahead {
        /// Time in the driver's linker; none if the cache had it.
        link: Duration,
    },
    /// It was compiled.
    Compiler {
        /// Time for making the PTX.
        generate: Duration,
        /// Time in the driver's compiler and linker.
        link: Duration,
        /// Bytes of PTX, the runtime's left out.
        ptx: usize,
        /// Whether the driver compiled on several threads.
        split: bool,
        /// Why it could not be kept in the cache.
        unsaved: Option<String>,
    },
}

/// Threads from which on warps are full. Frames in local memory pay then, and lanes that meet.
const FULL_WARP: u32 = 32;

/// Threads up to which calls may be deeper than the native stack has room for. Where there are more, lanes count: fewer fit if
/// each has the registers that the interpreter needs.
const DEEP_CALLS_TO: u32 = 1024;

/// Words that are compiled of a function as one, for less than a warp of threads and for more. Of the PTX of so many ptxas
/// makes machine code in a few seconds; the time for one function grows about as its third power. Regions part the lanes of a
/// warp: `markdown` of `bench/ordinary`, whose two largest functions have 5,443 and 4,737 words, takes 2,911 ms in regions
/// and 1,995 without (one H200).
const REGION_WORDS: u32 = 4000;
const REGION_WORDS_OF_WARPS: u32 = 6000;

/// What the code of a program depends on besides the program and its runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings {
    /// [`barriers`] knows the target's machine code.
    pub known_code: bool,
    /// The heap looks for mistakes. Then memory grows as the program needs it.
    pub checked_heap: bool,
    /// Each thread is a process of a batch. It has its memory for itself.
    pub processes: bool,
    /// Bytes of shared memory that a multiprocessor has for frames, see [`Target::frame_memory`].
    pub frame_memory: u32,
    /// The device [aligns memories](crate::Device::aligns_memories).
    pub aligns_memories: bool,
}

/// What the code of a program needs that is alone in its store and runs on `threads` threads with at
/// most `call_depth` open calls.
pub fn options(program: &Program, threads: u32, call_depth: u32, tuning: Tuning, around: Surroundings) -> Options {
    let deep_calls = !around.processes && (threads <= DEEP_CALLS_TO || program.thread_start().is_some());
    // Of an unknown number of threads there may be one. Its memory grows, and need not be fixed for it.
    let several = (2..u32::MAX).contains(&threads) && program.thread_start().is_none() && !around.processes;
    let spawns = program.thread_start().is_some() && !around.processes;
    // As the store does, whatever runs the program.
    let fixed_memory = (several || spawns) && !around.checked_heap && grows_by_heap(program);
    let threads = match program.thread_start() {
        // It may spawn any number.
        Some(_) => u32::MAX,
        None => threads,
    };
    Options {
        local_frames: match tuning.local_frames {
            LocalFrames::Auto if threads < FULL_WARP => LocalFrames::Never,
            frames => frames,
        },
        frame_memory: around.frame_memory,
        // `threads_may_wait` reads the whole program.
        frame_lanes: match around.frame_memory > 0 && threads_may_wait(program) {
            true => LANES_AT_LEAST,
            false => 0,
        },
        large_blocks: true,
        growth_by_others: threads > 1 && may_grow(program) && !fixed_memory && !around.processes,
        fixed_memory,
        // Those of processes lie side by side.
        aligned_memory: around.aligns_memories && !around.processes,
        reconverge: around.known_code
            && match tuning.reconverge {
                Reconverge::Never => false,
                Reconverge::Auto => threads >= FULL_WARP,
                Reconverge::Always => true,
            }
            // A process waits for none of the others.
            && (around.processes || may_meet(program)),
        meets: several && threads >= FULL_WARP && has_meetings(program),
        // Calls that do not recurse are never deeper than there are functions.
        check_depth: (call_depth as usize) < program.meta.functions.len(),
        deep_calls,
        single_lane: threads == 1,
        processes: around.processes,
        line_info: tuning.line_info,
        region_words: tuning.region_words.unwrap_or(match threads < FULL_WARP {
            true => REGION_WORDS,
            false => REGION_WORDS_OF_WARPS,
        }),
        ..Options::default()
    }
}

/// Bytes of constants that the images of a link may take. A link has room for 64 KiB.
const MOST_CONSTANTS: u32 = 60 << 10;

/// What the code of programs needs that are instantiated in one store, may call each other and are linked
/// together. Of what may be chosen, the size of regions is taken.
pub fn options_of_linked<'a>(programs: impl Iterator<Item = &'a Program> + Clone, tuning: Tuning) -> Options {
    let region_words = tuning.region_words.unwrap_or(REGION_WORDS);
    let images = programs.clone().map(|program| ImageLayout::new(program).constants());
    Options {
        growth_by_others: true,
        exports: true,
        statuses: programs.clone().any(may_have_statuses),
        values: programs.clone().map(most_values).max().unwrap_or(0),
        stack: programs
            .map(|program| most_stack(program, region_words))
            .max()
            .unwrap_or(0),
        far_images: images.sum::<u32>() > MOST_CONSTANTS,
        deep_calls: true,
        region_words,
        ..Options::default()
    }
}

/// Under what the code of programs that are linked together is kept in a cache. Nothing is compiled for it.
pub fn key_of(requests: &[CompileRequest]) -> Key {
    let parts = requests.iter().flat_map(|request| {
        let target = &request.target;
        let text = format!(
            "{:?} {:?} {:?} {} {:?} {} {} {:?}",
            request.options,
            request.entries,
            request.cold,
            request.code_start,
            target.compute_capability,
            target.driver,
            request.prefix,
            LinkOptions::default(),
        );
        [text.into_bytes(), digest(&request.program).to_vec()]
    });
    let parts: Vec<Vec<u8>> = parts.collect();
    let sources = [COMPILER, RUNTIME, MIXED].map(str::as_bytes).into_iter();
    Key::of(&sources.chain(parts.iter().map(|part| &part[..])).collect::<Vec<_>>())
}

/// The code of programs that are linked together, if it is in the cache under `key`.
pub fn cached(requests: &[CompileRequest], cache: &Cache, key: Key) -> Option<Vec<Code>> {
    if requests.first()?.target.format == CodeFormat::Ptx {
        return None;
    }
    let mut contents = cache.load(key)?;
    let needs_stack = contents.pop()? != 0;
    Some(codes(requests, contents, needs_stack, &Origin::Cache))
}

/// Compiles programs whose prefixes differ, links them together, and adds the code to the cache if there
/// is one. Returns the code of each.
///
/// # Errors
///
/// The driver's. A cache that cannot be written is no error: [`Origin`] shows it.
pub fn build(requests: &[CompileRequest], cache: Option<(&Cache, Key)>) -> DeviceResult<Vec<Code>> {
    let Some(first) = requests.first() else {
        return Ok(Vec::new());
    };
    let begin = Instant::now();
    let compiled: Vec<Compiled> = requests.iter().map(CompileRequest::compile).collect();
    // What a program calls in others may recurse.
    let needs_stack = requests.iter().any(|request| request.options.exports) || compiled.iter().any(|c| c.needs_stack);
    let text = join(&compiled);
    let generate = begin.elapsed();
    let interpreted = requests
        .iter()
        .any(|request| request.is_mixed() || request.has_deep_calls(needs_stack));
    let known = barriers::are_known(&first.target);
    // Of several programs it is not known which lanes run them.
    let kept = match requests {
        [one] => Kept::of(&one.options, known),
        _ => Kept::All,
    };
    let linked = linked_with(Input::program(&text), interpreted, kept, first)?;
    let cache = cache.filter(|_| first.target.format == CodeFormat::Cubin);
    let unsaved = cache.and_then(|(cache, key)| {
        let mut contents = linked.cubin.clone();
        contents.push(needs_stack as u8);
        cache.save(key, &contents).err()
    });
    let origin = Origin::Compiler {
        generate,
        link: linked.time,
        ptx: text.len(),
        split: linked.split,
        unsaved: unsaved.map(|error| error.to_string()),
    };
    Ok(codes(requests, linked.cubin, needs_stack, &origin))
}

/// Links what was made of programs with the runtime, and with the interpreter if they call that, and takes out the barriers
/// that are not to be `kept`. It is for the target of `first`, and keeps the lines of its PTX if that one's is to have them.
pub(super) fn linked_with(
    program: Input,
    interpreted: bool,
    kept: Kept,
    first: &CompileRequest,
) -> DeviceResult<Linked> {
    let target = &first.target;
    let runtime = machine_code::runtime(target.compute_capability);
    let interpreter = interpreted
        .then(|| machine_code::mixed(target.compute_capability))
        .flatten();
    let runtime = Input {
        object: runtime.as_deref(),
        ..Input::runtime()
    };
    let interpreter = Input {
        object: interpreter.as_deref(),
        ..Input::mixed()
    };
    let inputs = [program, runtime, interpreter];
    let inputs = if interpreted { &inputs[..] } else { &inputs[..2] };
    let mut linked = match target.format {
        CodeFormat::Cubin => link(
            target.ordinal,
            inputs,
            LinkOptions {
                lines: first.options.line_info,
                ..LinkOptions::default()
            },
            &first.progress,
        )?,
        CodeFormat::Ptx => return Ok(Linked::texts(inputs)),
    };
    let edited = machine_edit::edit(
        &mut linked.cubin,
        EditOptions {
            kept,
            known: barriers::are_known(target),
            lines: first.options.line_info,
        },
    );
    edited.map_err(|error| DeviceError::Driver {
        call: "cuLinkComplete",
        what: format!("the linked code cannot be read: {error}"),
    })?;
    Ok(linked)
}

/// The code of each program of a link.
fn codes(requests: &[CompileRequest], cubin: Vec<u8>, needs_stack: bool, origin: &Origin) -> Vec<Code> {
    let cubin = Arc::new(cubin);
    let code = |request: &CompileRequest| Code {
        cubin: cubin.clone(),
        prefix: request.prefix.clone(),
        entries: request.entries.clone(),
        needs_stack,
        mixed: request.is_mixed(),
        deep_calls: request.has_deep_calls(needs_stack),
        fixed_memory: request.options.fixed_memory,
        aligned_memory: request.options.aligned_memory,
        origin: origin.clone(),
    };
    requests.iter().map(code).collect()
}

impl CompileRequest {
    /// Under what its code is kept in a cache, if it is linked alone.
    pub fn key(&self) -> Key {
        key_of(std::slice::from_ref(self))
    }

    /// What is compiled, by which the time for it can be guessed.
    pub fn reachable(&self) -> Reachable {
        reachable(&self.program, &self.entries, &self.cold, &self.options)
    }

    fn is_mixed(&self) -> bool {
        !self.cold.is_empty()
    }

    /// Whether its code may call the interpreter where the native stack is short.
    pub(super) fn has_deep_calls(&self, needs_stack: bool) -> bool {
        self.options.deep_calls && needs_stack
    }

    /// The PTX of this program.
    pub fn compile(&self) -> Compiled {
        let (program, options) = (&self.program, &self.options);
        compile(&Unit {
            program,
            prefix: self.prefix.clone(),
            code_start: self.code_start,
            entries: self.entries.clone(),
            cold: self.cold.clone(),
            options: Options {
                // A kernel beside others that meet need not.
                meets: options.meets && may_reach(program, &self.entries, options, Op::Meet),
                ..*options
            },
        })
    }

    /// The code of this program alone, if it is in the cache under `key`.
    pub fn cached(&self, cache: &Cache, key: Key) -> Option<Code> {
        cached(std::slice::from_ref(self), cache, key)?.pop()
    }

    /// Compiles and links this program alone; see [`build`].
    ///
    /// # Errors
    ///
    /// As [`build`].
    pub fn build(&self, cache: Option<(&Cache, Key)>) -> DeviceResult<Code> {
        Ok(build(std::slice::from_ref(self), cache)?.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> CompileRequest {
        let mut program = Program::default();
        program.code.push(1);
        let options = options(&program, 1, 100, Tuning::default(), Surroundings::default());
        CompileRequest {
            program: Arc::new(program),
            prefix: "i0_".into(),
            code_start: 2,
            entries: vec![0],
            cold: BTreeSet::new(),
            options,
            target: Target {
                ordinal: 0,
                compute_capability: (9, 0),
                multiprocessors: 132,
                driver: "13000".into(),
                format: CodeFormat::Cubin,
            },
            progress: Progress::default(),
        }
    }

    #[test]
    fn the_key_depends_on_all_that_the_code_does() {
        let key = request().key();
        assert_eq!(request().key(), key);
        let changes: [fn(&mut CompileRequest); 14] = [
            |r| r.prefix = "i1_".into(),
            |r| r.code_start = 3,
            |r| r.entries.push(1),
            |r| r.cold.extend([1]),
            |r| r.options.growth_by_others = true,
            |r| r.options.values = 1,
            |r| r.options.local_frames = LocalFrames::Always,
            |r| r.options.reconverge = true,
            |r| r.options.meets = true,
            |r| r.options.single_lane = false,
            |r| r.options.aligned_memory = true,
            |r| r.target.compute_capability = (8, 0),
            |r| r.target.driver = "13010".into(),
            |r| Arc::make_mut(&mut r.program).code.push(0),
        ];
        let mut keys = vec![key];
        for change in changes {
            let mut request = request();
            change(&mut request);
            assert!(!keys.contains(&request.key()));
            keys.push(request.key());
        }
    }

    #[test]
    fn processes_have_no_aligned_memories() {
        let aligned = |processes| {
            let around = Surroundings {
                aligns_memories: true,
                processes,
                ..Surroundings::default()
            };
            options(&Program::default(), 1, 100, Tuning::default(), around).aligned_memory
        };
        assert!(aligned(false) && !aligned(true));
        assert!(!request().options.aligned_memory);
    }

    #[test]
    fn the_key_is_the_same_on_every_device_of_a_kind() {
        let mut other = request();
        other.target.ordinal = 1;
        assert_eq!(other.key(), request().key());
    }

    #[test]
    fn the_key_of_programs_that_are_linked_depends_on_all() {
        let (one, mut other) = (request(), request());
        other.prefix = "i1_".into();
        let both = key_of(&[one.clone(), other.clone()]);
        assert_ne!(both, one.key());
        assert_ne!(both, key_of(&[other, one]));
    }

    #[test]
    fn linked_programs_have_their_images_in_memory_when_constants_have_no_room() {
        let program = Program::default();
        let size = ImageLayout::new(&program).size as usize;
        let most = MOST_CONSTANTS as usize / size;
        assert!(!options_of_linked(std::iter::repeat_n(&program, most), Tuning::default()).far_images);
        assert!(options_of_linked(std::iter::repeat_n(&program, most + 1), Tuning::default()).far_images);
    }

    #[test]
    fn cached_code_is_what_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let request = request();
        let key = request.key();
        assert!(request.cached(&cache, key).is_none());
        for needs_stack in [true, false] {
            cache.save(key, &[1, 2, 3, needs_stack as u8]).unwrap();
            let code = request.cached(&cache, key).unwrap();
            assert_eq!((&code.cubin[..], code.needs_stack), (&[1, 2, 3][..], needs_stack));
            assert_eq!(code.origin, Origin::Cache);
        }
    }
}
