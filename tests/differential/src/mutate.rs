//! Modules made from real programs: some of a program's functions, with some instructions changed
//! for others of the same type.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use wasm_encoder::{Encode, Instruction};
use wasmparser::{Operator, Parser, Payload, ValType};

use crate::instrument::Rewrite;
use crate::nan::{SIMD, simd_opcode};
use crate::operations::{SIMD_BINARY, SIMD_LOADS, SIMD_SHIFTS, SIMD_TESTS, SIMD_UNARY};

/// A real program.
pub struct Fixture {
    /// Its file.
    pub path: PathBuf,
    /// Its module.
    pub wasm: Vec<u8>,
    /// Functions that each function calls directly.
    callees: Vec<Vec<u32>>,
}

/// Reads the programs below a folder that need no imports, in order of their paths.
///
/// # Errors
///
/// A file cannot be read or is no module.
pub fn load(folder: &Path) -> Result<Vec<Fixture>, String> {
    let mut paths = Vec::new();
    list(folder, &mut paths).map_err(|error| format!("{}: {error}", folder.display()))?;
    paths.sort();
    let mut fixtures = Vec::new();
    for path in paths {
        let wasm = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let callees = callees(&wasm).map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(callees) = callees {
            fixtures.push(Fixture { path, wasm, callees });
        }
    }
    Ok(fixtures)
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "wasm") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Direct callees of each function; nothing for a module with imports.
fn callees(wasm: &[u8]) -> Result<Option<Vec<Vec<u32>>>, wasmparser::Error> {
    let mut callees = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(section) if section.count() > 0 => return Ok(None),
            Payload::CodeSectionEntry(body) => {
                let mut called = Vec::new();
                for op in body.get_operators_reader()? {
                    if let Operator::Call { function_index } = op? {
                        called.push(function_index);
                    }
                }
                callees.push(called);
            }
            _ => {}
        }
    }
    Ok((!callees.is_empty()).then_some(callees))
}

impl Fixture {
    /// Some functions: one with what it calls, breadth first, and a few others.
    pub fn choose(&self, rng: &mut Rng) -> HashSet<u32> {
        let count = self.callees.len();
        let most = rng.usize(4..40);
        let mut queue = vec![rng.usize(..count) as u32];
        let mut chosen = HashSet::from_iter(queue.iter().copied());
        let mut at = 0;
        while at < queue.len() {
            for callee in &self.callees[queue[at] as usize] {
                if chosen.len() < most && chosen.insert(*callee) {
                    queue.push(*callee);
                }
            }
            at += 1;
        }
        chosen.extend((0..4).map(|_| rng.usize(..count) as u32));
        chosen
    }
}

/// Integers that matter to instructions.
pub const EDGES: &[i64] = &[
    0,
    1,
    -1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
];

/// Changes about one of `rarity` instructions.
pub struct Mutate<'r> {
    /// Randomness.
    pub rng: &'r mut Rng,
    /// See above.
    pub rarity: u32,
}

/// Opcodes of instructions with the same type and no operands.
const ALIKE: &[&[std::ops::RangeInclusive<u8>]] = &[
    // (i32, i32) -> i32, (i64, i64) -> i32, and so on.
    &[0x46..=0x4f, 0x6a..=0x78],
    &[0x51..=0x5a],
    &[0x5b..=0x60],
    &[0x61..=0x66],
    &[0x45..=0x45, 0x67..=0x69, 0xc0..=0xc1],
    &[0x79..=0x7b, 0xc2..=0xc4],
    &[0x7c..=0x8a],
    &[0x8b..=0x91],
    &[0x92..=0x98],
    &[0x99..=0x9f],
    &[0xa0..=0xa6],
    // Conversions: i32 -> i64, i64 -> f32, i64 -> f64, i32 -> f32, i32 -> f64.
    &[0xac..=0xad],
    &[0xb4..=0xb5],
    &[0xb9..=0xba, 0xbf..=0xbf],
    &[0xb2..=0xb3, 0xbe..=0xbe],
    &[0xb7..=0xb8],
];

/// Loads and stores of the same type, each with the exponent of its natural alignment.
const ACCESSES: &[&[(u8, u8)]] = &[
    &[(0x28, 2), (0x2c, 0), (0x2d, 0), (0x2e, 1), (0x2f, 1)],
    &[
        (0x29, 3),
        (0x30, 0),
        (0x31, 0),
        (0x32, 1),
        (0x33, 1),
        (0x34, 2),
        (0x35, 2),
    ],
    &[(0x36, 2), (0x3a, 0), (0x3b, 1)],
    &[(0x37, 3), (0x3c, 0), (0x3d, 1), (0x3e, 2)],
];

/// SIMD instructions with the same type and no operands, by number.
const SIMD_ALIKE: &[&[std::ops::RangeInclusive<u32>]] = &[SIMD_UNARY, SIMD_BINARY, SIMD_SHIFTS, SIMD_TESTS];

impl Rewrite for Mutate<'_> {
    fn instruction(&mut self, op: &Operator<'_>, bytes: &[u8], locals: &[ValType], out: &mut Vec<u8>) {
        if self.rng.u32(..self.rarity) != 0 || !self.changed(op, bytes, locals, out) {
            out.extend_from_slice(bytes);
        }
    }
}

impl Mutate<'_> {
    /// Writes a change of the instruction, if there is one.
    fn changed(&mut self, op: &Operator<'_>, bytes: &[u8], locals: &[ValType], out: &mut Vec<u8>) -> bool {
        match op {
            Operator::I32Const { value } => Instruction::I32Const(self.number(*value as i64) as i32).encode(out),
            Operator::I64Const { value } => Instruction::I64Const(self.number(*value)).encode(out),
            Operator::F32Const { value } => {
                let bits = value.bits() ^ (1 << self.rng.u32(..32));
                Instruction::F32Const(f32::from_bits(bits).into()).encode(out);
            }
            Operator::F64Const { value } => {
                let bits = value.bits() ^ (1 << self.rng.u32(..64));
                Instruction::F64Const(f64::from_bits(bits).into()).encode(out);
            }
            Operator::LocalGet { local_index } => {
                Instruction::LocalGet(self.other_local(*local_index, locals)).encode(out);
            }
            Operator::LocalSet { local_index } => {
                Instruction::LocalSet(self.other_local(*local_index, locals)).encode(out);
            }
            Operator::LocalTee { local_index } => {
                Instruction::LocalTee(self.other_local(*local_index, locals)).encode(out);
            }
            Operator::BrIf { .. } | Operator::If { .. } => {
                Instruction::I32Eqz.encode(out);
                out.extend_from_slice(bytes);
            }
            Operator::V128Const { value } => {
                let mut value = value.i128();
                match self.rng.bool() {
                    true => value ^= 1 << self.rng.u32(..128),
                    false => value = EDGES[self.rng.usize(..EDGES.len())] as i128 * 0x1_0000_0000_0000_0001,
                }
                Instruction::V128Const(value).encode(out);
            }
            _ => return self.changed_plain(bytes, locals, out),
        }
        true
    }

    fn changed_plain(&mut self, bytes: &[u8], locals: &[ValType], out: &mut Vec<u8>) -> bool {
        let first = bytes[0];
        if first == SIMD {
            return self.changed_simd(bytes, locals, out);
        }
        if let (Some(alike), [_]) = (alike(first), bytes) {
            out.push(alike[self.rng.usize(..alike.len())]);
            self.append(first, locals, out);
            return true;
        }
        for group in ACCESSES {
            if group.iter().any(|(opcode, _)| *opcode == first) {
                // Bit 6 of the alignment says that a memory's number follows.
                let (opcode, natural) = group[self.rng.usize(..group.len())];
                let align = (bytes[1] & 0x3f).min(natural) | bytes[1] & 0x40;
                out.extend_from_slice(&[opcode, align]);
                out.extend_from_slice(&bytes[2..]);
                return true;
            }
        }
        false
    }

    fn changed_simd(&mut self, bytes: &[u8], locals: &[ValType], out: &mut Vec<u8>) -> bool {
        let (opcode, len) = simd_opcode(bytes);
        if let Some(group) = SIMD_ALIKE.iter().find(|group| contains(group, opcode)) {
            self.simd(group, out);
            let with: Vec<u32> = (0..locals.len() as u32)
                .filter(|i| locals[*i as usize] == ValType::V128)
                .collect();
            let vector = contains(SIMD_UNARY, opcode) || contains(SIMD_BINARY, opcode);
            if vector && !with.is_empty() && self.rng.bool() {
                if self.rng.bool() {
                    Instruction::LocalTee(with[self.rng.usize(..with.len())]).encode(out);
                }
                Instruction::LocalGet(with[self.rng.usize(..with.len())]).encode(out);
                self.simd(SIMD_BINARY, out);
            }
            return true;
        }
        if SIMD_LOADS.iter().any(|(load, _)| *load as u32 == opcode) {
            let (load, natural) = SIMD_LOADS[self.rng.usize(..SIMD_LOADS.len())];
            let align = (bytes[len] & 0x3f).min(natural) | bytes[len] & 0x40;
            out.extend_from_slice(&[SIMD, load, align]);
            out.extend_from_slice(&bytes[len + 1..]);
            return true;
        }
        false
    }

    /// Writes an instruction of a group.
    fn simd(&mut self, group: &[std::ops::RangeInclusive<u32>], out: &mut Vec<u8>) {
        let opcodes: Vec<u32> = group.iter().cloned().flatten().collect();
        out.push(SIMD);
        opcodes[self.rng.usize(..opcodes.len())].encode(out);
    }

    /// Sometimes computes on with a local of the type that the instruction returned.
    fn append(&mut self, opcode: u8, locals: &[ValType], out: &mut Vec<u8>) {
        let (ty, binary) = match opcode {
            0x45..=0x78 => (ValType::I32, 0x6a..=0x78),
            0x79..=0x8a => (ValType::I64, 0x7c..=0x8a),
            0x8b..=0x98 => (ValType::F32, 0x92..=0x98),
            0x99..=0xa6 => (ValType::F64, 0xa0..=0xa6),
            _ => return,
        };
        let with: Vec<u32> = (0..locals.len() as u32).filter(|i| locals[*i as usize] == ty).collect();
        if with.is_empty() || self.rng.bool() {
            return;
        }
        if self.rng.bool() {
            Instruction::LocalTee(with[self.rng.usize(..with.len())]).encode(out);
        }
        Instruction::LocalGet(with[self.rng.usize(..with.len())]).encode(out);
        out.push(self.rng.u8(binary));
    }

    fn number(&mut self, value: i64) -> i64 {
        match self.rng.u32(..4) {
            0 => value.wrapping_add(self.rng.i64(-2..=2)),
            1 => value ^ (1 << self.rng.u32(..64)),
            2 => -(value as i32) as i64,
            _ => EDGES[self.rng.usize(..EDGES.len())],
        }
    }

    fn other_local(&mut self, local: u32, locals: &[ValType]) -> u32 {
        let ty = locals[local as usize];
        let begin = self.rng.usize(..locals.len());
        let mut around = (begin..locals.len()).chain(0..begin);
        around.find(|i| locals[*i] == ty).map_or(local, |i| i as u32)
    }
}

fn contains(group: &[std::ops::RangeInclusive<u32>], opcode: u32) -> bool {
    group.iter().any(|range| range.contains(&opcode))
}

/// Opcodes of the type of this one.
fn alike(opcode: u8) -> Option<Vec<u8>> {
    let group = ALIKE
        .iter()
        .find(|group| group.iter().any(|range| range.contains(&opcode)))?;
    Some(group.iter().cloned().flatten().collect())
}
