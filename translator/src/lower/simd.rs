//! SIMD: which opcode an instruction on 128-bit values becomes.
//!
//! The table's operands say what an opcode takes, so one path serves nearly all: sources are popped, a
//! lane follows them. Several instructions share an opcode. `gt` is `lt` the other way round, and a
//! lane of floats moves like one of integers. Where the relaxed instructions leave a choice, the
//! choice is the strict instruction.

use gpu_run_bytecode::{Op, Operand, ValType};
use wasmparser::{MemArg, Operator};

use ValType::*;

use super::LowerErrorKind;
use super::function::Lowering;
use super::memory::place;

/// An instruction without access to memory.
struct Plain {
    op: Op,
    result: ValType,
    /// Whether its two operands are swapped.
    swap: bool,
    lane: Option<u8>,
}

/// A load or store, of a lane if it names one.
struct Access {
    op: Op,
    memarg: MemArg,
    lane: Option<u8>,
}

impl Lowering<'_> {
    /// Lowers an instruction on 128-bit values; `None` if it is none.
    pub(super) fn simd(&mut self, op: &Operator<'_>) -> Result<Option<()>, LowerErrorKind> {
        if let Operator::I8x16Shuffle { lanes } = op {
            let lanes = u128::from_le_bytes(*lanes);
            let right = self.pop_register();
            let left = self.pop_register();
            self.define(
                Op::I8x16Shuffle,
                V128,
                &[left, right, lanes as i64, (lanes >> 64) as i64],
            );
        } else if let Some(plain) = plain(op) {
            self.simd_plain(&plain);
        } else if let Some(access) = access(op) {
            self.simd_access(&access)?;
        } else {
            return Ok(None);
        }
        Ok(Some(()))
    }

    fn simd_plain(&mut self, plain: &Plain) {
        let operands = plain.op.info().operands.iter();
        let sources = operands.filter(|operand| matches!(operand, Operand::Src(_))).count();
        let mut args: Vec<i64> = (0..sources).map(|_| self.pop_register()).collect();
        if !plain.swap {
            args.reverse();
        }
        args.extend(plain.lane.map(i64::from));
        self.define(plain.op, plain.result, &args);
    }

    fn simd_access(&mut self, access: &Access) -> Result<(), LowerErrorKind> {
        let (memory, offset) = place(&access.memarg)?;
        let (memory, offset) = (memory as i64, offset as i64);
        let lane = access.lane.map(i64::from);
        let loads = matches!(access.op.info().operands[0], Operand::Def(_));
        let value = (!loads || lane.is_some()).then(|| self.pop_register());
        let address = self.pop_register();
        match (loads, value, lane) {
            (true, Some(value), Some(lane)) => {
                self.define(access.op, V128, &[address, value, offset, memory, lane]);
            }
            (true, ..) => self.define(access.op, V128, &[address, memory, offset]),
            (false, value, lane) => {
                let mut args = vec![address];
                args.extend(value);
                args.extend([memory, offset]);
                args.extend(lane);
                self.effect(access.op, &args);
            }
        }
        Ok(())
    }
}

fn plain(operator: &Operator<'_>) -> Option<Plain> {
    macro_rules! plain {
        (
            same: $($result:ident [$($same:ident)*])*;
            others: $($wasm:ident => $op:ident)*;
            swapped: $($swapped:ident => $unswapped:ident)*;
            lanes: $($lane_result:ident [$($lane_wasm:ident => $lane_op:ident)*])*;
        ) => {
            Some(match *operator {
                $($(Operator::$same => Plain { op: Op::$same, result: $result, swap: false, lane: None },)*)*
                $(Operator::$wasm => Plain { op: Op::$op, result: V128, swap: false, lane: None },)*
                $(Operator::$swapped => Plain { op: Op::$unswapped, result: V128, swap: true, lane: None },)*
                $($(Operator::$lane_wasm { lane } => {
                    Plain { op: Op::$lane_op, result: $lane_result, swap: false, lane: Some(lane) }
                })*)*
                _ => return None,
            })
        };
    }
    plain! {
        same:
        V128 [
            V128Not V128And V128AndNot V128Or V128Xor V128Bitselect I8x16Swizzle
            I8x16Splat I16x8Splat I32x4Splat I64x2Splat
            I8x16Eq I8x16Ne I8x16LtS I8x16LtU I8x16LeS I8x16LeU I8x16Abs I8x16Neg I8x16Popcnt
            I8x16Shl I8x16ShrS I8x16ShrU I8x16Add I8x16AddSatS I8x16AddSatU I8x16Sub I8x16SubSatS I8x16SubSatU
            I8x16MinS I8x16MinU I8x16MaxS I8x16MaxU I8x16AvgrU I8x16NarrowI16x8S I8x16NarrowI16x8U
            I16x8Eq I16x8Ne I16x8LtS I16x8LtU I16x8LeS I16x8LeU I16x8Abs I16x8Neg
            I16x8Shl I16x8ShrS I16x8ShrU I16x8Add I16x8AddSatS I16x8AddSatU I16x8Sub I16x8SubSatS I16x8SubSatU
            I16x8Mul I16x8MinS I16x8MinU I16x8MaxS I16x8MaxU I16x8AvgrU I16x8Q15MulrSatS
            I16x8NarrowI32x4S I16x8NarrowI32x4U I16x8ExtAddPairwiseI8x16S I16x8ExtAddPairwiseI8x16U
            I16x8ExtendLowI8x16S I16x8ExtendHighI8x16S I16x8ExtendLowI8x16U I16x8ExtendHighI8x16U
            I16x8ExtMulLowI8x16S I16x8ExtMulHighI8x16S I16x8ExtMulLowI8x16U I16x8ExtMulHighI8x16U
            I16x8RelaxedDotI8x16I7x16S
            I32x4Eq I32x4Ne I32x4LtS I32x4LtU I32x4LeS I32x4LeU I32x4Abs I32x4Neg
            I32x4Shl I32x4ShrS I32x4ShrU I32x4Add I32x4Sub I32x4Mul I32x4MinS I32x4MinU I32x4MaxS I32x4MaxU
            I32x4ExtAddPairwiseI16x8S I32x4ExtAddPairwiseI16x8U I32x4DotI16x8S
            I32x4ExtendLowI16x8S I32x4ExtendHighI16x8S I32x4ExtendLowI16x8U I32x4ExtendHighI16x8U
            I32x4ExtMulLowI16x8S I32x4ExtMulHighI16x8S I32x4ExtMulLowI16x8U I32x4ExtMulHighI16x8U
            I32x4RelaxedDotI8x16I7x16AddS
            I64x2Eq I64x2Ne I64x2LtS I64x2LeS I64x2Abs I64x2Neg
            I64x2Shl I64x2ShrS I64x2ShrU I64x2Add I64x2Sub I64x2Mul
            I64x2ExtendLowI32x4S I64x2ExtendHighI32x4S I64x2ExtendLowI32x4U I64x2ExtendHighI32x4U
            I64x2ExtMulLowI32x4S I64x2ExtMulHighI32x4S I64x2ExtMulLowI32x4U I64x2ExtMulHighI32x4U
            F32x4Eq F32x4Ne F32x4Lt F32x4Le F32x4Ceil F32x4Floor F32x4Trunc F32x4Nearest F32x4Abs F32x4Neg F32x4Sqrt
            F32x4Add F32x4Sub F32x4Mul F32x4Div F32x4Min F32x4Max F32x4PMin F32x4PMax F32x4RelaxedMadd F32x4RelaxedNmadd
            F64x2Eq F64x2Ne F64x2Lt F64x2Le F64x2Ceil F64x2Floor F64x2Trunc F64x2Nearest F64x2Abs F64x2Neg F64x2Sqrt
            F64x2Add F64x2Sub F64x2Mul F64x2Div F64x2Min F64x2Max F64x2PMin F64x2PMax F64x2RelaxedMadd F64x2RelaxedNmadd
            I32x4TruncSatF32x4S I32x4TruncSatF32x4U I32x4TruncSatF64x2SZero I32x4TruncSatF64x2UZero
            F32x4ConvertI32x4S F32x4ConvertI32x4U F64x2ConvertLowI32x4S F64x2ConvertLowI32x4U
            F32x4DemoteF64x2Zero F64x2PromoteLowF32x4
        ]
        I32 [
            V128AnyTrue I8x16AllTrue I16x8AllTrue I32x4AllTrue I64x2AllTrue
            I8x16Bitmask I16x8Bitmask I32x4Bitmask I64x2Bitmask
        ];
        others:
            F32x4Splat => I32x4Splat F64x2Splat => I64x2Splat
            I8x16RelaxedSwizzle => I8x16Swizzle
            I32x4RelaxedTruncF32x4S => I32x4TruncSatF32x4S I32x4RelaxedTruncF32x4U => I32x4TruncSatF32x4U
            I32x4RelaxedTruncF64x2SZero => I32x4TruncSatF64x2SZero I32x4RelaxedTruncF64x2UZero => I32x4TruncSatF64x2UZero
            I8x16RelaxedLaneselect => V128Bitselect I16x8RelaxedLaneselect => V128Bitselect
            I32x4RelaxedLaneselect => V128Bitselect I64x2RelaxedLaneselect => V128Bitselect
            F32x4RelaxedMin => F32x4Min F32x4RelaxedMax => F32x4Max F64x2RelaxedMin => F64x2Min F64x2RelaxedMax => F64x2Max
            I16x8RelaxedQ15mulrS => I16x8Q15MulrSatS;
        swapped:
            I8x16GtS => I8x16LtS I8x16GtU => I8x16LtU I8x16GeS => I8x16LeS I8x16GeU => I8x16LeU
            I16x8GtS => I16x8LtS I16x8GtU => I16x8LtU I16x8GeS => I16x8LeS I16x8GeU => I16x8LeU
            I32x4GtS => I32x4LtS I32x4GtU => I32x4LtU I32x4GeS => I32x4LeS I32x4GeU => I32x4LeU
            I64x2GtS => I64x2LtS I64x2GeS => I64x2LeS
            F32x4Gt => F32x4Lt F32x4Ge => F32x4Le F64x2Gt => F64x2Lt F64x2Ge => F64x2Le;
        lanes:
        I32 [
            I8x16ExtractLaneS => I8x16ExtractLaneS I8x16ExtractLaneU => I8x16ExtractLaneU
            I16x8ExtractLaneS => I16x8ExtractLaneS I16x8ExtractLaneU => I16x8ExtractLaneU
            I32x4ExtractLane => I32x4ExtractLane
        ]
        I64 [I64x2ExtractLane => I64x2ExtractLane]
        F32 [F32x4ExtractLane => I32x4ExtractLane]
        F64 [F64x2ExtractLane => I64x2ExtractLane]
        V128 [
            I8x16ReplaceLane => I8x16ReplaceLane I16x8ReplaceLane => I16x8ReplaceLane
            I32x4ReplaceLane => I32x4ReplaceLane I64x2ReplaceLane => I64x2ReplaceLane
            F32x4ReplaceLane => I32x4ReplaceLane F64x2ReplaceLane => I64x2ReplaceLane
        ];
    }
}

fn access(operator: &Operator<'_>) -> Option<Access> {
    macro_rules! access {
        (whole: $($whole:ident)*; lanes: $($lane:ident)*;) => {
            Some(match *operator {
                $(Operator::$whole { memarg } => Access { op: Op::$whole, memarg, lane: None },)*
                $(Operator::$lane { memarg, lane } => Access { op: Op::$lane, memarg, lane: Some(lane) },)*
                _ => return None,
            })
        };
    }
    access! {
        whole:
            V128Load V128Load8x8S V128Load8x8U V128Load16x4S V128Load16x4U V128Load32x2S V128Load32x2U
            V128Load8Splat V128Load16Splat V128Load32Splat V128Load64Splat V128Load32Zero V128Load64Zero V128Store;
        lanes:
            V128Load8Lane V128Load16Lane V128Load32Lane V128Load64Lane
            V128Store8Lane V128Store16Lane V128Store32Lane V128Store64Lane;
    }
}
