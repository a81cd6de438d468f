//! Compiled instances: their code on the device, and what it has to know of the store.
//!
//! The bytecode stays where it is, so what is not an entry of compiled code can be interpreted.

use std::collections::HashMap;

use super::{Store, StoreError};
use crate::cuda::{CompiledModule, Entry};
use crate::device::{DeviceError, DeviceResult};
use crate::layout::{self, Launch, Ptr};
use crate::ptx::code::Code;
use crate::ptx::{Image, ImageLayout};

/// An instance's code on the device.
pub(super) struct CompiledCode {
    /// Kernels, by store-wide number of the function that they start.
    entries: HashMap<u32, Entry>,
    /// Where its [`Image`] is, and how it is laid out.
    image: Ptr,
    layout: ImageLayout,
    /// What was written there last.
    written: Vec<u8>,
    /// Addresses of its defined functions and of their tail thunks, 0 for those without.
    functions: Vec<u64>,
    tails: Vec<u64>,
}

/// What all compiled instances of a store share.
#[derive(Default)]
pub(super) struct Pointers {
    /// Arrays by store-wide number of a function, and how many it has.
    functions: Ptr,
    tails: Ptr,
    len: usize,
    /// Bytes of a lane's native stack, or 0 where none is set.
    native_stack: u32,
}

impl Store {
    /// Word at which the next instance's code will begin in the store's.
    pub fn next_code_start(&self) -> u32 {
        (self.code.len / 8) as u32
    }

    /// Loads the code of the newest instance.
    pub(super) fn load_code(&mut self, instance: u32, code: &Code) -> Result<(), StoreError> {
        let info = &self.instance_infos[instance as usize];
        let imported = info.program.meta.imported_funcs() as usize;
        let defined = info.program.meta.functions.len();
        let prefix = &code.prefix;
        let cuda = self.device.as_cuda().ok_or_else(|| DeviceError::Unavailable {
            what: "compiled code runs on CUDA devices only".into(),
        })?;
        let module = cuda.load_cubin(&code.cubin)?;
        let mut entries = HashMap::new();
        // A function that was imported has its entry in the instance that defines it.
        for index in code.entries.iter().filter(|index| **index as usize >= imported) {
            let entry = cuda.entry(module, &format!("{prefix}start_{index}"))?;
            entries.insert(info.funcs[*index as usize], entry);
        }
        let layout = ImageLayout::new(&info.program);
        let (image, bytes) = cuda.variable(module, &format!("{prefix}instance"))?;
        if bytes != layout.size as usize {
            let what = format!("the code is of another program: {prefix}instance has {bytes} bytes");
            return Err(DeviceError::Unavailable { what }.into());
        }
        if code.needs_stack && self.pointers.native_stack == 0 {
            self.pointers.native_stack = cuda.set_stack()?;
        }
        let functions = self.addresses(module, &format!("{prefix}functions"), defined)?;
        let tails = self.addresses(module, &format!("{prefix}tails"), defined)?;
        self.instance_infos[instance as usize].code = Some(CompiledCode {
            entries,
            image,
            layout,
            written: Vec::new(),
            functions,
            tails,
        });
        Ok(())
    }

    /// The addresses in an array of a module, of which the first `count` are a program's.
    fn addresses(&mut self, module: CompiledModule, name: &str, count: usize) -> DeviceResult<Vec<u64>> {
        let mut addresses = vec![0u64; count];
        if let Some(cuda) = self.device.as_cuda() {
            let (at, bytes) = cuda.variable(module, name)?;
            let read = count.min(bytes / 8);
            // SAFETY: a variable of at least so many bytes, and no kernel runs.
            unsafe { self.device.read(at, bytemuck::cast_slice_mut(&mut addresses[..read]))? };
        }
        Ok(addresses)
    }

    /// The kernel that starts a function, if it is compiled and all that it might call is too.
    pub(super) fn compiled_entry(&self, func: u32) -> Option<Entry> {
        if !self.instance_infos.iter().all(|info| info.code.is_some()) {
            return None;
        }
        let instance = self.func_infos[func as usize].func.instance;
        let code = self.instance_infos[instance as usize].code.as_ref()?;
        code.entries.get(&func).copied()
    }

    /// Brings up to date what compiled code knows of the store, before it is launched.
    pub(super) fn prepare_compiled(&mut self) -> Result<(), StoreError> {
        if self.pointers.len != self.func_infos.len() {
            let (mut functions, mut tails) = (vec![0; self.func_infos.len()], vec![0; self.func_infos.len()]);
            for info in &self.instance_infos {
                let Some(code) = &info.code else { continue };
                let defined = &info.funcs[info.program.meta.imported_funcs() as usize..];
                for (i, func) in defined.iter().enumerate() {
                    functions[*func as usize] = code.functions[i];
                    tails[*func as usize] = code.tails[i];
                }
            }
            self.pointers.functions = self.place_all(&functions, "addresses of functions")?;
            self.pointers.tails = self.place_all(&tails, "addresses of functions")?;
            self.pointers.len = self.func_infos.len();
        }
        for index in 0..self.instance_infos.len() {
            let bytes = self.image(index)?;
            let Some(code) = &mut self.instance_infos[index].code else {
                continue;
            };
            if code.written != bytes {
                // SAFETY: a variable of this size, and no kernel runs.
                unsafe { self.device.write(code.image, &bytes)? };
                code.written = bytes;
            }
        }
        Ok(())
    }

    /// What an instance's code has to know of it; nothing if it has none.
    fn image(&mut self, index: usize) -> DeviceResult<Vec<u8>> {
        let info = &self.instance_infos[index];
        let Some(code) = &info.code else {
            return Ok(Vec::new());
        };
        let (layout, meta) = (code.layout, &info.program.meta);
        let memory = info.memories.first();
        let memory = memory.map_or(self.no_memory, |memory| self.memory_infos[*memory as usize].record);
        let tables = info.tables.iter().map(|table| self.table_infos[*table as usize].record);
        let globals = info
            .globals
            .iter()
            .map(|global| self.global_infos[*global as usize].slot);
        let types = meta
            .types
            .iter()
            .map(|ty| self.types.get_index_of(ty).unwrap_or_default() as u32);
        let (tables, globals, types): (Vec<_>, Vec<_>, Vec<_>) = (tables.collect(), globals.collect(), types.collect());
        let imports = info.funcs[..meta.imported_funcs() as usize].to_vec();
        let tags = info.tags.clone();
        let head = Image {
            record: self.instances.ptr + (index * size_of::<layout::Instance>()) as u64,
            memory,
            base: self.fetch::<layout::Memory>(memory)?.base,
            funcs: self.funcs.ptr,
            functions: self.pointers.functions,
            tails: self.pointers.tails,
            instance: index as u32,
            pad: 0,
        };
        Ok(layout.bytes(&head, &tables, &globals, &types, &tags, &imports))
    }

    /// A launch record with what compiled code needs of it besides.
    pub(super) fn compiled_launch(&self, launch: Launch) -> Launch {
        Launch {
            functions: self.pointers.functions,
            tails: self.pointers.tails,
            native_stack: self.pointers.native_stack,
            ..launch
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ptx::code::CODE_START;
    use crate::{Cpu, Limits, Store};

    #[test]
    fn the_first_instance_begins_where_its_code_is_compiled_for() {
        let store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        assert_eq!(store.next_code_start(), CODE_START);
        assert!(store.target().is_none());
    }
}
