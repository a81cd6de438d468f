//! The program file (`.gbc`).
//!
//! ```text
//! magic "\0gbc" | version u32 | sections u32 | table of sections | sections
//! table entry: name [u8; 8] | offset u64 | length u64 | CRC-32 u32 | 0 u32
//! ```
//!
//! All numbers are little endian. The sections are `code` (words), `meta`, `source`, `data`, `lines` and
//! `native`, all but the first in the postcard format. `lines` is empty where no lines are known, and
//! is carried unread. The CRCs find damage, [`crate::verify()`] finds malice. It cannot find it in `native`, machine code
//! that was compiled before: [`decode`] looks for damage there too, and leaves the code out.

use crate::lines::Lines;
use crate::program::{Data, Meta, Program, SourcePlace};

const MAGIC: [u8; 4] = *b"\0gbc";
/// Version of the format and of the instruction set. A change to either changes it.
pub const VERSION: u32 = 5;
const NAMES: [&str; 6] = ["code", "meta", "source", "data", "lines", "native"];
const HEAD: usize = 12;
const ENTRY: usize = 32;

/// Why bytes are no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The magic is another file's.
    #[error("not a gpu-run program: the file does not begin with \"\\0gbc\" (offset 0)")]
    Foreign,
    /// Made by another version.
    #[error(
        "program format version {found} at offset 4; this gpu-run reads version {VERSION}: translate the module again"
    )]
    Version {
        /// Version of the file.
        found: u32,
    },
    /// The file ends too early.
    #[error("the file ends at offset {len}, but {what} needs bytes up to offset {end}")]
    Truncated {
        /// Length of the file.
        len: usize,
        /// Where the part would end.
        end: u64,
        /// The part that is cut.
        what: String,
    },
    /// The table of sections is not as written by this version.
    #[error("bad table of sections at offset {offset}: {what}")]
    Table {
        /// Offset in the file.
        offset: usize,
        /// What is wrong.
        what: String,
    },
    /// A section's bytes changed.
    #[error("section `{section}` at offset {offset} is damaged: its checksum differs")]
    Checksum {
        /// Section name.
        section: &'static str,
        /// Offset in the file.
        offset: usize,
    },
    /// A section's bytes mean nothing.
    #[error("section `{section}` at offset {offset} cannot be read: {what}")]
    Section {
        /// Section name.
        section: &'static str,
        /// Offset in the file.
        offset: usize,
        /// What is wrong.
        what: String,
    },
}

/// Code of a program that was compiled before it runs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NativeCode {
    /// What takes it: `sm_90` is machine code for GPUs of that kind, `ptx` is text that every GPU's driver compiles.
    pub target: String,
    /// Hash of what it depends on besides the functions that it starts.
    pub depends_on: [u8; 32],
    /// Functions that it can start, by index with imports first.
    pub entries: Vec<u32>,
    /// Some of its functions are interpreted.
    pub mixed: bool,
    /// The depth of its native stack is not known before it runs.
    pub needs_stack: bool,
    /// The code, compressed by gzip.
    pub bytes: Vec<u8>,
}

/// The file's bytes of a program.
pub fn encode(program: &Program) -> Vec<u8> {
    encode_with(program, &[])
}

/// The file's bytes of a program and of code that was compiled of it.
pub fn encode_with(program: &Program, native: &[NativeCode]) -> Vec<u8> {
    let code = program.code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let sections: [Vec<u8>; NAMES.len()] = [
        code,
        to_bytes(&program.meta),
        to_bytes(&program.source_map),
        to_bytes(&program.data),
        program.lines.0.clone(),
        to_bytes(&native),
    ];
    let mut file = Vec::new();
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    file.extend((sections.len() as u32).to_le_bytes());
    let mut offset = HEAD + ENTRY * sections.len();
    for (name, bytes) in NAMES.iter().zip(&sections) {
        file.extend(padded(name));
        file.extend((offset as u64).to_le_bytes());
        file.extend((bytes.len() as u64).to_le_bytes());
        file.extend(crc32fast::hash(bytes).to_le_bytes());
        file.extend(0u32.to_le_bytes());
        offset += bytes.len();
    }
    for bytes in sections {
        file.extend(bytes);
    }
    file
}

fn padded(name: &str) -> [u8; 8] {
    let mut padded = [0; 8];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    padded
}

fn to_bytes<T: serde::Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data in memory can be written")
}

/// What stands before the sections is as this version writes it.
fn check_head(file: &[u8]) -> Result<(), ContainerError> {
    if file.get(..4) != Some(&MAGIC[..]) {
        return Err(ContainerError::Foreign);
    }
    let head = range(file, 0, HEAD as u64, "the header")?;
    let found = u32_at(head, 4);
    if found != VERSION {
        return Err(ContainerError::Version { found });
    }
    if u32_at(head, 8) as usize != NAMES.len() {
        let what = format!("{} sections, expected {}", u32_at(head, 8), NAMES.len());
        return Err(ContainerError::Table { offset: 8, what });
    }
    Ok(())
}

/// The code in a file's bytes that was compiled before. It is taken as it is: nothing can verify it.
pub fn decode_native(file: &[u8]) -> Result<Vec<NativeCode>, ContainerError> {
    check_head(file)?;
    from_bytes("native", section(file, 5)?)
}

/// The program in a file's bytes. It is well formed, not yet verified.
pub fn decode(file: &[u8]) -> Result<Program, ContainerError> {
    check_head(file)?;
    let [code, meta, source, data, lines, native] = [0, 1, 2, 3, 4, 5].map(|i| section(file, i));
    native?;
    let (code_offset, code) = code?;
    if code.len() % 8 != 0 {
        let what = format!("{} bytes are not a whole number of words", code.len());
        return Err(ContainerError::Section {
            section: "code",
            offset: code_offset,
            what,
        });
    }
    Ok(Program {
        code: code.chunks_exact(8).map(|word| u64_at(word, 0)).collect(),
        meta: from_bytes::<Meta>("meta", meta?)?,
        source_map: from_bytes::<Vec<SourcePlace>>("source", source?)?,
        data: from_bytes::<Vec<Data>>("data", data?)?,
        lines: Lines(lines?.1.to_vec()),
    })
}

fn section(file: &[u8], index: usize) -> Result<(usize, &[u8]), ContainerError> {
    let at = HEAD + ENTRY * index;
    let entry = range(file, at as u64, ENTRY as u64, "the table of sections")?;
    let section = NAMES[index];
    let name = &entry[..8];
    if *name != padded(section) {
        let what = format!(
            "expected section `{section}`, found {:?}",
            String::from_utf8_lossy(name)
        );
        return Err(ContainerError::Table { offset: at, what });
    }
    if u32_at(entry, 28) != 0 {
        return Err(ContainerError::Table {
            offset: at + 28,
            what: "a reserved field is not 0".to_owned(),
        });
    }
    let (offset, len) = (u64_at(entry, 8), u64_at(entry, 16));
    let bytes = range(file, offset, len, &format!("section `{section}`"))?;
    if crc32fast::hash(bytes) != u32_at(entry, 24) {
        return Err(ContainerError::Checksum {
            section,
            offset: offset as usize,
        });
    }
    Ok((offset as usize, bytes))
}

fn from_bytes<T: serde::de::DeserializeOwned>(
    section: &'static str,
    (offset, bytes): (usize, &[u8]),
) -> Result<T, ContainerError> {
    let error = |what| ContainerError::Section { section, offset, what };
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(error(format!("{} bytes are left over", rest.len()))),
        Err(cause) => Err(error(cause.to_string())),
    }
}

fn range<'a>(file: &'a [u8], offset: u64, len: u64, what: &str) -> Result<&'a [u8], ContainerError> {
    let end = offset.saturating_add(len);
    file.get(offset.min(usize::MAX as u64) as usize..end.min(usize::MAX as u64) as usize)
        .ok_or_else(|| ContainerError::Truncated {
            len: file.len(),
            end,
            what: what.to_owned(),
        })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native() -> NativeCode {
        NativeCode {
            target: "sm_90".into(),
            depends_on: [7; 32],
            entries: vec![1, 300],
            mixed: true,
            needs_stack: false,
            bytes: vec![1, 2, 3],
        }
    }

    #[test]
    fn code_travels_with_a_program_that_is_the_same_without_it() {
        let mut program = Program::default();
        program.code.push(5);
        let file = encode_with(&program, &[native(), native()]);
        assert_eq!(decode_native(&file), Ok(vec![native(), native()]));
        assert_eq!(encode(&decode(&file).unwrap()), encode(&program));
        assert_eq!(decode_native(&encode(&program)), Ok(Vec::new()));
    }

    #[test]
    fn damaged_code_is_found() {
        let program = Program::default();
        let plain = encode(&program).len();
        let file = encode_with(&program, &[native()]);
        for at in plain..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 1;
            let found = decode_native(&damaged);
            assert!(
                matches!(found, Err(ContainerError::Checksum { section: "native", .. })),
                "{at}: {found:?}"
            );
            assert!(decode_native(&file[..at]).is_err());
        }
    }
}
