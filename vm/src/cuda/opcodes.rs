//! Instructions of machine code, as far as [`barriers`](super::barriers) knows them.
//!
//! The encoding is that of compute capability 9.0. An instruction has 16 bytes. The low 12 bits of the first eight are its
//! opcode, bits 12 to 15 its predicate. From bit 41 on, the second eight tell when it may be issued, which stays.

pub const BSSY: u64 = 0x945;
pub const BSYNC: u64 = 0x941;
/// What else there is of barriers: leaving a region early, letting other lanes of a warp run, and moving a barrier to a
/// register (cleared) and back.
pub const BREAK: u64 = 0x942;
pub const YIELD: u64 = 0x946;
pub const BMOV: [u64; 2] = [0x355, 0x356];
pub const BRA: u64 = 0x947;
/// Waiting for the lanes of a mask, and the end of what is then done for all of them at once.
pub const WARPSYNC: u64 = 0x348;
pub const ENDCOLLECTIVE: u64 = 0x91b;
pub const BRX: u64 = 0x949;
/// An event for a performance monitor: the mark of a loop. See `Compiler::mark_busy_loop`.
pub const PMTRIG: u64 = 0x801;
pub const EXIT: u64 = 0x94d;
pub const RET: u64 = 0x950;
/// The opcodes of calls, by a register or not, in nine bits.
pub const CALLS: [u64; 2] = [0x143, 0x144];
/// The opcodes of loads and stores, of shared memory too, in nine bits. Those of local memory are not among them: registers
/// are kept there.
pub const ACCESSES: [u64; 6] = [0x180, 0x181, 0x184, 0x185, 0x186, 0x188];
/// In the second half of such an instruction: it is ordered. No access of a program's is, but that of the stop flag. (Where
/// blocks are counted, that look also reads counters, which have no order.)
pub const ORDERED: u64 = 7 << 13;
/// Without a predicate.
pub const NOP: u64 = 0x7918;
/// `MOV` of a register, without a predicate.
pub const MOV: u64 = 0x7202;
/// `BMOV` of a register to a barrier, without a predicate.
pub const TO_BARRIER: u64 = 0x7356;
/// Its second half: the next instruction may follow five cycles later, as ptxas has it.
pub const AFTER_FIVE: u64 = 0x000f_ea00 << 32;
/// In the second half of a `BRA`: it is a `BRA.DIV`, with which a meeting begins.
pub const DIVERGENT: u64 = 1 << 27;
/// The bits of the second half that tell when an instruction may be issued.
pub const SCHEDULING: u64 = !0 << 41;
/// Of these: it says to none that it is done.
pub const TELLS_NONE: u64 = 63 << 46;
/// And which instructions that have been issued it waits for.
pub const WAITS: u64 = 63 << 52;
/// The predicate that always holds.
pub const ALWAYS: u64 = 7;
/// Barriers from this one on are those that callees save.
pub const SAVED: u64 = 6;

/// Bytes of an instruction.
pub const BYTES: usize = 16;

/// One instruction, as two numbers.
#[derive(Clone, Copy)]
pub struct Instruction {
    pub low: u64,
    pub high: u64,
}

impl Instruction {
    pub fn opcode(self) -> u64 {
        self.low & 0xfff
    }

    /// Whether it happens for all lanes that come to it. A branch has a second predicate.
    pub fn is_sure(self) -> bool {
        let second = match self.opcode() {
            BRA => self.high >> 23 & 15,
            _ => ALWAYS,
        };
        (self.low >> 12 & 15, second) == (ALWAYS, ALWAYS)
    }

    pub fn is_of_barriers(self) -> bool {
        [BSSY, BSYNC, BREAK, YIELD].contains(&self.opcode()) || BMOV.contains(&self.opcode())
    }

    pub fn is_call(self) -> bool {
        CALLS.contains(&(self.low & 0x1ff))
    }

    pub fn is_access(self) -> bool {
        ACCESSES.contains(&(self.low & 0x1ff)) && self.high & ORDERED == 0
    }

    pub fn is_meeting(self) -> bool {
        self.opcode() == BRA && self.high & DIVERGENT != 0
    }

    /// The instruction that a branch or `BSSY` at `at` names.
    pub fn target(self, at: usize) -> usize {
        let bytes = match self.opcode() {
            BSSY => i64::from((self.low >> 32) as u32 as i32),
            // A signed number of 48 bits, over both halves, counts pieces of 1,024 bytes.
            _ => {
                let pieces = ((self.high & 0x3ffff) << 30 | self.low >> 34) << 16;
                (pieces as i64 >> 16) * 1024 + (self.low >> 16 & 0xff) as i64 * 4
            }
        };
        (at as i64 + 1 + bytes / BYTES as i64) as usize
    }
}

pub fn decode(code: &[u8]) -> Vec<Instruction> {
    let half = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let instruction = |bytes: &[u8]| Instruction {
        low: half(&bytes[..8]),
        high: half(&bytes[8..]),
    };
    code.chunks_exact(BYTES).map(instruction).collect()
}
