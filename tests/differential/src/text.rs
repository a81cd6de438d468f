//! Calls as lines of text.

use std::fmt;
use std::str::FromStr;

use crate::case::Call;
use crate::engine::Value;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::I32(value) => write!(f, "i32:{value}"),
            Value::I64(value) => write!(f, "i64:{value}"),
            Value::F32(bits) => write!(f, "f32:{bits:#x}"),
            Value::F64(bits) => write!(f, "f64:{bits:#x}"),
            Value::V128(bits) => write!(f, "v128:{bits:#x}"),
            Value::FuncRef(true) => write!(f, "func"),
            Value::FuncRef(false) => write!(f, "func:null"),
            Value::ExnRef(true) => write!(f, "exn"),
            Value::ExnRef(false) => write!(f, "exn:null"),
            Value::ExternRef(Some(number)) => write!(f, "extern:{number}"),
            Value::ExternRef(None) => write!(f, "extern:null"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.args.iter().try_for_each(|arg| write!(f, " {arg}"))
    }
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Value, String> {
        let wrong = || format!("`{text}` is no value");
        let hex = |digits: &str| u128::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16);
        let (ty, value) = text.split_once(':').ok_or_else(wrong)?;
        match (ty, value) {
            ("i32", _) => value.parse().map(Value::I32).map_err(|_| wrong()),
            ("i64", _) => value.parse().map(Value::I64).map_err(|_| wrong()),
            ("f32", _) => hex(value).map(|bits| Value::F32(bits as u32)).map_err(|_| wrong()),
            ("f64", _) => hex(value).map(|bits| Value::F64(bits as u64)).map_err(|_| wrong()),
            ("v128", _) => hex(value).map(Value::V128).map_err(|_| wrong()),
            ("func", "null") => Ok(Value::FuncRef(false)),
            ("exn", "null") => Ok(Value::ExnRef(false)),
            ("extern", "null") => Ok(Value::ExternRef(None)),
            ("extern", _) => value.parse().map(|n| Value::ExternRef(Some(n))).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

impl FromStr for Call {
    type Err = String;

    /// Reads what `Display` writes.
    fn from_str(line: &str) -> Result<Call, String> {
        let mut words = line.split_whitespace();
        let name = words.next().ok_or("an empty line is no call")?.to_owned();
        let args = words.map(str::parse).collect::<Result<_, _>>()?;
        Ok(Call { name, args })
    }
}
