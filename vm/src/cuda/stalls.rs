//! After how many cycles an instruction may be issued where others between it and those before have been removed.
//!
//! A multiprocessor does not look whether the operands of an instruction are there. What takes a fixed time, as most
//! calculations do, ptxas has the next instructions wait for, by cycles. What takes longer counts a counter down, for which
//! others wait. Where an instruction is removed, so are the cycles after it, and they may be what others needed. Here the
//! cycles become as few as keep each instruction as far from those before it as it was, or as far as these need at most.
//!
//! How many cycles each needs was found in machine code that ptxas made: the fewest between it and the first that uses its
//! result.

use super::functions::{Code, before};
use super::opcodes::{BRA, BREAK, BRX, BSSY, BSYNC, EXIT, Instruction, NOP, RET, WAITS, YIELD};

/// No instruction of a fixed time needs more cycles.
const LONGEST: u64 = 15;
/// Those that set predicates, which a branch can use after 13 cycles.
const PREDICATES: [u64; 4] = [0x00a, 0x00b, 0x00c, 0x01c];
/// Calculations of registers of which others can use the result after five cycles, or six: moves, additions, shifts and the
/// like, by the low nine bits of their opcodes.
const SIMPLE: [u64; 16] = [
    0x002, 0x007, 0x010, 0x011, 0x012, 0x013, 0x016, 0x019, 0x01a, 0x024, 0x025, 0x036, 0x048, 0x082, 0x090, 0x0b9,
];
/// Of these, which may set predicates too, in bits 81 to 86.
const CARRIES: [u64; 5] = [0x010, 0x011, 0x012, 0x024, 0x025];
const HALVES: u64 = 0x035;
/// Those that calculate nothing.
const JUMPS: [u64; 6] = [BRA, BRX, EXIT, RET, YIELD, NOP & 0xfff];
/// What changes barriers.
const REGIONS: [u64; 3] = [BSSY, BSYNC, BREAK];

/// Cycles after which whatever it calculates can be used, or is waited for by a counter.
fn latency(one: Instruction) -> u64 {
    let base = one.opcode() & 0x1ff;
    let carries = CARRIES.contains(&base) && one.high >> 17 & 63 != 63;
    match base {
        _ if JUMPS.contains(&one.opcode()) => 0,
        // A counter is set one cycle later.
        _ if one.tells() => 2,
        _ if PREDICATES.contains(&base) || carries => LONGEST,
        _ if SIMPLE.contains(&base) || REGIONS.contains(&one.opcode()) => 6,
        HALVES => 8,
        _ => LONGEST,
    }
}

/// Instructions of which some are to be removed.
pub struct Removal {
    pub instructions: Vec<Instruction>,
    pub removed: Vec<bool>,
    /// Those that are removed become such that do nothing, and stay.
    pub in_place: bool,
}

/// A way back from an instruction.
#[derive(Clone, Copy)]
struct Way {
    /// Cycles that it took, and takes.
    old: u64,
    new: u64,
}

struct Stalls<'a> {
    code: &'a Code,
    /// The instructions as they will be, if they are not removed.
    changed: Vec<Instruction>,
    /// For each instruction the branches to it.
    from: Vec<Vec<usize>>,
    /// Cycles after each instruction.
    new: Vec<u64>,
    removed: Vec<bool>,
    /// Steps that may still be made for one instruction.
    left: u32,
}

impl Stalls<'_> {
    /// The cycles that are missing on ways that lead to `at` and then on as `way` does.
    fn lacking(&mut self, at: usize, way: Way) -> u64 {
        let one = self.code.instructions[at];
        let way = Way {
            old: way.old + one.stall(),
            new: way.new + self.new[at],
        };
        if one.is_call() && one.is_sure() {
            // What a callee returns is there when it does.
            return 0;
        }
        let own = match self.removed[at] {
            true => 0,
            false => latency(self.changed[at]).min(way.old).saturating_sub(way.new),
        };
        if way.new >= LONGEST {
            return own;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return own.max(LONGEST.min(way.old).saturating_sub(way.new));
        }
        own.max(self.lacking_before(at, way))
    }

    /// The same of all ways to an instruction.
    fn lacking_before(&mut self, at: usize, way: Way) -> u64 {
        let mut most = self.lacking_by_branches(at, way);
        if let Some(before) = at.checked_sub(1)
            && (self.removed[before] || !self.code.instructions[before].leaves())
        {
            most = most.max(self.lacking(before, way));
        }
        most
    }

    fn lacking_by_branches(&mut self, at: usize, way: Way) -> u64 {
        let mut most = 0;
        for index in 0..self.from[at].len() {
            let branch = self.from[at][index];
            if !self.removed[branch] {
                most = most.max(self.lacking(branch, way));
            }
        }
        most
    }
}

/// All ways for which cycles are counted, of one gap, lead over no more instructions.
const STEPS: u32 = 400;

/// Has those that stay wait as they must without those that are removed. Some are found to be needed for that: they stay, and
/// do nothing.
pub fn settle(code: &Code, next: &[Vec<usize>], removal: Removal) -> Removal {
    let Removal {
        mut instructions,
        removed,
        in_place,
    } = removal;
    let len = instructions.len();
    let mut from = before(next);
    for (at, from) in from.iter_mut().enumerate() {
        from.retain(|branch| branch + 1 != at);
    }
    let new = instructions.iter().zip(&removed).map(|(one, removed)| match removed {
        true => u64::from(in_place),
        false => one.stall(),
    });
    let mut stalls = Stalls {
        code,
        changed: instructions.clone(),
        from,
        new: new.collect(),
        removed,
        left: 0,
    };
    let mut stays = vec![false; len];
    let mut at = 0;
    while at < len {
        let begin = at;
        at += 1;
        if !stalls.removed[begin] {
            continue;
        }
        while at < len && stalls.removed[at] {
            at += 1;
        }
        let last = at - 1;
        if begin > 0 {
            instructions[begin - 1] = instructions[begin - 1].without_reuse();
        }
        stalls.left = STEPS;
        // Ways that lead to one of those that are removed: no instruction before is on all of them.
        let mut by_branches = 0;
        let (mut old, mut new) = (0, 0);
        for within in (begin..=last).rev() {
            old += code.instructions[within].stall();
            new += stalls.new[within];
            by_branches = by_branches.max(stalls.lacking_by_branches(within, Way { old, new }));
        }
        let falls = begin > 0 && !code.instructions[begin - 1].leaves();
        let lacking = match falls {
            true => stalls.lacking(begin - 1, Way { old, new }),
            false => 0,
        };
        let waits = (begin..=last).fold(0, |waits, at| waits | code.instructions[at].high & WAITS);
        if in_place {
            for at in begin..=last {
                instructions[at] = Instruction::nothing(1).waiting_for(code.instructions[at].high);
                stays[at] = true;
            }
            stalls.new[last] += lacking.max(by_branches);
        } else if by_branches > 0 || at == len {
            // One cycle of those that lack is its own.
            stalls.new[last] = lacking.max(by_branches).max(1);
            instructions[last] = Instruction::nothing(1).waiting_for(waits);
            stays[last] = true;
        } else {
            if falls {
                stalls.new[begin - 1] += lacking;
            }
            instructions[at] = instructions[at].waiting_for(waits);
        }
        if stays[last] {
            let stall = stalls.new[last];
            instructions[last] = instructions[last].with_stall(stall);
        } else if begin > 0 {
            let stall = stalls.new[begin - 1];
            instructions[begin - 1] = instructions[begin - 1].with_stall(stall);
        }
    }
    let removed = stalls
        .removed
        .iter()
        .zip(&stays)
        .map(|(removed, stays)| *removed && !stays);
    Removal {
        instructions,
        removed: removed.collect(),
        in_place,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    // As nvdisasm 13.0 shows them, with the cycles after each.
    const ADD: Instruction = Instruction::of(0xffff_fff0_0a03_7836, 0x000f_ca00_0000_0000); // VIADD R3, R10, -0x10; 5
    const COMPARE: Instruction = Instruction::of(0x0000_0003_0800_720c, 0x000f_da00_03f0_4070); // ISETP.GT.U32.AND P0, PT, R8, R3, PT; 13
    const COPY: Instruction = Instruction::of(0x0000_0000_0c04_72ca, 0x004f_c400_000e_0000); // R2UR UR4, R12; waits for 2; 2
    const COPY_AND_WAIT: Instruction = Instruction::of(0x0000_0000_0d05_72ca, 0x000f_da00_000e_0000); // R2UR UR5, R13; 13
    const LOAD: Instruction = Instruction::of(0x0000_0804_0a0a_7981, 0x008e_a400_0c1e_1900); // LDG.E R10, desc[UR4][R10.64+0x8]; 2
    const IF: Instruction = Instruction::of(0x0000_0000_0004_0947, 0x000f_ea00_0380_0000); // @P0 BRA +0x20; 5
    const END: Instruction = Instruction::of(0x794d, 0x000f_ea00_0380_0000); // EXIT; 5

    fn settled(instructions: &[Instruction], removed: &[usize], in_place: bool) -> Removal {
        let code = Code {
            instructions: instructions.to_vec(),
            jumps: BTreeMap::new(),
            of_program: true,
            ..Code::default()
        };
        let is_removed = |at| removed.contains(&at);
        let removal = Removal {
            instructions: instructions.to_vec(),
            removed: (0..instructions.len()).map(is_removed).collect(),
            in_place,
        };
        settle(&code, &code.next(), removal)
    }

    fn stalls(settled: &Removal) -> Vec<u64> {
        let stay = settled.instructions.iter().zip(&settled.removed);
        stay.filter(|(_, removed)| !**removed)
            .map(|(one, _)| one.stall())
            .collect()
    }

    #[test]
    fn what_is_simple_needs_six_cycles() {
        let code = [ADD, COPY, COPY_AND_WAIT, LOAD, END];
        let after = settled(&code, &[1, 2], false);
        assert_eq!(stalls(&after), [6, 2, 5]);
        // The load waits for what the first copy waited for.
        assert_eq!(after.instructions[3].high & WAITS, (8 | 4) << 52);
        // One that does nothing may take some of the cycles.
        let after = settled(&code, &[1, 2], true);
        assert_eq!(stalls(&after), [5, 1, 1, 2, 5]);
        assert_eq!(after.instructions[1].high & WAITS, 4 << 52);
    }

    #[test]
    fn what_was_near_stays_as_near() {
        let near = ADD.with_stall(1);
        assert_eq!(
            stalls(&settled(&[near, COPY.with_stall(2), LOAD, END], &[1], false)),
            [3, 2, 5]
        );
        assert_eq!(
            stalls(&settled(&[near, COPY.with_stall(2), LOAD, END], &[], false)),
            [1, 2, 2, 5]
        );
    }

    #[test]
    fn a_predicate_needs_longer() {
        let compare = COMPARE.with_stall(2);
        assert_eq!(
            stalls(&settled(&[compare, COPY_AND_WAIT, IF, LOAD, END], &[1], false)),
            [15, 5, 2, 5]
        );
        // Not from what lies between.
        let code = [compare, ADD, COPY_AND_WAIT, IF, LOAD, END];
        assert_eq!(stalls(&settled(&code, &[2], false)), [2, 13, 5, 2, 5]);
    }

    #[test]
    fn a_counter_is_set_a_cycle_later() {
        let load = LOAD.with_stall(1);
        assert_eq!(stalls(&settled(&[load, COPY, LOAD, END], &[1], false)), [2, 2, 5]);
    }

    #[test]
    fn a_way_by_a_branch_counts_too() {
        // The branch leads to what is removed. From the comparison 2 + 5 cycles are left on that way, and on the other
        // 2 + 5 + 2.
        let compare = COMPARE.with_stall(2);
        let branch = IF.with_target(1, 4);
        let code = [compare, branch, LOAD, COPY, COPY_AND_WAIT, LOAD, END];
        let after = settled(&code, &[3, 4], false);
        assert_eq!(after.removed, [false, false, false, true, false, false, false]);
        assert_eq!(after.instructions[4].low, Instruction::nothing(1).low);
        assert_eq!(stalls(&after), [2, 5, 2, 8, 2, 5]);
        // With enough cycles before, nothing has to stay.
        let code = [COMPARE, branch, LOAD, COPY, COPY_AND_WAIT, LOAD, END];
        assert_eq!(stalls(&settled(&code, &[3, 4], false)), [13, 5, 2, 2, 5]);
    }

    #[test]
    fn registers_are_not_kept_at_hand_for_what_is_removed() {
        let reusing = Instruction::of(ADD.low, ADD.high | 1 << 58);
        let after = settled(&[reusing, COPY, LOAD, END], &[1], false);
        assert_eq!(after.instructions[0].high >> 58, 0);
        let after = settled(&[reusing, LOAD, END], &[], false);
        assert_eq!(after.instructions[0].high >> 58, 1);
    }
}
