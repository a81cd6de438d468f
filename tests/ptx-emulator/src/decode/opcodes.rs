//! Opcodes: from words to operations.

use super::operands::Operand;
use super::{Decoder, Result};
use crate::inst::{Atomic, AtomicOp, Binary, Compare, Convert, FullCompare, NONE, Op, Round, Src, Ternary, Ty, Unary};
use crate::token::Token;

/// Modifiers of accesses that are the same here, because there is one memory.
const SPACES: [&str; 21] = [
    "global", "local", "const", "param", "shared", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "weak", "gpu",
    "cta", "sys", "uni", "sync", "func", "entry",
];

/// Modifiers of accesses that other threads may make at the same time.
const STRONG: [&str; 7] = ["volatile", "relaxed", "acquire", "release", "acq_rel", "sc", "mmio"];

/// An opcode's modifiers, taken one by one.
struct Modifiers<'t>(Vec<&'t str>);

impl<'t> Modifiers<'t> {
    /// Takes a modifier if it is there.
    fn take(&mut self, text: &str) -> bool {
        let at = self.0.iter().position(|modifier| *modifier == text);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes the first that means something.
    fn find<T>(&mut self, meaning: impl Fn(&'t str) -> Option<T>) -> Option<T> {
        let (at, found) = (self.0.iter().enumerate()).find_map(|(at, text)| Some((at, meaning(text)?)))?;
        self.0.remove(at);
        Some(found)
    }

    /// Takes all that are in a list; whether there was one.
    fn drop(&mut self, texts: &[&str]) -> bool {
        let before = self.0.len();
        self.0.retain(|modifier| !texts.contains(modifier));
        self.0.len() < before
    }
}

fn binary(opcode: &str, modifiers: &mut Modifiers) -> Option<Binary> {
    Some(match opcode {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" if modifiers.take("wide") => Binary::MulWide,
        "mul" if modifiers.take("hi") => Binary::MulHi,
        "mul" => {
            modifiers.take("lo");
            Binary::Mul
        }
        "div" => Binary::Div,
        "rem" => Binary::Rem,
        "min" => Binary::Min,
        "max" => Binary::Max,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "shl" => Binary::Shl,
        "shr" => Binary::Shr,
        "copysign" => Binary::CopySign,
        _ => return None,
    })
}

fn unary(opcode: &str, modifiers: &mut Modifiers) -> Option<Unary> {
    Some(match opcode {
        "not" => Unary::Not,
        "cnot" => Unary::Cnot,
        "neg" => Unary::Neg,
        "abs" => Unary::Abs,
        "popc" => Unary::Popc,
        "clz" => Unary::Clz,
        "brev" => Unary::Brev,
        "bfind" if modifiers.take("shiftamt") => Unary::BfindShift,
        "bfind" => Unary::Bfind,
        "sqrt" => Unary::Sqrt,
        "rcp" => Unary::Rcp,
        _ => return None,
    })
}

fn ternary(opcode: &str, modifiers: &mut Modifiers) -> Option<Ternary> {
    Some(match opcode {
        "mad" if modifiers.take("wide") => Ternary::MadWide,
        "mad" if modifiers.take("hi") => Ternary::MadHi,
        "mad" if modifiers.take("lo") => Ternary::Mad,
        "fma" => Ternary::Fma,
        "slct" if modifiers.take("s32") => Ternary::Slct,
        "bfe" => Ternary::Bfe,
        "prmt" => Ternary::Prmt,
        "shf" => match (
            modifiers.take("l"),
            modifiers.take("r"),
            modifiers.take("wrap"),
            modifiers.take("clamp"),
        ) {
            (true, _, true, _) => Ternary::ShfLeftWrap,
            (true, _, _, true) => Ternary::ShfLeftClamp,
            (_, true, true, _) => Ternary::ShfRightWrap,
            (_, true, _, true) => Ternary::ShfRightClamp,
            _ => return None,
        },
        _ => return None,
    })
}

fn comparison(text: &str, ty_float: bool) -> Option<Compare> {
    Some(match text {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" if ty_float => Compare::Equ,
        "neu" if ty_float => Compare::Neu,
        "ltu" if ty_float => Compare::Ltu,
        "leu" if ty_float => Compare::Leu,
        "gtu" if ty_float => Compare::Gtu,
        "geu" if ty_float => Compare::Geu,
        "num" if ty_float => Compare::Num,
        "nan" if ty_float => Compare::Nan,
        _ => return None,
    })
}

fn round(text: &str) -> Option<Round> {
    Some(match text {
        "rn" => Round::Nearest,
        "rni" => Round::IntNearest,
        "rzi" => Round::IntZero,
        "rmi" => Round::IntDown,
        "rpi" => Round::IntUp,
        _ => return None,
    })
}

fn atomic(text: &str) -> Option<Atomic> {
    Some(match text {
        "add" => Atomic::Add,
        "and" => Atomic::And,
        "or" => Atomic::Or,
        "xor" => Atomic::Xor,
        "exch" => Atomic::Exch,
        "min" => Atomic::Min,
        "max" => Atomic::Max,
        "cas" => Atomic::Cas,
        _ => return None,
    })
}

impl<'t> Decoder<'_, 't> {
    /// One instruction without its guard.
    pub(super) fn instruction(&mut self, tokens: &[Token<'t>]) -> Result<()> {
        let Some(Token { text, line }) = tokens.first().copied() else {
            return self.fail("an instruction is missing");
        };
        self.line = line;
        let mut words = text.split('.');
        let opcode = words.next().unwrap_or_default();
        let mut modifiers = Modifiers(words.collect());
        if opcode == "call" {
            return self.call(&tokens[1..]);
        }
        let operands = self.operands(&tokens[1..])?;
        self.decode(opcode, &mut modifiers, &operands)?;
        match modifiers.0.first() {
            None => Ok(()),
            Some(modifier) => self.fail(format!("{text}: .{modifier} is not known")),
        }
    }

    fn decode(&mut self, opcode: &str, modifiers: &mut Modifiers<'t>, operands: &[Operand<'t>]) -> Result<()> {
        match (opcode, operands) {
            ("bra", [Operand::Name(label)]) => {
                modifiers.take("uni");
                self.jump(Op::Branch(0), vec![label]);
                return Ok(());
            }
            ("brx", [index, Operand::Name(table)]) if modifiers.take("idx") => {
                modifiers.take("uni");
                let index = self.source(index)?;
                self.jump(Op::BranchIndex(index, Box::default()), vec![table]);
                return Ok(());
            }
            _ => {}
        }
        let op = match (opcode, operands) {
            ("ret", []) => {
                modifiers.take("uni");
                Op::Return
            }
            ("exit", []) => Op::Exit,
            ("trap", []) => Op::Trap,
            ("fence" | "membar", []) => {
                modifiers.drop(&SPACES);
                modifiers.drop(&STRONG);
                modifiers.drop(&["gl"]);
                Op::Fence
            }
            ("bar" | "barrier", _) if modifiers.take("warp") => {
                modifiers.take("sync");
                Op::Nop
            }
            ("bar", [Operand::Value(_)]) if modifiers.take("sync") => Op::Barrier,
            ("pmevent", [_]) => Op::Nop,
            ("nanosleep", [_]) => {
                modifiers.take("u32");
                Op::Sleep
            }
            ("stacksave", [to]) => {
                modifiers.take("u32");
                Op::StackSave(self.target(to)?.index)
            }
            ("activemask", [to]) => {
                modifiers.take("b32");
                Op::ActiveMask(self.target(to)?.index)
            }
            ("vote", [to, value, _]) if modifiers.take("ballot") => {
                modifiers.drop(&["sync", "b32"]);
                let (value, negated) = self.predicate(value)?;
                Op::Ballot(self.target(to)?.index, value, negated)
            }
            // No other lane of the warp has the same value.
            ("match", [to, _, _]) if modifiers.take("any") => {
                modifiers.drop(&["sync", "b32", "b64"]);
                Op::ActiveMask(self.target(to)?.index)
            }
            // Every lane stands alone, and reads its own value whatever lane it asks for.
            ("shfl", [to, value, ..]) => {
                modifiers.drop(&["sync", "idx", "up", "down", "bfly", "b32"]);
                match to {
                    Operand::Pair(to, valid) => {
                        let one = self.constant(1);
                        self.push(Op::Move(valid.index, one));
                        Op::Move(to.index, self.source(value)?)
                    }
                    to => Op::Move(self.target(to)?.index, self.source(value)?),
                }
            }
            ("mov", [to, value]) => self.mov(modifiers, to, value)?,
            ("cvta", [to, value]) => {
                let (back, local) = (modifiers.take("to"), modifiers.take("local"));
                modifiers.drop(&SPACES);
                modifiers.drop(&["u64"]);
                let (to, value) = (self.target(to)?.index, self.source(value)?);
                // Of an address in local memory the low 32 bits tell, which may be all that there are.
                match local && !back {
                    true => Op::Whole {
                        to,
                        low: value,
                        shared: false,
                    },
                    false => Op::Move(to, value),
                }
            }
            ("cvt", [to, value]) => self.cvt(modifiers, to, value)?,
            ("ld" | "st", [first, second]) => return self.access(opcode == "ld", modifiers, first, second),
            ("atom", [to, Operand::Memory(base, offset), values @ ..]) => {
                let to = match to {
                    Operand::Nothing => NONE,
                    to => self.target(to)?.index,
                };
                self.atom(modifiers, to, (*base, *offset), values)?
            }
            ("red", [Operand::ShortMemory(base, offset), values @ ..]) if modifiers.take("shared") => {
                let whole = self.whole_address(*base, true);
                self.atom(modifiers, NONE, (whole, *offset), values)?
            }
            ("red", [Operand::Memory(base, offset), values @ ..]) => {
                self.atom(modifiers, NONE, (*base, *offset), values)?
            }
            ("setp", [to, a, b, with @ ..]) => self.setp(modifiers, to, [a, b], with.first())?,
            ("selp", [to, a, b, predicate]) => {
                let ty = self.ty(modifiers)?;
                let (predicate, negated) = self.predicate(predicate)?;
                let (mut a, mut b) = (self.whole(ty, a)?, self.whole(ty, b)?);
                if negated {
                    std::mem::swap(&mut a, &mut b);
                }
                Op::Select(self.target(to)?.index, a, b, predicate)
            }
            ("bfi", [to, a, b, at, count]) => {
                let ty = self.ty(modifiers)?;
                let sources = [self.source(a)?, self.source(b)?, self.source(at)?, self.source(count)?];
                Op::Insert(ty, self.target(to)?.index, Box::new(sources))
            }
            ("lop3", [to, a, b, c, table]) => {
                modifiers.take("b32");
                let sources = [self.source(a)?, self.source(b)?, self.source(c)?];
                Op::Lop3(self.target(to)?.index, sources, self.immediate(table)? as u8)
            }
            (_, [to, rest @ ..]) => self.arithmetic(opcode, modifiers, to, rest)?,
            _ => return self.fail(format!("{opcode} is not known")),
        };
        self.push(op);
        Ok(())
    }

    fn ty(&self, modifiers: &mut Modifiers) -> Result<Ty> {
        match modifiers.find(Ty::parse) {
            Some(ty) => Ok(ty),
            None => self.fail("a type is missing"),
        }
    }

    fn arithmetic(
        &mut self,
        opcode: &str,
        modifiers: &mut Modifiers<'t>,
        to: &Operand,
        rest: &[Operand],
    ) -> Result<Op> {
        let to = self.target(to)?.index;
        let found = match *rest {
            [ref a, ref b] if matches!(opcode, "addc" | "subc") || modifiers.0.contains(&"cc") => {
                Some(self.with_carry(opcode, modifiers, to, a, b))
            }
            [ref a] => unary(opcode, modifiers).map(|op| {
                let a = self.source(a)?;
                Ok(Op::Unary(op, self.ty(modifiers)?, to, a))
            }),
            [ref a, ref b] => binary(opcode, modifiers).map(|op| {
                let (a, b) = (self.source(a)?, self.source(b)?);
                Ok(Op::Binary(op, self.ty(modifiers)?, to, a, b))
            }),
            [ref a, ref b, ref c] => ternary(opcode, modifiers).map(|op| {
                let sources = [self.source(a)?, self.source(b)?, self.source(c)?];
                Ok(Op::Ternary(op, self.ty(modifiers)?, to, sources))
            }),
            _ => None,
        };
        let op = match found {
            Some(op) => op?,
            None => return self.fail(format!("{opcode} with {} operands is not known", rest.len() + 1)),
        };
        if let Op::Binary(_, ty, ..) | Op::Unary(_, ty, ..) | Op::Ternary(_, ty, ..) = &op
            && ty.float()
        {
            // The only rounding that is taken, so that no other is mistaken for it.
            modifiers.take("rn");
        }
        Ok(op)
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc` and so on, of 64 bits.
    fn with_carry(&mut self, opcode: &str, modifiers: &mut Modifiers, to: u32, a: &Operand, b: &Operand) -> Result<Op> {
        let (a, b) = (self.source(a)?, self.source(b)?);
        if !matches!(opcode, "add" | "addc" | "sub" | "subc") || self.ty(modifiers)?.bytes() != 8 {
            return self.fail(format!("{opcode} with a carry is not known of this type"));
        }
        let flag = self.flag.unwrap_or_else(|| self.scratch());
        self.flag = Some(flag);
        Ok(Op::Carry {
            subtracts: opcode.starts_with("sub"),
            to,
            a,
            b,
            flag,
            takes: opcode.ends_with('c'),
            keeps: modifiers.take("cc"),
        })
    }

    /// What is moved as a whole: a constant has no more bits than the type.
    fn whole(&mut self, ty: Ty, operand: &Operand) -> Result<Src> {
        let value = self.source(operand)?;
        if value.tag() != 1 || ty.bytes() == 8 {
            return Ok(value);
        }
        let whole = self.function.constants[(value.0 & Src::VALUE) as usize];
        Ok(self.constant(whole & ((1 << (ty.bytes() * 8)) - 1)))
    }

    /// A predicate and whether it is negated.
    fn predicate(&self, operand: &Operand) -> Result<(Src, bool)> {
        match operand {
            Operand::Negated(src) => Ok((*src, true)),
            operand => Ok((self.source(operand)?, false)),
        }
    }

    fn mov(&mut self, modifiers: &mut Modifiers, to: &Operand, value: &Operand) -> Result<Op> {
        let ty = self.ty(modifiers)?;
        Ok(match (to, value) {
            (to, Operand::Special(special)) => Op::Special(self.target(to)?.index, *special),
            (Operand::Several(parts), value) => {
                let bits = ty.bytes() * 8 / parts.len() as u32;
                let targets = parts
                    .iter()
                    .map(|part| Ok(self.target(part)?.index))
                    .collect::<Result<_>>()?;
                Op::Unpack(bits, targets, self.source(value)?)
            }
            (to, Operand::Several(parts)) => {
                let bits = ty.bytes() * 8 / parts.len() as u32;
                let sources = parts.iter().map(|part| self.source(part)).collect::<Result<_>>()?;
                Op::Pack(bits, self.target(to)?.index, sources)
            }
            (to, value) => {
                let value = self.whole(ty, value)?;
                Op::Move(self.target(to)?.index, value)
            }
        })
    }

    fn cvt(&mut self, modifiers: &mut Modifiers, to: &Operand, value: &Operand) -> Result<Op> {
        let rounding = modifiers.find(round).unwrap_or(Round::None);
        let saturate = modifiers.take("sat");
        let (target, from) = (self.ty(modifiers)?, self.ty(modifiers)?);
        let (register, value) = (self.target(to)?, self.source(value)?);
        let convert = Convert {
            to: target,
            from,
            round: rounding,
            saturate,
            width: register.ty.bytes(),
        };
        Ok(Op::Convert(register.index, value, Box::new(convert)))
    }

    fn access(&mut self, load: bool, modifiers: &mut Modifiers, first: &Operand, second: &Operand) -> Result<()> {
        let (local, shared) = (modifiers.take("local"), modifiers.take("shared"));
        modifiers.drop(&SPACES);
        let strong = modifiers.drop(&STRONG);
        let parts = match (modifiers.take("v2"), modifiers.take("v4")) {
            (true, _) => 2,
            (_, true) => 4,
            _ => 1,
        };
        let ty = self.ty(modifiers)?;
        let (memory, value) = if load { (second, first) } else { (first, second) };
        let (base, offset) = match memory {
            Operand::Memory(base, offset) if !local => (*base, *offset),
            Operand::Memory(base, offset) | Operand::ShortMemory(base, offset) if local || shared => {
                (self.whole_address(*base, shared), *offset)
            }
            _ => return self.fail("an address is expected"),
        };
        let values = match value {
            Operand::Several(values) => &values[..],
            value => std::slice::from_ref(value),
        };
        if values.len() != parts {
            return self.fail("a vector of another length");
        }
        let mut ops = Vec::new();
        for (i, value) in values.iter().enumerate() {
            let offset = offset + i as i32 * ty.bytes() as i32;
            // Of a vector the first part's address tells of all.
            let align = if i == 0 { ty.bytes() as u8 * parts as u8 } else { 1 };
            ops.push(if load {
                let register = self.target(value)?;
                Op::Load {
                    ty,
                    width: register.ty.bytes() as u8,
                    align,
                    strong,
                    to: register.index,
                    base,
                    offset,
                }
            } else {
                Op::Store {
                    ty,
                    align,
                    strong,
                    value: self.source(value)?,
                    base,
                    offset,
                }
            });
        }
        // What overwrites the address comes last.
        ops.sort_by_key(|op| matches!(op, Op::Load { to, base, .. } if Src::register(*to) == *base));
        for op in ops {
            self.push(op);
        }
        Ok(())
    }

    /// The address in the block's shared memory, or in the lane's stack, of which these are the low 32 bits.
    fn whole_address(&mut self, low: Src, shared: bool) -> Src {
        let to = self.scratch();
        self.push(Op::Whole { to, low, shared });
        Src::register(to)
    }

    fn atom(&mut self, modifiers: &mut Modifiers, to: u32, at: (Src, i32), values: &[Operand]) -> Result<Op> {
        modifiers.drop(&SPACES);
        modifiers.drop(&STRONG);
        let Some(op) = modifiers.find(atomic) else {
            return self.fail("an atomic operation that is not known");
        };
        let ty = self.ty(modifiers)?;
        let Some(first) = values.first() else {
            return self.fail("an operand is missing");
        };
        if ty.float() || values.len() != 1 + (op == Atomic::Cas) as usize {
            return self.fail("an atomic operation that is not known");
        }
        let operands = [self.source(first)?, self.source(&values[values.len() - 1])?];
        Ok(Op::Atomic(Box::new(AtomicOp {
            op,
            ty,
            to,
            base: at.0,
            offset: at.1,
            operands,
        })))
    }

    fn setp(
        &mut self,
        modifiers: &mut Modifiers<'t>,
        to: &Operand,
        operands: [&Operand; 2],
        with: Option<&Operand>,
    ) -> Result<Op> {
        let ty = self.ty(modifiers)?;
        let Some(compare) = modifiers.find(|text| comparison(text, ty.float())) else {
            return self.fail("a comparison that is not known");
        };
        let logic = modifiers.find(|text| match text {
            "and" => Some(Binary::And),
            "or" => Some(Binary::Or),
            "xor" => Some(Binary::Xor),
            _ => None,
        });
        let [a, b] = [self.source(operands[0])?, self.source(operands[1])?];
        let with = match (logic, with) {
            (Some(logic), Some(with)) => {
                let (with, negated) = self.predicate(with)?;
                Some((logic, with, negated))
            }
            (None, None) => None,
            _ => return self.fail("a comparison that is not known"),
        };
        let to = match to {
            Operand::Pair(p, q) => [p.index, q.index],
            to => [self.target(to)?.index, NONE],
        };
        Ok(match (with, to) {
            (None, [to, NONE]) => Op::Compare(compare, ty, to, a, b),
            _ => Op::FullCompare(Box::new(FullCompare {
                compare,
                ty,
                to,
                operands: [a, b],
                with,
            })),
        })
    }
}
