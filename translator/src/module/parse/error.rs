//! Why a file is refused, in words on which its author can act.

use std::fmt;

use wasmparser::{KnownCustom, Name, Parser, Payload, Validator, WasmFeatures};

use super::FEATURES;
use crate::module::symbols::demangled;

/// Where in the file an error is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Byte offset in the file.
    pub offset: u64,
    /// The function whose body holds the offset: its index, and its name if the file names it.
    pub func: Option<(u32, Option<String>)>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {:#x}", self.offset)?;
        match &self.func {
            Some((index, Some(name))) => write!(f, ", in function {index} `{name}`"),
            Some((index, None)) => write!(f, ", in function {index}"),
            None => Ok(()),
        }
    }
}

/// Why [`Module::parse`](crate::module::Module::parse) refuses a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The file does not begin as WebAssembly does.
    #[error("not a WebAssembly module: {looks_like}")]
    NotWasm {
        /// What the file looks like.
        looks_like: String,
    },
    /// The file ends too early.
    #[error("the module is cut off: {message} ({location})")]
    Truncated {
        /// What was missing.
        message: String,
        /// Where.
        location: Location,
    },
    /// The file is not in the binary format.
    #[error("malformed module: {message} ({location})")]
    Malformed {
        /// What is wrong.
        message: String,
        /// Where.
        location: Location,
    },
    /// The file breaks a validation rule.
    #[error("invalid module: {message} ({location})")]
    Invalid {
        /// What is wrong.
        message: String,
        /// Where.
        location: Location,
    },
    /// The file uses a WebAssembly proposal that is not supported.
    #[error("the module needs {proposal}, which gpu-run does not support ({location})")]
    UnsupportedProposal {
        /// The proposal's name.
        proposal: &'static str,
        /// Where it is used first.
        location: Location,
    },
}

impl ParseError {
    /// Byte offset of the error in the file.
    pub fn offset(&self) -> u64 {
        match self {
            ParseError::NotWasm { .. } => 0,
            ParseError::Truncated { location, .. }
            | ParseError::Malformed { location, .. }
            | ParseError::Invalid { location, .. }
            | ParseError::UnsupportedProposal { location, .. } => location.offset,
        }
    }
}

/// Proposals that wasmparser knows and we refuse, the most basic first: a module that uses a
/// later one often needs an earlier one too.
const REFUSED: &[(WasmFeatures, &str)] = &[
    (WasmFeatures::WIDE_ARITHMETIC, "the wide-arithmetic proposal"),
    (WasmFeatures::CUSTOM_PAGE_SIZES, "the custom-page-sizes proposal"),
    (WasmFeatures::MEMORY_CONTROL, "the memory-control proposal"),
    (WasmFeatures::COMPACT_IMPORTS, "the compact-imports proposal"),
    (
        WasmFeatures::FUNCTION_REFERENCES,
        "the typed function references proposal",
    ),
    (WasmFeatures::GC, "the garbage collection (GC) proposal"),
    (
        WasmFeatures::SHARED_EVERYTHING_THREADS,
        "the shared-everything-threads proposal",
    ),
    (WasmFeatures::STACK_SWITCHING, "the stack-switching proposal"),
    (WasmFeatures::CUSTOM_DESCRIPTORS, "the custom-descriptors proposal"),
];

/// Turns wasmparser's errors into ours.
pub(super) struct Context<'a> {
    bytes: &'a [u8],
}

impl<'a> Context<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Context<'a> {
        Context { bytes }
    }

    /// An error of the section structure.
    pub(super) fn malformed(&self, error: wasmparser::Error) -> ParseError {
        let location = Location {
            offset: error.offset(),
            func: None,
        };
        let message = error.message().to_owned();
        // Sections are framed by sizes, so that here only the file itself can end too early.
        match message.starts_with("unexpected end") {
            true => ParseError::Truncated { message, location },
            false => ParseError::Malformed { message, location },
        }
    }

    /// An error in a section's contents.
    pub(super) fn invalid(&self, error: wasmparser::Error) -> ParseError {
        self.refused(error, None)
    }

    /// An error in the body of function `index`.
    pub(super) fn in_function(&self, error: wasmparser::Error, index: u32) -> ParseError {
        let name = function_name(self.bytes, index);
        let name = name.map(|name| demangled(&name));
        self.refused(error, Some((index, name)))
    }

    fn refused(&self, error: wasmparser::Error, func: Option<(u32, Option<String>)>) -> ParseError {
        let location = Location {
            offset: error.offset(),
            func,
        };
        if let Some(proposal) = self.proposal(&error) {
            return ParseError::UnsupportedProposal { proposal, location };
        }
        let message = error.message().to_owned();
        match self.truncated(&error) {
            true => ParseError::Truncated { message, location },
            false => ParseError::Invalid { message, location },
        }
    }

    /// A section that claims too much reads past its own end, not past the file's.
    fn truncated(&self, error: &wasmparser::Error) -> bool {
        error.message().starts_with("unexpected end") && error.offset() >= self.bytes.len() as u64
    }

    /// The proposal without which the module is refused, if that is the reason.
    fn proposal(&self, error: &wasmparser::Error) -> Option<&'static str> {
        if let Some(missing) = error.missing_wasm_feature() {
            let known = REFUSED.iter().find(|(feature, _)| missing.intersects(*feature));
            if let Some((_, name)) = known {
                return Some(name);
            }
        }
        // wasmparser does not tag every such error: see which proposal makes it go away.
        let mut features = FEATURES;
        for (feature, name) in REFUSED {
            features |= *feature;
            match Validator::new_with_features(features).validate_all(self.bytes) {
                Ok(_) => return Some(name),
                Err(later) if later.offset() > error.offset() => return Some(name),
                Err(_) => {}
            }
        }
        None
    }
}

/// The name of function `index`, found after the fact: the name section comes after the code.
fn function_name(bytes: &[u8], index: u32) -> Option<String> {
    for payload in Parser::new(0).parse_all(bytes) {
        let Payload::CustomSection(section) = payload.ok()? else {
            continue;
        };
        let KnownCustom::Name(names) = section.as_known() else {
            continue;
        };
        for subsection in names.into_iter().map_while(Result::ok) {
            let Name::Function(map) = subsection else {
                continue;
            };
            let mut names = map.into_iter().map_while(Result::ok);
            if let Some(naming) = names.find(|naming| naming.index == index) {
                return Some(naming.name.to_owned());
            }
        }
    }
    None
}

/// What kinds of files are handed to gpu-run by mistake: how they begin, and what to say.
const LOOKALIKES: &[(&[u8], &str)] = &[
    (
        b"\x7fELF",
        "this is an ELF file (a native executable or object); build for a wasm target",
    ),
    (b"MZ", "this is a Windows executable; build for a wasm target"),
    (
        b"\xcf\xfa\xed\xfe",
        "this is a Mach-O file (a native executable); build for a wasm target",
    ),
    (b"\xca\xfe\xba\xbe", "this is a Mach-O or Java file"),
    (b"!<arch>\n", "this is a static library; link it into a module"),
    (b"BC\xc0\xde", "this is LLVM bitcode; compile and link it into a module"),
    (b"\x1f\x8b", "this is gzip data; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "this is zstd data; unpack it first"),
    (b"PK\x03\x04", "this is a zip archive; unpack it first"),
    (b"#!", "this is a script"),
];

/// Looks at the first eight bytes.
pub(super) fn check_header(bytes: &[u8]) -> Result<(), ParseError> {
    const MAGIC: &[u8] = b"\0asm";
    let not_wasm = |looks_like: &str| ParseError::NotWasm {
        looks_like: looks_like.to_owned(),
    };
    let at = |offset: u64| Location { offset, func: None };
    if bytes.is_empty() {
        return Err(not_wasm("the file is empty"));
    }
    if !bytes.starts_with(MAGIC) {
        if MAGIC.starts_with(bytes) {
            let message = "the file ends within the first four bytes".to_owned();
            return Err(ParseError::Truncated {
                message,
                location: at(bytes.len() as u64),
            });
        }
        if let Some((_, text)) = LOOKALIKES.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Err(not_wasm(text));
        }
        return Err(not_wasm(&describe_text(bytes)));
    }
    let version = bytes.get(4..8).ok_or_else(|| ParseError::Truncated {
        message: "the file ends within its version".to_owned(),
        location: at(bytes.len() as u64),
    })?;
    match version {
        [1, 0, 0, 0] => Ok(()),
        [_, _, 1, 0] => Err(ParseError::UnsupportedProposal {
            proposal: "the component model (this file is a component, not a core module)",
            location: at(4),
        }),
        _ => Err(ParseError::Malformed {
            message: format!("unknown binary version {version:02x?}"),
            location: at(4),
        }),
    }
}

fn describe_text(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(512)];
    let text = String::from_utf8_lossy(head);
    let body = text.trim_start_matches('\u{feff}').trim_start();
    let printable = !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    if body.starts_with("(module") || body.starts_with("(;") || body.starts_with(";;") {
        return "this is WebAssembly text; make it binary first (`wat2wasm` or `wasm-tools parse`)".to_owned();
    }
    if body.starts_with("(component") {
        return "this is the text of a WebAssembly component".to_owned();
    }
    if printable && !text.contains('\u{fffd}') {
        return "this is a text file".to_owned();
    }
    format!(
        "the file begins with {:02x?}, not with `\\0asm`",
        &bytes[..bytes.len().min(4)]
    )
}
