//! Values of scripts, and their comparison with results.

use gpu_run_vm::Value;
use wast::core::{HeapType, NanPattern, V128Pattern, WastArgCore, WastRetCore};
use wast::{WastArg, WastRet};

use super::{Checked, Failure};

/// The value of an argument.
pub fn argument(arg: &WastArg<'_>) -> Checked<Value> {
    let WastArg::Core(arg) = arg else {
        return Err(Failure::Skipped("component values are not supported".into()));
    };
    Ok(match arg {
        WastArgCore::I32(value) => Value::I32(*value),
        WastArgCore::I64(value) => Value::I64(*value),
        WastArgCore::F32(value) => Value::F32(value.bits),
        WastArgCore::F64(value) => Value::F64(value.bits),
        WastArgCore::RefExtern(value) => Value::ExternRef(Some(*value)),
        WastArgCore::RefNull(ty) => null(ty),
        WastArgCore::V128(value) => Value::V128(u128::from_le_bytes(value.to_le_bytes())),
        other => return Err(Failure::Skipped(format!("argument {other:?} is not supported"))),
    })
}

/// The null of a heap type.
fn null(ty: &HeapType<'_>) -> Value {
    use wast::core::AbstractHeapType::{Exn, Extern, NoExn, NoExtern};
    match ty {
        HeapType::Abstract {
            ty: Extern | NoExtern, ..
        } => Value::ExternRef(None),
        HeapType::Abstract { ty: Exn | NoExn, .. } => Value::ExnRef(None),
        _ => Value::FuncRef(None),
    }
}

/// Compares results with what a script expects.
pub fn check(values: &[Value], expected: &[WastRet<'_>]) -> Checked<()> {
    if values.len() != expected.len() {
        return Err(format!("expected {} results, got {values:?}", expected.len()).into());
    }
    for (value, expected) in values.iter().zip(expected) {
        let WastRet::Core(expected) = expected else {
            return Err(Failure::Skipped("component values are not supported".into()));
        };
        if !matches(*value, expected)? {
            return Err(format!("expected {expected:?}, got {value:?}").into());
        }
    }
    Ok(())
}

fn matches(value: Value, expected: &WastRetCore<'_>) -> Checked<bool> {
    Ok(match (expected, value) {
        (WastRetCore::I32(expected), Value::I32(value)) => *expected == value,
        (WastRetCore::I64(expected), Value::I64(value)) => *expected == value,
        (WastRetCore::F32(pattern), Value::F32(bits)) => f32_matches(bits, pattern),
        (WastRetCore::F64(pattern), Value::F64(bits)) => f64_matches(bits, pattern),
        (WastRetCore::V128(pattern), Value::V128(bits)) => v128_matches(bits, pattern),
        (WastRetCore::RefNull(_), Value::FuncRef(None) | Value::ExternRef(None) | Value::ExnRef(None)) => true,
        (WastRetCore::RefExtern(expected), Value::ExternRef(Some(index))) => {
            expected.is_none_or(|expected| expected == index)
        }
        (WastRetCore::RefFunc(_), Value::FuncRef(Some(_))) => true,
        (WastRetCore::Either(all), value) => {
            for expected in all {
                if matches(value, expected)? {
                    return Ok(true);
                }
            }
            false
        }
        _ => false,
    })
}

fn f32_matches(bits: u32, pattern: &NanPattern<wast::token::F32>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
        NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
        NanPattern::Value(expected) => expected.bits == bits,
    }
}

fn f64_matches(bits: u64, pattern: &NanPattern<wast::token::F64>) -> bool {
    match pattern {
        NanPattern::CanonicalNan => bits & 0x7fff_ffff_ffff_ffff == 0x7ff8_0000_0000_0000,
        NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
        NanPattern::Value(expected) => expected.bits == bits,
    }
}

/// Compares lane by lane; lane 0 is the lowest.
fn v128_matches(bits: u128, pattern: &V128Pattern) -> bool {
    let lane = |i: usize, width: usize| bits >> (i * width);
    match pattern {
        V128Pattern::I8x16(lanes) => (0..16).all(|i| lane(i, 8) as i8 == lanes[i]),
        V128Pattern::I16x8(lanes) => (0..8).all(|i| lane(i, 16) as i16 == lanes[i]),
        V128Pattern::I32x4(lanes) => (0..4).all(|i| lane(i, 32) as i32 == lanes[i]),
        V128Pattern::I64x2(lanes) => (0..2).all(|i| lane(i, 64) as i64 == lanes[i]),
        V128Pattern::F32x4(lanes) => (0..4).all(|i| f32_matches(lane(i, 32) as u32, &lanes[i])),
        V128Pattern::F64x2(lanes) => (0..2).all(|i| f64_matches(lane(i, 64) as u64, &lanes[i])),
    }
}
