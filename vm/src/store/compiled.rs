//! Compiled instances: their code on the device, and what it has to know of the store.
//!
//! The bytecode stays where it is, so what is not an entry of compiled code can be interpreted.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gpu_run_bytecode::Program;

use super::{Array, InstanceInfo, Store, StoreError};
use crate::compiled::{Entry, Module};
use crate::cuda::code::Code;
use crate::device::{DeviceError, DeviceResult};
use crate::layout::{self, Launch, Ptr};
use crate::ptx::{self, Image, ImageLayout};

/// An instance's code on the device.
pub(super) struct CompiledCode {
    /// The module in which it is.
    module: Module,
    /// Kernels, by store-wide number of the function that they start.
    entries: HashMap<u32, Entry>,
    /// Where its [`Image`] is, and how it is laid out.
    image: Ptr,
    layout: ImageLayout,
    /// First byte of its memory 0, which never moves.
    base: u64,
    /// What was written there last.
    written: Vec<u8>,
    /// Addresses of its defined functions and of their tail thunks, 0 for those without.
    functions: Vec<u64>,
    tails: Vec<u64>,
    /// How the interpreter calls its functions, if some of it is interpreted: an array of
    /// [`Native`](layout::Native).
    natives: Option<Ptr>,
    /// Calls that are too deep for the native stack are interpreted.
    deep_calls: bool,
    /// Memory has its last size when a run begins.
    fixed_memory: bool,
    /// Counters of its basic blocks, if it counts, and where it has the addresses of the counts in memory.
    pub(super) counters: Option<u32>,
    pub(super) counts: Option<Ptr>,
}

/// What all compiled instances of a store share.
pub(super) struct Pointers {
    /// Addresses by store-wide number of a function, and how many there are.
    functions: Array,
    tails: Array,
    /// 0 also where a program's code has changed.
    len: usize,
    /// Bytes of a lane's native stack, or 0 where none is set.
    native_stack: u32,
    /// What was loaded last.
    loaded: Option<(Arc<Vec<u8>>, Module)>,
}

impl Default for Pointers {
    fn default() -> Pointers {
        Pointers {
            functions: Array::new("addresses of functions"),
            tails: Array::new("addresses of functions"),
            len: 0,
            native_stack: 0,
            loaded: None,
        }
    }
}

/// An instance as a store has it, from which it can be compiled.
#[derive(Clone, Debug)]
pub struct Instantiated {
    /// Its program.
    pub program: Arc<Program>,
    /// Word of its first instruction in the store's code.
    pub code_start: u32,
    /// Functions that it defines among those that were asked for, by index with imports first.
    pub functions: Vec<u32>,
}

fn only_interpreted() -> DeviceError {
    DeviceError::Unavailable {
        what: "compiled code runs on CUDA devices only".into(),
    }
}

impl Store {
    /// Whether its device [aligns memories](crate::Device::aligns_memories).
    pub fn aligns_memories(&self) -> bool {
        self.device.aligns_memories()
    }

    /// Word at which the next instance's code will begin in the store's.
    pub fn next_code_start(&self) -> u32 {
        (self.code.len / 8) as u32
    }

    /// Instances that the store has.
    pub fn instance_count(&self) -> usize {
        self.instance_infos.len()
    }

    /// The instances in their order, each with those of its functions whose store-wide number is among
    /// `functions`.
    pub fn instances(&self, functions: &BTreeSet<u32>) -> Vec<Instantiated> {
        let instance = |info: &super::InstanceInfo| {
            let imported = info.program.meta.imported_funcs();
            let defined = (imported..).zip(&info.funcs[imported as usize..]);
            Instantiated {
                program: info.program.clone(),
                code_start: info.code_start,
                functions: defined
                    .filter(|(_, number)| functions.contains(number))
                    .map(|(index, _)| index)
                    .collect(),
            }
        };
        self.instance_infos.iter().map(instance).collect()
    }

    /// Loads code onto the device before it is given to an instance: so it is known in time whether the driver
    /// takes it.
    ///
    /// # Errors
    ///
    /// The driver's, and that the device is none of CUDA's.
    pub fn preload(&mut self, code: &Code) -> DeviceResult<()> {
        let device = self.device.as_compiled().ok_or_else(only_interpreted)?;
        let module = device.load_code(&code.cubin)?;
        for index in &code.entries {
            device.entry(module, &format!("{}start_{index}", code.prefix))?;
        }
        device.variable(module, &format!("{}instance", code.prefix))?;
        self.pointers.loaded = Some((code.cubin.clone(), module));
        Ok(())
    }

    /// Loads the code of the newest instance, unless it was loaded before.
    pub(super) fn load_code(&mut self, instance: u32, code: &Code) -> Result<(), StoreError> {
        let info = &self.instance_infos[instance as usize];
        let imported = info.program.meta.imported_funcs() as usize;
        let defined = info.program.meta.functions.len();
        let prefix = &code.prefix;
        let device = self.device.as_compiled().ok_or_else(only_interpreted)?;
        let module = match &self.pointers.loaded {
            Some((cubin, module)) if Arc::ptr_eq(cubin, &code.cubin) => *module,
            _ => device.load_code(&code.cubin)?,
        };
        self.pointers.loaded = Some((code.cubin.clone(), module));
        let mut entries = HashMap::new();
        // A function that was imported has its entry in the instance that defines it.
        for index in code.entries.iter().filter(|index| **index as usize >= imported) {
            let entry = device.entry(module, &format!("{prefix}start_{index}"))?;
            entries.insert(info.funcs[*index as usize], entry);
        }
        let (layout, memory) = (ImageLayout::new(&info.program), info.memories.first().copied());
        let (image, bytes) = device.variable(module, &format!("{prefix}instance"))?;
        if bytes != layout.size as usize {
            let what = format!("the code is of another program: {prefix}instance has {bytes} bytes");
            return Err(DeviceError::Unavailable { what }.into());
        }
        if code.needs_stack && self.pointers.native_stack == 0 {
            self.pointers.native_stack = device.set_stack()?;
        }
        let functions = self.addresses(module, &format!("{prefix}functions"), defined)?;
        let tails = self.addresses(module, &format!("{prefix}tails"), defined)?;
        let natives = match self.device.as_compiled().filter(|_| code.mixed) {
            Some(device) => Some(device.variable(module, &format!("{prefix}natives"))?.0),
            None => None,
        };
        let counts = self.counts_blocks().is_some();
        let (counters, counts) = match self.device.as_compiled().filter(|_| counts) {
            Some(device) => (
                Some(device.variable(module, &ptx::counters(prefix))?.1 as u32 / 4),
                Some(device.variable(module, &ptx::counts(prefix))?.0),
            ),
            None => (None, None),
        };
        let memory = memory.map_or(self.no_memory, |memory| self.memory_infos[memory as usize].record);
        let base = self.fetch::<layout::Memory>(memory)?.base;
        if code.aligned_memory && base as u32 != 0 {
            let what = format!("the code is for a memory at a multiple of 4 GiB, and it begins at {base:#x}");
            return Err(DeviceError::Unavailable { what }.into());
        }
        if self.instance_infos[instance as usize].code.is_some() {
            self.pointers.len = 0;
        }
        self.instance_infos[instance as usize].code = Some(CompiledCode {
            module,
            entries,
            image,
            layout,
            base,
            written: Vec::new(),
            functions,
            tails,
            natives,
            deep_calls: code.deep_calls,
            fixed_memory: code.fixed_memory,
            counters,
            counts,
        });
        Ok(())
    }

    /// The addresses in an array of a module, of which the first `count` are a program's.
    fn addresses(&mut self, module: Module, name: &str, count: usize) -> DeviceResult<Vec<u64>> {
        let mut addresses = vec![0u64; count];
        // A program without functions has no array of them.
        if let Some(device) = self.device.as_compiled().filter(|_| count > 0) {
            let (at, bytes) = device.variable(module, name)?;
            let read = count.min(bytes / 8);
            // SAFETY: a variable of at least so many bytes, and no kernel runs.
            unsafe { self.device.read(at, bytemuck::cast_slice_mut(&mut addresses[..read]))? };
        }
        Ok(addresses)
    }

    /// The kernel that starts a function, if it is compiled and all that it might call is too. A kernel has
    /// the constants of its own module, and registers for what is in there: so all must have been linked
    /// together.
    pub(super) fn compiled_entry(&self, func: u32) -> Option<Entry> {
        let instance = self.func_infos[func as usize].func.instance;
        let code = self.instance_infos[instance as usize].code.as_ref()?;
        let entry = code.entries.get(&func).copied()?;
        let together = |info: &super::InstanceInfo| info.code.as_ref().is_some_and(|other| other.module == code.module);
        self.instance_infos.iter().all(together).then_some(entry)
    }

    /// Whether compiled code of the store leaves some to the interpreter.
    pub(super) fn is_mixed(&self) -> bool {
        self.natives().is_some()
    }

    /// The memories that compiled code of the store expects to have their last size when a run begins.
    pub(super) fn fixed_memories(&self) -> Vec<u32> {
        let expects = |info: &&InstanceInfo| info.code.as_ref().is_some_and(|code| code.fixed_memory);
        let infos = self.instance_infos.iter().filter(expects);
        infos.filter_map(|info| info.memories.first().copied()).collect()
    }

    /// Whether compiled code of the store may call the interpreter.
    pub(super) fn calls_interpreter(&self) -> bool {
        let mut codes = self.instance_infos.iter().filter_map(|info| info.code.as_ref());
        self.is_mixed() || codes.any(|code| code.deep_calls)
    }

    /// How the interpreter calls compiled functions, of the one program that has some of both.
    fn natives(&self) -> Option<Ptr> {
        let mut codes = self.instance_infos.iter().filter_map(|info| info.code.as_ref());
        codes.find_map(|code| code.natives)
    }

    /// Brings up to date what compiled code knows of the store, before it is launched.
    pub(super) fn prepare_compiled(&mut self) -> Result<(), StoreError> {
        if self.pointers.len != self.func_infos.len() {
            let (mut functions, mut tails) = (vec![0u64; self.func_infos.len()], vec![0u64; self.func_infos.len()]);
            for info in &self.instance_infos {
                let Some(code) = &info.code else { continue };
                let defined = &info.funcs[info.program.meta.imported_funcs() as usize..];
                for (i, func) in defined.iter().enumerate() {
                    functions[*func as usize] = code.functions[i];
                    tails[*func as usize] = code.tails[i];
                }
            }
            let (device, from) = (&mut *self.device, self.pointers.len);
            let pointers = &mut self.pointers;
            (pointers.functions.len, pointers.tails.len) = (8 * from as u64, 8 * from as u64);
            pointers
                .functions
                .push(device, bytemuck::cast_slice(&functions[from..]))?;
            pointers.tails.push(device, bytemuck::cast_slice(&tails[from..]))?;
            pointers.len = functions.len();
        }
        for index in 0..self.instance_infos.len() {
            let bytes = self.image(index);
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
    fn image(&self, index: usize) -> Vec<u8> {
        let info = &self.instance_infos[index];
        let Some(code) = &info.code else {
            return Vec::new();
        };
        let (layout, meta) = (code.layout, &info.program.meta);
        let memory = info.memories.first().map(|memory| &self.memory_infos[*memory as usize]);
        let lanes = memory.map(|memory| memory.lanes).unwrap_or_default();
        let memory = memory.map_or(self.no_memory, |memory| memory.record);
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
            base: code.base,
            funcs: self.funcs.ptr,
            functions: self.pointers.functions.ptr,
            tails: self.pointers.tails.ptr,
            instance: index as u32,
            lanes: lanes.lanes,
            lane_lists: lanes.lists,
            lane_slabs: lanes.slabs,
            lane_records: lanes.records,
            pad: 0,
        };
        layout.bytes(&head, &tables, &globals, &types, &tags, &imports)
    }

    /// A launch record with what compiled code needs of it besides.
    pub(super) fn compiled_launch(&self, launch: Launch) -> Launch {
        Launch {
            functions: self.pointers.functions.ptr,
            tails: self.pointers.tails.ptr,
            natives: self.natives().unwrap_or(0),
            native_stack: self.pointers.native_stack,
            ..launch
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cuda::code::CODE_START;
    use crate::{Cpu, Limits, Store};

    #[test]
    fn the_first_instance_begins_where_its_code_is_compiled_for() {
        let store = Store::new(Box::new(Cpu::new()), Limits::default()).unwrap();
        assert_eq!(store.next_code_start(), CODE_START);
        assert!(store.target().is_none());
    }
}
