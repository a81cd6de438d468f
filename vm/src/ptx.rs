//! The compiler of the PTX engine: from a verified program to PTX, and nothing else. It knows no driver, no cache and no
//! disk; what links, keeps and loads its text is [`crate::cuda`]. A test holds it so.
//!
//! In: a [`Unit`]. Out: [`Compiled`], whose text the driver's linker joins with the runtime ([`RUNTIME`], of
//! `kernel/runtime.cpp`). In the order of the pipeline:
//!
//! - `analysis`: what is known of the program: basic blocks, facts of each function, forward data-flow;
//! - `schedule`: instructions in another order where too many values are live;
//! - [`template`]: the PTX of each pure opcode, which clang made of `kernel/ops/semantics.h`;
//! - `emit`: the PTX of functions and kernels, written by `writer`;
//! - `parts`: the text as several that are compiled at the same time;
//! - [`runtime`]: the signatures of what compiled code calls, read from the runtime's own PTX;
//! - `image`: what a program knows of its instance, as constants of the module.
//!
//! Unit u of a frame is the register `%r<u>` while it holds 32 bits (a 128-bit value has four). It is `%d<u>` while it
//! holds the low half of 64. Registers after the frame are those of values that `schedule` moved. A verified program
//! never reads a value in another width than it was written in. So nothing has to be kept in both. ptxas renames and
//! colors them.

mod analysis;
mod blocks;
mod emit;
mod image;
mod lines;
mod parts;
pub mod runtime;
mod schedule;
pub mod template;
mod writer;

use std::collections::BTreeSet;
use std::fmt::Write;

use gpu_run_bytecode::{Op, Program};

pub(crate) use analysis::cfg::{distance, is_call};
use analysis::counters::Counters;
pub(crate) use analysis::interprocedural::code;
use analysis::interprocedural::{self, Analysis};
pub use blocks::{Blocks, block_starts, first_block, reached_by_branches};
use emit::calls::{self, by_interpreter, fixed, interpreted, tail_calls};
pub use emit::counts::shared_bytes as counter_bytes;
pub(crate) use emit::counts::{array as counters, places as counts};
use emit::{counts, samples};
use emit::{entry, function};
pub use image::{Image, ImageLayout};
use lines::Lines;
pub use parts::parts;
pub use runtime::{MIXED, RUNTIME};

/// Where compiled functions keep their frames of the shadow stack while they run: see `analysis::stack_frame`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LocalFrames {
    /// In linear memory, as everything.
    #[default]
    Never,
    /// In local memory, where nobody else can know an address in them and loops access them often.
    Auto,
    /// In local memory, wherever nobody else can know an address in them. For tests.
    Always,
}

/// When the lanes of a warp meet that took different ways: see `emit::reconvergence`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reconverge {
    /// Never, but where ptxas has them meet.
    #[default]
    Never,
    /// With 32 threads and more, on devices whose machine code is known.
    Auto,
    /// With any number of threads, on such devices.
    Always,
}

/// What users may choose about compiled code. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Where functions keep their frames of the shadow stack.
    pub local_frames: LocalFrames,
    /// When lanes meet.
    pub reconverge: Reconverge,
    /// Whether code has the lines of the user's sources with it, as far as the program has them, for the tools that CUDA has.
    pub line_info: bool,
    /// Words of bytecode that are compiled of a function as one, see [`Options::region_words`]; `None`: as many as the
    /// assembler takes well.
    pub region_words: Option<u32>,
}

/// How to compile a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether another thread or instance may make memory 0 larger while a function runs.
    pub growth_by_others: bool,
    /// Whether memory 0 has its last size before a function begins, because only its heap would make it larger: see
    /// [`grows_by_heap`](crate::grows_by_heap).
    pub fixed_memory: bool,
    /// Whether memory 0 begins at a multiple of 4 GiB, as on a device that
    /// [aligns memories](crate::Device::aligns_memories).
    pub aligned_memory: bool,
    /// Whether other instances call what this one exports.
    pub exports: bool,
    /// Whether functions that are called through pointers may throw or make tail calls, because one of
    /// another instance does: see [`may_have_statuses`].
    pub statuses: bool,
    /// Units of values of an exception or a tail call that the entries make room for, at least.
    pub values: u32,
    /// Bytes of native stack that functions of other instances may take, which are called through pointers:
    /// see [`most_stack`].
    pub stack: u32,
    /// Whether every call compares the number of frames with the limit, not only calls that may recurse.
    pub check_depth: bool,
    /// Whether the interpreter makes calls for which the native stack has no room. Else they trap. It takes more registers
    /// than many functions, so that fewer lanes fit.
    pub deep_calls: bool,
    /// Whether only one lane runs it, so that the assembler may see recursion: see `Compiler::hidden_callee`.
    pub single_lane: bool,
    /// Whether what the program knows of its instance lies in memory. So it does where there are too many programs in a
    /// link for the room that it has for constants.
    pub far_images: bool,
    /// Where functions keep their frames of the shadow stack.
    pub local_frames: LocalFrames,
    /// Bytes of shared memory of a multiprocessor that kernels may keep their own frames in, in place of local memory.
    pub frame_memory: u32,
    /// Lanes that a multiprocessor must have room for with such frames, if threads may wait for each other: as many as are taken
    /// to be resident at once.
    pub frame_lanes: u32,
    /// Whether kernels may have hardware blocks of so many lanes that its functions have to do with
    /// [fewer registers](few_registers) than they would take.
    pub large_blocks: bool,
    /// Whether the lanes of a warp meet after calls, in and after loops, and where their ways join: see
    /// `emit::reconvergence`. Not for threads that may wait for each other: one would wait for a lane that waits for it. The
    /// machine code must not have ptxas's barriers around calls: see `cuda::barriers`.
    pub reconverge: bool,
    /// Whether the lanes of a warp meet where the program says so, by `meet`: see `gpu_run_meet` in `kernel/runtime.cpp`. Also
    /// for threads that wait for each other.
    pub meets: bool,
    /// Whether each thread is a process of a batch, with an instance of its own: see `kernel/processes.h`. Kernels take the
    /// record of a batch.
    pub processes: bool,
    /// Whether the code marks where its thread is, for samples of where time goes. It runs only in launches with
    /// `Samples::marks`.
    pub samples: bool,
    /// Whether the code counts how often each basic block runs: see `kernel/counts.h`.
    pub counts: bool,
    /// Whether it counts too how often warps run each block, whichever of their lanes are together.
    pub counts_warps: bool,
    /// Whether the code has the lines of the user's sources with it that the program has.
    pub line_info: bool,
    /// Words that are compiled of a function as one. What has more is compiled as several: see `emit::regions`. 0: any number.
    pub region_words: u32,
    /// Whether each instruction gets a comment that tells the bytecode it came from.
    pub comments: bool,
}

/// What to compile.
pub struct Unit<'a> {
    /// The program, which was verified.
    pub program: &'a Program,
    /// Begins the name of every symbol.
    pub prefix: String,
    /// The store's word index of the program's word 0.
    pub code_start: u32,
    /// Functions that the host may start, by index with imports first.
    pub entries: Vec<u32>,
    /// First words of basic blocks that are not compiled, as [`block_starts`] has them. Where compiled code would go to
    /// one, the interpreter goes on with the function; what it calls is interpreted too. Of a function whose first block is
    /// not compiled nothing is. Not for programs that are linked with others.
    pub cold: BTreeSet<u32>,
    /// How.
    pub options: Options,
}

/// A compiled program.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// PTX.
    pub text: String,
    /// Functions in it.
    pub functions: u32,
    /// Words of bytecode that were compiled.
    pub words: u32,
    /// Whether the depth of its native stack is not known before it runs: it recurses, or calls
    /// through pointers.
    pub needs_stack: bool,
}

/// What every module of PTX begins with. Every driver since CUDA 11.5 and every GPU since Turing takes it.
const HEADER: &str = ".version 7.5\n.target sm_75\n.address_size 64\n";

fn preamble() -> String {
    format!("{HEADER}\n{}\n", *runtime::DECLARATIONS)
}

/// Registers that the functions of a text may have at most, if its kernels have blocks of so many lanes that it matters: a
/// function may have 255, and a multiprocessor has 65,536. Only a kernel's first line tells: comments have names that a module
/// has chosen.
pub fn few_registers(text: &str) -> Option<u32> {
    let kernels = text.lines().filter(|line| line.starts_with(".visible .entry "));
    // More may be declared after that.
    let lanes = kernels.filter_map(|line| {
        let (_, lanes) = line.rsplit_once(emit::MOST_LANES)?;
        lanes.split(' ').next()?.parse::<u32>().ok()
    });
    let registers = 65_536u32.checked_div(lanes.max()?)?;
    (registers < 256).then_some(registers)
}

/// Several compiled programs as one module of PTX. Their prefixes differ.
pub fn join<'a>(compiled: impl IntoIterator<Item = &'a Compiled>) -> String {
    let preamble = preamble();
    let bodies = compiled.into_iter().map(|compiled| &compiled.text[preamble.len()..]);
    bodies.fold(preamble.clone(), |text, body| text + body)
}

/// Whether functions of a program that other instances may call can throw or make tail calls.
pub fn may_have_statuses(program: &Program) -> bool {
    let options = Options {
        exports: true,
        ..Options::default()
    };
    Analysis::new(program, &[], &options).statuses
}

/// Words of bytecode that are compiled of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// All of them.
    pub words: u32,
    /// Those of the unit that has most.
    pub longest: u32,
    /// Units of the assembler's work: functions, and regions of large ones.
    pub units: u32,
}

impl Reachable {
    /// Of functions with so many words each, in regions of as many at most.
    fn of(functions: impl Iterator<Item = u32> + Clone, region: u32) -> Reachable {
        let region = if region == 0 { u32::MAX } else { region };
        Reachable {
            words: functions.clone().sum(),
            longest: functions.clone().max().unwrap_or(0).min(region),
            units: functions.map(|words| words.div_ceil(region)).sum(),
        }
    }
}

/// What is compiled of a program: blocks that `entries` may lead to, and that are not `cold`.
pub fn reachable(program: &Program, entries: &[u32], cold: &BTreeSet<u32>, options: &Options) -> Reachable {
    let mut analysis = Analysis::of_calls(program, entries, options);
    analysis.leave_out(cold, entries);
    analysis.reachable
}

/// Whether `entries` may lead to an instruction with this opcode.
pub fn may_reach(program: &Program, entries: &[u32], options: &Options, op: Op) -> bool {
    let analysis = Analysis::of_calls(program, entries, options);
    let functions = analysis.facts.iter().zip(&program.meta.functions);
    let mut needed = functions.filter(|(facts, _)| facts.needed);
    needed.any(|(_, function)| interprocedural::code(program, function).any(|(_, inst)| inst.op == op))
}

/// Whether code of a program may make its memory 0 larger.
pub fn may_grow(program: &Program) -> bool {
    let memory = program.meta.memory_types().into_iter().next();
    let room = memory.is_some_and(|memory| memory.limits.max.is_none_or(|max| max > memory.limits.min));
    let mut functions = program.meta.functions.iter();
    room && functions
        .any(|function| interprocedural::code(program, function).any(|(_, inst)| interprocedural::grows(inst.op)))
}

/// Units of values that an exception or a tail call of a program takes at most, or a call of the interpreter.
pub fn most_values(program: &Program) -> u32 {
    let types = program.meta.types.iter().map(|ty| ty.header());
    types.max().unwrap_or(0)
}

/// The most bytes of native stack that a function of a program may take, up to the next call that looks
/// how much is left. This is for functions that other instances may call; see [`Options::region_words`].
pub fn most_stack(program: &Program, region_words: u32) -> u32 {
    let options = Options {
        exports: true,
        region_words,
        ..Options::default()
    };
    Analysis::new(program, &[], &options).most_pointed_stack()
}

/// The definitions of function `index` (imports first) in what [`compile`] wrote for a unit. They are itself, its regions, how
/// it is called at a tail, and the kernel that starts it, as far as there are.
pub fn definitions(unit: &Unit, text: &str, index: u32) -> Vec<String> {
    let symbols = ["f", "t", "start_"].map(|kind| format!(" {}{kind}{index}(", unit.prefix));
    let region = format!(" {}f{index}_", unit.prefix);
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    let mut before = "";
    while let Some(line) = lines.next() {
        // A declaration has no body.
        let named = symbols.iter().any(|symbol| line.contains(symbol)) || line.contains(&region);
        if named && lines.peek() == Some(&"{") {
            let comment = [before].into_iter().filter(|line| line.starts_with("//"));
            let body = lines.by_ref().take_while(|line| *line != "}");
            let all = comment.chain([line]).chain(body).chain(["}"]);
            found.push(all.fold(String::new(), |text, line| text + line + "\n"));
        }
        before = line;
    }
    found
}

/// Compiles a verified program.
pub fn compile(unit: &Unit) -> Compiled {
    let mut analysis = Analysis::new(unit.program, &unit.entries, &unit.options);
    analysis.aligned_stack = analysis.check_stack_alignment();
    // After all that is to hold for interpreted functions too.
    analysis.leave_out(&unit.cold, &unit.entries);
    analysis.find_large();
    analysis.lines = unit.options.line_info.then(|| Lines::of(unit.program)).flatten();
    if unit.options.counts {
        let mut kernels = unit.entries.iter().filter_map(|index| analysis.of(*index));
        let frames = unit.options.frame_memory > 0 && kernels.any(|facts| facts.frame.bytes > 0);
        let counters = Counters::of(&analysis, &unit.entries, unit.options.counts_warps, frames);
        analysis.counters = Some(counters);
    }
    analysis.callees_marked = samples::are_callees_marked(unit, &analysis);
    let mut layout = ImageLayout::new(unit.program);
    layout.constant &= !unit.options.far_images;
    let mut compiled = Compiled::default();
    let mut bodies = String::new();
    let mut words = String::new();
    // Units of values that every context has room for.
    let mut values = unit.options.values.max(most_values(unit.program));
    for (i, facts) in analysis.facts.iter().enumerate() {
        if !facts.needed || entry::is_inlined(unit, &analysis, i as u32 + analysis.imported) {
            continue;
        }
        let index = i as u32 + analysis.imported;
        if facts.interpreted {
            interpreted::compile(unit, &analysis, &layout, i, &mut bodies);
        } else {
            let taken = function::compile(unit, &analysis, &layout, i, &mut bodies, &mut words);
            values = values.max(taken);
            compiled.functions += 1;
            compiled.words += facts.words;
        }
        if tail_calls::has_tail_thunk(&analysis, index) {
            tail_calls::tail_thunk(unit, &analysis, &layout, index, &mut bodies);
        }
    }
    for index in &unit.entries {
        if let Some(i) = index.checked_sub(analysis.imported) {
            entry::compile(unit, &analysis, &layout, i as usize, values, &mut bodies, &mut words);
            compiled.functions += 1;
            compiled.words += analysis.facts[i as usize].words;
        }
    }
    let facts = || analysis.facts.iter().filter(|facts| facts.needed);
    compiled.needs_stack = facts().any(|facts| facts.recursive)
        || analysis.calls_pointers()
        || unit.options.check_depth
        // The interpreter calls by pointers.
        || !unit.cold.is_empty();
    let files = analysis.lines.as_ref().map_or_else(String::new, Lines::files);
    let mut text = preamble() + &files + &layout.declaration(&unit.prefix);
    if let Some(counters) = &analysis.counters {
        counts::declarations(unit, &layout, counters, &mut text);
    }
    for (i, _) in unit.program.meta.functions.iter().enumerate() {
        let index = i as u32 + analysis.imported;
        if analysis.facts[i].needed && !entry::is_inlined(unit, &analysis, index) {
            _ = writeln!(text, "{};", calls::head(unit, &analysis, index));
            if tail_calls::has_tail_thunk(&analysis, index) {
                _ = writeln!(text, "{};", tail_calls::tail_head(unit, &analysis, index));
            }
        }
    }
    if layout.reads_starts(&unit.prefix, &bodies) {
        let starts = unit.program.meta.functions.iter();
        text += &layout.starts(&unit.prefix, starts.map(|function| unit.code_start + function.start));
    }
    text += &words;
    text += &calls::hidden_callees(unit, &analysis);
    text += &fixed::fixed_tables(unit, &analysis, &bodies);
    text += &bodies;
    text += &calls::tables(unit, &analysis);
    by_interpreter::compile(unit, &analysis, &layout, &mut text);
    compiled.text = text;
    compiled
}

#[cfg(test)]
mod tests;
