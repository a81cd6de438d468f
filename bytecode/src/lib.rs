//! The instruction set of gpu-run and its program container.
//!
//! [`isa`] holds the one table of opcodes, and [`code`] encodes and decodes instructions.
//! [`Program`] is a translated module and its file format. [`verify()`] proves that a program may
//! run, [`disassemble`] shows it, and [`generate`] writes what is made from the table.

pub mod code;
mod container;
mod disassemble;
pub mod generate;
pub mod isa;
mod lines;
mod program;
mod verify;
pub mod wasi;

pub use container::{ContainerError, NativeCode, decode, decode_native, encode, encode_with};
pub use disassemble::{disassemble, disassemble_function, disassemble_instruction};
pub use isa::{Class, Handler, Mem, Op, OpInfo, Operand, TrapKind, Ty};
pub use lines::{LineFrame, LineRange, LineTable, Lines, LinesError, SourceFrame, SourceLine};
pub use program::*;
pub use verify::{VerifyError, VerifyErrorKind, verify};
