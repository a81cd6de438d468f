//! Instructions of machine code, as far as [`machine_edit`](super::machine_edit) knows them.
//!
//! The encoding is that of compute capability 9.0. An instruction has 16 bytes. The low 12 bits of the first eight are its
//! opcode, bits 12 to 15 its predicate. From bit 41 on, the second eight tell when it may be issued: how many cycles the next
//! one waits (four bits), whether the warp should go on (one), which of six counters it counts down when its result is there
//! and when it has read its registers (three each, 7 for none), for which of these it waits (six), and which registers it
//! keeps at hand for the next one (four).

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
/// Copies a register to one that a warp shares, a uniform one.
pub const R2UR: u64 = 0x2ca;
/// Loads a constant: to a register, and to a uniform one.
pub const LDC: u64 = 0xb82;
pub const ULDC: u64 = 0xab9;
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
/// Of the bits of the second half that tell when an instruction may be issued: after how many cycles the next one may be.
const STALL: u64 = 15 << 41;
/// Set where the warp should go on: never with a longer stall than this.
const GOES_ON: u64 = 1 << 45;
const LONGEST: u64 = 11;
/// It says to none that it is done.
pub const TELLS_NONE: u64 = 63 << 46;
/// And which instructions that have been issued it waits for.
pub const WAITS: u64 = 63 << 52;
/// Registers that it keeps at hand for the next one.
const REUSES: u64 = 15 << 58;
/// The predicate that always holds.
pub const ALWAYS: u64 = 7;
/// Barriers from this one on are those that callees save.
pub const SAVED: u64 = 6;

/// Bytes of an instruction.
pub const BYTES: usize = 16;

/// One instruction, as two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub low: u64,
    pub high: u64,
}

impl Instruction {
    #[cfg(test)]
    pub const fn of(low: u64, high: u64) -> Instruction {
        Instruction { low, high }
    }

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

    /// Whether it has a [`target`](Instruction::target).
    pub fn has_target(self) -> bool {
        [BRA, BSSY, WARPSYNC].contains(&self.opcode())
    }

    /// The instruction that a branch, `BSSY` or `WARPSYNC` at `at` names.
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

    /// The same at `at` with this target.
    pub fn with_target(self, at: usize, target: usize) -> Instruction {
        let bytes = (target as i64 - at as i64 - 1) * BYTES as i64;
        if self.opcode() == BSSY {
            let low = self.low & 0xffff_ffff | (bytes as u64) << 32;
            return Instruction { low, ..self };
        }
        let (pieces, rest) = ((bytes >> 10) as u64, (bytes as u64 & 1023) / 4);
        Instruction {
            low: self.low & !(0xff << 16) & ((1 << 34) - 1) | rest << 16 | pieces << 34,
            high: self.high & !0x3ffff | pieces >> 30 & 0x3ffff,
        }
    }

    /// Cycles after which the next one may be issued.
    pub fn stall(self) -> u64 {
        (self.high & STALL) >> 41
    }

    pub const fn with_stall(self, stall: u64) -> Instruction {
        let high = self.high & !STALL | stall << 41;
        Instruction {
            high: if stall > LONGEST { high & !GOES_ON } else { high },
            ..self
        }
    }

    /// Whether a counter tells when it is done, or has read its registers.
    pub fn tells(self) -> bool {
        self.high & TELLS_NONE != TELLS_NONE
    }

    pub fn without_reuse(self) -> Instruction {
        Instruction {
            high: self.high & !REUSES,
            ..self
        }
    }

    /// The same, which also waits for what these say, of [`WAITS`].
    pub fn waiting_for(self, waits: u64) -> Instruction {
        Instruction {
            high: self.high | waits & WAITS,
            ..self
        }
    }

    /// One that does nothing, and then waits so long.
    pub const fn nothing(stall: u64) -> Instruction {
        let high = TELLS_NONE | GOES_ON;
        Instruction { low: NOP, high }.with_stall(stall)
    }

    /// `BRA`, as ptxas has it.
    pub const fn branch() -> Instruction {
        let (low, high) = (ALWAYS << 12 | BRA, 0x000f_ea00_0380_0000);
        Instruction { low, high }
    }

    /// Whether a lane never goes on with the instruction after it.
    pub fn leaves(self) -> bool {
        [BRA, BRX, EXIT, RET].contains(&self.opcode()) && self.is_sure()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_as_they_are_read() {
        // As nvdisasm 13.0 shows them: @P0 BRA +0x20, BSSY B6 +0x70, WARPSYNC.COLLECTIVE R15 +0x30, @!P0 BRA.DIV UR4 +0x20.
        for (low, high) in [
            (0x0000_0000_0004_0947, 0x000f_ea00_0380_0000),
            (0x0000_0060_0006_7945, 0x000f_e200_0380_0000),
            (0x0000_0000_0f08_7348, 0x000f_ea00_03c0_0000),
            (0x0000_0000_0404_8947, 0x002f_ea00_0b80_0000),
        ] {
            let one = Instruction { low, high };
            assert!(one.has_target());
            let at = 70_000;
            assert_eq!(one.with_target(at, one.target(at)), one);
            for target in [0, 1, at - 1, at, at + 1, at + 65, at + 100_000] {
                let other = one.with_target(at, target);
                assert_eq!(other.target(at), target, "{low:x}");
                assert_eq!(
                    other.with_target(at, one.target(at)),
                    one,
                    "{low:x}: nothing else is changed"
                );
            }
        }
    }

    #[test]
    fn a_warp_does_not_go_on_after_a_long_stall() {
        let one = Instruction::nothing(2);
        assert_eq!((one.low, one.high), (0x7918, 0x000f_e400_0000_0000));
        assert_eq!((one.stall(), one.tells(), one.leaves()), (2, false, false));
        // As ptxas writes it: bit 45 is cleared.
        assert_eq!(one.with_stall(13).high, 0x000f_da00_0000_0000);
        assert_eq!(one.with_stall(11).high, 0x000f_f600_0000_0000);
    }
}
