//! Values of scripts, and their comparison with results.

use gpu_run_vm::Value;
use wast::core::{HeapType, NanPattern, WastArgCore, WastRetCore};
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
        WastArgCore::RefNull(ty) if is_extern(ty) => Value::ExternRef(None),
        WastArgCore::RefNull(_) => Value::FuncRef(None),
        WastArgCore::V128(_) => return Err(Failure::Skipped("value type `v128` is not supported yet".into())),
        other => return Err(Failure::Skipped(format!("argument {other:?} is not supported"))),
    })
}

fn is_extern(ty: &HeapType<'_>) -> bool {
    matches!(
        ty,
        HeapType::Abstract {
            ty: wast::core::AbstractHeapType::Extern | wast::core::AbstractHeapType::NoExtern,
            ..
        }
    )
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
        (WastRetCore::F32(pattern), Value::F32(bits)) => match pattern {
            NanPattern::CanonicalNan => bits & 0x7fff_ffff == 0x7fc0_0000,
            NanPattern::ArithmeticNan => bits & 0x7fc0_0000 == 0x7fc0_0000,
            NanPattern::Value(expected) => expected.bits == bits,
        },
        (WastRetCore::F64(pattern), Value::F64(bits)) => match pattern {
            NanPattern::CanonicalNan => bits & 0x7fff_ffff_ffff_ffff == 0x7ff8_0000_0000_0000,
            NanPattern::ArithmeticNan => bits & 0x7ff8_0000_0000_0000 == 0x7ff8_0000_0000_0000,
            NanPattern::Value(expected) => expected.bits == bits,
        },
        (WastRetCore::RefNull(_), Value::FuncRef(None) | Value::ExternRef(None)) => true,
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
        (WastRetCore::V128(_), _) => return Err(Failure::Skipped("value type `v128` is not supported yet".into())),
        _ => false,
    })
}
