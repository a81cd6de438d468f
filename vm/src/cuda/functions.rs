//! The functions of a cubin, and what else in it names places in their code.
//!
//! Each function has a section of its own. Places are named by
//!
//! - relocations: each names a place to fill in, and what with: often a place in code, as the one that a call returns to;
//! - attributes of a function: see `attributes`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use object::elf::{FileHeader64, Rela64, SHF_EXECINSTR, SHT_RELA};
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use object::{Endianness, SectionIndex, SymbolIndex};

use super::attributes::Attributes;
use super::descriptors;
use super::opcodes::{BRA, BYTES, Instruction, RET, decode};

/// The machine code of a function.
#[derive(Debug, Default)]
pub struct Code {
    pub instructions: Vec<Instruction>,
    /// The instructions to which its indirect branches may lead.
    pub jumps: BTreeMap<usize, Vec<usize>>,
    /// Calls of functions that never return, such as traps.
    pub ends: BTreeSet<usize>,
    /// Whether it is of a program: a function or a kernel, and none of the runtime.
    pub of_program: bool,
}

impl Code {
    /// Of a program's function, without jump tables.
    #[cfg(test)]
    pub fn of(instructions: &[Instruction]) -> Code {
        Code {
            instructions: instructions.to_vec(),
            of_program: true,
            ..Code::default()
        }
    }

    /// For each instruction those that may follow it: none where a lane ends or returns, or goes where is not known.
    pub fn next(&self) -> Vec<Vec<usize>> {
        let next = |(at, instruction): (usize, &Instruction)| {
            let ends = self.ends.contains(&at) && instruction.is_sure();
            let mut next = self.jumps.get(&at).cloned().unwrap_or_default();
            if instruction.opcode() == BRA {
                next.push(instruction.target(at));
            }
            if !ends && !instruction.leaves() {
                next.push(at + 1);
            }
            next
        };
        self.instructions.iter().enumerate().map(next).collect()
    }
}

/// For each instruction those that it may follow, of the ones that [`Code::next`] has for each. A branch to what follows is
/// there twice, as it is there.
pub fn before(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); next.len()];
    for (at, to) in next.iter().enumerate() {
        to.iter()
            .filter(|to| **to < next.len())
            .for_each(|to| before[*to].push(at));
    }
    before
}

/// A function and where it is in the file.
#[derive(Debug)]
pub struct Function {
    pub code: Code,
    /// Its bytes.
    pub range: Range<usize>,
    pub is_kernel: bool,
    /// Its attributes may name instructions in ways that are not known here.
    pub has_unknown_places: bool,
    /// Instructions that relocations fill in.
    pub relocated: Vec<usize>,
    /// Instructions that relocations name, anywhere in the file.
    pub named: BTreeSet<usize>,
    /// The file's offsets of words that are the places of its instructions, in bytes from its begin: eight bytes long where a
    /// relocation has one, and four in attributes.
    wide_places: Vec<Place>,
    places: Vec<usize>,
}

/// A number in a relocation that moves with code: a place less `base`.
#[derive(Debug)]
struct Place {
    at: usize,
    base: i64,
}

/// Whether the section of this name has code of a program, as the store's units name it: `i0_f60`, `i0_start_60`.
fn is_of_program(section: &str) -> bool {
    let name = section.strip_prefix(".text.i").and_then(|name| name.split_once('_'));
    name.is_some_and(|(program, _)| !program.is_empty() && program.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The functions of a cubin.
///
/// # Errors
///
/// It is no ELF file.
pub fn read(cubin: &[u8]) -> Result<Vec<Function>, object::Error> {
    let header = FileHeader64::<Endianness>::parse(cubin)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, cubin)?;
    let symbols = sections.symbols(endian, cubin, object::elf::SHT_SYMTAB)?;
    let name_of = |section: &_| {
        let name = sections.section_name(endian, section).unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    };
    // By number of the section of code that they are about. Names are not unique: two objects that were linked may each have
    // a function of the same name.
    let about = |prefix: &str| -> BTreeMap<usize, _> {
        let sections = sections.iter().filter(|section| name_of(section).starts_with(prefix));
        sections
            .map(|section| (section.sh_info(endian) as usize, section))
            .collect()
    };
    let (attributes_of, parameters_of) = (about(".nv.info."), about(".nv.constant0."));
    let file_range = |section: &object::elf::SectionHeader64<Endianness>| {
        let (begin, len) = section.file_range(endian).unwrap_or_default();
        let range = begin as usize..begin.saturating_add(len) as usize;
        Some(range).filter(|range| range.end <= cubin.len()).unwrap_or_default()
    };
    let place = |offset: u32| offset as usize / BYTES;
    let mut functions: Vec<Option<Function>> = Vec::new();
    for (number, section) in sections.iter().enumerate() {
        if section.sh_flags(endian) & u64::from(SHF_EXECINSTR) == 0 {
            functions.push(None);
            continue;
        }
        let range = file_range(section);
        let attributes = attributes_of
            .get(&number)
            .map(|info| file_range(info))
            .unwrap_or_default();
        let begin = attributes.start;
        let attributes = Attributes::read(&cubin[attributes]);
        let jump = |(at, to): (u32, Vec<u32>)| (place(at), to.into_iter().map(place).collect());
        let code = Code {
            instructions: decode(&cubin[range.clone()]),
            jumps: attributes.jumps().into_iter().map(jump).collect(),
            ends: BTreeSet::new(),
            of_program: is_of_program(name_of(section)),
        };
        functions.push(Some(Function {
            code,
            range,
            is_kernel: parameters_of.contains_key(&number),
            has_unknown_places: attributes.has_unknown_places(),
            relocated: Vec::new(),
            named: BTreeSet::new(),
            wide_places: Vec::new(),
            places: attributes.places().into_iter().map(|offset| begin + offset).collect(),
        }));
    }
    // By function, the instructions that name others, and which.
    let mut names: Vec<(usize, usize, usize)> = Vec::new();
    for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_RELA) {
        let filled = section.sh_info(endian) as usize;
        let of_code = !name_of(section).starts_with(".rela.debug");
        let begin = file_range(section).start;
        let Some((entries, _)) = section.rela(endian, cubin)? else {
            continue;
        };
        for (index, entry) in entries.iter().enumerate() {
            let at = begin + index * size_of::<Rela64<Endianness>>();
            let filled_in = entry.r_offset(endian) as usize / BYTES;
            if let Some(Some(function)) = functions.get_mut(filled) {
                function.wide_places.push(Place { at, base: 0 });
                if filled_in < function.code.instructions.len() {
                    function.relocated.push(filled_in);
                }
            }
            let symbol_index = SymbolIndex(entry.r_sym(endian, false) as usize);
            let Ok(symbol) = symbols.symbol(symbol_index) else {
                continue;
            };
            let Ok(Some(SectionIndex(defined))) = symbols.symbol_section(endian, symbol, symbol_index) else {
                continue;
            };
            if let Some(Some(function)) = functions.get_mut(defined).filter(|_| of_code) {
                let base = symbol.st_value(endian) as i64;
                // The addend is the last of three numbers.
                function.wide_places.push(Place { at: at + 16, base });
                function
                    .named
                    .insert(base.wrapping_add(entry.r_addend(endian)) as usize / BYTES);
                names.push((filled, filled_in, defined));
            }
        }
    }
    let returns = |code: &Code| code.instructions.iter().any(|one| one.opcode() == RET);
    let never_returns = |function: &Function| !returns(&function.code) && descriptors::is_known(&function.code);
    let never_returns: Vec<bool> = functions
        .iter()
        .map(|function| function.as_ref().is_some_and(never_returns))
        .collect();
    for (number, at, _) in names.into_iter().filter(|(_, _, callee)| never_returns[*callee]) {
        let Some(Some(Function { code, .. })) = functions.get_mut(number) else {
            continue;
        };
        if code.instructions.get(at).is_some_and(|one| one.is_call()) {
            code.ends.insert(at);
        }
    }
    Ok(functions.into_iter().flatten().collect())
}

impl Function {
    /// Writes its code: instructions, and for each of the former ones where it is now, or what came after it.
    pub fn write(&self, cubin: &mut [u8], instructions: &[Instruction], now: &[usize]) {
        let moved = |offset: usize| match now.get(offset / BYTES) {
            Some(at) => at * BYTES + offset % BYTES,
            None => offset,
        };
        for (bytes, one) in cubin[self.range.clone()].chunks_exact_mut(BYTES).zip(instructions) {
            bytes[..8].copy_from_slice(&one.low.to_le_bytes());
            bytes[8..].copy_from_slice(&one.high.to_le_bytes());
        }
        for Place { at, base } in &self.wide_places {
            let bytes = &mut cubin[*at..at + 8];
            let offset = i64::from_le_bytes((&*bytes).try_into().expect("it has eight bytes")).wrapping_add(*base);
            let offset = (moved(offset as usize) as i64).wrapping_sub(*base);
            bytes.copy_from_slice(&offset.to_le_bytes());
        }
        for at in &self.places {
            let bytes = &mut cubin[*at..at + 4];
            let offset = u32::from_le_bytes((&*bytes).try_into().expect("it has four bytes"));
            bytes.copy_from_slice(&(moved(offset as usize) as u32).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::machine_code;

    /// Two objects that are linked may each have a function of some name: here all have the same.
    #[test]
    fn attributes_are_found_by_number() {
        let object = machine_code::runtime((9, 0)).expect("it is there");
        let functions = read(&object).expect("it is ELF");
        assert!(functions.iter().any(|function| !function.code.jumps.is_empty()));
        let mut renamed = object.clone();
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let (headers, count) = (number(&object[0x28..0x30]), number(&object[0x3c..0x3e]));
        let names = headers + 64 * number(&object[0x3e..0x40]);
        let names = number(&object[names + 0x18..names + 0x20]);
        let attributes: Vec<usize> = (0..count)
            .map(|section| headers + 64 * section)
            .filter(|at| object[names + number(&object[*at..at + 4])..].starts_with(b".nv.info."))
            .collect();
        assert!(attributes.len() > 1);
        for at in &attributes {
            renamed.copy_within(attributes[0]..attributes[0] + 4, *at);
        }
        assert!(renamed != object);
        let jumps = |functions: &[Function]| -> Vec<_> { functions.iter().map(|one| one.code.jumps.clone()).collect() };
        assert_eq!(jumps(&read(&renamed).expect("it is ELF")), jumps(&functions));
    }

    /// In the runtime those are traps and what they call.
    #[test]
    fn nothing_follows_calls_of_functions_that_never_return() {
        let object = machine_code::runtime((9, 0)).expect("it is there");
        let functions = read(&object).expect("it is ELF");
        let calls = |function: &Function| function.code.instructions.iter().filter(|one| one.is_call()).count();
        let count: usize = functions.iter().map(|function| function.code.ends.len()).sum();
        assert!(count > 0 && count < functions.iter().map(calls).sum::<usize>() / 2);
        for Function { code, .. } in &functions {
            let next = code.next();
            for (at, one) in code.instructions.iter().enumerate() {
                assert!(!code.ends.contains(&at) || one.is_call());
                assert!(!one.is_call() || next[at].is_empty() == code.ends.contains(&at));
            }
        }
    }

    #[test]
    fn code_of_programs_is_told_from_the_runtime() {
        for name in [".text.i0_f60", ".text.i12_start_0", ".text.i0_f60_2", ".text.i0_t60"] {
            assert!(is_of_program(name), "{name}");
        }
        for name in [
            ".text.gpu_run_finish",
            ".text.f64_promote_f32",
            ".text.i_f1",
            ".text.inner_f1",
            ".text",
            "",
        ] {
            assert!(!is_of_program(name), "{name}");
        }
    }
}
