//! Kernels: each lane calls the function for its thread.
//!
//! There is no loop around the call, but for threads that a program spawns. In one, ptxas would take each jump to a trap for one that leaves the loop. It
//! would put a `BREAK` before it into the code that does not trap. A lane without a thread ends in `gpu_run_begin`.
//! After a test of its result ptxas would no longer keep what is the same for all lanes in uniform registers.

use std::fmt::Write;
use std::mem::offset_of;

use gpu_run_bytecode::Class;

use crate::device::SMALL_BLOCK;
use crate::layout::{BLOCK_LANES, Context, Launch, Thread};
use crate::ptx::Unit;
use crate::ptx::analysis::cfg::Node;
use crate::ptx::analysis::interprocedural::Analysis;
use crate::ptx::analysis::stack_frame::StackFrame;
use crate::ptx::emit::calls::VALUES;
use crate::ptx::emit::function::{Compiler, Role, ascii};
use crate::ptx::emit::instructions::CONTEXT_ADDRESS;
use crate::ptx::image::ImageLayout;
use crate::ptx::writer::ptx;

/// Bytes of a kernel's frame that the native stack has to spare anyway.
const LARGE_FRAME: usize = 2048;

/// Where a lane of a program that spawns threads goes on when its thread has ended.
const NO_THREAD: &str = "NO_THREAD";

/// The same where its process has.
const NEXT_PROCESS: &str = "NEXT_PROCESS";

/// Bytes of arguments that a kernel takes as parameters at most; drivers have room for 4 KiB.
const MOST_ARGUMENTS: u32 = 2048;

/// Whether a function has no code but its kernel's: nothing calls it, and it can be the kernel's body.
/// There the compiler keeps more in uniform registers than in a function.
pub fn is_inlined(unit: &Unit, analysis: &Analysis, index: u32) -> bool {
    let facts = analysis.of(index);
    unit.entries.contains(&index)
        && !unit.options.exports
        && !unit.options.processes
        && facts.is_some_and(|facts| {
            !facts.recursive && !facts.status && !facts.called && !facts.pointed && !facts.in_regions
        })
}

/// Bytes of the function's arguments that a kernel takes as parameters, if there are some and not too many.
fn argument_bytes(compiler: &Compiler) -> Option<u32> {
    let units: u32 = compiler.ty.params.iter().map(|ty| ty.units()).sum();
    (1..=MOST_ARGUMENTS / 4).contains(&units).then_some(4 * units)
}

/// What precedes the number of lanes that a kernel's hardware block has at most.
pub const MOST_LANES: &str = ".maxntid ";

/// Lanes that are resident on a multiprocessor at once if a kernel's registers are few, as are those of the runtime's functions.
/// ptxas then assigns it 32 if that takes few spills. Five kernels of `bench/native` have 34 to 41 otherwise, and not all of
/// their lanes are resident. One that needs 102 keeps them. A kernel that calls functions of the program may not say it: the linker refuses
/// those with more registers.
const RESIDENT_LANES: u32 = 2048;

/// Accesses to memory that one block of such a kernel makes at most. The address of each takes two registers, and with too few
/// of them ptxas has an access wait for the one before. `reduce` of `bench/native` has eight and 32 registers; `saxpy`, with
/// twelve, takes 40, and 1.3 times as long with 32.
const FEW_ACCESSES: usize = 8;

/// Words of bytecode of a kernel that takes so many registers that few of its lanes are resident. If no more units than so many
/// are live at once, most of them fit the 128 registers that each of 512 lanes can have. Sixteen warps that step together fetch
/// the code once, and that is worth more than the registers: `lz4` of `bench/ordinary` (45 units) takes 0.70 of the time, `words`
/// (35) 0.77, `tree` (28) 0.88. But `json` (51) takes 1.14 times as long, `regex` (64) 1.27 times, and `matrix`, which calculates
/// with numbers, 1.58 times.
const LARGE_KERNEL: u32 = 700;
const FEW_UNITS: usize = 48;

/// Lanes of a hardware block at most, if not any number. In large blocks warps can step together; lanes of small ones are
/// replaced sooner when they have ended.
fn most_lanes(compiler: &Compiler) -> Option<u32> {
    let options = &compiler.unit.options;
    let words = compiler.function.end - compiler.function.start;
    let is_large = || {
        let numeric = !compiler.numeric_blocks.is_empty();
        options.large_blocks && words > LARGE_KERNEL && !numeric && most_live(compiler) <= FEW_UNITS
    };
    let lanes = match compiler.steps.is_empty() {
        true => (!options.processes).then_some(SMALL_BLOCK),
        false => is_large().then_some(BLOCK_LANES),
    };
    compiler.lanes_with_shared_frames().or(lanes)
}

/// What a kernel declares of its hardware blocks. `alone`: it calls no function of the program but those in its body.
fn blocks(compiler: &Compiler, alone: bool) -> String {
    let Some(lanes) = most_lanes(compiler) else {
        return String::new();
    };
    let cfg = &compiler.cfg;
    let accesses = |block: &usize| {
        let nodes = cfg.block_nodes(*block).iter();
        let is = |node: &&Node| {
            matches!(
                node.inst.op.info().class,
                Class::Load(_) | Class::Store(_) | Class::Access
            )
        };
        nodes.filter(is).count()
    };
    let many = alone
        // Devices with so much shared memory have so many lanes. ptxas warns on others.
        && compiler.unit.options.frame_memory > 0
        && compiler.steps.is_empty()
        && compiler.lanes_with_shared_frames().is_none()
        && compiler.unit.cold.is_empty()
        && !cfg.order.iter().any(|block| cfg.calls(*block))
        && cfg.order.iter().all(|block| accesses(block) <= FEW_ACCESSES);
    match many {
        true => format!(" {MOST_LANES}{lanes} .minnctapersm {}", RESIDENT_LANES / lanes),
        false => format!(" {MOST_LANES}{lanes}"),
    }
}

/// The most units that are live at once.
fn most_live(compiler: &Compiler) -> usize {
    let (cfg, transfer) = (&compiler.cfg, &compiler.transfer);
    let after = transfer.live_after(cfg, compiler.units);
    let most = cfg.order.iter().map(|block| {
        let mut live = after[*block].clone();
        let counts = cfg.block_nodes(*block).iter().rev().map(|node| {
            transfer.access(node).apply(&mut live);
            live.iter().count()
        });
        counts.max().unwrap_or(0)
    });
    most.max().unwrap_or(0)
}

/// Corrects the limit of the native stack, which was measured from below the kernel's frame of so many bytes.
fn measure_stack(compiler: &mut Compiler, bytes: usize) {
    if bytes > LARGE_FRAME {
        let limit = compiler.w.word();
        let at = offset_of!(Context, native_limit);
        ptx!(compiler, "ld.local.b32 {limit}, [%local+{at}];");
        ptx!(compiler, "add.u32 {limit}, {limit}, {bytes};");
        ptx!(compiler, "st.local.b32 [%local+{at}], {limit};");
    }
}

/// Writes what lanes do that have no thread from the beginning: they run those that are spawned, one after the other.
/// The kernel's frame has so many bytes.
fn spawned_threads(compiler: &mut Compiler, start: u32, bytes: usize) {
    let (found, none) = (compiler.w.word(), compiler.w.predicate());
    let (thread, id, argument) = (compiler.w.pair(), compiler.w.word(), compiler.w.word());
    let idle = compiler.w.word();
    compiler.w.label(NO_THREAD);
    ptx!(compiler, "mov.b32 {idle}, 0;");
    compiler.w.label("NEXT_THREAD");
    let arguments = [("b64", "%launch"), ("b64", "%context"), ("b32", &idle)];
    compiler.call_runtime("gpu_run_next", &arguments, Some(("b32", &found)));
    ptx!(compiler, "setp.eq.u32 {none}, {found}, 0;");
    ptx!(compiler, "add.u32 {idle}, {idle}, 1;");
    ptx!(compiler, "@{none} bra NEXT_THREAD;");
    measure_stack(compiler, bytes);
    compiler.find_context();
    ptx!(
        compiler,
        "ld.local.b64 {thread}, [%local+{}];",
        offset_of!(Context, thread)
    );
    ptx!(compiler, "ld.local.b32 {id}, [%local+{}];", offset_of!(Context, id));
    ptx!(
        compiler,
        "ld.global.b32 {argument}, [{thread}+{}];",
        offset_of!(Thread, argument)
    );
    let size = compiler.load_size();
    compiler.w.out().push_str(&size);
    compiler.call_from_kernel(start, &[vec![id], vec![argument]]);
    compiler.call_runtime("gpu_run_finish", &[CONTEXT_ADDRESS], None);
    ptx!(compiler, "bra {NO_THREAD};");
}

/// Writes what lanes do that run processes of a batch: one after the other, until there is none left. The kernel's frame has
/// so many bytes.
fn processes(compiler: &mut Compiler, bytes: usize) {
    let arguments = [("b64", "%launch"), ("b64", "%context")];
    compiler.call_runtime("gpu_run_begin_processes", &arguments, None);
    compiler.w.label(NEXT_PROCESS);
    compiler.call_runtime("gpu_run_next_process", &arguments, None);
    measure_stack(compiler, bytes);
    compiler.find_context();
    compiler.thread_state();
    compiler.call_from_kernel(compiler.index, &[]);
    compiler.call_runtime("gpu_run_end_process", &[CONTEXT_ADDRESS], None);
    ptx!(compiler, "bra {NEXT_PROCESS};");
}

/// Writes the kernel that starts the defined function `defined`, whose context has room for so many units of `values` at
/// least.
pub fn compile(
    unit: &Unit,
    analysis: &Analysis,
    layout: &ImageLayout,
    defined: usize,
    values: u32,
    out: &mut String,
    words: &mut String,
) {
    let mut compiler = Compiler::new(unit, analysis, layout, defined, Role::Kernel);
    let index = compiler.index;
    let inlined = is_inlined(unit, analysis, index);
    if !inlined {
        // The function itself has it.
        compiler.facts.frame = StackFrame::default();
    }
    let values = values.max(compiler.exits.most());
    let bytes = VALUES + 4 * values as usize;
    let name = ascii(&unit.program.meta.func_name(index));
    let parameters =
        argument_bytes(&compiler).map_or_else(String::new, |bytes| format!(", .param .align 4 .b8 args[{bytes}]"));
    let blocks = blocks(&compiler, inlined && analysis.thread_start.is_none());
    _ = write!(
        out,
        "\n// {name}\n.visible .entry {}start_{index}(.param .b64 launch, .param .b32 threads{parameters}){blocks}\n{{\n\t.local .align 16 .b8 context[{bytes}];\n\t.reg .b64 %launch, %args, %context;\n",
        unit.prefix
    );
    let mut prologue = String::new();
    prologue += "\tld.param.b64 %launch, [launch];\n\tmov.u64 %local, context;\n\tcvta.local.u64 %context, %local;\n";
    prologue += "\tmov.b32 %depth, 1;\n";
    compiler.begin_counts();
    if unit.options.processes {
        processes(&mut compiler, bytes);
        compiler.finish(&prologue, out);
        out.push_str("}\n");
        words.push_str(&compiler.words);
        return;
    }
    if analysis.thread_start.is_some() {
        // The first lane has the first thread, the others those that are spawned. Or each has one from the beginning, and
        // no more come.
        let (lane, block, lanes) = (compiler.w.word(), compiler.w.word(), compiler.w.word());
        let p = compiler.w.predicate();
        ptx!(compiler, "mov.u32 {lane}, %tid.x;");
        ptx!(compiler, "mov.u32 {block}, %ctaid.x;");
        ptx!(compiler, "mov.u32 {lanes}, %ntid.x;");
        ptx!(compiler, "mad.lo.u32 {lane}, {block}, {lanes}, {lane};");
        let spawner = compiler.w.pair();
        ptx!(
            compiler,
            "ld.global.b64 {spawner}, [%launch+{}];",
            offset_of!(Launch, spawner)
        );
        ptx!(compiler, "setp.ne.u32 {p}, {lane}, 0;");
        ptx!(compiler, "setp.ne.and.b64 {p}, {spawner}, 0, {p};");
        ptx!(compiler, "@{p} bra {NO_THREAD};");
    }
    // Written to a compiler of its own, which hands out the registers.
    let arguments = [("b64", "%launch"), ("b64", "%context")];
    compiler.call_runtime("gpu_run_begin", &arguments, None);
    // For calls of functions.
    compiler.find_context();
    if unit.options.meets {
        // The lanes of a warp that have no thread have ended.
        ptx!(compiler, "st.local.b32 [%local+{}], -1;", offset_of!(Context, meets));
    }
    let bytes = bytes + compiler.local_frame_bytes() as usize;
    measure_stack(&mut compiler, bytes);
    compiler.thread_state();
    let arguments = argument_bytes(&compiler);
    if arguments.is_none() {
        ptx!(compiler, "ld.global.b64 %args, [%launch+{}];", offset_of!(Launch, args));
    }
    // Of the kernel's own parameters, which are in constant memory, or at the launch record's arguments.
    let load = match arguments {
        Some(_) => |to: &str, at: u32| format!("ld.param.b32 {to}, [args+{}];", 4 * at),
        None => |to: &str, at: u32| format!("ld.global.b32 {to}, [%args+{}];", 4 * at),
    };
    let mut at = 0;
    for ty in &compiler.ty.params {
        match ty.units() {
            2 => {
                let (low, high) = (compiler.w.word(), compiler.w.word());
                ptx!(compiler, "{}", load(&low, at));
                ptx!(compiler, "{}", load(&high, at + 1));
                ptx!(compiler, "mov.b64 %d{at}, {{{low}, {high}}};");
            }
            units => {
                for k in 0..units {
                    ptx!(compiler, "{}", load(&format!("%r{}", at + k), at + k));
                }
            }
        }
        at += ty.units();
    }
    match inlined {
        true => compiler.body(),
        false => compiler.call_own(),
    }
    compiler.w.label("DONE");
    compiler.call_runtime("gpu_run_finish", &[CONTEXT_ADDRESS], None);
    compiler.end_counts();
    ptx!(compiler, "ret;");
    if let Some(start) = analysis.thread_start {
        spawned_threads(&mut compiler, start, bytes);
    }
    compiler.finish(&prologue, out);
    out.push_str("}\n");
    words.push_str(&compiler.words);
}
