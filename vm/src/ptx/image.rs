//! What compiled code knows of its instance. It is a block of bytes that the host fills in once the
//! module is loaded, and that compiled code reads as constants.

use std::fmt::Write;

use bytemuck::{Pod, Zeroable};
use gpu_run_bytecode::Program;

/// The block's head.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Image {
    /// The instance's record.
    pub record: u64,
    /// Record of memory 0.
    pub memory: u64,
    /// First byte of memory 0.
    pub base: u64,
    /// The store's function table.
    pub funcs: u64,
    /// Addresses of compiled functions, by number in the store.
    pub functions: u64,
    /// Addresses of their tail thunks.
    pub tails: u64,
    /// Number of the instance.
    pub instance: u32,
    /// Lanes that have slabs of their own in memory 0; see `kernel/heap/lane_slab.h`.
    pub lanes: u32,
    /// Their lists.
    pub lane_lists: u64,
    /// The records of slabs, and how many there are.
    pub lane_slabs: u64,
    /// See `lane_slabs`.
    pub lane_records: u32,
    /// Not used.
    pub pad: u32,
}
const _: () = assert!(size_of::<Image>() == 80);

/// Constants are the faster place, but all modules of a link share 64 KiB of them.
const MOST_CONSTANTS: u32 = 4096;

/// Functions whose first words lie there too, at most.
const MOST_STARTS: u32 = 4096;

/// Where things stand after the block's head.
#[derive(Clone, Copy, Debug)]
pub struct ImageLayout {
    /// Addresses of the tables' records, 8 bytes each.
    pub tables: u32,
    /// Slot of each global, 4 bytes each.
    pub globals: u32,
    /// Number in the store of each type.
    pub types: u32,
    /// Number in the store of each tag.
    pub tags: u32,
    /// Number in the store of each imported function.
    pub imports: u32,
    /// Bytes of the block.
    pub size: u32,
    /// Whether it lies among the constants.
    pub constant: bool,
    /// Number of functions, each of which has its first word among the constants, or all in memory.
    pub functions: u32,
}

impl ImageLayout {
    /// The layout of a program's block.
    pub fn new(program: &Program) -> ImageLayout {
        let meta = &program.meta;
        let tables = size_of::<Image>() as u32;
        let globals = tables + 8 * meta.table_types().len() as u32;
        let types = globals + 4 * meta.global_types().len() as u32;
        let tags = types + 4 * meta.types.len() as u32;
        let imports = tags + 4 * meta.tag_types().len() as u32;
        let size = (imports + 4 * meta.imported_funcs()).next_multiple_of(8);
        ImageLayout {
            tables,
            globals,
            types,
            tags,
            imports,
            size,
            constant: size <= MOST_CONSTANTS,
            functions: meta.functions.len() as u32,
        }
    }

    /// The block of an instance: its numbers in the store, by index in the program.
    pub fn bytes(
        &self,
        head: &Image,
        tables: &[u64],
        globals: &[u32],
        types: &[u32],
        tags: &[u32],
        imports: &[u32],
    ) -> Vec<u8> {
        let mut bytes = vec![0; self.size as usize];
        let mut put = |at: u32, from: &[u8]| bytes[at as usize..][..from.len()].copy_from_slice(from);
        put(0, bytemuck::bytes_of(head));
        put(self.tables, bytemuck::cast_slice(tables));
        put(self.globals, bytemuck::cast_slice(globals));
        put(self.types, bytemuck::cast_slice(types));
        put(self.tags, bytemuck::cast_slice(tags));
        put(self.imports, bytemuck::cast_slice(imports));
        bytes
    }

    /// Bytes of constants that the program takes.
    pub fn constants(&self) -> u32 {
        let starts = if self.functions <= MOST_STARTS {
            4 * self.functions
        } else {
            0
        };
        let image = if self.size <= MOST_CONSTANTS { self.size } else { 0 };
        image + starts
    }

    /// The state space of the first words of functions.
    fn starts_space(&self) -> &'static str {
        match self.constant && self.functions <= MOST_STARTS {
            true => "const",
            false => "global",
        }
    }

    /// The declaration in PTX of the first words of functions.
    pub fn starts(&self, prefix: &str, starts: impl Iterator<Item = u32>) -> String {
        let starts: Vec<String> = starts.map(|start| start.to_string()).collect();
        match starts.is_empty() {
            true => String::new(),
            false => format!(
                ".visible .{} .align 4 .b32 {prefix}starts[{}] = {{{}}};\n",
                self.starts_space(),
                starts.len(),
                starts.join(", ")
            ),
        }
    }

    /// Whether a text has an instruction of [`load_start`](Self::load_start).
    pub fn reads_starts(&self, prefix: &str, text: &str) -> bool {
        text.contains(&format!("[{prefix}starts+"))
    }

    /// An instruction that loads the first word of the defined function `defined`.
    ///
    /// The text of a function tells places in it from there. So it depends on no other function, and as long as it is the
    /// same, the driver finds its code again.
    pub fn load_start(&self, prefix: &str, to: &str, defined: u32) -> String {
        format!("ld.{}.b32 {to}, [{prefix}starts+{}];", self.starts_space(), 4 * defined)
    }

    /// The state space of the block.
    pub fn space(&self) -> &'static str {
        match self.constant {
            true => "const",
            false => "global",
        }
    }

    /// Its declaration in PTX.
    pub fn declaration(&self, prefix: &str) -> String {
        let mut out = String::new();
        _ = writeln!(
            out,
            ".visible .{} .align 8 .b8 {prefix}instance[{}];\n",
            self.space(),
            self.size
        );
        out
    }
}
