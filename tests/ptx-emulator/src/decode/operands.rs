//! Operands of instructions.

use super::{Decoder, Meaning, Register, Result};
use crate::inst::{Special, Src, Ty};
use crate::module::number;
use crate::token::Token;

/// An operand.
#[derive(Clone, Debug)]
pub enum Operand<'t> {
    /// A register.
    Register(Register),
    /// A constant, or an address.
    Value(Src),
    /// An address and what is added.
    Memory(Src, i32),
    /// The same of an address with 32 bits.
    ShortMemory(Src, i32),
    /// Several in braces.
    Several(Vec<Operand<'t>>),
    /// Two registers with a bar between them.
    Pair(Register, Register),
    /// A register that is negated first.
    Negated(Src),
    /// `_`.
    Nothing,
    /// A register of the lane.
    Special(Special),
    /// A label.
    Name(&'t str),
}

fn special(text: &str) -> Option<Special> {
    Some(match text {
        "%tid.x" => Special::Tid,
        "%ntid.x" => Special::Ntid,
        "%ctaid.x" => Special::Ctaid,
        "%nctaid.x" => Special::Nctaid,
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" | "%smid" => Special::Zero,
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Special::One,
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%clock" | "%clock64" => Special::Clock,
        "%globaltimer" => Special::GlobalTimer,
        "%lanemask_eq" => Special::LaneMask,
        "%lanemask_lt" => Special::LaneMaskLt,
        _ => return None,
    })
}

impl<'t> Decoder<'_, 't> {
    /// The operands between commas.
    pub(super) fn operands(&mut self, tokens: &[Token<'t>]) -> Result<Vec<Operand<'t>>> {
        let (mut operands, mut begin, mut depth) = (Vec::with_capacity(4), 0, 0);
        for (at, token) in tokens.iter().enumerate() {
            match token.text {
                "{" | "[" => depth += 1,
                "}" | "]" => depth -= 1,
                "," if depth == 0 => {
                    operands.push(self.operand(&tokens[begin..at])?);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        if begin < tokens.len() {
            operands.push(self.operand(&tokens[begin..])?);
        }
        Ok(operands)
    }

    fn operand(&mut self, tokens: &[Token<'t>]) -> Result<Operand<'t>> {
        let Some(first) = tokens.first() else {
            return self.fail("an operand is missing");
        };
        match (first.text, tokens.len()) {
            ("[", len) if len > 2 => self.memory(&tokens[1..len - 1]),
            ("{", len) if len > 2 => Ok(Operand::Several(self.operands(&tokens[1..len - 1])?)),
            ("_", 1) => Ok(Operand::Nothing),
            ("!", 2) => match self.operand(&tokens[1..])? {
                Operand::Register(register) => Ok(Operand::Negated(Src::register(register.index))),
                _ => self.fail("only a register can be negated"),
            },
            ("-", 2) => match number(tokens[1].text) {
                Some(value) => Ok(Operand::Value(self.constant(value.wrapping_neg()))),
                None => self.fail("an operand that cannot be read"),
            },
            (text, 1) => Ok(self.simple(text)),
            (_, 3) if tokens[1].text == "|" => match (self.simple(first.text), self.simple(tokens[2].text)) {
                (Operand::Register(a), Operand::Register(b)) => Ok(Operand::Pair(a, b)),
                _ => self.fail("two registers are expected"),
            },
            (_, 3) if tokens[1].text == "+" => match self.memory(tokens)? {
                Operand::Memory(base, offset) if base.tag() == 2 => Ok(Operand::Value(Src::frame(
                    (base.0 & Src::VALUE).wrapping_add_signed(offset),
                ))),
                Operand::Memory(base, offset) if base.tag() == 1 => {
                    let value = self.function.constants[(base.0 & Src::VALUE) as usize];
                    Ok(Operand::Value(self.constant(value.wrapping_add_signed(offset as i64))))
                }
                _ => self.fail("a sum that is not known before"),
            },
            _ => self.fail("an operand that cannot be read"),
        }
    }

    fn simple(&mut self, text: &'t str) -> Operand<'t> {
        if let Some(value) = number(text) {
            return Operand::Value(self.constant(value));
        }
        match self.meaning(text) {
            Some(Meaning::Register(register)) => return Operand::Register(register),
            Some(Meaning::Frame(offset, _)) => return Operand::Value(Src::frame(offset)),
            Some(Meaning::Shared(offset)) => return Operand::Value(Src::shared(offset)),
            _ => {}
        }
        if self.module.shared.contains(text) {
            return Operand::Value(Src::shared(self.module.shared_bytes));
        }
        if let Some(at) = self.module.shared_variables.get(&(self.source, text.to_owned())) {
            return Operand::Value(Src::shared(*at));
        }
        match (special(text), self.module.symbol(self.source, text)) {
            (Some(special), _) => Operand::Special(special),
            (_, Some(address)) => Operand::Value(self.constant(address)),
            _ => Operand::Name(text),
        }
    }

    /// An address: a base, and what is added.
    fn memory(&mut self, tokens: &[Token<'t>]) -> Result<Operand<'t>> {
        let (base, short) = match self.simple(tokens[0].text) {
            Operand::Register(register) => (Src::register(register.index), register.ty.bytes() == 4),
            Operand::Value(src) => (src, false),
            _ => return self.fail(format!("nothing is named {}", tokens[0].text)),
        };
        let texts: Vec<&str> = tokens[1..].iter().map(|token| token.text).collect();
        let offset = match texts[..] {
            [] => Some(0),
            ["+", by] => number(by).and_then(|by| i32::try_from(by).ok()),
            ["+", "-", by] | ["-", by] => number(by).and_then(|by| i32::try_from(by).ok()).map(|by| -by),
            _ => None,
        };
        match offset {
            Some(offset) if short => Ok(Operand::ShortMemory(base, offset)),
            Some(offset) => Ok(Operand::Memory(base, offset)),
            None => self.fail("an address that cannot be read"),
        }
    }

    /// What an instruction reads.
    pub(super) fn source(&self, operand: &Operand) -> Result<Src> {
        match operand {
            Operand::Register(register) => Ok(Src::register(register.index)),
            Operand::Value(src) => Ok(*src),
            Operand::Name(name) => self.fail(format!("nothing is named {name}")),
            _ => self.fail("a register or a constant is expected"),
        }
    }

    /// What an instruction writes.
    pub(super) fn target(&mut self, operand: &Operand) -> Result<Register> {
        match operand {
            Operand::Register(register) => Ok(*register),
            Operand::Nothing => Ok(Register {
                index: self.scratch(),
                ty: Ty::B64,
            }),
            Operand::Name(name) => self.fail(format!("nothing is named {name}")),
            _ => self.fail("a register is expected"),
        }
    }

    /// The number of an operand that must be known before.
    pub(super) fn immediate(&self, operand: &Operand) -> Result<u64> {
        match operand {
            Operand::Value(src) if src.tag() == 1 => Ok(self.function.constants[(src.0 & Src::VALUE) as usize]),
            _ => self.fail("a constant is expected"),
        }
    }
}
