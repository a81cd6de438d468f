//! Accesses of memory without the instructions that bring their descriptor.
//!
//! Each access names a descriptor of the address space, in a pair of uniform registers, which the lanes of a warp share. It
//! is the same for all: a constant that the driver provides. A kernel loads it to uniform registers once. But lanes of a
//! function that is called may be apart, and a callee may use all uniform registers. So there ptxas loads it to registers,
//! and copies these by two `R2UR` in front of nearly each access, which may be issued 15 cycles after. In programs of
//! `bench/ordinary` these are a tenth of all instructions.
//!
//! Here each kernel begins by loading the constant to a pair that nothing else in the cubin writes, and all accesses name
//! that pair. Lanes that part do not matter, for it never changes. What brought the descriptor is not needed then: nothing
//! but an access has a use for that constant.

use std::ops::RangeInclusive;

use super::functions::{Code, Function, before};
use super::opcodes::{
    ACCESSES, ALWAYS, BMOV, BRA, BREAK, BRX, BSSY, BSYNC, DIVERGENT, ENDCOLLECTIVE, EXIT, Instruction, LDC, PMTRIG,
    R2UR, RET, TELLS_NONE, ULDC, WARPSYNC, YIELD,
};

/// The constant: its place in bank 0 of constants, 0x208, as instructions have it in bits 32 to 63.
const CONSTANT: u64 = 0x8200;
/// How they say that they load eight bytes.
const EIGHT_BYTES: u64 = 0xa00;
/// The bits of a uniform register's number; the last number is that of none.
const REGISTER: u64 = 63;
/// Says that an access has a descriptor.
const HAS_DESCRIPTOR: u64 = 1 << 27;
/// Loads with a descriptor, generic and of global memory. It is in bits 32 to 37.
const LOADS: [u64; 2] = [0x980, 0x981];
/// What else has one, in bits 64 to 69: stores, reductions and atomics.
const STORES: [u64; 4] = [0x985, 0x986, 0x98e, 0x9a8];
/// Atomics of shared memory.
const SHARED_ATOMICS: [u64; 2] = [0x38c, 0x98c];
/// Other accesses, of local and shared memory and without a descriptor, and what is done to caches and memory. Stores to shared
/// memory and what counts there (0x988, 0xf8c) may add a uniform register to the address.
const OTHER_ACCESSES: [u64; 16] = [
    0x387, 0x388, 0x983, 0x984, 0x988, 0xf8c, 0x3a9, 0x389, 0x589, 0x989, 0x98f, 0x992, 0x9ab, 0x5ab, 0x3a1, LDC,
];
const LOCAL_LOADS: [u64; 2] = [0x983, 0x984];
/// Control, without a uniform register but for a branch that may be divergent.
const CONTROL: [u64; 18] = [
    BSYNC,
    BREAK,
    BSSY,
    YIELD,
    BRA,
    WARPSYNC,
    BRX,
    EXIT,
    RET,
    ENDCOLLECTIVE,
    BMOV[0],
    BMOV[1],
    PMTRIG,
    // Calls, by address and by a register.
    0x943,
    0x343,
    // Sleeping.
    0x35d,
    0x95d,
    // Barriers of a block, by number.
    0xb1d,
];
/// Calculations of registers, by the low nine bits of their opcodes. The upper three bits tell of which kind the operands are.
const OF_REGISTERS: [RangeInclusive<u64>; 3] = [0x002..=0x048, 0x100..=0x113, 0x118..=0x119];
/// Those of uniform registers.
const OF_UNIFORM: [RangeInclusive<u64>; 2] = [0x080..=0x0bf, 0x1c3..=0x1c4];
/// Of these, they write one uniform register. Moves, votes, additions, places of the highest bit, special
/// registers, reductions.
const WRITES_ONE: [u64; 6] = [0x082, 0x086, 0x090, 0x0bd, 0x1c3, 0x1c4];

/// What an instruction does with uniform registers.
struct Uniform {
    /// The registers that it may read, but for the descriptor of an access.
    reads: u64,
    /// Those of which it is known that it writes them.
    writes: u64,
}

/// Of all that could be found in programs; `None` of others.
fn uniform(one: Instruction) -> Option<Uniform> {
    let field = |bits: u64| match bits & REGISTER {
        REGISTER => 0,
        register => 1 << register,
    };
    let [first, second, third] = [field(one.low >> 24), field(one.low >> 32), field(one.high)];
    let (opcode, base) = (one.opcode(), one.opcode() & 0x1ff);
    // So many registers, a bit for each, from that on which the instruction names.
    let written = |registers: u64| match one.is_sure() {
        true => registers << (one.low >> 16 & REGISTER),
        false => 0,
    };
    let reading = |reads| Some(Uniform { reads, writes: 0 });
    let none = reading(0);
    if LOADS.contains(&opcode) || STORES.contains(&opcode) {
        // A second uniform register would be an offset; without one there is the number 0.
        let offset = if LOADS.contains(&opcode) { third } else { 0 };
        let known = one.high & HAS_DESCRIPTOR != 0 && offset <= 1;
        return reading(offset).filter(|_| known);
    }
    if opcode == R2UR || opcode == ULDC {
        let registers = match one.high & 0xffff {
            EIGHT_BYTES if opcode == ULDC => 3,
            _ => 1,
        };
        return Some(Uniform {
            reads: if opcode == ULDC { first } else { 0 },
            writes: written(registers),
        });
    }
    if opcode == BRA && one.high & DIVERGENT != 0 {
        return reading(first);
    }
    if SHARED_ATOMICS.contains(&opcode) {
        return reading(first | second | third);
    }
    if OTHER_ACCESSES.contains(&opcode) {
        // Loads of local and shared memory have no other operand there.
        return reading(if LOCAL_LOADS.contains(&opcode) {
            second | third
        } else {
            third
        });
    }
    if CONTROL.contains(&opcode) {
        return none;
    }
    if OF_UNIFORM.iter().any(|range| range.contains(&base)) {
        return Some(Uniform {
            reads: first | second | third,
            writes: written(u64::from(WRITES_ONE.contains(&base))),
        });
    }
    let known = OF_REGISTERS.iter().any(|range| range.contains(&base));
    // The second operand may be a uniform register.
    reading(if opcode >= 0xc00 { second } else { 0 }).filter(|_| known)
}

/// Whether all instructions are known, so that it is also known which have places of code in them.
pub fn is_known(code: &Code) -> bool {
    let all_jumps = |(at, one): (usize, &Instruction)| one.opcode() != BRX || code.jumps.contains_key(&at);
    let returns = |one: &Instruction| one.opcode() != RET || one.high & ABSOLUTE == ABSOLUTE;
    code.instructions
        .iter()
        .all(|one| uniform(*one).is_some() && returns(one))
        && code.instructions.iter().enumerate().all(all_jumps)
}

/// Of a `RET`: to an address in registers, not to a place in the function.
const ABSOLUTE: u64 = 0x3e0_0000;

fn is_access(one: Instruction) -> bool {
    LOADS.contains(&one.opcode()) || STORES.contains(&one.opcode())
}

/// Whether it loads the descriptor to registers.
fn loads(one: Instruction) -> bool {
    let constant = one.low >> 32 == CONSTANT && one.high & 0xffff == EIGHT_BYTES;
    match one.opcode() {
        LDC => constant && one.low >> 24 & 0xff == 0xff,
        ULDC => constant && one.low >> 24 & 0xff == 0,
        _ => false,
    }
}

/// An even uniform register that with the next one is free in all of these functions, of which all is [known](is_known).
pub fn free_pair(functions: &[Function]) -> Option<u64> {
    let writes = |one: &&Instruction| {
        let of_uniform = OF_UNIFORM.iter().any(|range| range.contains(&(one.opcode() & 0x1ff)));
        of_uniform || [R2UR, ULDC].contains(&one.opcode())
    };
    let instructions = functions.iter().flat_map(|function| &function.code.instructions);
    // Some write two.
    let last = instructions.filter(writes).map(|one| (one.low >> 16 & REGISTER) + 1);
    let last = last.filter(|register| *register < REGISTER).max()?;
    Some((last + 2) & !1).filter(|register| register + 1 < REGISTER)
}

/// What a kernel begins with.
pub fn begin(pair: u64) -> Instruction {
    Instruction {
        low: CONSTANT << 32 | pair << 16 | ALWAYS << 12 | ULDC,
        high: TELLS_NONE | EIGHT_BYTES,
    }
    .with_stall(6)
}

/// What changes in a function whose accesses find the descriptor in this pair.
#[derive(Debug, Default)]
pub struct Changes {
    pub changed: Vec<(usize, Instruction)>,
    pub removed: Vec<usize>,
}

/// The accesses with that pair, and what they do not need then. `next` is as of [`Code::next`].
pub fn changes(code: &Code, next: &[Vec<usize>], pair: u64) -> Changes {
    let instructions = &code.instructions;
    let mut changes = Changes::default();
    // Constants come in order, so one may stand for those before it in what it counts down. No such code has been seen.
    let stands_for_others = |one: &Instruction| one.opcode() == LDC && !one.tells();
    if !instructions.iter().any(|one| loads(*one)) || instructions.iter().any(stands_for_others) {
        return changes;
    }
    for (at, one) in instructions.iter().enumerate().filter(|(_, one)| is_access(**one)) {
        let mut one = *one;
        match LOADS.contains(&one.opcode()) {
            true => one.low = one.low & !(REGISTER << 32) | pair << 32,
            false => one.high = one.high & !REGISTER | pair,
        }
        changes.changed.push((at, one));
    }
    let live = live_after(instructions, next);
    // It may set a predicate, too.
    let is_plain = |one: &Instruction| one.opcode() == R2UR && one.high >> 17 & ALWAYS == ALWAYS;
    let is_dead = |(at, one): (usize, &Instruction)| is_plain(one) && live[at] & 1 << (one.low >> 16 & REGISTER) == 0;
    let removed = instructions
        .iter()
        .enumerate()
        .filter(|(at, one)| loads(**one) || is_dead((*at, one)));
    changes.removed = removed.map(|(at, _)| at).collect();
    changes
}

/// For each instruction the uniform registers that may be read after it, but for descriptors.
fn live_after(instructions: &[Instruction], next: &[Vec<usize>]) -> Vec<u64> {
    let of = |one: &Instruction| uniform(*one).map_or((!0, 0), |of| (of.reads, of.writes));
    let effects: Vec<(u64, u64)> = instructions.iter().map(of).collect();
    let before = before(next);
    let (mut after, mut open) = (vec![0; instructions.len()], (0..instructions.len()).collect::<Vec<_>>());
    while let Some(at) = open.pop() {
        let (reads, writes) = effects[at];
        let entering = after[at] & !writes | reads;
        for from in &before[at] {
            if after[*from] | entering != after[*from] {
                after[*from] |= entering;
                open.push(*from);
            }
        }
    }
    after
}

/// Whether an instruction must come after the kernel's [`begin`]: it may access memory.
pub fn needs_begin(one: Instruction) -> bool {
    is_access(one) || one.is_call() || ACCESSES.contains(&(one.low & 0x1ff))
}

#[cfg(test)]
mod tests {
    use super::*;

    // As nvdisasm 13.0 shows them.
    const DESCRIPTOR: Instruction = Instruction::of(0x0000_8200_ff0c_7b82, 0x000e_b000_0000_0a00); // LDC.64 R12, c[0x0][0x208]
    const OTHER: Instruction = Instruction::of(0x00c0_0200_ff0a_7b82, 0x000e_e200_0000_0a00); // LDC.64 R10, c[0x3][0x8]
    const LOW: Instruction = Instruction::of(0x0000_0000_0c04_72ca, 0x004f_c400_000e_0000); // R2UR UR4, R12
    const HIGH: Instruction = Instruction::of(0x0000_0000_0d05_72ca, 0x000f_da00_000e_0000); // R2UR UR5, R13
    const LOAD: Instruction = Instruction::of(0x0000_0804_0a0a_7981, 0x008e_a400_0c1e_1900); // LDG.E R10, desc[UR4][R10.64+0x8]
    const STORE: Instruction = Instruction::of(0x0000_0804_0800_7986, 0x0041_e800_0c10_1b06); // STG.E.64 desc[UR6][R8.64+0x8], R4
    const DIVERGENT_BRANCH: Instruction = Instruction::of(0x0000_0000_0404_8947, 0x002f_ea00_0b80_0000); // @!P0 BRA.DIV UR4, +0x20
    const ADD: Instruction = Instruction::of(0x0000_0004_0808_7c10, 0x000f_ca00_0ff1_e0ff); // IADD3 R8, P0, R8, UR4, RZ
    const CONSTANTS: Instruction = Instruction::of(0x00c0_0400_0004_7ab9, 0x000f_e200_0000_0a00); // ULDC.64 UR4, c[0x3][0x10]
    const CALL: Instruction = Instruction::of(0x7943, 0x003f_ea00_03c0_0000); // CALL.ABS.NOINC
    const END: Instruction = Instruction::of(0x794d, 0x000f_ea00_0380_0000); // EXIT

    fn removed(instructions: &[Instruction]) -> Vec<usize> {
        let code = Code::of(instructions);
        assert!(is_known(&code));
        changes(&code, &code.next(), 38).removed
    }

    #[test]
    fn accesses_name_the_pair_that_all_share() {
        let code = Code::of(&[DESCRIPTOR, LOW, HIGH, LOAD, STORE, END]);
        let changes = changes(&code, &code.next(), 38);
        // LDG.E R10, desc[UR38][R10.64+0x8] and STG.E.64 desc[UR38][R8.64+0x8], R4
        let load = Instruction::of(0x0000_0826_0a0a_7981, LOAD.high);
        let store = Instruction::of(STORE.low, 0x0041_e800_0c10_1b26);
        assert_eq!(changes.changed, [(3, load), (4, store)]);
        assert_eq!(changes.removed, [0, 1, 2]);
    }

    #[test]
    fn registers_that_something_else_reads_stay() {
        assert_eq!(
            removed(&[DESCRIPTOR, LOW, HIGH, LOAD, DIVERGENT_BRANCH, END, END]),
            [0, 2]
        );
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, ADD, END]), [0, 2]);
        // An address of shared memory: ATOMS.POPC.INC.32 RZ, [UR4+0x314] and STS [UR4+0x10], R0
        let counts = Instruction::of(0x0003_1400_ffff_7f8c, 0x000f_e200_0d80_0004);
        let stores = Instruction::of(0x0000_1000_ff00_7988, 0x0001_e800_0800_0804);
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, counts, END]), [0, 2]);
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, stores, END]), [0, 2]);
        let elsewhere = Instruction::of(0x0003_3400_05ff_7f8c, 0x000f_e200_0d80_003f); // ATOMS.POPC.INC.32 RZ, [R5+0x334]
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, elsewhere, END]), [0, 1, 2]);
        // Not if they are written anew, both at once here, and before a call that comes back they might be.
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, CONSTANTS, ADD, END]), [0, 1, 2]);
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, CALL, ADD, END]), [0, 2]);
        let maybe = Instruction::of(CONSTANTS.low & !0xf000, CONSTANTS.high);
        assert_eq!(removed(&[DESCRIPTOR, LOW, HIGH, LOAD, maybe, ADD, END]), [0, 2]);
        // A way around a loop.
        let back = Instruction::of(0xffff_fffc_00ec_7947, 0x000f_ea00_0383_ffff); // BRA -0x40
        assert_eq!(removed(&[ADD, DESCRIPTOR, LOW, LOAD, back, END]), [1]);
    }

    #[test]
    fn where_the_constant_is_not_loaded_nothing_changes() {
        assert_eq!(removed(&[OTHER, LOW, HIGH, LOAD, END]), []);
        let silent = Instruction::of(OTHER.low, OTHER.high | TELLS_NONE);
        assert_eq!(removed(&[silent, DESCRIPTOR, LOW, HIGH, LOAD, END]), []);
    }

    #[test]
    fn what_is_not_known_is_told() {
        let barrier = Instruction::of(0x7b1d, 0x000f_e200_0001_0000); // BAR.SYNC.DEFER_BLOCKING 0x0
        assert!(is_known(&Code::of(&[LOAD, STORE, CALL, barrier, END])));
        let strange = Instruction::of(0x0000_0000_0000_7fff, END.high);
        let without = Instruction::of(LOAD.low, LOAD.high & !HAS_DESCRIPTOR);
        let offset = Instruction::of(LOAD.low, LOAD.high | 6);
        let jump = Instruction::of(0xffff_fff0_0400_7949, 0x000f_ea00_0383_ffff); // BRX R4
        let near = Instruction::of(0x7950, 0x000f_ea00_0000_0000);
        for one in [strange, without, offset, jump, near] {
            assert!(!is_known(&Code::of(&[one, END])), "{one:x?}");
        }
        let mut jumps = Code::of(&[jump, END]);
        jumps.jumps.insert(0, vec![1]);
        assert!(is_known(&jumps));
    }

    #[test]
    fn a_kernel_begins_with_the_constant() {
        // ULDC.64 UR38, c[0x0][0x208], and the next one six cycles later.
        assert_eq!(begin(38), Instruction::of(0x0000_8200_0026_7ab9, 0x000f_cc00_0000_0a00));
    }
}
