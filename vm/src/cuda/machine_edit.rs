//! Changes the machine code that the driver has linked: takes out what ptxas puts in and these programs do not need.
//!
//! - [`barriers`]: convergence barriers where lanes meet by themselves, or are alone;
//! - `descriptors`: what brings the descriptor of an access, and the cycles that it takes;
//! - branches to what follows.
//!
//! What stays moves together, so that a function needs less of the caches of instructions: see `compact`. Where lines of
//! the source are known for each address, and in functions of which not all is known, every instruction stays where it is,
//! and others that do nothing take the place of what is removed. How long the rest waits is found by `stalls`.
//!
//! All of this is known of compute capability 9.0 only.

use std::collections::BTreeSet;

use super::barriers::{self, Kept};
use super::descriptors::{self, Changes};
use super::functions::{self, Code, Function};
use super::opcodes::{BRA, BRX, Instruction, NOP};
use super::stalls::{self, Removal};

/// How a cubin is changed.
#[derive(Clone, Copy, Debug)]
pub struct EditOptions {
    /// Which barriers stay.
    pub kept: Kept,
    /// Its machine code is known. Otherwise nothing is changed.
    pub known: bool,
    /// Addresses of instructions have lines: they stay.
    pub lines: bool,
}

/// What is to change in one function.
struct Edit {
    instructions: Vec<Instruction>,
    removed: Vec<bool>,
    /// Instructions stay where they are.
    in_place: bool,
    /// All instructions are known.
    known: bool,
    /// What the function is to begin with.
    begin: Option<Instruction>,
}

/// Changes a linked cubin. Returns how many instructions are of no use any more; a few of them stay, and do nothing.
///
/// # Errors
///
/// It is no ELF file; nothing was changed.
pub fn edit(cubin: &mut [u8], options: EditOptions) -> Result<usize, object::Error> {
    if !options.known {
        return Ok(0);
    }
    let functions = functions::read(cubin)?;
    let next: Vec<Vec<Vec<usize>>> = functions.iter().map(|function| function.code.next()).collect();
    let of = |(function, next): (&Function, &Vec<_>)| without_barriers(function, next, options);
    let mut edits: Vec<Edit> = functions.iter().zip(&next).map(of).collect();
    use_one_descriptor(&functions, &next, &mut edits);
    let mut removed = 0;
    for ((function, next), mut edit) in functions.iter().zip(&next).zip(edits) {
        if edit.known {
            remove_idle_branches(&function.code, &mut edit);
        }
        // What is filled in when the code is loaded is not what it looks like.
        function.relocated.iter().for_each(|at| edit.removed[*at] = false);
        removed += edit.removed.iter().filter(|removed| **removed).count();
        let (instructions, now) = finished(&function.code, next, edit);
        function.write(cubin, &instructions, &now);
    }
    Ok(removed)
}

fn without_barriers(function: &Function, next: &[Vec<usize>], options: EditOptions) -> Edit {
    let code = &function.code;
    let mut instructions = code.instructions.clone();
    let mut removed = vec![false; instructions.len()];
    barriers::superfluous(code, next, options.kept)
        .into_iter()
        .for_each(|at| removed[at] = true);
    if options.kept == Kept::WithoutCalls {
        for (at, by) in barriers::gathers(&code.instructions) {
            instructions[at] = by;
        }
    }
    let known = descriptors::is_known(code);
    Edit {
        instructions,
        removed,
        in_place: options.lines || !known || function.has_unknown_places || !returns_are_known(function),
        known,
        begin: None,
    }
}

/// Whether relocations tell where each call returns to.
fn returns_are_known(function: &Function) -> bool {
    let calls = function.code.instructions.iter().enumerate();
    let mut calls = calls.filter(|(at, one)| one.is_call() && !function.code.ends.contains(at));
    calls.all(|(at, _)| function.named.contains(&(at + 1)))
}

/// Has accesses name one pair of uniform registers, if each kernel can set it.
fn use_one_descriptor(functions: &[Function], next: &[Vec<Vec<usize>>], edits: &mut [Edit]) {
    let all_known = edits.iter().all(|edit| edit.known);
    let Some(pair) = descriptors::free_pair(functions).filter(|_| all_known) else {
        return;
    };
    let changes = functions.iter().zip(next);
    let changes: Vec<Changes> = changes
        .map(|(function, next)| descriptors::changes(&function.code, next, pair))
        .collect();
    let begins: Option<Vec<Begin>> = functions
        .iter()
        .zip(&changes)
        .zip(&*edits)
        .map(|((function, changes), edit)| begin_of(function, changes, edit))
        .collect();
    let Some(begins) = begins else { return };
    for ((changes, begin), edit) in changes.into_iter().zip(begins).zip(edits) {
        for (at, one) in changes.changed {
            edit.instructions[at] = one;
        }
        for at in changes.removed {
            edit.removed[at] = true;
        }
        match begin {
            Begin::Caller => {}
            Begin::InPlaceOf(at) => {
                edit.instructions[at] = descriptors::begin(pair).waiting_for(edit.instructions[at].high);
                edit.removed[at] = false;
            }
            Begin::BeforeAll => edit.begin = Some(descriptors::begin(pair)),
        }
    }
}

/// Where the pair that a function uses is set.
enum Begin {
    /// By the kernel that leads to the function.
    Caller,
    /// In a kernel, in the place of this instruction, which is to be removed.
    InPlaceOf(usize),
    /// In a kernel, before all others.
    BeforeAll,
}

/// Where the pair of a function can be set. `None` if a kernel cannot set it.
fn begin_of(function: &Function, changes: &Changes, edit: &Edit) -> Option<Begin> {
    if !function.is_kernel {
        return Some(Begin::Caller);
    }
    let instructions = &function.code.instructions;
    let straight = instructions
        .iter()
        .take_while(|one| !one.has_target() && one.opcode() != BRX && !descriptors::needs_begin(**one))
        .count();
    let replaced = changes
        .removed
        .iter()
        .copied()
        .find(|at| *at < straight && instructions[*at].is_sure());
    if let Some(at) = replaced {
        return Some(Begin::InPlaceOf(at));
    }
    let has_room = instructions.last().is_some_and(|last| last.low == NOP) && !edit.in_place;
    let is_free = !function.relocated.contains(&0) && function.code.jumps.is_empty();
    (has_room && is_free).then_some(Begin::BeforeAll)
}

/// The instruction that is there, or follows what is removed.
fn staying(removed: &[bool], mut at: usize) -> usize {
    while removed.get(at) == Some(&true) {
        at += 1;
    }
    at
}

/// Removes branches to what follows anyway.
fn remove_idle_branches(code: &Code, edit: &mut Edit) {
    let branches: Vec<usize> = (0..code.instructions.len())
        .filter(|at| edit.instructions[*at].opcode() == BRA && !edit.instructions[*at].is_meeting())
        .collect();
    // From the last one on: more of what follows is removed then.
    for at in branches.iter().rev().copied() {
        let target = code.instructions[at].target(at);
        edit.removed[at] = target > at && staying(&edit.removed, at + 1) == staying(&edit.removed, target);
    }
}

/// What does nothing as long as an instruction did, and waits for what that waited for.
fn idle(one: Instruction) -> Instruction {
    Instruction::nothing(one.stall().max(1)).waiting_for(one.high)
}

/// The code with its changes, and for each former instruction, and what came after them, where it is.
fn finished(code: &Code, next: &[Vec<usize>], mut edit: Edit) -> (Vec<Instruction>, Vec<usize>) {
    let fixed = fixed(code);
    for (at, removed) in edit.removed.iter_mut().enumerate() {
        // Where not all is known, not all ways are on which cycles could be needed.
        if *removed && (!edit.known || fixed.contains(&at)) {
            edit.instructions[at] = idle(code.instructions[at]);
            *removed = false;
        }
    }
    let removal = Removal {
        instructions: edit.instructions,
        removed: edit.removed,
        in_place: edit.in_place,
    };
    let settled = stalls::settle(code, next, removal);
    if edit.in_place {
        let now = (0..=code.instructions.len()).collect();
        return (settled.instructions, now);
    }
    compact(code, settled, &fixed, edit.begin)
}

/// Indirect branches, and what they lead to: these stay where they are, for their tables are not changed.
fn fixed(code: &Code) -> BTreeSet<usize> {
    let jumps = code.jumps.iter().flat_map(|(at, to)| to.iter().chain([at]));
    jumps.copied().filter(|at| *at < code.instructions.len()).collect()
}

/// So many instructions that do nothing are branched over: a branch that is taken costs about as much.
const LONG_GAP: usize = 6;

/// Moves together what stays.
fn compact(
    code: &Code,
    settled: Removal,
    fixed: &BTreeSet<usize>,
    begin: Option<Instruction>,
) -> (Vec<Instruction>, Vec<usize>) {
    let len = code.instructions.len();
    let idle = code.instructions.iter().rev().take_while(|one| one.low == NOP).count();
    let mut instructions: Vec<Instruction> = begin.into_iter().collect();
    let (mut now, mut former) = (vec![len; len + 1], vec![None; instructions.len()]);
    for (at, one) in settled.instructions.iter().enumerate().take(len - idle) {
        if settled.removed[at] {
            continue;
        }
        if fixed.contains(&at) && instructions.len() < at {
            let gap = instructions.len()..at;
            instructions.resize(at, Instruction::nothing(1));
            former.resize(at, None);
            if gap.len() >= LONG_GAP {
                instructions[gap.start] = Instruction::branch().with_target(gap.start, at);
            }
        }
        now[at] = instructions.len();
        instructions.push(*one);
        former.push(Some(at));
    }
    for (at, now) in now.iter_mut().enumerate().take(len).skip(len - idle) {
        *now = at.max(instructions.len());
    }
    for at in (0..len).rev().filter(|at| settled.removed[*at]) {
        now[at] = now[at + 1];
    }
    // A kernel's symbol is where it begins.
    if begin.is_some() {
        now[0] = 0;
    }
    for at in 0..instructions.len() {
        let Some(was) = former[at] else { continue };
        if instructions[at].has_target() {
            let target = code.instructions[was].target(was);
            instructions[at] = instructions[at].with_target(at, now.get(target).copied().unwrap_or(target));
        }
    }
    let rest = settled.instructions.last().copied().filter(|last| last.low == NOP);
    instructions.resize(len, rest.unwrap_or(Instruction::nothing(1)));
    (instructions, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::machine_code;
    use crate::cuda::opcodes::{EXIT, R2UR};

    const OTHER: Instruction = Instruction::nothing(4);
    const END: Instruction = Instruction::of(0x794d, 0x000f_ea00_0380_0000); // EXIT
    const IF: Instruction = Instruction::of(0x0000_0000_0000_0947, 0x000f_ea00_0380_0000); // @P0 BRA

    /// A move of a number to a register, so that each can be told.
    fn number(value: u64) -> Instruction {
        Instruction::of(0x7802 | value << 32, 0x000f_e400_0000_0f00)
    }

    fn edited(code: &Code, removed: &[usize], begin: Option<Instruction>) -> (Vec<Instruction>, Vec<usize>) {
        let is_removed = |at| removed.contains(&at);
        let edit = Edit {
            instructions: code.instructions.clone(),
            removed: (0..code.instructions.len()).map(is_removed).collect(),
            in_place: false,
            known: true,
            begin,
        };
        finished(code, &code.next(), edit)
    }

    #[test]
    fn what_stays_moves_together() {
        let code = Code::of(&[
            number(0),
            OTHER,
            IF.with_target(2, 4),
            OTHER,
            number(1),
            END,
            Instruction::nothing(1),
        ]);
        let (instructions, now) = edited(&code, &[1, 3], None);
        let low: Vec<u64> = instructions.iter().map(|one| one.low).collect();
        let branch = IF.with_target(1, 2);
        assert_eq!(low[..4], [number(0).low, branch.low, number(1).low, END.low]);
        assert_eq!(low[4..], [OTHER.low; 3]);
        assert_eq!(now[..6], [0, 1, 1, 2, 2, 3]);
    }

    #[test]
    fn a_kernel_can_begin_with_one_more() {
        let begin = number(7);
        let code = Code::of(&[number(0), IF.with_target(1, 0), END, Instruction::nothing(1)]);
        let (instructions, now) = edited(&code, &[], Some(begin));
        assert_eq!(instructions[..2], [begin, number(0)]);
        // Its symbol stays where it begins.
        assert_eq!(now[..3], [0, 2, 3]);
        assert_eq!(instructions.len(), 4);
    }

    #[test]
    fn what_jump_tables_lead_to_stays_where_it_is() {
        let jump = Instruction::of(0xffff_fff0_0400_7949, 0x000f_ea00_0383_ffff); // BRX R4
        let mut code = Code::of(&[OTHER, jump, OTHER, number(0), OTHER, number(1), END]);
        code.jumps.insert(1, vec![3, 5]);
        let (instructions, now) = edited(&code, &[0, 2, 4], None);
        assert_eq!(instructions[1], jump);
        assert_eq!(
            (instructions[3].low, instructions[5].low),
            (number(0).low, number(1).low)
        );
        assert_eq!((now[2], now[4]), (3, 5));
        // Even if it is to be removed.
        code.jumps.insert(1, vec![2, 4]);
        let (instructions, _) = edited(&code, &[0, 2, 4], None);
        let at: Vec<usize> = (0..7).filter(|at| instructions[*at].low == OTHER.low).collect();
        assert_eq!(at, [0, 2, 4]);
    }

    #[test]
    fn a_lane_branches_over_a_long_gap() {
        let jump = Instruction::of(0xffff_fff0_0400_7949, 0x000f_ea00_0383_ffff); // BRX R4
        let lane_over = |gap: usize| {
            let mut code = vec![jump, number(0)];
            code.resize(2 + gap, OTHER);
            code.extend([number(1), END]);
            let mut code = Code::of(&code);
            code.jumps.insert(0, vec![1, 2 + gap]);
            let removed: Vec<usize> = (2..2 + gap).collect();
            let (instructions, now) = edited(&code, &removed, None);
            assert_eq!(instructions[2 + gap].low, number(1).low);
            assert_eq!(now[2 + gap], 2 + gap);
            instructions[2]
        };
        assert_eq!(lane_over(LONG_GAP - 1).low, NOP);
        let branch = lane_over(LONG_GAP);
        assert!(branch.leaves());
        assert_eq!(branch.target(2), 2 + LONG_GAP);
    }

    #[test]
    fn branches_to_what_follows_are_removed() {
        let branch = Instruction::branch();
        let code = Code::of(&[IF.with_target(0, 2), OTHER, branch.with_target(2, 3), number(0), END]);
        let mut edit = Edit {
            instructions: code.instructions.clone(),
            removed: vec![false, true, false, false, false],
            in_place: false,
            known: true,
            begin: None,
        };
        remove_idle_branches(&code, &mut edit);
        assert_eq!(edit.removed, [true, true, true, false, false]);
    }

    /// The runtime's own code, of many functions that call each other.
    #[test]
    fn the_runtime_stays_the_same_program() {
        let before = machine_code::runtime((9, 0)).expect("it is there");
        let functions = functions::read(&before).expect("it is ELF");
        for (kept, lines) in [
            (Kept::All, false),
            (Kept::WithoutCalls, false),
            (Kept::None, false),
            (Kept::All, true),
        ] {
            let mut after = before.clone();
            let known = true;
            let count = edit(&mut after, EditOptions { kept, known, lines }).expect("it is ELF");
            let edited = functions::read(&after).expect("it is still ELF");
            assert_eq!(edited.len(), functions.len());
            let count_of = |functions: &[Function], wanted: &dyn Fn(&Instruction) -> bool| {
                let all = functions.iter().flat_map(|function| &function.code.instructions);
                all.filter(|one| wanted(one)).count()
            };
            let copies = |one: &Instruction| one.opcode() == R2UR;
            let nothing = |one: &Instruction| one.low == NOP;
            // Branches over what does nothing.
            let gaps = |functions: &[Function]| {
                let of = |function: &Function| {
                    let code = &function.code.instructions;
                    let is_gap = |at: &usize| {
                        let one = code[*at];
                        let target = if one.opcode() == BRA { one.target(*at) } else { 0 };
                        target >= at + LONG_GAP && code[at + 1..target].iter().all(nothing)
                    };
                    (0..code.len()).filter(is_gap).count()
                };
                functions.iter().map(of).sum::<usize>()
            };
            assert!(
                count_of(&edited, &copies) * 10 < count_of(&functions, &copies),
                "{kept:?}"
            );
            assert_eq!(
                count_of(&edited, &nothing) + gaps(&edited),
                count_of(&functions, &nothing) + gaps(&functions) + count,
                "{kept:?}"
            );
            // All calls, and what ends functions, are there, and relocations name them still.
            let others = |one: &Instruction| one.is_call() || one.opcode() == EXIT;
            assert_eq!(count_of(&edited, &others), count_of(&functions, &others));
            for (one, other) in functions.iter().zip(&edited) {
                assert_eq!(one.relocated.len(), other.relocated.len());
                let filled_in = |function: &Function| -> Vec<u64> {
                    let at = function.relocated.iter();
                    at.map(|at| function.code.instructions[*at].opcode()).collect()
                };
                assert_eq!(filled_in(one), filled_in(other), "{kept:?}");
                assert!(!returns_are_known(one) || returns_are_known(other), "{kept:?}");
                let code = &other.code.instructions;
                let targets = code.iter().enumerate().filter(|(_, one)| one.has_target());
                assert!(targets.clone().all(|(at, one)| one.target(at) < code.len()));
                if lines {
                    let stays =
                        |at: usize| code[at].opcode() == one.code.instructions[at].opcode() || nothing(&code[at]);
                    assert!((0..code.len()).all(stays));
                }
            }
        }
    }

    #[test]
    fn what_is_no_cubin_stays_as_it_is() {
        let options = EditOptions {
            kept: Kept::WithoutCalls,
            known: true,
            lines: false,
        };
        let mut bytes = *b"neither ELF nor machine code";
        assert!(edit(&mut bytes, options).is_err());
        assert_eq!(&bytes, b"neither ELF nor machine code");
        let runtime = machine_code::runtime((9, 0)).expect("it is there");
        let mut cut = runtime[..runtime.len() / 2].to_vec();
        _ = edit(&mut cut, options);
        // Of other devices the encoding is not known.
        let mut other = machine_code::runtime((12, 0)).expect("it is there");
        let before = other.clone();
        let known = false;
        assert_eq!(edit(&mut other, EditOptions { known, ..options }), Ok(0));
        assert!(other == before);
    }
}
