//! Takes ptxas's convergence barriers out of machine code: all of them if one lane runs it, and those around calls if its
//! lanes meet by themselves (see `ptx::emit::reconvergence`). Where they meet, it makes one group of them.
//!
//! A lane that is alone never waits at a barrier. But it executes one instruction at the begin and one at the end of each
//! region, others where it leaves one early, and saves six barriers in each function that calls: a tenth to a third of its
//! time, by what the code does.
//!
//! ptxas has the lanes that begin a region together, by `BSSY`, wait for each other at its end, by `BSYNC`. It has 16
//! barriers in a warp for that. Where a region calls functions it takes one that callees save, or keeps it in a register
//! meanwhile. But a callee *clears* what it saves, and that lets go of the lanes that wait. One of these may come to a
//! meeting, wait there for a lane that is still in the callee, and that one waits at the region's end for the first.
//! Without the barriers of regions that call, or in which lanes meet, they wait in two kinds of places only:
//!
//! - at the barriers of code without calls and meetings, where all come soon;
//! - at meetings, which lie within each other.
//!
//! A meeting that its lanes come to apart has a region of its own. ptxas begins it in each group of lanes that comes, so the
//! groups wait for all of the mask's lanes and then go on as groups still. Here all of the mask become its lanes: see
//! `gathers`. `shapes` of `bench/ordinary` sorts by calls through a table. It takes 375 ms so, in place of 910 (one H200).
//!
//! A trap calls too, and nothing comes back from it: such calls do not count. In a kernel ptxas keeps values in registers
//! that a warp shares, and may rely on lanes that leave a region together if it has no calls but these.
//!
//! A jump table parts lanes, and a region may call nothing on any of its ways. Where they lead is in the cubin: see
//! `attributes`.
//!
//! ptxas begins each pass of a loop with a `YIELD`. It seems that lanes which wait at a barrier are let go when all others of
//! its lanes have executed one: of lanes that left a loop after different passes, hardly any went on together. In a program's
//! loops that access memory, but neither call nor meet, there is none. `sort` of `bench/ordinary` takes 70 ms so, in place of
//! 153. In loops that call it stays, for there no barrier is left, and lanes meet by taking turns: without it `miller` takes
//! 82 ms, in place of 31. It also stays in loops that access no memory, and in those that carry much from pass to pass, which
//! have a mark: lanes that make very different numbers of passes gain little by waiting for the longest (`puzzle` of
//! `bench/native`: 57 and 94 ms; see `Compiler::plan_loops_without_calls`).
//!
//! `YIELD` also has a lane go on for which another one waits. In the runtime's code it stays, whose lanes wait for each other's
//! locks, and in loops of a program that may wait: see `Compiler::plan_loops_without_calls`.
//!
//! No result depends on it. A region with calls does not promise that lanes leave it together, because of just these
//! callees. So nothing that ptxas writes after it may rely on that. Nor do lanes that go on find values of another way in
//! registers that a warp shares: in functions ptxas keeps nothing there from one basic block to the next, and in kernels
//! what is the same everywhere (looked at in the code of eight programs). Where it sees recursion it does; see
//! `Compiler::hidden_callee`.

use std::collections::BTreeMap;

use super::functions::Code;
use super::machine_loops;
use super::opcodes::{
    AFTER_FIVE, ALWAYS, BRX, BSSY, BSYNC, ENDCOLLECTIVE, Instruction, MOV, NOP, PMTRIG, SAVED, TO_BARRIER, WAITS,
    WARPSYNC, YIELD,
};
use crate::device::{CodeFormat, Target};
use crate::ptx::Options;

/// Which of ptxas's barriers linked code keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// All of them.
    #[default]
    All,
    /// All but those of regions that call: its lanes meet by themselves. Those of meetings become barriers of all lanes that
    /// meet.
    WithoutCalls,
    /// A single lane runs it.
    None,
}

impl Kept {
    /// Those that code with these options keeps; `known` says whether its machine code is.
    pub fn of(options: &Options, known: bool) -> Kept {
        match (known, options.single_lane, options.reconverge) {
            (true, true, _) => Kept::None,
            (true, _, true) => Kept::WithoutCalls,
            _ => Kept::All,
        }
    }
}

/// Whether lanes can meet in code for this target: its machine code is known, or it is the tests' emulator, which has no
/// barriers.
pub fn are_known(target: &Target) -> bool {
    target.format == CodeFormat::Ptx || target.compute_capability == (9, 0)
}

/// The same of machine code for a target of this name.
pub fn are_known_of(name: &str) -> bool {
    name == "sm_90"
}

/// The searches of a function's code for what lies between two places.
struct Search<'a> {
    code: &'a Code,
    /// See [`Code::next`].
    next: &'a [Vec<usize>],
    /// By instruction, the search that has seen it last.
    seen: Vec<u32>,
    /// Which search this is.
    number: u32,
}

impl<'a> Search<'a> {
    fn new(code: &'a Code, next: &'a [Vec<usize>]) -> Self {
        Self {
            code,
            next,
            seen: vec![0; code.instructions.len() + 1],
            number: 0,
        }
    }

    fn begin(&mut self) {
        self.number += 1;
    }

    /// Whether this search sees it for the first time.
    fn sees(&mut self, at: usize) -> bool {
        std::mem::replace(&mut self.seen[at], self.number) != self.number
    }

    /// Whether a lane may call or meet others between the instructions `begin` and `end`. It may where it is not known where
    /// it goes.
    fn calls_or_meets(&mut self, begin: usize, end: usize) -> bool {
        self.begin();
        // Back at its begin, a lane is in the region anew. ptxas has it leave the barrier before, by `BREAK`.
        for limit in [begin, end] {
            self.sees(limit);
        }
        let (mut open, mut calls, mut edges) = (vec![begin + 1], Vec::new(), Vec::new());
        while let Some(at) = open.pop() {
            let Some(instruction) = self.code.instructions.get(at).copied() else {
                return true;
            };
            if !self.sees(at) {
                continue;
            }
            if instruction.opcode() == BRX && !self.code.jumps.contains_key(&at) {
                return true;
            }
            if instruction.is_call() || instruction.is_meeting() {
                calls.push(at);
            }
            let next = &self.next[at];
            edges.extend(next.iter().map(|to| (*to, at)));
            open.extend(next.iter().copied());
        }
        if calls.is_empty() {
            return false;
        }
        // Back from the end, over the same ways.
        edges.sort_unstable();
        self.begin();
        let mut open = vec![end];
        while let Some(to) = open.pop() {
            let first = edges.partition_point(|edge| edge.0 < to);
            for (_, from) in edges[first..].iter().take_while(|edge| edge.0 == to) {
                if self.sees(*from) {
                    open.push(*from);
                }
            }
        }
        calls.iter().any(|at| self.seen[*at] == self.number)
    }
}

/// The ends of regions at which lanes are no longer to wait.
fn around_calls(function: &Code, next: &[Vec<usize>]) -> Vec<usize> {
    let code = &function.instructions;
    let of = |opcode| move |(at, instruction): (usize, &Instruction)| (instruction.opcode() == opcode).then_some(at);
    // By their ends: the region's `BSSY` names the instruction after that.
    let mut begins: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in code.iter().enumerate().filter_map(of(BSSY)) {
        begins.entry(code[at].target(at).wrapping_sub(1)).or_default().push(at);
    }
    let mut search = Search::new(function, next);
    let releases = |end: &usize| match begins.get(end) {
        Some(begins) => begins.iter().any(|begin| search.calls_or_meets(*begin, *end)),
        None => code[*end].low >> 16 & 15 >= SAVED,
    };
    code.iter().enumerate().filter_map(of(BSYNC)).filter(releases).collect()
}

/// What makes lanes that have met go on together: places, and the instructions that are to stand there.
///
/// For lanes that come apart ptxas writes a meeting as `BSSY B0; MOV Ra, Rmask; WARPSYNC.COLLECTIVE Ra; NOP; ENDCOLLECTIVE;
/// BSYNC B0`, or without the `MOV`. `BSSY` makes the group that executes it the region's lanes. `BMOV B0, Rmask` in its place
/// makes all of the mask its lanes. They come to the `BSYNC` at once, for they have just waited for each other, or they have
/// ended. None of them has another use for B0, as ptxas begins a region there too. All lanes of a mask wait by the same
/// instructions: ptxas writes each meeting once.
///
/// A meeting that looks otherwise stays as it is. (`BSSY` in place of the `NOP`, where all are together, is an illegal
/// instruction.)
pub(super) fn gathers(code: &[Instruction]) -> Vec<(usize, Instruction)> {
    let gather = |at: usize| {
        let [wait, nop, leave, end] = [code[at], code[at + 1], code[at + 2], code[at + 3]];
        let opcodes = [wait.opcode(), nop.low, leave.opcode(), end.opcode()];
        if opcodes != [WARPSYNC, NOP, ENDCOLLECTIVE, BSYNC] {
            return None;
        }
        let (waited, barrier) = (wait.low >> 24 & 0xff, end.low >> 16 & 15);
        let before = code.get(at.checked_sub(1)?)?;
        let (begin, mask) = match before.low & 0xff_ffff == waited << 16 | MOV {
            true => (at.checked_sub(2)?, before.low >> 32 & 0xff),
            false => (at - 1, waited),
        };
        let region = code[begin];
        if region.low & 0xf_ffff != barrier << 16 | ALWAYS << 12 | BSSY || region.target(begin) != at + 4 {
            return None;
        }
        let low = TO_BARRIER | barrier << 24 | mask << 32;
        let high = AFTER_FIVE | region.high & WAITS;
        Some((begin, Instruction { low, high }))
    };
    (0..code.len().saturating_sub(3)).filter_map(gather).collect()
}

/// The places in a program's code at which lanes that wait would be let go: in loops that access memory, but neither call nor
/// meet nor have a mark.
fn yields(code: &Code, next: &[Vec<usize>]) -> Vec<usize> {
    let instructions = code.instructions.iter().enumerate();
    let mut places: Vec<usize> = instructions
        .filter_map(|(at, one)| (one.opcode() == YIELD).then_some(at))
        .collect();
    if !code.of_program || places.is_empty() {
        return Vec::new();
    }
    let mut loops = machine_loops::find(next);
    loops.sort_by_key(Vec::len);
    let keeps = |at: &usize| {
        let one = code.instructions[*at];
        one.is_call() || one.is_meeting() || one.opcode() == PMTRIG
    };
    let is_quiet = |at: &usize| {
        let own = loops.iter().find(|body| body.binary_search(at).is_ok());
        let accesses = |at: &usize| code.instructions[*at].is_access();
        own.is_some_and(|body| body.iter().any(accesses) && !body.iter().any(keeps))
    };
    places.retain(is_quiet);
    places
}

/// The instructions of a function that are not needed where these barriers are kept.
pub(super) fn superfluous(code: &Code, next: &[Vec<usize>], kept: Kept) -> Vec<usize> {
    let instructions = code.instructions.iter().enumerate();
    match kept {
        Kept::All => Vec::new(),
        Kept::WithoutCalls => {
            let marks = instructions.filter_map(|(at, one)| (one.opcode() == PMTRIG).then_some(at));
            [around_calls(code, next), yields(code, next), marks.collect()].concat()
        }
        Kept::None => instructions
            .filter_map(|(at, one)| (one.is_of_barriers() || one.opcode() == PMTRIG).then_some(at))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::cuda::functions;
    use crate::ptx;

    // As nvdisasm 13.0 shows them, beside each.
    const BSSY_B6: Instruction = Instruction::of(0x0000_0060_0006_7945, 0x000f_e200_0380_0000); // BSSY B6, +0x70
    const BSYNC_B6: Instruction = Instruction::of(0x0000_0000_0006_7941, 0x000f_ea00_0380_0000);
    const BRANCH_IF: Instruction = Instruction::of(0x0000_0000_0004_0947, 0x000f_ea00_0380_0000); // @P0 BRA +0x20
    const CALL: Instruction = Instruction::of(0x7943, 0x003f_ea00_03c0_0000);
    const MEETING: Instruction = Instruction::of(0x0000_0000_0404_8947, 0x002f_ea00_0b80_0000); // @!P0 BRA.DIV UR4, +0x20
    const OTHER: Instruction = Instruction::of(0x0000_0000_0000_7918, 0x000f_e200_0000_0000);
    const END: Instruction = Instruction::of(0x794d, 0x000f_ea00_0380_0000);

    /// The ends at which lanes no longer wait, in the code of a program's function.
    fn released_in(code: &Code) -> Vec<usize> {
        around_calls(code, &code.next())
    }

    fn removed(code: &Code, kept: Kept) -> Vec<usize> {
        superfluous(code, &code.next(), kept)
    }

    fn released(instructions: &[Instruction]) -> Vec<usize> {
        released_in(&Code::of(instructions))
    }

    /// A region of seven instructions with this one in it.
    fn region(inside: Instruction) -> [Instruction; 8] {
        [BSSY_B6, BRANCH_IF, inside, OTHER, OTHER, OTHER, BSYNC_B6, END]
    }

    #[test]
    fn lanes_wait_at_the_end_of_a_region_unless_it_calls_or_meets() {
        assert_eq!(released(&region(OTHER)), []);
        assert_eq!(released(&region(CALL)), [6]);
        assert_eq!(released(&region(MEETING)), [6]);
    }

    #[test]
    fn lanes_wait_for_those_that_a_jump_table_has_parted() {
        let jump = Instruction::of(0xffff_fff0_0400_7949, 0x000f_ea00_0383_ffff); // BRX R4
        let mut code = Code::of(&[BSSY_B6, jump, OTHER, OTHER, OTHER, OTHER, BSYNC_B6, CALL, END]);
        // Where it leads is not known.
        assert_eq!(released_in(&code), [6]);
        code.jumps.insert(1, vec![3, 5]);
        assert_eq!(released_in(&code), []);
        // By one of its entries a lane traps.
        code.jumps.insert(1, vec![3, 7]);
        assert_eq!(released_in(&code), []);
        // By one of them it calls.
        code.instructions[3] = CALL;
        assert_eq!(released_in(&code), [6]);
    }

    #[test]
    fn a_lane_that_is_alone_needs_none() {
        let breaks = Instruction::of(0x0000_0000_0006_0942, 0x000f_ea00_0380_0000); // @P0 BREAK B6
        let saves = Instruction::of(0x0000_0000_0b02_7355, 0x000e_2200_0010_0000); // BMOV.32.CLEAR R2, B11
        let code = Code::of(&[saves, BSSY_B6, BRANCH_IF, breaks, CALL, BSYNC_B6, END]);
        assert_eq!(removed(&code, Kept::None), [0, 1, 3, 5]);
        assert_eq!(removed(&code, Kept::WithoutCalls), [5]);
        assert_eq!(removed(&code, Kept::All), []);
        let options = |single_lane, reconverge| Options {
            single_lane,
            reconverge,
            ..Options::default()
        };
        assert_eq!(Kept::of(&options(true, true), true), Kept::None);
        assert_eq!(Kept::of(&options(false, true), true), Kept::WithoutCalls);
        assert_eq!(Kept::of(&options(false, false), true), Kept::All);
        assert_eq!(Kept::of(&options(true, true), false), Kept::All);
    }

    #[test]
    fn lanes_wait_for_those_that_make_more_passes() {
        let yields = Instruction::of(0x0000_0000_0000_7946, 0x000f_e200_0380_0000); // YIELD
        let back = Instruction::of(0xffff_fffc_00f4_0947, 0x000f_ea00_0383_ffff); // @P0 BRA -0x20
        assert_eq!(back.target(4), 2);
        let load = Instruction::of(0x0000_0004_0800_7981, 0x000e_a200_0c1e_1900); // LDG.E R0, desc[UR4][R8.64]
        let stop_flag = Instruction::of(0x0001_1c04_0a0a_7981, 0x000e_a200_0c1e_f900); // LDG.E.STRONG.GPU R10, desc[UR4][R10.64+0x11c]
        let with = |inside: Instruction| Code::of(&[OTHER, load, yields, inside, back, END]);
        assert_eq!(removed(&with(load), Kept::WithoutCalls), [2]);
        // It only calculates.
        assert_eq!(removed(&with(OTHER), Kept::WithoutCalls), []);
        assert_eq!(removed(&with(stop_flag), Kept::WithoutCalls), []);
        // It has a mark, which is taken out.
        let mark = Instruction::of(0x0000_0001_0000_7801, 0x000f_e200_0380_0000); // PMTRIG 0x1
        assert_eq!(removed(&with(mark), Kept::WithoutCalls), [3]);
        assert_eq!(removed(&with(mark), Kept::None), [2, 3]);
        let around = |inside: Instruction| {
            let mut code = with(load);
            code.instructions[2] = inside;
            code.instructions.insert(2, yields);
            code.instructions[5] = Instruction::of(0xffff_fffc_00f0_0947, 0x000f_ea00_0383_ffff); // @P0 BRA -0x30
            code
        };
        assert_eq!(removed(&around(OTHER), Kept::WithoutCalls), [2]);
        assert_eq!(removed(&around(CALL), Kept::WithoutCalls), []);
        assert_eq!(removed(&around(MEETING), Kept::WithoutCalls), []);
        // Not in a loop, or not of a program.
        assert_eq!(removed(&Code::of(&[load, yields, END]), Kept::WithoutCalls), []);
        let mut runtime = with(load);
        runtime.of_program = false;
        assert_eq!(removed(&runtime, Kept::WithoutCalls), []);
    }

    #[test]
    fn lanes_that_have_met_go_on_together() {
        let region = Instruction::of(0x0000_0050_0000_7945, 0x000f_e200_0380_0000); // BSSY B0, +0x60
        let copy = Instruction::of(0x0000_0012_000f_7202, 0x000f_ce00_0000_0f00); // MOV R15, R18
        let wait = Instruction::of(0x0000_0000_0f08_7348, 0x000f_ea00_03c0_0000); // WARPSYNC.COLLECTIVE R15, +0x30
        let leave = Instruction::of(0x791b, 0x000f_e200_0380_0000); // ENDCOLLECTIVE
        let end = Instruction::of(0x0000_0000_0000_7941, 0x000f_ea00_0380_0000); // BSYNC B0
        let changes = |code: &[Instruction]| -> Vec<(usize, u64)> {
            gathers(code).iter().map(|(at, by)| (*at, by.low)).collect()
        };
        let code = [region, copy, wait, OTHER, leave, end, END];
        // BMOV.32 B0, R18
        assert_eq!(changes(&code), [(0, 0x0000_0012_0000_7356)]);
        // The mask is where it is waited for: BMOV.32 B0, R15.
        let near = Instruction::of(0x0000_0040_0000_7945, 0x001f_e200_0380_0000); // BSSY B0, +0x50, which waits for a load
        let code = [near, wait, OTHER, leave, end, END];
        assert_eq!(changes(&code), [(0, 0x0000_000f_0000_7356)]);
        assert_eq!(gathers(&code)[0].1.high, 0x001f_ea00_0000_0000);
        // Something else becomes R15, there is more to do for all, not all lanes begin the region, or it is another one.
        let other = Instruction::of(0x0000_0012_000f_7210, 0x000f_ce00_0000_0f00);
        assert_eq!(changes(&[region, other, wait, OTHER, leave, end, END]), []);
        assert_eq!(changes(&[region, copy, wait, copy, leave, end, END]), []);
        let some = Instruction::of(0x0000_0050_0000_0945, 0x000f_e200_0380_0000); // @P0 BSSY B0, +0x60
        assert_eq!(changes(&[some, copy, wait, OTHER, leave, end, END]), []);
        assert_eq!(changes(&[BSSY_B6, copy, wait, OTHER, leave, end, END]), []);
    }

    #[test]
    fn a_call_after_the_region_is_none_of_it() {
        let mut code = region(OTHER);
        code[7] = CALL;
        assert_eq!(released(&code), []);
        // Nor one that no way leads to.
        let always = Instruction::of(0x0000_0000_0004_7947, 0x000f_ea00_0380_0000);
        let code = [BSSY_B6, always, CALL, OTHER, OTHER, OTHER, BSYNC_B6, END];
        assert_eq!(released(&code), []);
    }

    #[test]
    fn a_call_out_of_line_is_found() {
        let (forth, back) = (
            Instruction::of(0x0000_0000_0014_0947, 0x000f_ea00_0380_0000), // @P0 BRA +0x60
            Instruction::of(0xffff_fffc_00ec_7947, 0x000f_ea00_0383_ffff), // BRA -0x40
        );
        let code = [BSSY_B6, forth, OTHER, OTHER, OTHER, OTHER, BSYNC_B6, CALL, back];
        assert_eq!(forth.target(1), 7);
        assert_eq!(back.target(8), 4);
        assert_eq!(released(&code), [6]);
    }

    /// A trap: the call is out of line, and the thread ends after it.
    #[test]
    fn lanes_wait_where_a_lane_may_trap() {
        let forth = Instruction::of(0x0000_0000_0014_0947, 0x000f_ea00_0380_0000); // @P0 BRA +0x60
        let code = [BSSY_B6, forth, OTHER, OTHER, OTHER, OTHER, BSYNC_B6, CALL, END];
        assert_eq!(released(&code), []);
        // A lane that leaves the region and comes around a loop is in it anew.
        let out = Instruction::of(0x0000_0000_0010_0947, 0x000f_ea00_0380_0000); // @P0 BRA +0x50
        let back = Instruction::of(0xffff_fffc_00d8_7947, 0x000f_ea00_0383_ffff); // BRA -0x90
        let code = [
            OTHER, BSSY_B6, OTHER, out, OTHER, OTHER, OTHER, BSYNC_B6, CALL, back, END,
        ];
        assert_eq!((out.target(3), back.target(9)), (8, 0));
        assert_eq!(released(&code), []);
        assert_eq!(released(&region(CALL)), [6]);
    }

    /// Convergence barriers in the machine code of a program with a recursive function.
    fn barriers_of_recursion(ptxas: &str, single_lane: bool) -> Option<usize> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/wat/arms.wat");
        let wasm = wat::parse_file(path).expect("a module");
        let options = gpu_run_translator::Options::full();
        let program = gpu_run_translator::translate(&wasm, &options)
            .expect("a valid module")
            .program;
        let unit = ptx::Unit {
            entries: program.meta.exports.iter().map(|export| export.index).collect(),
            program: &program,
            prefix: String::new(),
            code_start: 0,
            cold: Default::default(),
            options: ptx::Options {
                single_lane,
                ..ptx::Options::default()
            },
        };
        let folder = tempfile::tempdir().expect("a folder");
        let (text, object) = (folder.path().join("arms.ptx"), folder.path().join("arms.o"));
        std::fs::write(&text, ptx::compile(&unit).text).expect("the folder can be written");
        let mut command = Command::new(ptxas);
        let status = command
            .args(["-c", "-O3", "-arch=sm_90", "-o"])
            .args([&object, &text])
            .status();
        assert!(status.ok()?.success(), "ptxas takes it");
        let bytes = std::fs::read(object).expect("an object");
        let functions = functions::read(&bytes).expect("an ELF file");
        let instructions = functions.iter().flat_map(|function| &function.code.instructions);
        Some(instructions.filter(|instruction| instruction.opcode() == BSSY).count())
    }

    /// If the second assertion fails, a new ptxas knows that lanes of a recursion may part, and calls need not be hidden.
    #[test]
    fn the_assembler_does_not_see_recursion() {
        let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".into());
        let Some(hidden) = barriers_of_recursion(&ptxas, false) else {
            eprintln!("skipped: {ptxas} cannot be run; name CUDA's assembler in PTXAS");
            return;
        };
        assert!(hidden > 0, "lanes of a recursive function meet");
        let seen = barriers_of_recursion(&ptxas, true);
        assert_eq!(
            seen,
            Some(0),
            "ptxas has none where it sees that a function calls itself"
        );
    }
}
