//! 128-bit values: constants, shuffles, loads and stores. A value is four 32-bit registers.

use std::collections::BTreeMap;

use gpu_run_bytecode::{Mem, Op, Operand};

use crate::ptx::analysis::cfg::Node;
use crate::ptx::emit::function::Compiler;
use crate::ptx::emit::memory::Place;
use crate::ptx::template::template;
use crate::ptx::writer::ptx;

/// The registers of a 128-bit value.
fn registers(unit: i64) -> Vec<String> {
    (0..4).map(|k| format!("%r{}", unit + k)).collect()
}

impl Compiler<'_> {
    /// Sets a 128-bit value to a constant.
    pub fn vector(&mut self, unit: i64, low: u64, high: u64) {
        for (k, half) in [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
            .iter()
            .enumerate()
        {
            ptx!(self, "mov.b32 %r{}, {half:#x};", unit + k as i64);
        }
    }

    /// Bytes of two values, chosen by constants. A word whose bytes come from two words is one `prmt`,
    /// others take two or three.
    pub fn shuffle(&mut self, node: &Node) {
        let args = node.inst.args;
        let mut indices = (args[3] as u64).to_le_bytes().to_vec();
        indices.extend((args[4] as u64).to_le_bytes());
        let source = |word: u8| match word {
            0..4 => format!("%r{}", args[1] + i64::from(word)),
            _ => format!("%r{}", args[2] + i64::from(word) - 4),
        };
        let mut results = Vec::new();
        for bytes in indices.chunks(4) {
            let result = self.w.word();
            // The words that are needed, and of which the result has which bytes.
            let mut words: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
            for (at, index) in bytes.iter().enumerate() {
                words.entry(index / 4 % 8).or_default().push(at);
            }
            let mut first = true;
            for (word, places) in &words {
                // Selector of prmt: nibble i says which byte of {first operand, second operand} is byte i.
                let mut selector = 0u32;
                for (at, index) in bytes.iter().enumerate() {
                    let byte = match places.contains(&at) {
                        true => 4 + u32::from(index % 4),
                        false => at as u32,
                    };
                    selector |= byte << (4 * at);
                }
                let before = if first { source(*word) } else { result.clone() };
                ptx!(self, "prmt.b32 {result}, {before}, {}, {selector:#x};", source(*word));
                first = false;
            }
            results.push(result);
        }
        for (k, result) in results.iter().enumerate() {
            ptx!(self, "mov.b32 %r{}, {result};", args[0] + k as i64);
        }
    }

    /// The opcodes that load or store 128-bit values or lanes of them.
    pub fn vector_access(&mut self, node: &Node) {
        use Op::*;
        let (op, args) = (node.inst.op, node.inst.args);
        let operands = op.info().operands;
        let find = |wanted: fn(&Operand) -> bool| {
            let at = operands.iter().position(wanted);
            at.map_or(0, |i| args[i])
        };
        let address = find(|operand| matches!(operand, Operand::Address));
        let memory = find(|operand| matches!(operand, Operand::Memory));
        let offset = find(|operand| matches!(operand, Operand::Offset64)) as u64;
        let lane = find(|operand| matches!(operand, Operand::Lane(_))).to_string();
        let width = match op {
            V128Load | V128Store => 16,
            V128Load8Splat | V128Load8Lane | V128Store8Lane => 1,
            V128Load16Splat | V128Load16Lane | V128Store16Lane => 2,
            V128Load32Splat | V128Load32Zero | V128Load32Lane | V128Store32Lane => 4,
            _ => 8,
        };
        let mem = match width {
            1 => Mem::u8,
            2 => Mem::u16,
            4 => Mem::u32,
            _ => Mem::u64,
        };
        let place = self.place(node, address, memory, offset, width);
        match op {
            V128Load => {
                let (low, high) = (self.load_pair(&place), self.load_pair(&place.plus(8)));
                ptx!(self, "mov.b64 {{%r{}, %r{}}}, {low};", args[0], args[0] + 1);
                ptx!(self, "mov.b64 {{%r{}, %r{}}}, {high};", args[0] + 2, args[0] + 3);
            }
            V128Store => {
                for (half, place) in [(0, place.plus(0)), (2, place.plus(8))] {
                    let value = self.w.pair();
                    ptx!(
                        self,
                        "mov.b64 {value}, {{%r{}, %r{}}};",
                        args[1] + half,
                        args[1] + half + 1
                    );
                    self.store(&place, Mem::u64, 2, &value);
                }
            }
            V128Load8x8S | V128Load8x8U | V128Load16x4S | V128Load16x4U | V128Load32x2S | V128Load32x2U => {
                let name = match op {
                    V128Load8x8S => "i16x8_extend_low_i8x16_s",
                    V128Load8x8U => "i16x8_extend_low_i8x16_u",
                    V128Load16x4S => "i32x4_extend_low_i16x8_s",
                    V128Load16x4U => "i32x4_extend_low_i16x8_u",
                    V128Load32x2S => "i64x2_extend_low_i32x4_s",
                    _ => "i64x2_extend_low_i32x4_u",
                };
                let (value, low, high) = (self.load_pair(&place), self.w.word(), self.w.word());
                ptx!(self, "mov.b64 {{{low}, {high}}}, {value};");
                self.lanes(name, vec![low, high, "0".into(), "0".into()], registers(args[0]));
            }
            V128Load8Splat | V128Load16Splat | V128Load32Splat | V128Load64Splat => {
                let name = match width {
                    1 => "i8x16_splat",
                    2 => "i16x8_splat",
                    4 => "i32x4_splat",
                    _ => "i64x2_splat",
                };
                let value = self.load_scalar(&place, mem);
                self.lanes(name, vec![value], registers(args[0]));
            }
            V128Load32Zero | V128Load64Zero => {
                let value = self.load_scalar(&place, mem);
                match width {
                    4 => ptx!(self, "mov.b32 %r{}, {value};", args[0]),
                    _ => ptx!(self, "mov.b64 {{%r{}, %r{}}}, {value};", args[0], args[0] + 1),
                }
                (width as i64 / 4..4).for_each(|k| ptx!(self, "mov.b32 %r{}, 0;", args[0] + k));
            }
            V128Load8Lane | V128Load16Lane | V128Load32Lane | V128Load64Lane => {
                let name = match width {
                    1 => "i8x16_replace_lane",
                    2 => "i16x8_replace_lane",
                    4 => "i32x4_replace_lane",
                    _ => "i64x2_replace_lane",
                };
                let value = self.load_scalar(&place, mem);
                let mut operands = registers(args[2]);
                operands.extend([value, lane]);
                self.lanes(name, operands, registers(args[0]));
            }
            _ => {
                let name = match width {
                    1 => "i8x16_extract_lane_u",
                    2 => "i16x8_extract_lane_u",
                    4 => "i32x4_extract_lane",
                    _ => "i64x2_extract_lane",
                };
                let value = if width == 8 { self.w.pair() } else { self.w.word() };
                let mut operands = registers(args[1]);
                operands.push(lane);
                self.lanes(name, operands, vec![value.clone()]);
                self.store(&place, mem, if width == 8 { 2 } else { 1 }, &value);
            }
        }
    }

    fn load_pair(&mut self, place: &Place) -> String {
        let value = self.w.pair();
        self.load(place, Mem::u64, 2, &value);
        value
    }

    fn load_scalar(&mut self, place: &Place, mem: Mem) -> String {
        if mem == Mem::u64 {
            return self.load_pair(place);
        }
        let value = self.w.word();
        self.load(place, mem, 1, &value);
        value
    }

    fn lanes(&mut self, name: &str, mut args: Vec<String>, results: Vec<String>) {
        if let Some(template) = template(name) {
            self.instantiate(template, &mut args, &results);
        }
    }
}
