//! Conditions: comparisons fused with the branch that they decide.

use gpu_run_bytecode::Op;
use gpu_run_bytecode::code::Inst;

/// What a branch, `if` or `select` depends on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    /// A 32-bit register: true if it is not 0.
    Register(u32),
    /// A comparison that was taken back from the code; its result has no other use.
    Comparison(Inst),
}

impl Condition {
    /// The branch instruction that is taken if the condition holds (or, with `negate`, does not).
    /// Its distance is left 0. `None` if no single instruction does it.
    pub(super) fn branch(self, negate: bool, near: bool) -> Option<Inst> {
        match self {
            Condition::Register(unit) => {
                let op = if negate { Op::BrUnless } else { Op::BrIf };
                Some(Inst::new(op, &[unit as i64, 0]))
            }
            Condition::Comparison(inst) if near => fused(&inst, negate),
            Condition::Comparison(_) => None,
        }
    }
}

/// Whether a comparison can be fused at all.
pub(super) fn is_fusible(inst: &Inst) -> bool {
    fused(inst, false).is_some() && fused(inst, true).is_some()
}

fn fused(inst: &Inst, negate: bool) -> Option<Inst> {
    let (a, b) = (inst.args[1], inst.args[2]);
    macro_rules! integer {
        ($($Eqz:ident $Eq:ident $Ne:ident $LtS:ident $LtU:ident $LeS:ident $LeU:ident
           $EqImm:ident $NeImm:ident $LtSImm:ident $LtUImm:ident $GtSImm:ident $GtUImm:ident
           => $BrEq:ident $BrNe:ident $BrLtS:ident $BrLtU:ident $BrLeS:ident $BrLeU:ident
              $BrEqImm:ident $BrNeImm:ident $BrLtSImm:ident $BrLtUImm:ident $BrGtSImm:ident $BrGtUImm:ident;)*) => {
            match (inst.op, negate) {
                $(
                (Op::$Eqz, false) => (Op::$BrEqImm, a, 0),
                (Op::$Eqz, true) => (Op::$BrNeImm, a, 0),
                (Op::$Eq, false) | (Op::$Ne, true) => (Op::$BrEq, a, b),
                (Op::$Ne, false) | (Op::$Eq, true) => (Op::$BrNe, a, b),
                (Op::$LtS, false) => (Op::$BrLtS, a, b),
                (Op::$LtS, true) => (Op::$BrLeS, b, a),
                (Op::$LeS, false) => (Op::$BrLeS, a, b),
                (Op::$LeS, true) => (Op::$BrLtS, b, a),
                (Op::$LtU, false) => (Op::$BrLtU, a, b),
                (Op::$LtU, true) => (Op::$BrLeU, b, a),
                (Op::$LeU, false) => (Op::$BrLeU, a, b),
                (Op::$LeU, true) => (Op::$BrLtU, b, a),
                (Op::$EqImm, false) | (Op::$NeImm, true) => (Op::$BrEqImm, a, b),
                (Op::$NeImm, false) | (Op::$EqImm, true) => (Op::$BrNeImm, a, b),
                (Op::$LtSImm, false) => (Op::$BrLtSImm, a, b),
                (Op::$LtSImm, true) if b > i16::MIN as i64 => (Op::$BrGtSImm, a, b - 1),
                (Op::$GtSImm, false) => (Op::$BrGtSImm, a, b),
                (Op::$GtSImm, true) if b < i16::MAX as i64 => (Op::$BrLtSImm, a, b + 1),
                (Op::$LtUImm, false) => (Op::$BrLtUImm, a, b),
                // Unsigned neighbours agree with signed ones among small positive numbers.
                (Op::$LtUImm, true) if b > 0 => (Op::$BrGtUImm, a, b - 1),
                (Op::$GtUImm, false) => (Op::$BrGtUImm, a, b),
                (Op::$GtUImm, true) if (0..i16::MAX as i64).contains(&b) => (Op::$BrLtUImm, a, b + 1),
                )*
                _ => return other(inst, negate),
            }
        };
    }
    let (op, a, b) = integer! {
        I32Eqz I32Eq I32Ne I32LtS I32LtU I32LeS I32LeU I32EqImm I32NeImm I32LtSImm I32LtUImm I32GtSImm I32GtUImm
            => BrI32Eq BrI32Ne BrI32LtS BrI32LtU BrI32LeS BrI32LeU BrI32EqImm BrI32NeImm BrI32LtSImm BrI32LtUImm BrI32GtSImm BrI32GtUImm;
        I64Eqz I64Eq I64Ne I64LtS I64LtU I64LeS I64LeU I64EqImm I64NeImm I64LtSImm I64LtUImm I64GtSImm I64GtUImm
            => BrI64Eq BrI64Ne BrI64LtS BrI64LtU BrI64LeS BrI64LeU BrI64EqImm BrI64NeImm BrI64LtSImm BrI64LtUImm BrI64GtSImm BrI64GtUImm;
    };
    Some(Inst::new(op, &[a, b, 0]))
}

/// Float comparisons, whose negations hold for NaN too, and bit tests.
fn other(inst: &Inst, negate: bool) -> Option<Inst> {
    let op = match (inst.op, negate) {
        (Op::F32Eq, false) | (Op::F32Ne, true) => Op::BrF32Eq,
        (Op::F32Ne, false) | (Op::F32Eq, true) => Op::BrF32Ne,
        (Op::F32Lt, false) => Op::BrF32Lt,
        (Op::F32Lt, true) => Op::BrNotF32Lt,
        (Op::F32Le, false) => Op::BrF32Le,
        (Op::F32Le, true) => Op::BrNotF32Le,
        (Op::F64Eq, false) | (Op::F64Ne, true) => Op::BrF64Eq,
        (Op::F64Ne, false) | (Op::F64Eq, true) => Op::BrF64Ne,
        (Op::F64Lt, false) => Op::BrF64Lt,
        (Op::F64Lt, true) => Op::BrNotF64Lt,
        (Op::F64Le, false) => Op::BrF64Le,
        (Op::F64Le, true) => Op::BrNotF64Le,
        (Op::I32And, false) => Op::BrBits,
        (Op::I32And, true) => Op::BrNoBits,
        (Op::I32AndImm, false) => Op::BrBitsImm,
        (Op::I32AndImm, true) => Op::BrNoBitsImm,
        _ => return None,
    };
    Some(Inst::new(op, &[inst.args[1], inst.args[2], 0]))
}

/// The comparison that holds exactly when `inst` does not, with the same result register.
pub(super) fn negated(inst: &Inst) -> Option<Inst> {
    let (op, swap) = match inst.op {
        Op::I32Eq => (Op::I32Ne, false),
        Op::I32Ne => (Op::I32Eq, false),
        Op::I32LtS => (Op::I32LeS, true),
        Op::I32LeS => (Op::I32LtS, true),
        Op::I32LtU => (Op::I32LeU, true),
        Op::I32LeU => (Op::I32LtU, true),
        Op::I32EqImm => (Op::I32NeImm, false),
        Op::I32NeImm => (Op::I32EqImm, false),
        Op::I64Eq => (Op::I64Ne, false),
        Op::I64Ne => (Op::I64Eq, false),
        Op::I64LtS => (Op::I64LeS, true),
        Op::I64LeS => (Op::I64LtS, true),
        Op::I64LtU => (Op::I64LeU, true),
        Op::I64LeU => (Op::I64LtU, true),
        Op::I64EqImm => (Op::I64NeImm, false),
        Op::I64NeImm => (Op::I64EqImm, false),
        Op::F32Eq => (Op::F32Ne, false),
        Op::F32Ne => (Op::F32Eq, false),
        Op::F64Eq => (Op::F64Ne, false),
        Op::F64Ne => (Op::F64Eq, false),
        _ => return None,
    };
    let [to, a, b, ..] = inst.args;
    Some(Inst::new(op, &if swap { [to, b, a] } else { [to, a, b] }))
}

/// The addition of a constant and the branch on its sum as one instruction: the end of a loop.
pub(super) fn after_step(step: &Inst, branch: &Inst) -> Option<Inst> {
    let sum = step.args[0];
    let (op, limit) = match (branch.op, branch.args[0], branch.args[1]) {
        (Op::BrIf, a, _) if a == sum => (Op::BrI32AddNeImm, 0),
        (Op::BrI32NeImm, a, limit) if a == sum => (Op::BrI32AddNeImm, limit),
        (Op::BrI32Ne, a, b) if a == sum && b != sum => (Op::BrI32AddNe, b),
        (Op::BrI32Ne, a, b) if b == sum && a != sum => (Op::BrI32AddNe, a),
        (Op::BrI32LtS, a, b) if a == sum && b != sum => (Op::BrI32AddLtS, b),
        (Op::BrI32LtU, a, b) if a == sum && b != sum => (Op::BrI32AddLtU, b),
        _ => return None,
    };
    Some(Inst::new(op, &[sum, step.args[1], step.args[2], limit, 0]))
}
