//! Instances.

use gpu_run_bytecode::code::Inst;
use gpu_run_bytecode::wasi::INITIALIZE;
use gpu_run_bytecode::{Export, ExternKind, FuncType, Function, HEADER_UNITS, KERNEL_PREFIX, Op, Program, verify};
use gpu_run_vm::{Counts, Extern as Item, HeapProfile, HeapStats, InstanceId, Leak, MemoryUse, TaskStats};

use super::compile::Choice;
use super::error::{Error, Fault, Result};
use super::func::{Extern, Func, Global, Kernel, Memory, Table, TypedFunc};
use super::module::Module;
use super::outcome::End;
use super::store::{Store, StoreId};
use super::values::WasmValues;

/// Adds a function to a program that does nothing, and returns its index. Its type has neither parameters nor results.
fn add_nothing(program: &mut Program, ty: u32) -> u32 {
    let start = program.code.len() as u32;
    Inst::new(Op::Enter, &[i64::from(HEADER_UNITS), 0, 0]).encode(&mut program.code);
    Inst::new(Op::Return, &[0, 0, 0]).encode(&mut program.code);
    let meta = &mut program.meta;
    meta.functions.push(Function {
        ty,
        start,
        end: program.code.len() as u32,
        calls: Vec::new(),
        tries: Vec::new(),
    });
    meta.max_frame = meta.max_frame.max(HEADER_UNITS);
    meta.imported_funcs() + meta.functions.len() as u32 - 1
}

/// An instance of a module in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instance {
    pub(super) store: StoreId,
    pub(super) id: InstanceId,
}

impl Instance {
    /// The export of a name. `None` too for a tag, or with another store than the instance's.
    pub fn get_export<T>(&self, store: &Store<T>, name: &str) -> Option<Extern> {
        if self.store != store.id {
            return None;
        }
        Some(match store.vm.export(self.id, name)? {
            Item::Func(index) => Extern::Func(Func(store.id.handle(index))),
            Item::Memory(index) => Extern::Memory(Memory(store.id.handle(index))),
            Item::Global(index) => Extern::Global(Global(store.id.handle(index))),
            Item::Table(index) => Extern::Table(Table(store.id.handle(index))),
            Item::Tag(_) => return None,
        })
    }

    /// An exported function.
    pub fn get_func<T>(&self, store: &Store<T>, name: &str) -> Option<Func> {
        match self.get_export(store, name)? {
            Extern::Func(func) => Some(func),
            _ => None,
        }
    }

    /// An exported function, with its types.
    ///
    /// # Errors
    ///
    /// There is none of that name, or its types are others.
    pub fn get_typed_func<T, Params: WasmValues, Results: WasmValues>(
        &self,
        store: &Store<T>,
        name: &str,
    ) -> Result<TypedFunc<Params, Results>> {
        self.found("function", store, name, self.get_func(store, name))?
            .typed(store)
    }

    /// An exported memory.
    pub fn get_memory<T>(&self, store: &Store<T>, name: &str) -> Option<Memory> {
        match self.get_export(store, name)? {
            Extern::Memory(memory) => Some(memory),
            _ => None,
        }
    }

    /// An exported global.
    pub fn get_global<T>(&self, store: &Store<T>, name: &str) -> Option<Global> {
        match self.get_export(store, name)? {
            Extern::Global(global) => Some(global),
            _ => None,
        }
    }

    /// A kernel: what `gpu_std::kernel!` has made of a function of that name, or any function that is exported by it.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn get_kernel<T>(&self, store: &Store<T>, name: &str) -> Result<Kernel> {
        let kernel = self.get_func(store, &format!("{KERNEL_PREFIX}{name}"));
        let func = kernel.or_else(|| self.get_func(store, name));
        self.found("kernel", store, name, func).map(Kernel)
    }

    /// How the instance is run, and why so.
    ///
    /// # Errors
    ///
    /// The instance is another store's.
    pub fn choice<'s, T>(&self, store: &'s Store<T>) -> Result<&'s Choice> {
        self.in_store(store)?;
        let mut loaded = store.instances.iter();
        let loaded = loaded.find(|loaded| loaded.id == self.id);
        Ok(&loaded.expect("an instance is in its store").choice)
    }

    /// A module that begins where this instance stands: with what its memory, globals and tables hold. Its start function is
    /// not run again, and an export `_initialize` does nothing. Open files and connections are not part of it.
    ///
    /// # Errors
    ///
    /// [`Error::Snapshot`]: it holds something that no module can begin with. A module with an allocator of its own is to be
    /// translated without [rewriting](crate::ModuleOptions::rewrite), because the device's heap is not part of a snapshot.
    pub fn snapshot<T>(&self, store: &mut Store<T>) -> Result<Module> {
        self.in_store(store)?;
        let mut program = store.vm.snapshot(self.id)?;
        let types = program.meta.func_types();
        let initializes = |export: &Export| {
            export.name == INITIALIZE
                && export.kind == ExternKind::Func
                && program.meta.types[types[export.index as usize] as usize] == FuncType::default()
        };
        if let Some(at) = program.meta.exports.iter().position(initializes) {
            // It has run, so that it does nothing from now on.
            let ty = types[program.meta.exports[at].index as usize];
            program.meta.exports[at].index = add_nothing(&mut program, ty);
        }
        verify(&program)?;
        Ok(Module::of(program))
    }

    /// How memory 0 was used, if there is one: its size and limit, and whether the program asked for more.
    ///
    /// # Errors
    ///
    /// The device failed, or the instance is another store's.
    pub fn memory_use<T>(&self, store: &mut Store<T>) -> Result<Option<MemoryUse>> {
        self.in_store(store)?;
        Ok(store.vm.memory_use(self.id)?)
    }

    /// What the instance has executed, if the store counts: see [`Store::count_blocks`].
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn counts<T>(&self, store: &mut Store<T>) -> Result<Counts> {
        self.in_store(store)?;
        Ok(store.vm.counts(self.id))
    }

    /// The heap in memory 0 over time, if the store looks at it: see [`Store::watch_heap`].
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn heap_profile<T>(&self, store: &mut Store<T>) -> Result<HeapProfile> {
        self.in_store(store)?;
        Ok(store.vm.heap_profile(self.id)?)
    }

    /// Counts of the heap in memory 0, since the instance was made.
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn heap_stats<T>(&self, store: &mut Store<T>) -> Result<HeapStats> {
        self.in_store(store)?;
        Ok(store.vm.heap_stats(self.id)?)
    }

    /// What the tasks of `gpu_std` have done, since the instance was made; `None` if it has run none.
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn task_stats<T>(&self, store: &mut Store<T>) -> Result<Option<TaskStats>> {
        self.in_store(store)?;
        Ok(store.vm.task_stats(self.id)?)
    }

    /// The first damage of the heap that no call has noticed, such as a write after a block's end. Needs
    /// [`HeapChecks::guards`](gpu_run_vm::HeapChecks) in the store's limits.
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn heap_damage<T>(&self, store: &mut Store<T>) -> Result<Option<Fault>> {
        self.in_store(store)?;
        Ok(store.vm.heap_damage(self.id)?.map(Fault::from))
    }

    /// Blocks of the heap that nothing points to any more, after the run that ended like that: the most bytes first.
    /// `None` where they cannot be known: after a fault, or after an exit on a GPU, where registers are gone by then.
    /// Needs [`HeapChecks::leaks`](gpu_run_vm::HeapChecks) in the store's limits, and a heap that is not damaged.
    ///
    /// # Errors
    ///
    /// As [`Instance::memory_use`].
    pub fn leaks<T>(&self, store: &mut Store<T>, end: &End) -> Result<Option<Vec<Leak>>> {
        self.in_store(store)?;
        Ok(match end {
            End::Returned => Some(store.vm.leaks(self.id)?),
            End::Exited(_) => store.vm.leaks_at_exit(self.id)?,
            _ => None,
        })
    }

    fn in_store<T>(&self, store: &Store<T>) -> Result<()> {
        match self.store == store.id {
            true => Ok(()),
            false => Err(Error::WrongStore),
        }
    }

    fn found<T, X>(&self, what: &'static str, store: &Store<T>, name: &str, found: Option<X>) -> Result<X> {
        self.in_store(store)?;
        let name = name.to_owned();
        found.ok_or(Error::UnknownExport { what, name })
    }
}
