//! Where compiled code finds what an instance has for itself.

use std::mem::offset_of;

use crate::layout::{Context, Memory};
use crate::ptx::Unit;
use crate::ptx::image::{Image, ImageLayout};

/// What an instance has for itself. Of a process of a batch it is in the thread's context, else in the image.
#[derive(Clone, Copy, Debug)]
pub enum Own {
    /// Its record.
    Record,
    /// Record of memory 0.
    Memory,
    /// First byte of memory 0.
    Base,
    /// Upper half of that address, which comes second in memory.
    BaseHigh,
}

impl Own {
    /// Where it is, as a state space and an address in it. `local` is the register of the context's address.
    pub fn place(self, unit: &Unit, layout: &ImageLayout, local: &str) -> (&'static str, String) {
        if unit.options.processes {
            let offset = match self {
                Own::Record => offset_of!(Context, instance),
                Own::Memory => offset_of!(Context, memory),
                Own::Base => offset_of!(Context, base),
                Own::BaseHigh => offset_of!(Context, base) + 4,
            };
            return ("local", format!("{local}+{offset}"));
        }
        let offset = match self {
            Own::Record => offset_of!(Image, record),
            Own::Memory => offset_of!(Image, memory),
            Own::Base => offset_of!(Image, base),
            Own::BaseHigh => offset_of!(Image, base) + 4,
        };
        (layout.space(), format!("{}instance+{offset}", unit.prefix))
    }
}

/// The text of instructions that load memory 0's size; of a process, `local` is the register of the context's address.
pub fn load_size(unit: &Unit, layout: &ImageLayout, local: &str) -> String {
    let (space, at) = Own::Memory.place(unit, layout, local);
    format!(
        "\tld.{space}.b64 %size_at, [{at}];\n\tld.global.b32 %size, [%size_at+{}];\n",
        offset_of!(Memory, size),
    )
}
