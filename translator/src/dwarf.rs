//! Lines of the user's sources, from the module's DWARF.
//!
//! In WebAssembly, DWARF stands in the custom sections `.debug_*`, and its addresses are offsets
//! from the start of the code section's contents. It is the user's compiler's word, and no more is
//! at stake than a message. Where it is missing or makes no sense, there are no lines.

use std::borrow::Cow;

use addr2line::gimli::{DwLang, EndianSlice, LittleEndian, SectionId, constants};
use addr2line::{Context, Frame};
use gpu_run_bytecode::{LineTable, Program, SourceFrame, SourceLine};
use wasmparser::{Parser, Payload};

use crate::module::symbols::{demangled, demangled_cpp};

type Bytes<'b> = EndianSlice<'b, LittleEndian>;

/// The DWARF of a module.
pub struct Dwarf<'b> {
    context: Context<Bytes<'b>>,
    /// Offset of the code section's contents in the file.
    code: u64,
}

impl<'b> Dwarf<'b> {
    /// The DWARF of the module in a file's bytes; `None` if it has none that can be read.
    pub fn find(wasm: &'b [u8]) -> Option<Dwarf<'b>> {
        let mut code = None;
        let mut sections: Vec<(&str, &[u8])> = Vec::new();
        for payload in Parser::new(0).parse_all(wasm) {
            match payload.ok()? {
                Payload::CodeSectionStart { unchecked_range, .. } => code = Some(unchecked_range.start),
                Payload::CustomSection(section) if section.name().starts_with(".debug_") => {
                    sections.push((section.name(), section.data()));
                }
                _ => {}
            }
        }
        let section = |id: SectionId| {
            let found = sections.iter().find(|(name, _)| *name == id.name());
            let bytes = found.map_or(&[][..], |(_, bytes)| bytes);
            Ok::<_, addr2line::gimli::Error>(EndianSlice::new(bytes, LittleEndian))
        };
        if sections.is_empty() {
            return None;
        }
        let dwarf = addr2line::gimli::Dwarf::load(section).ok()?;
        Some(Dwarf {
            context: Context::from_dwarf(dwarf).ok()?,
            code: code?,
        })
    }

    /// The frames at an offset of the file, innermost first. First come functions that the user's
    /// compiler inlined, then the one that is a function of the module.
    pub fn frames_at(&self, offset: u32) -> Vec<SourceFrame> {
        let mut found = Vec::new();
        let Some(address) = u64::from(offset).checked_sub(self.code) else {
            return found;
        };
        let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() else {
            return found;
        };
        while let Ok(Some(frame)) = frames.next() {
            found.push(source_frame(&frame));
        }
        found
    }

    /// The lines of all instructions that a program can name in a fault.
    pub fn table(&self, program: &Program) -> LineTable {
        let code = program.source_map.iter().map(|place| place.offset);
        let calls = program.meta.inline_sites.iter().map(|site| site.call_offset);
        let mut offsets: Vec<u32> = code.chain(calls).filter(|offset| *offset != u32::MAX).collect();
        offsets.sort_unstable();
        offsets.dedup();
        LineTable::new(offsets.into_iter().map(|offset| (offset, self.frames_at(offset))))
    }
}

/// The readable name of a symbol in a language, or in any if that is not known.
fn readable(symbol: Cow<'_, str>, language: Option<DwLang>) -> String {
    let cpp = matches!(
        language,
        None | Some(
            constants::DW_LANG_C_plus_plus
                | constants::DW_LANG_C_plus_plus_03
                | constants::DW_LANG_C_plus_plus_11
                | constants::DW_LANG_C_plus_plus_14
                | constants::DW_LANG_C_plus_plus_17
                | constants::DW_LANG_C_plus_plus_20
        )
    );
    let rust = matches!(language, None | Some(constants::DW_LANG_Rust));
    if rust && rustc_demangle::try_demangle(&symbol).is_ok() {
        return demangled(&symbol);
    }
    let name = cpp.then(|| demangled_cpp(&symbol)).flatten();
    name.unwrap_or_else(|| symbol.into_owned())
}

fn source_frame(frame: &Frame<'_, Bytes<'_>>) -> SourceFrame {
    let name = frame.function.as_ref().and_then(|function| {
        let symbol = function.raw_name().ok()?;
        Some(readable(symbol, function.language))
    });
    let line = frame.location.as_ref().and_then(|location| {
        Some(SourceLine {
            file: location.file?.to_owned(),
            line: location.line.unwrap_or(0),
            column: location.column.unwrap_or(0),
        })
    });
    SourceFrame { function: name, line }
}
